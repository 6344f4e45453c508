//! `barakat-nopt`: how many redundant units a frame should have when it is repeated until it arrives.

use tmt_core::math::num::exp;
use tmt_core::model::ModelError;
use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::Probability;
use super::barakat::useful_unlimited;

/// Frames of so many units are the longest that are looked at.
const LONGEST: u64 = 200_000;

/// What is as good as equal: p = 1/K² makes N = K and N = K+1 an exact tie (B9).
const TIE: f64 = 1.0 + 1e-12;

/// The N ≥ K that makes most of α_∞ = (1 − P_T) K/N, the smallest on ties; none where it is past 200 000.
///
/// A frame of N units decodes when its K-th unit to arrive is among them, so that the chances of all N follow one
/// another: the K-th arrives as unit N+1 with probability C(N, K−1) (1−p)^K p^(N+1−K). Their sum is carried relative
/// to a power of e that keeps it in the range of doubles. No N past K/α can be better than α.
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
    // e^scale times `chance` is the chance that the K-th unit to arrive is the N-th, times `sum` that it is no later,
    // times `best` the most found.
    let mut scale = k * arrives.ln();
    let mut unit = exp(scale);
    let (mut chance, mut sum) = (1.0f64, 1.0f64);
    let (mut best, mut best_n) = (1.0, data);
    for n in data..LONGEST {
        // Nothing longer gains: K/N bounds what is left.
        if k < best * unit * to_f64(n) {
            return Some(best_n);
        }
        chance *= loss * (to_f64(n) / to_f64(n + 1 - data));
        sum += chance;
        if sum > 1e200 {
            // Near the logarithm of 1e200; a whole number adds no rounding of its own to `scale`.
            let down = exp(-460.0);
            chance *= down;
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
    DATA: Count(1, 10_000), "K" | "k" | "data" = 10, "data units a frame";
}

closed_form! {
    /// The model.
    pub(super) static MODEL: "barakat-nopt",
        "The frame length N that makes most of a full link when frames are repeated until they arrive";
    source: "papers/002 §4.6, from equations (4) and (6) for delta to infinity; models.md §2.1";
    notes: [
        "A full link and repeats without limit: what counts is alpha_inf = (1 - P_T) K/N alone",
        "On ties the smallest N wins; p = 1/K^2 is one between K and K+1 (B9)",
        "The paper's gain of up to 1100 % at p = 0.25, K = 10 does not come of (6), which gives 922 % (B10)",
    ];
    example: "p=0.25 K=50";
    keys: [LOSS, DATA];
    answer(given) {
        let (loss, data) = (given.number(&LOSS), given.count(&DATA));
        if loss >= 1.0 {
            return Err(ModelError::refused(
                "p = 1: no unit arrives, and all N are as useless",
            ));
        }
        let Some(best) = best_frame(loss, data) else {
            return Err(ModelError::refused(format!(
                "the best N is past {LONGEST}, about K/(1-p); frames of so many units are not looked at"
            )));
        };
        let most = useful_unlimited(loss, data, best);
        let plain = useful_unlimited(loss, data, data);
        let ratio = most / plain;
    }
    results {
        "N_optimal" = best, "units a frame, best";
        "alpha_opt" = most, "share of the link that is data with it";
        "alpha_K" = plain, "the same without redundancy, N = K";
        "ratio" = ratio, "alpha_opt/alpha_K";
        "gain_percent" = 100.0 * (ratio - 1.0), "100 (ratio - 1)";
    }
    remarks {
        if ratio.is_infinite() => "without redundancy fewer than 1 in 10^307 frames arrive: the gain has no bound here";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::{agree, prints};
    use tmt_core::model::Outcome;

    fn gives(arguments: &str) -> Result<Outcome, ModelError> {
        MODEL.run(arguments)
    }

    #[test]
    fn the_published_optimum() {
        // models.md §2.3: the paper's 10/16 at p = .25.
        let found = gives("p=0.25 K=10").unwrap();
        prints(found.get("N_optimal").unwrap(), 16.0, 0);
        prints(100.0 * found.get("alpha_opt").unwrap(), 57.53, 2);
        prints(100.0 * found.get("alpha_K").unwrap(), 5.631, 3);
        prints(found.get("ratio").unwrap(), 10.22, 2);
        prints(found.get("gain_percent").unwrap(), 922.0, 0);
        let found = gives("p=0.25 K=50").unwrap();
        prints(found.get("N_optimal").unwrap(), 75.0, 0);
        prints(found.get("alpha_opt").unwrap(), 0.6405, 4);
    }

    #[test]
    fn the_search_finds_what_trying_every_length_finds() {
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

    #[test]
    fn limits_are_answered_or_refused() {
        let found = gives("p=0 K=10").unwrap();
        agree(found.get("N_optimal").unwrap(), 10.0, 0.0);
        agree(found.get("ratio").unwrap(), 1.0, 0.0);
        assert!(gives("p=1").is_err());
        assert!(gives("p=0.999999999").is_err());
        // Half of 10 000 units lost: a little more than twice as many, though none arrives without redundancy.
        let found = gives("p=0.5 K=10000").unwrap();
        let n = found.get("N_optimal").unwrap();
        assert!((20_000.0..21_000.0).contains(&n), "{n}");
        assert!(found.get("ratio").unwrap().is_infinite());
        assert!((0.45..0.5).contains(&found.get("alpha_opt").unwrap()));
    }
}
