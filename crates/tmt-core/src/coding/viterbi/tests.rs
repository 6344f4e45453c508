use strum::IntoEnumIterator as _;

use super::*;
use crate::coding::awgn::{Awgn, Numbers};
use crate::coding::convolutional::{K, encode_bits};
use crate::coding::counts::Bits;
use crate::math::num::log10;
use crate::math::rng::Stream;
use crate::model::conv::{decibels, ratio, viterbi};

/// Bits of the frames that are compared with all messages.
const SHORT: usize = 10;

/// The message whose channel bits correlate best with the received values, by trying all.
fn best_message(rate: Rate, received: &[f64]) -> [u8; 2] {
    let messages = (0..1u16 << SHORT).map(|message| (message << (16 - SHORT)).to_be_bytes());
    let correlation = |message: &[u8; 2]| {
        let mut channel = Vec::new();
        encode_bits(rate, message, SHORT, &mut channel);
        let terms = channel.iter().zip(received);
        terms
            .map(|(bit, value)| if *bit == 0 { *value } else { -value })
            .sum::<f64>()
    };
    messages
        .max_by(|a, b| correlation(a).total_cmp(&correlation(b)))
        .unwrap()
}

#[test]
fn the_decoded_message_is_the_most_likely_of_all() {
    let channel = Awgn::new(-1.0);
    for (lane, rate) in (0..).zip(Rate::iter()) {
        let mut numbers = Numbers::new(1, Stream::CodingNoise, lane, 0);
        let (mut soft, mut quantised) = (Viterbi::new(), Viterbi::new());
        let mut wrong = 0;
        for _ in 0..40 {
            let mut message = [0; 2];
            numbers.fill(&mut message);
            message[1] &= 0xc0;
            let (mut sent, mut values) = (Vec::new(), Vec::new());
            encode_bits(rate, &message, SHORT, &mut sent);
            channel.soft(&mut numbers, &sent, &mut values);
            let mut decoded = Vec::new();
            soft.decode(rate, SHORT, &values, &mut decoded);
            let exact: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            let best = best_message(rate, &exact);
            assert_eq!(decoded, best, "{}", rate.name());
            wrong += usize::from(best != message);

            // Small numbers may have several best messages, so that only their correlation is the same.
            let values: Vec<i8> = values
                .iter()
                .map(|value| channel.quantise(*value))
                .collect();
            decoded.clear();
            quantised.decode(rate, SHORT, &values, &mut decoded);
            let exact: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            let correlation = |message: &[u8]| {
                let mut channel = Vec::new();
                encode_bits(rate, message, SHORT, &mut channel);
                let terms = channel.iter().zip(&exact);
                terms
                    .map(|(bit, value)| if *bit == 0 { *value } else { -value })
                    .sum::<f64>()
            };
            let (found, best) = (
                correlation(&decoded),
                correlation(&best_message(rate, &exact)),
            );
            assert!((found - best).abs() < 0.5, "{}", rate.name());
        }
        assert!(wrong > 0 || rate == Rate::Half, "no noise to speak of");
    }
}

#[test]
fn frames_without_noise_are_decoded_at_any_strength() {
    let information: Vec<u8> = (0..=255).map(|byte: u8| byte.wrapping_mul(73)).collect();
    let mut decoder = Viterbi::new();
    for rate in Rate::iter() {
        for bits in [0, 1, 7, 8, 9, 63, 64, 65, 128, 2000, 2048] {
            let mut sent = Vec::new();
            encode_bits(rate, &information, bits, &mut sent);
            for strength in [1, 127] {
                let values: Vec<i8> = sent
                    .iter()
                    .map(|bit| if *bit == 0 { strength } else { -strength })
                    .collect();
                let mut decoded = Vec::new();
                decoder.decode(rate, bits, &values, &mut decoded);
                let mut expected = information[..bits.div_ceil(8)].to_vec();
                if let (Some(last), rest @ 1..) = (expected.last_mut(), bits % 8) {
                    *last &= 0xff << (8 - rest);
                }
                assert_eq!(decoded, expected, "{} {bits}", rate.name());
            }
        }
    }
}

/// The worst that metrics can become: values of −128 to 127 at random.
#[test]
fn extreme_values_do_not_overflow_the_metrics() {
    let mut numbers = Numbers::new(2, Stream::CodingNoise, 0, 0);
    let mut bytes = vec![0; channel_bits(Rate::Half, 4096)];
    numbers.fill(&mut bytes);
    let extreme: Vec<i8> = bytes
        .iter()
        .map(|byte| if *byte < 128 { i8::MIN } else { i8::MAX })
        .collect();
    let exact: Vec<f32> = extreme.iter().map(|value| f32::from(*value)).collect();
    let metric = |decoded: &[u8], values: &[f32]| {
        let mut sent = Vec::new();
        encode_bits(Rate::Half, decoded, 4096, &mut sent);
        let terms = sent.iter().zip(values);
        terms
            .map(|(bit, value)| f64::from(if *bit == 0 { *value } else { -value }))
            .sum::<f64>()
    };
    let (mut quantised, mut soft) = (Vec::new(), Vec::new());
    Viterbi::new().decode(Rate::Half, 4096, &extreme, &mut quantised);
    Viterbi::new().decode(Rate::Half, 4096, &exact, &mut soft);
    // There may be several best paths.
    assert!((metric(&quantised, &exact) - metric(&soft, &exact)).abs() < 0.5);
}

/// Bits after a decoder of unquantised, and one of quantised values, on the same noise.
fn both(rate: Rate, ecn0_db: f64, frames: u64, lane: u32) -> [Bits; 2] {
    use rayon::prelude::*;
    const FRAME: usize = 4096;
    let channel = Awgn::new(ecn0_db);
    let frame = |frame: u64| {
        let mut data = vec![0; FRAME];
        Numbers::new(5, Stream::CodingData, lane, frame).fill(&mut data);
        let (mut sent, mut values) = (Vec::new(), Vec::new());
        encode_bits(rate, &data, 8 * FRAME, &mut sent);
        let mut numbers = Numbers::new(5, Stream::CodingNoise, lane, frame);
        channel.soft(&mut numbers, &sent, &mut values);
        let quantised: Vec<i8> = values
            .iter()
            .map(|value| channel.quantise(*value))
            .collect();
        let mut bits = [Bits::default(); 2];
        let mut decoded = Vec::new();
        Viterbi::new().decode(rate, 8 * FRAME, &values, &mut decoded);
        bits[0].compare(&data, &decoded, K - 1);
        decoded.clear();
        Viterbi::new().decode(rate, 8 * FRAME, &quantised, &mut decoded);
        bits[1].compare(&data, &decoded, K - 1);
        bits
    };
    let all: Vec<[Bits; 2]> = (0..frames).into_par_iter().map(frame).collect();
    let mut sums = [Bits::default(); 2];
    for bits in all {
        sums[0].add(&bits[0]);
        sums[1].add(&bits[1]);
    }
    sums
}

/// Ec/N0, dB, at which the union bound has this bit error rate.
fn bound_at(rate: Rate, ber: f64) -> f64 {
    let (mut low, mut high) = (-5.0, 15.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if viterbi(rate, ratio(middle)).ber_union > ber {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// How many dB less signal would have given the bit error rate `found`, by the slope of the bound around `expected`.
fn decibels_off(rate: Rate, found: f64, expected: f64) -> f64 {
    let slope = (log10(expected) - log10(expected / 2.0))
        / (bound_at(rate, expected / 2.0) - bound_at(rate, expected));
    (log10(found) - log10(expected)) / slope
}

#[test]
#[ignore = "two minutes in a release build: .ci/long codes runs it"]
fn bit_error_rates_are_those_of_the_literature() {
    // Eb/N0, dB, bit error rate, and the distance that is granted, dB: 1/2 from the literature, 3/4 and 7/8 from simulations of
    // the project (models.md, Sec. 3.4), the others by the bound.
    let information = |rate: Rate, ebn0_db: f64| ebn0_db + decibels(rate.value());
    let points = [
        (Rate::Half, information(Rate::Half, 4.2), 1e-5, 0.1),
        (Rate::Half, information(Rate::Half, 3.0), 3.5e-4, 0.1),
        (Rate::Half, information(Rate::Half, 4.0), 1.77e-5, 0.1),
        (Rate::TwoThirds, bound_at(Rate::TwoThirds, 1e-5), 1e-5, 0.15),
        (
            Rate::ThreeQuarters,
            information(Rate::ThreeQuarters, 4.49),
            9.4e-5,
            0.15,
        ),
        (
            Rate::FiveSixths,
            bound_at(Rate::FiveSixths, 1e-5),
            1e-5,
            0.15,
        ),
        (
            Rate::SevenEighths,
            information(Rate::SevenEighths, 5.0),
            3.7e-4,
            0.15,
        ),
        (
            Rate::SevenEighths,
            information(Rate::SevenEighths, 6.0),
            1.5e-5,
            0.15,
        ),
    ];
    let mut report = String::new();
    let mut is_right = true;
    for (lane, (rate, ecn0_db, expected, granted)) in (0..).zip(points) {
        let frames = if expected < 2e-5 { 6000 } else { 600 };
        let [soft, quantised] = both(rate, ecn0_db, frames, lane);
        let off = decibels_off(rate, soft.rate().value, expected);
        let loss = decibels_off(rate, quantised.rate().value, soft.rate().value);
        report += &format!(
            "{} {ecn0_db:.3} dB: {:.3e} ({} bursts), expected {expected:.3e}: {off:.3} dB; 8 bits lose {loss:.4} dB\n",
            rate.name(),
            soft.rate().value,
            soft.bursts,
        );
        is_right &= off.abs() < granted && loss < 0.05;
    }
    assert!(is_right, "{report}");
}

#[test]
fn eight_bits_lose_next_to_nothing_and_the_bound_is_close() {
    // A small part of the test above.
    let [soft, quantised] = both(Rate::SevenEighths, 4.42, 40, 9);
    let (soft, quantised) = (soft.rate().value, quantised.rate().value);
    assert!(decibels_off(Rate::SevenEighths, quantised, soft).abs() < 0.05);
    assert!(
        decibels_off(Rate::SevenEighths, soft, 3.7e-4).abs() < 0.15,
        "{soft}"
    );
}
