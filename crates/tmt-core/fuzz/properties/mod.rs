//! Properties that hold for any bytes: one module per property, each with a function `check`, listed in [`ALL`].
//!
//! `fuzz_targets/property.rs` runs them on bytes from libFuzzer, `tests/corpus.rs` on the files of `corpus/`, which
//! has one folder per property.

pub(crate) mod arrow;
pub(crate) mod codec;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod parquet;
pub(crate) mod process;
pub(crate) mod scheme;
pub(crate) mod text;
pub(crate) mod trace;

use std::io::Read;

use tmt_core::Error;
use tmt_core::format::columnar::{Next, Source};
use tmt_core::types::{EndLine, Fate, Lldu, Metadata, Position, Slot};

/// A property with its name.
pub(crate) type Property = (&'static str, fn(&[u8]));

/// Every property.
pub(crate) const ALL: [Property; 9] = [
    ("arrow", arrow::check),
    ("codec", codec::check),
    ("export", export::check),
    ("import", import::check),
    ("parquet", parquet::check),
    ("process", process::check),
    ("scheme", scheme::check),
    ("text", text::check),
    ("trace", trace::check),
];

/// Message and position of an error, for comparison.
type Refusal = (String, Option<Position>);

fn refusal(error: &Error) -> Refusal {
    (error.to_string(), error.position())
}

/// All results of a reader of a binary format.
#[derive(Debug, PartialEq, Default)]
struct Reading {
    slots: Vec<Slot>,
    attempts: Vec<u32>,
    head: Metadata,
    line: Option<EndLine>,
    end: Option<Result<Next, Refusal>>,
}

impl Reading {
    /// Reads a source to its end, if it could be opened.
    fn of(source: tmt_core::Result<Source<'_>>) -> Self {
        let mut reading = Self::default();
        let end = source.and_then(|source| reading.read(source));
        reading.end = Some(end.map_err(|error| refusal(&error)));
        reading
    }

    fn read(&mut self, mut source: Source<'_>) -> tmt_core::Result<Next> {
        self.head = source.metadata().clone();
        loop {
            let batch = match source.next_batch()? {
                Next::Batch(batch) => batch,
                end => {
                    self.line = source.end();
                    return Ok(end);
                }
            };
            let before = self.slots.len();
            let appended = batch.append(&mut self.slots, &mut self.attempts);
            // The caller checks the order across batches.
            assert_in_order(&self.slots[before..]);
            appended?;
            assert_eq!((self.slots.len() - before) as u64, batch.rows());
        }
    }
}

/// The lines of a head.
fn lines(head: &Metadata) -> Vec<(String, String)> {
    head.iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// The rows of a timeline.
fn lldus(slots: &[Slot], attempts: &[u32]) -> Vec<Lldu> {
    let rows = slots.iter().zip(attempts);
    rows.map(|(slot, &attempts)| Lldu {
        tx_time: slot.tx_time(),
        decode_delay: slot.decode_delay(),
        attempts,
        fate: Fate::Delivered,
    })
    .collect()
}

/// Asserts that times never decrease.
fn assert_in_order(slots: &[Slot]) {
    let mut pairs = slots.iter().zip(slots.iter().skip(1));
    assert!(pairs.all(|(one, next)| one.tx_time() <= next.tx_time()));
}

/// Bytes that are read in pieces of at most `most`.
struct Pieces<'a> {
    bytes: &'a [u8],
    most: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let length = self.most.min(out.len()).min(self.bytes.len());
        let (piece, rest) = self.bytes.split_at(length);
        out[..length].copy_from_slice(piece);
        self.bytes = rest;
        Ok(length)
    }
}
