//! Parse, walk, format: what a slot costs on its way through `tmt apply`.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tmt_core::channel::Channel;
use tmt_core::slot::{Lldu, Slot};
use tmt_core::synth::ConstantRate;
use tmt_core::text::encode;
use tmt_core::trace::{Options, Rows, TraceReader};
use tmt_core::units::{BitRate, Bytes, Span};
use tmt_core::walk::Walk;

/// A GEO link of 2.34 Mbps in bursty weather: 4.8 % of the slots erased, five at a time.
fn slots() -> Vec<Slot> {
    let link = ConstantRate::new(
        BitRate(2_340_000),
        Bytes(33),
        Span::from_secs(60),
        Span::from_millis(36),
    );
    let mut channel = Channel::new("gilbert-elliott:alpha=0.99,beta=0.8".parse().unwrap(), 1);
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

fn walk(scheme: &str, rows: &Rows, lldus: &mut Vec<Lldu>) -> u64 {
    lldus.clear();
    let mut walk = Walk::new(scheme.parse().unwrap(), Span::from_millis(500), Span::ZERO);
    walk.rows(rows, lldus).unwrap();
    walk.finish(lldus).rows
}

fn link(criterion: &mut Criterion) {
    let slots = slots();
    let text = text(&slots);
    let mut rows = Rows::default();
    rows.slots.clone_from(&slots);

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

    let mut group = criterion.benchmark_group("walk");
    group.throughput(Throughput::Elements(slots.len() as u64));
    let mut lldus = Vec::new();
    for scheme in [
        "none",
        "fec:10/12",
        "fec:10/12,interleave=4",
        "arq",
        "harq:10/12",
        "harq:10/12,in-order",
        "frame-arq:10/12",
    ] {
        group.bench_function(BenchmarkId::from_parameter(scheme), |bencher| {
            bencher.iter(|| assert!(walk(scheme, black_box(&rows), &mut lldus) > 0));
        });
    }
    group.finish();

    walk("harq:10/12", &rows, &mut lldus);
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

criterion_group!(benches, link);
criterion_main!(benches);
