//! Helpers of the tests of binary formats: traces, and the results of a reader in one form.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray, UInt32Array};
use proptest::prelude::*;
use tmt_core::format::columnar::{Next, Options, Source};
use tmt_core::format::{arrow, parquet};
use tmt_core::types::{EndLine, Fate, Lldu, Metadata, Slot, Span, Time};
use tmt_core::{Error, ErrorKind, Position};

pub(crate) const LARGEST: u64 = i64::MAX as u64;

/// (t, d, attempts) of a row.
pub(crate) type Row = (u64, u64, u32);

/// All results of a reader.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) rows: Vec<(u64, u64)>,
    pub(crate) attempts: Vec<u32>,
    pub(crate) head: Vec<(String, String)>,
    pub(crate) line: Option<EndLine>,
    pub(crate) end: Result<Next, Error>,
}

/// Options that read attempts and accept no doubles.
pub(crate) fn options() -> Options {
    Options {
        attempts: true,
        ..Options::default()
    }
}

/// Rows in order, with times up to the largest; possibly more rows than are checked at a time.
pub(crate) fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
    let time =
        prop_oneof![8 => 0u64..100_000_000_000, 1 => 0..=LARGEST, 1 => LARGEST - 5..=LARGEST];
    let delay = prop_oneof![2 => Just(0), 1 => Just(1), 4 => 1u64..3_000_000_000, 1 => 0..=LARGEST];
    let attempts = prop_oneof![9 => 1u32..5, 1 => 1..=u32::MAX];
    prop::collection::vec((time, delay, attempts), 0..most).prop_map(|mut rows| {
        rows.sort_unstable();
        for (t, d, _) in &mut rows {
            *d = (*d).min(LARGEST - *t);
        }
        rows
    })
}

/// A head, or an empty one.
pub(crate) fn heads() -> impl Strategy<Value = Metadata> {
    let line = ("stage|overridden|note", "[a-zµ=]{1,6}( [a-z:.]{1,5})?");
    let lines = prop::collection::vec(line, 0..6);
    (lines, prop::option::of(0usize..6)).prop_map(|(lines, tool)| {
        let mut head = Metadata::new();
        let Some(tool) = tool else {
            return head;
        };
        for (at, (key, value)) in lines.iter().enumerate() {
            if at == tool {
                head.push("tool", "tmt 0.1.0");
            }
            head.push(key, value.as_str());
        }
        if !head.is_head() {
            head.push("tool", "tmt 0.1.0");
        }
        head
    })
}

pub(crate) fn slot((t, d, _): Row) -> Slot {
    Slot::new(Time::from_nanos(t).unwrap(), Span::from_nanos(d).unwrap()).unwrap()
}

pub(crate) fn lldu((t, d, attempts): Row) -> Lldu {
    Lldu {
        tx_time: Time::from_nanos(t).unwrap(),
        decode_delay: Span::from_nanos(d).unwrap(),
        attempts,
        fate: Fate::Delivered,
    }
}

pub(crate) fn end_line(rows: &[Row]) -> EndLine {
    EndLine {
        rows: rows.len() as u64,
        slots: rows.len() as u64 + 3,
        usable_until: Time::from_nanos(rows.last().map_or(0, |row| row.0)).unwrap(),
    }
}

pub(crate) fn lines(head: &Metadata) -> Vec<(String, String)> {
    head.iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn failed(error: Error) -> Reading {
    Reading {
        rows: Vec::new(),
        attempts: Vec::new(),
        head: Vec::new(),
        line: None,
        end: Err(error),
    }
}

fn pairs(slots: &[Slot]) -> Vec<(u64, u64)> {
    slots
        .iter()
        .map(|slot| (slot.tx_time().as_nanos(), slot.decode_delay().as_nanos()))
        .collect()
}

/// Reads an Arrow stream or file to its end.
#[expect(
    clippy::needless_pass_by_value,
    reason = "options are built for one trace"
)]
pub(crate) fn read_arrow(bytes: &[u8], options: Options) -> Reading {
    arrow::open(bytes, &options).map_or_else(failed, read)
}

/// Reads a Parquet file to its end.
#[expect(
    clippy::needless_pass_by_value,
    reason = "options are built for one trace"
)]
pub(crate) fn read_parquet(bytes: &[u8], options: Options) -> Reading {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    parquet::open(bytes, &options).map_or_else(failed, read)
}

fn read(mut source: Source<'_>) -> Reading {
    let (mut slots, mut attempts) = (Vec::new(), Vec::new());
    let end = loop {
        match source.next_batch() {
            Ok(Next::Batch(batch)) => {
                let before = slots.len() as u64;
                if let Err(error) = batch.append(&mut slots, &mut attempts) {
                    break Err(error.offset_rows(before));
                }
            }
            end => break end,
        }
    };
    Reading {
        rows: pairs(&slots),
        attempts,
        head: lines(source.metadata()),
        line: source.end(),
        end,
    }
}

/// A file of `fixtures/formats`.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/formats");
    std::fs::read(folder.join(name)).unwrap()
}

/// The rows of every file of `fixtures/formats`.
pub(crate) fn fixture_rows() -> Vec<Row> {
    let delay = |j: u64| if j % 3 == 2 { 0 } else { 7 + j };
    (0..10)
        .map(|j| (1000 * j, delay(j), 1 + (j % 2) as u32))
        .collect()
}

pub(crate) fn assert_rows(reading: &Reading, rows: &[Row]) {
    let pairs: Vec<_> = rows.iter().map(|row| (row.0, row.1)).collect();
    let attempts: Vec<_> = rows.iter().map(|row| row.2).collect();
    assert_eq!(reading.rows, pairs);
    assert_eq!(reading.attempts, attempts);
}

/// Kind and row of the error; the reading must have failed.
pub(crate) fn refusal(reading: &Reading) -> (&ErrorKind, u64) {
    let error = reading.end.as_ref().unwrap_err();
    let row = error
        .position()
        .map_or(0, |position: Position| position.row);
    (error.kind(), row)
}

/// A table of columns that may be null or invalid.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    pub(crate) tx_time: Vec<Option<i64>>,
    pub(crate) decode_delay: Vec<Option<i64>>,
    pub(crate) attempts: Vec<Option<u32>>,
}

/// The columns of cells, with the names and types of this version or of earlier ones, and a column of words.
pub(crate) fn columns(cells: &Cells, is_old: bool) -> Vec<(&'static str, ArrayRef)> {
    let words = StringArray::from(vec!["x"; cells.tx_time.len()]);
    let attempts = cells.attempts.iter().copied();
    let attempts: ArrayRef = if is_old {
        Arc::new(attempts.collect::<UInt32Array>())
    } else {
        Arc::new(
            attempts
                .map(|count| count.map(i64::from))
                .collect::<Int64Array>(),
        )
    };
    let [time, delay] = if is_old {
        ["tx_time", "decode_delay"]
    } else {
        ["tx_time_ns", "decode_delay_ns"]
    };
    vec![
        ("attempts", attempts),
        ("note", Arc::new(words)),
        (delay, integers(&cells.decode_delay)),
        (time, integers(&cells.tx_time)),
    ]
}

/// Integers with a value that means nothing under every null.
fn integers(values: &[Option<i64>]) -> ArrayRef {
    let is_valid: Vec<bool> = values.iter().map(Option::is_some).collect();
    let values: Vec<i64> = values.iter().map(|value| value.unwrap_or(-7)).collect();
    Arc::new(Int64Array::new(values.into(), Some(is_valid.into())))
}

/// Mostly valid cells.
pub(crate) fn cells(most: usize) -> impl Strategy<Value = Cells> {
    let odd = prop_oneof![
        Just(None),
        Just(Some(-1)),
        Just(Some(i64::MIN)),
        Just(Some(i64::MAX)),
        Just(Some(0))
    ];
    let spoiled = prop::collection::vec((0..most, 0usize..3, odd), 0..3);
    (rows(most), spoiled).prop_map(|(rows, spoiled)| {
        let mut cells = Cells {
            tx_time: rows.iter().map(|row| Some(row.0.cast_signed())).collect(),
            decode_delay: rows.iter().map(|row| Some(row.1.cast_signed())).collect(),
            attempts: rows.iter().map(|row| Some(row.2)).collect(),
        };
        for (at, column, value) in spoiled {
            if at < rows.len() {
                match column {
                    0 => cells.tx_time[at] = value,
                    1 => cells.decode_delay[at] = value,
                    _ => cells.attempts[at] = value.map(|value| (value == i64::MAX).into()),
                }
            }
        }
        cells
    })
}

/// The rows before the first invalid one, and the error in that, found rule by rule.
pub(crate) fn checked(cells: &Cells) -> (Vec<(u64, u64)>, Option<&'static str>) {
    let mut rows: Vec<(u64, u64)> = Vec::new();
    for ((t, d), a) in cells
        .tx_time
        .iter()
        .zip(&cells.decode_delay)
        .zip(&cells.attempts)
    {
        let previous = rows.last().map_or(0, |last| last.0);
        let wrong = wrong_with(*t, *d, *a, previous);
        if wrong.is_some() {
            return (rows, wrong);
        }
        // A null among the delays is an erasure.
        rows.push((t.unwrap().cast_unsigned(), d.unwrap_or(0).cast_unsigned()));
    }
    (rows, None)
}

fn wrong_with(
    t: Option<i64>,
    d: Option<i64>,
    a: Option<u32>,
    previous: u64,
) -> Option<&'static str> {
    let Some(t) = t else {
        return Some("Null");
    };
    if t < 0 {
        return Some("Negative");
    }
    if t.cast_unsigned() < previous {
        return Some("OutOfOrder");
    }
    let d = d.unwrap_or(0);
    if d < 0 {
        return Some("Negative");
    }
    if t.checked_add(d).is_none() {
        return Some("SumTooLarge");
    }
    match a {
        None => Some("Null"),
        Some(0) => Some("Format"),
        Some(_) => None,
    }
}

/// Name of the kind of an error.
pub(crate) fn kind_name(kind: &ErrorKind) -> String {
    let text = format!("{kind:?}");
    text.split([' ', '{', '(']).next().unwrap().to_owned()
}
