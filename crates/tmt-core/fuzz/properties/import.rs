//! Importers: for any content of the files, nothing panics and times never decrease.

use std::io::{self, BufRead, Cursor};

use tmt_core::format::import::{self, Files, Given, Importers};
use tmt_core::named::{Kind, Rule};
use tmt_core::types::Time;

/// The inputs of a format, each one part of the bytes.
struct Parts<'a> {
    parts: Vec<(&'static str, &'a [u8])>,
    can_reopen: bool,
}

impl Files for Parts<'_> {
    fn open(&mut self, key: &'static str) -> io::Result<Box<dyn BufRead + Send>> {
        let part = self.parts.iter().find(|(name, _)| *name == key);
        let bytes = part.map_or(Vec::new(), |(_, bytes)| bytes.to_vec());
        Ok(Box::new(Cursor::new(bytes)))
    }

    fn can_reopen(&self, _: &'static str) -> bool {
        self.can_reopen
    }
}

/// Slots that are read of an input.
const MOST_SLOTS: usize = 100_000;

/// Any bytes, for every format, with all of its keys and with only the required ones.
pub(crate) fn check(data: &[u8]) {
    for importer in Importers::default().iter() {
        (importer.recognises)(&data[..data.len().min(import::FIRST_BYTES)]);
        let keys = importer.keys;
        let files = keys
            .iter()
            .filter(|key| matches!(key.kind, Kind::Input | Kind::File));
        let files: Vec<&str> = files.map(|key| key.name).collect();
        let length = data.len().div_ceil(files.len().max(1)).max(1);
        for (everything, can_reopen) in [(false, false), (false, true), (true, false), (true, true)]
        {
            let mut given = Given::default();
            for key in keys {
                let is_wanted = match key.rule {
                    Rule::Required(_) => true,
                    Rule::Without(other) => everything && !given.has(other),
                    _ => everything || files.contains(&key.name),
                };
                if is_wanted {
                    given.set(key.name, sample(key.kind));
                }
            }
            let mut chunks = data.chunks(length);
            let parts = files
                .iter()
                .map(|file| (*file, chunks.next().unwrap_or_default()));
            let mut parts = Parts {
                parts: parts.collect(),
                can_reopen,
            };
            let Ok(mut import) = import::open(importer, &given, &mut parts, &mut |_| {}) else {
                continue;
            };
            let mut last = Time::ZERO;
            // Missing numbers are lost packets, and a few bytes can state many.
            for _ in 0..MOST_SLOTS {
                let Ok(Some(slot)) = import.slots.next_slot() else {
                    break;
                };
                assert!(slot.tx_time() >= last, "{}", importer.name);
                last = slot.tx_time();
            }
            for finding in import.slots.findings() {
                assert!(finding.count > 0 && !finding.text.is_empty(), "{finding:?}");
            }
        }
    }
}

/// A valid value.
pub(super) fn sample(kind: Kind) -> &'static str {
    match kind {
        Kind::Input | Kind::File => "-",
        Kind::Duration(..) => "10ms",
        Kind::DurationOr(_) => "1ns",
        Kind::Size => "1500B",
        Kind::Count(..) => "1000",
        Kind::Nodes => "0-1",
        Kind::Words(words) => words[0],
        _ => "",
    }
}
