//! `--sweep`: values of a key, from a range or a list.

use tmt_core::math::num::{floor_u64, pow};
use tmt_core::model::{Arguments, Domain, Key, Model, Value};
use tmt_core::types::to_f64;

/// Largest number of points.
const MAX_POINTS: usize = 100_000;

const FORM: &str =
    "KEY=FROM..TO (integers), KEY=FROM..TO:COUNT, KEY=FROM..TO:log:COUNT or KEY=V1,V2,…";

/// A key and its values.
#[derive(Debug)]
pub(in crate::cmd) struct Sweep {
    pub(super) key: &'static Key,
    pub(super) values: Vec<Value>,
}

impl Sweep {
    /// Parses the value of `--sweep` for this model.
    pub(super) fn parse(model: &Model, text: &str) -> Result<Self, String> {
        let refuse = |why: String| format!("--sweep {text}: {why}");
        let (name, range) = text
            .split_once('=')
            .ok_or_else(|| refuse(format!("expected {FORM}")))?;
        let key = model.key(name).map_err(|error| error.to_string())?;
        Self::of(key, range).map_err(refuse)
    }

    /// The values of a range or list of a key.
    pub(in crate::cmd) fn of(key: &'static Key, range: &str) -> Result<Self, String> {
        let form = || format!("expected {FORM}");
        let Some((from, rest)) = range.split_once("..") else {
            let values = range.split(',').map(|text| key.parse(text));
            let values = values.collect::<Result<_, _>>();
            return Ok(Self {
                key,
                values: values.map_err(|error| error.to_string())?,
            });
        };
        if matches!(key.domain, Domain::Word(_)) {
            return Err(format!(
                "{} takes {}; expected a list with commas",
                key.name,
                key.expected()
            ));
        }
        let parts: Vec<&str> = rest.split(':').collect();
        let number = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite());
        let (to, log, count) = match parts[..] {
            [to] => (to, false, None),
            [to, "log", count] => (to, true, Some(count)),
            [to, "lin", count] | [to, count] => (to, false, Some(count)),
            _ => return Err(form()),
        };
        let from = number(from).ok_or_else(form)?;
        let to = number(to).ok_or_else(form)?;
        // Points of an integer range are rounded, but its ends must be exact.
        for end in [from, to] {
            key.value(end)
                .ok_or_else(|| key.refusal(&end.to_string()).to_string())?;
        }
        let numbers = match count {
            None => whole_steps(key, from, to).ok_or_else(|| {
                "found no number of points, expected FROM..TO:COUNT or FROM..TO:log:COUNT"
                    .to_owned()
            })?,
            Some(count) => {
                let count: usize = count.parse().map_err(|_| form())?;
                if !(2..=MAX_POINTS).contains(&count) {
                    return Err(format!("expected 2 to {MAX_POINTS} points"));
                }
                if log && !(from > 0.0 && to > 0.0) {
                    return Err("expected a logarithmic range above 0".to_owned());
                }
                spaced(from, to, log, count)
            }
        };
        Ok(Self {
            key,
            values: values(key, &numbers)?,
        })
    }

    /// The values that are numbers.
    pub(in crate::cmd) fn numbers(&self) -> impl Iterator<Item = f64> {
        self.values.iter().filter_map(|value| match value {
            Value::Number(number) => Some(*number),
            Value::Count(_) | Value::Word(_) => None,
        })
    }

    /// Number of values.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }
}

/// The integers from `from` to `to`, if the key takes integers.
fn whole_steps(key: &Key, from: f64, to: f64) -> Option<Vec<f64>> {
    let Domain::Count(..) = key.domain else {
        return None;
    };
    let steps = (to - from).abs();
    let step = if to < from { -1.0 } else { 1.0 };
    let numbers = (0..=floor_u64(steps)).map(|i| from + step * to_f64(i));
    (steps < to_f64(MAX_POINTS as u64)).then(|| numbers.collect())
}

/// `count` points from `from` to `to`, both ends exact.
fn spaced(from: f64, to: f64, log: bool, count: usize) -> Vec<f64> {
    let last = count - 1;
    (0..count)
        .map(|i| {
            let share = to_f64(i as u64) / to_f64(last as u64);
            match i {
                0 => from,
                _ if i == last => to,
                _ if log => from * pow(to / from, share),
                _ => from + (to - from) * share,
            }
        })
        .collect()
}

/// The numbers as values of the key. Integers are rounded, and duplicates dropped.
fn values(key: &Key, numbers: &[f64]) -> Result<Vec<Value>, String> {
    let mut values: Vec<Value> = Vec::new();
    for number in numbers {
        let number = match key.domain {
            Domain::Count(..) => number.round(),
            _ => *number,
        };
        let value = key
            .value(number)
            .ok_or_else(|| key.refusal(&number.to_string()).to_string())?;
        if values.last() != Some(&value) {
            values.push(value);
        }
    }
    Ok(values)
}

/// All combinations. The last key varies fastest.
pub(in crate::cmd) fn points(
    fixed: &Arguments,
    sweeps: &[Sweep],
) -> Result<Vec<Arguments>, String> {
    let total = sweeps
        .iter()
        .try_fold(1usize, |total, sweep| total.checked_mul(sweep.len()));
    if total.is_none_or(|total| total > MAX_POINTS) {
        return Err(format!(
            "expected at most {MAX_POINTS} points of all sweeps together"
        ));
    }
    let mut points = vec![fixed.clone()];
    for sweep in sweeps {
        let mut next = Vec::with_capacity(points.len() * sweep.len());
        for point in &points {
            for value in &sweep.values {
                let mut point = point.clone();
                let given = point.give(sweep.key, *value);
                given.map_err(|_| format!("'{}' is given more than once", sweep.key.name))?;
                next.push(point);
            }
        }
        points = next;
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::model::models;

    fn swept(text: &str) -> Result<Vec<String>, String> {
        let fec = models().find(|model| model.name == "fec").unwrap();
        let sweep = Sweep::parse(fec, text)?;
        Ok(sweep.values.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn ranges_and_lists_have_the_stated_values() {
        for (text, expected) in [
            ("nd=3..6", "3 4 5 6"),
            ("nd=6..3", "6 5 4 3"),
            ("beta=0..1:5", "0 0.25 0.5 0.75 1"),
            ("beta=0.1..0.3:lin:3", "0.1 0.2 0.3"),
            ("beta=1e-4..1e-2:log:3", "0.0001 0.001 0.01"),
            ("nd=1..10:log:5", "1 2 3 6 10"),
            ("nr=1,5,2", "1 5 2"),
            ("NR=7", "7"),
        ] {
            assert_eq!(swept(text).unwrap().join(" "), expected, "{text}");
        }
    }

    #[test]
    fn invalid_ranges_are_refused_with_the_accepted_forms() {
        for (text, word) in [
            ("nd", "expected KEY=FROM..TO"),
            ("nx=1..2", "did you mean"),
            ("beta=0..1", "no number of points"),
            ("beta=0..1:log:5", "logarithmic range above 0"),
            ("beta=0..2:5", "a number from 0 to 1"),
            ("beta=0..1:cubic:5", "expected KEY=FROM..TO"),
            ("beta=0..1:1", "2 to 100000 points"),
            ("nd=1.5..3.5", "found '1.5', expected a whole number"),
            ("beta=a..1:5", "expected KEY=FROM..TO"),
            ("nd=1,x", "a whole number"),
        ] {
            let error = swept(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
