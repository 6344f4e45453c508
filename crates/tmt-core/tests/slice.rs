//! Slices of traces: what is taken apart and put together again is what it was, byte for byte, however it is read.

use std::io::Write;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tmt_core::format::{Form, Options, TraceReader, TraceWriter};
use tmt_core::pipeline::{Move, Selection, Slice, StageError, merge, slot_spacing};
use tmt_core::types::{EndLine, ErrorKind, Fate, Lldu, Metadata, Slot, Span, Time};

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos).unwrap()
}

fn head() -> Metadata {
    let mut head = Metadata::new();
    head.set("tool", "hand 1");
    head
}

/// A writer into memory.
fn writer(form: &str) -> TraceWriter<Slot, Vec<u8>> {
    let form: Form = form.parse().unwrap();
    TraceWriter::new(Vec::new(), form, &head()).unwrap()
}

/// The trace of `slots` as a file.
fn file(slots: &[Slot], usable_until: Time) -> Vec<u8> {
    let mut writer = writer("csv");
    writer.write(slots).unwrap();
    let rows = slots.len() as u64;
    let end = EndLine {
        rows,
        slots: rows,
        usable_until,
    };
    writer.finish(&end).unwrap()
}

fn reader(file: &[u8], chunk: usize) -> TraceReader<'_> {
    let options = Options {
        chunk,
        attempts: true,
        ..Options::default()
    };
    TraceReader::new(file, options).unwrap()
}

/// The slice of `file`; `None` if it is empty.
fn sliced(file: &[u8], chunk: usize, selection: Selection, to: Move) -> Option<Vec<u8>> {
    joined(&[file], chunk, selection, to)
}

/// The slices of `files`, one after another.
fn joined(files: &[&[u8]], chunk: usize, selection: Selection, to: Move) -> Option<Vec<u8>> {
    let mut slice = Slice::new(writer("csv"));
    for file in files {
        slice.pass(&mut reader(file, chunk), selection, to).unwrap();
    }
    slice.finish().unwrap().map(|sliced| sliced.output)
}

/// Slots in the order of time, some at the same time, some erased.
fn slots() -> impl Strategy<Value = Vec<Slot>> {
    proptest::collection::vec((0u64..5, 0u64..3), 1..400).prop_map(|steps| {
        let mut now = 0;
        let slot = |(step, delay): (u64, u64)| {
            now += step * 1000;
            Slot::new(at(now), Span::from_nanos(delay * 7).unwrap()).unwrap()
        };
        steps.into_iter().map(slot).collect()
    })
}

fn last(slots: &[Slot]) -> Time {
    slots.last().unwrap().tx_time()
}

proptest! {
    #[test]
    fn the_shares_of_all_users_merge_into_the_link(
        // Users of one link do not send at the same time.
        gaps in proptest::collection::vec((1u64..5, 0u64..3), 1..400),
        users in 1u64..13,
        chunk in 1usize..3000,
    ) {
        let mut now = 0;
        let slots: Vec<Slot> = gaps
            .into_iter()
            .map(|(gap, delay)| {
                now += gap;
                Slot::new(at(now), Span::from_nanos(delay).unwrap()).unwrap()
            })
            .collect();
        let link = file(&slots, last(&slots));
        let share = |offset| {
            let selection = Selection { every: users, offset, ..Selection::default() };
            sliced(&link, chunk, selection, Move::default())
        };
        let shares: Vec<Vec<u8>> = (0..users).filter_map(share).collect();
        prop_assert_eq!(shares.len() as u64, users.min(slots.len() as u64));
        let mut readers: Vec<_> = shares.iter().map(|share| reader(share, chunk)).collect();
        let merged = merge(&mut readers, writer("csv")).unwrap();
        prop_assert_eq!((merged.slots, merged.ties), (slots.len() as u64, 0));
        prop_assert!(merged.output == link);
    }

    #[test]
    fn the_pieces_of_a_trace_concatenate_into_it(
        slots in slots(),
        cuts in proptest::collection::vec(0u64..2_000_000, 0..5),
        chunk in 1usize..3000,
        by_rows in any::<bool>(),
    ) {
        let whole = file(&slots, last(&slots));
        let mut cuts: Vec<u64> = if by_rows { cuts.iter().map(|cut| cut % 400).collect() } else { cuts };
        cuts.sort_unstable();
        cuts.push(u64::MAX);
        let mut from = 0;
        let mut pieces = Vec::new();
        for until in cuts {
            let mut selection = Selection::default();
            if by_rows {
                (selection.first_row, selection.end_row) = (from, Some(until));
            } else {
                (selection.from, selection.until) = (at(from), Time::from_nanos(until));
            }
            pieces.extend(sliced(&whole, chunk, selection, Move::default()));
            from = until;
        }
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        let again = joined(&pieces, chunk, Selection::default(), Move::default());
        prop_assert!(again == Some(whole));
    }

    #[test]
    fn a_shift_is_undone_by_its_opposite(slots in slots(), by in 0u64..1 << 62, chunk in 1usize..3000) {
        let whole = file(&slots, last(&slots));
        let by = Span::from_nanos(by).unwrap();
        let there = sliced(&whole, chunk, Selection::default(), Move::Later(by)).unwrap();
        let back = sliced(&there, chunk, Selection::default(), Move::Earlier(by));
        prop_assert!(back == Some(whole.clone()));
        let first = slots[0].tx_time();
        let rebased = sliced(&there, chunk, Selection::default(), Move::FirstAt(first));
        prop_assert!(rebased == Some(whole));
    }

    /// Any file in any of these places is moved to follow, and no slot is lost.
    #[test]
    fn a_trace_follows_the_last_one_by_the_gap(one in slots(), other in slots(), gap in 0u64..10_000) {
        let files = [&one, &other].map(|slots| file(slots, last(slots)));
        let gap = Span::from_nanos(gap).unwrap();
        let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
        let both = joined(&files, 1000, Selection::default(), Move::After(gap)).unwrap();
        let found = reader(&both, 1000).read_lldus().unwrap();
        prop_assert_eq!(found.len(), one.len() + other.len());
        let between = found[one.len()].tx_time.since(found[one.len() - 1].tx_time);
        prop_assert!(between.as_nanos().abs_diff(gap.as_nanos()) <= 1);
        let first = found[one.len()].tx_time;
        for (found, slot) in found[one.len()..].iter().zip(&other) {
            prop_assert_eq!(found.tx_time.since(first), slot.tx_time().since(other[0].tx_time()));
        }
    }
}

/// Slots every 10 ns.
fn regular(count: u64) -> Vec<Slot> {
    (0..count).map(|slot| Slot::erased(at(10 * slot))).collect()
}

#[test]
fn a_trace_without_a_received_slot_is_sliced_like_any_other() {
    let slots = regular(10);
    let every = Selection {
        every: 3,
        offset: 2,
        ..Selection::default()
    };
    let third = sliced(&file(&slots, last(&slots)), 100, every, Move::default()).unwrap();
    let expected: Vec<Slot> = [20, 50, 80].map(|time| Slot::erased(at(time))).to_vec();
    assert_eq!(third, file(&expected, at(80)));
}

#[test]
fn what_is_not_usable_in_the_input_is_not_usable_in_the_slice() {
    let slots = regular(10);
    let short = file(&slots, at(50));
    let whole = file(&slots, at(90));
    let usable = |file: &[u8]| {
        let mut reader = reader(file, 100);
        reader.read_lldus().unwrap();
        reader.end().unwrap().end_line.unwrap().usable_until
    };
    let later = Move::Later(Span::from_nanos(1000).unwrap());
    let one = |file: &[u8]| usable(&sliced(file, 100, Selection::default(), later).unwrap());
    assert_eq!((one(&short), one(&whole)), (at(1050), at(1090)));
    let until = Selection {
        until: Some(at(30)),
        ..Selection::default()
    };
    assert_eq!(
        usable(&sliced(&short, 100, until, later).unwrap()),
        at(1020)
    );
    // The rest begins after that.
    let from = Selection {
        from: at(70),
        ..Selection::default()
    };
    let first = Move::FirstAt(Time::ZERO);
    assert_eq!(usable(&sliced(&short, 100, from, first).unwrap()), at(0));
    let gap = Move::After(Span::from_nanos(10).unwrap());
    let both = |files: &[&[u8]]| usable(&joined(files, 100, Selection::default(), gap).unwrap());
    assert_eq!(both(&[&whole, &whole]), at(190));
    assert_eq!(both(&[&whole, &short]), at(150));
    assert_eq!(both(&[&short, &whole]), at(50));
    assert_eq!(both(&[&short, &short]), at(50));
    let merged = |files: &[&[u8]]| {
        let mut readers: Vec<_> = files.iter().map(|file| reader(file, 100)).collect();
        usable(&merge(&mut readers, writer("csv")).unwrap().output)
    };
    assert_eq!(merged(&[&whole, &short]), at(50));
    assert_eq!(merged(&[&short, &file(&slots, at(70))]), at(50));
    assert_eq!(merged(&[&whole, &whole]), at(90));
}

/// A writer shared by several owners, with one buffer.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The error of a slice and its row. All rows before it are written.
fn refusal(file: &[u8], to: Move) -> (ErrorKind, u64) {
    let output = Shared::default();
    let form: Form = "csv".parse().unwrap();
    let mut slice = Slice::new(TraceWriter::<Slot, _>::new(output.clone(), form, &head()).unwrap());
    let error = slice.pass(&mut reader(file, 64), Selection::default(), to);
    let Err(StageError::Input(error)) = error else {
        panic!("{error:?}");
    };
    slice.abandon();
    let row = error.position().unwrap().row;
    let written = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
    let is_row = |line: &&str| line.starts_with(|first: char| first.is_ascii_digit());
    assert_eq!(written.lines().filter(is_row).count() as u64, row - 1);
    (error.into_kind(), row)
}

#[test]
fn the_first_row_that_cannot_be_moved_is_named() {
    let slots = regular(100);
    let whole = file(&slots, at(990));
    let five = Span::from_nanos(5).unwrap();
    let (kind, row) = refusal(&whole, Move::Earlier(five));
    assert!(matches!(kind, ErrorKind::BeforeZero { by, .. } if by == five));
    assert_eq!(row, 1);
    let room = Span::from_nanos(Time::MAX.as_nanos() - 555).unwrap();
    let (kind, row) = refusal(&whole, Move::Later(room));
    assert!(matches!(kind, ErrorKind::SumTooLarge { .. }));
    // Row 57 is at 560 ns.
    assert_eq!(row, 57);
    let mut slice = Slice::new(writer("csv"));
    let keep = |slice: &mut Slice<Slot, Vec<u8>>| {
        slice.pass(
            &mut reader(&whole, 64),
            Selection::default(),
            Move::default(),
        )
    };
    keep(&mut slice).unwrap();
    let Err(StageError::Input(error)) = keep(&mut slice) else {
        panic!("times went back");
    };
    assert!(matches!(error.kind(), ErrorKind::OutOfOrder { .. }));
}

#[test]
fn slots_at_the_same_time_are_in_the_order_of_the_traces_and_counted() {
    let received = |time| Slot::new(at(time), Span::from_nanos(1).unwrap()).unwrap();
    let one = [received(0), received(10)];
    let other = [Slot::erased(at(10)), Slot::erased(at(20))];
    let files = [file(&one, at(10)), file(&other, at(20))];
    let mut readers: Vec<_> = files.iter().map(|file| reader(file, 100)).collect();
    let merged = merge(&mut readers, writer("csv")).unwrap();
    assert_eq!(merged.ties, 1);
    let expected = [one[0], one[1], other[0], other[1]];
    assert_eq!(merged.output, file(&expected, at(20)));
    // Slots of one trace at the same time are no tie.
    let own = file(&[received(0), received(10), received(10)], at(10));
    let later = file(&[received(20)], at(20));
    let mut readers = [&own, &later].map(|file| reader(file, 100));
    assert_eq!(merge(&mut readers, writer("csv")).unwrap().ties, 0);
}

#[test]
fn the_spacing_of_slots_is_the_time_of_an_lldu_at_the_rate() {
    let mut head = head();
    assert_eq!(slot_spacing(&head), None);
    head.set("rate_bps", "2630000");
    head.set("lldu_bytes", "33");
    // 264 bits at 2.63 Mbps take 100380.2 ns.
    assert_eq!(slot_spacing(&head), Span::from_nanos(100_380));
}

#[test]
fn a_timeline_is_moved_with_its_attempts_and_its_slots() {
    let lldu = |time, delay, attempts| Lldu {
        tx_time: at(time),
        decode_delay: Span::from_nanos(delay).unwrap(),
        attempts,
        fate: if delay == 0 {
            Fate::Lost
        } else {
            Fate::Delivered
        },
    };
    let rows = |by| [lldu(by, 0, 3), lldu(by + 5, 90, 4), lldu(by + 9, 7, 1)];
    let write =
        || TraceWriter::<Lldu, _>::new(Vec::new(), "csv".parse().unwrap(), &head()).unwrap();
    let end = |usable_until| EndLine {
        rows: 3,
        slots: 8,
        usable_until,
    };
    let mut written = write();
    written.write(&rows(0)).unwrap();
    let timeline = written.finish(&end(at(9))).unwrap();
    let mut slice = Slice::new(write());
    let by = Span::from_nanos(100).unwrap();
    let mut read = reader(&timeline, 64);
    slice
        .pass(&mut read, Selection::default(), Move::Later(by))
        .unwrap();
    let moved = slice.finish().unwrap().unwrap().output;
    let mut read = reader(&moved, 64);
    assert_eq!(read.read_lldus().unwrap(), rows(100));
    assert_eq!(read.end().unwrap().end_line, Some(end(at(109))));
    // The second row would be sent in time, and arrive too late.
    let mut slice = Slice::new(write());
    let by = Span::from_nanos(Time::MAX.as_nanos() - 20).unwrap();
    let refused = slice.pass(
        &mut reader(&timeline, 64),
        Selection::default(),
        Move::Later(by),
    );
    let Err(StageError::Input(error)) = refused else {
        panic!("{refused:?}");
    };
    assert!(matches!(error.kind(), ErrorKind::SumTooLarge { .. }));
    assert_eq!(error.position().unwrap().row, 2);
}

#[test]
fn an_error_of_a_merged_trace_has_its_index() {
    let good = file(&regular(1000), at(9990));
    let bad = b"tx_time,decode_delay\n0,0\n1,x\n";
    let mut readers = vec![reader(&good, 100), reader(bad, 10), reader(&good, 100)];
    let (index, error) = merge(&mut readers, writer("csv")).unwrap_err();
    assert_eq!(index, 1);
    assert!(error.to_string().contains("found 'x'"), "{error}");
}
