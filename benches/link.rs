//! Parse, walk, format: what a slot costs on its way through `tmt apply`.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tmt_core::channel::Channel;
use tmt_core::machine::{Machine, Saturated};
use tmt_core::slot::{Lldu, Slot};
use tmt_core::summary::{LlduTally, SlotTally};
use tmt_core::synth::ConstantRate;
use tmt_core::text::encode;
use tmt_core::trace::{Options, Rows, TraceReader};
use tmt_core::units::{BitRate, Bytes, Span};
use tmt_core::walk::Walk;

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

fn new(scheme: &str) -> Walk {
    Walk::new(scheme.parse().unwrap(), Span::from_millis(500), Span::ZERO)
}

/// The whole timeline.
fn timeline(scheme: &str, slots: &[Slot]) -> Vec<Lldu> {
    let (mut walk, mut lldus) = (new(scheme), Vec::new());
    walk.slots(slots, &mut lldus).unwrap();
    walk.finish(&mut lldus);
    lldus
}

/// The walk alone, rows thrown away slice by slice.
fn walk(scheme: &str, slots: &[Slot], lldus: &mut Vec<Lldu>) -> u64 {
    let mut walk = new(scheme);
    for slice in slots.chunks(SLICE) {
        lldus.clear();
        walk.slots(slice, lldus).unwrap();
    }
    lldus.clear();
    walk.finish(lldus).rows
}

/// The same unit by unit, as a simulator's link would drive it.
fn unit_by_unit(scheme: &str, slots: &[Slot], lldus: &mut Vec<Lldu>) -> u64 {
    let mut machine = Machine::new(&scheme.parse().unwrap(), Span::from_millis(500), Span::ZERO);
    for slice in slots.chunks(SLICE) {
        lldus.clear();
        for slot in slice {
            if let Some(unit) = machine.next_unit(slot.tx_time(), &mut Saturated) {
                machine.on_outcome(unit, slot, lldus).unwrap();
            }
        }
    }
    machine.counts().data
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

fn link(criterion: &mut Criterion) {
    let slots = slots(BURSTY);
    let text = text(&slots);

    let mut group = criterion.benchmark_group("parse");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("canonical csv", |bencher| {
        let mut batch = Rows::default();
        bencher.iter(|| {
            let mut reader = TraceReader::new(&text[..], Options::default()).unwrap();
            let mut count = 0;
            while reader.next_rows(&mut batch).unwrap() {
                count += batch.slots.len();
            }
            assert_eq!(count, slots.len());
        });
    });
    group.finish();

    let lldus = timeline("harq:10/12", &slots);
    let mut group = criterion.benchmark_group("format");
    group.throughput(Throughput::Elements(lldus.len() as u64));
    group.bench_function("timeline", |bencher| {
        let mut out = Vec::with_capacity(64 * lldus.len());
        bencher.iter(|| {
            out.clear();
            for lldu in &lldus {
                encode::lldu(black_box(lldu), &mut out);
            }
            assert!(!out.is_empty());
        });
    });
    group.finish();
}

criterion_group!(benches, link, walks, tallies);
criterion_main!(benches);
