//! Words over a fading channel: what a slot of 0.1 ms costs at 60 km/h, and what the channel takes to set up.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tmt_core::radio::{LandMobile, RadioChannel};
use tmt_core::types::{Slot, Span, Time};

/// Slots in a piece: 6.6 s of them.
const PIECE: u64 = 1 << 16;

const CHANNELS: [&str; 3] = [
    "es-n0=6dB,interleaver=36ms",
    "es-n0=6dB",
    "es-n0=6dB,environment=p681:urban,interleaver=36ms",
];

fn piece(number: u64) -> Vec<Slot> {
    let slot = |at| Slot::new(Time::from_nanos(at * 100_380)?, Span::from_millis(36));
    (number * PIECE..(number + 1) * PIECE)
        .filter_map(slot)
        .collect()
}

fn radio(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("radio");
    for text in CHANNELS {
        let parameters: LandMobile = text.parse().unwrap();
        let channel = RadioChannel::new(&parameters).unwrap();
        group.throughput(Throughput::Elements(PIECE));
        // Every second piece, as one of two threads has them.
        group.bench_function(BenchmarkId::new("erase", text), |bencher| {
            let mut running = channel.begin(1, 0);
            let mut number = 0;
            bencher.iter_batched_ref(
                || {
                    number += 2;
                    (number, piece(number))
                },
                |(number, slots)| {
                    running.erase(
                        *number * PIECE,
                        Span::from_nanos(100_380).unwrap(),
                        black_box(slots),
                    );
                },
                criterion::BatchSize::LargeInput,
            );
        });
        group.throughput(Throughput::Elements(1));
        group.bench_function(BenchmarkId::new("set up", text), |bencher| {
            bencher.iter(|| RadioChannel::new(black_box(&parameters)).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, radio);
criterion_main!(benches);
