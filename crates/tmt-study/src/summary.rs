//! Means over the runs of a table of results, and their 95 % intervals (docs/sweeps.md, Sec. 5).

use std::collections::{BTreeMap, BTreeSet};

use fluid_tcp::simulation::replications::{Columns, Estimate};
use serde::Serialize;
use tmt_core::format::records::{Records as Table, Value};
use tmt_core::named::suggestion;
use tmt_core::types::to_f64;

use crate::plan::models;

/// Metrics that are summarised unless others are named: those that have values.
const USUAL: [&str; 4] = [
    "goodput_bps",
    "delay_p95_s",
    "completion_time_s",
    "retransmission_probability",
];

/// Columns that say which run and flow a row is of.
const OF_RESULTS: [&str; 3] = ["cell", "run", "flow"];

/// Seed of the bootstrap over starts.
const SEED: u64 = 1;

/// A summary that cannot be made, with the text found and the text expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SummaryError(String);

/// The means of the rows that have the same values in the columns of `by`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Values of these columns, as text; empty where there is none.
    pub by: Vec<String>,
    /// Number of cells.
    pub cells: usize,
    /// Number of cells that refused their parameters.
    pub refused: usize,
    /// Number of runs.
    pub runs: usize,
    /// Mean of each metric over the runs that have it; `None` if none has.
    pub means: Vec<Option<Estimate>>,
    /// Number of runs without each metric.
    pub lacking: Vec<usize>,
}

/// All groups, in the order of their first rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Names of the columns that make the groups.
    pub by: Vec<String>,
    /// Names of the metrics.
    pub metrics: Vec<String>,
    /// The groups.
    pub groups: Vec<Group>,
}

/// Sums of the metrics over flows, and their numbers, by cell and run.
type Runs = BTreeMap<i64, BTreeMap<i64, Vec<(f64, u64)>>>;

/// Summarises `table` by the values of the columns `by`; without metrics those that are usual and have values.
///
/// A metric of a run is the mean over its flows. The mean of a group is the mean over its cells. If all its cells have the same
/// runs, a run counts once, as the mean over the cells: runs with the same number share their random numbers. The interval is by
/// Student's t over runs, or by the block bootstrap over starts.
/// Otherwise the cells count as independent, and their variances add up.
///
/// # Errors
/// An unknown column, a non-numeric metric, or a table that is not the results of one sweep.
pub fn summarise(
    table: &Table,
    by: &[String],
    metrics: &[String],
) -> Result<Summary, SummaryError> {
    for name in by
        .iter()
        .chain(metrics)
        .map(String::as_str)
        .chain(OF_RESULTS)
    {
        if !table.names().any(|known| known == name) {
            let suggestion = suggestion(name, table.names());
            return Err(SummaryError(format!(
                "found no column {name}{suggestion}, expected one of the results of `tmt sweep`"
            )));
        }
    }
    check_rows(table)?;
    let metrics = if metrics.is_empty() {
        usual(table)
    } else {
        metrics.to_vec()
    };
    for name in &metrics {
        let mut values = (0..table.len()).filter_map(|row| table.value(row, name));
        if let Some(text) = values.find(|value| matches!(value, Value::Text(_) | Value::Truth(_))) {
            return Err(SummaryError(format!(
                "{name}: found '{}', expected a column of numbers",
                text.text()
            )));
        }
    }
    let mut order: Vec<Vec<String>> = Vec::new();
    let mut rows: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for row in 0..table.len() {
        let text = |name: &String| table.value(row, name).map_or_else(String::new, Value::text);
        let key: Vec<String> = by.iter().map(text).collect();
        rows.entry(key.clone())
            .or_insert_with(|| {
                order.push(key);
                Vec::new()
            })
            .push(row);
    }
    let groups = order
        .into_iter()
        .map(|by| group(table, &metrics, &rows[&by], by.clone()));
    Ok(Summary {
        by: by.to_vec(),
        groups: groups.collect(),
        metrics,
    })
}

/// Refuses rows that are not those of one sweep.
fn check_rows(table: &Table) -> Result<(), SummaryError> {
    if table.is_empty() {
        return Err(SummaryError(
            "found no rows, expected the results of `tmt sweep`".to_owned(),
        ));
    }
    let mut known = BTreeSet::new();
    for row in 0..table.len() {
        let numbers = OF_RESULTS.map(|name| whole(table, row, name));
        let [Some(cell), run, flow] = numbers else {
            let found = table.value(row, "cell");
            return Err(SummaryError(format!(
                "row {}: found cell '{}', expected the whole number of a cell",
                row + 1,
                found.map_or_else(String::new, Value::text)
            )));
        };
        // Runs that were refused have no number.
        if let Some(run) = run
            && !known.insert((cell, run, flow))
        {
            let of = flow.map_or_else(String::new, |flow| format!(", flow {flow}"));
            return Err(SummaryError(format!(
                "row {}: found cell {cell}, run {run}{of} for the second time, expected the results of one sweep",
                row + 1
            )));
        }
    }
    Ok(())
}

/// The usual metrics that have values; of closed forms all results.
fn usual(table: &Table) -> Vec<String> {
    let has_values = |name: &&str| (0..table.len()).any(|row| number(table, row, name).is_some());
    let model = (0..table.len()).filter_map(|row| table.value(row, "model"));
    let chosen: BTreeSet<String> = model.map(Value::text).collect();
    let chosen = models().filter(|model| chosen.contains(model.name));
    let mut names: Vec<&str> = Vec::new();
    for field in chosen.flat_map(|model| model.results) {
        if !names.contains(&field.name) {
            names.push(field.name);
        }
    }
    if names.is_empty() {
        names = USUAL.to_vec();
    }
    let names = names.into_iter().filter(has_values);
    names.map(str::to_owned).collect()
}

fn number(table: &Table, row: usize, name: &str) -> Option<f64> {
    table.value(row, name)?.number()
}

fn whole(table: &Table, row: usize, name: &str) -> Option<i64> {
    match table.value(row, name) {
        Some(Value::Whole(whole)) => Some(*whole),
        _ => None,
    }
}

fn group(table: &Table, metrics: &[String], rows: &[usize], by: Vec<String>) -> Group {
    let (mut refused, mut all) = (BTreeSet::new(), BTreeSet::new());
    let (mut runs, mut starts): (Runs, bool) = (BTreeMap::new(), false);
    for &row in rows {
        let cell = whole(table, row, "cell").unwrap_or(0);
        all.insert(cell);
        // A row without a run has the reason for it.
        let Some(run) = whole(table, row, "run") else {
            refused.insert(cell);
            continue;
        };
        starts |= number(table, row, "offset_s").is_some();
        let values = metrics.iter().map(|name| number(table, row, name));
        let known = runs.entry(cell).or_default().entry(run);
        let sums = known.or_insert_with(|| vec![(0.0, 0); metrics.len()]);
        for (sum, value) in sums.iter_mut().zip(values) {
            if let Some(value) = value {
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
    }
    let count = runs.values().map(BTreeMap::len).sum();
    let means = (0..metrics.len()).map(|metric| mean(&runs, metric, starts));
    let lacking = (0..metrics.len()).map(|metric| {
        let runs = runs.values().flat_map(BTreeMap::values);
        runs.filter(|sums| sums[metric].1 == 0).count()
    });
    Group {
        by,
        cells: all.len(),
        refused: refused.len(),
        runs: count,
        means: means.collect(),
        lacking: lacking.collect(),
    }
}

/// The mean of one metric over the runs of a group.
fn mean(runs: &Runs, metric: usize, starts: bool) -> Option<Estimate> {
    let of_cell = |cell: &BTreeMap<i64, Vec<(f64, u64)>>| -> BTreeMap<i64, f64> {
        let runs = cell.iter().map(|(run, sums)| (*run, sums[metric]));
        let runs = runs.filter(|(_, (_, flows))| *flows > 0);
        runs.map(|(run, (sum, flows))| (run, sum / to_f64(flows)))
            .collect()
    };
    let cells: Vec<BTreeMap<i64, f64>> = runs.values().map(of_cell).collect();
    let cells: Vec<&BTreeMap<i64, f64>> = cells.iter().filter(|cell| !cell.is_empty()).collect();
    let first = cells.first()?;
    if cells.iter().all(|cell| cell.keys().eq(first.keys())) {
        let n = to_f64(cells.len() as u64);
        let values = first
            .keys()
            .map(|run| cells.iter().map(|cell| cell[run]).sum::<f64>() / n);
        return estimate(values.collect(), starts);
    }
    let each = cells
        .iter()
        .map(|cell| estimate(cell.values().copied().collect(), starts));
    let each: Vec<Estimate> = each.collect::<Option<_>>()?;
    let n = to_f64(each.len() as u64);
    let squares: Option<Vec<f64>> = each.iter().map(|one| Some(one.ci95? * one.ci95?)).collect();
    Some(Estimate {
        mean: each.iter().map(|one| one.mean).sum::<f64>() / n,
        ci95: squares.map(|squares| squares.iter().sum::<f64>().sqrt() / n),
        runs: each.iter().map(|one| one.runs).sum(),
        block: None,
    })
}

/// The estimate of values in the order of their runs.
fn estimate(values: Vec<f64>, starts: bool) -> Option<Estimate> {
    let mut columns = Columns::default();
    for value in values {
        columns.add([("x", value)]);
    }
    let mut estimates = if starts {
        columns.bootstrap(SEED)
    } else {
        columns.estimates()
    };
    estimates.remove("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(i64, i64, &str, Option<f64>)]) -> Table {
        let mut table = Table::default();
        let mut flows: BTreeMap<(i64, i64), i64> = BTreeMap::new();
        for (cell, run, cc, goodput) in rows {
            let flow = flows.entry((*cell, *run)).or_default();
            table.row([
                ("cell", Some(Value::Whole(*cell))),
                ("cc", Some(Value::Text((*cc).to_owned()))),
                ("run", goodput.map(|_| Value::Whole(*run))),
                ("flow", Some(Value::Whole(*flow))),
                ("goodput_bps", goodput.map(Value::Real)),
            ]);
            *flow += 1;
        }
        table
    }

    fn means(table: &Table, by: &[&str]) -> Vec<Option<Estimate>> {
        let by: Vec<String> = by.iter().map(|name| (*name).to_owned()).collect();
        let summary = summarise(table, &by, &[]).unwrap();
        summary
            .groups
            .into_iter()
            .map(|group| group.means[0])
            .collect()
    }

    #[test]
    fn runs_of_the_same_number_count_as_pairs() {
        // Two cells that differ by 10 always: their mean has the spread of one of them.
        let rows = [1.0, 2.0, 3.0, 4.0];
        let pairs = (0..).zip(rows);
        let rows: Vec<_> = pairs
            .flat_map(|(run, x)| [(0, run, "a", Some(x)), (1, run, "b", Some(x + 10.0))])
            .collect();
        let table = table(&rows);
        let both = means(&table, &[])[0].unwrap();
        assert_eq!((both.mean, both.runs), (7.5, 4));
        assert!((both.ci95.unwrap() - 2.054_26).abs() < 1e-4, "{both:?}");
        let each = means(&table, &["cc"]);
        assert_eq!(each[1].unwrap().mean, 12.5);
        assert_eq!(each[1].unwrap().ci95, both.ci95);
    }

    #[test]
    fn cells_with_different_runs_add_their_variances() {
        let rows = [
            (0, 0, "a", Some(1.0)),
            (0, 1, "a", Some(3.0)),
            (1, 0, "b", Some(1.0)),
            (1, 1, "b", Some(2.0)),
            (1, 2, "b", Some(3.0)),
        ];
        let both = means(&table(&rows), &[])[0].unwrap();
        assert_eq!((both.mean, both.runs), (2.0, 5));
        // t(0.975, 1) = 12.7062 and s/sqrt(n) = 1; t(0.975, 2) = 4.30265 and 1/sqrt(3).
        let expected = (12.706_2_f64.hypot(4.302_65 / 3.0_f64.sqrt())) / 2.0;
        assert!((both.ci95.unwrap() - expected).abs() < 1e-3, "{both:?}");
    }

    #[test]
    fn flows_of_a_run_are_one_value_and_refused_cells_none() {
        let rows = [
            (0, 0, "a", Some(1.0)),
            (0, 0, "a", Some(3.0)),
            (0, 1, "a", Some(4.0)),
            (1, 0, "a", None),
        ];
        let summary = summarise(&table(&rows), &["cc".to_owned()], &[]).unwrap();
        let group = &summary.groups[0];
        assert_eq!((group.cells, group.refused, group.runs), (2, 1, 2));
        assert_eq!(group.means[0].unwrap().mean, 3.0);
    }

    #[test]
    fn runs_without_a_metric_are_counted() {
        let mut table = table(&[(0, 0, "a", Some(1.0)), (0, 1, "a", Some(2.0))]);
        table.row([
            ("cell", Some(Value::Whole(0))),
            ("run", Some(Value::Whole(2))),
            ("flow", Some(Value::Whole(0))),
            ("goodput_bps", None),
        ]);
        let summary = summarise(&table, &[], &[]).unwrap();
        assert_eq!(
            (summary.groups[0].runs, &summary.groups[0].lacking[..]),
            (3, &[1][..])
        );
    }

    #[test]
    fn tables_that_are_not_the_results_of_one_sweep_are_refused() {
        let refused = |table: &Table| summarise(table, &[], &[]).unwrap_err().to_string();
        let row = (0, 0, "a", Some(1.0));
        let mut twice = table(&[row]);
        twice.row([
            ("cell", Some(Value::Whole(0))),
            ("run", Some(Value::Whole(0))),
            ("flow", Some(Value::Whole(0))),
        ]);
        assert!(
            refused(&twice).starts_with("row 2: found cell 0, run 0, flow 0 for the second time")
        );
        let mut text = Table::default();
        text.row([
            ("cell", Some(Value::Text("x".to_owned()))),
            ("run", None),
            ("flow", None),
        ]);
        assert!(refused(&text).starts_with("row 1: found cell 'x'"));
    }

    #[test]
    fn unknown_columns_are_refused_with_the_nearest() {
        let table = table(&[(0, 0, "a", Some(1.0))]);
        let error = summarise(&table, &["ccc".to_owned()], &[]).unwrap_err();
        assert!(error.to_string().contains("did you mean 'cc'?"), "{error}");
        let error = summarise(&table, &[], &["cc".to_owned()]).unwrap_err();
        assert!(
            error.to_string().contains("expected a column of numbers"),
            "{error}"
        );
    }
}
