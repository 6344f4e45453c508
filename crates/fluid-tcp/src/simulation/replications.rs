//! Means over several runs and their confidence intervals (docs/metrics.md, Sec. 7).

mod bootstrap;

use std::collections::BTreeMap;

pub use bootstrap::bootstrap;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, StudentsT};
use tmt_core::types::to_f64;

/// Mean of a metric over runs, with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Mean over the runs that have the metric.
    pub mean: f64,
    /// Half-width of the 95 % confidence interval, by Student's t or the block bootstrap; `None` for a single run.
    pub ci95: Option<f64>,
    /// Number of runs that have the metric. A transfer that is not complete has no completion time, for example.
    pub runs: usize,
    /// Number of runs in a block of the block bootstrap; `None` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
}

/// Mean of independent `values` with Student's interval; `None` if there are no values.
///
/// ```
/// use fluid_tcp::simulation::replications::estimate;
///
/// let goodputs = estimate(&[1.0, 2.0, 3.0, 4.0]).ok_or("no runs")?;
/// assert!((goodputs.mean - 2.5).abs() < 1e-12);
/// assert!(goodputs.ci95.is_some_and(|half| (half - 2.054).abs() < 1e-3));
/// assert_eq!(estimate(&[]), None);
/// # Ok::<(), &str>(())
/// ```
#[must_use]
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let n = to_f64(values.len() as u64);
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let ci95 = (values.len() > 1).then(|| {
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        student_t(n - 1.0) * (variance / n).sqrt()
    });
    Some(Estimate {
        mean,
        ci95,
        runs: values.len(),
        block: None,
    })
}

impl Estimate {
    /// Probability of a mean at least as far from zero if zero were right, two-sided; `None` without an interval or if all
    /// values are equal.
    #[must_use]
    pub fn p_value(&self) -> Option<f64> {
        let half = self.ci95.filter(|half| *half > 0.0)?;
        let blocks = to_f64(self.runs as u64) / to_f64(self.block.unwrap_or(1) as u64);
        let t = StudentsT::new(0.0, 1.0, blocks - 1.0).ok()?;
        Some(2.0 * t.sf((self.mean / half).abs() * student_t(blocks - 1.0)))
    }
}

/// Difference of the means of two independent samples, `one` less `other`, with the interval of Welch (1947); `None` if one has
/// no values.
#[must_use]
pub fn welch(one: &[f64], other: &[f64]) -> Option<Estimate> {
    let part = |values: &[f64]| {
        let own = estimate(values)?;
        let n = to_f64(values.len() as u64);
        let error = own.ci95.map(|half| half / student_t(n - 1.0));
        let error = error.map(|error| error * error);
        Some((own.mean, error, n - 1.0))
    };
    let ((mean, error, freedom), (mean2, error2, freedom2)) = (part(one)?, part(other)?);
    let ci95 = error.zip(error2).map(|(error, error2)| {
        let sum = error + error2;
        let freedom = sum * sum / (error * error / freedom + error2 * error2 / freedom2);
        if sum > 0.0 {
            student_t(freedom) * sum.sqrt()
        } else {
            0.0
        }
    });
    Some(Estimate {
        mean: mean - mean2,
        ci95,
        runs: one.len() + other.len(),
        block: None,
    })
}

/// p-values corrected for their number by Holm (1979), in the order given.
#[must_use]
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut corrected = vec![0.0; values.len()];
    let mut least = 0.0_f64;
    for (left, place) in (1..=values.len() as u64).rev().zip(order) {
        least = least.max(to_f64(left) * values[place]).min(1.0);
        corrected[place] = least;
    }
    corrected
}

/// Number of successive runs that share part of their trace, from the start and the length of each in s, in the order of the
/// starts; 1 if none do.
#[must_use]
pub fn overlap(runs: &[(f64, f64)]) -> usize {
    let sharing = |(first, (start, length)): (usize, &(f64, f64))| {
        let later = runs[first..].iter();
        later
            .take_while(|(other, _)| *other < start + length)
            .count()
    };
    runs.iter()
        .enumerate()
        .map(sharing)
        .max()
        .unwrap_or(1)
        .max(1)
}

/// 97.5 % quantile of Student's t distribution with `freedom` degrees of freedom.
fn student_t(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(0.975))
}

/// Values of each metric over the runs, by name.
///
/// ```
/// use fluid_tcp::simulation::replications::Columns;
///
/// let mut columns = Columns::default();
/// columns.add([("goodput_bps", 1e6), ("jain_index", 0.9)]);
/// columns.add([("goodput_bps", 3e6)]);
/// let estimates = columns.estimates();
/// assert_eq!((estimates["goodput_bps"].mean, estimates["goodput_bps"].runs), (2e6, 2));
/// assert_eq!(estimates["jain_index"].ci95, None); // a single run has no interval
/// ```
#[derive(Debug, Default)]
pub struct Columns(BTreeMap<String, Vec<f64>>);

impl Columns {
    /// Adds the metrics that a run has.
    pub fn add<'a>(&mut self, metrics: impl IntoIterator<Item = (&'a str, f64)>) {
        for (name, value) in metrics {
            self.0.entry(name.to_owned()).or_default().push(value);
        }
    }

    /// Estimates for independent runs, such as those of `--seeds`.
    #[must_use]
    pub fn estimates(&self) -> BTreeMap<String, Estimate> {
        let all = self.0.iter();
        all.filter_map(|(name, values)| Some((name.clone(), estimate(values)?)))
            .collect()
    }

    /// Estimates for runs at different offsets of one trace, by the [`bootstrap`] with `seed`. The runs must have been added
    /// in the order of their offsets.
    #[must_use]
    pub fn bootstrap(&self, seed: u64, overlap: usize) -> BTreeMap<String, Estimate> {
        let columns: Vec<&[f64]> = self.0.values().map(Vec::as_slice).collect();
        let all = self.0.keys().zip(bootstrap(&columns, seed, overlap));
        all.filter_map(|(name, estimate)| Some((name.clone(), estimate?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_student() {
        // n = 4, s = 1.29099, t(0.975, 3) = 3.18245: half-width 2.05426.
        let estimate = estimate(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((estimate.mean - 2.5).abs() < 1e-12);
        assert!(
            (estimate.ci95.unwrap() - 2.054_26).abs() < 1e-4,
            "{estimate:?}"
        );
    }

    #[test]
    fn a_p_value_of_five_percent_is_on_the_edge_of_the_interval() {
        let all = estimate(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let on_edge = Estimate {
            mean: all.ci95.unwrap(),
            ..all
        };
        assert!((on_edge.p_value().unwrap() - 0.05).abs() < 1e-9);
        // t = 2.5 / 0.645497 = 3.87298 with 3 degrees of freedom.
        assert!(
            (all.p_value().unwrap() - 0.030_466).abs() < 1e-5,
            "{:?}",
            all.p_value()
        );
        assert_eq!(estimate(&[1.0]).unwrap().p_value(), None);
    }

    #[test]
    fn welch_is_that_of_a_worked_example() {
        // Variances 5/3 and 1 of 4 and 3 values.
        let difference = welch(&[11.0, 12.0, 13.0, 14.0], &[3.0, 4.0, 5.0]).unwrap();
        let (a, b) = (5.0 / 3.0 / 4.0, 1.0 / 3.0);
        let freedom = (a + b) * (a + b) / (a * a / 3.0 + b * b / 2.0);
        assert!((difference.mean - 8.5).abs() < 1e-12);
        // t(0.975, 4.96) = 2.575.
        assert!((freedom - 4.959_f64).abs() < 1e-2, "{freedom}");
        assert!((difference.ci95.unwrap() / (a + b).sqrt() - 2.575).abs() < 5e-3);
        assert_eq!(welch(&[1.0], &[2.0]).unwrap().ci95, None);
    }

    #[test]
    fn holm_corrects_the_smallest_most() {
        // Holm's step-down: 4 · 0.01, then 3 · 0.02, 2 · 0.03 (not below the one before), 1 · 0.5.
        let corrected = holm(&[0.03, 0.01, 0.5, 0.02]);
        let expected = [0.06, 0.04, 0.5, 0.06];
        for (corrected, expected) in corrected.iter().zip(expected) {
            assert!((corrected - expected).abs() < 1e-12, "{corrected}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn runs_overlap_if_the_next_starts_before_they_end() {
        let runs: Vec<(f64, f64)> = (0..16).map(|run| (3.0 * f64::from(run), 15.0)).collect();
        assert_eq!(overlap(&runs), 5);
        assert_eq!(overlap(&[(0.0, 3.0), (3.0, 3.0)]), 1);
        assert_eq!(overlap(&[]), 1);
    }

    #[test]
    fn one_run_has_no_interval_and_no_run_has_no_mean() {
        assert_eq!(estimate(&[1.0]).unwrap().ci95, None);
        assert_eq!(estimate(&[]), None);
    }
}
