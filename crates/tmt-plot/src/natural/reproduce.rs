//! Published values and ours.
//!
//! Columns: `published` and `ours`; `ours_low` with `ours_high`, or `ours_half_width`, `ours_ci95` or `ours_standard_error`, for an
//! interval; `quantity` with the name of what is compared (a panel each), and `unit` if the name has none; `row`, `cell` or `figure` with the name of a row. Without such a name
//! the other columns of words that differ name a row.

use super::Kind;
use crate::PlotError;
use crate::chosen::{halves, odd, position, word};
use crate::picture::{Axis, Mark, Panel, Picture, Point, Series, counted, spans_decades};
use crate::source::{Quantity, Source};

pub(super) static KIND: Kind = Kind {
    name: "reproduce",
    about: "published values and ours, row by row",
    fits: |source| source.has("published") && source.has("ours"),
    draw,
};

fn draw(source: &Source) -> Result<Picture, PlotError> {
    let given = ["row", "cell", "figure"]
        .into_iter()
        .find(|name| source.has(name));
    let names: Vec<String> = match given {
        Some(name) => vec![name.to_owned()],
        None => source
            .table
            .names()
            .filter(|name| is_name(source, name))
            .map(str::to_owned)
            .collect(),
    };
    let both = ["published", "ours"].map(Quantity::of);
    let mut notes = Vec::new();
    let mut columns = Vec::new();
    for quantity in &both {
        let found = source.numbers(quantity)?;
        notes.extend(odd(quantity, &found));
        columns.push(found.values);
    }
    let half = match source.halves(&both[1])? {
        Some(halves) => {
            let drawn = |half: f64| if half.is_nan() { 0.0 } else { half };
            let note = "Bars: 95 % interval of the mean, from ours_low to ours_high.".to_owned();
            Some((halves.into_iter().map(drawn).collect(), note))
        }
        None => halves(source, &both[1])?,
    };
    let (half, note) = half.map_or((None, None), |(half, note)| (Some(half), Some(note)));
    notes.extend(note);
    let without = columns[0].iter().filter(|value| value.is_nan()).count();
    if without == source.table.len() {
        notes.push("No row has a published value.".to_owned());
    } else if without > 0 {
        notes.push(format!(
            "{} without a published value.",
            counted(without, "row")
        ));
    }
    let mut quantities: Vec<String> = Vec::new();
    let mut panels: Vec<Panel> = Vec::new();
    for row in rows_drawn(source, &mut notes) {
        let quantity = word(source, row, "quantity").unwrap_or_else(|| "value".to_owned());
        let place = quantities
            .iter()
            .position(|known| *known == quantity)
            .unwrap_or_else(|| {
                let series = ["published", "ours"].map(|label| Series {
                    label: label.to_owned(),
                    mark: Mark::Dots,
                    points: Vec::new(),
                });
                let unit = word(source, row, "unit").filter(|unit| !unit.is_empty());
                let mut y = Quantity::of(&quantity).axis();
                if let Some(unit) = unit {
                    y.label = format!("{} ({unit})", y.label);
                }
                panels.push(Panel {
                    x: Axis::of_names("", Vec::new()),
                    y,
                    series: series.into(),
                });
                quantities.push(quantity);
                panels.len() - 1
            });
        let panel = &mut panels[place];
        let texts = names.iter().filter_map(|name| word(source, row, name));
        let name = texts.collect::<Vec<_>>().join(" ");
        let name = if name.is_empty() {
            format!("row {}", row + 1)
        } else {
            name
        };
        let x = position(&mut panel.x.categories, &name);
        for (place, series) in panel.series.iter_mut().enumerate() {
            let half = half
                .as_ref()
                .filter(|_| place == 1)
                .map_or(0.0, |half| half[row]);
            let shift = if place == 0 { -0.1 } else { 0.1 };
            series.points.push(Point {
                x: x + shift,
                y: columns[place][row],
                half,
            });
        }
    }
    for Panel { y, series, .. } in &mut panels {
        let points = series.iter().flat_map(|series| &series.points);
        y.log = spans_decades(points.map(|point| point.y));
    }
    Ok(Picture {
        title: String::new(),
        panels,
        notes,
    })
}

/// The rows that are drawn: dots at 1 and 1 of a statement say less than its verdict.
fn rows_drawn(source: &Source, notes: &mut Vec<String>) -> Vec<usize> {
    let rows = 0..source.table.len();
    let (statements, values): (Vec<usize>, Vec<usize>) =
        rows.partition(|row| source.is_statement(*row));
    if values.is_empty() {
        return statements;
    }
    if !statements.is_empty() {
        notes.push(format!(
            "{} not drawn.",
            counted(statements.len(), "statement")
        ));
    }
    values
}

/// Whether the values of a column name rows: they differ, and are no results.
fn is_name(source: &Source, column: &str) -> bool {
    let results = [
        "published",
        "ours",
        "quantity",
        "standard_error",
        "deviation_percent",
        "source",
    ];
    let first = word(source, 0, column);
    !results.iter().any(|name| column.starts_with(name))
        && (1..source.table.len()).any(|row| word(source, row, column) != first)
}
