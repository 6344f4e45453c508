//! The only transcendental functions of the workspace: pure Rust, so that results are equal on all platforms.

pub use libm::{cbrt, erfc, exp, expm1, lgamma as ln_gamma, log as ln, log1p, log10, pow};

/// `x` to the power `n`, by repeated squaring.
#[must_use]
pub fn powi(x: f64, n: u64) -> f64 {
    let (mut result, mut base, mut rest) = (1.0, x, n);
    while rest > 0 {
        if rest & 1 == 1 {
            result *= base;
        }
        base *= base;
        rest >>= 1;
    }
    result
}

/// Probability of at least one event in `n` trials of probability `x`: 1 − (1 − x)^n, without cancellation for small
/// `x`. `x` is in [0, 1].
#[must_use]
pub fn at_least_one(x: f64, n: f64) -> f64 {
    if n == 0.0 {
        return 0.0;
    }
    // For x = 1 the logarithm is −∞ and the result is 1.
    -expm1(n * log1p(-x))
}

/// `x` rounded down to an integer; 0 for negative numbers and NaN, `u64::MAX` above the range.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and gives 0 for NaN"
)]
pub fn floor_u64(x: f64) -> u64 {
    x as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_one_keeps_precision_for_small_probabilities() {
        assert!((at_least_one(1e-18, 1000.0) / 1e-15 - 1.0).abs() < 1e-12);
        assert!((at_least_one(0.5, 2.0) - 0.75).abs() < 1e-15);
        for (x, n, expected) in [(0.0, 5.0, 0.0), (1.0, 5.0, 1.0), (1.0, 0.0, 0.0)] {
            assert!((at_least_one(x, n) - expected).abs() < f64::EPSILON);
        }
    }

    #[test]
    fn powi_agrees_with_pow() {
        for n in 0..200 {
            let (ours, theirs) = (powi(0.97, n), pow(0.97, crate::types::to_f64(n)));
            assert!((ours / theirs - 1.0).abs() < 1e-13);
        }
        assert!((powi(-0.5, 3) + 0.125).abs() < f64::EPSILON);
    }
}
