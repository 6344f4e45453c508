//! Models as CSV: a line a point, all keys and all results.

use std::collections::BTreeMap;

use tmt_core::model::{Model, Outcome as Answer, Quantity, Value};

use super::{Point, models};
use crate::exit::{Failure, Outcome};

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
    let keys: Vec<String> = keys.collect();
    let results: Vec<String> = columns
        .iter()
        .flat_map(|names| names.values().cloned())
        .collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let head = keys.iter().chain(&results).map(String::as_str);
    writer
        .write_record(head.chain([NOTES]))
        .map_err(Failure::failed)?;
    for (point, row) in points.iter().zip(&rows) {
        let given: Vec<String> = point
            .params
            .pairs()
            .map(|(_, value)| value.map_or_else(String::new, |value| value.to_string()))
            .collect();
        let found = results
            .iter()
            .map(|column| row.get(column).map_or("", String::as_str));
        let notes = point.notes.join("; ");
        let record = given
            .iter()
            .map(String::as_str)
            .chain(found)
            .chain([notes.as_str()]);
        writer.write_record(record).map_err(Failure::failed)?;
    }
    writer
        .into_inner()
        .map_err(|error| Failure::failed(error.error()))
}

/// The models' table.
pub(super) fn list() -> Outcome<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer
        .write_record(["name", "about", "keys", "results", "source"])
        .map_err(Failure::failed)?;
    for model in models() {
        let keys: Vec<&str> = model.keys.iter().map(|key| key.name).collect();
        let results: Vec<&str> = model.results.iter().map(|field| field.name).collect();
        let record = [
            model.name,
            model.about,
            &keys.join(" "),
            &results.join(" "),
            model.source,
        ];
        writer.write_record(record).map_err(Failure::failed)?;
    }
    writer
        .into_inner()
        .map_err(|error| Failure::failed(error.error()))
}
