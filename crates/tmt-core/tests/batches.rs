//! Arrow batches in memory: what is collected are the rows of the file that would be written, and reading batches gives what
//! reading their file gives, however the batches are cut.

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::ArrowError;
use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use test_support::cases;
use tmt_core::format::{
    Batches, Form, Options, Row, Rows, Sink as _, TraceCollector, TraceReader, TraceWriter,
};
use tmt_core::pipeline::{Apply, Lane};
use tmt_core::types::{EndLine, ErrorKind, Lldu, Metadata, Slot, Span, Time};

use crate::formats::{end_line, heads, lldu, rows, slot};

/// `rows` as a table in memory, taken in pieces of `piece` rows.
fn collected<T: Row>(rows: &[T], head: &Metadata, end: &EndLine, piece: usize) -> Batches {
    let mut collector = TraceCollector::new(head);
    for rows in rows.chunks(piece) {
        rayon::scope(|scope| collector.spawn(rows, scope));
        collector.advance().unwrap();
    }
    collector.finish(end).unwrap()
}

/// `rows` as the bytes of an Arrow stream.
fn written<T: Row>(rows: &[T], head: &Metadata, end: &EndLine) -> Vec<u8> {
    let form: Form = "arrows".parse().unwrap();
    let mut writer = TraceWriter::new(Vec::new(), form, head).unwrap();
    writer.write(rows).unwrap();
    writer.finish(end).unwrap()
}

/// A reader of `table`, whose batches are cut into slices of `most` rows.
fn reader(table: &Batches, most: usize, allow_cut: bool) -> TraceReader<'static> {
    let slices = table.batches.iter().flat_map(|batch| {
        let starts = (0..batch.num_rows()).step_by(most);
        starts.map(|from| batch.slice(from, most.min(batch.num_rows() - from)))
    });
    let slices: Vec<Result<RecordBatch, ArrowError>> = slices.map(Ok).collect();
    let pairs = table.metadata.iter();
    let pairs = pairs.map(|(key, value)| (key.as_str(), value.as_str()));
    let options = Options {
        attempts: true,
        allow_cut,
        ..Options::default()
    };
    TraceReader::batches(&table.schema, pairs, slices.into_iter(), options).unwrap()
}

/// All rows of `reader`, or its error with its position.
fn read(mut reader: TraceReader<'_>) -> Result<(Vec<Lldu>, Metadata, Option<EndLine>), String> {
    let lldus = reader.read_lldus();
    let lldus = lldus.map_err(|error| format!("{:?} {error}", error.position()))?;
    let end = reader.end().and_then(|end| end.end_line);
    Ok((lldus, reader.metadata().clone(), end))
}

fn same_as_in_a_file<T: Row>(
    rows: &[T],
    head: &Metadata,
    end: &EndLine,
    (piece, most): (usize, usize),
) -> Result<(), TestCaseError> {
    let (table, bytes) = (collected(rows, head, end, piece), written(rows, head, end));
    let file = StreamReader::try_new(&bytes[..], None).unwrap();
    let fields = file.schema().fields().clone();
    prop_assert_eq!(table.schema.fields(), &fields);
    let file: Vec<RecordBatch> = file.map(Result::unwrap).collect();
    let values = |batches: &[RecordBatch]| {
        let column = |at: usize| {
            let arrays = batches.iter().map(|batch| batch.column(at).to_data());
            let arrays: Vec<_> = arrays.map(arrow_array::Int64Array::from).collect();
            let values: Vec<Option<i64>> = arrays.iter().flatten().collect();
            values
        };
        (0..fields.len()).map(column).collect::<Vec<_>>()
    };
    prop_assert_eq!(values(&table.batches), values(&file));
    let options = Options {
        attempts: true,
        ..Options::default()
    };
    let of_file = TraceReader::new(&bytes[..], options).unwrap();
    prop_assert_eq!(read(reader(&table, most, false)), read(of_file));
    Ok(())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_table_holds_what_its_file_holds(
        rows in rows(1200), head in heads(), piece in 1usize..1300, most in 1usize..1300,
    ) {
        let end = end_line(&rows);
        let slots: Vec<Slot> = rows.iter().copied().map(slot).collect();
        same_as_in_a_file(&slots, &head, &end, (piece, most))?;
        let lldus: Vec<Lldu> = rows.into_iter().map(lldu).collect();
        same_as_in_a_file(&lldus, &head, &end, (piece, most))?;
    }
}

/// A trace of `count` slots, one in nine erased.
fn slots(count: u64) -> Vec<Slot> {
    let row = |row: u64| slot((row * 100_000, if row % 9 == 4 { 0 } else { 36_000_000 }, 1));
    (0..count).map(row).collect()
}

fn head() -> Metadata {
    let mut head = Metadata::new();
    head.set("tool", "tmt 0.2.0");
    head
}

fn end(rows: u64) -> EndLine {
    EndLine {
        rows,
        slots: rows,
        usable_until: Time::from_nanos(rows * 100_000).unwrap(),
    }
}

#[test]
fn long_columns_and_long_batches_are_split_without_losing_a_row() {
    // More rows than a batch of a table holds, in one piece and in many.
    let slots = slots(700_000);
    let end = end(700_000);
    let many = collected(&slots, &head(), &end, 65_537);
    let one = collected(&slots, &head(), &end, usize::MAX);
    assert_eq!(many.batches, one.batches);
    assert!(many.batches.len() > 2);
    let whole = arrow_array::Int64Array::from_iter_values(
        slots
            .iter()
            .map(|slot| slot.tx_time().as_nanos().cast_signed()),
    );
    let table = Batches {
        batches: vec![
            RecordBatch::try_new(
                many.schema.clone(),
                vec![
                    std::sync::Arc::new(whole.clone()),
                    std::sync::Arc::new(whole),
                ],
            )
            .unwrap(),
        ],
        ..many.clone()
    };
    let times = |table: &Batches| {
        let mut reader = reader(table, usize::MAX, false);
        let (mut rows, mut times) = (Rows::default(), Vec::new());
        while reader.next_rows(&mut rows).unwrap() {
            assert_eq!(rows.number(0), times.len() as u64 + 1);
            times.extend(rows.slots.iter().map(Slot::tx_time));
        }
        times
    };
    assert_eq!(times(&table), times(&many));
    assert_eq!(times(&table).len(), 700_000);
}

#[test]
fn every_scheme_gives_the_table_of_its_file() {
    let (slots, end) = (slots(150_000), end(150_000));
    let (table, bytes) = (
        collected(&slots, &head(), &end, 10_000),
        written(&slots, &head(), &end),
    );
    let rtt = Span::from_millis(20);
    for threads in [1, 3] {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        for scheme in tmt_core::scheme::examples() {
            let scheme = || scheme.parse().unwrap();
            pool.install(|| {
                let lane = Lane::new(
                    scheme(),
                    rtt,
                    Span::ZERO,
                    Some(TraceCollector::new(&head())),
                );
                let mut ends = Apply::new(vec![lane])
                    .run(&mut reader(&table, 77_777, false))
                    .unwrap();
                let ours = ends.remove(0);
                let form: Form = "arrows".parse().unwrap();
                let writer = TraceWriter::new(Vec::new(), form, &head()).unwrap();
                let lane = Lane::new(scheme(), rtt, Span::ZERO, Some(writer));
                let mut file = TraceReader::new(&bytes[..], Options::default()).unwrap();
                let theirs = Apply::new(vec![lane]).run(&mut file).unwrap().remove(0);
                assert_eq!(ours.summary, theirs.summary);
                let options = Options {
                    attempts: true,
                    ..Options::default()
                };
                let theirs = theirs.output.unwrap();
                let theirs = TraceReader::new(&theirs[..], options).unwrap();
                let ours = reader(&ours.output.unwrap(), usize::MAX, false);
                assert_eq!(read(ours), read(theirs));
            });
        }
    }
}

#[test]
fn a_table_is_whole_without_an_end_line_and_refused_with_a_wrong_one() {
    let mut table = collected(&slots(1000), &head(), &end(1000), 1000);
    table.batches[0] = table.batches[0].slice(0, 900);
    let error = reader(&table, 100, false).read_lldus().unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::RowCount {
            stated: 1000,
            read: 900
        }
    ));
    let mut allowed = reader(&table, 100, true);
    assert_eq!(allowed.read_lldus().unwrap().len(), 900);
    let end = allowed.end().unwrap();
    assert!(end.cut && end.end_line.is_none());
    table.metadata.pop();
    let mut whole = reader(&table, 100, false);
    assert_eq!(whole.read_lldus().unwrap().len(), 900);
    assert!(whole.metadata().is_head() && !whole.end().unwrap().cut);
}

#[test]
fn an_error_of_the_producer_follows_the_rows_before_it() {
    let table = collected(&slots(10), &Metadata::new(), &end(10), 10);
    let failing = [
        Ok(table.batches[0].clone()),
        Err(ArrowError::ComputeError("out of paper".to_owned())),
    ];
    let pairs = std::iter::empty();
    let mut reader = TraceReader::batches(
        &table.schema,
        pairs,
        failing.into_iter(),
        Options::default(),
    )
    .unwrap();
    let mut rows = Rows::default();
    assert!(reader.next_rows(&mut rows).unwrap());
    assert_eq!(rows.slots.len(), 10);
    let error = reader.next_rows(&mut rows).unwrap_err();
    assert!(error.to_string().contains("out of paper"), "{error}");
}
