//! Pictures of chosen columns: means with intervals of the runs of a sweep, else the rows as they are.

use std::collections::{BTreeMap, BTreeSet};

use tmt_core::format::records::Cell;
use tmt_core::types::to_f64;
use tmt_study::conditions::{axes, shown};
use tmt_study::summary::{Summary, summarise};

use crate::PlotError;
use crate::picture::{Axis, Mark, Panel, Picture, Point, Series, Unit, counted};
use crate::source::{Numbers, Quantity, Source};

/// Columns that a user chooses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Column along the horizontal axis; the time, the first axis of the sweep or the row by default.
    pub x: Option<String>,
    /// Columns along vertical axes, a panel each; the first usual metric of a sweep by default.
    pub y: Vec<String>,
    /// Columns whose values make the series.
    pub by: Vec<String>,
}

/// Columns along which a table is drawn unless another is chosen.
const TIMES: [&str; 4] = ["time", "tx_time", "sent", "offset_s"];

/// The picture of chosen columns.
///
/// # Errors
/// A column that is not there, or that has no numbers; a table without rows.
pub fn draw(source: &Source, choice: &Choice) -> Result<Picture, PlotError> {
    if source.table.is_empty() {
        return Err(PlotError::Data(
            "found no rows, expected a table with at least one".to_owned(),
        ));
    }
    if is_results(source) {
        return of_results(source, choice);
    }
    of_rows(source, choice)
}

/// Whether the rows are runs, whose means are drawn.
#[must_use]
pub fn is_results(source: &Source) -> bool {
    source.has("flow") && (source.has("scope") || source.has("cell") && source.has("run"))
}

/// Means over runs.
fn of_results(source: &Source, choice: &Choice) -> Result<Picture, PlotError> {
    let first = axes(&source.table).next().map(str::to_owned);
    let of_run = ["offset_s", "seed"]
        .into_iter()
        .find(|name| source.has(name));
    let x = choice.x.clone().or(first).or(of_run.map(str::to_owned));
    let x = source.quantity(&x.unwrap_or_default())?;
    let of = |name: &String| Ok(source.quantity(name)?.column);
    let by: Vec<String> = choice.by.iter().map(of).collect::<Result<_, _>>()?;
    // All flows together have rows of their own where TCP alone has written the table.
    let metric = |name: &String| match name.strip_prefix("total_") {
        Some(bare) if source.has("scope") => Ok(format!("total_{}", source.quantity(bare)?.column)),
        _ => of(name),
    };
    let y: Vec<String> = choice.y.iter().map(metric).collect::<Result<_, _>>()?;
    let mut keys = by.clone();
    keys.push(x.column.clone());
    let summary = summarise(&source.table, &keys, &y, None);
    let summary = summary.map_err(|error| PlotError::Asked(error.to_string()))?;
    let panels = if y.is_empty() {
        summary.metrics.len().min(1)
    } else {
        y.len()
    };
    if panels == 0 {
        return Err(PlotError::Asked(
            "found no metric with values, expected one as `y`".to_owned(),
        ));
    }
    let panels = (0..panels).map(|place| panel_of_means(&summary, place, &x));
    Ok(Picture {
        title: String::new(),
        panels: panels.collect(),
        notes: notes_on_means(&summary),
    })
}

fn panel_of_means(summary: &Summary, metric: usize, x: &Quantity) -> Panel {
    let last = summary.by.len() - 1;
    let y = Quantity::of(&summary.metrics[metric]);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let is_number = summary
        .groups
        .iter()
        .all(|group| number(&group.by[last]).is_some());
    let mut names: Vec<String> = Vec::new();
    let mut series: Vec<Series> = Vec::new();
    for group in &summary.groups {
        let place = match number(&group.by[last]).filter(|_| is_number) {
            Some(value) => value * x.factor,
            None => position(&mut names, &group.labels[last]),
        };
        let labels = summary.by.iter().zip(&group.labels).take(last);
        let label = labels
            .map(|(column, label)| named(column, label))
            .collect::<Vec<_>>()
            .join(", ");
        let point = match &group.means[metric] {
            Some(mean) => Point {
                x: place,
                y: mean.mean * y.factor,
                half: mean.ci95.unwrap_or(0.0) * y.factor,
            },
            None => Point::GAP,
        };
        let known = series.iter().position(|series| series.label == label);
        let known = known.unwrap_or_else(|| {
            series.push(Series {
                label,
                mark: if is_number {
                    Mark::LineAndDots
                } else {
                    Mark::Dots
                },
                points: Vec::new(),
            });
            series.len() - 1
        });
        series[known].points.push(point);
    }
    for series in &mut series {
        if is_number {
            series
                .points
                .sort_by(|one, other| one.x.total_cmp(&other.x));
        }
    }
    let axis = if is_number {
        x.axis()
    } else {
        Axis::of_names(&x.label, names)
    };
    if !is_number {
        beside(&mut series);
    }
    Panel {
        x: axis,
        y: y.axis(),
        series,
    }
}

/// Moves the dots of several series at a name beside each other.
pub(crate) fn beside(series: &mut [Series]) {
    let count = to_f64(series.len() as u64);
    let mut shift = -0.5 * (count - 1.0) * (0.6 / count);
    for series in series {
        for point in &mut series.points {
            point.x += shift;
        }
        shift += 0.6 / count;
    }
}

/// The place of a name on an axis, from 1; a new one at the end.
pub(crate) fn position(names: &mut Vec<String>, name: &str) -> f64 {
    let place = names
        .iter()
        .position(|known| known == name)
        .unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
    to_f64(place as u64) + 1.0
}

/// A value in the legend: with the name of its column if it begins with a number.
fn named(column: &str, value: &str) -> String {
    match value.chars().next() {
        Some(first) if !first.is_ascii_digit() => value.to_owned(),
        Some(_) => format!("{} {value}", Quantity::of(column).label),
        None => format!("no {}", Quantity::of(column).label),
    }
}

/// How the intervals were made, and what all runs have in common.
fn notes_on_means(summary: &Summary) -> Vec<String> {
    let means: Vec<_> = summary
        .groups
        .iter()
        .flat_map(|group| group.means.iter().flatten())
        .collect();
    let runs: BTreeSet<usize> = means.iter().map(|mean| mean.runs).collect();
    let over = match (runs.first(), runs.last()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} runs"),
        (Some(1), _) => "one run".to_owned(),
        (Some(runs), _) => format!("{runs} runs"),
        _ => return vec!["No values.".to_owned()],
    };
    let has = |by_starts: bool| {
        means
            .iter()
            .any(|mean| mean.ci95.is_some() && mean.block.is_some() == by_starts)
    };
    let intervals = match (has(false), has(true)) {
        (true, _) => "Intervals: 95 %, by Student's t over the runs.",
        (_, true) => "Intervals: 95 %, by the block bootstrap over the starts.",
        _ => "No intervals.",
    };
    let mut notes = vec![format!("Means over {over}. {intervals}")];
    let lacking: usize = summary.groups.iter().flat_map(|group| &group.lacking).sum();
    if lacking > 0 {
        notes.push(format!(
            "{} without the metric: not in the means.",
            counted(lacking, "run")
        ));
    }
    notes.extend(Some(summary.conditions.line()).filter(|line| !line.is_empty()));
    notes.extend(
        summary
            .conditions
            .warnings
            .iter()
            .filter(|text| text.contains("not finite"))
            .cloned(),
    );
    notes
}

/// Endings of columns with the half-width of an interval, and what it is.
const HALVES: [(&str, &str); 3] = [
    ("_ci95", "95 % interval"),
    ("_half_width", "95 % interval"),
    ("_standard_error", "one standard error"),
];

/// The half-widths of the intervals of a column, and a note on them.
pub(crate) fn halves(
    source: &Source,
    quantity: &Quantity,
) -> Result<Option<(Vec<f64>, String)>, PlotError> {
    for (end, what) in HALVES {
        let own = source.column(&format!("{}{end}", quantity.column));
        // Beside published values only ours have an interval.
        let bare = || {
            source
                .column(&end[1..])
                .filter(|_| quantity.column == "ours")
        };
        let Some(column) = own.or_else(bare) else {
            continue;
        };
        let half = Quantity {
            column: column.clone(),
            ..quantity.clone()
        };
        let values = source.numbers(&half)?.values;
        let values = values
            .into_iter()
            .map(|half| if half.is_nan() { 0.0 } else { half.abs() });
        let runs = source.column(&format!("{}_runs", quantity.column));
        let runs: BTreeSet<String> = runs
            .iter()
            .flat_map(|runs| (0..source.table.len()).map(|row| source.text(row, runs)))
            .collect();
        let runs: Vec<&str> = runs
            .iter()
            .map(String::as_str)
            .filter(|runs| !runs.is_empty())
            .collect();
        let over = match runs[..] {
            [] => String::new(),
            [runs] => format!(" over {runs} runs"),
            _ => " over the runs of each".to_owned(),
        };
        return Ok(Some((
            values.collect(),
            format!("Bars: {what} of the mean{over}, from column {column}."),
        )));
    }
    Ok(None)
}

/// The rows as they are.
fn of_rows(source: &Source, choice: &Choice) -> Result<Picture, PlotError> {
    if choice.y.is_empty() {
        return Err(PlotError::Asked(
            "found no column for the vertical axis, expected `y`".to_owned(),
        ));
    }
    let mut notes = Vec::new();
    let (axis, xs) = horizontal(source, choice, &mut notes)?;
    let (labels, places) = groups(source, choice)?;
    let mut panels = Vec::new();
    for name in &choice.y {
        let y = source.quantity(name)?;
        let found = source.numbers(&y)?;
        notes.extend(odd(&y, &found));
        let half = halves(source, &y)?;
        let (half, note) = half.map_or((None, None), |(half, note)| (Some(half), Some(note)));
        notes.extend(note);
        let series = labels.iter().map(|label| Series {
            label: label.clone(),
            mark: Mark::Dots,
            points: Vec::new(),
        });
        let mut series: Vec<Series> = series.collect();
        for (row, place) in places.iter().enumerate() {
            series[*place].points.push(Point {
                x: xs[row],
                y: found.values[row],
                half: half.as_ref().map_or(0.0, |half| half[row]),
            });
        }
        if axis.categories.is_empty() {
            for series in &mut series {
                let points = series.points.iter().filter(|point| point.is_drawn());
                series.mark = match points.map(|point| point.x).is_sorted() {
                    true if half.is_some() => Mark::LineAndDots,
                    true => Mark::Line,
                    false => Mark::Dots,
                };
            }
        } else {
            beside(&mut series);
        }
        panels.push(Panel {
            x: axis.clone(),
            y: y.axis(),
            series,
        });
    }
    Ok(Picture {
        title: String::new(),
        panels,
        notes,
    })
}

/// The horizontal axis, and the place of each row on it.
fn horizontal(
    source: &Source,
    choice: &Choice,
    notes: &mut Vec<String>,
) -> Result<(Axis, Vec<f64>), PlotError> {
    let rows = source.table.len();
    let default = TIMES.into_iter().find(|name| source.has(name));
    let Some(name) = choice.x.as_deref().or(default) else {
        let numbers = (1..=rows).map(|row| to_f64(row as u64));
        return Ok((Axis::new("row", Unit::None), numbers.collect()));
    };
    let x = source.quantity(name)?;
    if source.is_number(&x.column) {
        let found = source.numbers(&x)?;
        notes.extend(odd(&x, &found));
        return Ok((x.axis(), found.values));
    }
    let mut names = Names::default();
    let places = (0..rows).map(|row| to_f64(names.place(&source.text(row, &x.column)) as u64 + 1));
    let places = places.collect();
    if names.all.len() > MOST_NAMES {
        return Err(PlotError::Asked(format!(
            "{}: found {} different names, expected at most {MOST_NAMES}, or a column of numbers",
            x.column,
            names.all.len()
        )));
    }
    Ok((Axis::of_names(&x.label, names.all), places))
}

/// Most names that an axis shows.
const MOST_NAMES: usize = 60;

/// The labels of the series, and the series of each row.
fn groups(source: &Source, choice: &Choice) -> Result<(Vec<String>, Vec<usize>), PlotError> {
    let by = choice.by.iter().map(|name| source.quantity(name));
    let by: Vec<Quantity> = by.collect::<Result<_, _>>()?;
    let label = |row: usize| {
        let value = |by: &Quantity| {
            let value = source.table.value(row, &by.column);
            named(
                &by.column,
                &value.map_or_else(String::new, |value| shown(&by.column, value)),
            )
        };
        by.iter().map(value).collect::<Vec<_>>().join(", ")
    };
    let mut names = Names::default();
    let places = (0..source.table.len()).map(|row| names.place(&label(row)));
    let places = places.collect();
    Ok((names.all, places))
}

/// Names in the order in which they come, with their places.
#[derive(Debug, Default)]
struct Names {
    all: Vec<String>,
    places: BTreeMap<String, usize>,
}

impl Names {
    /// The place of a name, from 0; a new one at the end.
    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.all.len();
        self.places.insert(name.to_owned(), place);
        self.all.push(name.to_owned());
        place
    }
}

/// A note on values that are not finite.
pub(crate) fn odd(quantity: &Quantity, found: &Numbers) -> Option<String> {
    (found.odd > 0).then(|| {
        format!(
            "{}: {} NaN or infinite, not drawn.",
            quantity.label,
            counted(found.odd, "value")
        )
    })
}

/// The text of a value of a row, if it has one.
pub(crate) fn word(source: &Source, row: usize, column: &str) -> Option<String> {
    source.table.value(row, column).map(Cell::text)
}
