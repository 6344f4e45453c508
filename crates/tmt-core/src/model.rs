//! Closed forms by name, with their keys, results and sources (docs/models.md).
//!
//! A model is one file, which contains its equations as functions and its interface as a [`Model`], and one line in the
//! registry: [`MODELS`] for the link, `fluid_tcp::model::MODELS` for TCP. Models do not use traces or the scheme engine, so
//! that one can check the other.

#[macro_use]
mod descriptor;

pub mod arq;
pub mod block;
pub mod chain;
pub mod conv;
pub mod fec;
pub mod frame_arq;
pub mod ge;
pub mod harq;
mod key;
pub mod linkbudget;
mod outcome;
pub mod ser;
pub mod tail;

use serde::Serialize;

use crate::types::named::suggestion;

pub use key::{Arguments, Domain, KEY_PREFIX, Key, Value};
pub use outcome::{Outcome, Quantity};

/// Registry of the models of the link and of codes. Those of TCP are in `fluid_tcp::model`.
pub static MODELS: &[&Model] = &[
    &ge::STATE,
    &ge::COUNT,
    &fec::MODEL,
    &arq::MODEL,
    &harq::MODEL,
    &frame_arq::MODEL,
    &conv::MODEL,
    &block::MODEL,
    &ser::MODEL,
    &ser::REQUIRED,
    &linkbudget::MODEL,
];

/// Description of a result of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Name in output and JSON.
    #[serde(rename = "result")]
    pub name: &'static str,
    /// Meaning, with the unit.
    pub about: &'static str,
}

/// A model of `tmt model`: its description, and the function that evaluates it.
///
/// ```
/// use tmt_core::model::MODELS;
///
/// let model = MODELS.iter().find(|model| model.name == "fec").ok_or("no such model")?;
/// let outcome = model.run("nd=10 nr=2 alpha=0.99 beta=0.9")?;
/// let efficiency = outcome.get("eta").ok_or("no such result")?;
/// assert!(efficiency < 10.0 / 12.0);
/// assert!(model.run("alpha=2").is_err()); // no probability
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Serialize)]
pub struct Model {
    /// Name on the command line.
    #[serde(rename = "model")]
    pub name: &'static str,
    /// The question it answers, in one line.
    pub about: &'static str,
    /// Source: label of docs/bibliography.md, section and equations.
    pub source: &'static str,
    /// Assumptions, and errata of the printed equations (docs/models.md, Sec. 8).
    pub notes: &'static [&'static str],
    /// Example arguments for the help text; a test runs them.
    pub example: &'static str,
    /// Keys, in display order.
    pub keys: &'static [Key],
    /// Results, in display order.
    pub results: &'static [Field],
    /// Function that evaluates the model for the values of its keys.
    #[serde(skip)]
    pub answer: fn(&Arguments) -> Result<Outcome, ModelError>,
}

/// Error of a model: invalid arguments, or arguments without an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The model has no key of this name.
    #[error("'{key}' is not a key of {model}{}; expected one of {}", suggestion(key, known.iter().copied()), known.join(", "))]
    UnknownKey {
        /// Name of the model.
        model: &'static str,
        /// Name that was given.
        key: String,
        /// Names of all keys of the model.
        known: Vec<&'static str>,
    },
    /// A key is given more than once.
    #[error("'{key}' is given more than once")]
    Twice {
        /// Name of the key.
        key: &'static str,
    },
    /// A value is outside of the domain of its key.
    #[error("{key}: found '{found}', expected {expected}")]
    Value {
        /// Name of the key.
        key: &'static str,
        /// Text that was given.
        found: String,
        /// Description of valid values.
        expected: String,
    },
    /// Each value is valid, but the model has no answer for their combination.
    #[error("{0}")]
    Refused(String),
    /// [`Arguments::stopped`] has said so.
    #[error("stopped before its end")]
    Stopped,
}

impl ModelError {
    /// An error for a combination of values without an answer.
    #[must_use]
    pub fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}

impl Model {
    /// The key with this name or alias.
    ///
    /// # Errors
    /// There is no such key. The error names the most similar one.
    pub fn key(&self, name: &str) -> Result<&'static Key, ModelError> {
        let found = self.keys.iter().find(|key| key.answers_to(name));
        found.ok_or_else(|| ModelError::UnknownKey {
            model: self.name,
            key: name.to_owned(),
            known: self.keys.iter().map(|key| key.name).collect(),
        })
    }

    /// Arguments from pairs of key and value; omitted keys have their defaults.
    ///
    /// # Errors
    /// A key is unknown or given more than once, or a value is outside of the domain of its key.
    pub fn arguments<'a>(
        &self,
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Arguments, ModelError> {
        let mut arguments = Arguments::presets(self.keys);
        for (name, text) in given {
            let key = self.key(name)?;
            arguments.give(key, key.parse(text)?)?;
        }
        Ok(arguments)
    }

    /// Evaluates the model.
    ///
    /// # Errors
    /// The arguments contradict each other, or a result is a limit that does not exist.
    pub fn evaluate(&self, arguments: &Arguments) -> Result<Outcome, ModelError> {
        let outcome = (self.answer)(arguments)?;
        match outcome.not_a_number() {
            Some(name) => Err(ModelError::refused(format!(
                "{name} is undefined for these arguments: it is 0/0 or ∞ − ∞"
            ))),
            None => Ok(outcome),
        }
    }

    /// Evaluates the model for a text of `KEY=VALUE` separated by blanks, such as its example.
    ///
    /// # Errors
    /// As [`Self::arguments`] and [`Self::evaluate`].
    pub fn run(&self, text: &str) -> Result<Outcome, ModelError> {
        let pairs = text.split_whitespace();
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        self.evaluate(&self.arguments(pairs)?)
    }
}

/// Checks the conventions for the models of a registry; for tests.
///
/// # Panics
/// A model violates a convention.
#[doc(hidden)]
pub fn check_registry(models: &[&Model]) {
    for (index, model) in models.iter().enumerate() {
        let name = model.name;
        assert!(
            models[..index].iter().all(|other| other.name != name),
            "{name} is listed more than once"
        );
        for text in [model.about, model.source] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{name}: '{text}'");
        }
        let capital = model.about.starts_with(char::is_uppercase);
        assert!(capital, "{name}: '{}'", model.about);
        for (place, key) in model.keys.iter().enumerate() {
            for known in key.names() {
                let clash = model.keys[..place].iter().any(|key| key.answers_to(known));
                assert!(!clash, "{name}: key {known} is listed more than once");
            }
            if let Some(text) = key.preset_text() {
                assert!(
                    key.parse(&text).is_ok(),
                    "{name}: preset {}={text}",
                    key.name
                );
            }
        }
        let outcome = match model.run(model.example) {
            Ok(outcome) => outcome,
            Err(error) => panic!("{name} {}: {error}", model.example),
        };
        let said: Vec<&str> = model.results.iter().map(|field| field.name).collect();
        let given: Vec<&str> = outcome.fields().iter().map(|(name, _)| *name).collect();
        assert_eq!(said, given, "{name}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_of_the_link_follow_the_conventions() {
        check_registry(MODELS);
    }
}
