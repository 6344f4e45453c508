//! Block codes over symbols: Reed-Solomon and erasure codes (papers/003, eq (16)-(17)).

use super::ModelError;
use super::tail::binomial_tail;

/// Wrong symbols that a code of `n` symbols with `k` of data corrects, t0 = ⌊(n − k)/2⌋; `k` at most `n`.
#[must_use]
pub const fn correctable(n: u64, k: u64) -> u64 {
    (n - k) / 2
}

/// Block error rate of RS(n, k) when symbols are wrong independently with `ps`, eq (16): P(Bin(n, ps) > t0).
#[must_use]
pub fn reed_solomon(n: u64, k: u64, ps: f64) -> f64 {
    binomial_tail(n, ps, correctable(n, k))
}

/// Rate at which symbols of `m` bits are wrong behind an ideal symbol interleaver, eq (17): p (ebL + m − 1)/ebL.
///
/// `ber` p; `burst` ebL, mean number of wrong bits of a burst, 1 or more. At most 1.
#[must_use]
pub fn symbol_error(ber: f64, burst: f64, m: f64) -> f64 {
    (ber * (burst + m - 1.0) / burst).min(1.0)
}

/// Symbols of a block.
pub(super) const MOST: u64 = 65_535;

keys! {
    PS: Probability, "ps" | "p_s" = 0.01, "symbol error rate";
    N: Count(1, MOST), "n" = 255, "symbols of a block";
    K: Count(1, MOST), "k" = 223, "data symbols of a block";
}
/// Refuses more data than block.
pub(super) fn check(n: u64, k: u64) -> Result<(), ModelError> {
    if k > n {
        return Err(ModelError::refused(format!(
            "a block of n={n} symbols cannot hold k={k} of data"
        )));
    }
    Ok(())
}

closed_form! {
    /// The model's face.
    pub(super) static MODEL: "rs-block", "How often a Reed-Solomon block cannot be corrected";
    source: "papers/003 §III.B, equation (16); models.md §3.5";
    notes: [
        "Symbols are wrong independently, at unknown places: t0 = (n - k)/2 of them are corrected, rounded down",
        "A decoder that takes a wrong codeword for the right one counts as failed here as well",
        "C10: the sum of the appendix is over the m alignments of a burst; (17), which ser uses, is right",
    ];
    example: "ps=0.02 n=255 k=223";
    keys: [PS, N, K];
    answer(arguments) {
        let (n, k) = (arguments.count(&N), arguments.count(&K));
        check(n, k)?;
    }
    results {
        "t0" = correctable(n, k), "wrong symbols that are corrected";
        "pb" = reed_solomon(n, k, arguments.number(&PS)), "block error rate";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng::{Stream, Uniform};

    #[test]
    fn it_is_the_sum_over_all_patterns() {
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
    fn bursts_that_are_wrong_throughout_hit_as_many_symbols_as_eq_17_says() {
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
        // Symbols a bit are m times fewer: p_s / p = m · (wrong symbols / wrong bits).
        let measured = m * wrong_symbols / wrong_bits;
        let formula = symbol_error(1e-3, ebl, m) / 1e-3;
        assert!(
            (measured / formula - 1.0).abs() < 5e-3,
            "{measured} {formula}"
        );
    }

    #[test]
    fn burst_limits() {
        // Single errors: any of m bits. One endless burst: as many symbols as bits. Never above 1.
        assert!((symbol_error(1e-3, 1.0, 8.0) - 8e-3).abs() < 1e-15);
        assert!((symbol_error(1e-3, 1e12, 8.0) - 1e-3).abs() < 1e-12);
        assert!((symbol_error(0.5, 1.0, 8.0) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn more_data_than_block_is_refused_and_long_blocks_are_not() {
        let run = |text: &str| MODEL.run(text);
        assert!(
            run("n=10 k=11")
                .unwrap_err()
                .to_string()
                .contains("cannot hold")
        );
        let long = run("n=65535 k=1 ps=0.5").unwrap().get("pb").unwrap();
        assert!((long - 0.5).abs() < 0.01, "{long}");
        // Seventeen symbols wrong at once: below the smallest double.
        assert!(run("ps=1e-300").unwrap().get("pb").unwrap() < f64::MIN_POSITIVE);
        assert!((run("ps=1").unwrap().get("pb").unwrap() - 1.0).abs() < f64::EPSILON);
        assert!((run("n=8 k=8 ps=1e-12").unwrap().get("pb").unwrap() / 8e-12 - 1.0).abs() < 1e-10);
    }
}
