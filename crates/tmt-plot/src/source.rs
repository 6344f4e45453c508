//! Tables and documents as columns of numbers and labels.

mod read;

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};
use tmt_core::format::records::{Cell, Records, Value, cells};
use tmt_core::model::KEY_PREFIX;
use tmt_core::named::suggestion;
use tmt_core::types::Slot;

use crate::PlotError;
use crate::picture::{Axis, Unit};

pub use read::Trace;

/// Columns of a table, from which a picture is made.
#[derive(Debug, Default)]
pub struct Source {
    /// The rows.
    pub table: Records,
    /// Schema of the document, `tmt.NAME/VERSION`; empty for a table.
    pub schema: String,
    /// Notes on how it was read, which the picture has.
    pub notes: Vec<String>,
    /// Head of a log in CSV, names and values of its `# NAME: VALUE` lines, or the key-value pairs of Parquet; of a document its `tool`;
    /// empty for others.
    pub head: Vec<(String, String)>,
    /// Settings of the document.
    params: Json,
    /// Results of the document beside its rows.
    results: Json,
}

/// Endings of the names of columns, their unit, and what the numbers are multiplied by.
const ENDS: [(&str, Unit, f64); 9] = [
    ("_ns", Unit::Seconds, 1e-9),
    ("_us", Unit::Seconds, 1e-6),
    ("_ms", Unit::Seconds, 1e-3),
    ("_s", Unit::Seconds, 1.0),
    ("_bps", Unit::BitsPerSecond, 1.0),
    ("_bytes", Unit::Bytes, 1.0),
    ("_packets", Unit::Packets, 1.0),
    ("_percent", Unit::Percent, 1.0),
    ("_db", Unit::Decibels, 1.0),
];

/// Columns whose name does not say what they are: label and unit.
const NAMED: [(&str, &str, Unit); 17] = [
    ("cwnd", "cwnd", Unit::Packets),
    ("ssthresh", "ssthresh", Unit::Packets),
    ("in_flight", "in flight", Unit::Packets),
    ("queue", "queue", Unit::Packets),
    ("srtt", "smoothed RTT", Unit::Seconds),
    ("rtt", "RTT", Unit::Seconds),
    ("rto", "RTO", Unit::Seconds),
    ("es_n0", "Es/N0", Unit::Decibels),
    ("ebn0", "Eb/N0", Unit::Decibels),
    ("ecn0", "Ec/N0", Unit::Decibels),
    ("cn0", "C/N0", Unit::DecibelHertz),
    ("ber", "bit error rate", Unit::None),
    ("cc", "congestion control", Unit::None),
    ("aic", "AIC", Unit::None),
    ("bic", "BIC", Unit::None),
    ("tx_time", "transmission time", Unit::Seconds),
    ("decode_delay", "decoding delay", Unit::Seconds),
];

/// Column, the unit of its numbers, and what they are multiplied by to get it.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// Name of the column.
    pub column: String,
    /// Name for people, without the unit.
    pub label: String,
    /// Unit.
    pub unit: Unit,
    /// Factor of the numbers.
    pub factor: f64,
}

impl Quantity {
    /// Meaning of the name of a column.
    #[must_use]
    pub fn of(column: &str) -> Self {
        let bare = column.strip_prefix("total_").unwrap_or(column);
        let ended = ENDS.iter().find_map(|(end, unit, factor)| {
            Some((bare.strip_suffix(end)?, *unit, *factor)).filter(|(stem, ..)| !stem.is_empty())
        });
        let (stem, mut unit, factor) = ended.unwrap_or((bare, Unit::None, 1.0));
        let named = NAMED.iter().find(|(name, ..)| *name == stem);
        if let Some((.., known)) = named
            && (unit == Unit::None || (unit, *known) == (Unit::Decibels, Unit::DecibelHertz))
        {
            unit = *known;
        }
        Self {
            column: column.to_owned(),
            label: named.map_or_else(
                || stem.replace('_', " "),
                |(_, label, _)| (*label).to_owned(),
            ),
            unit,
            factor,
        }
    }

    /// A linear axis of it.
    #[must_use]
    pub fn axis(&self) -> Axis {
        Axis::new(self.label.clone(), self.unit)
    }
}

/// The numbers of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Numbers {
    /// By row, in the unit of the quantity; NaN for a row without a value.
    pub values: Vec<f64>,
    /// How many are NaN or infinite in the table.
    pub odd: usize,
}

impl Source {
    /// A table.
    #[must_use]
    pub fn of_table(table: Records) -> Self {
        Self {
            table,
            ..Self::default()
        }
    }

    /// The rows of a trace, with `attempts` those of a timeline.
    #[must_use]
    pub fn of_slots(slots: &[Slot], attempts: &[u32]) -> Self {
        let mut table = Records::default();
        let whole = |nanos: u64| Some(Value::Whole(i64::try_from(nanos).unwrap_or(i64::MAX)));
        for (place, slot) in slots.iter().enumerate() {
            let attempts = attempts.get(place);
            let attempts = attempts.map(|attempts| ("attempts", whole(u64::from(*attempts))));
            let cells = [
                ("tx_time_ns", whole(slot.tx_time().as_nanos())),
                ("decode_delay_ns", whole(slot.decode_delay().as_nanos())),
            ];
            table.row(cells.into_iter().chain(attempts));
        }
        Self::of_table(table)
    }

    /// A JSON document that `tmt` has written. Its rows are its results: candidates, runs (of each link), or the objects of an array. A mean
    /// with its interval becomes the columns `NAME`, `NAME_ci95` and `NAME_runs`.
    ///
    /// # Errors
    /// Something else than such a document.
    pub fn of_document(document: &Json) -> Result<Self, PlotError> {
        let schema = document.get("schema").and_then(Json::as_str);
        let (Some(schema), Some(results)) = (schema, document.get("results")) else {
            return Err(PlotError::Data(
                "found JSON without `schema` and `results`, expected a document that tmt has written".to_owned(),
            ));
        };
        let of_runs = |run: &Json| {
            let mut row = run.as_object().cloned().unwrap_or_default();
            row.remove("flows");
            row
        };
        let inner = |name: &str| results.get(name).and_then(Json::as_array);
        let rows: Vec<Map<String, Json>> = if let Some(rows) = inner("candidates") {
            rows.iter()
                .filter_map(|row| row.as_object().cloned())
                .collect()
        } else if let Some(models) = inner("fits") {
            models
                .iter()
                .filter_map(|model| model.as_object().cloned())
                .collect()
        } else if let Some(runs) = inner("runs") {
            runs.iter().map(of_runs).collect()
        } else if let Some(links) = results.get("links").and_then(Json::as_object) {
            let of_link = |(name, link): (&String, &Json)| {
                let runs = link.get("runs").and_then(Json::as_array).into_iter();
                let named = runs.flatten().map(|run| {
                    let mut row = Map::from_iter([("link".to_owned(), Json::from(&**name))]);
                    row.extend(of_runs(run));
                    row
                });
                named.collect::<Vec<_>>()
            };
            links.iter().flat_map(of_link).collect()
        } else if let Some(all) = results.as_array() {
            all.iter()
                .flat_map(|one| of_figure(one, all.len()))
                .collect()
        } else {
            results.as_object().cloned().into_iter().collect()
        };
        let named = rows.iter().filter_map(|row| row.get("result")?.as_object());
        let named: BTreeSet<String> = named.flat_map(Map::keys).cloned().collect();
        let mut table = Records::default();
        for row in rows {
            table.row(cells(&flat(row, &named)));
        }
        Ok(Self {
            table,
            schema: schema.to_owned(),
            params: document.get("params").cloned().unwrap_or_default(),
            results: beside_rows(results),
            head: head_of(document),
            ..Self::default()
        })
    }

    /// Name of the document, without its version; empty for a table.
    #[must_use]
    pub fn document(&self) -> &str {
        let name = self.schema.split('/').next().unwrap_or("");
        name.strip_prefix("tmt.").unwrap_or(name)
    }

    /// All settings of the document; null for a table.
    #[must_use]
    pub fn params(&self) -> &Json {
        &self.params
    }

    /// A result of the document beside its rows, such as the winner of advice; null without it.
    #[must_use]
    pub fn result(&self, name: &str) -> &Json {
        self.results.get(name).unwrap_or(&Json::Null)
    }

    /// A setting of the document; null without it.
    #[must_use]
    pub fn param(&self, name: &str) -> &Json {
        self.params.get(name).unwrap_or(&Json::Null)
    }

    /// Whether a column holds values of a setting of the document, rather than results. A result may have the name of a setting, whose
    /// column is then marked.
    #[must_use]
    pub fn is_setting(&self, column: &str) -> bool {
        let has = |name: &str| self.table.column(name).is_some();
        let is_marked = column.strip_prefix(KEY_PREFIX).is_some_and(has);
        is_marked || !self.param(column).is_null() && !has(&format!("{KEY_PREFIX}{column}"))
    }

    /// Whether there is a column of this name, or one that is a time of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.column(name).is_some()
    }

    /// The column that `name` means: itself, or with a unit at its end.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<String> {
        let plain = name.replace('-', "_");
        let with_units = ENDS.iter().map(|(end, ..)| format!("{plain}{end}"));
        let mut all = [name.to_owned(), plain.clone()]
            .into_iter()
            .chain(with_units);
        all.find(|name| self.table.names().any(|known| known == name))
    }

    /// The quantity of the column that `name` means.
    ///
    /// # Errors
    /// There is no such column.
    pub fn quantity(&self, name: &str) -> Result<Quantity, PlotError> {
        let column = self.column(name).ok_or_else(|| {
            let names: Vec<&str> = self.table.names().collect();
            let suggestion = suggestion(name, names.iter().copied());
            let left: Vec<String> = self.left_out().map(|text| format!(". {text}")).collect();
            PlotError::Asked(format!(
                "found no column {name}{suggestion}, expected one of {}{}",
                names.join(", "),
                left.concat().trim_end_matches('.')
            ))
        })?;
        Ok(Quantity::of(&column))
    }

    /// What is to be said of each column that is left out, for the type of its values.
    pub fn left_out(&self) -> impl Iterator<Item = String> {
        let all = self.table.left_out().iter();
        all.map(|(name, kind)| {
            format!(
                "The column {name} is left out: its values have the type {kind}, which is none of numbers, text and truth values."
            )
        })
    }

    /// The numbers of a column.
    ///
    /// # Errors
    /// A value that is no number.
    pub fn numbers(&self, quantity: &Quantity) -> Result<Numbers, PlotError> {
        let mut numbers = Numbers {
            values: Vec::with_capacity(self.table.len()),
            odd: 0,
        };
        let column = self.table.column(&quantity.column);
        for row in 0..self.table.len() {
            let value = match column.and_then(|column| column.value(row)) {
                None => f64::NAN,
                Some(Cell::Real(real)) if !real.is_finite() => {
                    numbers.odd += 1;
                    f64::NAN
                }
                Some(Cell::Truth(truth)) => f64::from(u8::from(truth)),
                Some(value) => value.number().ok_or_else(|| {
                    PlotError::Asked(format!(
                        "row {}, column {}: found '{}', expected a number",
                        row + 1,
                        quantity.column,
                        value.text()
                    ))
                })?,
            };
            // An exact division by a power of ten, so that 4 ms are 0.004 s.
            numbers.values.push(if quantity.factor < 1.0 {
                value / (1.0 / quantity.factor).round()
            } else {
                value * quantity.factor
            });
        }
        Ok(numbers)
    }

    /// The columns of the ends of the intervals of a column, `NAME_low` and `NAME_high`: in documents of tmt and of our values beside
    /// published ones. In other tables these names may mean something else.
    #[must_use]
    pub fn ends(&self, column: &str) -> Option<[String; 2]> {
        let is_known = column == "ours" || !self.schema.is_empty();
        let ends = ["low", "high"].map(|end| format!("{column}_{end}"));
        let has = |name: &String| self.table.column(name).is_some();
        (is_known && ends.iter().all(has)).then_some(ends)
    }

    /// Half-widths of the intervals that columns of their [`ends`](Self::ends) give, in the unit of the quantity; NaN for a row without
    /// an interval, which one of no width is not. `None` without these columns.
    ///
    /// # Errors
    /// A value that is not a number.
    pub fn halves(&self, quantity: &Quantity) -> Result<Option<Vec<f64>>, PlotError> {
        let Some(ends) = self.ends(&quantity.column) else {
            return Ok(None);
        };
        let [low, high] = ends.map(|column| {
            self.numbers(&Quantity {
                column,
                ..quantity.clone()
            })
        });
        let (low, high) = (low?.values, high?.values);
        let half = |(low, high): (&f64, &f64)| match ((high - low) / 2.0).abs() {
            0.0 => f64::NAN,
            half => half,
        };
        Ok(Some(low.iter().zip(&high).map(half).collect()))
    }

    /// Whether a row of published values and ours is a statement that holds or not, so that its numbers are 0 or 1.
    #[must_use]
    pub fn is_statement(&self, row: usize) -> bool {
        let is_truth = |name: &str| {
            let number = self.table.value(row, name).and_then(Cell::number);
            number.is_some_and(|number| [0.0, 1.0].contains(&number))
        };
        let unit = self.text(row, "unit");
        self.text(row, "quantity") == "statement"
            && unit.is_empty()
            && is_truth("published")
            && is_truth("ours")
    }

    /// Whether all values of a column are numbers.
    #[must_use]
    pub fn is_number(&self, column: &str) -> bool {
        let column = self.table.column(column);
        let mut values =
            (0..self.table.len()).filter_map(|row| column.and_then(|column| column.value(row)));
        values.all(|value| !matches!(value, Cell::Text(_) | Cell::Truth(_)))
    }

    /// The value of a row as text; empty without one.
    #[must_use]
    pub fn text(&self, row: usize, column: &str) -> String {
        self.table
            .value(row, column)
            .map_or_else(String::new, Cell::text)
    }
}

/// The rows of an element of results: itself, or those of a figure, named by it where there are several.
fn of_figure(one: &Json, figures: usize) -> Vec<Map<String, Json>> {
    let Some(rows) = one.get("rows").and_then(Json::as_array) else {
        return one.as_object().cloned().into_iter().collect();
    };
    let name = one.get("figure").filter(|_| figures > 1);
    let rows = rows.iter().filter_map(Json::as_object).map(|row| {
        let mut named: Map<String, Json> = Map::new();
        named.extend(name.map(|name| ("figure".to_owned(), name.clone())));
        named.extend(row.clone());
        named
    });
    rows.collect()
}

/// What a document says of itself, as the footer of Parquet has it: the program, and the parameter file that repeats it as a string of
/// JSON.
fn head_of(document: &Json) -> Vec<(String, String)> {
    let text = |name: &str| document.get(name).filter(|value| value.is_string());
    let tool = text("tool").and_then(Json::as_str).map(str::to_owned);
    let file = text("params_file").map(Json::to_string);
    let named = |(name, value): (&str, Option<String>)| Some((name.to_owned(), value?));
    [("tool", tool), ("params", file)]
        .into_iter()
        .filter_map(named)
        .collect()
}

/// Results that are no rows; of figures their names, with what is said of them.
fn beside_rows(results: &Json) -> Json {
    const ROWS: [&str; 4] = ["candidates", "fits", "runs", "rows"];
    if let Some(all) = results.as_array() {
        let figures = all.iter().filter(|one| one.get("figure").is_some());
        return serde_json::json!({ "figures": figures.map(beside_rows).collect::<Vec<_>>() });
    }
    let all = results.as_object().into_iter().flatten();
    all.filter(|(name, _)| !ROWS.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A row whose nested objects are columns of their own. A parameter with the name of a result of any row is named as in the CSV of
/// models.
fn flat(row: Map<String, Json>, results: &BTreeSet<String>) -> Map<String, Json> {
    let mut all = Map::new();
    for (name, value) in row {
        match value {
            Json::Object(inner) if inner.contains_key("mean") => {
                for (key, value) in inner {
                    let name = match key.as_str() {
                        "mean" => name.clone(),
                        key => format!("{name}_{key}"),
                    };
                    all.insert(name, value);
                }
            }
            Json::Object(inner) if name == "params" => {
                let named = inner.into_iter().map(|(key, value)| {
                    let prefix = if results.contains(&key) {
                        KEY_PREFIX
                    } else {
                        ""
                    };
                    (format!("{prefix}{key}"), value)
                });
                all.extend(named);
            }
            Json::Object(inner) => all.extend(inner),
            value => {
                all.insert(name, value);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_columns_say_label_and_unit() {
        let found = Quantity::of("total_goodput_bps");
        assert_eq!(
            (found.label.as_str(), found.unit),
            ("goodput", Unit::BitsPerSecond)
        );
        let found = Quantity::of("srtt_ns");
        assert_eq!(
            (found.label.as_str(), found.unit, found.factor),
            ("smoothed RTT", Unit::Seconds, 1e-9)
        );
        assert_eq!(Quantity::of("_s").unit, Unit::None);
        let units = ["cn0_db", "ecn0_db"].map(|column| Quantity::of(column).unit);
        assert_eq!(units, [Unit::DecibelHertz, Unit::Decibels]);
    }

    #[test]
    fn means_of_documents_are_columns_with_their_intervals() {
        let document = json!({
            "schema": "tmt.advise/2",
            "results": {"candidates": [{"scheme": "arq", "goodput_bps": {"mean": 2.0, "ci95": 0.5, "runs": 4}}]}
        });
        let source = Source::of_document(&document).unwrap();
        assert!(source.table.names().eq([
            "scheme",
            "goodput_bps",
            "goodput_bps_ci95",
            "goodput_bps_runs"
        ]));
        assert_eq!(source.document(), "advise");
        assert!(Source::of_document(&json!([1])).is_err());
    }

    #[test]
    fn unknown_columns_are_refused_with_the_nearest() {
        let mut table = Records::default();
        table.row([("goodput_bps", Some(Value::Real(f64::INFINITY)))]);
        let source = Source::of_table(table);
        let found = source.quantity("goodput").unwrap();
        assert_eq!(source.numbers(&found).unwrap().odd, 1);
        let error = source.quantity("godput_bps").unwrap_err().to_string();
        assert!(error.contains("did you mean 'goodput_bps'?"), "{error}");
    }
}
