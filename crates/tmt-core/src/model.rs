//! Closed forms by name: what a model takes, what it gives, where it comes from (models.md §5).
//!
//! A model is one file, with its equations as plain functions and its interface as a [`Model`], and one
//! line in the registry: `MODELS` here for the link, `fluid_tcp::model::MODELS` for TCP. Nothing here
//! sees a trace or the machine that runs schemes, so that the one can be checked by the other.

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

pub use key::{Arguments, Domain, Key, Value};
pub use outcome::{Outcome, Quantity};

/// The models of the link; TCP's are in `fluid_tcp::model`.
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

/// A result of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Name at the interface.
    #[serde(rename = "result")]
    pub name: &'static str,
    /// What it is, with its unit.
    pub about: &'static str,
}

/// A model as it is offered at the interface.
#[derive(Debug, Serialize)]
pub struct Model {
    /// Name at the interface.
    #[serde(rename = "model")]
    pub name: &'static str,
    /// What it answers, in one line.
    pub about: &'static str,
    /// Paper, section and equations.
    pub source: &'static str,
    /// Assumptions, and where the printed equations are wrong (models.md's errata).
    pub notes: &'static [&'static str],
    /// An example of arguments, for help; it is run by a test.
    pub example: &'static str,
    /// What it takes, in the order in which it is shown.
    pub keys: &'static [Key],
    /// What it gives, in the order in which it is shown.
    pub results: &'static [Field],
    /// The answer.
    #[serde(skip)]
    pub answer: fn(&Arguments) -> Result<Outcome, ModelError>,
}

/// Why a model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No key of that name.
    #[error("'{key}' is not a key of {model}{} (keys: {})", suggestion(*nearest), known.join(", "))]
    UnknownKey {
        /// The model.
        model: &'static str,
        /// What was asked for.
        key: String,
        /// The key that looks most like it.
        nearest: Option<&'static str>,
        /// All keys there are.
        known: Vec<&'static str>,
    },
    /// A key is given more than once.
    #[error("'{key}' is given more than once")]
    Twice {
        /// Which.
        key: &'static str,
    },
    /// A value is outside of its domain.
    #[error("{key}: found '{found}', expected {expected}")]
    Value {
        /// Of which key.
        key: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The values are fine one by one, but have no answer together.
    #[error("{0}")]
    Refused(String),
}

impl ModelError {
    /// A refusal of values that have no answer.
    #[must_use]
    pub fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| {
        format!(": did you mean '{nearest}'?")
    })
}

impl Model {
    /// The key of this name, under any of its names.
    ///
    /// # Errors
    /// There is none; the nearest is named.
    pub fn key(&self, name: &str) -> Result<&'static Key, ModelError> {
        let found = self.keys.iter().find(|key| key.answers_to(name));
        found.ok_or_else(|| {
            let known: Vec<&'static str> = self.keys.iter().map(|key| key.name).collect();
            ModelError::UnknownKey {
                model: self.name,
                key: name.to_owned(),
                nearest: nearest(name, known.iter().copied()),
                known,
            }
        })
    }

    /// The arguments that these `key`, `value` pairs say; keys that are left out have their presets.
    ///
    /// # Errors
    /// An unknown key, a key that is given more than once, or a value outside of its key's domain.
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

    /// The answer to these arguments.
    ///
    /// # Errors
    /// The model has none: a combination that makes no sense, or a limit that does not exist.
    pub fn evaluate(&self, arguments: &Arguments) -> Result<Outcome, ModelError> {
        let outcome = (self.answer)(arguments)?;
        match outcome.not_a_number() {
            Some(name) => Err(ModelError::refused(format!(
                "{name} has no value here: it is 0/0 or ∞ − ∞ for these arguments"
            ))),
            None => Ok(outcome),
        }
    }

    /// The answer to `key=value` texts with blanks between them, such as the example's.
    ///
    /// # Errors
    /// As [`Self::arguments`] and [`Self::evaluate`].
    pub fn run(&self, text: &str) -> Result<Outcome, ModelError> {
        let pairs = text.split_whitespace();
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        self.evaluate(&self.arguments(pairs)?)
    }
}

/// The name that looks most like `name`, when one does.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let likeness = |known: &str| strsim::jaro_winkler(&lower, &known.to_lowercase());
    known
        .into_iter()
        .map(|known| (likeness(known), known))
        .filter(|(likeness, _)| *likeness > 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}

/// Asserts what must hold for every model of a registry; for the tests of the registries.
///
/// # Panics
/// If a model breaks a rule.
#[doc(hidden)]
pub fn check_registry(models: &[&Model]) {
    for (index, model) in models.iter().enumerate() {
        let name = model.name;
        assert!(
            models[..index].iter().all(|other| other.name != name),
            "{name} stands twice"
        );
        for text in [model.about, model.source] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{name}: '{text}'");
        }
        let capital = model.about.starts_with(char::is_uppercase);
        assert!(capital, "{name}: '{}'", model.about);
        for (place, key) in model.keys.iter().enumerate() {
            for known in key.names() {
                let clash = model.keys[..place].iter().any(|key| key.answers_to(known));
                assert!(!clash, "{name}: key {known} stands twice");
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
    fn every_model_of_the_link_is_what_it_says() {
        check_registry(MODELS);
    }

    #[test]
    fn the_nearest_name_is_suggested() {
        let known = ["alpha", "beta", "erasure_prob", "NR"];
        assert_eq!(nearest("alhpa", known), Some("alpha"));
        assert_eq!(nearest("nr", known), Some("NR"));
        assert_eq!(nearest("qqq", known), None);
    }
}
