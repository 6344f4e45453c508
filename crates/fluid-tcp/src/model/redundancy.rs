//! `barakat-nopt`: the best frame length if frames are repeated until they arrive.

use tmt_core::math::num::exp;
use tmt_core::model::ModelError;
use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::Probability;
use super::barakat::useful_unlimited;

/// Largest frame length that the search tries, in units.
const LONGEST: u64 = 200_000;

/// Relative tolerance of ties: at p = 1/K², N = K and N = K + 1 are an exact tie (B9).
const TIE: f64 = 1.0 + 1e-12;

/// The N ≥ K that maximises α_∞ = (1 − P_T) K/N, the smallest on ties; `None` if it is above 200 000.
///
/// A frame of N units is decoded if at least K of them arrive. The K-th arrival is unit N + 1 with probability
/// C(N, K−1) (1−p)^K p^(N+1−K), so the decoding probabilities of all N are partial sums. They are scaled by a power of
/// e to stay in the range of doubles. No N above K/α can be better than α.
#[must_use]
pub fn best_frame(loss: f64, data: u64) -> Option<u64> {
    let arrives = Probability::new(loss).not();
    if arrives.yes <= 0.0 {
        return None;
    }
    if data == 1 {
        // (1 − p^N)/N falls from N = 1 on.
        return Some(1);
    }
    let k = to_f64(data);
    // Times e^scale: `probability` is the probability that the N-th unit is the K-th arrival, `sum` that the K-th arrival is
    // not later, `best` the highest value found.
    let mut scale = k * arrives.ln();
    let mut unit = exp(scale);
    let (mut probability, mut sum) = (1.0f64, 1.0f64);
    let (mut best, mut best_n) = (1.0, data);
    for n in data..LONGEST {
        // No longer frame can be better, because K/N is a bound.
        if k < best * unit * to_f64(n) {
            return Some(best_n);
        }
        probability *= loss * (to_f64(n) / to_f64(n + 1 - data));
        sum += probability;
        if sum > 1e200 {
            // About ln(1e200); a whole number keeps `scale` exact.
            let down = exp(-460.0);
            probability *= down;
            sum *= down;
            best *= down;
            scale += 460.0;
            unit = exp(scale);
        }
        let useful = sum * k / to_f64(n + 1);
        if useful > best * TIE {
            (best, best_n) = (useful, n + 1);
        }
    }
    None
}

keys! {
    LOSS: Probability, "p" | "loss" | "unit_loss" = 0.25, "loss of a unit";
    DATA: Count(1, 10_000), "K" | "k" | "data" = 10, "data units of a frame";
}

closed_form! {
    /// `tmt model barakat-nopt` (docs/models.md, Sec. 5.3).
    pub(super) static MODEL: "barakat-nopt",
        "The frame length N that uses a full link best if frames are repeated until they arrive";
    source: "Barakat 2004, Sec. 4.6, from eq. (4) and (6) for delta to infinity; docs/models.md, Sec. 5.3";
    notes: [
        "The link is full and rounds are unlimited, so N maximises alpha_inf = (1 - P_T) K/N",
        "On ties the smallest N wins; p = 1/K^2 is a tie between K and K+1 (B9)",
        "The paper's gain of up to 1100 % at p = 0.25, K = 10 does not follow from (6), which gives 922 % (B10)",
    ];
    example: "p=0.25 K=50";
    keys: [LOSS, DATA];
    answer(given) {
        let (loss, data) = (given.number(&LOSS), given.count(&DATA));
        if loss >= 1.0 {
            return Err(ModelError::refused(
                "p = 1: no unit arrives, so no N is best",
            ));
        }
        let Some(best) = best_frame(loss, data) else {
            return Err(ModelError::refused(format!(
                "the best N is about K/(1-p), above the limit of {LONGEST} units"
            )));
        };
        let most = useful_unlimited(loss, data, best);
        let plain = useful_unlimited(loss, data, data);
        let ratio = most / plain;
    }
    results {
        "N_optimal" = best, "best number of units of a frame";
        "alpha_opt" = most, "share of the link that carries data, with N_optimal";
        "alpha_K" = plain, "share of the link that carries data, without redundancy (N = K)";
        "ratio" = ratio, "alpha_opt/alpha_K";
        "gain_percent" = 100.0 * (ratio - 1.0), "100 (ratio - 1)";
    }
    remarks {
        if ratio.is_infinite() => "without redundancy fewer than 1 in 10^307 frames arrive: the gain is infinite";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_agrees_with_trying_every_length() {
        for data in [1, 2, 7, 10, 50, 120] {
            for loss in [0.0, 1e-9, 1e-3, 0.02, 0.1, 0.25, 0.5, 0.8] {
                let mut best = (useful_unlimited(loss, data, data), data);
                for n in data..data * 8 + 20 {
                    let useful = useful_unlimited(loss, data, n);
                    if useful > best.0 * TIE {
                        best = (useful, n);
                    }
                }
                assert_eq!(best_frame(loss, data), Some(best.1), "p={loss} K={data}");
            }
        }
    }

    #[test]
    fn one_more_unit_pays_from_one_in_k_squared_on() {
        // B9: alpha_inf(K+1)/alpha_inf(K) = (1 + Kp) K/(K+1), which is 1 at p = 1/K².
        for data in [2, 5, 10, 37, 100] {
            let tie = 1.0 / to_f64(data * data);
            assert_eq!(best_frame(tie, data), Some(data), "K={data}");
            assert_eq!(best_frame(tie * 0.999, data), Some(data), "K={data}");
            assert_eq!(best_frame(tie * 1.001, data), Some(data + 1), "K={data}");
        }
    }
}
