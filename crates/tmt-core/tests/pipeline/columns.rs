//! Rows that stay in the columns of an Arrow input, and LLDUs that are encoded as they are made, give the same as rows in memory.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;
use tmt_core::channel::SlotChannel;
use tmt_core::format::{Form, Options, Round, Rows, Sink as _, TraceReader, TraceWriter};
use tmt_core::pipeline::{Apply, Inject, Lane};
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::types::{Metadata, Span, Time};

use super::{Shared, by_hand, in_form, in_rounds, long_trace, options, pool, schemes};

/// An Arrow stream of times and delays, which have 32 bits if `short`, in batches whose lengths repeat.
fn arrow_stream(
    times: &[Option<i64>],
    delays: &[Option<i64>],
    short: bool,
    batches: &[usize],
) -> Vec<u8> {
    let of_delays = if short {
        DataType::Int32
    } else {
        DataType::Int64
    };
    let schema = Schema::new(vec![
        Field::new("tx_time_ns", DataType::Int64, true),
        Field::new("decode_delay_ns", of_delays, true),
    ]);
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).unwrap();
    let mut from = 0;
    for length in batches.iter().cycle() {
        let rows = from..times.len().min(from + length);
        let sent: Int64Array = times[rows.clone()].iter().copied().collect();
        let delays = delays[rows.clone()].iter().copied();
        let delays: ArrayRef = if short {
            let delay = |delay: Option<i64>| delay.map(|delay| i32::try_from(delay).unwrap());
            Arc::new(delays.map(delay).collect::<Int32Array>())
        } else {
            Arc::new(delays.collect::<Int64Array>())
        };
        let batch = RecordBatch::try_new(Arc::new(schema.clone()), vec![Arc::new(sent), delays]);
        writer.write(&batch.unwrap()).unwrap();
        from = rows.end;
        if from == times.len() {
            break;
        }
    }
    writer.into_inner().unwrap()
}

/// Times, delays and attempts of a timeline, which may be cut.
fn lldus(timeline: &[u8]) -> Vec<(Time, Span, u32)> {
    let options = Options {
        allow_cut: true,
        ..Options::default()
    };
    let (mut rows, mut found) = (Rows::default(), Vec::new());
    // A timeline without rows is refused.
    let Ok(mut reader) = TraceReader::new(timeline, options) else {
        return found;
    };
    while let Ok(true) = reader.next_rows(&mut rows) {
        found.extend(
            rows.lldus()
                .map(|lldu| (lldu.tx_time, lldu.decode_delay, lldu.attempts)),
        );
    }
    found
}

#[test]
fn lldus_encoded_as_they_are_made_give_the_blocks_of_all_of_them() {
    let trace = long_trace(90_000);
    let mut lldus = Vec::new();
    let mut runner = SchemeRunner::new(
        "harq:10/12".parse().unwrap(),
        Span::from_millis(500),
        Span::ZERO,
    );
    let mut reader = TraceReader::new(trace.as_bytes(), options(1 << 20)).unwrap();
    let mut rows = Rows::default();
    while reader.next_rows(&mut rows).unwrap() {
        runner.push_slots(&rows.slots, &mut lldus).unwrap();
    }
    let end = runner.finish(&mut lldus);
    for form in ["arrow", "arrows"] {
        let writer =
            || TraceWriter::new(Vec::new(), form.parse().unwrap(), &Metadata::new()).unwrap();
        let mut at_once = writer();
        at_once.write(&lldus).unwrap();
        let expected = at_once.finish(&end).unwrap();

        let mut reader = TraceReader::new(trace.as_bytes(), options(1 << 20)).unwrap();
        let lane = Lane::new(
            "harq:10/12".parse().unwrap(),
            Span::from_millis(500),
            Span::ZERO,
            Some(writer()),
        );
        let found = Apply::new(vec![lane])
            .run(&mut reader)
            .unwrap()
            .remove(0)
            .output;
        assert!(found.unwrap() == expected, "{form}");

        // In any mixture with rows that are spawned.
        let mut mixed = writer();
        let parts: Vec<_> = lldus.chunks(7_001).collect();
        for (number, part) in parts.iter().enumerate() {
            if number % 3 == 0 {
                mixed.write(part).unwrap();
                continue;
            }
            let (first, second) = part.split_at(part.len() / 2);
            let Round { taking, tasks } = mixed.round(first);
            taking.unwrap().take(second);
            rayon::scope(tasks);
            mixed.advance().unwrap();
        }
        assert!(mixed.finish(&end).unwrap() == expected, "{form}, mixed");
    }
}

proptest! {
    #[test]
    fn columns_give_the_same_as_rows(
        rows in prop::collection::vec((0i64..300_000, prop_oneof![1 => Just(None), 30 => (1i64..90_000_000).prop_map(Some)]), 1..2_500),
        same_delay: bool,
        fault in prop::option::of((any::<prop::sample::Index>(), 0..4_usize)),
        batches in prop::collection::vec(1usize..900, 1..4),
        // Time from the last slot to the end of all time: a scheme may fail if its repeats may be ready too late.
        left in prop_oneof![3 => Just(None), 2 => (90_000_000_i64..500_000_000).prop_map(Some)],
        short: bool,
        scheme in prop::sample::select(schemes()),
        (threads, chunk, rtt, seed) in (1usize..4, 1usize..60_000, 0u32..400, any::<u64>()),
    ) {
        let all: i64 = rows.iter().map(|(step, _)| step).sum();
        let mut now = left.map_or(0, |left| i64::MAX - left - all);
        let mut columns: (Vec<Option<i64>>, Vec<Option<i64>>) = rows
            .iter()
            .map(|(step, delay)| {
                now += step;
                (Some(now), delay.map(|delay| if same_delay { 36_000_000 } else { delay }))
            })
            .unzip();
        // Rows before the fault, which is a negative time, no time, or a time before the last one.
        let mut valid = columns.0.len();
        if let Some((at, kind)) = fault {
            // The last kind is at the start of the rows that are checked together in a batch.
            let aligned = Some(512).filter(|at| kind == 3 && batches[0].min(valid) > *at);
            let at = aligned.unwrap_or_else(|| at.index(valid));
            let faults = [Some(-1), None, columns.0[at.max(1) - 1].filter(|_| at > 0).map_or(Some(-2), |last| Some(last - 1))];
            columns.0[at] = faults[kind.min(2)];
            valid = at;
        }
        // Delays of 32 bits are widened.
        let arrow = arrow_stream(&columns.0, &columns.1, short, &batches);
        let mut text = String::from("tx_time_ns,decode_delay_ns\n");
        for (time, delay) in columns.0.iter().zip(&columns.1).take(valid) {
            text.push_str(&format!("{},{}\n", time.unwrap_or(0), delay.unwrap_or(0)));
        }
        if valid < columns.0.len() {
            text.push_str("oops\n");
        }

        let rtt = Span::from_millis(rtt);
        let expected = by_hand(&arrow, &[scheme, "none"], rtt);
        prop_assert!(expected.end.is_err() || fault.is_none());
        prop_assert!(expected.end.is_ok() || fault.is_some() || left.is_some());
        let found = in_rounds(&arrow, &[scheme, "none"], rtt, threads, chunk);
        prop_assert_eq!(&found, &expected);
        // LLDUs that are encoded as they are made.
        let encoded = in_form(&arrow, "arrows".parse().unwrap(), &[scheme, "none"], rtt, threads, chunk);
        prop_assert_eq!(encoded.end, expected.end);
        for (encoded, expected) in encoded.outputs.iter().zip(&expected.outputs) {
            prop_assert_eq!(lldus(encoded), lldus(expected));
        }

        let process: SlotChannel = "gilbert-elliott:alpha=0.98,beta=0.8".parse().unwrap();
        let injected = |input: &[u8], threads: usize, chunk: usize| {
            let output = Shared::default();
            let end = pool(threads).install(|| {
                let mut reader = TraceReader::new(input, options(chunk)).ok()?;
                let writer = TraceWriter::new(output.clone(), Form::default(), &Metadata::new()).unwrap();
                let injected = Inject::new(process.clone(), seed, Span::ZERO, writer).run(&mut reader);
                injected.ok().map(|injected| (injected.slots, injected.erased))
            });
            (end, output.bytes())
        };
        let expected = injected(text.as_bytes(), 1, 1 << 20);
        prop_assert_eq!(expected.0.is_none(), fault.is_some());
        if let Some((slots, erased)) = expected.0 {
            let lines: Vec<&[u8]> = expected.1.split(|byte| *byte == b'\n').collect();
            prop_assert_eq!(slots, valid as u64);
            prop_assert_eq!(erased, lines.iter().filter(|line| line.ends_with(b",0")).count() as u64);
        }
        // A text whose first row is faulty is refused before anything is written.
        if valid > 0 {
            prop_assert_eq!(injected(&arrow, threads, chunk), expected);
        }
    }
}
