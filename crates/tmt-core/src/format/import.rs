//! Measured traces of other tools into (t, d), in the open (link-layer.md §11).
//!
//! One format, one file: it implements [`Importer`], which describes the format and what it takes, and
//! stands in [`FORMATS`]. Flags, help, refusals and the fuzzed property follow from the description. Formats
//! of other crates are added to an [`Importers`].

pub mod delay_loss;
mod keys;
mod lines;
pub mod mahimahi;

use std::io::{self, BufRead};

pub use keys::{Given, Key, Rule, ValueKind, render_keys};
pub use lines::Lines;

use crate::types::{Bytes, Error, Metadata, Result, Slot, Span};

/// The formats of this crate.
pub static FORMATS: [&dyn Importer; 2] = [&delay_loss::Format, &mahimahi::Format];

/// A format of another tool.
pub trait Importer: Sync {
    /// Its name, by which a user asks for it.
    fn name(&self) -> &'static str;

    /// What its files hold, in one line.
    fn about(&self) -> &'static str;

    /// What it takes, in the order in which a command line that repeats the conversion lists it.
    ///
    /// A key that another format has as well takes the same there.
    fn keys(&self) -> &'static [Key];

    /// Begins a conversion with what was `given`, which fits [`Importer::keys`].
    ///
    /// What a user would want to know before believing the result goes to `note`, with keys between
    /// backticks ([`render_keys`]).
    ///
    /// # Errors
    /// What was given does not make sense together; files that have to be read first and cannot be.
    fn open(
        &self,
        given: &Given,
        files: &mut dyn Files,
        note: &mut dyn FnMut(String),
    ) -> Result<Import, ImportError>;
}

/// Opens the inputs, each known by its key.
pub trait Files {
    /// The input from its beginning.
    ///
    /// # Errors
    /// What the system says.
    fn open(&mut self, key: &'static str) -> io::Result<Box<dyn BufRead + Send>>;

    /// Whether the input can be read twice, as a file can and a pipe cannot.
    fn can_reopen(&self, key: &'static str) -> bool;
}

/// A conversion that has begun.
pub struct Import {
    /// Lines of the head beside those that name tool and command.
    pub head: Metadata,
    /// All settings: what was given, and what was assumed or found in its stead.
    pub settings: Given,
    /// The slots.
    pub slots: Box<dyn Slots>,
}

/// Slots as they come out of a conversion.
pub trait Slots: Send {
    /// The next slot, sent no earlier than the one before; `None` at the end.
    ///
    /// # Errors
    /// The first line that cannot be read; where there are several inputs, of which one.
    fn next_slot(&mut self) -> Result<Option<Slot>>;

    /// What was odd about the input, as far as it was read; like notes.
    fn findings(&self) -> Vec<String>;
}

/// Why a conversion cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// What was given does not make sense together; keys stand between backticks.
    #[error("{0}")]
    Refused(String),
    /// Something is wrong with an input.
    #[error(transparent)]
    Input(#[from] Error),
}

/// Formats by their names: those of this crate, and what a caller adds.
#[derive(Clone)]
pub struct Importers(Vec<&'static dyn Importer>);

impl Default for Importers {
    fn default() -> Self {
        Self(FORMATS.to_vec())
    }
}

impl Importers {
    /// The same with a format of the caller's own, which wins over one of the same name.
    #[must_use]
    pub fn with(mut self, importer: &'static dyn Importer) -> Self {
        self.0.retain(|known| known.name() != importer.name());
        self.0.push(importer);
        self
    }

    /// All of them, in the order in which they are listed.
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn Importer> {
        self.0.iter().copied()
    }

    /// The format of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static dyn Importer> {
        self.iter().find(|importer| importer.name() == name)
    }

    /// What any of them takes, each key once, with the names of the formats that take it.
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

/// Begins a conversion by `importer`, once what was `given` is known to be for it.
///
/// # Errors
/// A key that the format has not, one that it needs, or two that exclude each other; as [`Importer::open`].
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

/// The delay that received slots get where the input has none.
const DECODE_DELAY: Key = Key::new(
    "decode-delay",
    ValueKind::Period,
    "delay of received slots where the input has none (1ns when left out)",
);

/// The link's round-trip time.
const RTT: Key = Key::new(
    "rtt",
    ValueKind::Duration,
    "round-trip time of the link, written as `rtt_ns`; else 2 P where P is known",
);

/// The delay of slots without one, noted where it is assumed.
fn decode_delay(settings: &mut Given, note: &mut dyn FnMut(String)) -> Span {
    let words = "the input holds no delays: every received slot gets 1ns";
    settings.assume(DECODE_DELAY.name, "1ns", words, note);
    settings.get(DECODE_DELAY.name).unwrap_or(Span::MAX)
}

/// Adds `rtt_ns` to the head: what was given, else twice the propagation; else it is noted that there is none.
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
            "the round-trip time is not known: rtt_ns is left out of the head (`rtt`)".to_owned(),
        ),
    }
}

/// 8 · `lldu` bytes a slot, `slots` of them in `length`; rounded to whole bit/s.
fn rate_bps(lldu: Bytes, slots: u64, length: Span) -> Option<u64> {
    let bits = u128::from(lldu.0) * 8 * u128::from(slots) * 1_000_000_000;
    let length = u128::from(length.as_nanos());
    (bits + length / 2)
        .checked_div(length)
        .and_then(|rate| u64::try_from(rate).ok())
        .filter(|rate| *rate > 0)
}
