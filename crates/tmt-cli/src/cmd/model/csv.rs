//! CSV of models: one line per point, with all keys and results.

use std::collections::BTreeMap;

use tmt_core::model::{KEY_PREFIX, Model, Outcome as Answer, Quantity, Value};

use super::{Point, models};
use crate::exit::Outcome;
use crate::table::Table;

/// Name of the column of notes.
const NOTES: &str = "notes";

/// Cells of one result, with the names of their columns. An array has a column per element.
fn cells(name: &str, quantity: &Quantity) -> Vec<(String, String)> {
    let number = |number: f64| {
        // Infinities are empty, as they are null in JSON.
        if number.is_finite() {
            Value::Number(number).to_string()
        } else {
            String::new()
        }
    };
    match quantity {
        Quantity::Number(value) => vec![(name.to_owned(), number(*value))],
        Quantity::Absent => vec![(name.to_owned(), String::new())],
        Quantity::Count(count) => vec![(name.to_owned(), count.to_string())],
        Quantity::Truth(truth) => vec![(name.to_owned(), truth.to_string())],
        Quantity::Word(word) => vec![(name.to_owned(), word.clone())],
        Quantity::Array(numbers) => numbers
            .iter()
            .enumerate()
            .map(|(place, value)| (format!("{name}[{place}]"), number(*value)))
            .collect(),
        Quantity::Map(pairs) => pairs
            .iter()
            .map(|(key, value)| (format!("{name}[{key}]"), number(*value)))
            .collect(),
    }
}

/// CSV of the points. A key with the name of a result has the prefix [`KEY_PREFIX`].
pub(super) fn of(model: &Model, points: &[Point]) -> Outcome<Vec<u8>> {
    // Ordered by the index of the result and of its element; one cell per point.
    let mut columns: BTreeMap<(usize, usize, String), Vec<String>> = BTreeMap::new();
    for (index, point) in points.iter().enumerate() {
        let fields = point.result.iter().flat_map(Answer::fields);
        for (place, (name, quantity)) in fields.enumerate() {
            for (column, text) in cells(name, quantity) {
                let column = columns.entry((place, column.len(), column));
                column.or_insert_with(|| vec![String::new(); points.len()])[index] = text;
            }
        }
    }
    let mut table = Table::of(points.iter().enumerate());
    for key in model.keys {
        let is_result = model.results.iter().any(|field| field.name == key.name);
        let prefix = if is_result { KEY_PREFIX } else { "" };
        let name = format!("{prefix}{}", key.name);
        table = table.value(name, |(_, point)| {
            point.params.value(key).map(|value| value.to_string())
        });
    }
    for ((.., name), cells) in &columns {
        table = table.value(name, |(index, _)| cells[*index].as_str());
    }
    table
        .value(NOTES, |(_, point)| point.notes.join("; "))
        .csv()
}

/// CSV of the list of models.
pub(super) fn list() -> Outcome<Vec<u8>> {
    Table::of(models())
        .value("name", |model| model.name)
        .value("about", |model| model.about)
        .value("keys", |model| {
            let keys: Vec<&str> = model.keys.iter().map(|key| key.name).collect();
            keys.join(" ")
        })
        .value("results", |model| {
            let results: Vec<&str> = model.results.iter().map(|field| field.name).collect();
            results.join(" ")
        })
        .value("source", |model| model.source)
        .csv()
}
