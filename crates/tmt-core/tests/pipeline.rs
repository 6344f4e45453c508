//! The pipeline gives the same as its parts one after another, for any number of threads and any chunk size: the same
//! rows, the same summaries, the same error after the same bytes.

mod columns;

use std::io::Write;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tmt_core::channel::{Channel, ChannelSpec, SlotChannel, Use};
use tmt_core::format::text::encode;
use tmt_core::format::{FORMS, Form, Format, Options, Rows, TraceReader, TraceWriter};
use tmt_core::pipeline::{Apply, Inject, Lane, StageError, collect};
use tmt_core::scheme::runner::{RunnerError, SchemeRunner};
use tmt_core::stats::{LinkSummary, LlduTally, SlotTally};
use tmt_core::types::{EndLine, Fate, Metadata, Slot, Span, Time};

const THREADS: [usize; 4] = [1, 2, 3, 8];
const CHUNKS: [usize; 5] = [1, 13, 997, 65_536, 1 << 20];

/// Schemes of every family, and some that depend strongly on the order of events.
fn schemes() -> Vec<&'static str> {
    let hard = ["fec:3/5,interleave=7,in-order", "harq:2/3,extra=1,rounds=2"];
    tmt_core::scheme::examples().chain(hard).collect()
}

/// An output whose bytes can be read after it has been dropped.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

fn options(chunk: usize) -> Options {
    Options {
        chunk,
        ..Options::default()
    }
}

/// Result of a run: the bytes of each output, and the summaries or the error.
#[derive(Debug, PartialEq)]
struct Outcome {
    outputs: Vec<Vec<u8>>,
    end: Result<Vec<LinkSummary>, String>,
}

fn words(error: &tmt_core::Error) -> String {
    format!("{:?} {error}", error.position())
}

/// Runs the parts one after another, on one thread.
fn by_hand(trace: &[u8], schemes: &[&str], rtt: Span) -> Outcome {
    let mut reader = match TraceReader::new(trace, options(1 << 20)) {
        Ok(reader) => reader,
        Err(error) => {
            return Outcome {
                outputs: Vec::new(),
                end: Err(words(&error)),
            };
        }
    };
    let has_head = reader.metadata().is_head();
    let (mut slots, mut numbers) = (Vec::new(), Vec::new());
    let mut rows = Rows::default();
    let mut error = loop {
        match reader.next_rows(&mut rows) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(error) => break Some(words(&error)),
        }
        slots.extend_from_slice(&rows.slots);
        numbers.extend((0..rows.slots.len()).map(|at| (rows.line(at), rows.number(at))));
    };
    // All schemes stop at the first row at which one of them fails.
    let mut runners: Vec<(SchemeRunner, Vec<_>)> = schemes
        .iter()
        .map(|scheme| {
            (
                SchemeRunner::new(scheme.parse().unwrap(), rtt, Span::ZERO),
                Vec::new(),
            )
        })
        .collect();
    let mut tally = SlotTally::default();
    'all: for (slot, (line, row)) in slots.iter().zip(numbers) {
        let mut failed = None;
        for (runner, lldus) in &mut runners {
            if let Err(RunnerError { kind, .. }) =
                runner.push_slots(std::slice::from_ref(slot), lldus)
            {
                let position = tmt_core::Position {
                    line,
                    column: 1,
                    row,
                };
                failed.get_or_insert(words(&tmt_core::Error::at(kind, position)));
            }
        }
        if failed.is_some() {
            error = failed;
            break 'all;
        }
        tally.slots(std::slice::from_ref(slot));
    }
    let mut outputs = Vec::new();
    let mut summaries = Vec::new();
    for (mut runner, mut lldus) in runners {
        let end = error.is_none().then(|| runner.finish(&mut lldus));
        let mut text = Vec::new();
        encode::head(reader.metadata(), &mut text);
        encode::timeline_header(&mut text);
        for lldu in &lldus {
            encode::lldu(lldu, &mut text);
        }
        if let Some(mut end) = end {
            if let Some(input_end) = reader.end().and_then(|end| end.end_line) {
                end.usable_until = end.usable_until.min(input_end.usable_until);
            }
            if has_head {
                encode::end(&end, &mut text);
            }
            let mut counts = LlduTally::default();
            counts.lldus(&lldus);
            summaries.push(LinkSummary::new(
                runner.scheme(),
                rtt,
                Span::ZERO,
                runner.unit_counts(),
                &tally,
                &counts,
            ));
        }
        outputs.push(text);
    }
    Outcome {
        outputs,
        end: error.map_or(Ok(summaries), Err),
    }
}

/// Runs the same through the pipeline.
fn in_rounds(trace: &[u8], schemes: &[&str], rtt: Span, threads: usize, chunk: usize) -> Outcome {
    in_form(trace, Form::default(), schemes, rtt, threads, chunk)
}

/// The same with outputs in `form`.
fn in_form(
    trace: &[u8],
    form: Form,
    schemes: &[&str],
    rtt: Span,
    threads: usize,
    chunk: usize,
) -> Outcome {
    let outputs: Vec<Shared> = schemes.iter().map(|_| Shared::default()).collect();
    let end = pool(threads).install(|| {
        let mut reader =
            TraceReader::new(trace, options(chunk)).map_err(|error| (true, words(&error)))?;
        let lanes = schemes.iter().zip(&outputs).map(|(scheme, output)| {
            let writer = TraceWriter::new(output.clone(), form, reader.metadata()).unwrap();
            Lane::new(scheme.parse().unwrap(), rtt, Span::ZERO, Some(writer))
        });
        let apply = Apply::new(lanes.collect());
        match apply.run(&mut reader) {
            Ok(ends) => Ok(ends.into_iter().map(|end| end.summary).collect()),
            Err(StageError::Input(error)) => Err((false, words(&error))),
            Err(StageError::Output(_, error)) => panic!("{error}"),
        }
    });
    let never_began = matches!(end, Err((true, _)));
    Outcome {
        outputs: if never_began {
            Vec::new()
        } else {
            outputs.iter().map(Shared::bytes).collect()
        },
        end: end.map_err(|(_, words)| words),
    }
}

/// A trace with the gaps, bursts and jitter of a measured one.
fn long_trace(rows: u64) -> String {
    let mut text = String::from("tx_time,decode_delay\n");
    let mut channel = Channel::new("gilbert-elliott:alpha=0.97,beta=0.7".parse().unwrap(), 5);
    let mut nanos = 999_900_000u64;
    for row in 0..rows {
        nanos += 112_821 + row % 7 * 1_000;
        let delay = if channel.erases() {
            "0".to_owned()
        } else {
            format!("0.{:09}", 36_000_000 + row * 7_919 % 1_000_003)
        };
        text.push_str(&format!(
            "{}.{:09},{delay}\n",
            nanos / 1_000_000_000,
            nanos % 1_000_000_000
        ));
    }
    text
}

#[test]
fn the_result_does_not_depend_on_threads_and_chunk_size() {
    let trace = long_trace(6_000);
    let rtt = Span::from_millis(50);
    let expected = by_hand(trace.as_bytes(), &schemes(), rtt);
    assert!(expected.end.is_ok());
    for threads in THREADS {
        for chunk in CHUNKS {
            let got = in_rounds(trace.as_bytes(), &schemes(), rtt, threads, chunk);
            assert!(
                got == expected,
                "{threads} threads, chunks of {chunk} bytes"
            );
        }
    }
}

#[test]
fn a_trace_of_many_chunks_gives_the_same_as_its_parts() {
    let trace = long_trace(150_000);
    let rtt = Span::from_millis(500);
    let expected = by_hand(trace.as_bytes(), &schemes(), rtt);
    for threads in THREADS {
        let got = in_rounds(trace.as_bytes(), &schemes(), rtt, threads, 300_000);
        assert!(got == expected, "{threads} threads");
    }
}

#[test]
fn the_lowest_faulty_line_is_reported_and_no_row_after_it_is_written() {
    let good = long_trace(3_000);
    let lines: Vec<&str> = good.lines().collect();
    for (at, bad) in [
        (1, "x,0.1"),
        (700, "1.5,-1"),
        (1_500, "0.1,0.1"),
        (2_999, "1.2.3,4"),
    ] {
        // A second fault follows the first.
        let mut text = lines[..at].join("\n");
        text.push_str(&format!("\n{bad}\n{}\nworse\n", lines[at..].join("\n")));
        let expected = by_hand(text.as_bytes(), &schemes(), Span::from_millis(50));
        assert!(expected.end.is_err());
        for threads in THREADS {
            for chunk in CHUNKS {
                let got = in_rounds(
                    text.as_bytes(),
                    &schemes(),
                    Span::from_millis(50),
                    threads,
                    chunk,
                );
                assert!(
                    got == expected,
                    "{bad}: {threads} threads, chunks of {chunk}"
                );
            }
        }
    }
}

#[test]
fn a_row_that_one_scheme_refuses_stops_all_of_them_there() {
    // The time plus RTT overflows, so a scheme that has to repeat fails. The others could go on but must stop too.
    let mut text = String::new();
    for row in 0..300u64 {
        let delay = if row % 9 == 4 { "0" } else { "0.036" };
        text.push_str(&format!("9223372030.{row:09},{delay}\n"));
    }
    text.push_str("9223372036.5,0.1\n9223372036.5,0\n9223372036.6,0.1\n9223372036.6,0.1\nbad\n");
    let rtt = Span::from_secs(2);
    let expected = by_hand(text.as_bytes(), &schemes(), rtt);
    assert!(
        expected
            .end
            .as_ref()
            .is_err_and(|words| words.contains("RTT"))
    );
    for threads in THREADS {
        for chunk in CHUNKS {
            let got = in_rounds(text.as_bytes(), &schemes(), rtt, threads, chunk);
            assert!(got == expected, "{threads} threads, chunks of {chunk}");
        }
    }
}

#[test]
fn if_no_repeat_can_ever_be_ready_all_schemes_stop_at_the_first_one() {
    // RTT plus feedback delay overflows, so the first erased slot is refused, at any time.
    let trace = long_trace(2_000);
    let run = |threads: usize, chunk: usize| {
        let outputs = [Shared::default(), Shared::default()];
        let refused = pool(threads).install(|| {
            let mut reader = TraceReader::new(trace.as_bytes(), options(chunk)).unwrap();
            let lanes = ["none", "arq"]
                .iter()
                .zip(&outputs)
                .map(|(scheme, output)| {
                    let writer =
                        TraceWriter::new(output.clone(), Form::default(), reader.metadata())
                            .unwrap();
                    Lane::new(scheme.parse().unwrap(), Span::MAX, Span::MAX, Some(writer))
                });
            let apply = Apply::new(lanes.collect());
            match apply.run(&mut reader) {
                Err(StageError::Input(error)) => words(&error),
                _ => panic!("not refused"),
            }
        });
        (refused, outputs.map(|output| output.bytes()))
    };
    let expected = run(1, 13);
    let erased = trace.lines().position(|line| line.ends_with(",0")).unwrap();
    // With `none`, the erased slot is an LLDU, and the last one.
    assert_eq!(
        expected.1[0].split(|byte| *byte == b'\n').count(),
        erased + 2
    );
    for threads in THREADS {
        for chunk in CHUNKS {
            assert!(
                run(threads, chunk) == expected,
                "{threads} threads, chunks of {chunk}"
            );
        }
    }
}

#[test]
fn a_reader_returns_no_row_after_a_fault() {
    let mut text = long_trace(500);
    text.push_str("oops\n");
    text.push_str("9,0.1\n".repeat(500).as_str());
    for chunk in CHUNKS {
        let mut reader = TraceReader::new(text.as_bytes(), options(chunk)).unwrap();
        let (mut rows, mut count) = (Rows::default(), 0);
        while reader.next_rows(&mut rows).is_ok_and(|more| more) {
            count += rows.slots.len();
        }
        assert_eq!((count, rows.slots.len()), (500, 0));
        for _ in 0..5 {
            assert!(matches!(reader.next_rows(&mut rows), Ok(false)));
            assert!(rows.slots.is_empty());
        }
        assert!(reader.end().is_none());
    }
}

#[test]
fn rows_read_ahead_are_handed_out_in_the_rounds_that_fetched_them() {
    let mut text = long_trace(300);
    text.push_str("oops\n");
    for chunk in CHUNKS {
        let rounds = |ahead: &[usize]| {
            let mut reader = TraceReader::new(text.as_bytes(), options(chunk)).unwrap();
            for enough in ahead {
                let mut count = 0;
                reader.look_ahead(|rows| {
                    count += rows.slots.len();
                    count >= *enough
                });
            }
            let mut rounds = Vec::new();
            let error = loop {
                let mut slots = Vec::new();
                rayon::scope(|scope| {
                    reader.round(scope, |batch, _| {
                        slots = batch.iter().flat_map(|rows| rows.slots.clone()).collect();
                    });
                });
                rounds.push(slots);
                if let Err(error) = reader.advance() {
                    break error.to_string();
                }
            };
            (rounds, error)
        };
        let expected = rounds(&[]);
        assert_eq!(expected.0.iter().map(Vec::len).sum::<usize>(), 300);
        for ahead in [&[1][..], &[120], &[20, 250], &[250, 20], &[usize::MAX; 2]] {
            assert!(rounds(ahead) == expected, "{chunk} {ahead:?}");
        }
        // Rows that were returned before are not returned again.
        let mut reader = TraceReader::new(text.as_bytes(), options(chunk)).unwrap();
        let (mut rows, mut slots) = (Rows::default(), Vec::new());
        while reader.next_rows(&mut rows).is_ok_and(|more| more) {
            slots.extend_from_slice(&rows.slots);
            let before = slots.len();
            let mut count = 0;
            reader.look_ahead(|rows| {
                count += rows.slots.len();
                count > before % 70
            });
        }
        assert_eq!(slots, expected.0.concat(), "{chunk}");
    }
}

#[test]
fn a_timeline_read_back_has_the_fates_that_the_scheme_gave() {
    let slots: Vec<Slot> = (0..4000u64)
        .map(|slot| {
            let time = Time::from_nanos(slot * 1_000_000).unwrap();
            // Bursts, and a burst at the end.
            let erased = slot % 97 > 70 || slot > 3980;
            let delay = if erased { 0 } else { 5_000_000 };
            Slot::new(time, Span::from_nanos(delay).unwrap()).unwrap()
        })
        .collect();
    let mut head = Metadata::new();
    head.push("tool", "test");
    let mut seen = Vec::new();
    for (scheme, (name, form)) in ["none", "fec:4/6", "arq", "harq:4/6", "harq:4/6,in-order"]
        .into_iter()
        .flat_map(|scheme| FORMS.map(|form| (scheme, form)))
    {
        let mut runner =
            SchemeRunner::new(scheme.parse().unwrap(), Span::from_millis(20), Span::ZERO);
        let mut lldus = Vec::new();
        runner.push_slots(&slots, &mut lldus).unwrap();
        let end = runner.finish(&mut lldus);

        let mut writer = TraceWriter::new(Vec::new(), form, &head).unwrap();
        rayon::in_place_scope(|scope| writer.spawn([&lldus[..]], scope));
        writer.advance().unwrap();
        let file = writer.finish(&end).unwrap();
        let options = Options {
            attempts: true,
            ..Options::default()
        };
        let reader = match form.format {
            Format::Parquet => TraceReader::parquet(bytes::Bytes::from(file.clone()), options),
            _ => TraceReader::new(&file[..], options),
        };
        let read = reader.unwrap().read_lldus().unwrap();

        // A loss at or after the end of a run reads back as censored.
        for lldu in &mut lldus {
            if lldu.fate == Fate::Lost && lldu.tx_time >= end.usable_until {
                lldu.fate = Fate::Censored;
            }
        }
        assert_eq!(read, lldus, "{scheme} {name}");
        seen.extend(read.iter().map(|lldu| (scheme, lldu.fate)));
    }
    for (scheme, fate) in [
        ("none", Fate::Lost),
        ("fec:4/6", Fate::Lost),
        ("harq:4/6", Fate::Censored),
        ("arq", Fate::Censored),
    ] {
        assert!(seen.contains(&(scheme, fate)), "{scheme} {fate:?}");
    }
}

#[test]
fn injected_erasures_equal_those_of_the_serial_channel() {
    let trace = long_trace(40_000);
    let on_air = Span::from_micros(700);
    for spec in [
        "bernoulli:0.01",
        "gilbert-elliott:alpha=0.99,beta=0.8",
        "gilbert-elliott:alpha=0.9,beta=0.9,pg=0.1,pb=0.6,start=bad",
        "fading:m=3ms,X=0.2",
    ] {
        let process: SlotChannel = spec.parse().unwrap();
        let mut reader = TraceReader::new(trace.as_bytes(), Options::default()).unwrap();
        let mut steps = spec
            .parse()
            .ok()
            .map(|spec: ChannelSpec| Channel::new(spec, 11));
        let mut running = process.begin(11, Use::Forward);
        let mut number = 0;
        let mut expected = Vec::new();
        encode::trace_header(&mut expected);
        let mut rows = Rows::default();
        while reader.next_rows(&mut rows).unwrap() {
            for slot in &rows.slots {
                let mut slot = *slot;
                if let Some(channel) = &mut steps {
                    if channel.erases() {
                        slot = Slot::erased(slot.tx_time());
                    }
                } else {
                    running.erase(number, on_air, std::slice::from_mut(&mut slot));
                }
                number += 1;
                encode::slot(&slot, &mut expected);
            }
        }
        for threads in THREADS {
            for chunk in [13 * 997, 65_536, 1 << 20] {
                let output = Shared::default();
                pool(threads).install(|| {
                    let mut reader = TraceReader::new(trace.as_bytes(), options(chunk)).unwrap();
                    let writer =
                        TraceWriter::new(output.clone(), Form::default(), &Metadata::new())
                            .unwrap();
                    let injected = Inject::new(process.clone(), 11, on_air, writer)
                        .run(&mut reader)
                        .unwrap();
                    assert_eq!(injected.slots, 40_000);
                });
                assert!(
                    output.bytes() == expected,
                    "{spec}: {threads} threads, {chunk}"
                );
            }
        }
    }
}

#[test]
fn erasures_do_not_depend_on_the_forms_of_input_and_output() {
    let trace = long_trace(150_000);
    let written = |input: &[u8], form: &str, threads: usize, chunk: usize, spec: &str| {
        let output = Shared::default();
        let process: SlotChannel = spec.parse().unwrap();
        pool(threads).install(|| {
            let mut reader = TraceReader::new(input, options(chunk)).unwrap();
            let writer = TraceWriter::new(output.clone(), form.parse().unwrap(), &Metadata::new());
            Inject::new(process, 11, Span::from_micros(700), writer.unwrap())
                .run(&mut reader)
                .unwrap();
        });
        output.bytes()
    };
    let copied = |form: &'static str| written(trace.as_bytes(), form, 1, 1 << 20, "bernoulli:0");
    let inputs = ["arrow", "arrows", "arrow.zst"].map(|form| (form, copied(form)));
    for spec in ["gilbert-elliott:alpha=0.99,beta=0.8", "fading:m=3ms,X=0.2"] {
        for output in ["csv", "arrow", "csv.gz"] {
            let expected = written(trace.as_bytes(), output, 1, 1 << 20, spec);
            assert!(expected != copied(output), "{spec} erases nothing");
            for (input, bytes) in &inputs {
                for (threads, chunk) in [(1, 70_001), (2, 1 << 20), (3, 70_001)] {
                    assert!(
                        written(bytes, output, threads, chunk, spec) == expected,
                        "{spec}: {input} to {output}, {threads} threads, {chunk}"
                    );
                }
            }
        }
    }
}

#[test]
fn output_blocks_do_not_depend_on_the_chunk_size_of_the_input() {
    let trace = long_trace(90_000);
    for form in ["csv.gz", "csv.zst", "arrow", "arrow.zst", "parquet"] {
        let run = |threads: usize, chunk: usize| {
            let output = Shared::default();
            pool(threads).install(|| {
                let mut reader = TraceReader::new(trace.as_bytes(), options(chunk)).unwrap();
                let writer =
                    TraceWriter::new(output.clone(), form.parse().unwrap(), &Metadata::new())
                        .unwrap();
                let lane = Lane::new(
                    "harq:10/12".parse().unwrap(),
                    Span::from_millis(500),
                    Span::ZERO,
                    Some(writer),
                );
                Apply::new(vec![lane]).run(&mut reader).unwrap();
            });
            output.bytes()
        };
        let expected = run(1, 1 << 20);
        for threads in [2, 3, 8] {
            for chunk in [70_001, 1 << 20, 5 << 20] {
                assert!(
                    run(threads, chunk) == expected,
                    "{form}: {threads} threads, {chunk}"
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn any_trace_and_chunk_size_give_the_same_as_the_parts(
        steps in prop::collection::vec((0u64..3_000_000, prop_oneof![Just(0u64), 1u64..90_000_000]), 1..400),
        scheme in prop::sample::select(schemes()),
        (threads, chunk, rtt) in (1usize..4, 1usize..3_000, 0u32..20),
        (head, tail) in (any::<bool>(), prop_oneof![4 => Just(""), 1 => Just("1,0\n"), 1 => Just("oops\n")]),
    ) {
        let mut text = String::new();
        if head {
            text.push_str("# tool: test\n");
        }
        let mut nanos = 0;
        for (step, delay) in &steps {
            nanos += step;
            text.push_str(&format!("{nanos},{delay}\n"));
        }
        text.push_str(tail);
        if head {
            let end = EndLine {
                rows: steps.len() as u64,
                slots: steps.len() as u64,
                usable_until: Time::from_nanos(nanos).unwrap(),
            };
            encode_end(&end, &mut text);
        }
        // Nanoseconds read as seconds: large times, which are valid.
        let rtt = Span::from_secs(rtt * 1_000);
        let expected = by_hand(text.as_bytes(), &[scheme], rtt);
        prop_assert_eq!(in_rounds(text.as_bytes(), &[scheme], rtt, threads, chunk), expected);
    }

    #[test]
    fn rows_are_returned_in_order_for_any_chunk_size(count in 1u64..2_000, chunk in 1usize..9_000, threads in 1usize..4) {
        let trace = long_trace(count);
        let mut seen = Vec::new();
        pool(threads).install(|| {
            let mut reader = TraceReader::new(trace.as_bytes(), options(chunk)).unwrap();
            collect(&mut reader, |rows| {
                seen.extend((0..rows.slots.len()).map(|at| (rows.line(at), rows.number(at))));
            }).unwrap();
            assert_eq!(reader.end().unwrap().rows, count);
        });
        let expected: Vec<(u64, u64)> = (1..=count).map(|row| (row + 1, row)).collect();
        prop_assert_eq!(seen, expected);
    }
}

fn encode_end(end: &EndLine, text: &mut String) {
    let mut bytes = Vec::new();
    encode::end(end, &mut bytes);
    text.push_str(std::str::from_utf8(&bytes).unwrap());
}
