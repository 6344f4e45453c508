//! Codes beside public implementations: information bits and data bytes decoded a second.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a bench that cannot go on stops")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fec::convolutional::Decoder;
use tmt_core::coding::awgn::{Awgn, Numbers};
use tmt_core::coding::convolutional::encode;
use tmt_core::coding::erasure::ErasureCode;
use tmt_core::coding::reed_solomon::ReedSolomon;
use tmt_core::coding::viterbi::Viterbi;
use tmt_core::math::rng::Stream;
use tmt_core::model::conv::Rate;

/// Bytes of a frame.
const FRAME: usize = 4096;

/// The generators as `fec` writes them: the newest bit lowest.
const GENERATORS: [u16; 2] = [0o117, 0o155];

fn numbers() -> Numbers {
    Numbers::new(1, Stream::CodingNoise, 0, 0)
}

/// A frame of rate 1/2 at Eb/N0 = 4 dB, and its channel bits.
fn frame(data: &mut [u8]) -> Vec<u8> {
    numbers().fill(data);
    let mut bits = Vec::new();
    encode(Rate::Half, data, &mut bits);
    bits
}

fn viterbi(criterion: &mut Criterion) {
    let mut data = [0; FRAME];
    let bits = frame(&mut data);
    let channel = Awgn::new(0.99);
    let (mut soft, mut quantised) = (Vec::new(), Vec::new());
    channel.soft(&mut numbers(), &bits, &mut soft);
    quantised.extend(soft.iter().map(|value| channel.quantise(*value)));
    let mut group = criterion.benchmark_group("viterbi 1/2");
    group.throughput(Throughput::Elements(8 * FRAME as u64));

    let mut output = Vec::new();
    let mut decoder = Viterbi::new();
    group.bench_function("8 bits", |bencher| {
        bencher.iter(|| {
            output.clear();
            decoder.decode(Rate::Half, 8 * FRAME, black_box(&quantised), &mut output);
        });
    });
    assert_eq!(output, data);
    let mut decoder = Viterbi::new();
    group.bench_function("unquantised", |bencher| {
        bencher.iter(|| {
            output.clear();
            decoder.decode(Rate::Half, 8 * FRAME, black_box(&soft), &mut output);
        });
    });

    // Its symbols are from 0 for a bit of 0 to 255. Its vector instructions need a nightly compiler.
    let symbols: Vec<u8> = quantised
        .iter()
        .map(|value| 128_u8.wrapping_sub(value.cast_unsigned()))
        .collect();
    let mut theirs = vec![0; FRAME];
    let mut decoder = Decoder::new(2, 7, &GENERATORS);
    group.bench_function("crate fec", |bencher| {
        bencher.iter(|| decoder.decode_soft(black_box(&symbols), &mut theirs));
    });
    assert_eq!(theirs, data);
    group.finish();
}

/// Work of a simulation beside decoding, per information bit of rate 1/2.
fn channel(criterion: &mut Criterion) {
    let mut data = [0; FRAME];
    let bits = frame(&mut data);
    let channel = Awgn::new(0.99);
    let mut numbers = numbers();
    let mut group = criterion.benchmark_group("channel 1/2");
    group.throughput(Throughput::Elements(8 * FRAME as u64));
    let mut sent = Vec::new();
    group.bench_function("encode", |bencher| {
        bencher.iter(|| {
            sent.clear();
            encode(Rate::Half, black_box(&data), &mut sent);
        });
    });
    let mut quantised = Vec::new();
    group.bench_function("8 bits", |bencher| {
        bencher.iter(|| {
            quantised.clear();
            channel.quantised(&mut numbers, black_box(&bits), &mut quantised);
        });
    });
    let mut soft = Vec::new();
    group.bench_function("unquantised", |bencher| {
        bencher.iter(|| {
            soft.clear();
            channel.soft(&mut numbers, black_box(&bits), &mut soft);
        });
    });
    group.finish();
}

fn reed_solomon_255_223(criterion: &mut Criterion) {
    let (n, k) = (255, 223);
    let ours = ReedSolomon::new(n, k).unwrap();
    let (encoder, decoder) = (
        reed_solomon::Encoder::new(n - k),
        reed_solomon::Decoder::new(n - k),
    );
    let mut word = vec![0; n];
    numbers().fill(&mut word);
    ours.encode(&mut word);
    let mut wrong = word.clone();
    for error in 0..16 {
        wrong[15 * error] ^= 0x55;
    }
    let mut group = criterion.benchmark_group("rs 255/223");
    group.throughput(Throughput::Bytes(k as u64));
    group.bench_function("encode", |bencher| {
        bencher.iter(|| ours.encode(black_box(&mut word)));
    });
    group.bench_function("encode, crate reed-solomon", |bencher| {
        bencher.iter(|| encoder.encode(black_box(&word[..k])));
    });
    for (name, word) in [("decode", &word), ("decode 16 errors", &wrong)] {
        let mut received = word.clone();
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                received.copy_from_slice(black_box(word));
                ours.decode(&mut received, &[]).unwrap()
            });
        });
        group.bench_function(format!("{name}, crate reed-solomon"), |bencher| {
            bencher.iter(|| decoder.correct(black_box(word), None).unwrap());
        });
    }
    group.finish();
}

fn erasure(criterion: &mut Criterion) {
    let code = ErasureCode::new(64, 48, 23).unwrap();
    let mut data = vec![0; 48 * 23];
    numbers().fill(&mut data);
    let mut received = code.encode(&data);
    let mut group = criterion.benchmark_group("erasure 48/64x23");
    group.throughput(Throughput::Bytes(data.len() as u64));
    group.bench_function("encode", |bencher| {
        bencher.iter(|| code.encode(black_box(&data)));
    });
    for block in received.chunks_mut(code.block_bytes()).step_by(4) {
        block[0] ^= 1;
    }
    group.bench_function("decode 16 erasures", |bencher| {
        bencher.iter(|| code.decode(black_box(&received), &mut data).unwrap());
    });
    group.finish();
}

criterion_group!(benches, viterbi, channel, reed_solomon_255_223, erasure);
criterion_main!(benches);
