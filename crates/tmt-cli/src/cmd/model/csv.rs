//! Models as CSV: a line a point, all keys and all results.

use std::collections::BTreeMap;

use tmt_core::model::{Model, Outcome as Answer, Quantity, Value};

use super::{Point, models};
use crate::exit::Outcome;
use crate::output;

/// The name of the column of remarks.
const NOTES: &str = "notes";

/// Cells of one result by their columns' names; an array has a column a place.
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

/// The points' table. A key that is also the name of a result has `key.` in front.
pub(super) fn of(model: &Model, points: &[Point]) -> Outcome<Vec<u8>> {
    let is_result = |name: &str| model.results.iter().any(|field| field.name == name);
    // By the place of the result: its columns in all points, in order of their place.
    let mut columns: Vec<BTreeMap<(usize, String), String>> =
        vec![BTreeMap::new(); model.results.len()];
    let rows: Vec<BTreeMap<String, String>> = points
        .iter()
        .map(|point| {
            let mut row = BTreeMap::new();
            let fields = point.result.iter().flat_map(Answer::fields);
            for (place, (name, quantity)) in fields.enumerate() {
                for (column, text) in cells(name, quantity) {
                    columns[place].insert((column.len(), column.clone()), column.clone());
                    row.insert(column, text);
                }
            }
            row
        })
        .collect();
    let keys = model.keys.iter().map(|key| {
        if is_result(key.name) {
            format!("key.{}", key.name)
        } else {
            key.name.to_owned()
        }
    });
    let results: Vec<String> = columns
        .iter()
        .flat_map(|names| names.values().cloned())
        .collect();
    let rows = points.iter().zip(&rows).map(|(point, row)| {
        let text = |value: Option<Value>| value.map_or_else(String::new, |value| value.to_string());
        let given = point.params.pairs().map(|(_, value)| text(value));
        let found = results.iter().map(|name| row.get(name).cloned());
        let notes = point.notes.join("; ");
        given
            .chain(found.map(Option::unwrap_or_default))
            .chain([notes])
            .collect()
    });
    let head = keys
        .chain(results.iter().cloned())
        .chain([NOTES.to_owned()]);
    table(std::iter::once(head.collect()).chain(rows))
}

/// Rows as CSV.
fn table(rows: impl IntoIterator<Item = Vec<String>>) -> Outcome<Vec<u8>> {
    let mut rows = rows.into_iter();
    output::csv(|writer| rows.try_for_each(|row| writer.write_record(row)))
}

/// The models' table.
pub(super) fn list() -> Outcome<Vec<u8>> {
    let row = |cells: [&str; 5]| cells.map(str::to_owned).to_vec();
    let models = models().map(|model| {
        let keys: Vec<&str> = model.keys.iter().map(|key| key.name).collect();
        let results: Vec<&str> = model.results.iter().map(|field| field.name).collect();
        let (keys, results) = (keys.join(" "), results.join(" "));
        row([model.name, model.about, &keys, &results, model.source])
    });
    let head = row(["name", "about", "keys", "results", "source"]);
    table(std::iter::once(head).chain(models))
}
