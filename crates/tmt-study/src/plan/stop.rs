//! Stopping by confidence interval.

use std::fmt;
use std::str::FromStr;

use fluid_tcp::simulation::metrics::{Metrics, Total};
use fluid_tcp::simulation::replications::estimate;
use tmt_core::named::suggestion;

use super::{Plan, PlanError};

/// Runs before the interval is looked at, unless given.
const MIN_RUNS: usize = 5;

/// A rule for stopping: a cell has enough runs when the 95 % interval of the mean of a metric is narrow.
///
/// The rule looks at the runs in the order of their seeds, so that the number of runs does not depend on what ends first.
///
/// ```
/// let rule: tmt_study::plan::Stop = "goodput_bps:2%,min=4".parse()?;
/// assert_eq!(rule.enough(&[1e6, 1.01e6, 0.99e6]), None);
/// assert_eq!(rule.enough(&[1e6, 1.01e6, 0.99e6, 1e6, 2e6]), Some(4));
/// # Ok::<(), tmt_study::plan::StopError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// Name of the metric of all flows together.
    pub metric: String,
    /// Half-width of the interval at which a cell has enough runs, in percent of the mean.
    pub half_width_percent: f64,
    /// Least number of runs, at least 2.
    pub min_runs: usize,
}

/// A rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StopError(String);

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            metric,
            half_width_percent,
            min_runs,
        } = self;
        write!(f, "{metric}:{half_width_percent}%,min={min_runs}")
    }
}

impl FromStr for Stop {
    type Err = StopError;

    fn from_str(text: &str) -> Result<Self, StopError> {
        let form = || {
            StopError(format!(
                "found '{text}', expected METRIC:PERCENT%[,min=RUNS], such as goodput_bps:2%,min=5"
            ))
        };
        let (metric, rest) = text.split_once(':').ok_or_else(form)?;
        let (percent, min) = match rest.split_once(",min=") {
            Some((percent, min)) => (percent, min.parse().map_err(|_| form())?),
            None => (rest, MIN_RUNS),
        };
        let percent = percent.strip_suffix('%').ok_or_else(form)?;
        let percent: f64 = percent.parse().map_err(|_| form())?;
        let mut names: Vec<&str> = Metrics::ALL.iter().map(|metric| metric.name).collect();
        names.extend(Total::ALL.iter().map(|metric| metric.name));
        if !names.contains(&metric) {
            let suggestion = suggestion(metric, names);
            return Err(StopError(format!(
                "unknown metric {metric}{suggestion}; `tmt tcp --metrics` has all"
            )));
        }
        if !(percent > 0.0 && percent.is_finite()) || min < 2 {
            return Err(StopError(format!(
                "found '{text}', expected a share above 0 % and at least 2 runs"
            )));
        }
        Ok(Self {
            metric: metric.to_owned(),
            half_width_percent: percent,
            min_runs: min,
        })
    }
}

/// A rule's view of a cell: each number of its first runs is looked at once, since these runs do not change.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    runs: usize,
    is_enough: bool,
}

impl Stop {
    /// The number of runs that are enough, of the values of the first runs in order; `None` if more are needed.
    #[must_use]
    pub fn enough(&self, values: &[f64]) -> Option<usize> {
        self.enough_from(1, values)
    }

    /// Whether the runs with these `values`, which may be more than at the last look, are enough.
    pub(crate) fn look(&self, seen: &mut Seen, values: &[f64]) -> bool {
        if !seen.is_enough {
            seen.is_enough = self.enough_from(seen.runs + 1, values).is_some();
            seen.runs = values.len();
        }
        seen.is_enough
    }

    /// As [`Self::enough`], where fewer than `from` runs are known not to be.
    fn enough_from(&self, from: usize, values: &[f64]) -> Option<usize> {
        let is_enough = |runs: &usize| {
            let estimate = estimate(&values[..*runs]);
            estimate.is_some_and(|estimate| {
                let half = estimate.ci95.unwrap_or(f64::INFINITY);
                half <= self.half_width_percent / 100.0 * estimate.mean.abs()
            })
        };
        (self.min_runs.max(from)..=values.len()).find(is_enough)
    }

    /// Checks that cells of `plan` have independent runs, and a largest number of them.
    pub(super) fn check(plan: &Plan) -> Result<(), PlanError> {
        let gives = |name: &str| plan.axes.iter().any(|axis| axis.name == name);
        if plan.is_of_models() || gives("offsets") {
            return Err(PlanError::of(
                "stop",
                "found a plan without independent runs, expected `seeds`, the largest number of runs of a cell",
            ));
        }
        if !gives("seeds") {
            return Err(PlanError::of(
                "stop",
                "needs `seeds`, the largest number of runs of a cell",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn looks_at_more_and_more_runs_find_what_one_look_at_all_does(
            values in prop::collection::vec(0.5..1.5f64, 0..60),
            percent in 1.0..40.0f64,
            steps in prop::collection::vec(0usize..7, 20),
        ) {
            let rule: Stop = format!("goodput_bps:{percent}%,min=3").parse().unwrap();
            let (mut seen, mut runs) = (Seen::default(), 0);
            for step in steps {
                runs = values.len().min(runs + step);
                let looked = rule.look(&mut seen, &values[..runs]);
                prop_assert_eq!(looked, rule.enough(&values[..runs]).is_some());
            }
        }
    }
}
