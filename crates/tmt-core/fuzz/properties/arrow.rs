//! Arrow streams and files: nothing panics, pieces do not matter, and what is written reads back.

use std::io::Read;

use tmt_core::Result;
use tmt_core::format::arrow::{Batch, Stream, encode};
use tmt_core::format::columnar::{Next, Options, Row};
use tmt_core::format::text::Unit;
use tmt_core::types::{EndLine, Metadata, Slot};

use super::{Pieces, Refusal, assert_in_order, lldus, refusal};

/// Everything a reader said about a stream.
#[derive(Debug, PartialEq, Default)]
struct Reading {
    slots: Vec<Slot>,
    attempts: Vec<u32>,
    head: Metadata,
    line: Option<EndLine>,
    end: Option<std::result::Result<Next, Refusal>>,
}

/// Whatever the bytes are, they are read or refused, and alike in any pieces.
pub(crate) fn check(data: &[u8]) {
    for unit in [None, Some(Unit::Seconds), Some(Unit::Nanoseconds)] {
        let options = Options {
            unit,
            attempts: true,
        };
        let reading = read(data, options);
        for most in [1, 13] {
            assert_eq!(read(Pieces { bytes: data, most }, options), reading);
        }
        let ours = Options {
            unit: None,
            attempts: true,
        };
        if matches!(reading.end, Some(Ok(_))) {
            let again = read(&written(&reading)[..], ours);
            assert_eq!(again, reading);
        }
    }
}

fn read(input: impl Read, options: Options) -> Reading {
    let mut reading = Reading::default();
    let end = read_into(input, options, &mut reading);
    reading.end = Some(end.map_err(|error| refusal(&error)));
    reading
}

fn read_into(input: impl Read, options: Options, reading: &mut Reading) -> Result<Next> {
    let mut stream = Stream::new(input, options)?;
    reading.head = stream.metadata().clone();
    let mut batch = Batch::default();
    loop {
        let next = stream.next_batch(&mut batch)?;
        if next != Next::Batch {
            reading.line = stream.end();
            return Ok(next);
        }
        let before = reading.slots.len();
        let columns = stream.columns();
        let appended = columns.append(&batch, &mut reading.slots, &mut reading.attempts);
        // Order across batches is the caller's to check.
        assert_in_order(&reading.slots[before..]);
        appended?;
        assert_eq!((reading.slots.len() - before) as u64, batch.rows());
    }
}

/// What was read, as it would be written: a batch wherever a time goes back.
fn written(reading: &Reading) -> Vec<u8> {
    if reading.attempts.is_empty() {
        return in_batches(&reading.slots, reading);
    }
    in_batches(&lldus(&reading.slots, &reading.attempts), reading)
}

fn in_batches<R: Row>(rows: &[R], reading: &Reading) -> Vec<u8> {
    let mut out = Vec::new();
    encode::head::<R>(&reading.head, &mut out);
    let mut from = 0;
    for to in 1..=rows.len() {
        if to == rows.len() || rows[to].tx_time() < rows[to - 1].tx_time() {
            encode::batch(&rows[from..to], &mut out);
            from = to;
        }
    }
    encode::end::<R>(reading.line.as_ref(), &mut out);
    out
}
