//! Plans in TOML.

use std::fmt::Write as _;
use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::names::{self, parameter};
use super::{Choice, Draft, Plan, PlanError, Stop, is_list};

/// A value of TOML and its place.
type Given<'a> = Spanned<DeValue<'a>>;

pub(super) fn parse(text: &str) -> Result<Draft, PlanError> {
    let table = DeTable::parse(text).map_err(|error| PlanError {
        place: error.span().map(|span| place(text, &span)),
        ..PlanError::whole(format!(
            "{}; expected lines such as rtt = \"500ms\" or cc = [\"cubic\", \"bbr\"]",
            error.message().trim()
        ))
    })?;
    of_table(table.into_inner(), text)
}

/// As [`parse`], of a table in the file `text`: places are those of the whole file.
pub(crate) fn of_table(table: DeTable<'_>, text: &str) -> Result<Draft, PlanError> {
    let mut entries: Vec<_> = table.into_iter().collect();
    // In file order: it is the order of the axes, and the first error is reported.
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut draft = Draft::default();
    for (key, value) in entries {
        let at = Some(place(text, &value.span()));
        let name = key.get_ref().as_ref();
        let read = match name {
            // A saved parameter file is a plan of one cell.
            "version" => Ok(()),
            "zip" => {
                zip(&value).map(|groups| groups.into_iter().for_each(|names| draft.zip(names)))
            }
            "stop" => stop(&value).map(|stop| draft.stop(stop)),
            _ if draft.axes.iter().any(|axis| axis.name == names::key(name)) => Err(format!(
                "found it twice, the first time as {}",
                names::key(name)
            )),
            _ => choices(name, &value, text).map(|values| {
                draft.give(name, values, Some(place(text, &key.span())));
            }),
        };
        read.map_err(|why| PlanError {
            place: at,
            ..PlanError::of(name, why)
        })?;
    }
    Ok(draft)
}

/// `plan` as a file that [`parse`] reads to the same plan: values in arrays of their own, in which nothing is a range.
pub(super) fn write(plan: &Plan) -> String {
    let array = |texts: Vec<&str>| Value::from(texts);
    let mut text = String::new();
    let all = plan.axes.iter().enumerate();
    for (_, axis) in all.filter(|(place, _)| plan.is_named(*place)) {
        let choices = axis.values.iter();
        let choices = choices.map(|choice| array(choice.iter().map(String::as_str).collect()));
        let values = Value::Array(choices.collect());
        let _ = writeln!(text, "{} = {values}", quoted(&axis.name));
    }
    let zipped = plan.dimensions.iter().map(|axes| {
        let axes = axes.iter().filter(|axis| plan.is_named(**axis));
        axes.map(|axis| plan.axes[*axis].name.as_str()).collect()
    });
    let names = zipped.filter(|names: &Vec<&str>| names.len() > 1);
    let names: Vec<Value> = names.map(array).collect();
    if !names.is_empty() {
        let _ = writeln!(text, "zip = {}", Value::Array(names));
    }
    if let Some(stop) = &plan.stop {
        let _ = writeln!(text, "stop = {}", Value::from(stop.to_string()));
    }
    text
}

/// `name` as a key: bare where TOML allows it.
fn quoted(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) {
        return name.to_owned();
    }
    let mut key = String::from('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => key.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(key, "\\u{:04X}", u32::from(c));
            }
            c => key.push(c),
        }
    }
    key.push('"');
    key
}

/// The values of `name`: one, the elements of an array, or those of ranges. An array in an array is a value as it is, without
/// ranges; an empty one leaves the name out.
fn choices(name: &str, value: &Given<'_>, text: &str) -> Result<Vec<Choice>, String> {
    let lists = parameter(name).is_some_and(|parameter| is_list(parameter.kind));
    let found = || text.get(value.span()).unwrap_or_default().to_owned();
    match value.get_ref() {
        DeValue::Array(values) if lists => {
            let are_lists = values
                .iter()
                .any(|value| matches!(value.get_ref(), DeValue::Array(_)));
            if are_lists {
                return values.iter().map(texts).collect();
            }
            Ok(vec![texts(value)?])
        }
        DeValue::Array(values) => {
            let mut all = Vec::new();
            for value in values {
                // An empty one leaves the name out.
                if let DeValue::Array(inner) = value.get_ref()
                    && inner.len() <= 1
                {
                    all.push(texts(value)?);
                    continue;
                }
                let text = scalar(value).ok_or_else(|| {
                    format!(
                        "found {}, expected an array of strings, numbers or truth values",
                        found()
                    )
                })?;
                all.extend(expanded(name, value, text)?);
            }
            Ok(all)
        }
        _ => {
            let one = scalar(value).ok_or_else(|| {
                format!(
                    "found {}, expected a string, a number, a truth value or an array of these",
                    found()
                )
            })?;
            expanded(name, value, one)
        }
    }
}

/// The values that a string stands for; of anything else itself.
fn expanded(name: &str, value: &Given<'_>, text: String) -> Result<Vec<Choice>, String> {
    let all = match value.get_ref() {
        DeValue::String(_) => names::expand(name, &text)?,
        _ => vec![text],
    };
    Ok(all.into_iter().map(|text| vec![text]).collect())
}

/// The texts of an array of strings.
fn texts(value: &Given<'_>) -> Result<Vec<String>, String> {
    let refuse = || "expected an array of strings".to_owned();
    let values = value.get_ref().as_array().ok_or_else(refuse)?;
    let texts = values.iter().map(|value| value.get_ref().as_str());
    let texts: Option<Vec<String>> = texts.map(|text| Some(text?.to_owned())).collect();
    texts.ok_or_else(refuse)
}

/// The text of a value that is neither array nor table nor date.
fn scalar(value: &Given<'_>) -> Option<String> {
    Some(match value.get_ref() {
        DeValue::String(text) => text.as_ref().to_owned(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
        DeValue::Float(number) => number.as_str().replace('_', ""),
        DeValue::Boolean(on) => if *on { "on" } else { "off" }.to_owned(),
        _ => return None,
    })
}

/// `zip = ["a", "b"]`, or an array of these.
fn zip(value: &Given<'_>) -> Result<Vec<Vec<String>>, String> {
    let refuse =
        || "expected an array of names, such as [\"rate\", \"buffer\"], or an array of such arrays";
    let values = value.get_ref().as_array().ok_or_else(refuse)?;
    let nested = values
        .iter()
        .all(|value| matches!(value.get_ref(), DeValue::Array(_)));
    if nested {
        return values.iter().map(texts).collect();
    }
    Ok(vec![texts(value).map_err(|_| refuse())?])
}

fn stop(value: &Given<'_>) -> Result<Stop, String> {
    let text = value.get_ref().as_str();
    let text = text.ok_or("expected a string such as \"goodput_bps:2%,min=5\"")?;
    text.parse()
        .map_err(|error: super::StopError| error.to_string())
}

/// Line and column of the beginning of `at`, from 1.
pub(crate) fn place(text: &str, at: &Range<usize>) -> (usize, usize) {
    let before = text.get(..at.start).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (
        before.matches('\n').count() + 1,
        before[start..].chars().count() + 1,
    )
}
