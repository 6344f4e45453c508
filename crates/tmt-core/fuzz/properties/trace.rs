//! Traces of any format: the result does not depend on the chunk size, and can be written in any form.

use bytes::Bytes;
use tmt_core::Result;
use tmt_core::format::{
    Columns, FORMS, FileKind, Form, Format, Options, Row, Rows, TraceEnd, TraceReader, TraceWriter,
    Unit, recognise,
};
use tmt_core::types::{EndLine, Metadata, Slot, Time};

use super::{Refusal, assert_in_order, lldus, refusal};

/// All results of a reader of a trace.
#[derive(Debug, PartialEq, Default)]
struct Reading {
    slots: Vec<Slot>,
    attempts: Vec<u32>,
    head: Metadata,
    end: Option<std::result::Result<TraceEnd, Refusal>>,
}

/// Any bytes give the same result for any chunk size, and what is read can be written and read back.
pub(crate) fn check(data: &[u8]) {
    for (unit, allow_cut) in [(None, false), (Some(Unit::Milliseconds), true)] {
        let options = |chunk| Options {
            unit,
            allow_cut,
            attempts: true,
            columns: Columns::default(),
            chunk,
        };
        let reading = read(data, options(1 << 16));
        assert_in_order(&reading.slots);
        for chunk in [1, 64] {
            assert_eq!(read(data, options(chunk)), reading);
        }
        let Some(Ok(trace_end)) = reading.end else {
            continue;
        };
        assert_eq!(trace_end.rows, reading.slots.len() as u64);
        // A cut trace gets an end line when it is written, a trace without a head gets none.
        let last = reading.slots.last().map_or(Time::ZERO, Slot::tx_time);
        let end = trace_end.end_line.unwrap_or(EndLine {
            rows: trace_end.rows,
            slots: trace_end.rows,
            usable_until: last,
        });
        let expected_end = TraceEnd {
            end_line: reading.head.is_head().then_some(end),
            cut: false,
            ..trace_end
        };
        let expected = Reading {
            end: Some(Ok(expected_end)),
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

fn read_into(data: &[u8], options: Options, reading: &mut Reading) -> Result<TraceEnd> {
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
    Ok(reader.end().unwrap())
}

/// Writes rows in `form`.
fn written<T: Row>(rows: &[T], form: Form, head: &Metadata, end: &EndLine) -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), form, head).unwrap();
    rayon::in_place_scope(|scope| writer.spawn([rows], scope));
    writer.advance().unwrap();
    writer.finish(end).unwrap()
}
