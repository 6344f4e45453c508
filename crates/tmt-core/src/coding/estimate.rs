//! Error rates from counts, with their intervals of 95 %.

use crate::math::num::{exp, ln};
use crate::model::tail::binomial_tail;
use crate::types::to_f64;

/// Probability outside an interval.
const OUTSIDE: f64 = 0.05;

/// Normal quantile for an interval of 95 %.
const QUANTILE: f64 = 1.959_963_984_540_054;

/// An estimated rate, in \[0, 1\], with an interval of 95 %. Without any event, `value` and `low` are 0 and `high` is the bound
/// −ln(0.05)/n that the rate is below with 95 %, n being the trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Events over trials; NaN without trials.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Estimate {
    /// The rate of `events` that occur independently in `trials`, with the interval of Clopper and Pearson (Biometrika, 1934).
    #[must_use]
    pub fn independent(events: u64, trials: u64) -> Self {
        let value = to_f64(events) / to_f64(trials);
        if events == 0 {
            return Self::none(value, trials);
        }
        let at_least = |count, p| binomial_tail(trials, p, count - 1);
        Self {
            value,
            low: root(|p| at_least(events, p) > OUTSIDE / 2.0),
            high: if events < trials {
                root(|p| at_least(events + 1, p) > 1.0 - OUTSIDE / 2.0)
            } else {
                1.0
            },
        }
    }

    /// The rate of events that come in groups: `events` in all among `trials`, and the sum of the squares of the groups' sizes.
    /// Groups occur independently and are rare, so that the variance of `events` is that sum; the interval is that of a normal
    /// logarithm.
    #[must_use]
    pub fn in_groups(events: u64, squares: u64, trials: u64) -> Self {
        let value = to_f64(events) / to_f64(trials);
        if events == 0 {
            return Self::none(value, trials);
        }
        let factor = exp(QUANTILE * to_f64(squares).sqrt() / to_f64(events));
        Self {
            value,
            low: value / factor,
            high: (value * factor).min(1.0),
        }
    }

    /// The rate `value`, 0 or NaN, of events that have not occurred.
    fn none(value: f64, trials: u64) -> Self {
        Self {
            value,
            low: 0.0,
            high: (-ln(OUTSIDE) / to_f64(trials)).min(1.0),
        }
    }

    /// Whether `rate` is in the interval.
    #[must_use]
    pub fn holds(&self, rate: f64) -> bool {
        (self.low..=self.high).contains(&rate)
    }
}

/// The smallest probability at which `is_above`, which holds above some probability, holds.
fn root(is_above: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > 1e-12 * high {
        let middle = 0.5 * (low + high);
        if is_above(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use statrs::distribution::{Beta, ContinuousCDF as _};

    use super::*;

    proptest! {
        #[test]
        fn the_interval_is_the_quantiles_of_beta_distributions(events in 1u64..300, others in 1u64..100_000) {
            let found = Estimate::independent(events, events + others);
            let (e, o) = (to_f64(events), to_f64(others));
            // As probabilities, because the quantiles of that crate are less exact than its distributions.
            let low = Beta::new(e, o + 1.0).unwrap().cdf(found.low);
            let high = Beta::new(e + 1.0, o).unwrap().cdf(found.high);
            prop_assert!((low - 0.025).abs() < 1e-8, "{low}");
            prop_assert!((high - 0.975).abs() < 1e-8, "{high}");
            prop_assert!(found.holds(found.value));
        }
    }

    #[test]
    fn without_events_there_is_a_bound() {
        for found in [
            Estimate::independent(0, 1000),
            Estimate::in_groups(0, 0, 1000),
        ] {
            assert!(found.value.abs() < f64::EPSILON && found.low.abs() < f64::EPSILON);
            assert!((found.high - 2.995_732_273_553_991e-3).abs() < 1e-15);
        }
        assert!((Estimate::independent(7, 7).high - 1.0).abs() < f64::EPSILON);
        assert!((Estimate::independent(0, 1).high - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn groups_widen_the_interval() {
        // 100 groups of 4: the same relative width as 100 single events.
        let (grouped, single) = (
            Estimate::in_groups(400, 1600, 100_000),
            Estimate::in_groups(100, 100, 100_000),
        );
        assert!((grouped.high / grouped.value - single.high / single.value).abs() < 1e-12);
        let exact = Estimate::independent(100, 100_000);
        assert!((single.high / exact.high - 1.0).abs() < 0.03);
        assert!((single.low / exact.low - 1.0).abs() < 0.03);
    }
}
