use proptest::prelude::*;
use tmt_core::math::num::ln;

use super::*;
use crate::model::Probability;
use crate::model::path::{piece_loss, reordering};
use crate::model::tests::{agree, prints};

fn get(arguments: &str, name: &str) -> f64 {
    MODEL.run(arguments).unwrap().get(name).unwrap()
}

fn path(buffer: f64, t1: f64, t2: f64, p: f64, pieces: f64) -> Path {
    let loss = piece_loss(Probability::new(p), pieces);
    Path {
        buffer,
        rate: 250.0,
        terrestrial: t1,
        satellite: t2,
        loss,
        reordering: reordering(loss),
        pieces,
    }
}

#[test]
fn the_cases_agree_at_their_limits() {
    // .383494 at β = 1 + ρ (T1 = .1, T2 = .5, μ = 250, p = .1).
    let at = |buffer: f64| path(buffer, 0.1, 0.5, 0.1, 1.0).end_to_end().unwrap();
    assert_eq!(at(125.0).case, Case::Never);
    assert_eq!(at(125.0 + 1e-9).case, Case::Partly);
    agree(at(125.0 + 1e-9).norm, at(125.0).norm, 1e-9);
    let (mut low, mut high) = (126.0, 260.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if at(middle).case == Case::Full {
            high = middle;
        } else {
            low = middle;
        }
    }
    assert_eq!((at(low).case, at(high).case), (Case::Partly, Case::Full));
    prints(at(high).norm, 0.383_494, 6);
    agree(at(low).norm, at(high).norm, 1e-12);
    agree(at(high).a[0], 1.0, 1e-15);
}

#[test]
fn limits_of_a_long_satellite_link() {
    // μ = 250, T2 = .5, B = 400, p = .1: (52) is .509279, (53) is .503823.
    let long = path(400.0, 0.0, 0.5, 0.1, 1.0);
    prints(long.long_satellite(), 0.509_279, 6);
    agree(
        long.end_to_end().unwrap().norm,
        long.long_satellite(),
        1e-14,
    );
    prints(long.long_satellite_large(), 0.503_823, 6);
    let split = path(400.0, 0.0, 0.5, 0.1, 8.0);
    agree(
        split.end_to_end().unwrap().norm,
        split.long_satellite(),
        1e-14,
    );
}

#[test]
fn where_splitting_wins() {
    // Fig. 13, α = 10, p = .1: end to end is better below β/(1+2α) = .45 (T2 = .5) and .53 (T2 = .01).
    for (t2, crossing) in [(0.5, 0.45), (0.01, 0.53)] {
        let both = |x: f64| {
            let terrestrial = 10.0 * t2 / 0.9;
            let buffer = x * 21.0 * 250.0 * t2;
            let both = path(buffer, terrestrial, t2, 0.1, 1.0);
            let e2e = both.end_to_end().unwrap();
            (e2e.efficiency, both.split_efficiency())
        };
        let (mut low, mut high) = (0.3, 0.9);
        for _ in 0..50 {
            let middle = f64::midpoint(low, high);
            let (e2e, split) = both(middle);
            if e2e > split {
                low = middle;
            } else {
                high = middle;
            }
        }
        // The crossings are given to two digits.
        assert!((low - crossing).abs() < 0.01, "{low}");
    }
}

/// (38) window by window with (20) as printed.
fn summed(path: &Path, w_max: f64) -> f64 {
    let least = tmt_core::math::num::floor_u64((w_max / 2.0).round_ties_even());
    let (mut sent, mut time) = (0.0, 0.0);
    for w in least..=2 * least {
        let w = tmt_core::types::to_f64(w);
        sent += w;
        let theta = w.min(path.buffer).min(path.bdp());
        let r = path.loss.yes;
        let nu = (1.0 - r) / ln(1.0 / r);
        time += path.terrestrial
            + (w.min(path.buffer) - path.bdp()).max(0.0) / (path.rate * (1.0 - r))
            + theta / (4.0 * path.rate)
            + path.satellite / (1.0 - r) * (nu * ln(theta * path.pieces / 2.0) + 1.0);
    }
    sent / (path.rate * time)
}

#[test]
fn the_sum_by_series_agrees_with_the_sum() {
    for t1 in [0.0, 0.1, 2.0] {
        for (buffer, t2) in [
            (10.0, 0.5),
            (50.0, 0.5),
            (125.0, 0.5),
            (130.5, 0.5),
            (200.0, 0.5),
            (260.3, 0.5),
            (5000.0, 0.5),
            (60.0, 0.1),
            (20.0, 0.041),
        ] {
            for (p, pieces) in [(0.1, 1.0), (0.4, 1.0), (0.3, 8.0)] {
                let path = path(buffer, t1, t2, p, pieces);
                let found = path.end_to_end().unwrap();
                agree(found.direct, summed(&path, found.w_max), 1e-12);
            }
        }
    }
}

#[test]
fn the_sum_is_near_the_closed_form() {
    // S = 1: within 5 % at B = 30, 3 % at 50, 1.5 % at 100, up to 15 % at 10.
    for (buffer, percent) in [
        (10.0, 15.0),
        (30.0, 5.0),
        (50.0, 3.0),
        (100.0, 1.5),
        (1e6, 1e-6),
    ] {
        let mut worst = 0.0f64;
        for t1 in [0.0, 0.05, 0.1, 0.2, 0.5] {
            for t2 in [0.1, 0.25, 0.5] {
                for p in [0.1, 0.2, 0.3, 0.5] {
                    let found = path(buffer, t1, t2, p, 1.0).end_to_end().unwrap();
                    worst = worst.max(100.0 * (found.norm / found.direct - 1.0).abs());
                }
            }
        }
        assert!(
            worst <= percent && worst > percent / 20.0,
            "B = {buffer}: {worst} %"
        );
    }
}

#[test]
fn the_transfer_time_of_the_largest_window_agrees() {
    // (28), (29), (35)–(37) against (20).
    for (buffer, t1) in [(50.0, 0.1), (125.0, 0.0), (300.0, 0.7)] {
        let path = path(buffer, t1, 0.5, 0.2, 1.0);
        let found = path.end_to_end().unwrap();
        let time = path.window_time(found.w_max);
        agree(t1 + 0.5 * found.tcal, time, 1e-13);
        agree(found.rho, (time - t1) / time, 1e-13);
        agree(
            found.w_max / time,
            (buffer + 1.0) / (t1 / 2.0 + 0.5 * found.tcal),
            1e-13,
        );
        let (nu, bdp) = (0.8 / ln(5.0), 125.0f64);
        let printed = if buffer > bdp {
            buffer / (bdp * 0.8) + nu * ln(bdp / 2.0) / 0.8 + 0.25
        } else {
            buffer / (4.0 * bdp) + (nu * ln(buffer / 2.0) + 1.0) / 0.8
        };
        agree(found.tcal, printed, 1e-13);
    }
}

#[test]
fn limits_are_continuous() {
    agree(get("p=1e-300", "norm"), get("p=0", "norm"), 1e-2);
    let almost = get("p=0.99999999999", "efficiency");
    agree(get("p=1", "efficiency"), almost, 1e-9);
    agree(get("T2=0 p=0", "norm"), get("T2=1e-12 p=0", "norm"), 1e-9);
    // Large values take no longer.
    for text in [
        "B=1000000 T2=0.5",
        "B=1e12 mu=1e12 T2=0.5 S=1000000",
        "B=1e15 T2=10 p=0.999999999",
    ] {
        agree(get(text, "norm_direct_sum"), get(text, "norm"), 1e-3);
    }
}

proptest! {
    #[test]
    fn throughput_falls_with_loss_and_rises_with_the_buffer(
        buffer in 30.0..2000.0f64, t1 in 0.0..1.0f64, t2 in 0.05..1.0f64, p in 0.01..0.8f64, pieces in 1u32..9,
    ) {
        let at = |buffer: f64, p: f64| path(buffer, t1, t2, p, f64::from(pieces)).end_to_end().unwrap();
        let base = at(buffer, p);
        prop_assert!(base.norm > 0.0 && base.efficiency < 1.0);
        prop_assert!(at(buffer * 1.1, p).norm > base.norm);
        prop_assert!(at(buffer, p + 0.05).norm < base.norm);
        prop_assert!((base.norm / base.direct - 1.0).abs() < 0.06);
    }
}
