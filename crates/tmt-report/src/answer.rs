//! The answer of a study in one sentence, with its interval.

use std::collections::{BTreeMap, BTreeSet};

use tmt_core::format::records::{Cell, Column, Records};
use tmt_plot::picture::counted;
use tmt_plot::source::Quantity;
use tmt_study::conditions::{axes, heading, shown};
use tmt_study::summary::{Group, Groups, Summary, of_named};

use crate::dataset::{Better, better};
use crate::text::{with_half, with_unit};

/// Axes that a designer chooses; the others are circumstances, over which the answer takes means.
const CHOSEN: [&str; 14] = [
    "scheme",
    "cc",
    "queue",
    "buffer",
    "profile",
    "path",
    "overlap",
    "pacing",
    "ecn",
    "iw",
    "packet_bytes",
    "link",
    "recovery",
    "model",
];

/// The axes of a table that are chosen, and the circumstances.
#[must_use]
pub fn split(table: &Records) -> (Vec<String>, Vec<String>) {
    axes(table)
        .map(str::to_owned)
        .partition(|axis| CHOSEN.contains(&axis.as_str()))
}

/// A column with its name.
type Named<'a> = (&'a str, &'a Column);

/// Makes the texts of a row.
type Make<'a> = fn(&[Named<'a>], usize) -> Vec<String>;

/// The texts of a row in some columns, each made once for neighbouring rows that agree in them.
struct Texts<'a> {
    columns: Vec<Named<'a>>,
    make: Make<'a>,
    last: Option<(usize, Vec<String>)>,
}

impl<'a> Texts<'a> {
    /// Choices, for people.
    fn chosen(table: &'a Records, names: &'a [String]) -> Self {
        Self::of(table, names, |columns, row| {
            let texts = columns
                .iter()
                .filter_map(|(name, column)| Some(shown(name, column.value(row)?)));
            vec![texts.collect::<Vec<_>>().join(", ")]
        })
    }

    /// Values of circumstances.
    fn around(table: &'a Records, names: &'a [String]) -> Self {
        Self::of(table, names, |columns, row| {
            let text = |column: &Column| column.value(row).map_or_else(String::new, Cell::text);
            columns.iter().map(|(_, column)| text(column)).collect()
        })
    }

    fn of(table: &'a Records, names: &'a [String], make: Make<'a>) -> Self {
        let column = |name: &'a String| Some((name.as_str(), table.column(name)?));
        Self {
            columns: names.iter().filter_map(column).collect(),
            make,
            last: None,
        }
    }

    fn row(&mut self, row: usize) -> &[String] {
        let is_alike = |before: usize| {
            let mut columns = self.columns.iter();
            columns.all(|(_, column)| column.value(before) == column.value(row))
        };
        let texts = match self.last.take() {
            Some((before, known)) if is_alike(before) => known,
            _ => (self.make)(&self.columns, row),
        };
        &self.last.insert((row, texts)).1
    }
}

/// The combinations of circumstances for which all choices with a result have one, and how many others there are.
fn common(
    table: &Records,
    chosen: &[String],
    around: &[String],
    metric: &str,
) -> (BTreeSet<Vec<String>>, usize) {
    let mut all = BTreeSet::new();
    let mut of_choice: BTreeMap<String, BTreeSet<Vec<String>>> = BTreeMap::new();
    let mut circumstances = Texts::around(table, around);
    let mut choices = Texts::chosen(table, chosen);
    let measured = table.column(metric);
    for row in 0..table.len() {
        let place = circumstances.row(row);
        if !all.contains(place) {
            all.insert(place.to_vec());
        }
        let value = measured.and_then(|measured| measured.value(row));
        if !value.and_then(Cell::number).is_some_and(f64::is_finite) {
            continue;
        }
        let [choice] = choices.row(row) else { continue };
        match of_choice.get_mut(choice) {
            Some(places) if places.contains(place) => {}
            Some(places) => _ = places.insert(place.to_vec()),
            None => _ = of_choice.insert(choice.clone(), BTreeSet::from([place.to_vec()])),
        }
    }
    let mut shared = all.clone();
    shared.retain(|place| of_choice.values().all(|places| places.contains(place)));
    let left = all.len() - shared.len();
    (shared, left)
}

/// The rows of the shared circumstances by their choice.
fn by_choice(
    table: &Records,
    [chosen, around]: [&[String]; 2],
    shared: &BTreeSet<Vec<String>>,
) -> Groups {
    let mut groups = Groups::default();
    let mut circumstances = Texts::around(table, around);
    let mut choices = Texts::chosen(table, chosen);
    for row in 0..table.len() {
        let is_shared = shared.contains(circumstances.row(row));
        let choice = choices.row(row).first().filter(|_| is_shared);
        groups.add(choice.map(String::as_str));
    }
    groups
}

/// The answer: the best choice by the first metric of `summary`, and its lead over the next. `None` if nothing was measured.
///
/// The lead is that of pairs where the runs have common seeds; without an interval none is claimed.
#[must_use]
pub fn of_sweep(table: &Records, summary: &Summary) -> Option<String> {
    let metric = summary.metrics.first()?;
    let (chosen, around) = split(table);
    if chosen.is_empty() || better(metric) == Better::Unknown {
        return trend(summary);
    }
    let (shared, left) = common(table, &chosen, &around, metric);
    let means = |against| {
        let groups = by_choice(table, [&chosen, &around], &shared);
        of_named(table, groups, metric, against).ok()
    };
    match ranked(&means(None)?, metric)[..] {
        [first, second, ..] => {
            let groups = means(Some(second))?;
            best(&groups, metric, [first, second], &over(&around, left))
        }
        _ => trend(summary),
    }
}

/// The circumstances of the means of an answer, and how many combinations of them it leaves out.
fn over(around: &[String], left: usize) -> String {
    if around.is_empty() {
        return String::new();
    }
    let names: Vec<String> = around.iter().map(|axis| heading(axis)).collect();
    let names = names.join(" and ");
    match left {
        0 => format!(", in the mean over {names}"),
        _ => format!(
            ", in the mean over {names} without {}, where not all choices have a result",
            counted(left, "combination")
        ),
    }
}

/// The names of the groups that have a mean, the best first.
fn ranked<'a>(groups: &'a [Group], metric: &str) -> Vec<&'a str> {
    let sign = if better(metric) == Better::Less {
        1.0
    } else {
        -1.0
    };
    let mut means: Vec<(f64, &str)> = groups
        .iter()
        .filter_map(|group| Some((group.means[0]?.mean * sign, group.by[0].as_str())))
        .collect();
    means.sort_by(|one, other| one.0.total_cmp(&other.0));
    means.into_iter().map(|(_, name)| name).collect()
}

fn best(groups: &[Group], metric: &str, [first, second]: [&str; 2], over: &str) -> Option<String> {
    let group = groups.iter().find(|group| group.by[0] == first)?;
    let mean = group.means[0]?;
    let quantity = Quantity::of(metric);
    let unit = quantity.unit;
    let scaled = |value: f64| value * quantity.factor;
    let word = match better(metric) {
        Better::Less => "lowest",
        _ => "highest",
    };
    let value = with_half(scaled(mean.mean), mean.ci95.map(scaled), unit);
    let of_runs = match mean.ci95 {
        Some(_) => format!("95 % interval, {} runs", mean.runs),
        None if mean.runs == 1 => "one run, so no interval".to_owned(),
        None => "no interval".to_owned(),
    };
    let mut text = format!(
        "{first} has the {word} {}: {value} ({of_runs}){over}",
        quantity.label
    );
    if let Some(difference) = group.differences.first().copied().flatten() {
        let sign = match better(metric) {
            Better::Less => -1.0,
            _ => 1.0,
        };
        let lead = difference.estimate.mean * sign;
        let half = difference.estimate.ci95;
        let pairs = if difference.paired {
            "pairs"
        } else {
            "unpaired"
        };
        let less = if better(metric) == Better::Less {
            "less"
        } else {
            "more"
        };
        match half {
            // Pairs may differ the other way than the means of all runs.
            _ if lead < 0.0 => {
                text = format!(
                    "No clear winner: {text}; but its difference from {second} is {} ({pairs})",
                    with_half(scaled(difference.estimate.mean), half.map(scaled), unit)
                );
            }
            Some(half) if half >= lead => {
                text = format!(
                    "No clear winner: {text}; {second} is within {} of it ({pairs})",
                    with_half(scaled(lead), Some(scaled(half)), unit)
                );
            }
            Some(half) => text.push_str(&format!(
                "; that is {} {less} than {second}, the next ({pairs})",
                with_half(scaled(lead), Some(scaled(half)), unit)
            )),
            None => text.push_str(&format!(
                "; the next is {second}, {} off",
                with_unit(scaled(lead), unit)
            )),
        }
    }
    text.push('.');
    Some(text)
}

/// The only mean, with its interval.
#[must_use]
pub fn of_mean(metric: &str, mean: f64, ci95: Option<f64>, runs: usize) -> String {
    let quantity = Quantity::of(metric);
    let scaled = |value: f64| value * quantity.factor;
    let half = match ci95 {
        Some(_) => format!("95 % interval, {}", counted(runs, "run")),
        None if runs == 1 => "one run, so no interval".to_owned(),
        None => "no interval".to_owned(),
    };
    let value = with_half(scaled(mean), ci95.map(scaled), quantity.unit);
    format!("The {} is {value} ({half}).", quantity.label)
}

/// The extremes of the first metric, where nothing is chosen.
fn trend(summary: &Summary) -> Option<String> {
    let metric = summary.metrics.first()?;
    let quantity = Quantity::of(metric);
    let measured: Vec<(&Group, f64)> = summary
        .groups
        .iter()
        .filter_map(|group| Some((group, group.means[0]?.mean)))
        .collect();
    let text = |group: &Group| {
        let mean = group.means[0]?;
        let half = mean.ci95.map(|half| half * quantity.factor);
        Some(with_half(mean.mean * quantity.factor, half, quantity.unit))
    };
    let place = |group: &Group| {
        let of = summary.by.iter().zip(&group.labels);
        of.map(|(axis, label)| format!("{} {label}", heading(axis)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let least = measured
        .iter()
        .min_by(|one, other| one.1.total_cmp(&other.1))?
        .0;
    let most = measured
        .iter()
        .max_by(|one, other| one.1.total_cmp(&other.1))?
        .0;
    if measured.len() == 1 || summary.by.is_empty() {
        let mean = most.means[0]?;
        return Some(of_mean(metric, mean.mean, mean.ci95, mean.runs));
    }
    let ends = [least.means[0]?, most.means[0]?];
    let half = match ends.map(|mean| (mean.ci95.is_some(), mean.runs)) {
        [(true, _), (true, _)] => " (95 % intervals)",
        [(false, 1), (false, 1)] => " (one run each, so no intervals)",
        [(false, _), (false, _)] => " (no intervals)",
        [(false, _), _] => " (95 % interval of the latter only)",
        [_, (false, _)] => " (95 % interval of the former only)",
    };
    Some(format!(
        "The {} goes from {} at {} to {} at {}{half}.",
        quantity.label,
        text(least)?,
        place(least),
        text(most)?,
        place(most)
    ))
}

/// Values by name of the columns that have one value only.
#[must_use]
pub fn constants(table: &Records) -> BTreeMap<String, String> {
    let errors = table.column("error");
    let is_refused = |row: usize| errors.is_some_and(|errors| errors.value(row).is_some());
    let one = |name: &str| {
        let column = table.column(name)?;
        let mut values = (0..table.len())
            .filter(|row| !is_refused(*row))
            .map(|row| column.value(row));
        let first = values.next()??;
        values
            .all(|value| value == Some(first))
            .then(|| shown(name, first))
    };
    table
        .names()
        .filter_map(|name| Some((name.to_owned(), one(name)?)))
        .collect()
}
