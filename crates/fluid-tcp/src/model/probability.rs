//! A probability and its complement, both with full relative precision.

use tmt_core::math::num::{at_least_one, exp, expm1, ln, log1p, pow};
use tmt_core::types::to_f64;

/// The probability of an event, and that of its complement.
///
/// If one of the two is far below 2^-53, it cannot be computed as 1 − x. Therefore both are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probability {
    /// Probability that the event happens, 0 to 1.
    pub yes: f64,
    /// Probability that it does not happen, 0 to 1.
    pub no: f64,
}

impl Probability {
    /// An event that happens with probability `yes`.
    #[must_use]
    pub fn new(yes: f64) -> Self {
        Self { yes, no: 1.0 - yes }
    }

    /// The complementary event.
    #[must_use]
    pub const fn not(self) -> Self {
        Self {
            yes: self.no,
            no: self.yes,
        }
    }

    /// Natural logarithm of the probability; −∞ if it is 0.
    #[must_use]
    pub fn ln(self) -> f64 {
        if self.yes > 0.5 {
            log1p(-self.no)
        } else {
            ln(self.yes)
        }
    }

    /// Probability that the event happens in each of `times` independent trials; a root if `times` is below 1.
    #[must_use]
    pub fn all(self, times: f64) -> Self {
        if times <= 0.0 {
            return Self { yes: 1.0, no: 0.0 };
        }
        let power = times * self.ln();
        let yes = if self.yes > 0.5 {
            exp(power)
        } else {
            pow(self.yes, times)
        };
        let no = if self.yes > 0.5 {
            at_least_one(self.no, times)
        } else {
            -expm1(power)
        };
        Self { yes, no }
    }

    /// (1 − x^`a`) / (1 − x^`b`) for the probability x; `a`/`b` if x is 1.
    #[must_use]
    pub fn ratio(self, a: f64, b: f64) -> f64 {
        if self.no <= 0.0 {
            a / b
        } else if a <= 0.0 {
            0.0
        } else {
            let power = self.ln();
            expm1(a * power) / expm1(b * power)
        }
    }

    /// Probability that the event happens in more than `most` of `n` independent trials:
    /// 1 − Σ_{i ≤ `most`} C(n, i) x^i (1−x)^(n−i).
    ///
    /// Terms are computed relative to the largest by their ratios. They are summed separately on both sides of `most`,
    /// so that both keep their relative precision. Takes n steps.
    #[must_use]
    pub fn more_than(self, most: u64, n: u64) -> Self {
        if self.yes <= 0.0 || self.no <= 0.0 {
            // The probability is 0 or 1.
            let happen = if self.yes <= 0.0 { 0 } else { n };
            return Self::new(if happen > most { 1.0 } else { 0.0 });
        }
        let odds = self.yes / self.no;
        let top = tmt_core::math::num::floor_u64((to_f64(n) + 1.0) * self.yes).min(n);
        let (mut below, mut above) = (0.0, 0.0);
        let mut put = |i: u64, weight: f64| {
            if i > most {
                above += weight;
            } else {
                below += weight;
            }
        };
        put(top, 1.0);
        let mut weight = 1.0;
        for i in top..n {
            weight *= to_f64(n - i) / to_f64(i + 1) * odds;
            if weight <= 0.0 {
                break;
            }
            put(i + 1, weight);
        }
        weight = 1.0;
        for i in (0..top).rev() {
            weight *= to_f64(i + 1) / to_f64(n - i) / odds;
            if weight <= 0.0 {
                break;
            }
            put(i, weight);
        }
        let total = below + above;
        Self {
            yes: above / total,
            no: below / total,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::tests::agree;

    #[test]
    fn both_sides_of_a_power_keep_their_digits() {
        let rare = Probability::new(1e-12);
        agree(rare.all(3.0).yes, 1e-36, 1e-15);
        // 1000 x − C(1000, 2) x².
        agree(rare.not().all(1000.0).no, 1e-9 - 4.995e-19, 1e-14);
        agree(rare.not().all(0.5).no, 5e-13, 1e-12);
        agree(Probability::new(1.0).all(7.0).yes, 1.0, 0.0);
        agree(Probability::new(0.0).all(7.0).no, 1.0, 0.0);
        agree(Probability::new(0.0).all(0.0).yes, 1.0, 0.0);
    }

    #[test]
    fn ratios_have_their_limits() {
        agree(Probability::new(1.0).ratio(2.0, 5.0), 0.4, 1e-15);
        agree(Probability::new(1.0 - 1e-15).ratio(2.0, 5.0), 0.4, 1e-13);
        agree(Probability::new(0.0).ratio(2.0, 5.0), 1.0, 1e-15);
        assert!(Probability::new(0.0).ratio(0.0, 5.0).abs() < f64::MIN_POSITIVE);
        agree(Probability::new(0.5).ratio(1.0, 2.0), 0.5 / 0.75, 1e-15);
    }

    #[test]
    fn a_tail_far_below_one_keeps_its_digits() {
        // P(Bin(10, 1e-9) > 2) = C(10,3) 1e-27 (1 − 7e-9 + C(7,2)… ) + C(10,4) 1e-36 …; both corrections by hand.
        let tail = Probability::new(1e-9).more_than(2, 10);
        agree(tail.yes, 120e-27 * (1.0 - 7e-9 + 1.75e-9), 1e-14);
        // Fails with probability 10^-90.
        let tail = Probability::new(1.0 - 1e-9).more_than(0, 10);
        agree(tail.no, 1e-90, 1e-6);
        agree(Probability::new(0.0).more_than(0, 5).no, 1.0, 0.0);
        agree(Probability::new(1.0).more_than(4, 5).yes, 1.0, 0.0);
        agree(Probability::new(1.0).more_than(5, 5).no, 1.0, 0.0);
    }

    #[test]
    fn the_tail_of_many_trials_is_that_of_the_normal_law() {
        // Centred with continuity correction; skewness is 0 at p = ½, the rest is of order 1/n.
        let tail = Probability::new(0.5).more_than(5049, 10_000);
        agree(
            tail.yes,
            tmt_core::math::num::erfc(0.99 / 2f64.sqrt()) / 2.0,
            1e-4,
        );
        agree(tail.yes + tail.no, 1.0, 1e-15);
    }

    proptest! {
        #[test]
        fn tails_are_those_of_the_convolution(n in 1u64..25, most in 0u64..25, p in 0.0..1.0f64) {
            // One trial after the other, without any binomial coefficient.
            let mut law = vec![1.0];
            for _ in 0..n {
                let mut next = vec![0.0; law.len() + 1];
                for (i, x) in law.iter().enumerate() {
                    next[i] += x * (1.0 - p);
                    next[i + 1] += x * p;
                }
                law = next;
            }
            let from = usize::try_from(most + 1).unwrap().min(law.len());
            let (no, yes) = law.split_at(from);
            let tail = Probability::new(p).more_than(most, n);
            agree(tail.yes, yes.iter().sum(), 1e-12);
            agree(tail.no, no.iter().sum(), 1e-12);
        }
    }
}
