//! Means of a metric over runs, their intervals, and differences of groups.

use fluid_tcp::simulation::replications::{Estimate, bootstrap, estimate, holm, welch};
use tmt_core::format::records::Records as Table;
use tmt_core::types::to_f64;

use super::rows::{Measured, Runs};
use super::{Difference, Group};

/// Seed of the bootstrap over starts.
const SEED: u64 = 1;

/// A metric of the runs of a group.
#[derive(Debug)]
pub(super) struct Sample<'a> {
    of: &'a Runs,
    values: Values,
    /// Number of runs without the metric.
    pub(super) lacking: usize,
    /// Its mean; `None` if no run has it.
    pub(super) mean: Option<Estimate>,
}

/// Values of runs.
#[derive(Debug)]
enum Values {
    /// All cells have the same runs, which are pairs: number and mean over the cells of each.
    ByRun(Vec<(i64, f64)>),
    /// Each cell has runs of its own.
    ByCell(Vec<Vec<f64>>),
}

impl Values {
    fn of(mut cells: Vec<Vec<(i64, f64)>>) -> Self {
        let numbers = |cell: &[(i64, f64)]| cell.iter().map(|(run, _)| *run).collect::<Vec<_>>();
        let first = cells.first().map(|cell| numbers(cell));
        let is_alike = |cell: &Vec<(i64, f64)>| {
            let runs = cell.iter().map(|(run, _)| run);
            first.as_ref().is_some_and(|first| runs.eq(first))
        };
        match &first {
            Some(first) if cells.iter().all(is_alike) => {
                if cells.len() == 1 {
                    return Self::ByRun(cells.remove(0));
                }
                let n = to_f64(cells.len() as u64);
                let mean = |place: usize| cells.iter().map(|cell| cell[place].1).sum::<f64>() / n;
                let runs = first.iter().enumerate();
                Self::ByRun(runs.map(|(place, run)| (*run, mean(place))).collect())
            }
            _ => {
                let values = |cell: Vec<(i64, f64)>| cell.into_iter().map(|(_, value)| value);
                Self::ByCell(
                    cells
                        .into_iter()
                        .map(|cell| values(cell).collect())
                        .collect(),
                )
            }
        }
    }
}

impl<'a> Sample<'a> {
    pub(super) fn of(of: &'a Runs, metric: &Measured<'_>) -> Self {
        let (cells, lacking) = of.values(metric);
        let mut sample = Self {
            of,
            values: Values::of(cells),
            lacking,
            mean: None,
        };
        sample.mean = sample.mean();
        sample
    }

    fn mean(&self) -> Option<Estimate> {
        let cells = match &self.values {
            Values::ByRun(runs) => return self.estimate(&values_of(runs)),
            Values::ByCell(cells) => cells,
        };
        let each = cells.iter().map(|cell| self.estimate(cell));
        let each: Vec<Estimate> = each.collect::<Option<_>>()?;
        let n = to_f64(each.len() as u64);
        let squares: Option<Vec<f64>> =
            each.iter().map(|one| Some(one.ci95? * one.ci95?)).collect();
        (!each.is_empty()).then(|| Estimate {
            mean: each.iter().map(|one| one.mean).sum::<f64>() / n,
            ci95: squares.map(|squares| squares.iter().sum::<f64>().sqrt() / n),
            runs: each.iter().map(|one| one.runs).sum(),
            block: None,
        })
    }

    /// The estimate of values in the order of their runs.
    fn estimate(&self, values: &[f64]) -> Option<Estimate> {
        match self.of.shared {
            None => estimate(values),
            Some(shared) => bootstrap(&[values], SEED, shared).pop()?,
        }
    }

    /// How much more the metric is than in `other`.
    fn less(&self, other: &Self) -> Option<Difference> {
        let mut difference = None;
        if let (Values::ByRun(own), Values::ByRun(of_other)) = (&self.values, &other.values) {
            let pairs = self.pairs(own, other, of_other);
            if pairs.len() == own.len().min(of_other.len()) {
                difference = self.estimate(&pairs).map(|estimate| (estimate, true));
            } else if self.of.shared.is_none() {
                let (own, of_other) = (values_of(own), values_of(of_other));
                difference = welch(&own, &of_other).map(|estimate| (estimate, false));
            }
        }
        let independent = || {
            let (own, other) = (self.mean?, other.mean?);
            let estimate = Estimate {
                mean: own.mean - other.mean,
                ci95: own
                    .ci95
                    .zip(other.ci95)
                    .map(|(one, other)| one.hypot(other)),
                runs: own.runs + other.runs,
                block: None,
            };
            Some((estimate, false))
        };
        let (estimate, paired) = difference.or_else(independent)?;
        Some(Difference {
            estimate,
            paired,
            p_value_holm: estimate.p_value(),
        })
    }

    /// Differences of the runs that both groups have with the same seeds and starts. Both lists are in the order of their numbers.
    fn pairs(&self, own: &[(i64, f64)], other: &Self, of_other: &[(i64, f64)]) -> Vec<f64> {
        // Runs without a seed and a start have no random numbers in common.
        let draws = |of: &'a Runs, run: i64| {
            let least = (run, (None, None));
            let all = of
                .draws
                .range(least..)
                .take_while(move |(number, _)| *number == run);
            all.map(|(_, draw)| draw)
        };
        let is_pair = |run: i64| {
            let mut own = draws(self.of, run).peekable();
            let is_drawn = own.peek().is_some_and(|least| **least != (None, None));
            is_drawn && own.eq(draws(other.of, run))
        };
        let difference = |(run, value): &(i64, f64)| {
            let place = of_other.binary_search_by_key(run, |(run, _)| *run).ok()?;
            is_pair(*run).then(|| value - of_other[place].1)
        };
        own.iter().filter_map(difference).collect()
    }
}

fn values_of(runs: &[(i64, f64)]) -> Vec<f64> {
    runs.iter().map(|(_, value)| *value).collect()
}

/// The differences of a metric in groups from that in the others that they are compared with, with p-values corrected for their number.
fn differences(samples: &[Sample<'_>], others: &[Option<usize>]) -> Vec<Option<Difference>> {
    let each = samples.iter().zip(others);
    let each = each.map(|(own, other)| own.less(&samples[(*other)?]));
    let mut each: Vec<Option<Difference>> = each.collect();
    let of = |difference: &Option<Difference>| difference.as_ref()?.p_value_holm;
    let mut corrected = holm(&each.iter().filter_map(of).collect::<Vec<_>>()).into_iter();
    for difference in each.iter_mut().flatten() {
        difference.p_value_holm = difference.p_value_holm.and_then(|_| corrected.next());
    }
    each
}

/// The groups with the means of `metrics` over their `runs`, and the differences from `others` if they are compared.
pub(super) fn of(
    table: &Table,
    mut groups: Vec<Group>,
    runs: &[Runs],
    metrics: &[String],
    others: Option<&[Option<usize>]>,
) -> Vec<Group> {
    for (group, runs) in groups.iter_mut().zip(runs) {
        (group.cells, group.refused, group.runs) = (runs.cells, runs.refused, runs.len());
    }
    for metric in metrics {
        let metric = Measured::of(table, metric);
        let mut samples = Vec::new();
        for (group, runs) in groups.iter_mut().zip(runs) {
            let sample = Sample::of(runs, &metric);
            group.means.push(sample.mean);
            group.lacking.push(sample.lacking);
            // One metric at a time: values of all runs take more memory than their rows.
            samples.extend(others.map(|_| sample));
        }
        let differences = others.map(|others| differences(&samples, others));
        let each = groups.iter_mut().zip(differences.into_iter().flatten());
        each.for_each(|(group, difference)| group.differences.push(difference));
    }
    groups
}
