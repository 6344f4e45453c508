//! Rows with names and measured values, from which controls, charts and tables follow.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use tmt_plot::picture::Unit;
use tmt_plot::source::Quantity;
use tmt_study::conditions::heading;

use crate::text::rounded;

/// Most bytes of data in a page.
pub const LARGEST: usize = 1_000_000;

/// Bytes that a value may take in the data.
const OF_A_VALUE: usize = 12;

/// Significant digits of measured values: those of different runs stay apart.
const DIGITS: usize = 9;

/// Significant digits of the points of charts.
const POINTS: usize = 5;

/// Rows of a study.
#[derive(Debug, Clone, Default)]
pub struct Dataset {
    /// Columns that name the rows.
    pub keys: Vec<Key>,
    /// Columns that are measured.
    pub metrics: Vec<Metric>,
    /// Number of rows.
    pub rows: usize,
}

/// A column that names rows.
#[derive(Debug, Clone)]
pub struct Key {
    /// Name for people.
    pub label: String,
    /// Values by row, for people.
    pub texts: Vec<String>,
    /// The same as numbers, in the unit, if all are.
    pub numbers: Option<Vec<f64>>,
    /// Unit of the numbers.
    pub unit: Unit,
    /// Whether its numbers only name rows, as those of runs and ranks do.
    pub ordinal: bool,
}

/// Columns of numbers that name rows.
pub(crate) const ORDINALS: [&str; 7] = ["seed", "flow", "run", "cell", "row", "rank", "figure"];

/// A column that is measured.
#[derive(Debug, Clone)]
pub struct Metric {
    /// The quantity.
    pub quantity: Quantity,
    /// Values by row, in the unit of the quantity; NaN for a row without a value.
    pub values: Vec<f64>,
    /// Half-widths of their 95 % intervals; NaN for a row without an interval.
    pub halves: Vec<f64>,
    /// Numbers of runs; empty if the rows are no means.
    pub runs: Vec<usize>,
    /// Better (1), worse (−1) or unclear (0), by row; empty if nothing is compared.
    pub verdicts: Vec<i8>,
}

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    More,
    /// Less is better.
    Less,
    /// Neither: a count, a parameter.
    Unknown,
}

/// Which way a metric is better, by its name.
#[must_use]
pub fn better(column: &str) -> Better {
    const MORE: [&str; 6] = [
        "goodput",
        "throughput",
        "link_share",
        "efficiency",
        "jain",
        "coding_ratio",
    ];
    const LESS: [&str; 10] = [
        "delay",
        "completion",
        "retransmi",
        "rto",
        "spurious",
        "lost",
        "dropped",
        "reorder",
        "aic",
        "bic",
    ];
    let has = |words: &[&str]| words.iter().any(|word| column.contains(word));
    if has(&MORE) {
        Better::More
    } else if has(&LESS) || column.contains("rtt") || ["ber", "ser"].contains(&column) {
        Better::Less
    } else {
        Better::Unknown
    }
}

impl Key {
    /// The values of a column; `numbers` as the column has them.
    #[must_use]
    pub fn of(column: &str, texts: Vec<String>, numbers: Option<Vec<f64>>) -> Self {
        let quantity = Quantity::of(column);
        let scaled = |number| number * quantity.factor;
        let label = heading(column);
        Self {
            // Labels of columns other than parameters leave out the unit at the end of the name.
            label: if quantity.unit != Unit::None && label == column.replace('_', " ") {
                quantity.label.clone()
            } else {
                label
            },
            texts,
            numbers: numbers.map(|numbers| numbers.into_iter().map(scaled).collect()),
            unit: quantity.unit,
            ordinal: ORDINALS.contains(&column),
        }
    }

    /// Numbers of the distinct values, at most `most` + 1.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.texts.iter().collect::<BTreeSet<_>>().len()
    }

    fn json(&self) -> Json {
        let mut values: Vec<(&String, f64)> = Vec::new();
        let mut places = std::collections::BTreeMap::new();
        let mut index = Vec::with_capacity(self.texts.len());
        for (row, text) in self.texts.iter().enumerate() {
            let place = *places.entry(text).or_insert_with(|| {
                let number = self
                    .numbers
                    .as_ref()
                    .map_or(f64::NAN, |numbers| numbers[row]);
                values.push((text, number));
                values.len() - 1
            });
            index.push(place);
        }
        let finite = values.iter().map(|(_, number)| number.abs());
        let most = finite
            .filter(|number| number.is_finite())
            .fold(0.0, f64::max);
        let (size, unit) = self.unit.shown(most);
        // The numbers of runs are names, which rounding could make one.
        let scaled = |number: f64| {
            if self.ordinal {
                number
            } else {
                rounded(number / size, DIGITS)
            }
        };
        let numbers: Vec<Json> = values
            .iter()
            .map(|(_, number)| whole(scaled(*number)))
            .collect();
        json!({
            "label": self.label,
            "unit": self.numbers.is_some().then_some(unit),
            "values": values.iter().map(|(text, _)| text).collect::<Vec<_>>(),
            "numbers": self.numbers.is_some().then_some(numbers),
            "ordinal": self.ordinal,
            "index": index,
        })
    }
}

impl Metric {
    /// Divisor of the values for people, and the unit with its prefix.
    #[must_use]
    pub fn shown(&self) -> (f64, &'static str) {
        let finite = self.values.iter().filter(|value| value.is_finite());
        self.quantity
            .unit
            .shown(finite.fold(0.0, |most, value| most.max(value.abs())))
    }

    /// Name for people, with the unit of the values shown.
    #[must_use]
    pub fn heading(&self) -> String {
        match self.shown().1 {
            "" => self.quantity.label.clone(),
            unit => format!("{} ({unit})", self.quantity.label),
        }
    }

    /// Whether there is an interval.
    #[must_use]
    pub fn has_intervals(&self) -> bool {
        self.halves.iter().any(|half| half.is_finite())
    }

    fn json(&self) -> Json {
        let (size, unit) = self.shown();
        let scaled = |values: &[f64]| {
            values
                .iter()
                .map(|value| whole(rounded(value / size, DIGITS)))
                .collect::<Vec<_>>()
        };
        json!({
            "label": self.quantity.label,
            "unit": unit,
            "better": match better(&self.quantity.column) {
                Better::More => 1,
                Better::Less => -1,
                Better::Unknown => 0,
            },
            "values": scaled(&self.values),
            "verdicts": (!self.verdicts.is_empty()).then_some(&self.verdicts),
            "halves": self.has_intervals().then(|| scaled(&self.halves)),
        })
    }
}

/// A number of a chart, rounded; null if it is not finite.
#[must_use]
pub fn finite(value: f64) -> Json {
    whole(rounded(value, POINTS))
}

/// A number as it is, whole ones without the `.0`; null if it is not finite.
fn whole(value: f64) -> Json {
    if value.is_finite() && value.abs() < 1e15 && value.fract() == 0.0 {
        // Without the `.0`.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a whole number below 10^15"
        )]
        return Json::from(value as i64);
    }
    serde_json::Number::from_f64(value).map_or(Json::Null, Json::Number)
}

impl Dataset {
    /// Most rows of so many columns whose data fit into a page.
    #[must_use]
    pub fn most_rows(columns: usize) -> usize {
        (LARGEST / 2 / OF_A_VALUE / columns.max(1)).clamp(1, 6000)
    }

    /// The data of scripts.
    #[must_use]
    pub fn json(&self) -> Json {
        json!({
            "kind": "study",
            "rows": self.rows,
            "keys": self.keys.iter().map(Key::json).collect::<Vec<_>>(),
            "metrics": self.metrics.iter().map(Metric::json).collect::<Vec<_>>(),
        })
    }

    /// Headings and cells of a table of the first `most` rows, for people. Keys come first.
    #[must_use]
    pub fn table(&self, metrics: &[usize], most: usize) -> (Vec<String>, Vec<Vec<String>>) {
        let chosen: Vec<&Metric> = metrics
            .iter()
            .filter_map(|place| self.metrics.get(*place))
            .collect();
        let keys = self.keys.iter().map(|key| key.label.clone());
        let headings = keys
            .chain(chosen.iter().map(|metric| metric.heading()))
            .collect();
        let scales: Vec<(f64, &str)> = chosen.iter().map(|metric| metric.shown()).collect();
        let row = |row: usize| {
            let keys = self.keys.iter().map(|key| key.texts[row].clone());
            let values = chosen.iter().zip(&scales).map(|(metric, (size, _))| {
                let half = Some(metric.halves[row] / size).filter(|half| half.is_finite());
                crate::text::with_half(metric.values[row] / size, half, Unit::None)
            });
            keys.chain(values).collect()
        };
        (headings, (0..self.rows.min(most)).map(row).collect())
    }
}
