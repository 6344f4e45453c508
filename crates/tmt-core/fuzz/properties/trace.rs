//! Traces of any format: what is read does not depend on the size of batches, and can be written in any form.

use bytes::Bytes;
use tmt_core::Result;
use tmt_core::format::{
    FORMS, FileKind, Form, Format, Options, Row, Rows, Tail, TraceReader, TraceWriter, Unit,
    recognise,
};
use tmt_core::types::{EndLine, Metadata, Slot, Time};

use super::{Refusal, assert_in_order, lldus, refusal};

/// Everything a reader said about a trace.
#[derive(Debug, PartialEq, Default)]
struct Reading {
    slots: Vec<Slot>,
    attempts: Vec<u32>,
    head: Metadata,
    end: Option<std::result::Result<Tail, Refusal>>,
}

/// Whatever the bytes are, every size of batches reads the same, and what is read reads back.
pub(crate) fn check(data: &[u8]) {
    for (unit, allow_cut) in [(None, false), (Some(Unit::Milliseconds), true)] {
        let options = |chunk| Options {
            unit,
            allow_cut,
            attempts: true,
            chunk,
        };
        let reading = read(data, options(1 << 16));
        assert_in_order(&reading.slots);
        for chunk in [1, 64] {
            assert_eq!(read(data, options(chunk)), reading);
        }
        let Some(Ok(tail)) = reading.end else {
            continue;
        };
        assert_eq!(tail.rows, reading.slots.len() as u64);
        // A trace that was cut gets an end line when it is written, a trace without a head none.
        let last = reading.slots.last().map_or(Time::ZERO, Slot::tx_time);
        let end = tail.end.unwrap_or(EndLine {
            rows: tail.rows,
            slots: tail.rows,
            usable_until: last,
        });
        let told = Tail {
            end: reading.head.is_head().then_some(end),
            cut: false,
            ..tail
        };
        let expected = Reading {
            end: Some(Ok(told)),
            ..reading
        };
        for (name, form) in FORMS {
            let (slots, head) = (&expected.slots, &expected.head);
            let written = if expected.attempts.is_empty() {
                written(slots, form, head, &end)
            } else {
                written(&lldus(slots, &expected.attempts), form, head, &end)
            };
            let ours = Options {
                attempts: true,
                ..Options::default()
            };
            assert_eq!(read(&written, ours), expected, "{name}");
        }
    }
}

fn read(data: &[u8], options: Options) -> Reading {
    let mut reading = Reading::default();
    let end = read_into(data, options, &mut reading);
    reading.end = Some(end.map_err(|error| refusal(&error)));
    reading
}

fn read_into(data: &[u8], options: Options, reading: &mut Reading) -> Result<Tail> {
    let mut reader = if recognise(data) == FileKind::Plain(Format::Parquet) {
        TraceReader::parquet(Bytes::copy_from_slice(data), options)?
    } else {
        TraceReader::new(data, options)?
    };
    reading.head = reader.metadata().clone();
    let mut rows = Rows::default();
    while reader.next_rows(&mut rows)? {
        reading.slots.extend_from_slice(&rows.slots);
        reading.attempts.extend_from_slice(&rows.attempts);
    }
    Ok(reader.tail().unwrap())
}

/// Rows in `form`.
fn written<T: Row>(rows: &[T], form: Form, head: &Metadata, end: &EndLine) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), form, head).unwrap();
    rayon::in_place_scope(|scope| writer.spawn([rows], scope));
    writer.advance().unwrap();
    writer.finish(end).unwrap()
}
