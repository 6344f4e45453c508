//! What importers take: keys by their names, each with what is given for it and when.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use crate::types::{Bytes, Span};

/// Something that a format takes.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name, in lower case with hyphens.
    pub name: &'static str,
    /// What is given for it.
    pub kind: ValueKind,
    /// What it means, with the default, in one line.
    pub help: &'static str,
    /// When it may be given.
    pub rule: Rule,
}

/// What is given for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// The input of a format that has one: a file, or stdin where none is named.
    Input,
    /// One of several inputs.
    File,
    /// Nothing: it is there or not.
    Switch,
    /// A length of time above zero, with its unit.
    Period,
    /// A length of time with its unit.
    Duration,
    /// A length of time with its unit, or this word.
    DurationOr(&'static str),
    /// A size above zero, with its unit.
    Size,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

/// When a key may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Always.
    Free,
    /// It must be, for this reason.
    Required(&'static str),
    /// Only with this other key.
    With(&'static str),
    /// Only without this other key.
    Without(&'static str),
}

impl Key {
    /// A key that may always be given.
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

    /// The same key under a rule.
    #[must_use]
    pub const fn when(self, rule: Rule) -> Self {
        Self { rule, ..self }
    }

    /// What a user gave for the key, in its canonical form.
    ///
    /// # Errors
    /// What was expected instead.
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
            ValueKind::OneOf(words) if words.contains(&text) => Ok(text.to_owned()),
            ValueKind::OneOf(words) => Err(format!("expected one of {}", words.join(", "))),
        }
    }
}

/// A quantity in its canonical form, if it is more than `least`.
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

/// What was given, by key, in the form of [`Key::read`].
#[derive(Debug, Clone, Default)]
pub struct Given(BTreeMap<&'static str, String>);

impl Given {
    /// Sets what was given for `key`; nothing for a switch.
    pub fn set(&mut self, key: &'static str, value: impl Into<String>) {
        self.0.insert(key, value.into());
    }

    /// ValueKind away what was given for `key`.
    pub fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// Whether anything was given for `key`.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// What was given for `key`, as text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// What was given for `key`; `None` also for a word where a value is asked for.
    #[must_use]
    pub fn get<T: FromStr>(&self, key: &str) -> Option<T> {
        self.text(key)?.parse().ok()
    }

    /// Sets `key` where nothing was given for it, and notes in these words what is assumed.
    pub fn assume(
        &mut self,
        key: &'static str,
        value: &str,
        words: &str,
        note: &mut dyn FnMut(String),
    ) {
        if !self.has(key) {
            note(format!("{words} (`{key}`)"));
            self.set(key, value);
        }
    }

    /// Refuses what does not fit the `keys` of `format`, with keys between backticks.
    pub(super) fn check(&self, format: &str, keys: &[Key]) -> Result<(), String> {
        let is_known = |given: &str| keys.iter().any(|key| key.name == given);
        if let Some(given) = self.0.keys().find(|given| !is_known(given)) {
            return Err(format!("`{given}` has no meaning with {format}"));
        }
        for &Key { name, rule, .. } in keys {
            match rule {
                Rule::Required(why) if !self.has(name) => {
                    return Err(format!("{format} needs `{name}`: {why}"));
                }
                Rule::With(other) if self.has(name) && !self.has(other) => {
                    return Err(format!("`{name}` has no meaning without `{other}`"));
                }
                Rule::Without(other) if self.has(name) && self.has(other) => {
                    return Err(format!("`{name}` has no meaning with `{other}`"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A note or refusal of an importer with its keys, which stand between backticks, as `shown` has them:
/// as flags, say.
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
