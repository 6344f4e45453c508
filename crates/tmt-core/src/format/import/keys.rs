//! Keys of importers: their values, and the rules for combining them.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::finding::Remark;
use crate::types::named::{Parameter, Rule};

/// The given values by key, in canonical form: as a value of its kind displays.
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

    /// Checks the given keys against the `keys` of `format` and their rules.
    pub(in crate::format) fn check(
        &self,
        format: &str,
        keys: &[Parameter],
    ) -> Result<(), KeyError> {
        let is_known = |given: &str| keys.iter().any(|key| key.name == given);
        if let Some(given) = self.0.keys().find(|given| !is_known(given)) {
            let (key, format) = (*given, format.to_owned());
            return Err(KeyError::Unknown { key, format });
        }
        for &Parameter {
            name: key, rule, ..
        } in keys
        {
            match rule {
                Rule::Required(why) if !self.has(key) => {
                    let format = format.to_owned();
                    return Err(KeyError::Missing { key, format, why });
                }
                Rule::With(other) if self.has(key) && !self.has(other) => {
                    return Err(KeyError::Needs { key, other });
                }
                Rule::Without(other) if self.has(key) && self.has(other) => {
                    return Err(KeyError::Excludes { key, other });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Keys that do not fit together; its text has keys between backticks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The format has no such key.
    #[error("`{key}` does not apply to {format}")]
    Unknown {
        /// The key that is given.
        key: &'static str,
        /// Name of the format.
        format: String,
    },
    /// A required key is not given.
    #[error("{format} needs `{key}`: {why}")]
    Missing {
        /// The key that is missing.
        key: &'static str,
        /// Name of the format.
        format: String,
        /// Why it is needed.
        why: &'static str,
    },
    /// A key is given without another one that it needs.
    #[error("`{key}` needs `{other}`")]
    Needs {
        /// The key that is given.
        key: &'static str,
        /// The key that is missing.
        other: &'static str,
    },
    /// Two keys are given that exclude each other.
    #[error("`{key}` cannot be combined with `{other}`")]
    Excludes {
        /// One of the keys.
        key: &'static str,
        /// The other one.
        other: &'static str,
    },
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
