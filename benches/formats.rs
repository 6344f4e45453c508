//! Binary and compressed formats: what a row costs in and out.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::hint::black_box;
use std::io::Read as _;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tmt_core::channel::Channel;
use tmt_core::channel::synth::ConstantRate;
use tmt_core::format::Compression;
use tmt_core::format::arrow::{self, encode};
use tmt_core::format::columnar::{Batch, Next, Options};
use tmt_core::format::compression::{Compressor, Decompressor};
use tmt_core::format::parquet::{self, Writer};
use tmt_core::format::text::encode as text;
use tmt_core::types::{BitRate, Bytes, Span};
use tmt_core::types::{Fate, Lldu, Metadata, Slot};

const BATCH: usize = 1 << 16;

/// A GEO link of 2.34 Mbps in bursty weather, delays that vary, attempts that mostly do not.
fn lldus() -> Vec<Lldu> {
    let link = ConstantRate::new(
        BitRate(2_340_000),
        Bytes(33),
        Span::from_secs(60),
        Span::from_millis(36),
    );
    let mut channel = Channel::new("gilbert-elliott:alpha=0.99,beta=0.8".parse().unwrap(), 1);
    let mut varies = 1u64;
    link.unwrap()
        .map(|slot| {
            let erased = channel.erases();
            varies = varies.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let jitter = Span::from_nanos(varies >> 44).unwrap();
            let delay = slot.decode_delay().saturating_add(jitter);
            Lldu {
                tx_time: slot.tx_time(),
                decode_delay: if erased { Span::ZERO } else { delay },
                attempts: 1 + u32::from(erased),
                fate: Fate::Delivered,
            }
        })
        .collect()
}

fn stream(lldus: &[Lldu]) -> Vec<u8> {
    let mut out = Vec::new();
    encode::head::<Lldu>(&Metadata::new(), &mut out);
    for lldus in lldus.chunks(BATCH) {
        encode::batch(lldus, &mut out);
    }
    encode::end::<Lldu>(None, &mut out);
    out
}

fn batches(stream: &[u8]) -> Vec<Batch> {
    let mut stream = arrow::open(stream, &Options::default()).unwrap();
    let mut batches = Vec::new();
    while let Next::Batch(batch) = stream.next_batch().unwrap() {
        batches.push(batch);
    }
    batches
}

fn arrow(criterion: &mut Criterion) {
    let lldus = lldus();
    let bytes = stream(&lldus);
    let mut group = criterion.benchmark_group("arrow");
    group.throughput(Throughput::Elements(lldus.len() as u64));
    let mut out = Vec::with_capacity(bytes.len());
    group.bench_function("encode", |bencher| {
        bencher.iter(|| {
            out.clear();
            for lldus in lldus.chunks(BATCH) {
                encode::batch(black_box(lldus), &mut out);
            }
            out.len()
        });
    });
    let batches = batches(&bytes);
    let mut slots: Vec<Slot> = Vec::with_capacity(BATCH);
    group.bench_function("decode", |bencher| {
        bencher.iter(|| {
            let mut rows = 0;
            for batch in &batches {
                slots.clear();
                let batch = black_box(batch);
                batch.append(&mut slots, &mut Vec::new()).unwrap();
                rows += slots.len();
            }
            assert_eq!(rows, lldus.len());
        });
    });
    group.bench_function("frame", |bencher| {
        bencher.iter(|| {
            let mut stream = arrow::open(black_box(&bytes[..]), &Options::default()).unwrap();
            while let Next::Batch(_) = stream.next_batch().unwrap() {}
            assert_eq!(stream.rows(), lldus.len() as u64);
        });
    });
    group.finish();
}

fn parquet(criterion: &mut Criterion) {
    let lldus = lldus();
    let write = || {
        let mut writer = Writer::new(Vec::new(), &Metadata::new()).unwrap();
        writer.rows(&lldus).unwrap();
        writer.finish(None).unwrap()
    };
    let file = bytes::Bytes::from(write());
    let mut group = criterion.benchmark_group("parquet");
    group.throughput(Throughput::Elements(lldus.len() as u64));
    group.sample_size(20);
    group.bench_function("write", |bencher| bencher.iter(write));
    group.bench_function("read", |bencher| {
        bencher.iter(|| {
            let mut reader = parquet::open(file.clone(), &Options::default()).unwrap();
            let mut slots = Vec::new();
            while let Next::Batch(batch) = reader.next_batch().unwrap() {
                batch.append(&mut slots, &mut Vec::new()).unwrap();
                slots.clear();
            }
            assert_eq!(reader.rows(), lldus.len() as u64);
        });
    });
    group.finish();
}

fn codec(criterion: &mut Criterion) {
    let mut content = Vec::new();
    for lldu in lldus() {
        text::lldu(&lldu, &mut content);
    }
    let mut group = criterion.benchmark_group("codec");
    group.throughput(Throughput::Bytes(content.len() as u64));
    group.sample_size(10);
    for kind in [Compression::Gzip, Compression::Zstd] {
        let name = kind.name();
        let mut compressor = Compressor::new(kind).unwrap();
        let mut packed = Vec::new();
        group.bench_function(format!("{name} compress"), |bencher| {
            bencher.iter(|| {
                packed.clear();
                for block in content.chunks(1 << 20) {
                    compressor.block(block, &mut packed).unwrap();
                }
            });
        });
        let mut out = vec![0; 1 << 18];
        group.bench_function(format!("{name} decompress"), |bencher| {
            bencher.iter(|| {
                let mut length = 0;
                let mut reader = Decompressor::new(kind, &packed[..]).unwrap();
                loop {
                    match reader.read(&mut out).unwrap() {
                        0 => break,
                        more => length += more,
                    }
                }
                assert_eq!(length, content.len());
            });
        });
    }
    group.finish();
}

criterion_group!(benches, arrow, parquet, codec);
criterion_main!(benches);
