use proptest::prelude::*;
use tmt_core::math::rng::{Stream, Uniform};

use super::*;
use crate::model::tests::{agree, prints};

#[test]
fn drawn_means_agree_with_the_exact_ones() {
    // Z2: by Monte-Carlo.
    for (k, r, simulated) in [(10, 0.1, 1.757), (50, 0.5, 6.988), (125, 0.3, 4.9936)] {
        let loss = Probability::new(r);
        // The largest of k, drawn: the largest of k uniform numbers is the k-th root of a uniform number.
        let mut numbers = Uniform::new(1, Stream::ChannelErasure);
        let draws = 100_000;
        let drawn: f64 = (0..draws)
            .map(|i| {
                let above = -tmt_core::math::num::expm1(ln(1.0 - numbers.at(i)) / to_f64(k));
                (ln(above) / loss.ln()).floor() + 1.0
            })
            .sum();
        let drawn = drawn / to_f64(draws);
        agree(drawn, mean_trips(loss, k), 4e-3);
        agree(simulated, drawn, 4e-3);
    }
}

#[test]
fn the_sum_agrees_with_the_alternating_one_where_that_is_precise() {
    for k in 1..=14 {
        for r in [1e-9, 1e-3, 0.1, 0.5, 0.9, 0.98, 0.995, 0.9999] {
            let loss = Probability::new(r);
            agree(mean_trips(loss, k), alternating(loss, k), 1e-11);
        }
    }
}

#[test]
fn all_methods_of_summation_agree() {
    // On both sides of the switch from one method to the other.
    for k in [6, 7, 20, 1000, 1_000_000] {
        for step in [0.005, 0.009_999, 0.02] {
            let loss = Probability {
                yes: exp(-step),
                no: -tmt_core::math::num::expm1(-step),
            };
            agree(
                harmonic(k) / step + 0.5,
                by_terms(loss, k),
                if step < 0.01 { 2e-14 } else { 1e-12 },
            );
        }
    }
    for r in [0.01, 0.5, 0.99] {
        agree(
            alternating(Probability::new(r), 5),
            by_terms(Probability::new(r), 5),
            1e-13,
        );
    }
    let sum: f64 = (1..=1000u32).rev().map(|i| 1.0 / f64::from(i)).sum();
    agree(harmonic(1000), sum, 1e-15);
    agree(
        harmonic(32),
        (1..=32u32).rev().map(|i| 1.0 / f64::from(i)).sum(),
        1e-15,
    );
}

#[test]
fn long_sums_end() {
    for (k, r) in [
        (1_000_000, 1.0 - 1e-6),
        (1_000_000_000, 0.99),
        (7, 1.0 - 1e-12),
        (3, 1.0 - 1e-15),
    ] {
        let loss = Probability::new(r);
        let mean = mean_trips(loss, k);
        let asymptotic = harmonic(k) / -loss.ln() + 0.5;
        agree(mean, asymptotic, 1e-9);
    }
    assert!(mean_trips(Probability::new(1.0), 5).is_infinite());
    agree(mean_trips(Probability::new(0.0), 5), 1.0, 0.0);
    // Rare losses are precise: 1 + k r + ….
    agree(mean_trips(Probability::new(1e-9), 100) - 1.0, 1e-7, 1e-7);
}

#[test]
fn the_law_of_the_largest_sums_to_one() {
    for (k, r) in [(1, 0.1), (50, 0.5), (1000, 0.3)] {
        let loss = Probability::new(r);
        let law: Vec<f64> = (0..200).map(|i| probability(loss, k, i)).collect();
        agree(law.iter().sum(), 1.0, 1e-12);
        let mean: f64 = (0..).zip(&law).map(|(i, p)| f64::from(i) * p).sum();
        agree(mean, mean_trips(loss, k), 1e-12);
    }
    // The tail is precise: k r^(i−1) (1−r).
    agree(probability(Probability::new(0.1), 1, 31), 0.9e-30, 1e-12);
}

#[test]
fn overtaking_is_as_published() {
    // (15): p = .5: .1667 (L=1), .0833 (L=2); p = .1: .0091 (printed 16.7 %, 8 %, 1 %).
    prints(overtakes(Probability::new(0.5), 1, 1), 0.1667, 4);
    prints(overtakes(Probability::new(0.5), 1, 2), 0.0833, 4);
    prints(overtakes(Probability::new(0.1), 1, 1), 0.0091, 4);
    agree(
        overtakes(Probability::new(0.3), 1, 4),
        powi(0.3, 5) / 1.3,
        1e-14,
    );
    for (pieces, later) in [(1, 1), (2, 1), (3, 2), (5, 1), (6, 1), (8, 2), (40, 1)] {
        for r in [1e-6, 0.1, 0.4, 0.9] {
            let loss = Probability::new(r);
            // (15) as a double sum over the law (3).
            let law: Vec<f64> = (0..600).map(|i| probability(loss, pieces, i)).collect();
            let mut beyond = vec![0.0; law.len() + 1];
            for i in (0..law.len()).rev() {
                beyond[i] = beyond[i + 1] + law[i];
            }
            let skip = usize::try_from(later).unwrap() + 1;
            let sum: f64 = (1..law.len() - skip)
                .map(|x| law[x] * beyond[x + skip])
                .sum();
            agree(overtakes(loss, pieces, later), sum, 1e-9);
        }
    }
    agree(overtakes(Probability::new(1.0), 3, 1), 0.5, 0.0);
    // Zhu 2006: it falls with S for p below ½.
    let split = |pieces: u64| {
        let loss = super::super::path::piece_loss(Probability::new(0.3), to_f64(pieces));
        overtakes(loss, pieces, 1)
    };
    assert!((1..40).all(|s| split(s + 1) < split(s)));
    // Nearly certain loss with many link-layer packets: takes long, but ends.
    let loss = super::super::path::piece_loss(Probability::new(1.0 - 1e-15), 6.0);
    assert!((0.45..0.5).contains(&overtakes(loss, 6, 1)));
}

proptest! {
    #[test]
    fn more_packets_take_longer_and_less_each(k in 1u64..10_000, r in 1e-6..0.999_999f64) {
        // (65): the increments fall.
        let mean = |k: u64| mean_trips(Probability::new(r), k);
        let (first, second) = (mean(k + 1) - mean(k), mean(k + 2) - mean(k + 1));
        let rounding = 1e-14 * mean(k + 2);
        prop_assert!(first > -rounding && second < first + 2.0 * rounding);
        prop_assert!(mean(k) <= mean_trips_rare(Probability::new(r), to_f64(k)) * (1.0 + 1e-12));
    }
}
