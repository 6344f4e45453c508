//! Parquet (docs/trace-format.md, Sec. 7): round trips, files of other programs, refused inputs, files cut at every byte
//! and with flipped bits.

use std::sync::Arc;

use crate::formats::{
    Row, assert_rows, cells, checked, columns, end_line, fixture, fixture_rows, heads, kind_name,
    lines, lldu, options, read_parquet, refusal, rows, slot,
};
use ::parquet::arrow::ArrowWriter;
use ::parquet::file::metadata::{
    FileMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
};
use ::parquet::file::properties::WriterProperties;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use proptest::prelude::*;
use test_support::{cases, depth};
use tmt_core::ErrorKind;
use tmt_core::format::columnar::{Next, Options};
use tmt_core::format::parquet::{ROW_GROUP, Writer};
use tmt_core::format::{self, Rows, TraceReader, Unit};
use tmt_core::types::{Lldu, Metadata, Slot};

/// A timeline that is written in blocks of this length.
fn timeline(rows: &[Row], head: &Metadata, block: usize) -> Vec<u8> {
    let lldus: Vec<Lldu> = rows.iter().copied().map(lldu).collect();
    let mut writer = Writer::new(Vec::new(), head).unwrap();
    for lldus in lldus.chunks(block) {
        writer.rows(lldus).unwrap();
    }
    let end = end_line(rows);
    writer.finish(head.is_head().then_some(&end)).unwrap()
}

fn head() -> Metadata {
    let mut head = Metadata::new();
    head.set("tool", "tmt 0.1.0");
    head.push("stage", "synth");
    head.set("seed", "1");
    head.push("stage", "apply");
    head
}

/// A file of these columns, written by the `parquet` crate.
fn written(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn a_timeline_round_trips(rows in rows(1500), head in heads(), block in 1usize..1600) {
        let bytes = timeline(&rows, &head, block);
        let reading = read_parquet(&bytes, options());
        prop_assert_eq!(reading.end.as_ref().ok(), Some(&Next::End));
        assert_rows(&reading, &rows);
        prop_assert_eq!(reading.head, lines(&head));
        prop_assert_eq!(reading.line, head.is_head().then(|| end_line(&rows)));
        prop_assert_eq!(timeline(&rows, &head, 7), bytes);
    }

    #[test]
    fn a_trace_round_trips(rows in rows(1500), head in heads()) {
        let slots: Vec<Slot> = rows.iter().copied().map(slot).collect();
        let mut writer = Writer::new(Vec::new(), &head).unwrap();
        writer.rows(&slots).unwrap();
        let reading = read_parquet(&writer.finish(None).unwrap(), options());
        let expected = if head.is_head() { Next::Cut } else { Next::End };
        prop_assert_eq!(reading.end.ok(), Some(expected));
        prop_assert_eq!(reading.rows, rows.iter().map(|row| (row.0, row.1)).collect::<Vec<_>>());
        prop_assert!(reading.attempts.is_empty());
    }

    #[test]
    fn the_first_invalid_row_is_reported(cells in cells(1200), is_old: bool) {
        let reading = read_parquet(&written(columns(&cells, is_old)), options());
        let (good, wrong) = checked(&cells);
        prop_assert_eq!(&reading.rows, &good);
        prop_assert_eq!(reading.attempts.len(), good.len());
        match wrong {
            None => prop_assert_eq!(reading.end.ok(), Some(Next::End)),
            Some(wrong) => {
                let (kind, row) = refusal(&reading);
                prop_assert_eq!((kind_name(kind), row), (wrong.to_owned(), good.len() as u64 + 1));
            }
        }
    }
}

#[test]
fn a_flipped_bit_never_panics() {
    for bytes in [
        timeline(&fixture_rows(), &head(), 4),
        fixture("snappy.parquet"),
        fixture("duckdb.parquet"),
    ] {
        for place in 0..bytes.len() {
            let one = place % 8;
            for bit in depth(one..one + 1, 0..8) {
                let mut bytes = bytes.clone();
                bytes[place] ^= 1 << bit;
                let reading = read_parquet(&bytes, options());
                assert!(reading.rows.len() <= 1_000_000);
            }
        }
    }
}

#[test]
fn a_file_cut_anywhere_is_reported() {
    for bytes in [
        timeline(&fixture_rows(), &head(), 4),
        fixture("snappy.parquet"),
        fixture("polars.parquet"),
    ] {
        for length in 0..bytes.len() {
            let reading = read_parquet(&bytes[..length], options());
            assert!(reading.rows.is_empty());
            let (kind, _) = refusal(&reading);
            assert!(
                matches!(
                    kind,
                    ErrorKind::CutStream {
                        format: "Parquet",
                        rows: 0
                    }
                ),
                "{length}: {kind:?}"
            );
        }
    }
}

#[test]
fn files_of_other_programs_are_read() {
    for name in ["crowded.parquet", "polars.parquet", "duckdb.parquet"] {
        let reading = read_parquet(&fixture(name), options());
        assert_eq!(reading.end.as_ref().unwrap(), &Next::End, "{name}");
        assert_rows(&reading, &fixture_rows());
        assert!(reading.head.is_empty());
    }
    let reading = read_parquet(&fixture("snappy.parquet"), options());
    assert_eq!(reading.end.as_ref().unwrap(), &Next::End);
    assert_rows(&reading, &fixture_rows());
    let expected = [
        ("tool", "tmt 0.1.0"),
        ("command", "synth"),
        ("stage", "synth"),
        ("stage", "apply"),
        ("seed", "1"),
    ];
    let head: Vec<_> = reading
        .head
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    assert_eq!(head, expected);
    assert_eq!(reading.line.unwrap().rows, 10);
}

#[test]
fn rows_of_several_row_groups_and_batches_are_one_trace() {
    let rows: Vec<Row> = (0..ROW_GROUP as u64 + 5)
        .map(|j| (10 * j, j % 3, 1))
        .collect();
    let reading = read_parquet(&timeline(&rows, &Metadata::new(), 100_000), options());
    assert_eq!(reading.end.as_ref().unwrap(), &Next::End);
    assert_rows(&reading, &rows);

    // A time that decreases from one batch to the next.
    let mut rows = rows;
    rows[1 << 15].0 = 5;
    let file = Bytes::from(timeline(&rows, &Metadata::new(), 100_000));
    let mut reader = TraceReader::parquet(file, format::Options::default()).unwrap();
    let (mut batch, mut read) = (Rows::default(), 0);
    let error = loop {
        match reader.next_rows(&mut batch) {
            Ok(more) => assert!(more, "rows out of order were accepted"),
            Err(error) => break error,
        }
        read += batch.slots.len();
    };
    assert!(
        matches!(error.kind(), ErrorKind::OutOfOrder { .. }),
        "{error}"
    );
    assert_eq!(
        (error.position().unwrap().row, read),
        ((1 << 15) + 1, 1 << 15)
    );
}

#[test]
fn doubles_need_a_unit() {
    let doubles = |values: &[f64]| -> ArrayRef { Arc::new(Float64Array::from(values.to_vec())) };
    let bytes = written(vec![
        ("tx_time", doubles(&[0.0, 0.1, 0.2])),
        ("decode_delay", doubles(&[3e-9, -0.0, 1e-10])),
    ]);
    let with_unit = Options {
        unit: Some(Unit::Seconds),
        attempts: true,
        ..Options::default()
    };
    let reading = read_parquet(&bytes, with_unit);
    assert_eq!(reading.rows, [(0, 3), (100_000_000, 0)]);
    let (kind, row) = refusal(&reading);
    assert!(matches!(kind, ErrorKind::RoundsToZero { .. }));
    assert_eq!(row, 3);
    let without_unit = read_parquet(&bytes, options());
    assert!(matches!(
        refusal(&without_unit).0,
        ErrorKind::UnitMissing { name: "tx_time" }
    ));
}

#[test]
fn missing_and_unsupported_columns_are_refused_by_name() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
    let whole: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let time: ArrayRef = Arc::new(arrow_array::TimestampNanosecondArray::from(vec![1]));
    for (columns, message) in [
        (
            vec![("tx_time", whole.clone()), ("decode_delay", text)],
            "decode_delay: found a column of utf8, expected integers, doubles or durations",
        ),
        (
            vec![("tx_time", whole.clone()), ("decode_delay", time)],
            "decode_delay: found a column of timestamp(ns), expected integers, doubles or durations",
        ),
        (
            vec![("time", whole.clone()), ("decode_delay", whole)],
            "found 'time,decode_delay', expected a column tx_time",
        ),
    ] {
        let reading = read_parquet(&written(columns), options());
        assert_eq!(reading.end.unwrap_err().to_string(), message);
    }
}

#[test]
fn an_end_line_must_match_the_rows() {
    let rows = fixture_rows();
    let lldus: Vec<Lldu> = rows.iter().copied().map(lldu).collect();
    let mut end = end_line(&rows);
    end.rows += 1;
    let mut writer = Writer::new(Vec::new(), &head()).unwrap();
    writer.rows(&lldus).unwrap();
    let reading = read_parquet(&writer.finish(Some(&end)).unwrap(), options());
    assert_rows(&reading, &rows);
    assert!(matches!(
        refusal(&reading).0,
        ErrorKind::RowCount {
            stated: 11,
            read: 10
        }
    ));
}

#[test]
fn a_file_without_rows_is_accepted_at_this_level() {
    let reading = read_parquet(&timeline(&[], &Metadata::new(), 1), options());
    assert_eq!(reading.end.unwrap(), Next::End);
    assert!(reading.rows.is_empty());
}

#[test]
fn a_dictionary_that_claims_more_values_than_it_contains_is_refused() {
    let attempts: Vec<_> = (0u32..100)
        .map(|row| (row.into(), 1, 1 + row % 3))
        .collect();
    let bytes = timeline(&attempts, &Metadata::new(), 100);
    assert!(read_parquet(&bytes, options()).end.is_ok());
    // The header of the page: dictionary (type 2), then, in its own part, the number of values, three.
    let header = [0x15, 0x04];
    let part = [0x4c, 0x15, 0x06];
    let at = bytes
        .windows(2)
        .enumerate()
        .filter(|(_, window)| *window == header)
        .find_map(|(from, _)| {
            let near = bytes[from..from + 24].windows(3).position(|w| w == part);
            near.map(|at| from + at + 2)
        })
        .unwrap();
    let mut bytes = bytes;
    // Still one byte: 63 values instead of the three in twelve bytes.
    bytes[at] = 0x7e;
    let error = read_parquet(&bytes, options()).end.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a dictionary that claims more values than it contains"),
        "{error}"
    );
}

/// A file of 1000 slots in pages of 100, without head and end line, as other programs write it.
fn foreign() -> Vec<u8> {
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
    let delays: ArrayRef = Arc::new(Int64Array::from_iter_values((0..1000).map(|_| 5)));
    let batch = RecordBatch::try_from_iter([("tx_time", times), ("decode_delay", delays)]).unwrap();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(100)
        .set_dictionary_enabled(false)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// The file with its footer changed: rows of the group, and so of the file, and values and bytes of each column.
fn with_footer(file: &[u8], rows: [i64; 2], bytes: impl Fn(i64) -> i64) -> Vec<u8> {
    let read = ParquetMetaDataReader::new().parse_and_finish(&Bytes::copy_from_slice(file));
    let read = read.unwrap();
    let whole = read.file_metadata();
    let group = read.row_group(0);
    let [rows, values] = rows;
    let columns = group.columns().iter().map(|column| {
        let size = bytes(column.compressed_size());
        let column = column.clone().into_builder().set_num_values(values);
        column.set_total_compressed_size(size).build().unwrap()
    });
    let group = group
        .clone()
        .into_builder()
        .set_num_rows(rows)
        .set_column_metadata(columns.collect())
        .build()
        .unwrap();
    let metadata = FileMetaData::new(
        whole.version(),
        rows,
        None,
        whole.key_value_metadata().cloned(),
        whole.schema_descr_ptr(),
        None,
    );
    let metadata = ParquetMetaData::new(metadata, vec![group]);
    let length = file[file.len() - 8..][..4].try_into().unwrap();
    let mut changed = file[..file.len() - 8 - u32::from_le_bytes(length) as usize].to_vec();
    ParquetMetaDataWriter::new(&mut changed, &metadata)
        .finish()
        .unwrap();
    changed
}

#[test]
fn a_file_without_the_rows_of_its_footer_is_refused() {
    let file = foreign();
    let whole = with_footer(&file, [1000; 2], |bytes| bytes);
    assert_eq!(read_parquet(&whole, options()).end.ok(), Some(Next::End));
    // Field 3 of the footer, the rows of the file: 999 instead of 1000, as the row group has.
    let mut contrary = whole.clone();
    let footer = whole
        .windows(3)
        .rposition(|bytes| bytes == [0x15, 2, 0x19])
        .unwrap();
    let field = whole[footer..]
        .windows(3)
        .position(|bytes| bytes == [0x16, 0xd0, 0x0f]);
    contrary[footer + field.unwrap() + 1] = 0xce;
    // Then pages that are missing, and a footer that states more or fewer.
    let (all, half) = (|bytes| bytes, |bytes| bytes / 2);
    let changed = [
        contrary,
        with_footer(&file, [1000; 2], half),
        with_footer(&file, [1_000_000_000_000; 2], all),
        with_footer(&file, [1001; 2], all),
        with_footer(&file, [999; 2], all),
        with_footer(&file, [999, 1000], all),
    ];
    for (number, changed) in changed.iter().enumerate() {
        let found = read_parquet(changed, options());
        let error = found.end.map_err(|error| error.to_string());
        let is_refused = error
            .as_ref()
            .is_err_and(|it| it.contains("although the footer states"));
        assert!(is_refused, "{number}: {error:?}");
        assert!(found.rows.is_empty(), "{number}");
    }
}

#[test]
fn a_count_in_a_footer_costs_no_time() {
    // Field 14, which no reader knows: a list of 2^31 - 1 booleans.
    let file = foreign();
    let length = file[file.len() - 8..][..4].try_into().unwrap();
    let length = u32::from_le_bytes(length);
    let end = file.len() - 8;
    for known in [false, true] {
        let list: &[u8] = if known {
            &[0x09, 28, 0x21, 2, 2, 0]
        } else {
            &[0x09, 28, 0xf1, 0xff, 0xff, 0xff, 0xff, 7, 0]
        };
        let mut changed = file[..end - 1].to_vec();
        changed.extend(list);
        let length = length - 1 + u32::try_from(list.len()).unwrap();
        changed.extend(length.to_le_bytes());
        changed.extend(b"PAR1");
        let error = read_parquet(&changed, options())
            .end
            .unwrap_err()
            .to_string();
        let found = error.contains("more elements than fit");
        assert_eq!(found, !known, "{error}");
    }
}
