//! Arrow IPC (docs/trace-format.md, Sec. 6): round trips, files of other programs, refused inputs, streams cut at every
//! byte and with flipped bits.

use std::sync::Arc;

use crate::formats::{
    LARGEST, Reading, Row, assert_rows, cells, checked, columns, end_line, fixture, fixture_rows,
    heads, kind_name, lines, lldu, options, read_arrow, refusal, rows, slot,
};
use arrow_array::{
    Array, ArrayRef, DurationMicrosecondArray, DurationMillisecondArray, Float32Array,
    Float64Array, Int16Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
    TimestampNanosecondArray, UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use proptest::prelude::*;
use test_support::cases;
use tmt_core::ErrorKind;
use tmt_core::format::arrow::encode;
use tmt_core::format::columnar::{Next, Options};
use tmt_core::format::{FileKind, Format, TraceWriter, Unit};
use tmt_core::types::{Lldu, Metadata, Slot};

/// A timeline in batches of these lengths.
fn timeline(rows: &[Row], head: &Metadata, batch: usize) -> Vec<u8> {
    let lldus: Vec<Lldu> = rows.iter().copied().map(lldu).collect();
    let mut out = Vec::new();
    encode::head::<Lldu>(head, &mut out);
    for lldus in lldus.chunks(batch) {
        encode::batch(lldus, &mut out);
    }
    let end = end_line(rows);
    encode::end::<Lldu>(head.is_head().then_some(&end), &mut out);
    out
}

fn head() -> Metadata {
    let mut head = Metadata::new();
    head.set("tool", "tmt 0.1.0");
    head.push("stage", "synth");
    head.set("seed", "1");
    head.push("stage", "apply");
    head
}

/// A stream of these columns, written by the `arrow-ipc` crate.
fn written(columns: Vec<(&str, ArrayRef)>, compression: Option<CompressionType>) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let options = IpcWriteOptions::default()
        .try_with_compression(compression)
        .unwrap();
    let mut writer =
        StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn integers(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn doubles(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn a_timeline_round_trips(rows in rows(1500), head in heads(), batch in 1usize..1600) {
        let reading = read_arrow(&timeline(&rows, &head, batch), options());
        prop_assert_eq!(reading.end.as_ref().ok(), Some(&Next::End));
        assert_rows(&reading, &rows);
        prop_assert_eq!(reading.head, lines(&head));
        prop_assert_eq!(reading.line, head.is_head().then(|| end_line(&rows)));
    }

    #[test]
    fn a_trace_round_trips(rows in rows(1500), head in heads()) {
        let slots: Vec<Slot> = rows.iter().copied().map(slot).collect();
        let mut out = Vec::new();
        encode::head::<Slot>(&head, &mut out);
        encode::batch(&slots, &mut out);
        encode::end::<Slot>(None, &mut out);
        let reading = read_arrow(&out, options());
        let expected = if head.is_head() { Next::Cut } else { Next::End };
        prop_assert_eq!(reading.end.ok(), Some(expected));
        prop_assert_eq!(reading.rows, rows.iter().map(|row| (row.0, row.1)).collect::<Vec<_>>());
        prop_assert!(reading.attempts.is_empty());
    }

    #[test]
    fn other_libraries_read_our_streams(rows in rows(40), head in heads(), batch in 1usize..50) {
        let bytes = timeline(&rows, &head, batch);
        let reader = StreamReader::try_new(&bytes[..], None).unwrap();
        let schema = reader.schema();
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        prop_assert_eq!(names, ["tx_time_ns", "decode_delay_ns", "attempts"]);
        let mut read = Vec::new();
        for batch in reader {
            let batch = batch.unwrap();
            let column = |at: usize| batch.column(at).as_any().downcast_ref::<Int64Array>().unwrap().clone();
            let (times, delays, attempts) = (column(0), column(1), column(2));
            prop_assert_eq!(times.null_count() + attempts.null_count(), 0);
            for row in 0..batch.num_rows() {
                let d = if delays.is_null(row) { 0 } else { delays.value(row) };
                prop_assert_eq!(d == 0, delays.is_null(row));
                let attempts = u32::try_from(attempts.value(row)).unwrap();
                read.push((times.value(row).cast_unsigned(), d.cast_unsigned(), attempts));
            }
        }
        prop_assert_eq!(read, rows);
    }

    #[test]
    fn the_first_invalid_row_is_reported(cells in cells(1200), packed in 0usize..3, is_old: bool) {
        let compression = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)][packed];
        let reading = read_arrow(&written(columns(&cells, is_old), compression), options());
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

    #[test]
    fn a_flipped_bit_never_panics(place in any::<prop::sample::Index>(), bit in 0u8..8, which in 0usize..4) {
        let mut bytes = match which {
            0 => timeline(&fixture_rows(), &head(), 4),
            1 => fixture("crowded.arrows"),
            2 => fixture("zstd.feather"),
            _ => fixture("lz4.feather"),
        };
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        let reading = read_arrow(&bytes, options());
        prop_assert!(reading.rows.len() <= 1000);
    }
}

/// Reads a stream cut after `length` bytes. It has a head, so it is incomplete without its end line.
fn check_cut(bytes: &[u8], length: usize, rows: &[Row]) -> Reading {
    let reading = read_arrow(&bytes[..length], options());
    assert!(reading.rows.len() <= rows.len());
    assert_rows(&reading, &rows[..reading.rows.len()]);
    match &reading.end {
        Ok(end) => assert_eq!(*end, Next::Cut, "{length}"),
        Err(error) => {
            let counted = matches!(
                error.kind(),
                ErrorKind::CutStream { format: "Arrow", rows } if *rows == reading.rows.len() as u64
            );
            assert!(counted, "{length}: {error}");
        }
    }
    reading
}

#[test]
fn a_stream_cut_anywhere_is_reported_after_its_complete_batches() {
    let rows = fixture_rows();
    let bytes = timeline(&rows, &head(), 4);
    let mut between = 0;
    for length in 0..bytes.len() {
        between += usize::from(check_cut(&bytes, length, &rows).end.is_ok());
    }
    // After the schema, each of three batches and the end line, where only the end-of-stream marker is missing.
    assert_eq!(between, 5);
    assert_eq!(read_arrow(&bytes, options()).end.unwrap(), Next::End);
}

#[test]
fn a_file_cut_anywhere_is_reported() {
    for name in ["lz4.feather", "zstd.feather", "polars.arrow"] {
        let bytes = fixture(name);
        for length in 0..bytes.len() {
            check_cut(&bytes, length, &fixture_rows());
        }
    }
}

#[test]
fn files_of_other_programs_are_read() {
    for name in [
        "crowded.arrows",
        "lz4.feather",
        "zstd.feather",
        "polars.arrow",
    ] {
        let reading = read_arrow(&fixture(name), options());
        assert_eq!(reading.end.as_ref().unwrap(), &Next::End, "{name}");
        assert_rows(&reading, &fixture_rows());
        assert!(reading.head.is_empty());
    }
}

#[test]
fn attempts_are_not_checked_unless_they_are_read() {
    let columns = vec![
        ("tx_time", integers(&[1])),
        ("decode_delay", integers(&[0])),
        ("attempts", doubles(&[0.5])),
    ];
    let bytes = written(columns, None);
    let unwanted = Options::default();
    assert_eq!(read_arrow(&bytes, unwanted).end.unwrap(), Next::End);
    let wanted = read_arrow(&bytes, options());
    let (kind, _) = refusal(&wanted);
    assert!(matches!(
        kind,
        ErrorKind::ColumnType {
            name: "attempts",
            ..
        }
    ));
}

#[test]
fn doubles_need_a_unit() {
    for (unit, t, d) in [
        (Unit::Seconds, [0.0, 0.1], [3e-9, 0.0]),
        (Unit::Milliseconds, [0.0, 100.0], [3e-6, -0.0]),
        (Unit::Microseconds, [0.0, 1e5], [3e-3, 0.0]),
        (Unit::Nanoseconds, [0.4, 1e8], [2.5, 0.0]),
    ] {
        let columns = vec![("tx_time", doubles(&t)), ("decode_delay", doubles(&d))];
        let bytes = written(columns, None);
        let with_unit = Options {
            unit: Some(unit),
            attempts: true,
            ..Options::default()
        };
        let reading = read_arrow(&bytes, with_unit);
        assert_eq!(reading.end.unwrap(), Next::End, "{unit:?}");
        assert_eq!(reading.rows, [(0, 3), (100_000_000, 0)], "{unit:?}");
        let without_unit = read_arrow(&bytes, options());
        let (kind, _) = refusal(&without_unit);
        assert!(matches!(kind, ErrorKind::UnitMissing { name: "tx_time" }));
        assert!(
            without_unit
                .end
                .unwrap_err()
                .to_string()
                .contains("s, ms, us or ns")
        );
    }
}

#[test]
fn doubles_that_are_not_times_are_refused_with_their_row() {
    let with_unit = Options {
        unit: Some(Unit::Seconds),
        attempts: false,
        ..Options::default()
    };
    for (t, d, name) in [
        (f64::NAN, 0.0, "NotANumber"),
        (1.0, f64::INFINITY, "NotANumber"),
        (-1.0, 0.0, "Negative"),
        (1.0, -1e-300, "Negative"),
        (1e10, 0.0, "TooLarge"),
        (1.0, 1e-10, "RoundsToZero"),
        (0.5, 0.0, "OutOfOrder"),
        (9_223_372_036.0, 1.0, "SumTooLarge"),
    ] {
        let columns = vec![
            ("tx_time", doubles(&[1.0, t, 9_223_372_036.0])),
            ("decode_delay", doubles(&[0.25, d, 0.0])),
        ];
        let reading = read_arrow(&written(columns, None), with_unit.clone());
        let (kind, row) = refusal(&reading);
        assert_eq!((kind_name(kind).as_str(), row), (name, 2), "{t} {d}");
        assert_eq!(reading.rows, [(1_000_000_000, 250_000_000)]);
    }
}

#[test]
fn missing_and_unsupported_columns_are_refused_by_name() {
    let short = || -> ArrayRef { Arc::new(Float32Array::from(vec![1.0])) };
    let text = || -> ArrayRef { Arc::new(StringArray::from(vec!["1"])) };
    let whole = || integers(&[1]);
    let milliseconds = Options {
        unit: Some(Unit::Milliseconds),
        attempts: false,
        ..Options::default()
    };
    for (columns, options, message) in [
        (
            vec![("tx_time", short()), ("decode_delay", whole())],
            options(),
            "tx_time: found a column of float32, expected integers, doubles, durations or timestamps",
        ),
        (
            vec![("tx_time", whole()), ("decode_delay", text())],
            options(),
            "decode_delay: found a column of utf8, expected integers, doubles or durations",
        ),
        (
            vec![("tx_time", whole()), ("delay", whole())],
            options(),
            "found 'tx_time,delay', expected a column decode_delay",
        ),
        (
            vec![
                ("tx_time", whole()),
                ("decode_delay", whole()),
                ("tx_time", whole()),
            ],
            options(),
            "found column tx_time more than once, expected each name once",
        ),
        (
            vec![("tx_time", whole()), ("decode_delay", whole())],
            milliseconds,
            "tx_time: found unit ms for an int64 column, expected no unit or ns: integers in Arrow and Parquet are nanoseconds",
        ),
    ] {
        let reading = read_arrow(&written(columns, None), options);
        assert_eq!(reading.end.unwrap_err().to_string(), message);
    }
}

#[test]
fn an_end_line_must_match_the_rows() {
    let rows = fixture_rows();
    let lldus: Vec<Lldu> = rows.iter().copied().map(lldu).collect();
    let mut end = end_line(&rows);
    end.rows += 1;
    let mut out = Vec::new();
    encode::head::<Lldu>(&head(), &mut out);
    encode::batch(&lldus, &mut out);
    let whole = out.len();
    encode::end::<Lldu>(Some(&end), &mut out);
    let reading = read_arrow(&out, options());
    assert!(matches!(
        refusal(&reading).0,
        ErrorKind::RowCount {
            stated: 11,
            read: 10
        }
    ));

    // Without the marker, eight bytes, a batch may follow the end line.
    out.truncate(out.len() - 8);
    let batch = out[..whole].to_vec();
    let mut schema = Vec::new();
    encode::head::<Lldu>(&head(), &mut schema);
    out.extend_from_slice(&batch[schema.len()..]);
    let reading = read_arrow(&out, options());
    let (kind, row) = refusal(&reading);
    assert!(matches!(kind, ErrorKind::RowAfterEnd));
    assert_eq!(row, 11);
}

#[test]
fn a_stream_without_rows_is_accepted_at_this_level() {
    let empty = timeline(&[], &Metadata::new(), 1);
    let reading = read_arrow(&empty, options());
    assert_eq!(reading.end.unwrap(), Next::End);
    assert!(reading.rows.is_empty());
    let columns = vec![("tx_time", integers(&[])), ("decode_delay", integers(&[]))];
    let reading = read_arrow(&written(columns, None), options());
    assert_eq!(reading.end.unwrap(), Next::End);
}

#[test]
fn bytes_after_the_end_of_a_stream_are_refused() {
    let one = timeline(&fixture_rows(), &Metadata::new(), 4);
    let reading = read_arrow(&[&one[..], &one].concat(), options());
    assert!(matches!(refusal(&reading).0, ErrorKind::Corrupt { .. }));
    assert_rows(&reading, &fixture_rows());
}

#[test]
fn streams_before_version_0_15_are_refused() {
    let new = timeline(&fixture_rows(), &Metadata::new(), 4);
    let old = &new[4..];
    let kind = tmt_core::format::recognise(old);
    assert_eq!(kind, FileKind::Plain(Format::ArrowStream));
    let error = read_arrow(old, options()).end.unwrap_err();
    assert!(error.to_string().contains("0.15"), "{error}");
}

/// Replaces the only occurrence of `old` in `bytes` by `new`.
fn replaced(mut bytes: Vec<u8>, old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut places = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(old));
    let place = places.next().unwrap();
    assert_eq!(places.next(), None);
    bytes[place..place + new.len()].copy_from_slice(new);
    bytes
}

#[test]
fn claims_of_headers_are_not_trusted() {
    // A header of 2 GiB, and a body of half the address space; neither follows.
    let header = b"\xff\xff\xff\xff\xf8\xff\xff\x7f".to_vec();
    let whole = timeline(&fixture_rows(), &Metadata::new(), 10);
    // Ten rows of three columns, each padded to a multiple of 64 bytes, and a validity buffer.
    let body = replaced(
        whole,
        &(3 * 128i64 + 64).to_le_bytes(),
        &i64::MAX.to_le_bytes(),
    );
    for claim in [header, body] {
        let reading = read_arrow(&claim, options());
        let (kind, _) = refusal(&reading);
        assert!(matches!(kind, ErrorKind::CutStream { .. }), "{kind:?}");
    }

    // A compressed buffer that claims another size than its frame has.
    let size = 0x50i64.to_le_bytes();
    let frame = b"\x04\x22\x4d\x18";
    let bytes = fixture("polars.arrow");
    let place = (0..bytes.len())
        .find(|&at| bytes[at..].starts_with(&[&size[..], frame].concat()))
        .unwrap();
    let mut lying = bytes;
    lying[place..place + 8].copy_from_slice(&i64::MAX.to_le_bytes());
    let reading = read_arrow(&lying, options());
    assert_eq!(reading.end.as_ref().unwrap(), &Next::End);
    assert_rows(&reading, &fixture_rows());
}

#[test]
fn a_batch_that_claims_too_many_rows_for_its_bytes_is_refused_before_it_is_decoded() {
    let rows = 4321i64;
    let times: Vec<i64> = (0..rows).map(|row| 10_000 * row).collect();
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let columns = vec![
            ("tx_time", integers(&times)),
            ("decode_delay", integers(&times)),
        ];
        let whole = written(columns, Some(compression));
        // The length of the batch, and those of its columns.
        let places: Vec<usize> = (0..whole.len() - 8)
            .filter(|&at| whole[at..at + 8] == rows.to_le_bytes())
            .collect();
        assert_eq!(places.len(), 3);
        for claimed in [1i64 << 30, 1 << 50, i64::MAX, -1] {
            let mut bytes = whole.clone();
            for &at in &places {
                bytes[at..at + 8].copy_from_slice(&claimed.to_le_bytes());
            }
            let reading = read_arrow(&bytes, options());
            assert!(matches!(refusal(&reading).0, ErrorKind::Corrupt { .. }));
        }
    }
}

#[test]
fn integers_durations_and_timestamps_of_any_width_are_read() {
    let t: [i64; 3] = [0, 5, 5];
    let d: [Option<i64>; 3] = [Some(1), None, Some(2)];
    let narrow = |values: &[i64]| -> ArrayRef {
        Arc::new(
            values
                .iter()
                .map(|&v| i16::try_from(v).unwrap())
                .collect::<Int16Array>(),
        )
    };
    let stamp = |zero: i64| -> ArrayRef {
        let values: Vec<i64> = t.iter().map(|t| t + zero).collect();
        Arc::new(TimestampMillisecondArray::from(values).with_timezone("+02:00"))
    };
    let delays: ArrayRef = Arc::new(DurationMicrosecondArray::from(d.to_vec()));
    let wide: ArrayRef = Arc::new(
        d.iter()
            .map(|d| d.map(i64::cast_unsigned))
            .collect::<UInt64Array>(),
    );
    for (name, times) in [
        ("tx_time_ms", integers(&t)),
        ("tx_time_ms", narrow(&t)),
        ("tx_time_ms", doubles(&[0.0, 5.0, 5.0])),
        (
            "tx_time",
            Arc::new(DurationMillisecondArray::from(t.to_vec())) as ArrayRef,
        ),
        ("tx_time", stamp(0)),
        ("tx_time", stamp(1_700_000_000_000)),
        ("tx_time", stamp(-1_700_000_000_000)),
    ] {
        for (delay, delays) in [("decode_delay", &delays), ("decode_delay_us", &wide)] {
            let columns = vec![(name, times.clone()), (delay, delays.clone())];
            let reading = read_arrow(&written(columns, None), options());
            assert_eq!(reading.end.unwrap(), Next::End, "{name} {times:?} {delay}");
            let rows = [(0, 1_000), (5_000_000, 0), (5_000_000, 2_000)];
            assert_eq!(reading.rows, rows, "{name} {times:?} {delay}");
        }
    }
}

#[test]
fn times_that_leave_the_range_are_refused_with_their_row() {
    let micros = |values: &[u64]| -> ArrayRef { Arc::new(UInt64Array::from(values.to_vec())) };
    let stamps =
        |values: &[i64]| -> ArrayRef { Arc::new(TimestampNanosecondArray::from(values.to_vec())) };
    for (name, times, expected) in [
        ("tx_time_us", micros(&[0, u64::MAX]), "TooLarge"),
        ("tx_time_us", micros(&[0, (LARGEST / 1000) + 1]), "TooLarge"),
        ("tx_time_us", integers(&[0, -1]), "Negative"),
        ("tx_time", stamps(&[7, 6]), "Format"),
        ("tx_time", stamps(&[i64::MIN, i64::MAX]), "TooLarge"),
        ("tx_time_s", doubles(&[0.0, f64::NAN]), "NotANumber"),
    ] {
        let columns = vec![(name, times), ("decode_delay_ns", integers(&[1, 1]))];
        let reading = read_arrow(&written(columns, None), options());
        let (kind, row) = refusal(&reading);
        assert_eq!((kind_name(kind).as_str(), row), (expected, 2), "{name}");
    }
}

/// A timeline as an Arrow file, through the writer of traces.
fn file(rows: &[Row], head: &Metadata) -> Vec<u8> {
    let lldus: Vec<Lldu> = rows.iter().copied().map(lldu).collect();
    let mut writer = TraceWriter::new(Vec::new(), "arrow".parse().unwrap(), head).unwrap();
    lldus
        .chunks(1000)
        .for_each(|rows| writer.write(rows).unwrap());
    writer.finish(&end_line(rows)).unwrap()
}

#[test]
fn a_file_has_a_footer_that_lists_its_batches() {
    // Two full batches and a rest; the last batch has the end line and no rows.
    let rows: Vec<Row> = (0..70_000)
        .map(|j| (10 * j, j % 3, 1 + (j % 5) as u32))
        .collect();
    for (head, batches) in [(head(), 4), (Metadata::new(), 3)] {
        let bytes = file(&rows, &head);
        let reader = FileReader::try_new(std::io::Cursor::new(&bytes), None).unwrap();
        assert_eq!(reader.num_batches(), batches);
        let lengths: Vec<_> = reader.map(|batch| batch.unwrap().num_rows()).collect();
        assert_eq!(lengths[..3], [1 << 15, 1 << 15, 70_000 - (1 << 16)]);
        let reading = read_arrow(&bytes, options());
        assert_eq!(reading.end.as_ref().unwrap(), &Next::End);
        assert_rows(&reading, &rows);
        assert_eq!(reading.head, lines(&head));
        assert_eq!(reading.line, head.is_head().then(|| end_line(&rows)));
    }
}

#[test]
fn bodies_of_a_file_are_aligned() {
    let rows = fixture_rows();
    let bytes = file(&rows, &head());
    // The times, which are unmistakable.
    let times: Vec<u8> = rows.iter().flat_map(|row| row.0.to_le_bytes()).collect();
    let at = bytes
        .windows(times.len())
        .position(|window| window == times);
    assert_eq!(at.unwrap() % 64, 0);
}

#[test]
fn a_written_file_cut_anywhere_is_reported() {
    let rows = fixture_rows();
    let bytes = file(&rows, &head());
    for length in 0..bytes.len() {
        check_cut(&bytes, length, &rows);
    }
}
