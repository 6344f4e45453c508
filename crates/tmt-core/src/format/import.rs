//! Importers: convert measurements of other tools to PHY traces (docs/trace-format.md, Sec. 12).
//!
//! Each format is one file with an [`Importer`], which describes the format and its keys, and is listed in
//! [`FORMATS`]. Flags, help, error messages and the fuzz property are derived from the description. Formats of other
//! crates are added to an [`Importers`].

pub mod delay_loss;
mod keys;
mod lines;
pub mod mahimahi;

use std::io::{self, BufRead};

pub use keys::{Given, Key, Rule, ValueKind, render_keys};
pub use lines::Lines;

use crate::types::{Bytes, Error, Metadata, Result, Slot, Span};

/// All formats of this crate.
pub static FORMATS: [&dyn Importer; 2] = [&delay_loss::Format, &mahimahi::Format];

/// Importer of a format of another tool.
pub trait Importer: Sync {
    /// Name of the format on the command line.
    fn name(&self) -> &'static str;

    /// Content of its files, in one line.
    fn about(&self) -> &'static str;

    /// Its keys, in the order in which the recorded command line lists them.
    ///
    /// A key that several formats have takes the same kind of value in all of them.
    fn keys(&self) -> &'static [Key];

    /// Starts a conversion with the values of `given`, which have been checked against [`Importer::keys`].
    ///
    /// Assumptions that affect the result are reported to `note`, with keys between backticks ([`render_keys`]).
    ///
    /// # Errors
    /// Values that do not fit together, or an input that must be read first and is invalid.
    fn open(
        &self,
        given: &Given,
        files: &mut dyn Files,
        note: &mut dyn FnMut(String),
    ) -> Result<Import, ImportError>;
}

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

    /// Peculiarities of the input that was read so far, such as CRLF line ends; one sentence each.
    fn findings(&self) -> Vec<String>;

    /// What casts doubt on the slots read, in the same form.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Why a conversion cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The given values do not fit together; the message has keys between backticks.
    #[error("{0}")]
    Refused(String),
    /// An input is invalid or cannot be read.
    #[error(transparent)]
    Input(#[from] Error),
}

/// Registry of importers: those of this crate and those that a caller adds.
#[derive(Clone)]
pub struct Importers(Vec<&'static dyn Importer>);

impl Default for Importers {
    fn default() -> Self {
        Self(FORMATS.to_vec())
    }
}

impl Importers {
    /// Adds a format of the caller; it replaces one of the same name.
    #[must_use]
    pub fn with(mut self, importer: &'static dyn Importer) -> Self {
        self.0.retain(|known| known.name() != importer.name());
        self.0.push(importer);
        self
    }

    /// All importers, in the order in which help lists them.
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn Importer> {
        self.0.iter().copied()
    }

    /// The importer of the format with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static dyn Importer> {
        self.iter().find(|importer| importer.name() == name)
    }

    /// The keys of all formats, each once, with the names of the formats that have it.
    #[must_use]
    pub fn keys(&self) -> Vec<(&'static Key, Vec<&'static str>)> {
        let mut keys: Vec<(&Key, Vec<&str>)> = Vec::new();
        for importer in self.iter() {
            for key in importer.keys() {
                match keys.iter_mut().find(|(known, _)| known.name == key.name) {
                    Some((_, names)) => names.push(importer.name()),
                    None => keys.push((key, vec![importer.name()])),
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
    importer: &dyn Importer,
    given: &Given,
    files: &mut dyn Files,
    note: &mut dyn FnMut(String),
) -> Result<Import, ImportError> {
    given
        .check(importer.name(), importer.keys())
        .map_err(ImportError::Refused)?;
    importer.open(given, files, note)
}

/// Key of the delay of received slots if the input contains none.
const DECODE_DELAY: Key = Key::new(
    "decode-delay",
    ValueKind::Period,
    "delay of received slots if the input contains no delays [default: 1ns]",
);

/// Key of the round-trip time of the link.
const RTT: Key = Key::new(
    "rtt",
    ValueKind::Duration,
    "round-trip time of the link, written as `rtt_ns` [default: 2 P if P is known]",
);

/// The delay of slots without a measured one; reports it if it is assumed.
fn decode_delay(settings: &mut Given, note: &mut dyn FnMut(String)) -> Span {
    let words = "the input contains no delays; every received slot gets 1ns";
    settings.assume(DECODE_DELAY.name, "1ns", words, note);
    settings.get(DECODE_DELAY.name).unwrap_or(Span::MAX)
}

/// Adds `rtt_ns` to the head: the given value, else twice the propagation. Reports if neither is known.
fn set_rtt(
    head: &mut Metadata,
    given: &Given,
    propagation: Option<Span>,
    note: &mut dyn FnMut(String),
) {
    let twice = propagation.and_then(|propagation| propagation.checked_mul(2));
    match given.get::<Span>(RTT.name).or(twice) {
        Some(rtt) => head.set("rtt_ns", rtt.as_nanos().to_string()),
        None => note(
            "the round-trip time is unknown; the head gets no rtt_ns (`rtt` sets it)".to_owned(),
        ),
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
