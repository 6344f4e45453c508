//! Several runs of one setup: mean and confidence interval of every metric.

use std::collections::BTreeMap;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, StudentsT};
use tmt_core::units::to_f64;

/// Mean over runs with the half-width of its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Mean over the runs that have the metric.
    pub mean: f64,
    /// Half-width of the 95 % interval by Student's t; null for a single run.
    pub ci95: Option<f64>,
    /// Runs that have the metric: a transfer that did not end in one has no completion time there.
    pub runs: usize,
}

/// Mean and interval of `values`; none where there are none.
#[must_use]
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    let n = to_f64(values.len() as u64);
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let ci95 = (values.len() > 1).then(|| {
        let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        let t = StudentsT::new(0.0, 1.0, n - 1.0).map_or(f64::NAN, |t| t.inverse_cdf(0.975));
        t * (variance / n).sqrt()
    });
    Some(Estimate {
        mean,
        ci95,
        runs: values.len(),
    })
}

/// Estimates of all metrics, each by its name, over runs that were turned into name and value.
#[must_use]
pub fn estimates<'a>(
    runs: impl IntoIterator<Item = &'a BTreeMap<String, f64>>,
) -> BTreeMap<String, Estimate> {
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for run in runs {
        for (name, value) in run {
            values.entry(name).or_default().push(*value);
        }
    }
    values
        .into_iter()
        .filter_map(|(name, values)| Some((name.to_owned(), estimate(&values)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // n = 4, s = 1.29099, t(0.975, 3) = 3.18245: half-width 2.05426.
        let estimate = estimate(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((estimate.mean - 2.5).abs() < 1e-12);
        assert!(
            (estimate.ci95.unwrap() - 2.054_26).abs() < 1e-4,
            "{estimate:?}"
        );
    }

    #[test]
    fn one_run_has_no_interval_and_none_no_mean() {
        assert_eq!(estimate(&[1.0]).unwrap().ci95, None);
        assert_eq!(estimate(&[]), None);
    }
}
