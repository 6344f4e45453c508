//! Exporters: for any slots nothing panics, and what is said has a count and a text.

use std::io::{self, Write};

use tmt_core::format::export::{self, Exporter, Exporters, Outputs};
use tmt_core::format::import::Given;
use tmt_core::named::{Kind, Rule};
use tmt_core::types::{Metadata, Slot, Span, Time};

/// Outputs that are written to nowhere.
struct Nowhere;

impl Outputs for Nowhere {
    fn create(&mut self, _: &'static str) -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(io::sink()))
    }
}

/// Any slots: distances and delays of four bytes each, in ns; heads with and without what is known of a link.
pub(crate) fn check(data: &[u8]) {
    let mut now = Time::ZERO;
    let numbers = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_le_bytes).into();
    let span = |nanos| Span::from_nanos(nanos).unwrap_or(Span::ZERO);
    let rows = data.chunks_exact(8).map(|row| {
        now = now.saturating_add(span(numbers(&row[..4])));
        Slot::new(now, span(numbers(&row[4..]))).unwrap_or(Slot::erased(now))
    });
    let slots: Vec<Slot> = rows.collect();
    for exporter in Exporters::default().iter() {
        for everything in [false, true] {
            for choice in [0, 1] {
                write(exporter, everything, choice, &slots);
            }
        }
    }
}

/// Writes the slots with all keys or with the files alone, and the first or the last word of each.
fn write(exporter: &Exporter, everything: bool, choice: usize, slots: &[Slot]) {
    let mut given = Given::default();
    for key in exporter.keys {
        let is_wanted = match key.rule {
            Rule::Required(_) => true,
            Rule::Without(other) => everything && !given.has(other),
            _ => everything || key.kind == Kind::File,
        };
        if is_wanted {
            let value = match key.kind {
                Kind::Words(words) if choice == 1 => words[words.len() - 1],
                kind => super::import::sample(kind),
            };
            given.set(key.name, value);
        }
    }
    let mut head = Metadata::new();
    if everything {
        for (key, value) in [
            ("rtt_ns", "40000000"),
            ("lldu_bytes", "33"),
            ("trace_kind", "probe"),
        ] {
            head.set(key, value);
        }
    }
    let opened = export::open(exporter, &given, &head, &mut Nowhere, &mut |_| {});
    let Ok(mut export) = opened else { return };
    if export.put(slots).is_ok()
        && let Ok(findings) = export.finish()
    {
        for finding in findings {
            assert!(finding.count > 0 && !finding.text.is_empty(), "{finding:?}");
        }
    }
}
