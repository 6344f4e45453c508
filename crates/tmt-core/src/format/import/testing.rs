//! Conversions of texts, for the tests of importers.

use std::io::{self, BufRead, BufReader, Cursor};

use super::{Files, Finding, Given, ImportError, Importer, Remark, open};
use crate::types::Metadata;

/// Inputs by key; `can_reopen` says whether they are files rather than pipes.
pub(super) struct Inputs {
    pub(super) files: Vec<(&'static str, Vec<u8>)>,
    pub(super) can_reopen: bool,
}

impl Files for Inputs {
    fn open(&mut self, key: &'static str) -> io::Result<Box<dyn BufRead + Send>> {
        let found = self.files.iter().find(|(name, _)| *name == key);
        let (_, bytes) = found.ok_or(io::ErrorKind::NotFound)?;
        // A small buffer, so that values are cut by it.
        Ok(Box::new(BufReader::with_capacity(
            61,
            Cursor::new(bytes.clone()),
        )))
    }

    fn can_reopen(&self, _: &'static str) -> bool {
        self.can_reopen
    }
}

/// Result of a conversion.
#[derive(Debug)]
pub(super) struct Converted {
    pub(super) head: Metadata,
    /// Time and delay of each slot, ns.
    pub(super) slots: Vec<(u64, u64)>,
    pub(super) findings: Vec<Finding>,
    pub(super) remarks: Vec<Remark>,
}

impl Converted {
    /// The count of a finding; 0 if none has this name.
    pub(super) fn count(&self, name: &str) -> u64 {
        let found = self.findings.iter().find(|finding| finding.name == name);
        found.map_or(0, |finding| finding.count)
    }

    /// Names of the findings.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.findings.iter().map(|finding| finding.name).collect()
    }

    /// The delays, ns.
    pub(super) fn delays(&self) -> Vec<u64> {
        self.slots.iter().map(|(_, delay)| *delay).collect()
    }
}

/// Converts the files of `inputs` with the values of `keys`.
pub(super) fn try_convert(
    format: &Importer,
    mut inputs: Inputs,
    keys: &[(&'static str, &str)],
) -> Result<Converted, ImportError> {
    let mut given = Given::default();
    for (key, value) in keys {
        let known = format.keys.iter().find(|known| known.name == *key);
        let value = known.map_or_else(
            || Ok((*value).to_owned()),
            |known| known.kind.read(value).map(|value| value.to_string()),
        );
        given.set(key, value.unwrap());
    }
    let mut remarks = Vec::new();
    let mut import = open(format, &given, &mut inputs, &mut |remark| {
        remarks.push(remark);
    })?;
    let mut slots = Vec::new();
    while let Some(slot) = import.slots.next_slot()? {
        slots.push((slot.tx_time().as_nanos(), slot.decode_delay().as_nanos()));
    }
    let findings = import.slots.findings();
    for finding in &findings {
        assert!(finding.count > 0 && !finding.text.is_empty(), "{finding:?}");
    }
    Ok(Converted {
        head: import.head,
        slots,
        findings,
        remarks,
    })
}

/// Converts one file.
pub(super) fn convert(
    format: &Importer,
    text: impl AsRef<[u8]>,
    keys: &[(&'static str, &str)],
) -> Converted {
    try_convert(format, only(text), keys).unwrap_or_else(|error| panic!("{error}"))
}

/// Why a file is refused, with its line and byte if it has them.
pub(super) fn refusal(format: &Importer, inputs: Inputs, keys: &[(&'static str, &str)]) -> String {
    match try_convert(format, inputs, keys) {
        Ok(found) => panic!("{found:?}"),
        Err(ImportError::Input(error)) => match error.position() {
            Some(place) => format!("{}:{}: {error}", place.line, place.column),
            None => error.to_string(),
        },
        Err(refused) => refused.to_string(),
    }
}

/// The only input of a format.
pub(super) fn only(text: impl AsRef<[u8]>) -> Inputs {
    Inputs {
        files: vec![(super::TRACE.name, text.as_ref().to_vec())],
        can_reopen: true,
    }
}

/// Converts files, each given under its key, with the values of further keys.
pub(super) fn converted(
    format: &Importer,
    files: &[(&'static str, &str)],
    keys: &[(&'static str, &str)],
) -> Converted {
    let named = files.iter().map(|(key, _)| (*key, "file"));
    let all: Vec<(&'static str, &str)> = named.chain(keys.iter().copied()).collect();
    let bytes = files
        .iter()
        .map(|(key, text)| (*key, text.as_bytes().to_vec()));
    let inputs = Inputs {
        files: bytes.collect(),
        can_reopen: true,
    };
    try_convert(format, inputs, &all).unwrap_or_else(|error| panic!("{error}"))
}
