//! Keys of importers: their values, and the rules for combining them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use super::finding::Remark;
use crate::types::{Bytes, Span};

/// A named setting of an importer. The command line makes a flag of it.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Name in lower case, with hyphens.
    pub name: &'static str,
    /// Kind of value that the key takes, which decides how it is read.
    pub kind: ValueKind,
    /// Meaning and default, in one line.
    pub help: &'static str,
    /// With which other keys it may be combined.
    pub rule: Rule,
}

/// Kind of value that a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// The only input of a format: a file, or stdin if omitted.
    Input,
    /// A file, for a format with several inputs.
    File,
    /// No value; the key is present or not.
    Switch,
    /// A duration above zero, with unit.
    Period,
    /// A duration of zero or more, with unit.
    Duration,
    /// A duration with unit, or this word.
    DurationOr(&'static str),
    /// A size above zero, with unit.
    Size,
    /// A whole number above zero.
    Count,
    /// The numbers of two nodes, `A-B`.
    Nodes,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// Rule for combining a key with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The key is optional.
    Free,
    /// The key is required, for this reason.
    Required(&'static str),
    /// The key needs this other key.
    With(&'static str),
    /// The key cannot be combined with this other key.
    Without(&'static str),
}

impl Key {
    /// An optional key without rules.
    #[must_use]
    pub const fn new(name: &'static str, kind: ValueKind, help: &'static str) -> Self {
        let rule = Rule::Free;
        Self {
            name,
            kind,
            help,
            rule,
        }
    }

    /// The same key with this rule.
    #[must_use]
    pub const fn when(self, rule: Rule) -> Self {
        Self { rule, ..self }
    }

    /// Parses a value of the key and returns its canonical form.
    ///
    /// # Errors
    /// A message that names the expected form.
    pub fn read(&self, text: &str) -> Result<String, String> {
        match self.kind {
            ValueKind::Input | ValueKind::File | ValueKind::Switch => Ok(text.to_owned()),
            ValueKind::Duration => canonical::<Span>(text, None),
            ValueKind::Period => canonical(text, Some(Span::ZERO)),
            ValueKind::DurationOr(word) if text == word => Ok(text.to_owned()),
            ValueKind::DurationOr(word) => {
                canonical::<Span>(text, None).map_err(|error| format!("{error}, or '{word}'"))
            }
            ValueKind::Size => canonical(text, Some(Bytes(0))),
            ValueKind::Count => {
                let count: Option<u64> = text.parse().ok().filter(|count| *count > 0);
                let count = count.ok_or("expected a whole number above 0")?;
                Ok(count.to_string())
            }
            ValueKind::Nodes => {
                let nodes = text.split_once('-').map(|(from, to)| [from, to]);
                let nodes = nodes.map(|nodes| nodes.map(str::parse::<u32>));
                match nodes {
                    Some([Ok(from), Ok(to)]) => Ok(format!("{from}-{to}")),
                    _ => Err("expected the numbers of two nodes, as 0-1".to_owned()),
                }
            }
            ValueKind::OneOf(words) if words.contains(&text) => Ok(text.to_owned()),
            ValueKind::OneOf(words) => Err(format!("expected one of {}", words.join(", "))),
        }
    }
}

/// Canonical form of a quantity, which must differ from `least` if that is given.
fn canonical<T>(text: &str, least: Option<T>) -> Result<String, String>
where
    T: FromStr<Err: Display> + Display + PartialEq,
{
    let value: T = text.parse().map_err(|error| format!("{error}"))?;
    match least {
        Some(least) if value == least => Err(format!("expected more than {least}")),
        _ => Ok(value.to_string()),
    }
}

/// The given values by key, in the canonical form of [`Key::read`].
#[derive(Debug, Clone, Default)]
pub struct Given(BTreeMap<&'static str, String>, bool);

impl Given {
    /// Makes findings, from the first record on, of what can be passed over and would otherwise be refused, as
    /// [`Slots::be_lenient`](super::Slots::be_lenient) does from then on.
    pub fn be_lenient(&mut self) {
        self.1 = true;
    }

    /// Whether [`Self::be_lenient`] was called.
    #[must_use]
    pub fn is_lenient(&self) -> bool {
        self.1
    }

    /// Sets the value of `key`; an empty one for a switch.
    pub fn set(&mut self, key: &'static str, value: impl Into<String>) {
        self.0.insert(key, value.into());
    }

    /// Removes the value of `key`.
    pub fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Whether `key` has a value.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The value of `key` as text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The value of `key` as a `T`; `None` if it is not given or does not parse, such as a word instead of a duration.
    #[must_use]
    pub fn get<T: FromStr>(&self, key: &str) -> Option<T> {
        self.text(key)?.parse().ok()
    }

    /// If `key` has no value, sets it and reports the assumption to `note`.
    pub fn assume(
        &mut self,
        key: &'static str,
        value: &str,
        words: &str,
        note: &mut dyn FnMut(Remark),
    ) {
        if !self.has(key) {
            note(Remark::assumed(format!("{words} (`{key}`)")));
            self.set(key, value);
        }
    }

    /// Checks the given keys against the `keys` of `format` and their rules. Messages have keys between backticks.
    pub(in crate::format) fn check(&self, format: &str, keys: &[Key]) -> Result<(), String> {
        let is_known = |given: &str| keys.iter().any(|key| key.name == given);
        if let Some(given) = self.0.keys().find(|given| !is_known(given)) {
            return Err(format!("`{given}` does not apply to {format}"));
        }
        for &Key { name, rule, .. } in keys {
            match rule {
                Rule::Required(why) if !self.has(name) => {
                    return Err(format!("{format} needs `{name}`: {why}"));
                }
                Rule::With(other) if self.has(name) && !self.has(other) => {
                    return Err(format!("`{name}` needs `{other}`"));
                }
                Rule::Without(other) if self.has(name) && self.has(other) => {
                    return Err(format!("`{name}` cannot be combined with `{other}`"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Replaces the keys between backticks in a message of an importer by what `shown` returns for them, such as flags.
pub fn render_keys(text: &str, shown: impl Fn(&str) -> String) -> String {
    let parts = text.split('`').enumerate();
    let spelt = parts.map(|(at, part)| {
        if at % 2 == 1 {
            shown(part)
        } else {
            part.to_owned()
        }
    });
    spelt.collect()
}
