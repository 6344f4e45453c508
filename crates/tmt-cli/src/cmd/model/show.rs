//! Tables of models: one point, a sweep, or the list.

use tmt_core::model::{Model, Outcome, Quantity, Value};

use super::sweep::Sweep;
use super::{Point, models};
use crate::table::{Report, significant, wrap};

/// Number of array elements shown. JSON and CSV have all.
const SHOWN: usize = 12;

fn value(value: Option<Value>) -> String {
    match value {
        None => "-".to_owned(),
        Some(Value::Number(number)) => significant(number),
        Some(other) => other.to_string(),
    }
}

fn quantity(quantity: &Quantity) -> String {
    let list = |shown: Vec<String>, all: usize| {
        let more = if all > SHOWN {
            format!(" … ({all})")
        } else {
            String::new()
        };
        format!("{}{more}", shown.join(" "))
    };
    match quantity {
        Quantity::Number(number) => significant(*number),
        Quantity::Absent => "-".to_owned(),
        Quantity::Count(count) => count.to_string(),
        Quantity::Truth(true) => "yes".to_owned(),
        Quantity::Truth(false) => "no".to_owned(),
        Quantity::Word(word) => word.clone(),
        Quantity::Array(numbers) => {
            let shown = numbers
                .iter()
                .take(SHOWN)
                .map(|number| significant(*number));
            list(shown.collect(), numbers.len())
        }
        Quantity::Map(pairs) => {
            let shown = pairs.iter().take(SHOWN);
            let shown = shown.map(|(key, number)| format!("{key}:{}", significant(*number)));
            list(shown.collect(), pairs.len())
        }
    }
}

/// One point: keys and results, with their descriptions.
pub(super) fn one(model: &Model, point: &Point) -> String {
    let mut keys = Report::new(["key", "value", ""]).wrapped(2);
    for (key, given) in point.params.pairs() {
        keys.row(key.name, [value(given), key.about.to_owned()]);
    }
    let mut results = Report::new(["result", "value", ""]).wrapped(2);
    let fields = point.result.iter().flat_map(Outcome::fields);
    for ((name, found), field) in fields.zip(model.results) {
        // An array would widen the column of values, so it follows its description.
        match found {
            Quantity::Array(_) | Quantity::Map(_) => {
                results.row(
                    name,
                    [
                        String::new(),
                        format!("{}: {}", field.about, quantity(found)),
                    ],
                );
            }
            _ => results.row(name, [quantity(found), field.about.to_owned()]),
        }
    }
    let about = wrap(&format!("{}: {}", model.name, model.about), "  ");
    let source = wrap(&format!("source: {}", model.source), "  ");
    let mut text = format!("{about}\n{source}\n\n{keys}\n{results}");
    for note in &point.notes {
        text.push_str(&format!("\n{}\n", wrap(&format!("note: {note}"), "  ")));
    }
    text
}

/// One line per point: the swept keys, and the results that are single values.
pub(super) fn many(model: &Model, sweeps: &[Sweep], points: &[Point]) -> String {
    let answers = || points.iter().filter_map(|point| point.result.as_ref());
    let is_list =
        |(_, found): &(_, Quantity)| matches!(found, Quantity::Array(_) | Quantity::Map(_));
    let is_single = |index: &usize| !answers().any(|answer| is_list(&answer.fields()[*index]));
    let shown: Vec<usize> = (0..model.results.len()).filter(is_single).collect();
    let keys = sweeps.iter().map(|sweep| sweep.key.name);
    let headings = keys.chain(shown.iter().map(|index| model.results[*index].name));
    let mut report = Report::new(headings).names(sweeps.len());
    let mut notes: Vec<&String> = Vec::new();
    for point in points {
        let given = sweeps
            .iter()
            .map(|sweep| value(point.params.value(sweep.key)));
        let found = shown.iter().map(|index| match &point.result {
            Some(answer) => quantity(&answer.fields()[*index].1),
            None => "-".to_owned(),
        });
        let mut cells = given.chain(found);
        report.row(&cells.next().unwrap_or_default(), cells);
        for note in &point.notes {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let mut text = report.to_string();
    for note in notes {
        text.push_str(&format!("\n{}\n", wrap(&format!("note: {note}"), "  ")));
    }
    text
}

/// All models, one per line.
pub(super) fn list() -> String {
    let mut report = Report::new(["model", "what it answers, and its keys"]).wrapped(1);
    for model in models() {
        let keys: Vec<&str> = model.keys.iter().map(|key| key.name).collect();
        report.row(model.name, [format!("{}: {}", model.about, keys.join(" "))]);
    }
    report.to_string()
}
