//! Means over the runs of a table of results, their 95 % intervals, and differences between groups (docs/sweeps.md, Sec. 5).

use std::collections::{BTreeMap, BTreeSet};

use fluid_tcp::simulation::replications::{Estimate, bootstrap, estimate, holm, overlap, welch};
use serde::Serialize;
use tmt_core::format::records::{Column, Records as Table, Value};
use tmt_core::named::suggestion;
use tmt_core::types::to_f64;

use crate::conditions::{Conditions, USUAL, axes, shown};
use crate::plan::models;
use crate::table::TOTAL;

/// Seed of the bootstrap over starts.
const SEED: u64 = 1;

/// A summary that cannot be made, with the text found and the text expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SummaryError(String);

/// The means of the rows that have the same values in the columns of `by`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Values of these columns, as text; empty if absent.
    pub by: Vec<String>,
    /// The same for people, with units.
    #[serde(skip)]
    pub labels: Vec<String>,
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
    /// How much more each metric is than in the group that it is compared with; `None` for that group, without it, and without
    /// the metric in both. Empty without a comparison.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Option<Difference>>,
}

/// Difference of two groups.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// Mean of the differences with its interval.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Whether runs with the same random numbers or starts are compared one by one.
    pub paired: bool,
    /// Two-sided p-value, corrected for the number of groups compared by Holm (1979); `None` without an interval.
    pub p_value_holm: Option<f64>,
}

/// All groups, in the order of their first rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Names of the columns that make the groups.
    pub by: Vec<String>,
    /// Names of the metrics.
    pub metrics: Vec<String>,
    /// Column and value of the groups that others are compared with.
    pub against: Option<(String, String)>,
    /// Common settings of all runs.
    pub conditions: Conditions,
    /// The groups.
    pub groups: Vec<Group>,
}

/// Seed of a run, and its start as bits.
type Draw = (Option<i64>, Option<u64>);

/// Sum of a metric over flows, and their number.
type Sum = (f64, u64);

/// The runs of a group.
#[derive(Debug, Default)]
struct Runs {
    /// Sums of the metrics, by cell and run.
    cells: BTreeMap<i64, BTreeMap<i64, Vec<Sum>>>,
    /// Seed or start of each run.
    draws: BTreeMap<i64, BTreeSet<Draw>>,
    /// Start and length of the runs of each cell, if they have starts.
    starts: BTreeMap<i64, BTreeMap<i64, (f64, f64)>>,
}

/// Summarises `table` by the values of the columns `by`; without metrics those that are usual and have values.
///
/// A metric of a run is that of all flows together (`total_…`), or the mean over its flows. The mean of a group is the mean over
/// its cells. If all its cells have the same runs, a run counts once, as the mean over the cells: runs with the same number share
/// their random numbers. The interval is by Student's t over runs, or by the block bootstrap over starts. Otherwise the cells count
/// as independent, and their variances add up.
///
/// `against` is a value of one of the columns `by`, or `COLUMN=VALUE`: the other groups are compared with that which differs
/// from them in this column only. Runs with the same seed and start are pairs. Without pairs the difference is that of
/// independent runs.
///
/// # Errors
/// An unknown column or value, a non-numeric metric, or a table that is not the results of one sweep or of `tcp`.
pub fn summarise(
    table: &Table,
    by: &[String],
    metrics: &[String],
    against: Option<&str>,
) -> Result<Summary, SummaryError> {
    let has_column = |name: &str| table.names().any(|known| known == name);
    let needed: &[&str] = if is_scoped(table) {
        &["flow"]
    } else {
        &["cell", "run", "flow"]
    };
    let known = |name: &str| {
        has_column(name) || is_scoped(table) && name.strip_prefix(TOTAL).is_some_and(has_column)
    };
    for name in by
        .iter()
        .chain(metrics)
        .map(String::as_str)
        .chain(needed.iter().copied())
    {
        if !known(name) {
            let suggestion = suggestion(name, table.names());
            return Err(SummaryError(format!(
                "found no column {name}{suggestion}, expected one of the results of a sweep or of TCP"
            )));
        }
    }
    let rows = numbered(table)?;
    let metrics = if metrics.is_empty() {
        usual(table)
    } else {
        metrics.to_vec()
    };
    for name in &metrics {
        let mut values = values_of(table, name);
        if let Some(text) = values.find(|value| matches!(value, Value::Text(_) | Value::Truth(_))) {
            return Err(SummaryError(format!(
                "{name}: found '{}', expected a column of numbers",
                text.text()
            )));
        }
    }
    let of_axes: Vec<String> = match against {
        Some(_) if by.is_empty() => axes(table).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let by = if of_axes.is_empty() { by } else { &of_axes[..] };
    let gathered = gather(table, by, &metrics, rows);
    let all = gathered
        .into_iter()
        .map(|gathered| gathered.group(table, by, metrics.len()));
    let (mut groups, runs): (Vec<Group>, Vec<Runs>) = all.unzip();
    let against = against
        .map(|text| reference(by, &groups, text))
        .transpose()?;
    if let Some((column, value)) = &against {
        let place = by.iter().position(|name| name == column).unwrap_or(0);
        compare(&mut groups, &runs, metrics.len(), place, value);
    }
    let mut conditions = Conditions::of(table, by);
    for name in &metrics {
        let column = if has_column(name) {
            name
        } else {
            name.strip_prefix(TOTAL).unwrap_or(name)
        };
        let values = values_of(table, column);
        let beyond = values.filter(|value| usable(value).is_none()).count();
        if beyond > 0 {
            conditions.warnings.push(format!(
                "{name}: {beyond} values are not finite or beyond ±{LARGEST:e}: they count as missing"
            ));
        }
    }
    Ok(Summary {
        by: by.to_vec(),
        conditions,
        against,
        groups,
        metrics,
    })
}

/// The groups of rows that agree in the columns `by`, in the order of their first rows.
fn gather(table: &Table, by: &[String], metrics: &[String], rows: Vec<Numbered>) -> Vec<Gathered> {
    let columns = Columns::of(table, metrics);
    let by: Vec<Option<&Column>> = by.iter().map(|name| table.column(name)).collect();
    let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let mut gathered: Vec<Gathered> = Vec::new();
    let mut before: Option<(usize, usize)> = None;
    for row in rows {
        let is_alike = |other: usize| {
            let mut columns = by.iter().flatten();
            columns.all(|column| column.value(other) == column.value(row.row))
        };
        // Rows of a group are neighbours, mostly.
        let known = before.filter(|(other, _)| is_alike(*other));
        let place = known.map_or_else(
            || {
                let text = |column: Option<&Column>| {
                    let value = column.and_then(|column| column.value(row.row));
                    value.map_or_else(String::new, Value::text)
                };
                let key: Vec<String> = by.iter().copied().map(text).collect();
                *places.entry(key.clone()).or_insert_with(|| {
                    gathered.push(Gathered::new(key, row.row));
                    gathered.len() - 1
                })
            },
            |(_, place)| place,
        );
        gathered[place].add(&columns, row);
        before = Some((row.row, place));
    }
    gathered
}

/// A row with the numbers of its cell and run; `None` for the run of a cell that was refused.
#[derive(Debug, Clone, Copy)]
struct Numbered {
    row: usize,
    cell: i64,
    run: Option<i64>,
}

/// Cell, run and flow of a row.
type Number = (i64, i64, Option<i64>);

/// Whether the rows of all flows together are rows of their own, as TCP alone writes them.
fn is_scoped(table: &Table) -> bool {
    table.names().any(|name| name == "scope")
}

/// The rows with their numbers. Those of TCP alone are one cell, whose runs differ in seed or start. Refuses rows that are not
/// those of one table.
fn numbered(table: &Table) -> Result<Vec<Numbered>, SummaryError> {
    if table.is_empty() {
        return Err(SummaryError(
            "found no rows, expected the results of a sweep or of TCP".to_owned(),
        ));
    }
    let scoped = is_scoped(table);
    let [cells, runs, flows] = ["cell", "run", "flow"].map(|name| table.column(name));
    let draw_of = Draws::of(table);
    let mut draws: BTreeMap<Draw, i64> = BTreeMap::new();
    let mut rows: Vec<Numbered> = Vec::with_capacity(table.len());
    // Rows in the order of their numbers are no repeats; only others need the numbers of all rows.
    let mut last = None;
    let mut known: Option<BTreeSet<Number>> = None;
    for row in 0..table.len() {
        let (cell, run) = if scoped {
            let next = i64::try_from(draws.len()).unwrap_or(i64::MAX);
            (
                Some(0),
                Some(*draws.entry(draw_of.draw(row)).or_insert(next)),
            )
        } else {
            (whole(cells, row), whole(runs, row))
        };
        let Some(cell) = cell else {
            let found = cells.and_then(|cells| cells.value(row));
            return Err(SummaryError(format!(
                "row {}: found cell '{}', expected the whole number of a cell",
                row + 1,
                found.map_or_else(String::new, Value::text)
            )));
        };
        let flow = whole(flows, row);
        if let Some(run) = run {
            let number = (cell, run, flow);
            if known.is_none() && last.is_some_and(|last| last >= number) {
                let of_row = |row: &Numbered| Some((row.cell, row.run?, whole(flows, row.row)));
                known = Some(rows.iter().filter_map(of_row).collect());
            }
            if known.as_mut().is_some_and(|known| !known.insert(number)) {
                let of = flow.map_or_else(String::new, |flow| format!(", flow {flow}"));
                return Err(SummaryError(format!(
                    "row {}: found cell {cell}, run {run}{of} for the second time, expected the results of one sweep",
                    row + 1
                )));
            }
            last = Some(number);
        }
        rows.push(Numbered { row, cell, run });
    }
    Ok(rows)
}

/// The usual metrics that have values; of closed forms all results.
fn usual(table: &Table) -> Vec<String> {
    let has_values = |name: &&str| {
        let measured = Measured::of(table, name);
        (0..table.len()).any(|row| measured.value(row).is_some())
    };
    let chosen: BTreeSet<String> = values_of(table, "model").map(Value::text).collect();
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

/// The values of a column, of the rows that have one.
fn values_of<'a>(table: &'a Table, name: &str) -> impl Iterator<Item = &'a Value> {
    let column = table.column(name).into_iter();
    column.flat_map(move |column| (0..table.len()).filter_map(move |row| column.value(row)))
}

fn number(column: Option<&Column>, row: usize) -> Option<f64> {
    usable(column?.value(row)?)
}

/// Largest number that counts: squares of larger ones and their sums may not be finite.
const LARGEST: f64 = 1e100;

fn usable(value: &Value) -> Option<f64> {
    value.number().filter(|number| number.abs() <= LARGEST)
}

/// The columns of a metric of the run or flow of a row. Where all flows together have a row of their own, it has no metric of a flow.
#[derive(Debug)]
struct Measured<'a> {
    scope: Option<&'a Column>,
    own: Option<&'a Column>,
    /// Column of the metric in a row of all flows together.
    of_total: Option<&'a Column>,
    is_total: bool,
}

impl<'a> Measured<'a> {
    fn of(table: &'a Table, name: &str) -> Self {
        let bare = name.strip_prefix(TOTAL);
        Self {
            scope: table.column("scope"),
            own: table.column(name),
            of_total: bare.and_then(|bare| table.column(bare)),
            is_total: bare.is_some(),
        }
    }

    fn value(&self, row: usize) -> Option<f64> {
        match self.scope.and_then(|scope| scope.value(row)) {
            Some(Value::Text(scope)) if scope == "total" => number(self.of_total, row),
            // The row of the total has it.
            Some(Value::Text(scope)) if scope == "flow" && self.is_total => None,
            _ => number(self.own, row),
        }
    }
}

/// The columns of the seed and the start of a run.
#[derive(Debug)]
struct Draws<'a>([Option<&'a Column>; 2]);

impl<'a> Draws<'a> {
    fn of(table: &'a Table) -> Self {
        Self(["seed", "offset_s"].map(|name| table.column(name)))
    }

    /// Seed and start of the run of a row.
    fn draw(&self, row: usize) -> Draw {
        let [seeds, starts] = self.0;
        (whole(seeds, row), number(starts, row).map(f64::to_bits))
    }
}

/// The columns that a group is made from.
#[derive(Debug)]
struct Columns<'a> {
    metrics: Vec<Measured<'a>>,
    draws: Draws<'a>,
    starts: Option<&'a Column>,
    lengths: Option<&'a Column>,
}

impl<'a> Columns<'a> {
    fn of(table: &'a Table, metrics: &[String]) -> Self {
        Self {
            metrics: metrics
                .iter()
                .map(|name| Measured::of(table, name))
                .collect(),
            draws: Draws::of(table),
            starts: table.column("offset_s"),
            lengths: table.column("duration_s"),
        }
    }
}

fn whole(column: Option<&Column>, row: usize) -> Option<i64> {
    match column?.value(row) {
        Some(Value::Whole(whole)) => Some(*whole),
        _ => None,
    }
}

/// A group while its rows come in.
#[derive(Debug)]
struct Gathered {
    values: Vec<String>,
    first: usize,
    cells: BTreeSet<i64>,
    refused: BTreeSet<i64>,
    runs: Runs,
}

impl Gathered {
    /// The group with these values, whose first row is `first`.
    fn new(values: Vec<String>, first: usize) -> Self {
        Self {
            values,
            first,
            cells: BTreeSet::new(),
            refused: BTreeSet::new(),
            runs: Runs::default(),
        }
    }

    fn add(&mut self, columns: &Columns<'_>, Numbered { row, cell, run }: Numbered) {
        self.cells.insert(cell);
        // A row without a run has the reason for it.
        let Some(run) = run else {
            self.refused.insert(cell);
            return;
        };
        let runs = &mut self.runs;
        runs.draws
            .entry(run)
            .or_default()
            .insert(columns.draws.draw(row));
        if let Some(start) = number(columns.starts, row) {
            let length = number(columns.lengths, row).unwrap_or(0.0);
            runs.starts
                .entry(cell)
                .or_default()
                .insert(run, (start, length));
        }
        let known = runs.cells.entry(cell).or_default().entry(run);
        let sums = known.or_insert_with(|| vec![(0.0, 0); columns.metrics.len()]);
        for (sum, metric) in sums.iter_mut().zip(&columns.metrics) {
            if let Some(value) = metric.value(row) {
                *sum = (sum.0 + value, sum.1 + 1);
            }
        }
    }

    /// The group of the rows so far.
    fn group(self, table: &Table, by: &[String], metrics: usize) -> (Group, Runs) {
        let runs = self.runs;
        let means = (0..metrics).map(|metric| runs.mean(metric));
        let lacking = (0..metrics).map(|metric| {
            let runs = runs.cells.values().flat_map(BTreeMap::values);
            runs.filter(|sums| sums[metric].1 == 0).count()
        });
        let label = |name: &String| {
            table
                .value(self.first, name)
                .map_or_else(String::new, |value| shown(name, value))
        };
        let group = Group {
            by: self.values,
            labels: by.iter().map(label).collect(),
            cells: self.cells.len(),
            refused: self.refused.len(),
            runs: runs.cells.values().map(BTreeMap::len).sum(),
            means: means.collect(),
            lacking: lacking.collect(),
            differences: Vec::new(),
        };
        (group, runs)
    }
}

impl Runs {
    /// Values of a metric by run, for each cell that has some.
    fn values(&self, metric: usize) -> Vec<BTreeMap<i64, f64>> {
        let of_cell = |cell: &BTreeMap<i64, Vec<Sum>>| -> BTreeMap<i64, f64> {
            let runs = cell.iter().map(|(run, sums)| (*run, sums[metric]));
            let runs = runs.filter(|(_, (_, flows))| *flows > 0);
            runs.map(|(run, (sum, flows))| (run, sum / to_f64(flows)))
                .collect()
        };
        let cells = self.cells.values().map(of_cell);
        cells.filter(|cell| !cell.is_empty()).collect()
    }

    /// Means over the cells by run; `None` if the cells have different runs, or none.
    fn by_run(&self, metric: usize) -> Option<BTreeMap<i64, f64>> {
        let cells = self.values(metric);
        let first = cells.first()?;
        let n = to_f64(cells.len() as u64);
        let mean = |run: &i64| (*run, cells.iter().map(|cell| cell[run]).sum::<f64>() / n);
        let are_alike = cells.iter().all(|cell| cell.keys().eq(first.keys()));
        are_alike.then(|| first.keys().map(mean).collect())
    }

    /// The mean of one metric.
    fn mean(&self, metric: usize) -> Option<Estimate> {
        if let Some(values) = self.by_run(metric) {
            return self.estimate(values.into_values());
        }
        let cells = self.values(metric).into_iter();
        let each = cells.map(|cell| self.estimate(cell.into_values()));
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
    fn estimate(&self, values: impl Iterator<Item = f64>) -> Option<Estimate> {
        let values: Vec<f64> = values.collect();
        if self.starts.is_empty() {
            return estimate(&values);
        }
        let cells = self.starts.values();
        let shared = cells.map(|runs| overlap(&runs.values().copied().collect::<Vec<_>>()));
        bootstrap(&[&values], SEED, shared.max().unwrap_or(1)).pop()?
    }

    /// How much more a metric is than in `other`.
    fn less(&self, other: &Self, metric: usize) -> Option<Difference> {
        let (own, of_other) = (self.by_run(metric), other.by_run(metric));
        let mut difference = None;
        if let Some((own, of_other)) = own.as_ref().zip(of_other.as_ref()) {
            // Runs without a seed and a start have no random numbers in common.
            let is_drawn = |draws: &BTreeSet<Draw>| !draws.contains(&(None, None));
            let is_pair = |run: &i64| {
                let draws = self.draws.get(run).filter(|draws| is_drawn(draws));
                of_other.contains_key(run) && draws.is_some() && draws == other.draws.get(run)
            };
            let pairs: Vec<i64> = own.keys().copied().filter(is_pair).collect();
            let differences = pairs.iter().map(|run| own[run] - of_other[run]);
            if pairs.len() == own.len().min(of_other.len()) {
                difference = self.estimate(differences).map(|estimate| (estimate, true));
            } else if self.starts.is_empty() {
                let values = |of: &BTreeMap<i64, f64>| of.values().copied().collect::<Vec<f64>>();
                difference =
                    welch(&values(own), &values(of_other)).map(|estimate| (estimate, false));
            }
        }
        let independent = || {
            let (own, other) = (self.mean(metric)?, other.mean(metric)?);
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
}

/// Column and value of the groups that `text` names.
fn reference(
    by: &[String],
    groups: &[Group],
    text: &str,
) -> Result<(String, String), SummaryError> {
    if by.is_empty() {
        return Err(SummaryError(format!(
            "against {text}: found nothing that varies, expected columns `by` whose values make groups"
        )));
    }
    let named = text
        .split_once('=')
        .filter(|(name, _)| by.iter().any(|column| column == name));
    let mut all: BTreeSet<&str> = BTreeSet::new();
    for (place, column) in by.iter().enumerate() {
        let value = match named {
            Some((name, _)) if name != column => continue,
            Some((_, value)) => value,
            None => text,
        };
        for group in groups {
            let (own, label) = (&group.by[place], &group.labels[place]);
            if own == value || label == value || label.replace(' ', "") == value {
                return Ok((column.clone(), own.clone()));
            }
            all.insert(own);
        }
    }
    let all: Vec<&str> = all.into_iter().collect();
    Err(SummaryError(format!(
        "against {text}: found no such value{}, expected one of {}: {}",
        suggestion(text, all.iter().copied()),
        by.join(", "),
        all.join("; ")
    )))
}

/// Compares each group with that which has `value` at `place` and else the same.
fn compare(groups: &mut [Group], runs: &[Runs], metrics: usize, place: usize, value: &str) {
    let with = |group: &Group| {
        let mut wanted = group.by.clone();
        value.clone_into(&mut wanted[place]);
        groups.iter().position(|other| other.by == wanted)
    };
    let others: Vec<Option<usize>> = groups.iter().map(with).collect();
    let differences = runs
        .iter()
        .zip(&others)
        .enumerate()
        .map(|(own, (of, other))| {
            let other = other.filter(|other| *other != own);
            let of_metric = |metric| of.less(&runs[other?], metric);
            (0..metrics).map(of_metric).collect::<Vec<_>>()
        });
    let mut differences: Vec<Vec<Option<Difference>>> = differences.collect();
    for metric in 0..metrics {
        let column = || {
            differences
                .iter()
                .filter_map(|all| all[metric]?.p_value_holm)
        };
        let mut corrected = holm(&column().collect::<Vec<_>>()).into_iter();
        for difference in differences
            .iter_mut()
            .filter_map(|all| all[metric].as_mut())
        {
            difference.p_value_holm = difference.p_value_holm.and_then(|_| corrected.next());
        }
    }
    for (group, differences) in groups.iter_mut().zip(differences) {
        group.differences = differences;
    }
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
        let summary = summarise(table, &by, &["goodput_bps".to_owned()], None).unwrap();
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
        let summary = summarise(
            &table(&rows),
            &["cc".to_owned()],
            &["goodput_bps".to_owned()],
            None,
        )
        .unwrap();
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
        let summary = summarise(&table, &[], &["goodput_bps".to_owned()], None).unwrap();
        assert_eq!(
            (summary.groups[0].runs, &summary.groups[0].lacking[..]),
            (3, &[1][..])
        );
    }

    #[test]
    fn tables_that_are_not_the_results_of_one_sweep_are_refused() {
        let refused = |table: &Table| summarise(table, &[], &[], None).unwrap_err().to_string();
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
        let error = summarise(&table, &["ccc".to_owned()], &[], None).unwrap_err();
        assert!(error.to_string().contains("did you mean 'cc'?"), "{error}");
        let error = summarise(&table, &[], &["cc".to_owned()], None).unwrap_err();
        assert!(
            error.to_string().contains("expected a column of numbers"),
            "{error}"
        );
    }

    /// Runs of two schemes, with the seeds of each.
    fn pairs(seeds: [[i64; 4]; 2]) -> Table {
        let mut table = Table::default();
        let goodputs = [[100.0, 200.0, 300.0, 400.0], [110.0, 209.0, 311.0, 410.0]];
        let schemes = ["arq", "harq:10/12"].into_iter().zip(goodputs).zip(seeds);
        for (cell, ((scheme, goodputs), seeds)) in (0..).zip(schemes) {
            for (run, (goodput, seed)) in (0..).zip(goodputs.into_iter().zip(seeds)) {
                table.row([
                    ("cell", Some(Value::Whole(cell))),
                    ("scheme", Some(Value::Text(scheme.to_owned()))),
                    ("run", Some(Value::Whole(run))),
                    ("seed", Some(Value::Whole(seed))),
                    ("flow", Some(Value::Whole(0))),
                    ("total_goodput_bps", Some(Value::Real(goodput))),
                ]);
            }
        }
        table
    }

    fn differences(table: &Table, against: &str) -> Vec<Option<Difference>> {
        let summary = summarise(table, &[], &[], Some(against)).unwrap();
        summary
            .groups
            .iter()
            .map(|group| group.differences[0])
            .collect()
    }

    #[test]
    fn runs_with_common_seeds_are_compared_one_by_one() {
        let table = pairs([[1, 2, 3, 4]; 2]);
        let found = differences(&table, "arq");
        assert_eq!(found[0], None);
        // Differences 10, 9, 11, 10: mean 10, s = 0.8165, half-width 3.182 · s / 2.
        let difference = found[1].unwrap();
        assert!(difference.paired && (difference.estimate.mean - 10.0).abs() < 1e-9);
        assert!((difference.estimate.ci95.unwrap() - 1.2992).abs() < 1e-3);
        assert!(difference.p_value_holm.unwrap() < 1e-3);
        // The other way round, and by the name of the column.
        let back = differences(&table, "scheme=harq:10/12")[0].unwrap();
        assert_eq!(back.estimate.mean, -difference.estimate.mean);
        let error = summarise(&table, &[], &[], Some("arqq"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("did you mean 'arq'?"), "{error}");
    }

    #[test]
    fn runs_without_common_seeds_are_independent() {
        let difference = differences(&pairs([[1, 2, 3, 4], [5, 6, 7, 8]]), "arq")[1].unwrap();
        assert!(!difference.paired);
        // Welch: some 128 in each sample.
        assert!(difference.estimate.ci95.unwrap() > 200.0, "{difference:?}");
        assert!(difference.p_value_holm.unwrap() > 0.5);
    }

    #[test]
    fn the_rows_of_tcp_alone_are_one_cell_whose_total_has_rows_of_its_own() {
        let mut table = Table::default();
        for seed in [4, 9] {
            for (scope, flow, goodput) in [
                ("total", None, 30.0),
                ("flow", Some(0), 10.0),
                ("flow", Some(1), 20.0),
            ] {
                table.row([
                    ("seed", Some(Value::Whole(seed))),
                    ("scope", Some(Value::Text(scope.to_owned()))),
                    ("flow", flow.map(Value::Whole)),
                    ("goodput_bps", Some(Value::Real(goodput))),
                ]);
            }
        }
        let metrics = ["total_goodput_bps", "goodput_bps"].map(str::to_owned);
        let summary = summarise(&table, &[], &metrics, None).unwrap();
        let means = summary.groups[0]
            .means
            .iter()
            .map(|mean| mean.unwrap().mean);
        assert_eq!(means.collect::<Vec<_>>(), [30.0, 15.0]);
        assert_eq!((summary.groups[0].cells, summary.groups[0].runs), (1, 2));
    }
}
