//! Published and independently computed values of all closed forms: `fixtures/models/values.csv`.
//!
//! A row has a model, its arguments, and a result with its value. Without a tolerance the value is rounded: it may be off
//! by half a unit of its last digit. A tolerance is absolute. Results with a meaning of their own are `error` and `remark`
//! (the value is a part of their text), `no remark`, and `remarks` (their number).

use tmt_core::model::{Model, ModelError, Outcome, Quantity};

const VALUES: &str = include_str!("../../../fixtures/models/values.csv");

fn models() -> impl Iterator<Item = &'static Model> {
    let link = tmt_core::model::MODELS.iter();
    link.chain(fluid_tcp::model::MODELS).copied()
}

/// Half a unit of the last digit of a decimal number.
fn half_a_digit(value: &str) -> f64 {
    let (digits, exponent) = value.split_once('e').unwrap_or((value, "0"));
    let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len());
    let exponent = exponent.parse::<i32>().unwrap() - i32::try_from(decimals).unwrap();
    // One part in 10^9 more, as the value itself is a rounded double.
    format!("0.5000000005e{exponent}").parse().unwrap()
}

fn is_near(found: f64, value: &str, tolerance: &str) -> bool {
    let expected: f64 = value.parse().unwrap();
    if expected.is_infinite() {
        return found.total_cmp(&expected).is_eq();
    }
    let tolerance = match tolerance {
        "" => half_a_digit(value),
        given => given.parse().unwrap(),
    };
    (found - expected).abs() <= tolerance
}

fn agrees(found: &Result<Outcome, ModelError>, result: &str, value: &str, tolerance: &str) -> bool {
    let outcome = match found {
        Ok(outcome) => outcome,
        Err(error) => return result == "error" && error.to_string().contains(value),
    };
    let remarks = outcome.remarks();
    let is_remarked = || remarks.iter().any(|remark| remark.contains(value));
    let given = || outcome.fields().iter().find(|(name, _)| *name == result);
    match (result, given().map(|(_, quantity)| quantity)) {
        ("remark", _) => is_remarked(),
        ("no remark", _) => !is_remarked(),
        ("remarks", _) => remarks.len().to_string() == value,
        (_, Some(Quantity::Absent)) => value == "none",
        (_, Some(Quantity::Word(word))) => word == value,
        (name, _) => outcome
            .get(name)
            .is_some_and(|number| is_near(number, value, tolerance)),
    }
}

#[test]
fn every_model_gives_its_published_values() {
    let mut table = csv::Reader::from_reader(VALUES.as_bytes());
    let mut faults = Vec::new();
    let mut untested: Vec<&str> = models().map(|model| model.name).collect();
    for row in table.records() {
        let row = row.unwrap();
        let [name, arguments, result, value, tolerance, source] =
            [0, 1, 2, 3, 4, 5].map(|i| &row[i]);
        let model = models().find(|model| model.name == name);
        let found = model
            .unwrap_or_else(|| panic!("no model {name}"))
            .run(arguments);
        untested.retain(|model| *model != name);
        if !agrees(&found, result, value, tolerance) {
            faults.push(format!(
                "{name} {arguments}: {result} is not {value} ({source}): {found:?}"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // A distribution.
    untested.retain(|model| *model != "ge-dist");
    assert!(untested.is_empty(), "no values of {untested:?}");
}
