//! Exporters: write traces as files of other tools (docs/trace-format.md, Sec. 14).
//!
//! Each format is one file with an [`Exporter`], which describes the format and its keys, and is listed in [`FORMATS`].
//! Flags, help, error messages and tests are derived from the description, as for importers. Formats of other crates are
//! added to an [`Exporters`].

pub mod cellreplay;
pub mod delay_loss;
pub mod mahimahi;
pub mod netem;
pub mod ns3;
mod opportunities;
mod seen;
pub mod theaterq;

use std::io::{self, Write};

use crate::format::foreign::{Carries, ForeignFormat};
use crate::format::import::{Finding, Given, KeyError, Remark};
use crate::types::named::{Kind, Parameter};
use crate::types::{Bytes, Metadata, Slot, Span};

/// All formats of this crate.
pub static FORMATS: &[&Exporter] = &[
    &mahimahi::FORMAT,
    &cellreplay::FORMAT,
    &delay_loss::FORMAT,
    &netem::FORMAT,
    &ns3::FORMAT,
    &theaterq::FORMAT,
];

/// The output of a format that writes one file, for [`Outputs::create`].
pub const OUTPUT: &str = "output";

/// A format of another tool that is written: its description, and how to create its files.
#[derive(Debug, Clone, Copy)]
pub struct Exporter {
    /// Name of the format on the command line.
    pub name: &'static str,
    /// Content of its files, in one line.
    pub about: &'static str,
    /// Properties of a link that its files hold.
    pub carries: Carries,
    /// Its keys. Those of kind [`Kind::File`] are its outputs; without any it writes one, [`OUTPUT`].
    ///
    /// A key that an importer has, too, means the same and takes the same kind of value.
    pub keys: &'static [Parameter],
    /// Starts to write a trace with a head, with given values, which have been checked against [`Self::keys`].
    ///
    /// Assumptions, and what cannot be carried for any slots, are reported as [`Remark`]s, with keys between
    /// backticks. It fails for values that do not fit together or to the head, and for I/O errors.
    pub open: Opening,
}

/// Function that starts to write a trace.
pub type Opening = fn(
    &Given,
    &Metadata,
    &mut dyn Outputs,
    &mut dyn FnMut(Remark),
) -> Result<Box<dyn Export>, ExportError>;

impl Exporter {
    /// Whether the format writes several files, each with its key.
    #[must_use]
    pub fn has_several_files(&self) -> bool {
        self.keys.iter().any(|key| key.kind == Kind::File)
    }
}

/// Creates the outputs of an export by their keys.
pub trait Outputs {
    /// Creates the output of `key`, or [`OUTPUT`].
    ///
    /// # Errors
    /// I/O errors.
    fn create(&mut self, key: &'static str) -> io::Result<Box<dyn Write + Send>>;
}

/// A trace that is being written.
pub trait Export: Send {
    /// Writes slots, which follow those before in the order of time.
    ///
    /// # Errors
    /// A slot that the format cannot hold, or an I/O error. Nothing that was written is then of use.
    fn put(&mut self, slots: &[Slot]) -> Result<(), ExportError>;

    /// Writes what remains, flushes all outputs, and returns what was found in the slots.
    ///
    /// # Errors
    /// A trace that the format cannot hold, or an I/O error. Nothing that was written is then of use.
    fn finish(self: Box<Self>) -> Result<Vec<Finding>, ExportError>;
}

/// Why a trace cannot be written in a format.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The keys that are given do not fit together.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The given values do not fit together or to the head; the message has keys between backticks.
    #[error("{0}")]
    Refused(String),
    /// The format cannot hold this trace: what was found and what was expected, with keys between backticks.
    #[error("{0}")]
    Trace(String),
    /// An output cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Registry of exporters: those of this crate and those that a caller adds.
#[derive(Clone)]
pub struct Exporters(Vec<&'static Exporter>);

impl Default for Exporters {
    fn default() -> Self {
        Self(FORMATS.to_vec())
    }
}

impl Exporters {
    /// Adds a format of the caller; it replaces one of the same name.
    #[must_use]
    pub fn with(mut self, exporter: &'static Exporter) -> Self {
        self.0.retain(|known| known.name != exporter.name);
        self.0.push(exporter);
        self
    }

    /// All exporters, in the order in which help lists them.
    pub fn iter(&self) -> impl Iterator<Item = &'static Exporter> {
        self.0.iter().copied()
    }

    /// Names of all formats, in the same order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(|exporter| exporter.name).collect()
    }

    /// The exporter of the format with this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Exporter> {
        self.iter().find(|exporter| exporter.name == name)
    }

    /// All exporters as a list of formats.
    pub fn described(&self) -> impl Iterator<Item = ForeignFormat> {
        self.iter().map(|exporter| ForeignFormat {
            name: exporter.name,
            about: exporter.about,
            reads: None,
            writes: Some(exporter.carries),
        })
    }

    /// The keys of all formats, each once, with the names of the formats that have it.
    #[must_use]
    pub fn keys(&self) -> Vec<(&'static Parameter, Vec<&'static str>)> {
        let mut keys: Vec<(&Parameter, Vec<&str>)> = Vec::new();
        for exporter in self.iter() {
            for key in exporter.keys {
                match keys.iter_mut().find(|(known, _)| known.name == key.name) {
                    Some((_, names)) => names.push(exporter.name),
                    None => keys.push((key, vec![exporter.name])),
                }
            }
        }
        keys
    }
}

/// Checks `given` against the keys of `exporter` and starts the export.
///
/// # Errors
/// An unknown key, a missing one, or two that exclude each other; otherwise as [`Exporter::open`].
pub fn open(
    exporter: &Exporter,
    given: &Given,
    head: &Metadata,
    outputs: &mut dyn Outputs,
    note: &mut dyn FnMut(Remark),
) -> Result<Box<dyn Export>, ExportError> {
    given.check(exporter.name, exporter.keys)?;
    if head.get("scheme").is_some() {
        note(Remark::assumed(
            "the trace is a timeline: its rows are LLDUs, and those that were lost or censored count as lost",
        ));
    }
    (exporter.open)(given, head, outputs, note)
}

/// Key of the size of a slot, for traces whose head does not have it.
const LLDU: Parameter = Parameter::optional(
    "lldu",
    Kind::Size,
    "size of a slot [default: `lldu_bytes` of the head]",
);

/// Key of the propagation that is part of exported delays.
const ADD_PROPAGATION: Parameter = Parameter::optional(
    "add-propagation",
    Kind::DURATION,
    "propagation that is added to every delay [default: `propagation_removed_ns` of the head, else half of `rtt_ns`]",
);

/// The size of a slot, if it is given or in the head.
fn lldu(given: &Given, head: &Metadata) -> Option<Bytes> {
    given.get(LLDU.name).or(head.lldu_bytes())
}

/// The propagation that is added to decoding delays, which gives one-way delays. Reports which it is.
fn propagation(given: &Given, head: &Metadata, note: &mut dyn FnMut(Remark)) -> Span {
    let removed = head
        .number("propagation_removed_ns")
        .and_then(Span::from_nanos);
    let half = head
        .rtt()
        .and_then(|rtt| Span::from_nanos(rtt.as_nanos() / 2));
    let (propagation, how) = match (given.get(ADD_PROPAGATION.name), removed, half) {
        (Some(given), ..) => (given, "as given"),
        (None, Some(removed), _) => (removed, "which was removed from the measured delays"),
        (None, None, Some(half)) => (half, "half of the round-trip time"),
        (None, None, None) => {
            note(Remark::assumed(format!(
                "the propagation is unknown and taken as 0: delays are those of decoding alone (`{}`)",
                ADD_PROPAGATION.name
            )));
            return Span::ZERO;
        }
    };
    note(Remark::fact(format!(
        "propagation {propagation} ({how}) is part of every delay"
    )));
    propagation
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::import::Importers;

    #[test]
    fn a_key_that_an_importer_has_takes_the_same_kind_of_value() {
        let theirs = Importers::default().keys();
        for (key, formats) in Exporters::default().keys() {
            for (their, _) in theirs.iter().filter(|(their, _)| their.name == key.name) {
                assert_eq!(their.kind, key.kind, "{formats:?} {}", key.name);
                assert!(key.kind != Kind::File, "{formats:?} {}", key.name);
            }
            assert!(key.kind != Kind::Input, "{formats:?} {}", key.name);
        }
    }

    #[test]
    fn an_own_format_replaces_one_of_its_name() {
        let count = Exporters::default().iter().count();
        let all = Exporters::default().with(&ns3::FORMAT);
        assert_eq!(all.iter().count(), count);
        assert_eq!(all.iter().last().unwrap().name, "ns3");
        assert!(all.find("mahimahi").is_some() && all.find("Mahimahi").is_none());
    }
}

/// Helpers for the tests of several formats.
#[cfg(test)]
mod testing {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::types::Time;

    /// Outputs in memory.
    #[derive(Default, Clone)]
    pub(super) struct Memory(Arc<Mutex<BTreeMap<&'static str, Vec<u8>>>>);

    struct Part(Memory, &'static str);

    impl Write for Part {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut files = self.0.0.lock().unwrap();
            files.entry(self.1).or_default().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Outputs for Memory {
        fn create(&mut self, key: &'static str) -> io::Result<Box<dyn Write + Send>> {
            self.0.lock().unwrap().insert(key, Vec::new());
            Ok(Box::new(Part(self.clone(), key)))
        }
    }

    /// Outputs of an export.
    #[derive(Debug, Default)]
    pub(super) struct Exported {
        pub(super) files: BTreeMap<&'static str, String>,
        pub(super) remarks: Vec<Remark>,
        pub(super) findings: Vec<Finding>,
    }

    impl Exported {
        /// The only file.
        pub(super) fn text(&self) -> &str {
            &self.files[OUTPUT]
        }

        /// The finding of this name.
        pub(super) fn found(&self, name: &str) -> Option<&Finding> {
            self.findings.iter().find(|finding| finding.name == name)
        }
    }

    /// Exports slots behind a head with these values of keys.
    pub(super) fn export(
        exporter: &Exporter,
        keys: &[(&'static str, &str)],
        head: &[(&str, &str)],
        slots: &[Slot],
    ) -> Result<Exported, ExportError> {
        let mut given = Given::default();
        for (key, value) in keys {
            given.set(key, *value);
        }
        let mut metadata = Metadata::new();
        for (key, value) in head {
            metadata.set(key, *value);
        }
        let (mut memory, mut remarks) = (Memory::default(), Vec::new());
        let mut out = open(exporter, &given, &metadata, &mut memory, &mut |remark| {
            remarks.push(remark);
        })?;
        // In two parts, since a caller may cut anywhere.
        let (one, two) = slots.split_at(slots.len() / 3);
        out.put(one)?;
        out.put(two)?;
        let findings = out.finish()?;
        for finding in &findings {
            assert!(finding.count > 0 && !finding.text.is_empty(), "{finding:?}");
        }
        let files = memory.0.lock().unwrap().clone();
        let texts = files.into_iter();
        Ok(Exported {
            files: texts
                .map(|(key, bytes)| (key, String::from_utf8(bytes).unwrap()))
                .collect(),
            remarks,
            findings,
        })
    }

    /// A slot at `at` ns with the decoding delay `delay` ns, 0 if it is erased.
    pub(super) fn slot(at: u64, delay: u64) -> Slot {
        let delay = Span::from_nanos(delay).unwrap();
        Slot::new(Time::from_nanos(at).unwrap(), delay).unwrap()
    }
}
