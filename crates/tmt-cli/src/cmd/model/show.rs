//! Tables of models: one point, a sweep, or the list.

use std::collections::BTreeSet;

use tmt_core::model::{Model, Outcome, Quantity, Value};

use super::sweep::Sweep;
use super::{Point, models};
use crate::table::{Table, significant, wrap};

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
    let keys = Table::of(point.params.pairs())
        .words("key", |(key, _)| key.name)
        .plain("value", |(_, given)| value(*given))
        .wrapped("", |(key, _)| key.about);
    let fields = point.result.iter().flat_map(Outcome::fields);
    // An array would widen the column of values, so it follows its description.
    let is_list = |found: &Quantity| matches!(found, Quantity::Array(_) | Quantity::Map(_));
    let results = Table::of(fields.zip(model.results))
        .words("result", |((name, _), _)| *name)
        .plain("value", |((_, found), _)| match found {
            found if is_list(found) => String::new(),
            found => quantity(found),
        })
        .wrapped("", |((_, found), field)| match found {
            found if is_list(found) => format!("{}: {}", field.about, quantity(found)),
            _ => field.about.to_owned(),
        });
    let about = wrap(&format!("{}: {}", model.name, model.about), "  ");
    let source = wrap(&format!("source: {}", model.source), "  ");
    let mut text = format!("{about}\n{source}\n\n{keys}\n{results}");
    text += &notes(std::slice::from_ref(point));
    text
}

/// The notes of some points, once each.
fn notes(points: &[Point]) -> String {
    let mut notes: Vec<&String> = points.iter().flat_map(|point| &point.notes).collect();
    let mut known = BTreeSet::new();
    notes.retain(|note| known.insert(*note));
    let line = |note| format!("\n{}\n", wrap(&format!("note: {note}"), "  "));
    let lines: Vec<String> = notes.into_iter().map(line).collect();
    lines.concat()
}

/// One line per point: the swept keys, and the results that are single values.
pub(super) fn many(model: &Model, sweeps: &[Sweep], points: &[Point]) -> String {
    let answers = || points.iter().filter_map(|point| point.result.as_ref());
    let is_list =
        |(_, found): &(_, Quantity)| matches!(found, Quantity::Array(_) | Quantity::Map(_));
    let is_single = |index: &usize| !answers().any(|answer| is_list(&answer.fields()[*index]));
    let shown: Vec<usize> = (0..model.results.len()).filter(is_single).collect();
    let mut table = Table::of(points);
    for sweep in sweeps {
        table = table.plain(sweep.key.name, |point| value(point.params.value(sweep.key)));
    }
    table = table.names_so_far();
    for index in shown {
        table = table.plain(model.results[index].name, |point| {
            let answer = point.result.as_ref()?;
            Some(quantity(&answer.fields()[index].1))
        });
    }
    table.to_string() + &notes(points)
}

/// All models, one per line.
pub(super) fn list() -> String {
    Table::of(models())
        .words("model", |model| model.name)
        .wrapped("what it answers, and its keys", |model| {
            let keys: Vec<&str> = model.keys.iter().map(|key| key.name).collect();
            format!("{}: {}", model.about, keys.join(" "))
        })
        .to_string()
}
