//! `rs-block`: Reed–Solomon blocks (Celandroni 2006, eq. (16), (17); docs/models.md, Sec. 4.2).

use super::ModelError;
use super::tail::binomial_tail;

/// Number of wrong symbols that a code of `n` symbols, `k` of them data, corrects: t0 = ⌊(n − k)/2⌋. `k` is at most `n`.
#[must_use]
pub const fn correctable(n: u64, k: u64) -> u64 {
    (n - k) / 2
}

/// Block error rate of RS(n, k) with independent symbol errors of probability `ps`, eq. (16): P(Bin(n, ps) > t0).
#[must_use]
pub fn reed_solomon(n: u64, k: u64, ps: f64) -> f64 {
    binomial_tail(n, ps, correctable(n, k))
}

/// Symbol error rate after an ideal symbol interleaver, eq. (17): p (ebL + m − 1)/ebL, at most 1.
///
/// `ber` is p, `burst` is ebL, the mean number of wrong bits per burst, 1 or more, and `m` the bits per symbol.
#[must_use]
pub fn symbol_error(ber: f64, burst: f64, m: f64) -> f64 {
    (ber * (burst + m - 1.0) / burst).min(1.0)
}

/// Largest number of symbols of a block.
pub(super) const MOST: u64 = 65_535;

keys! {
    PS: Probability, "ps" | "p_s" = 0.01, "symbol error rate";
    N: Count(1, MOST), "n" = 255, "symbols of a block";
    K: Count(1, MOST), "k" = 223, "data symbols of a block";
}
/// Returns an error if `k` is larger than `n`.
pub(super) fn check(n: u64, k: u64) -> Result<(), ModelError> {
    if k > n {
        return Err(ModelError::refused(format!(
            "a block of n={n} symbols cannot hold k={k} data symbols"
        )));
    }
    Ok(())
}

closed_form! {
    /// `tmt model rs-block`.
    pub(super) static MODEL: "rs-block", "How often a Reed-Solomon block cannot be corrected";
    source: "Celandroni 2006, Sec. III.B, eq. (16); docs/models.md, Sec. 4.2";
    notes: [
        "Symbol errors are independent and their positions unknown: t0 = floor((n - k)/2) of them are corrected",
        "A block that is decoded to a wrong codeword also counts as failed",
        "C10: the sum in the appendix runs over the m alignments of a burst; the average is 1/m of it. Eq. (17), used by ser, is right",
    ];
    example: "ps=0.02 n=255 k=223";
    keys: [PS, N, K];
    answer(arguments) {
        let (n, k) = (arguments.count(&N), arguments.count(&K));
        check(n, k)?;
    }
    results {
        "t0" = correctable(n, k), "correctable symbol errors";
        "pb" = reed_solomon(n, k, arguments.number(&PS)), "block error rate";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng::{Stream, Uniform};

    #[test]
    fn the_block_error_rate_is_the_sum_over_all_patterns() {
        for (n, k) in [(7, 3), (15, 9), (12, 12), (9, 1), (10, 7)] {
            for ps in [0.0, 1e-6, 0.05, 0.3, 0.9, 1.0] {
                let failed =
                    (0u32..1 << n).filter(|pattern| u64::from(pattern.count_ones()) > (n - k) / 2);
                let direct: f64 = failed
                    .map(|pattern| {
                        let wrong = u64::from(pattern.count_ones());
                        crate::math::num::powi(ps, wrong)
                            * crate::math::num::powi(1.0 - ps, n - wrong)
                    })
                    .sum();
                let found = reed_solomon(n, k, ps);
                assert!(
                    (found - direct).abs() <= 1e-11 * direct,
                    "{n} {k} {ps}: {found} {direct}"
                );
            }
        }
    }

    #[test]
    fn simulated_bursts_agree_with_eq_17() {
        // Bursts of geometric length with mean 6, all bits wrong, at places drawn for m = 8.
        let mut uniform = Uniform::new(2, Stream::ChannelErasure);
        let (ebl, m, bursts) = (6.0, 8.0, 200_000u64);
        let (mut wrong_bits, mut wrong_symbols) = (0.0, 0.0);
        for burst in 0..bursts {
            let start = (uniform.at(2 * burst) * m).floor();
            let length = 1.0
                + (crate::math::num::log1p(-uniform.at(2 * burst + 1))
                    / crate::math::num::log1p(-1.0 / ebl))
                .floor();
            wrong_bits += length;
            wrong_symbols += ((start + length - 1.0) / m).floor() + 1.0;
        }
        // There are m times fewer symbols than bits: p_s / p = m · (wrong symbols / wrong bits).
        let measured = m * wrong_symbols / wrong_bits;
        let formula = symbol_error(1e-3, ebl, m) / 1e-3;
        assert!(
            (measured / formula - 1.0).abs() < 5e-3,
            "{measured} {formula}"
        );
    }

    #[test]
    fn burst_limits() {
        // Single errors: any of m bits. An endless burst: the symbol error rate is the bit error rate. Never above 1.
        assert!((symbol_error(1e-3, 1.0, 8.0) - 8e-3).abs() < 1e-15);
        assert!((symbol_error(1e-3, 1e12, 8.0) - 1e-3).abs() < 1e-12);
        assert!((symbol_error(0.5, 1.0, 8.0) - 1.0).abs() < f64::EPSILON);
    }
}
