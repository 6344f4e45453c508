//! What importers take: keys by their names, values by what they are, and what is refused.

use std::collections::BTreeMap;
use std::fmt;

use crate::types::{Bytes, Span};

/// Something that a format takes.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name, in lower case with hyphens.
    pub name: &'static str,
    /// What is given for it.
    pub takes: Takes,
    /// What it means, with the default, in one line.
    pub help: &'static str,
    /// When it may be given.
    pub rule: Rule,
}

/// What is given for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// The input of a format that has one: a file, or stdin where none is named.
    Input,
    /// One of several inputs.
    File,
    /// Nothing: it is there or not.
    Switch,
    /// A length of time with its unit.
    Duration {
        /// Whether it may be zero.
        zero: bool,
    },
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

/// What was given for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// The name of an input, for whoever opens it.
    File(String),
    /// The key is there.
    Switch,
    /// A length of time.
    Duration(Span),
    /// A size.
    Size(Bytes),
    /// One of the key's words.
    Word(String),
}

impl Key {
    /// Reads what a user gave for the key.
    ///
    /// # Errors
    /// What was expected instead.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let duration = |text: &str| text.parse::<Span>().map_err(|error| error.to_string());
        match self.takes {
            Takes::Input | Takes::File => Ok(Value::File(text.to_owned())),
            Takes::Switch => Ok(Value::Switch),
            Takes::Duration { zero } => match duration(text)? {
                span if span.is_zero() && !zero => Err("expected more than 0s".to_owned()),
                span => Ok(Value::Duration(span)),
            },
            Takes::DurationOr(word) if text == word => Ok(Value::Word(text.to_owned())),
            Takes::DurationOr(word) => duration(text)
                .map(Value::Duration)
                .map_err(|error| format!("{error}, or '{word}'")),
            Takes::Size => match text.parse::<Bytes>().map_err(|error| error.to_string())? {
                Bytes(0) => Err("expected more than 0B".to_owned()),
                size => Ok(Value::Size(size)),
            },
            Takes::OneOf(words) if words.contains(&text) => Ok(Value::Word(text.to_owned())),
            Takes::OneOf(words) => Err(format!("expected one of {}", words.join(", "))),
        }
    }
}

/// What was given, by key.
#[derive(Debug, Clone, Default)]
pub struct Given(BTreeMap<&'static str, Value>);

impl Given {
    /// Sets what was given for `key`.
    pub fn set(&mut self, key: &'static str, value: Value) {
        self.0.insert(key, value);
    }

    /// Whether anything was given for `key`.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The length of time given for `key`.
    #[must_use]
    pub fn duration(&self, key: &str) -> Option<Span> {
        match self.0.get(key)? {
            Value::Duration(span) => Some(*span),
            _ => None,
        }
    }

    /// The size given for `key`.
    #[must_use]
    pub fn size(&self, key: &str) -> Option<Bytes> {
        match self.0.get(key)? {
            Value::Size(size) => Some(*size),
            _ => None,
        }
    }

    /// The word given for `key`, or the name of an input.
    #[must_use]
    pub fn word(&self, key: &str) -> Option<&str> {
        match self.0.get(key)? {
            Value::Word(word) | Value::File(word) => Some(word),
            _ => None,
        }
    }

    /// Refuses what does not fit the `keys` of `format`.
    pub(super) fn check(&self, format: &'static str, keys: &[Key]) -> Result<(), Refusal> {
        for given in self.0.keys() {
            if !keys.iter().any(|key| key.name == *given) {
                return Err(Refusal::Foreign { key: given, format });
            }
        }
        for &Key { name, rule, .. } in keys {
            let broken = match rule {
                Rule::Free => false,
                Rule::Required(_) => !self.has(name),
                Rule::With(other) => self.has(name) && !self.has(other),
                Rule::Without(other) => self.has(name) && self.has(other),
            };
            if broken {
                return Err(match rule {
                    Rule::With(other) => Refusal::Without { key: name, other },
                    Rule::Without(other) => Refusal::With { key: name, other },
                    Rule::Required(why) => Refusal::Missing {
                        key: name,
                        why,
                        format,
                    },
                    Rule::Free => continue,
                });
            }
        }
        Ok(())
    }
}

/// What was given does not make sense together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A key that the format has not.
    Foreign {
        /// The key.
        key: &'static str,
        /// The format's name.
        format: &'static str,
    },
    /// A key that the format needs.
    Missing {
        /// The key.
        key: &'static str,
        /// Why it is needed.
        why: &'static str,
        /// The format's name.
        format: &'static str,
    },
    /// None of two inputs, of which the format needs at least one.
    NoInput {
        /// The keys of the two.
        keys: [&'static str; 2],
        /// The format's name.
        format: &'static str,
    },
    /// A key that means nothing without another.
    Without {
        /// The key.
        key: &'static str,
        /// The other, which is missing.
        other: &'static str,
    },
    /// A key that means nothing with another.
    With {
        /// The key.
        key: &'static str,
        /// The other, which is there.
        other: &'static str,
    },
    /// A key whose default needs inputs that can be read twice.
    ReadTwice {
        /// The key.
        key: &'static str,
        /// The default.
        value: &'static str,
    },
}

impl Refusal {
    /// What is refused, with keys as `shown` has them: as flags, say.
    #[must_use]
    pub fn say(&self, shown: impl Fn(&str) -> String) -> String {
        match self {
            Self::Foreign { key, format } => format!("{} has no meaning with {format}", shown(key)),
            Self::Missing { key, why, format } => format!("{format} needs {}: {why}", shown(key)),
            Self::NoInput {
                keys: [one, other],
                format,
            } => format!("{format} needs {}, {} or both", shown(one), shown(other)),
            Self::Without { key, other } => {
                format!("{} has no meaning without {}", shown(key), shown(other))
            }
            Self::With { key, other } => {
                format!("{} has no meaning with {}", shown(key), shown(other))
            }
            Self::ReadTwice { key, value } => {
                let key = shown(key);
                format!(
                    "{key} {value} reads the input twice, and a pipe cannot be: expected {key} with a value"
                )
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.say(str::to_owned))
    }
}

impl std::error::Error for Refusal {}
