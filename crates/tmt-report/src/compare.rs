//! The page of two studies: differences, regressions first.

use std::collections::BTreeMap;

use tmt_core::format::records::{Cell, Records, Value};
use tmt_core::types::to_f64;
use tmt_plot::Source;
use tmt_plot::picture::{Axis, Mark, Panel, Picture, Point, Series, counted};
use tmt_plot::source::Quantity;
use tmt_study::conditions::{Conditions, axes, heading};
use tmt_study::summary::{Group, Summary, summarise};

use crate::ReportError;
use crate::answer::constants;
use crate::dataset::{Better, Dataset, Key, Metric, better};
use crate::markup::{Page, Table};
use crate::study::{
    main_table, metrics, named_axes, needs_no_other, numbers, own_version, quoted, refused, runs,
    version,
};
use crate::text::with_half;
use crate::totals::{has, totals};

/// Column that tells the tables apart, and its values.
const SIDE: &str = "table";
const SIDES: [&str; 2] = ["before", "after"];

/// Largest p-value, corrected for the number of groups, of a clear difference.
const CLEAR: f64 = 0.05;

/// The page that compares the second table with the first.
///
/// # Errors
/// Tables that are no results of a sweep or of TCP, or without a common metric.
pub fn page(names: [&str; 2], sources: [&Source; 2]) -> Result<Page, ReportError> {
    sources.into_iter().try_for_each(needs_no_other)?;
    let totals = sources.map(|source| totals(&source.table));
    let tables = [0, 1].map(|place| totals[place].as_ref().unwrap_or(&sources[place].table));
    for (name, table) in names.iter().zip(tables) {
        if !["cell", "run", "flow"]
            .iter()
            .all(|column| has(table, column))
        {
            return Err(ReportError::Data(format!(
                "found {name} without the columns cell, run and flow, expected two tables of results, as `tmt sweep -o` and `tmt tcp --results` write them"
            )));
        }
    }
    let (by, left_out) = common_axes(tables);
    let common = metrics_of_both(tables);
    if common.is_empty() {
        return Err(ReportError::Data(
            "found no metric that both tables have, expected results of the same kind".to_owned(),
        ));
    }
    let joined = join(tables, &by, &common);
    let mut keys = by.clone();
    keys.push(SIDE.to_owned());
    let against = format!("{SIDE}={}", SIDES[0]);
    let summary = summarise(&joined, &keys, &common, Some(&against))
        .map_err(|error| ReportError::Data(error.to_string()))?;
    let changes = changes(&summary);
    let mut page = Page {
        title: format!("{} compared with {}", names[1], names[0]),
        answer: answer(&summary, &changes),
        ..Page::default()
    };
    let data = dataset(&summary, &changes);
    page.table = main_table(
        &data,
        "Differences, after less before, with their 95 % intervals; regressions first",
    );
    let mut json = data.json();
    json["compare"] = true.into();
    page.data = json;
    page.pictures.extend(
        picture(&summary, &changes)
            .map(|picture| ("Differences of the first metric".to_owned(), picture)),
    );
    page.notes.push(how(&changes));
    page.notes.push(runs(&summary));
    page.warnings.extend(left_out);
    page.warnings
        .extend(sources.iter().flat_map(|source| source.left_out()));
    page.warnings.extend(unmatched(&summary));
    page.warnings.extend(
        tables
            .into_iter()
            .zip(names)
            .filter_map(|(table, name)| Some(format!("{name}: {}", refused(table)?))),
    );
    page.details.push(conditions(names, tables, &by));
    if let Some(line) = different(names, tables) {
        page.warnings.push(line);
    }
    page.commands.push(format!(
        "tmt report --compare {} {} -o diff.html",
        quoted(names[0]),
        quoted(names[1])
    ));
    for table in tables {
        page.versions.extend(version(table));
    }
    page.versions.dedup();
    page.versions.push(own_version());
    Ok(page)
}

/// Axes of both tables, and a warning on those of one.
fn common_axes(tables: [&Records; 2]) -> (Vec<String>, Option<String>) {
    let most = Dataset::most_rows(20);
    let (first, warning) = named_axes(tables[0], most);
    let (second, other) = named_axes(tables[1], most);
    let both: Vec<String> = first
        .iter()
        .filter(|axis| second.contains(axis))
        .cloned()
        .collect();
    let alone: Vec<&str> = axes(tables[0])
        .filter(|axis| !axes(tables[1]).any(|known| known == *axis))
        .chain(axes(tables[1]).filter(|axis| !axes(tables[0]).any(|known| known == *axis)))
        .collect();
    let alone = (!alone.is_empty()).then(|| {
        format!(
            "Only one table varies {}: differences are those of means over it",
            alone.join(", ")
        )
    });
    (both, alone.or(warning).or(other))
}

fn metrics_of_both(tables: [&Records; 2]) -> Vec<String> {
    const MOST: usize = 6;
    let of = |table: &Records| {
        let found = metrics(table);
        if found.is_empty() {
            summarise(table, &[], &[], None)
                .map(|summary| summary.metrics)
                .unwrap_or_default()
        } else {
            found
        }
    };
    let others = of(tables[1]);
    of(tables[0])
        .into_iter()
        .filter(|name| {
            others.contains(name) && better(name) != Better::Unknown || others.first() == Some(name)
        })
        .take(MOST)
        .collect()
}

/// The rows of both tables, with numbers of cells of their own.
fn join(tables: [&Records; 2], by: &[String], metrics: &[String]) -> Records {
    let mut all = Records::default();
    let mut first_cell = 0;
    let names = ["run", "seed", "offset_s", "duration_s", "flow"];
    for (table, side) in tables.into_iter().zip(SIDES) {
        let mut last = 0;
        for row in 0..table.len() {
            let cell = match table.value(row, "cell") {
                Some(Cell::Whole(cell)) => cell,
                _ => 0,
            };
            last = last.max(cell);
            let columns = by
                .iter()
                .map(String::as_str)
                .chain(names)
                .chain(metrics.iter().map(String::as_str));
            let values = columns
                .filter(|name| has(table, name))
                .map(|name| (name, table.value(row, name).map(Cell::to_value)));
            let own = [
                ("cell", Some(Value::Whole(cell + first_cell))),
                (SIDE, Some(Value::Text(side.to_owned()))),
            ];
            all.row(own.into_iter().chain(values));
        }
        first_cell += last + 1;
    }
    all
}

/// The change of a group: the group after, that before, and for each metric whether it is better (1), worse (−1) or unclear.
struct Change<'a> {
    after: &'a Group,
    before: &'a Group,
    verdicts: Vec<i8>,
}

impl Change<'_> {
    /// Relative difference of a metric, towards the worse.
    fn worse(&self, metric: usize, column: &str) -> f64 {
        let difference = self.after.differences.get(metric).copied().flatten();
        let before = self.before.means[metric].map_or(f64::NAN, |mean| mean.mean.abs());
        let share = difference.map_or(0.0, |difference| difference.estimate.mean)
            / before.max(f64::MIN_POSITIVE);
        let signed = if better(column) == Better::Less {
            share
        } else {
            -share
        };
        if signed.is_finite() { signed } else { 0.0 }
    }

    /// Whether it has no value any more of a metric that it had; of `all`, of every metric that it had.
    fn is_gone(&self, all: bool) -> bool {
        let mut had = self.before.means.iter().zip(&self.after.means);
        let is_lost =
            |(before, after): (&Option<_>, &Option<_>)| before.is_some() && after.is_none();
        if all {
            self.after.means.iter().all(Option::is_none) && had.any(is_lost)
        } else {
            had.any(is_lost)
        }
    }

    /// Whether a difference has an interval.
    fn is_judged(&self) -> bool {
        let mut all = self.after.differences.iter().flatten();
        all.any(|one| one.estimate.ci95.is_some())
    }

    /// Name of the group.
    fn name(&self) -> String {
        let labels = &self.after.labels[..self.after.labels.len() - 1];
        if labels.is_empty() {
            return "all runs".to_owned();
        }
        labels.join(", ")
    }
}

/// The changes of all groups that both tables have, regressions of the first metrics first.
fn changes(summary: &Summary) -> Vec<Change<'_>> {
    let last = summary.by.len() - 1;
    let before: BTreeMap<&[String], &Group> = summary
        .groups
        .iter()
        .filter(|group| group.by[last] == SIDES[0])
        .map(|group| (&group.by[..last], group))
        .collect();
    let mut all: Vec<Change<'_>> = summary
        .groups
        .iter()
        .filter(|group| group.by[last] == SIDES[1])
        .filter_map(|after| {
            let before = before.get(&after.by[..last])?;
            let verdicts = summary
                .metrics
                .iter()
                .enumerate()
                .map(|(metric, column)| verdict(after, metric, column));
            Some(Change {
                after,
                before,
                verdicts: verdicts.collect(),
            })
        })
        .collect();
    all.sort_by(|one, other| {
        let worst = |change: &Change<'_>| {
            change
                .verdicts
                .iter()
                .position(|verdict| *verdict < 0)
                .unwrap_or(usize::MAX)
        };
        let gone = |change: &Change<'_>| (change.is_gone(true), change.is_gone(false));
        gone(other)
            .cmp(&gone(one))
            .then(worst(one).cmp(&worst(other)))
            .then(one.verdicts.first().cmp(&other.verdicts.first()))
            .then(
                other
                    .worse(0, &summary.metrics[0])
                    .total_cmp(&one.worse(0, &summary.metrics[0])),
            )
    });
    all
}

fn verdict(after: &Group, metric: usize, column: &str) -> i8 {
    let Some(difference) = after.differences.get(metric).copied().flatten() else {
        return 0;
    };
    let mean = difference.estimate.mean;
    let is_clear = difference
        .estimate
        .ci95
        .is_some_and(|half| mean.abs() > half)
        && difference.p_value_holm.is_none_or(|p| p < CLEAR);
    match (is_clear, better(column)) {
        (false, _) | (_, Better::Unknown) => 0,
        (true, Better::More) => {
            if mean > 0.0 {
                1
            } else {
                -1
            }
        }
        (true, Better::Less) => {
            if mean < 0.0 {
                1
            } else {
                -1
            }
        }
    }
}

fn answer(summary: &Summary, changes: &[Change<'_>]) -> String {
    if changes.is_empty() {
        return "No group is in both tables: there is nothing to compare.".to_owned();
    }
    let mut sentences = Vec::new();
    let gone = |all: bool, text: &str| {
        let mut of = changes
            .iter()
            .filter(|change| change.is_gone(false) && change.is_gone(true) == all);
        let first = of.next()?.name();
        Some(match of.count() {
            0 => format!("1 group has {text} any more: {first}"),
            more => format!("{} groups have {text} any more, first {first}", more + 1),
        })
    };
    sentences.extend(gone(true, "no result"));
    sentences.extend(gone(false, "not all metrics"));
    let judged = changes.iter().filter(|change| change.is_judged()).count();
    let rest = changes
        .iter()
        .filter(|change| !change.is_judged() && !change.is_gone(false))
        .count();
    if judged > 0 {
        sentences.push(judgement(summary, changes, &counted(judged, "group")));
    }
    if rest > 0 {
        sentences.push(format!(
            "No verdict on {}, without a difference that has an interval",
            counted(rest, "group")
        ));
    }
    sentences.join(". ") + "."
}

/// Clear changes of the groups that have intervals.
fn judgement(summary: &Summary, changes: &[Change<'_>], groups: &str) -> String {
    let texts = |wanted: i8| {
        let of_metric = |(metric, column): (usize, &String)| {
            let count = changes
                .iter()
                .filter(|change| change.verdicts[metric] == wanted)
                .count();
            (count > 0).then(|| format!("{} in {count}", Quantity::of(column).label))
        };
        summary
            .metrics
            .iter()
            .enumerate()
            .filter_map(of_metric)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (worse, more) = (texts(-1), texts(1));
    let mut text = match (worse.is_empty(), more.is_empty()) {
        (true, true) => return format!("No metric changes clearly in any of {groups}"),
        (true, false) => format!("No clear regression in {groups}. Better: {more}"),
        (false, true) => format!("Worse, of {groups}: {worse}"),
        (false, false) => format!("Worse, of {groups}: {worse}. Better: {more}"),
    };
    let clear = |change: &&Change<'_>, wanted: i8| change.verdicts.contains(&wanted);
    let first = changes
        .iter()
        .find(|change| clear(change, -1))
        .or_else(|| changes.iter().find(|change| clear(change, 1)));
    text.push_str(&first.map_or_else(String::new, |first| first_change(summary, first)));
    text
}

/// The first clear change, the worst if one is worse.
fn first_change(summary: &Summary, change: &Change<'_>) -> String {
    let worst = change.verdicts.iter().position(|verdict| *verdict < 0);
    let place = worst.or_else(|| change.verdicts.iter().position(|verdict| *verdict > 0));
    let found = place.and_then(|place| Some((place, change.after.differences[place]?)));
    let Some((metric, difference)) = found else {
        return String::new();
    };
    let quantity = Quantity::of(&summary.metrics[metric]);
    let half = difference.estimate.ci95.map(|half| half * quantity.factor);
    let sign = if difference.estimate.mean > 0.0 {
        "+"
    } else {
        ""
    };
    let value = with_half(
        difference.estimate.mean * quantity.factor,
        half,
        quantity.unit,
    );
    let place = change.name();
    format!(". First: {place}, {} {sign}{value}", quantity.label)
}

fn how(changes: &[Change<'_>]) -> String {
    let all = || {
        changes
            .iter()
            .filter_map(|change| change.after.differences.first().copied().flatten())
    };
    let (pairs, total) = (all().filter(|one| one.paired).count(), all().count());
    let how = match pairs {
        _ if total == 0 => "No group has a difference".to_owned(),
        pairs if pairs == total => {
            "Paired: runs with the same seed or start are compared one by one".to_owned()
        }
        0 => "Unpaired: the tables have no common seeds or starts, so runs count as independent"
            .to_owned(),
        pairs => format!(
            "{pairs} of {total} groups are paired by seed or start; the others count as independent"
        ),
    };
    format!(
        "{how}. Clear: the 95 % interval leaves out 0, and p < {CLEAR} after Holm's correction."
    )
}

fn unmatched(summary: &Summary) -> Option<String> {
    let last = summary.by.len() - 1;
    let is_alone = |group: &&Group| {
        !summary
            .groups
            .iter()
            .any(|other| other.by[..last] == group.by[..last] && other.by[last] != group.by[last])
    };
    let alone: Vec<&Group> = summary.groups.iter().filter(is_alone).collect();
    let first = alone.first()?;
    Some(format!(
        "{} in one table only, such as {}: not compared",
        counted(alone.len(), "group"),
        first.labels.join(", ")
    ))
}

fn dataset(summary: &Summary, changes: &[Change<'_>]) -> Dataset {
    let last = summary.by.len() - 1;
    let keys = (0..last).map(|place| {
        let labels = changes.iter().map(|change| &change.after.labels[place]);
        let texts: Vec<&String> = changes
            .iter()
            .map(|change| &change.after.by[place])
            .collect();
        Key::of(
            &summary.by[place],
            labels.cloned().collect(),
            numbers(&texts),
        )
    });
    // The only group has a name, too: charts have places by names.
    let only =
        (last == 0).then(|| Key::of("group", changes.iter().map(Change::name).collect(), None));
    let mut metrics = Vec::new();
    let of =
        |values: Vec<Option<(f64, Option<f64>)>>, column: &str, word: &str, verdicts: Vec<i8>| {
            let mut quantity = Quantity::of(column);
            quantity.label = format!("{}, {word}", quantity.label);
            let factor = quantity.factor;
            Metric {
                values: values
                    .iter()
                    .map(|value| value.map_or(f64::NAN, |(mean, _)| mean * factor))
                    .collect(),
                halves: values
                    .iter()
                    .map(|value| {
                        value
                            .and_then(|(_, half)| half)
                            .map_or(f64::NAN, |half| half * factor)
                    })
                    .collect(),
                runs: Vec::new(),
                quantity,
                verdicts,
            }
        };
    for (metric, column) in summary.metrics.iter().enumerate() {
        let verdicts = changes
            .iter()
            .map(|change| change.verdicts[metric])
            .collect();
        let differences = changes.iter().map(|change| {
            let difference = change.after.differences.get(metric).copied().flatten()?;
            Some((difference.estimate.mean, difference.estimate.ci95))
        });
        metrics.push(of(differences.collect(), column, "change", verdicts));
    }
    for (metric, column) in summary.metrics.iter().enumerate() {
        for word in SIDES {
            let means = changes.iter().map(|change| {
                let group = if word == SIDES[0] {
                    change.before
                } else {
                    change.after
                };
                group.means[metric].map(|mean| (mean.mean, mean.ci95))
            });
            metrics.push(of(means.collect(), column, word, Vec::new()));
        }
    }
    Dataset {
        keys: keys.chain(only).collect(),
        metrics,
        rows: changes.len(),
    }
}

/// The differences of the first metric, the worst at the top.
fn picture(summary: &Summary, changes: &[Change<'_>]) -> Option<Picture> {
    const MOST: usize = 25;
    let quantity = Quantity::of(&summary.metrics[0]);
    let (mut names, mut points) = (Vec::new(), Vec::new());
    let has = |change: &&Change<'_>| {
        change
            .after
            .differences
            .first()
            .is_some_and(Option::is_some)
    };
    let shown: Vec<&Change<'_>> = changes.iter().filter(has).take(MOST).collect();
    for (place, change) in shown.into_iter().rev().enumerate() {
        let difference = change.after.differences[0]?;
        names.push(change.name());
        points.push(Point {
            x: difference.estimate.mean * quantity.factor,
            y: to_f64(place as u64) + 1.0,
            half: difference.estimate.ci95.unwrap_or(0.0) * quantity.factor,
        });
    }
    (!points.is_empty()).then(|| Picture {
        title: String::new(),
        panels: vec![Panel {
            x: Axis::new(
                format!("{}, after less before", quantity.label),
                quantity.unit,
            ),
            y: Axis::of_names("group", names),
            series: vec![Series {
                label: "difference".to_owned(),
                mark: Mark::Dots,
                points,
            }],
        }],
        notes: vec!["Bars: 95 % intervals.".to_owned()],
    })
}

/// Settings of both tables, side by side, with those that differ first.
fn conditions(names: [&str; 2], tables: [&Records; 2], by: &[String]) -> Table {
    let lines = tables.map(|table| Conditions::of(table, by).line());
    let [first, second] = settings(tables);
    let mut rows = vec![vec![
        "conditions".to_owned(),
        lines[0].clone(),
        lines[1].clone(),
    ]];
    for (name, value) in &first {
        let other = second.get(name);
        if other != Some(value) {
            rows.push(vec![
                name.clone(),
                value.clone(),
                other.cloned().unwrap_or_else(|| "–".to_owned()),
            ]);
        }
    }
    for (name, value) in second.iter().filter(|(name, _)| !first.contains_key(*name)) {
        rows.push(vec![name.clone(), "–".to_owned(), value.clone()]);
    }
    Table {
        caption: "Conditions that differ".to_owned(),
        headings: vec!["name".to_owned(), names[0].to_owned(), names[1].to_owned()],
        rows,
        words: 3,
    }
}

/// Values that all runs of a table have, without results.
fn settings(tables: [&Records; 2]) -> [BTreeMap<String, String>; 2] {
    tables.map(|table| {
        let all = constants(table).into_iter();
        all.filter(|(name, _)| {
            let is_result = better(name) != Better::Unknown && !name.ends_with("_ns")
                || name.starts_with("total_")
                || name.starts_with("packets_")
                || name.starts_with("acks_");
            !is_result
                && ![
                    "cell",
                    "run",
                    "flow",
                    "seed",
                    "duration_s",
                    "delay_percentiles",
                    "queueing_delay_percentiles",
                ]
                .contains(&name.as_str())
        })
        .collect()
    })
}

/// A warning on conditions that differ.
fn different(names: [&str; 2], tables: [&Records; 2]) -> Option<String> {
    const SHOWN: usize = 5;
    let [first, second] = settings(tables);
    let texts: Vec<String> = first
        .iter()
        .filter_map(|(name, value)| Some((name, value, second.get(name)?)))
        .filter(|(_, value, other)| value != other)
        .map(|(name, value, other)| format!("{} {value} and {other}", heading(name)))
        .collect();
    let more = if texts.len() > SHOWN { "; …" } else { "" };
    (!texts.is_empty()).then(|| {
        format!(
            "{} and {} differ in their conditions: {}{more}",
            names[0],
            names[1],
            texts
                .iter()
                .take(SHOWN)
                .cloned()
                .collect::<Vec<_>>()
                .join("; ")
        )
    })
}
