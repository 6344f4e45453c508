//! Means over the runs of a table of results, their 95 % intervals, and differences between groups (docs/sweeps.md, Sec. 5).

mod rows;
mod statistics;

use std::collections::BTreeSet;

use fluid_tcp::simulation::replications::Estimate;
use serde::Serialize;
use tmt_core::format::records::{Cell, Records as Table};
use tmt_core::named::suggestion;

use crate::conditions::{Conditions, USUAL, axes, shown};
use crate::plan::models;
use crate::table::TOTAL;
pub use rows::Groups;
use rows::{LARGEST, Measured, Numbers, Runs, is_scoped, usable};

/// A summary that cannot be made, with the text found and the text expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SummaryError(String);

/// The means of the rows that have the same values in the columns of `by`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
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
    let numbers = Numbers::of(table)?;
    let metrics = if metrics.is_empty() {
        usual(table)
    } else {
        metrics.to_vec()
    };
    for name in &metrics {
        let mut values = values_of(table, name);
        if let Some(text) = values.find(|value| matches!(value, Cell::Text(_) | Cell::Truth(_))) {
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
    let groups = Groups::by_columns(table, by);
    let label = |row: usize, name: &String| {
        let value = table.value(row, name);
        value.map_or_else(String::new, |value| shown(name, value))
    };
    let labels = |first: usize| by.iter().map(|name| label(first, name)).collect();
    let all = groups.named(labels);
    let against = against.map(|text| reference(by, &all, text)).transpose()?;
    let others = against.as_ref().map(|(column, value)| {
        let place = by.iter().position(|name| name == column).unwrap_or(0);
        others(&all, place, value)
    });
    let runs = Runs::of(table, &numbers, groups, others.is_some());
    let groups = statistics::of(table, all, &runs, &metrics, others.as_deref());
    let mut conditions = Conditions::of(table, by);
    for name in &metrics {
        let column = if has_column(name) {
            name
        } else {
            name.strip_prefix(TOTAL).unwrap_or(name)
        };
        let values = values_of(table, column);
        let beyond = values.filter(|value| usable(*value).is_none()).count();
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

/// The means of a metric of the results `table` in groups of its rows by name, without labels, and their differences from the group
/// `against`, as [`summarise`] makes them. A group without numbers of the metric has no mean.
///
/// # Errors
/// A table that is not the results of one sweep or of `tcp`, `groups` of other than its rows, or no group `against`.
pub fn of_named(
    table: &Table,
    groups: Groups,
    metric: &str,
    against: Option<&str>,
) -> Result<Vec<Group>, SummaryError> {
    let numbers = Numbers::of(table)?;
    if groups.len() != table.len() {
        let (found, rows) = (groups.len(), table.len());
        return Err(SummaryError(format!(
            "found {found} rows in groups, expected the {rows} of the table: add each once"
        )));
    }
    let all = groups.named(|_| Vec::new());
    let place = |name: &str| {
        let found = all.iter().position(|group| group.by == [name]);
        found.ok_or_else(|| SummaryError(format!("found no group '{name}' to compare with")))
    };
    let others = against.map(place).transpose()?.map(|place| {
        let other = |own| Some(place).filter(|place| *place != own);
        (0..all.len()).map(other).collect::<Vec<_>>()
    });
    let runs = Runs::of(table, &numbers, groups, others.is_some());
    let metrics = [metric.to_owned()];
    Ok(statistics::of(
        table,
        all,
        &runs,
        &metrics,
        others.as_deref(),
    ))
}

/// The usual metrics that have values; of closed forms all results.
fn usual(table: &Table) -> Vec<String> {
    let has_values = |name: &&str| {
        let measured = Measured::of(table, name);
        (0..table.len()).any(|row| measured.value(row).is_some())
    };
    let chosen: BTreeSet<String> = values_of(table, "model").map(Cell::text).collect();
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
fn values_of<'a>(table: &'a Table, name: &str) -> impl Iterator<Item = Cell<'a>> {
    let column = table.column(name).into_iter();
    column.flat_map(move |column| (0..table.len()).filter_map(move |row| column.value(row)))
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

/// For each group that which has `value` at `place` and else the same, if it is another.
fn others(groups: &[Group], place: usize, value: &str) -> Vec<Option<usize>> {
    let with = |group: &Group| {
        let mut wanted = group.by.clone();
        value.clone_into(&mut wanted[place]);
        (wanted != group.by).then(|| groups.iter().position(|other| other.by == wanted))?
    };
    groups.iter().map(with).collect()
}

#[cfg(test)]
mod tests;
