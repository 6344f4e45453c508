//! Tails of the binomial distribution, with full relative precision however small they are.

use crate::math::num::{exp, floor_u64, ln, log1p};
use crate::types::to_f64;

/// P(Bin(n, p) > t), `p` in \[0, 1\].
///
/// If t is above the mean, the terms from t + 1 upwards are summed. Otherwise those up to t are, and subtracted from 1,
/// which loses no precision there. Results below 1e-308 are 0.
#[must_use]
pub fn binomial_tail(n: u64, p: f64, t: u64) -> f64 {
    if t >= n || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return 1.0;
    }
    let odds = p / (1.0 - p);
    let (count, first) = (to_f64(n), to_f64(t) + 1.0);
    if first > count * p {
        let mut term = binomial_term(n, p, t + 1);
        let (mut sum, mut j) = (0.0, first);
        while term > sum * 1e-18 {
            sum += term;
            // Above the mean the terms decrease.
            term *= (count - j) / (j + 1.0) * odds;
            j += 1.0;
        }
        return sum.min(1.0);
    }
    let mut term = binomial_term(n, p, t);
    let (mut sum, mut j) = (0.0, to_f64(t));
    while term > sum * 1e-18 {
        sum += term;
        term *= j / ((count - j + 1.0) * odds);
        j -= 1.0;
    }
    (1.0 - sum).max(0.0)
}

/// P(Bin(n, p) = j), 0 < `p` < 1, by Stirling's formula with its remainder. Logarithms of factorials up to 65 535 would
/// lose five digits; the distance from the mean loses none.
fn binomial_term(n: u64, p: f64, j: u64) -> f64 {
    let (count, at) = (to_f64(n), to_f64(j));
    let rest = to_f64(n - j);
    if j == 0 {
        return exp(count * log1p(-p));
    }
    if j == n {
        return exp(count * ln(p));
    }
    // x ln(x/mean) + mean − x for mean = x + gap; the terms added to the two logarithms cancel.
    let distance = |x: f64, mean: f64, gap: f64| {
        let part = gap / x;
        if part.abs() < 0.5 {
            x * (part - log1p(part))
        } else {
            x * ln(x / mean) + gap
        }
    };
    let gap = count * p - at;
    let remainder = stirling_remainder(count) - stirling_remainder(at) - stirling_remainder(rest);
    let width = ln(count / (2.0 * std::f64::consts::PI * at * rest)) / 2.0;
    exp(remainder + width - distance(at, count * p, gap) - distance(rest, count * (1.0 - p), -gap))
}

/// ln n! − (n + ½) ln n + n − ½ ln 2π, for integers n ≥ 1.
fn stirling_remainder(n: f64) -> f64 {
    if n < 16.0 {
        let factorial: f64 = (2..=floor_u64(n)).map(to_f64).product();
        let half_log_two_pi = ln(2.0 * std::f64::consts::PI) / 2.0;
        return ln(factorial) - (n + 0.5) * ln(n) + n - half_log_two_pi;
    }
    let square = 1.0 / (n * n);
    let series = 1.0 / 1260.0 - square * (1.0 / 1680.0 - square * (1.0 / 1188.0));
    (1.0 / 12.0 - square * (1.0 / 360.0 - square * series)) / n
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_cases_agree_with_pascals_triangle() {
        for n in 1..=20u64 {
            for p in [1e-9, 0.03, 0.4, 0.5, 0.9, 1.0 - 1e-6] {
                let mut law = vec![1.0];
                for _ in 0..n {
                    let mut next = vec![0.0; law.len() + 1];
                    for (j, share) in law.iter().enumerate() {
                        next[j] += share * (1.0 - p);
                        next[j + 1] += share * p;
                    }
                    law = next;
                }
                for t in 0..=n {
                    let from = usize::try_from(t).unwrap() + 1;
                    let direct: f64 = law[from..].iter().rev().sum();
                    let found = binomial_tail(n, p, t);
                    assert!(
                        (found - direct).abs() <= 1e-12 * direct,
                        "{n} {p} {t}: {found} {direct}"
                    );
                }
            }
        }
    }

    #[test]
    fn tiny_and_long_tails_keep_their_precision() {
        // C(255, 17) 1e-17·10, its first term but for (1 − p)^238 and 1e-10 of the rest.
        let choose: f64 = (0..17)
            .map(|i| f64::from(255 - i) / f64::from(i + 1))
            .product();
        let lead = choose * 1e-170;
        let found = binomial_tail(255, 1e-10, 16);
        assert!((found / lead - 1.0).abs() < 1e-7, "{found} {lead}");
        assert!((binomial_tail(255, 1e-300, 0) / 255e-300 - 1.0).abs() < 1e-13);
        // One or more: 1 − (1 − p)^n.
        for (n, p) in [(65_535, 1e-12), (65_535, 1e-3), (9, 0.3)] {
            let direct = crate::math::num::at_least_one(p, to_f64(n));
            assert!((binomial_tail(n, p, 0) / direct - 1.0).abs() < 1e-11);
            // All: p^n.
            let all = binomial_tail(n, 0.999, n - 1);
            assert!((all / crate::math::num::pow(0.999, to_f64(n)) - 1.0).abs() < 1e-10);
        }
        // Symmetric: exactly a half for odd n.
        assert!((binomial_tail(65_535, 0.5, 32_767) - 0.5).abs() < 1e-12);
        for (p, t, expected) in [(0.0, 3, 0.0), (1.0, 3, 1.0), (0.3, 9, 0.0), (1.0, 9, 0.0)] {
            assert!((binomial_tail(9, p, t) - expected).abs() < f64::EPSILON);
        }
    }

    proptest! {
        #[test]
        fn the_two_sides_add_up(n in 1u64..2000, p in 0.0..1.0f64, t in 0u64..2000) {
            let t = t % n;
            // More than t of p, or at least n − t of 1 − p.
            let sum = binomial_tail(n, p, t) + binomial_tail(n, 1.0 - p, n - t - 1);
            prop_assert!((sum - 1.0).abs() < 1e-10, "{}", sum);
        }

        #[test]
        fn the_tail_falls_with_t_and_rises_with_p(n in 1u64..70_000, p in 0.0..1.0f64, t in 0u64..70_000) {
            let t = t % n;
            let tail = binomial_tail(n, p, t);
            prop_assert!((0.0..=1.0).contains(&tail));
            prop_assert!(binomial_tail(n, p, t + 1) <= tail * (1.0 + 1e-9));
            prop_assert!(binomial_tail(n, (1.1 * p).min(1.0), t) >= tail * (1.0 - 1e-9));
        }
    }
}
