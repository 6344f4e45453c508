//! The page of a table or a document.

mod asked;
mod rows;

use std::collections::{BTreeMap, BTreeSet};

use tmt_core::format::records::{Cell, Records};
use tmt_plot::chosen::{Choice, is_results};
use tmt_plot::picture::counted;
use tmt_plot::source::Quantity;
use tmt_plot::{Source, natural};
use tmt_study::conditions::{axes, heading, needed, shown};
use tmt_study::summary::{Summary, summarise};

use crate::ReportError;
use crate::answer::{constants, of_sweep};
use crate::dataset::{Better, Dataset, Key, Metric, better};
use crate::markup::{Page, Table};
use crate::totals::{has, totals};
use asked::{commands, figures};
use rows::of_rows;

/// Most rows of a table of a page without script.
pub(crate) const STATIC: usize = 300;

/// Most metrics of a page.
pub(crate) const METRICS: usize = 14;

/// Rows from which only the usual metrics are taken.
const LONG: usize = 200_000;

/// This program in pages.
pub(crate) fn own_version() -> String {
    format!("Page by tmt-report {}", env!("CARGO_PKG_VERSION"))
}

/// What a page keeps of the columns of a table: of a sweep the axes, what tells runs apart, conditions and metrics, and of other columns
/// the value that all runs share; of other tables all values.
#[must_use]
pub fn kept(names: &[&str]) -> Vec<usize> {
    let has = |name| names.contains(&name);
    // The metrics of a closed form depend on its values.
    if ["scope", "model"].into_iter().any(has) || !["cell", "run", "flow"].into_iter().all(has) {
        return vec![usize::MAX; names.len()];
    }
    let needed = needed(names);
    let most = |name: &&str| match needed.contains(name) {
        true => usize::MAX,
        false if is_further(name) => LONG,
        false => 0,
    };
    names.iter().map(most).collect()
}

/// Whether a metric is offered beside the usual ones.
fn is_further(name: &str) -> bool {
    name.starts_with("total_") && better(name) != Better::Unknown
}

/// The page of the table or document `name`.
///
/// # Errors
/// No rows, or a table that cannot be summarised.
pub fn page(name: &str, source: &Source) -> Result<Page, ReportError> {
    if source.table.is_empty() {
        return Err(ReportError::Data(
            "found no rows, expected a table with at least one".to_owned(),
        ));
    }
    if source.document() == "summarise" {
        return Err(ReportError::Data(
            "found a summary, which has means but no runs, expected the table that it was made from: `tmt report results.parquet`"
                .to_owned(),
        ));
    }
    needs_no_other(source)?;
    let is_sweep = is_results(source) && has(&source.table, "cell") && source.schema.is_empty();
    let mut page = if is_sweep {
        // A sweep of the Python package has rows of flows, too.
        let totals = totals(&source.table).map(Source::of_table);
        sweep_page(name, totals.as_ref().unwrap_or(source))?
    } else {
        of_rows(name, source)?
    };
    page.notes.extend(source.notes.iter().cloned());
    page.warnings.extend(source.left_out());
    page.commands.splice(0..0, commands(name, source));
    page.details.splice(0..0, figures(source));
    page.commands
        .push(format!("tmt report {} -o report.html", quoted(name)));
    if page.versions.is_empty() {
        let tool = source.head.iter().find(|(key, _)| key == "tool");
        page.versions
            .extend(tool.map(|(_, tool)| format!("Results by {tool}")));
    }
    page.versions.push(own_version());
    Ok(page)
}

/// Refuses results of which a column is left out that their page needs.
pub(crate) fn needs_no_other(source: &Source) -> Result<(), ReportError> {
    let left = source.table.left_out();
    let all = source.table.names();
    let all = all.chain(left.iter().map(|(name, _)| name.as_str()));
    let all: Vec<&str> = all.collect();
    if !["cell", "run", "flow"]
        .iter()
        .all(|name| all.contains(name))
    {
        return Ok(());
    }
    let needed = needed(&all);
    let missing = left.iter().find(|(name, _)| needed.contains(name.as_str()));
    missing.map_or(Ok(()), |(name, kind)| {
        Err(ReportError::Data(format!(
            "column {name}: found values of the type {kind}, expected numbers, text or truth values: cast the column"
        )))
    })
}

/// A word of a command line.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', "'\\''"))
}

/// The columns that name the groups: as many axes as leave few enough groups, and a warning if some are left out.
pub(crate) fn named_axes(table: &Records, most: usize) -> (Vec<String>, Option<String>) {
    let all: Vec<String> = axes(table).map(str::to_owned).collect();
    let (mut kept, mut left): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut groups: Vec<usize> = vec![0; table.len()];
    for axis in all {
        let mut places: BTreeMap<(usize, Option<String>), usize> = BTreeMap::new();
        let mut next = Vec::with_capacity(groups.len());
        let column = table.column(&axis);
        for (row, group) in groups.iter().enumerate() {
            let value = |row: usize| column.and_then(|column| column.value(row));
            // Rows of a cell are neighbours.
            if row > 0 && groups[row - 1] == *group && value(row - 1) == value(row) {
                next.push(next[row - 1]);
                continue;
            }
            let key = (*group, value(row).map(Cell::text));
            let count = places.len();
            next.push(*places.entry(key).or_insert(count));
            if places.len() > most {
                break;
            }
        }
        if places.len() > most {
            left.push(axis);
        } else {
            groups = next;
            kept.push(axis);
        }
    }
    let warning = (!left.is_empty()).then(|| {
        format!(
            "A page holds at most {most} groups: means are taken over {}; `tmt summarise --by` tells its values apart",
            left.join(", ")
        )
    });
    (kept, warning)
}

/// The metrics that are offered: the usual ones first. None of a long table, where the usual ones alone are taken.
pub(crate) fn metrics(table: &Records) -> Vec<String> {
    if table.len() > LONG {
        return Vec::new();
    }
    let usual = summarise(table, &[], &[], None)
        .map(|summary| summary.metrics)
        .unwrap_or_default();
    if usual
        .first()
        .is_some_and(|name| !name.starts_with("total_"))
    {
        return usual;
    }
    let varies = |name: &&str| {
        let mut values = values_of(table, name);
        let first = values.next();
        let is_number = |value: Cell<'_>| value.number().is_some();
        first.is_some_and(is_number)
            && values.clone().any(|value| Some(value) != first)
            && values.all(is_number)
    };
    let known: BTreeSet<&str> = usual.iter().map(String::as_str).collect();
    let others = table
        .names()
        .filter(|name| !known.contains(name) && is_further(name));
    let others: Vec<String> = others.filter(varies).map(str::to_owned).collect();
    usual.iter().cloned().chain(others).take(METRICS).collect()
}

/// The values of a column, of the rows that have one.
fn values_of<'a>(table: &'a Records, name: &str) -> impl Iterator<Item = Cell<'a>> + Clone {
    let column = table.column(name).into_iter();
    column.flat_map(move |column| (0..table.len()).filter_map(move |row| column.value(row)))
}

/// Numbers of a column by the texts of groups, if all are numbers.
pub(crate) fn numbers(texts: &[&String]) -> Option<Vec<f64>> {
    let number = |text: &&String| text.parse::<f64>().ok().filter(|number| number.is_finite());
    texts.iter().map(number).collect()
}

/// The rows of a summary.
pub(crate) fn dataset(summary: &Summary) -> Dataset {
    let keys = summary.by.iter().enumerate().map(|(place, column)| {
        let texts: Vec<&String> = summary
            .groups
            .iter()
            .map(|group| &group.by[place])
            .collect();
        let labels = summary.groups.iter().map(|group| &group.labels[place]);
        Key::of(column, labels.cloned().collect(), numbers(&texts))
    });
    let metrics = summary.metrics.iter().enumerate().map(|(place, column)| {
        let quantity = Quantity::of(column);
        let factor = quantity.factor;
        let means = || summary.groups.iter().map(|group| group.means[place]);
        let half = |half: Option<f64>| half.map_or(f64::NAN, |half| half * factor);
        Metric {
            values: means()
                .map(|mean| mean.map_or(f64::NAN, |mean| mean.mean * factor))
                .collect(),
            halves: means()
                .map(|mean| half(mean.and_then(|mean| mean.ci95)))
                .collect(),
            runs: means()
                .map(|mean| mean.map_or(0, |mean| mean.runs))
                .collect(),
            quantity,
            verdicts: Vec::new(),
        }
    });
    Dataset {
        keys: keys.collect(),
        metrics: metrics.collect(),
        rows: summary.groups.len(),
    }
}

fn sweep_page(name: &str, source: &Source) -> Result<Page, ReportError> {
    let table = &source.table;
    let asked = metrics(table);
    let (by, warning) = named_axes(table, Dataset::most_rows(asked.len().max(5) * 3));
    let draws = if by.is_empty() {
        of_draws(table)
    } else {
        Vec::new()
    };
    // One cell: its seeds or starts name the rows, but the answer is the mean over them.
    let of_cell = (!draws.is_empty())
        .then(|| summarise(table, &[], &asked, None))
        .transpose()
        .map_err(|error| ReportError::Data(error.to_string()))?;
    let by = if by.is_empty() { draws } else { by };
    let summary = summarise(table, &by, &asked, None)
        .map_err(|error| ReportError::Data(error.to_string()))?;
    let data = dataset(&summary);
    let overall = of_cell.as_ref().unwrap_or(&summary);
    let answer = of_sweep_answer(table, overall);
    let mut page = Page {
        title: format!("Study {name}"),
        answer,
        data: data.json(),
        table: main_table(
            &data,
            if of_cell.is_some() {
                "Runs of the only cell"
            } else {
                "Means of all runs of a cell, with their 95 % intervals"
            },
        ),
        ..Page::default()
    };
    page.warnings.extend(warning);
    page.warnings
        .extend(summary.conditions.warnings.iter().cloned());
    page.warnings.extend(refused(table));
    page.warnings.extend(lacking(&summary));
    page.notes.push(runs(overall));
    page.notes
        .extend(Some(summary.conditions.line()).filter(|line| !line.is_empty()));
    page.pictures.extend(pictures(source, &by, &summary));
    page.details.push(plan(table));
    page.details.extend(settings(table, &by));
    page.versions.extend(version(table));
    page.commands.push(format!(
        "tmt summarise {}{}",
        quoted(name),
        by_flag(&overall.by)
    ));
    Ok(page)
}

fn of_sweep_answer(table: &Records, summary: &Summary) -> String {
    of_sweep(table, summary)
        .unwrap_or_else(|| "No run has a result: the table names the reasons.".to_owned())
}

pub(crate) fn by_flag(by: &[String]) -> String {
    if by.is_empty() {
        return String::new();
    }
    format!(" --by {}", quoted(&by.join(",")))
}

/// Without axes, the starts or seeds name the rows.
fn of_draws(table: &Records) -> Vec<String> {
    let of_run = ["offset_s", "seed", "run"].into_iter();
    let mut varied = of_run.filter(|name| {
        let mut values = values_of(table, name);
        let first = values.next();
        first.is_some() && values.any(|value| Some(value) != first)
    });
    varied.next().map(str::to_owned).into_iter().collect()
}

/// The table of a dataset, for people: keys, and the first metrics.
pub(crate) fn main_table(data: &Dataset, caption: &str) -> Table {
    let all: Vec<usize> = (0..data.metrics.len()).take(8).collect();
    let (headings, rows) = data.table(&all, STATIC);
    let more = data.rows - rows.len();
    Table {
        caption: match more {
            0 => caption.to_owned(),
            _ => format!(
                "{caption} (without script the first {})",
                counted(rows.len(), "row")
            ),
        },
        headings,
        rows,
        words: data.keys.len(),
    }
}

/// How many runs the means have, and how intervals were made.
pub(crate) fn runs(summary: &Summary) -> String {
    let runs: usize = summary.groups.iter().map(|group| group.runs).sum();
    let means = || {
        summary
            .groups
            .iter()
            .flat_map(|group| group.means.iter().flatten())
    };
    let how = match (
        means().any(|mean| mean.ci95.is_some()),
        means().any(|mean| mean.block.is_some()),
    ) {
        (true, false) => "95 % intervals by Student's t over the runs",
        (true, true) => "95 % intervals by the block bootstrap over the starts",
        _ => "no intervals: they need two runs or more with seeds or starts of their own",
    };
    let lack = means().any(|mean| mean.ci95.is_none()) && means().any(|mean| mean.ci95.is_some());
    let lack = if lack {
        ", of groups with two runs or more"
    } else {
        ""
    };
    format!(
        "{} in {}; {how}{lack}.",
        counted(runs, "run"),
        counted(summary.groups.len(), "group")
    )
}

/// A warning on cells without results.
pub(crate) fn refused(table: &Records) -> Option<String> {
    let mut cells = BTreeSet::new();
    let mut reason = None;
    let errors = table.column("error")?;
    for (row, error) in (0..table.len()).filter_map(|row| Some((row, errors.value(row)?))) {
        cells.insert(table.value(row, "cell").map(Cell::text));
        reason = reason.or_else(|| Some(error.text()));
    }
    let text = reason?;
    Some(format!(
        "{} without a result, shown as gaps: {text}",
        counted(cells.len(), "cell")
    ))
}

fn lacking(summary: &Summary) -> Option<String> {
    let missing: usize = summary
        .groups
        .iter()
        .filter_map(|group| group.lacking.first())
        .sum();
    let metric = summary.metrics.first()?;
    (missing > 0).then(|| {
        format!(
            "{} without {}: not in its means",
            counted(missing, "run"),
            Quantity::of(metric).label
        )
    })
}

/// The static pictures: the first two metrics over the first axis, by the others.
fn pictures(source: &Source, by: &[String], summary: &Summary) -> Vec<(String, tmt_plot::Picture)> {
    const PICTURES: usize = 2;
    let draw = |metric: &String| {
        let choice = Choice {
            x: by.first().cloned(),
            y: vec![metric.clone()],
            by: by.iter().skip(1).cloned().collect(),
        };
        let picture = natural::draw(source, &choice).ok()?;
        Some((Quantity::of(metric).label, picture))
    };
    summary
        .metrics
        .iter()
        .take(if source.table.len() > LONG {
            1
        } else {
            PICTURES
        })
        .filter_map(draw)
        .collect()
}

/// The values of all axes, and the number of seeds.
pub(crate) fn plan(table: &Records) -> Table {
    const SHOWN: usize = 12;
    let mut rows = Vec::new();
    let seeds = ["seed", "offset_s"].map(str::to_owned);
    for axis in axes(table).map(str::to_owned).chain(seeds) {
        let mut values: Vec<String> = Vec::new();
        let mut known = BTreeSet::new();
        let mut last = None;
        for value in values_of(table, &axis) {
            if last.replace(value) == Some(value) {
                continue;
            }
            if known.insert(value.text()) && values.len() < SHOWN {
                values.push(shown(&axis, value));
            }
        }
        if known.is_empty() {
            continue;
        }
        let more = if known.len() > SHOWN { "; …" } else { "" };
        rows.push(vec![
            heading(&axis),
            known.len().to_string(),
            values.join("; ") + more,
        ]);
    }
    Table {
        caption: "Plan: varied values".to_owned(),
        headings: ["name", "number", "values"].map(str::to_owned).to_vec(),
        rows,
        words: 3,
    }
}

/// Parameters with one value in all rows.
pub(crate) fn settings(table: &Records, by: &[String]) -> Option<Table> {
    let all = constants(table);
    let is_setting = |name: &&String| {
        !by.contains(name)
            && name.as_str() != "version"
            && !["cell", "run", "seed", "flow"].contains(&name.as_str())
            && (better(name) == Better::Unknown
                || name.contains("rtt_ns")
                || name.starts_with("feedback"))
            && !name.starts_with("total_")
    };
    let rows: Vec<Vec<String>> = table
        .names()
        .filter_map(|name| all.get_key_value(name))
        .filter(|(name, _)| is_setting(name))
        .map(|(name, value)| vec![name.clone(), value.clone()])
        .collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Parameters: the same in all runs".to_owned(),
        headings: ["name", "value"].map(str::to_owned).to_vec(),
        rows,
        words: 2,
    })
}

/// Versions of the programs in a table.
pub(crate) fn version(table: &Records) -> Vec<String> {
    let all: BTreeSet<String> = (0..table.len())
        .filter_map(|row| table.value(row, "version"))
        .map(Cell::text)
        .collect();
    all.into_iter()
        .map(|version| format!("Results by {version}"))
        .collect()
}
