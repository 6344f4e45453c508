//! `sr-arq-delay`: delay of packets in order over selective-repeat ARQ on a memoryless channel.

use tmt_core::math::num::{at_least_one, exp, ln, powi};
use tmt_core::model::ModelError;
use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::Probability;
use super::path::reordering;

/// Euler's constant.
const GAMMA: f64 = 0.577_215_664_901_532_9;

/// E_k/T2: mean of the largest of `k` geometric numbers of round trips (63), each above i with probability r^i.
///
/// Σ_{j ≥ 0} [1 − (1 − r^j)^k], exact to a few units in the last place for all r and k; infinite for r = 1.
///
/// With a = ln(1/r), Poisson's summation formula gives H_k/a + ½ + Σ_{m ≥ 1} c_m, where
/// |c_m| ≤ (2/a)/y · Π_{i ≤ k} (1 + y²/i²)^−½ for y = 2πm/a. At a ≤ 0.01 and k ≥ 6 that is below 2 · 10^−17 of the
/// total. Below k = 6 the alternating sum (60) loses hardly any digits. Otherwise fewer than 6000 terms are added.
#[must_use]
pub fn mean_trips(loss: Probability, k: u64) -> f64 {
    if loss.yes <= 0.0 {
        return 1.0;
    }
    if loss.no <= 0.0 {
        return f64::INFINITY;
    }
    let step = -loss.ln();
    if k < 6 {
        alternating(loss, k)
    } else if step <= 0.01 {
        harmonic(k) / step + 0.5
    } else {
        by_terms(loss, k)
    }
}

/// (60): Σ_{i=1..k} C(k, i) (−1)^(i−1)/(1 − r^i), which suffers from cancellation for large k.
fn alternating(loss: Probability, k: u64) -> f64 {
    let mut binomial = -1.0;
    (1..=k)
        .map(|i| {
            binomial *= -to_f64(k + 1 - i) / to_f64(i);
            binomial / loss.all(to_f64(i)).no
        })
        .sum()
}

/// (63) term by term. The tail, where (1 − r^j)^k is 1 − k r^j + k(k−1)/2 r^2j to 10^−24, is summed as geometric series.
fn by_terms(loss: Probability, k: u64) -> f64 {
    let (k, power) = (to_f64(k), loss.ln());
    let (mut j, mut sum) = (0.0, 0.0);
    loop {
        let longer = exp(j * power);
        if k * longer < 1e-8 {
            let pairs = k * longer * (k * longer - longer) / 2.0;
            return sum + k * longer / loss.no - pairs / (loss.no * (1.0 + loss.yes));
        }
        sum += at_least_one(longer, k);
        j += 1.0;
    }
}

/// H_k = 1 + ½ + … + 1/k.
fn harmonic(k: u64) -> f64 {
    if k < 32 {
        return (1..=k).rev().map(|i| 1.0 / to_f64(i)).sum();
    }
    // Euler–Maclaurin series; the next term is below 10^−17.
    let square = 1.0 / (to_f64(k) * to_f64(k));
    let rest =
        square * (1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square / 240.0)));
    ln(to_f64(k)) + GAMMA + 0.5 / to_f64(k) - rest
}

/// (4) in round trips: (1 + ν ln((k+1)/2))/(1−r).
#[must_use]
pub fn mean_trips_from_one(loss: Probability, k: f64) -> f64 {
    (1.0 + reordering(loss) * ln(0.5 * (k + 1.0))) / loss.no
}

/// (5) in round trips: (1 + ν ln(k/2))/(1−r), for many packets.
#[must_use]
pub fn mean_trips_of_many(loss: Probability, k: f64) -> f64 {
    (1.0 + reordering(loss) * ln(k / 2.0)) / loss.no
}

/// (64) in round trips: 1 + k r/(1−r), for k r ≪ 1.
#[must_use]
pub fn mean_trips_rare(loss: Probability, k: f64) -> f64 {
    1.0 + k * loss.yes / loss.no
}

/// P(x2 − x1 > L): probability that a segment overtakes one that was sent L round trips earlier (15); r^(L+1)/(1+r) for
/// S = 1.
///
/// x1 and x2 are each the largest of S geometric numbers. `loss` is r, `pieces` is S. For S ≤ 5 the sum over x1 is
/// expanded into powers. For larger S it converges in about ten thousand terms at most, because
/// 1 − r = (1−p)^(1/S) is at least 0.002 for every double p < 1.
#[must_use]
pub fn overtakes(loss: Probability, pieces: u64, later: u64) -> f64 {
    if loss.no <= 0.0 {
        return 0.5;
    }
    let later = to_f64(later);
    if pieces < 6 {
        let mut sum = 0.0;
        let mut outer = -1.0;
        for i in 1..=pieces {
            outer *= -to_f64(pieces + 1 - i) / to_f64(i);
            let mut inner = -1.0;
            for j in 1..=pieces {
                inner *= -to_f64(pieces + 1 - j) / to_f64(j);
                let (i, j) = (to_f64(i), to_f64(j));
                sum += outer * inner * loss.ratio(i, i + j) * loss.all(j * (later + 1.0)).yes;
            }
        }
        return sum;
    }
    let (s, power) = (to_f64(pieces), loss.ln());
    let longer = |x: f64| at_least_one(exp(x * power), s);
    let (mut sum, mut before, mut x) = (0.0, 1.0, 1.0);
    while x < 1e5 {
        let now = longer(x);
        sum += (before - now) * longer(x + later);
        // Bound of the remaining terms: probability that the first has not arrived, times that of the second.
        if now * longer(x + 1.0 + later) <= 1e-17 * sum {
            break;
        }
        (before, x) = (now, x + 1.0);
    }
    sum
}

/// P(d(k) = i T2) of (3), for i ≥ 1: (1 − r^i)^k − (1 − r^(i−1))^k.
#[must_use]
pub fn probability(loss: Probability, k: u64, trips: u64) -> f64 {
    if trips == 0 {
        return 0.0;
    }
    let up_to = |i: u64| powi(loss.all(to_f64(i)).no, k);
    let (now, before) = (up_to(trips), up_to(trips - 1));
    if before < 0.5 {
        return now - before;
    }
    // In the tail, computed from the complements, which are not near 1.
    let longer = |i: u64| at_least_one(loss.all(to_f64(i)).yes, to_f64(k));
    longer(trips - 1) - longer(trips)
}

keys! {
    PACKETS: Count(1, 1_000_000_000), "k" | "K" | "packets" = 50, "number of packets";
    LOSS: Probability, "r" | "loss" = 0.1, "loss of a link-layer packet";
    SATELLITE: NonNegative, "T2" | "t2" | "rtt" = 0.5, "RTT of the link, s";
}

closed_form! {
    /// `tmt model sr-arq-delay` (docs/models.md, Sec. 7.1).
    pub(super) static MODEL: "sr-arq-delay",
        "Mean time until the slowest of k packets arrives, with unlimited selective repeat";
    source: "Zhu 2006, Sec. III-A and appendix A, eq. (3) to (5), (60), (63), (64); docs/models.md, Sec. 7.1";
    notes: [
        "Losses are independent, feedback is never lost, and a repeat takes one round trip T2",
        "With k packets before the reference packet, the maximum is over k+1 packets, and earlier ones have a head start: (3) with k is a bound (Z1)",
        "(5) omits the +1 of (4); 1/log2(r) in (69) and (70) means ln 2/ln r (Z2)",
    ];
    example: "k=50 r=0.5 T2=0.5";
    keys: [PACKETS, LOSS, SATELLITE];
    answer(given) {
        let loss = Probability::new(given.number(&LOSS));
        let packets = given.count(&PACKETS);
        let (k, trip) = (to_f64(packets), given.number(&SATELLITE));
        if loss.no <= 0.0 && trip <= 0.0 {
            return Err(ModelError::refused(
                "r = 1 and T2 = 0: the delay is not defined",
            ));
        }
    }
    results {
        "E_exact" = trip * mean_trips(loss, packets), "mean by (63), s";
        "E_eq4" = trip * mean_trips_from_one(loss, k), "by (4), s";
        "E_eq5" = trip * mean_trips_of_many(loss, k), "by (5), for many packets, s";
        "E_eq64" = trip * mean_trips_rare(loss, k), "by (64), for k r << 1, s";
        "nu" = reordering(loss), "(1-r)/ln(1/r)";
    }
    remarks {
        if loss.no <= 0.0 => "no packet arrives: all times are infinite";
        if k * loss.yes > 0.1 => "k r is not far below 1: E_eq64 is far too large";
        if packets == 1 && loss.yes > 0.0 =>
            "for a single packet the logarithm in (5) is negative: E_eq5 is below a packet's mean time T2/(1-r)";
    }
}

#[cfg(test)]
mod tests;
