//! Parquet files: nothing gets past the reader, and what is written reads back.

use bytes::Bytes;
use tmt_core::Result;
use tmt_core::format::columnar::{Next, Options, Row};
use tmt_core::format::parquet::{Reader, Writer};
use tmt_core::format::text::Unit;
use tmt_core::types::{EndLine, Metadata, Slot};

use super::{Refusal, assert_in_order, lldus, refusal};

/// Everything a reader said about a file.
#[derive(Debug, PartialEq, Default)]
struct Reading {
    slots: Vec<Slot>,
    attempts: Vec<u32>,
    head: Metadata,
    line: Option<EndLine>,
    end: Option<std::result::Result<Next, Refusal>>,
}

/// Whatever the bytes are, they are read or refused, and what is read can be written.
pub(crate) fn check(data: &[u8]) {
    for unit in [None, Some(Unit::Seconds)] {
        let reading = read(data, unit);
        assert_in_order(&reading.slots);
        if matches!(reading.end, Some(Ok(_))) {
            let written = if reading.attempts.is_empty() {
                written(&reading.slots, &reading)
            } else {
                written(&lldus(&reading.slots, &reading.attempts), &reading)
            };
            assert_eq!(read(&written, None), reading);
        }
    }
}

fn read(data: &[u8], unit: Option<Unit>) -> Reading {
    let options = Options {
        unit,
        attempts: true,
    };
    let mut reading = Reading::default();
    let end = read_into(data, options, &mut reading);
    reading.end = Some(end.map_err(|error| refusal(&error)));
    reading
}

fn read_into(data: &[u8], options: Options, reading: &mut Reading) -> Result<Next> {
    let mut reader = Reader::new(Bytes::copy_from_slice(data), options)?;
    reading.head = reader.metadata().clone();
    reading.line = reader.end();
    loop {
        let next = reader.append(&mut reading.slots, &mut reading.attempts)?;
        if next != Next::Batch {
            assert_eq!(reader.rows(), reading.slots.len() as u64);
            return Ok(next);
        }
    }
}

fn written<R: Row>(rows: &[R], reading: &Reading) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &reading.head).unwrap();
    writer.rows(rows).unwrap();
    writer.finish(reading.line.as_ref()).unwrap()
}
