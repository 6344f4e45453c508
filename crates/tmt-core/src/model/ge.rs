//! `ge` and `ge-dist`: the Gilbert–Elliott channel and its number of erasures (docs/models.md, Sec. 2).

use super::chain::{Chain, erasures};
use super::{Arguments, ModelError};
use crate::types::to_f64;

keys! {
    pub(super) ALPHA: Probability, "alpha" = 0.99, "P(good next | good now), the probability of staying";
    pub(super) BETA: Probability, "beta" = 0.8, "P(bad next | bad now), the probability of staying";
    pub(super) PG: Probability, "pg" = 0.0, "erasure probability in the good state";
    pub(super) PB: Probability, "pb" = 1.0, "erasure probability in the bad state";
    pub(super) DEPTH: Count(1, 1 << 24), "depth" | "I" | "interleave" = 1,
        "interleaving depth I: units of a codeword are I LLDUs apart";
    N: Count(0, 65_535), "n" = 10, "consecutive LLDUs";
}

/// Note on the meaning of alpha and beta, for all models on this channel.
pub(super) const STAYING: &str = "K1: Kuhn 2015, Sec. 3.3, calls alpha and beta the probabilities of changing the state, but its eq. (3) \
     and its ranges only fit probabilities of staying, as used here";
/// Note on the erratum of eq. (4).
pub(super) const SWAPPED: &str = "K2: the two printed lines of eq. (4) are swapped (for I = 1 they would return beta as alpha_I)";

/// The channel of the arguments, without interleaving.
pub(super) fn channel(arguments: &Arguments) -> Result<Chain, ModelError> {
    Chain::new(
        arguments.number(&ALPHA),
        arguments.number(&BETA),
        arguments.number(&PG),
        arguments.number(&PB),
    )
}

/// The channel between consecutive units of a codeword, interleaving included.
pub(super) fn interleaved(arguments: &Arguments) -> Result<Chain, ModelError> {
    Ok(channel(arguments)?.interleaved(arguments.count(&DEPTH)))
}

closed_form! {
    /// Interface of `tmt model ge`: keys, results, source and notes.
    pub static STATE: "ge",
        "Gilbert–Elliott channel: state and erasure probabilities, run lengths, also after an interleaver";
    source: "Kuhn 2015, Sec. 3.3, eq. (3), (4); docs/models.md, Sec. 2.1";
    notes: [STAYING, SWAPPED];
    example: "alpha=0.99 beta=0.9 depth=5";
    keys: [ALPHA, BETA, PG, PB, DEPTH];
    answer(arguments) {
        let chain = channel(arguments)?;
        let apart = chain.interleaved(arguments.count(&DEPTH));
    }
    results {
        "p_bad" = chain.p_bad(), "share of LLDUs sent in the bad state";
        "erasure_prob" = chain.erasure_probability(), "probability that an LLDU is erased";
        "rho" = chain.rho(), "alpha + beta − 1, the correlation of consecutive states";
        "mean_bad_run" = chain.mean_bad_run(), "mean run in the bad state, LLDUs";
        "mean_good_run" = chain.mean_good_run(), "mean run in the good state, LLDUs";
        "alpha_I" = apart.alpha(), "alpha between LLDUs I apart";
        "beta_I" = apart.beta(), "beta between LLDUs I apart";
        "rho_I" = apart.rho(), "rho between LLDUs I apart";
        "mean_bad_run_I" = apart.mean_bad_run(), "mean run in the bad state after the interleaver, LLDUs";
    }
}

closed_form! {
    /// Interface of `tmt model ge-dist`: keys, results, source and notes.
    pub static COUNT: "ge-dist",
        "Distribution P(m, n) of the number of erasures in n consecutive LLDUs";
    source: "Kuhn 2015, Sec. 3.4; docs/models.md, Sec. 2.2";
    notes: [STAYING, SWAPPED];
    example: "n=12 alpha=0.99 beta=0.8";
    keys: [N, ALPHA, BETA, PG, PB, DEPTH];
    answer(arguments) {
        let n = arguments.size(&N);
        let chain = interleaved(arguments)?;
        let law = erasures(chain, n, n);
        let mean = to_f64(arguments.count(&N)) * chain.erasure_probability();
        let var = law.iter().zip(0u64..).map(|(p, m)| {
            let off = to_f64(m) - mean;
            p * off * off
        });
        let var: f64 = var.sum();
    }
    results {
        "P" = law, "probability of m erasures, m = 0 … n";
        "mean" = mean, "mean number of erasures";
        "var" = var, "variance of the number of erasures";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Quantity;

    #[test]
    fn mean_and_variance_agree_with_the_distribution() {
        for (alpha, beta, n) in [
            ("0.99", "0.8", "200"),
            ("0.3", "0.1", "50"),
            ("0.5", "0.5", "9"),
        ] {
            let pairs = [("alpha", alpha), ("beta", beta), ("n", n)];
            let arguments = COUNT.arguments(pairs).unwrap();
            let outcome = COUNT.evaluate(&arguments).unwrap();
            let Quantity::Array(law) = &outcome.fields()[0].1 else {
                panic!("P is not an array")
            };
            let mean: f64 = law.iter().zip(0u64..).map(|(p, m)| p * to_f64(m)).sum();
            assert!((mean / outcome.get("mean").unwrap() - 1.0).abs() < 1e-12);
            // Var = n p (1 − p) + 2 p (1 − p) Σ_{k<n} (n − k) rho^k for pg = 0, pb = 1.
            let chain = interleaved(&arguments).unwrap();
            let (p, n) = (chain.p_bad(), arguments.count(&N));
            let pairs: f64 = (1..n)
                .map(|k| to_f64(n - k) * crate::math::num::powi(chain.rho(), k))
                .sum();
            let var = p * (1.0 - p) * (to_f64(n) + 2.0 * pairs);
            assert!((outcome.get("var").unwrap() / var - 1.0).abs() < 1e-11);
        }
    }
}
