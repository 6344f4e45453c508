//! Importers: convert measurements of other tools to PHY traces (docs/trace-format.md, Sec. 12).
//!
//! Each format is one file with an [`Importer`], which describes the format and its keys, and is listed in
//! [`FORMATS`]. Flags, help, error messages and the fuzz property are derived from the description. Formats of other
//! crates are added to an [`Importers`].

pub(crate) mod catalogue;
pub mod cellreplay;
pub mod crawdad;
pub mod delay_loss;
pub(in crate::format) mod finding;
pub mod iperf3;
pub mod irtt;
mod json;
mod keys;
pub mod lens;
pub mod leocc;
pub mod leoreplayer;
mod lines;
pub mod linkem;
pub mod mahimahi;
pub mod ns2;
pub mod ns3;
pub mod opensand;
mod over_time;
pub mod pcap;
pub mod ping;
mod probe;
pub mod sigfox;
pub mod sns3;
#[cfg(test)]
mod testing;

use std::io::{self, BufRead};

pub use catalogue::{CATALOGUE, known};
pub(crate) use finding::counted;
pub use finding::{Effect, Finding, FindingKind, Place, Remark, Severity};
pub use keys::{Given, KeyError, render_keys};
pub use lines::Lines;
pub(crate) use lines::line_ends;
use lines::whole_lines;
pub use pcap::table_text;

use crate::format::foreign::{Carries, ForeignFormat};
use crate::types::named::{Kind, Parameter, Rule};
use crate::types::{Bytes, Error, Metadata, Result, Slot, Span, TraceKind};

/// All formats of this crate.
pub static FORMATS: &[&Importer] = &[
    &delay_loss::FORMAT,
    &mahimahi::FORMAT,
    &ping::FORMAT,
    &crawdad::FORMAT,
    &irtt::FORMAT,
    &iperf3::FORMAT,
    &leocc::FORMAT,
    &lens::FORMAT,
    &pcap::FORMAT,
    &sigfox::FORMAT,
    &cellreplay::FORMAT,
    &leoreplayer::FORMAT,
    &linkem::FORMAT,
    &opensand::FORMAT,
    &sns3::FORMAT,
    &ns2::FORMAT,
    &ns3::FORMAT,
];

/// Bytes from the start of a file that [`Importer::recognises`] gets; fewer if the file is shorter.
pub const FIRST_BYTES: usize = 4096;

/// A format of another tool that is read: its description, and how to open its files.
#[derive(Debug, Clone, Copy)]
pub struct Importer {
    /// Name of the format on the command line.
    pub name: &'static str,
    /// Content of its files, in one line.
    pub about: &'static str,
    /// Kind of a row of its traces: a delivery opportunity, or a probe.
    pub kind: TraceKind,
    /// Properties of a link that a conversion takes from its files.
    pub carries: Carries,
    /// Its keys, in the order in which the recorded command line lists them.
    ///
    /// A key that several formats have takes the same kind of value in all of them.
    pub keys: &'static [Parameter],
    /// Whether a file that starts with these bytes, its first [`FIRST_BYTES`], decompressed, is probably of this format.
    /// Only a guess for messages: a format is never chosen by it.
    pub recognises: fn(&[u8]) -> bool,
    /// Starts a conversion with given values, which have been checked against [`Self::keys`].
    ///
    /// Assumptions, and what cannot be carried, are reported as [`Remark`]s, with keys between backticks
    /// ([`render_keys`]). The head needs no `trace_kind`: [`open`] writes it. It fails for values that do not fit
    /// together, or an input that must be read first and is invalid.
    pub open: Opening,
}

/// Function that starts a conversion.
pub type Opening =
    fn(&Given, &mut dyn Files, &mut dyn FnMut(Remark)) -> Result<Import, ImportError>;

/// Opens the inputs of a conversion by their keys.
pub trait Files {
    /// Opens the input of `key` at its start.
    ///
    /// # Errors
    /// I/O errors.
    fn open(&mut self, key: &'static str) -> io::Result<Box<dyn BufRead + Send>>;

    /// Whether the input of `key` can be opened more than once: true for a file, false for a pipe.
    fn can_reopen(&self, key: &'static str) -> bool;
}

/// A conversion that has been started.
pub struct Import {
    /// Lines of the head, except those for tool and command.
    pub head: Metadata,
    /// All settings: given, assumed, or determined from the input.
    pub settings: Given,
    /// The converted slots, to be read one by one.
    pub slots: Box<dyn Slots>,
}

/// Source of the slots of a conversion.
pub trait Slots: Send {
    /// The next slot, in order of time; `None` at the end.
    ///
    /// # Errors
    /// The first invalid line; if there are several inputs, with the key of the input.
    fn next_slot(&mut self) -> Result<Option<Slot>>;

    /// Makes findings of what it can pass over and would otherwise refuse, such as times that fall. The slots are then for
    /// looking only.
    fn be_lenient(&mut self) {}

    /// Peculiarities of the input that was read so far, such as CRLF line ends.
    fn findings(&self) -> Vec<Finding>;
}

/// Why a conversion cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The keys that are given do not fit together.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The given values do not fit together; the message has keys between backticks.
    #[error("{0}")]
    Refused(String),
    /// An input is invalid or cannot be read.
    #[error(transparent)]
    Input(#[from] Error),
}

/// Registry of importers: those of this crate and those that a caller adds.
#[derive(Clone)]
pub struct Importers(Vec<&'static Importer>);

impl Default for Importers {
    fn default() -> Self {
        Self(FORMATS.to_vec())
    }
}

impl Importers {
    /// Adds a format of the caller; it replaces one of the same name.
    #[must_use]
    pub fn with(mut self, importer: &'static Importer) -> Self {
        self.0.retain(|known| known.name != importer.name);
        self.0.push(importer);
        self
    }

    /// All importers, in the order in which help lists them.
    pub fn iter(&self) -> impl Iterator<Item = &'static Importer> {
        self.0.iter().copied()
    }

    /// Names of all formats, in the same order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(|importer| importer.name).collect()
    }

    /// The importer of the format with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Importer> {
        self.iter().find(|importer| importer.name == name)
    }

    /// All importers as a list of formats.
    pub fn described(&self) -> impl Iterator<Item = ForeignFormat> {
        self.iter().map(|importer| ForeignFormat {
            name: importer.name,
            about: importer.about,
            reads: Some(importer.carries),
            writes: None,
        })
    }

    /// Names of the formats that recognise a file by its first bytes ([`FIRST_BYTES`]).
    #[must_use]
    pub fn recognise(&self, first: &[u8]) -> Vec<&'static str> {
        let matching = self.iter().filter(|importer| (importer.recognises)(first));
        matching.map(|importer| importer.name).collect()
    }

    /// The keys of all formats, each once, with the names of the formats that have it.
    #[must_use]
    pub fn keys(&self) -> Vec<(&'static Parameter, Vec<&'static str>)> {
        let mut keys: Vec<(&Parameter, Vec<&str>)> = Vec::new();
        for importer in self.iter() {
            for key in importer.keys {
                match keys.iter_mut().find(|(known, _)| known.name == key.name) {
                    Some((_, names)) => names.push(importer.name),
                    None => keys.push((key, vec![importer.name])),
                }
            }
        }
        keys
    }
}

/// Checks `given` against the keys of `importer` and starts the conversion.
///
/// # Errors
/// An unknown key, a missing one, or two that exclude each other; otherwise as [`Importer::open`].
pub fn open(
    importer: &Importer,
    given: &Given,
    files: &mut dyn Files,
    note: &mut dyn FnMut(Remark),
) -> Result<Import, ImportError> {
    given.check(importer.name, importer.keys)?;
    let mut import = (importer.open)(given, files, note)?;
    let mut head = Metadata::new();
    head.set(TraceKind::KEY, importer.kind.to_string());
    for (key, value) in import.head.iter() {
        head.set(key, value);
    }
    import.head = head;
    Ok(import)
}

/// Key of the input of a format that reads one file.
const TRACE: Parameter =
    Parameter::optional("trace", Kind::Input, "the trace [default: stdin, also `-`]");

/// Key of the delay of received slots if the input contains none.
const DECODE_DELAY: Parameter = Parameter::optional(
    "decode-delay",
    Kind::PERIOD,
    "delay of received slots if the input contains no delays [default: 1ns]",
);

/// Key of the round-trip time of the link.
const RTT: Parameter = Parameter::optional(
    "rtt",
    Kind::DURATION,
    "round-trip time of the link, written as `rtt_ns` [default: 2 P if P is known]",
);

/// The delay of slots without a measured one; reports it if it is assumed.
fn decode_delay(settings: &mut Given, note: &mut dyn FnMut(Remark)) -> Span {
    let words = "the input contains no delays; every received slot gets 1ns";
    settings.assume(DECODE_DELAY.name, "1ns", words, note);
    settings.get(DECODE_DELAY.name).unwrap_or(Span::MAX)
}

/// Adds `rtt_ns` to the head: the given value, else twice the propagation. Reports if neither is known.
fn set_rtt(
    head: &mut Metadata,
    given: &Given,
    propagation: Option<Span>,
    note: &mut dyn FnMut(Remark),
) {
    let twice = propagation.and_then(|propagation| propagation.checked_mul(2));
    match given.get::<Span>(RTT.name).or(twice) {
        Some(rtt) => head.set("rtt_ns", rtt.as_nanos().to_string()),
        None => note(Remark::not_carried(
            "the round-trip time is unknown; the head gets no rtt_ns (`rtt` sets it)",
        )),
    }
}

/// Rate of `slots` slots of `lldu` bytes in `length`, rounded to whole bit/s; `None` if it is 0 or not representable.
fn rate_bps(lldu: Bytes, slots: u64, length: Span) -> Option<u64> {
    let bits = u128::from(lldu.0) * 8 * u128::from(slots) * 1_000_000_000;
    let length = u128::from(length.as_nanos());
    (bits + length / 2)
        .checked_div(length)
        .and_then(|rate| u64::try_from(rate).ok())
        .filter(|rate| *rate > 0)
}
