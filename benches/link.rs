//! Parse, walk, format: what a slot costs on its way through `tmt apply`.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tmt_core::channel::Channel;
use tmt_core::channel::synth::ConstantRate;
use tmt_core::format::text::encode;
use tmt_core::format::{Options, Rows, TraceReader};
use tmt_core::scheme::engine::{Engine, Saturated};
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::stats::{LlduTally, SlotTally};
use tmt_core::types::{BitRate, Bytes, Lldu, Slot, Span};

/// A GEO link of 2.34 Mbps in bursty weather: 4.8 % of the slots erased, five at a time.
const BURSTY: &str = "gilbert-elliott:alpha=0.99,beta=0.8";

/// The same link in other weather: 1 % erased, ten at a time; and 10 %, each on its own.
const CHANNELS: [&str; 3] = [
    BURSTY,
    "gilbert-elliott:alpha=0.999,beta=0.9",
    "bernoulli:0.1",
];

/// Slots handed over at a time, as a reader would.
const SLICE: usize = 1 << 13;

fn slots(channel: &str) -> Vec<Slot> {
    let link = ConstantRate::new(
        BitRate(2_340_000),
        Bytes(33),
        Span::from_secs(60),
        Span::from_millis(36),
    );
    let mut channel = Channel::new(channel.parse().unwrap(), 1);
    link.unwrap()
        .map(|slot| {
            if channel.erases() {
                Slot::erased(slot.tx_time())
            } else {
                slot
            }
        })
        .collect()
}

fn text(slots: &[Slot]) -> Vec<u8> {
    let mut text = Vec::new();
    encode::trace_header(&mut text);
    for slot in slots {
        encode::slot(slot, &mut text);
    }
    text
}

fn new(scheme: &str) -> SchemeRunner {
    SchemeRunner::new(scheme.parse().unwrap(), Span::from_millis(500), Span::ZERO)
}

/// The whole timeline.
fn timeline(scheme: &str, slots: &[Slot]) -> Vec<Lldu> {
    let (mut runner, mut lldus) = (new(scheme), Vec::new());
    runner.push_slots(slots, &mut lldus).unwrap();
    runner.finish(&mut lldus);
    lldus
}

/// The walk alone, rows thrown away slice by slice.
fn walk(scheme: &str, slots: &[Slot], lldus: &mut Vec<Lldu>) -> u64 {
    let mut runner = new(scheme);
    for slice in slots.chunks(SLICE) {
        lldus.clear();
        runner.push_slots(slice, lldus).unwrap();
    }
    lldus.clear();
    runner.finish(lldus).rows
}

/// The same slot by slot.
fn unit_by_unit(scheme: &str, slots: &[Slot], lldus: &mut Vec<Lldu>) -> u64 {
    let mut engine = Engine::new(scheme.parse().unwrap(), Span::from_millis(500), Span::ZERO);
    for slice in slots.chunks(SLICE) {
        lldus.clear();
        for slot in slice.chunks(1) {
            engine.advance(slot, &mut Saturated, lldus).unwrap();
        }
    }
    engine.counts().data
}

fn walks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("walk");
    let mut lldus = Vec::new();
    for channel in CHANNELS {
        let slots = slots(channel);
        group.throughput(Throughput::Elements(slots.len() as u64));
        for scheme in [
            "none",
            "fec:10/12",
            "fec:10/12,interleave=4",
            "arq",
            "arq,in-order",
            "harq:10/12",
            "harq:10/15",
            "harq:10/12,interleave=4",
            "harq:10/12,in-order",
            "frame-arq:10/12",
        ] {
            group.bench_function(BenchmarkId::new(scheme, channel), |bencher| {
                bencher.iter(|| assert!(walk(scheme, black_box(&slots), &mut lldus) > 0));
            });
        }
        for scheme in ["arq", "harq:10/12"] {
            let name = format!("{scheme} unit by unit");
            group.bench_function(BenchmarkId::new(name, channel), |bencher| {
                bencher.iter(|| assert!(unit_by_unit(scheme, black_box(&slots), &mut lldus) > 0));
            });
        }
    }
    group.finish();
}

fn tallies(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tally");
    for channel in CHANNELS {
        let slots = slots(channel);
        group.throughput(Throughput::Elements(slots.len() as u64));
        group.bench_function(BenchmarkId::new("slots", channel), |bencher| {
            bencher.iter(|| {
                let mut tally = SlotTally::default();
                black_box(&slots)
                    .chunks(SLICE)
                    .for_each(|slice| tally.slots(slice));
                tally
            });
        });
        let constant = timeline("harq:10/12", &slots);
        // Every delay another one, spread over some 8 ms.
        let mut jittered = constant.clone();
        for (number, lldu) in (0u64..).zip(&mut jittered) {
            let more = Span::from_nanos((number * 7_919_993) % 8_388_608).unwrap();
            lldu.decode_delay = lldu.decode_delay.saturating_add(more);
        }
        group.throughput(Throughput::Elements(constant.len() as u64));
        for (name, lldus) in [
            ("lldus", &constant),
            ("lldus, every delay another", &jittered),
        ] {
            for times in [1, 5] {
                // Five times over is beyond what is kept value by value.
                group.throughput(Throughput::Elements((times * lldus.len()) as u64));
                let id = BenchmarkId::new(format!("{name}, {times} times"), channel);
                group.bench_function(id, |bencher| {
                    bencher.iter(|| {
                        let mut tally = LlduTally::default();
                        for _ in 0..times {
                            let lldus = black_box(lldus).chunks(SLICE);
                            lldus.for_each(|slice| tally.lldus(slice));
                        }
                        tally
                    });
                });
            }
        }
    }
    group.finish();
}

/// The slots with a delay that differs in every row, as a measurement has it.
fn measured(slots: &[Slot]) -> Vec<Slot> {
    let mut jitter = 1u32;
    let slots = slots.iter().map(|slot| {
        jitter = jitter.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let delay = slot.decode_delay().as_nanos() + u64::from(jitter >> 10);
        let delay = Span::from_nanos(delay).filter(|_| !slot.is_erased());
        Slot::new(slot.tx_time(), delay.unwrap_or(Span::ZERO)).unwrap()
    });
    slots.collect()
}

/// Reads the whole text, and says how many rows it has.
fn read(text: &[u8], options: &Options, batch: &mut Rows) -> usize {
    let mut reader = TraceReader::new(text, options.clone()).unwrap();
    let mut count = 0;
    while reader.next_rows(batch).unwrap() {
        count += batch.slots.len();
    }
    count
}

fn parse(criterion: &mut Criterion) {
    let slots = slots(BURSTY);
    let constant = text(&slots);
    let varied = text(&measured(&slots));
    // The last three of nine decimals are cut off: a writer that knows microseconds.
    let mut six = Vec::new();
    for line in varied.split_inclusive(|byte| *byte == b'\n') {
        for field in line.split_inclusive(|byte| matches!(byte, b',' | b'\n')) {
            let (number, end) = field.split_at(field.len() - 1);
            let length = match number.iter().position(|byte| *byte == b'.') {
                Some(point) => point + 7,
                None => number.len(),
            };
            six.extend_from_slice(&number[..length]);
            six.extend_from_slice(end);
        }
    }
    let mut after_harq = Vec::new();
    encode::timeline_header(&mut after_harq);
    encode::lldus(&timeline("harq:10/12", &measured(&slots)), &mut after_harq);
    let plain = Options::default();
    let attempts = Options {
        attempts: true,
        ..Options::default()
    };

    let mut group = criterion.benchmark_group("parse");
    let mut batch = Rows::default();
    for (name, text, options) in [
        ("one delay", &constant, &plain),
        ("every delay different", &varied, &plain),
        ("six decimals", &six, &plain),
        ("timeline", &after_harq, &plain),
        ("timeline with attempts", &after_harq, &attempts),
    ] {
        let rows = read(text, options, &mut batch);
        group.throughput(Throughput::ElementsAndBytes {
            elements: rows as u64,
            bytes: text.len() as u64,
        });
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert_eq!(read(black_box(text), options, &mut batch), rows));
        });
    }
    group.finish();
}

fn format(criterion: &mut Criterion) {
    let slots = slots(BURSTY);
    let mut group = criterion.benchmark_group("format");
    let mut out = Vec::new();
    for (name, slots) in [
        ("one delay", slots.clone()),
        ("every delay different", measured(&slots)),
    ] {
        let lldus = timeline("harq:10/12", &slots);
        // As many as a batch has, so that the text stays in the cache.
        let lldus = &lldus[..lldus.len().min(1 << 13)];
        encode::lldus(lldus, &mut out);
        group.throughput(Throughput::ElementsAndBytes {
            elements: lldus.len() as u64,
            bytes: out.len() as u64,
        });
        group.bench_function(BenchmarkId::new("timeline", name), |bencher| {
            bencher.iter(|| {
                out.clear();
                encode::lldus(black_box(lldus), &mut out);
            });
        });
        out.clear();
    }
    group.finish();
}

criterion_group!(benches, parse, walks, tallies, format);
criterion_main!(benches);
