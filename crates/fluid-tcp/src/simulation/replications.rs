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

    /// Estimates for runs at different offsets of one trace, by the block bootstrap with `seed`. The runs must have been
    /// added in the order of their offsets.
    #[must_use]
    pub fn bootstrap(&self, seed: u64) -> BTreeMap<String, Estimate> {
        let columns: Vec<&[f64]> = self.0.values().map(Vec::as_slice).collect();
        let all = self.0.keys().zip(bootstrap(&columns, seed));
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
    fn one_run_has_no_interval_and_no_run_has_no_mean() {
        assert_eq!(estimate(&[1.0]).unwrap().ci95, None);
        assert_eq!(estimate(&[]), None);
    }
}
