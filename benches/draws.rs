//! Erasures and synthetic slots: what a slot costs in `tmt synth` and `tmt inject`, text left out.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{ChainState, Channel, ChannelSpec};
use tmt_core::math::rng::{BATCH, Draws, Limit, Stream, Uniform};
use tmt_core::types::{BitRate, Bytes, Slot, Span};

/// Slots in a piece: 1 MiB of them.
const PIECE: usize = 1 << 16;

/// The papers' processes, then those where every unit takes a draw or two.
const PROCESSES: [&str; 5] = [
    "bernoulli:0.01",
    "bernoulli:0.5",
    "gilbert-elliott:alpha=0.999,beta=0.9",
    "gilbert-elliott:alpha=0.5,beta=0.5",
    "gilbert-elliott:alpha=0.99,beta=0.8,pg=0.001,pb=0.5",
];

fn link() -> ConstantRate {
    let (rate, lldu) = (BitRate(2_340_000), Bytes(33));
    ConstantRate::new(rate, lldu, Span::from_secs(600), Span::from_millis(36)).unwrap()
}

fn draws(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("draws");
    group.throughput(Throughput::Elements(PIECE as u64));
    let limit = Limit::new(black_box(0.01));
    group.bench_function("below a limit", |bencher| {
        let mut uniform = Uniform::new(1, Stream::ChannelState);
        let mut draws = Draws::default();
        bencher.iter(|| {
            let mut below = 0;
            for from in (0..PIECE as u64).step_by(BATCH) {
                uniform.draw(from, &mut draws);
                below += draws.below(limit).count_ones();
            }
            assert!(below > 0);
        });
    });
    group.bench_function("one by one", |bencher| {
        let mut uniform = Uniform::new(1, Stream::ChannelState);
        bencher.iter(|| {
            let below = (0..PIECE as u64)
                .filter(|&at| uniform.at(at) < 0.01)
                .count();
            assert!(below > 0);
        });
    });
    group.finish();
}

fn channel(criterion: &mut Criterion) {
    let mut fresh: Vec<Slot> = Vec::new();
    link().piece(0, PIECE, &mut fresh);
    let mut group = criterion.benchmark_group("erasures");
    group.throughput(Throughput::Elements(PIECE as u64));
    for text in PROCESSES {
        let spec: ChannelSpec = text.parse().unwrap();
        group.bench_function(BenchmarkId::new("draw", text), |bencher| {
            bencher.iter(|| Channel::piece(spec, 1, black_box(PIECE as u64), PIECE));
        });
        let erasures = Channel::piece(spec, 1, 0, PIECE).resolve(&mut ChainState::default());
        group.bench_function(BenchmarkId::new("mark", text), |bencher| {
            let mut slots = fresh.clone();
            bencher.iter(|| erasures.mark(0, black_box(&mut slots)));
        });
        group.bench_function(BenchmarkId::new("one by one", text), |bencher| {
            let mut channel = Channel::new(spec, 1);
            bencher.iter(|| {
                let erased = (0..PIECE).filter(|_| channel.erases()).count();
                assert!(erased > 0);
            });
        });
    }
    group.finish();
}

fn synth(criterion: &mut Criterion) {
    let link = link();
    let mut group = criterion.benchmark_group("synth");
    group.throughput(Throughput::Elements(PIECE as u64));
    group.bench_function("piece", |bencher| {
        let mut slots = Vec::new();
        bencher.iter(|| {
            slots.clear();
            link.piece(black_box(1_000_000), PIECE, &mut slots);
            assert_eq!(slots.len(), PIECE);
        });
    });
    group.bench_function("one by one", |bencher| {
        let mut slots = Vec::new();
        bencher.iter(|| {
            slots.clear();
            slots.extend(black_box(&link).clone().take(PIECE));
            assert_eq!(slots.len(), PIECE);
        });
    });
    group.finish();
}

criterion_group!(benches, draws, channel, synth);
criterion_main!(benches);
