//! Keys of a model, with their defaults and domains, and the values given for them.

use std::str::FromStr;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::ModelError;
use crate::types::Stopped;

/// A value of a key, of the type that its domain requires.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A real number.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// One of the words of the key.
    Word(&'static str),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // The shortest decimal that round-trips.
            Self::Number(number)
                if (1e-5..1e16).contains(&number.abs()) || number.abs() < f64::MIN_POSITIVE =>
            {
                write!(f, "{number}")
            }
            Self::Number(number) => write!(f, "{number:e}"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// Set of values that a key accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Domain {
    /// A real number in [0, 1].
    Probability,
    /// A finite number above 0.
    Positive,
    /// A finite number, 0 or above.
    NonNegative,
    /// Any finite number.
    Real,
    /// A whole number from the first to the second bound, inclusive.
    Count(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
}

/// Prefix of a key's column in a table that also has a result of that name.
pub const KEY_PREFIX: &str = "key.";

/// A key of a model, with its default and domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// Name on the command line and in JSON.
    pub name: &'static str,
    /// Further names that are accepted.
    pub aliases: &'static [&'static str],
    /// Meaning, with the unit.
    pub about: &'static str,
    /// Default value; `None` if the model needs no value or derives one as stated in `about`.
    pub preset: Option<Value>,
    /// Values that are accepted.
    pub domain: Domain,
}

impl Serialize for Key {
    /// Serializes the description of the key, with default and domain as text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("key", self.name)?;
        map.serialize_entry("aliases", self.aliases)?;
        map.serialize_entry("preset", &self.preset_text())?;
        map.serialize_entry("expected", &self.expected())?;
        map.serialize_entry("about", self.about)?;
        map.end()
    }
}

impl Key {
    /// The name and all aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether `name` is the name or an alias of the key.
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// The default as it would be typed; `None` if there is no default.
    #[must_use]
    pub fn preset_text(&self) -> Option<String> {
        self.preset.map(|value| value.to_string())
    }

    /// Description of the accepted values, for messages.
    #[must_use]
    pub fn expected(&self) -> String {
        match self.domain {
            Domain::Probability => "a number from 0 to 1".to_owned(),
            Domain::Positive => "a number above 0".to_owned(),
            Domain::NonNegative => "a number, 0 or above".to_owned(),
            Domain::Real => "a number".to_owned(),
            Domain::Count(least, most) => format!("a whole number from {least} to {most}"),
            Domain::Word(words) => words.join(" or "),
        }
    }

    /// Reads a value of this key.
    ///
    /// # Errors
    /// The text is not a value in the domain of the key.
    pub fn parse(&self, text: &str) -> Result<Value, ModelError> {
        let value = match self.domain {
            Domain::Word(words) => {
                let word = words.iter().find(|word| **word == text);
                word.map(|word| Value::Word(word))
            }
            // Not every whole number above 2^53 is a double.
            Domain::Count(least, most) if text.parse::<u64>().is_ok() => {
                let count = text.parse().ok();
                count
                    .filter(|count| (least..=most).contains(count))
                    .map(Value::Count)
            }
            _ => text.parse().ok().and_then(|number| self.value(number)),
        };
        value.ok_or_else(|| self.refusal(text))
    }

    /// The value for this number; `None` if it is outside of the domain.
    #[must_use]
    pub fn value(&self, number: f64) -> Option<Value> {
        let allowed = match self.domain {
            Domain::Probability => (0.0..=1.0).contains(&number),
            Domain::Positive => number > 0.0,
            Domain::NonNegative => number >= 0.0,
            Domain::Real => true,
            Domain::Word(_) => false,
            Domain::Count(least, most) => {
                let count = crate::math::num::floor_u64(number);
                let same = (crate::types::to_f64(count) - number).abs() < f64::MIN_POSITIVE;
                return (same && (least..=most).contains(&count)).then_some(Value::Count(count));
            }
        };
        // Adding 0 turns −0 into 0, which would otherwise lead to −∞.
        (allowed && number.is_finite()).then_some(Value::Number(number + 0.0))
    }

    /// The error for an invalid text of this key.
    #[must_use]
    pub fn refusal(&self, found: &str) -> ModelError {
        ModelError::Value {
            key: self.name,
            found: found.to_owned(),
            expected: self.expected(),
        }
    }
}

/// Values for the keys of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    keys: &'static [Key],
    /// Value per key; `None` if it is omitted and has no default.
    values: Vec<Option<Value>>,
    /// Whether each key was given.
    given: Vec<bool>,
    /// Whether the model shall end without an answer.
    stopped: Stopped,
}

impl Arguments {
    /// Arguments with the default of each key.
    #[must_use]
    pub fn presets(keys: &'static [Key]) -> Self {
        Self {
            keys,
            values: keys.iter().map(|key| key.preset).collect(),
            given: vec![false; keys.len()],
            stopped: Stopped::NEVER,
        }
    }

    /// The same for a model that ends with [`ModelError::Stopped`] once `stopped` says so, if it takes long.
    #[must_use]
    pub fn stopped_when(self, stopped: Stopped) -> Self {
        Self { stopped, ..self }
    }

    /// Whether the model shall end without an answer.
    #[must_use]
    pub fn stopped(&self) -> Stopped {
        self.stopped
    }

    fn place(&self, key: &Key) -> usize {
        self.keys
            .iter()
            .position(|known| known.name == key.name)
            .unwrap_or_else(|| panic!("the model has no key {}", key.name))
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// The key was set before.
    pub fn give(&mut self, key: &Key, value: Value) -> Result<(), ModelError> {
        let place = self.place(key);
        if self.given[place] {
            return Err(ModelError::Twice { key: key.name });
        }
        self.given[place] = true;
        self.values[place] = Some(value);
        Ok(())
    }

    /// The value of a key; `None` if it is omitted and has no default.
    #[must_use]
    pub fn value(&self, key: &Key) -> Option<Value> {
        self.values[self.place(key)]
    }

    /// The value of a key as a number; `None` if it is omitted and has no default.
    #[must_use]
    pub fn maybe(&self, key: &Key) -> Option<f64> {
        match self.value(key) {
            Some(Value::Number(number)) => Some(number),
            Some(Value::Count(count)) => Some(crate::types::to_f64(count)),
            _ => None,
        }
    }

    /// The value of a key as a number.
    ///
    /// # Panics
    /// The key has no value. Use [`Self::maybe`] for keys without a default.
    #[must_use]
    pub fn number(&self, key: &Key) -> f64 {
        self.maybe(key)
            .unwrap_or_else(|| panic!("{} is not a number", key.name))
    }

    /// The value of a key whose domain is [`Domain::Count`].
    ///
    /// # Panics
    /// The key has another domain or no value.
    #[must_use]
    pub fn count(&self, key: &Key) -> u64 {
        match self.value(key) {
            Some(Value::Count(count)) => count,
            _ => panic!("{} is not a whole number", key.name),
        }
    }

    /// [`Self::count`] as a `usize`.
    ///
    /// # Panics
    /// As [`Self::count`].
    #[must_use]
    pub fn size(&self, key: &Key) -> usize {
        usize::try_from(self.count(key)).unwrap_or(usize::MAX)
    }

    /// The value of a key whose domain is [`Domain::Word`].
    ///
    /// # Panics
    /// The key has another domain or no value.
    #[must_use]
    pub fn word(&self, key: &Key) -> &'static str {
        match self.value(key) {
            Some(Value::Word(word)) => word,
            _ => panic!("{} is not a word", key.name),
        }
    }

    /// The value of a key whose domain is [`Domain::Word`], parsed as a `T`.
    ///
    /// # Panics
    /// As [`Self::word`], or if `T` does not know the word.
    #[must_use]
    pub fn choice<T: FromStr>(&self, key: &Key) -> T {
        let word = self.word(key);
        let unknown = |_| panic!("{} has an unknown word '{word}'", key.name);
        word.parse().unwrap_or_else(unknown)
    }

    /// Pairs of key and value, in the order of the model; `None` for keys without a value.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static Key, Option<Value>)> {
        self.keys.iter().zip(self.values.iter().copied())
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.pairs().map(|(key, value)| (key.name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    keys! {
        P: Probability, "p" | "q" = 0.05, "erasure probability";
        N: Count(1, 100), "n" = 10, "LLDUs";
        HOW: Word(&["fast", "slow"]), "how" = "fast", "speed";
        DB: Real, "db", "dB";
    }
    static KEYS: [Key; 4] = [P, N, HOW, DB];

    #[test]
    fn a_value_is_in_its_domain_or_refused() {
        for (key, good, bad) in [
            (
                P,
                vec!["0", "1", "1e-9", "-0"],
                vec!["1.1", "-1e-9", "nan", "inf", "x", ""],
            ),
            (
                N,
                vec!["1", "100", "1e2", "7.0"],
                vec!["0", "101", "1.5", "-1", "nan", "1e30"],
            ),
            (HOW, vec!["slow"], vec!["Slow", "", "0"]),
            (DB, vec!["-3", "1e300"], vec!["inf", "-inf", "1e309"]),
        ] {
            for text in good {
                assert!(key.parse(text).is_ok(), "{}={text}", key.name);
            }
            for text in bad {
                let error = key.parse(text).unwrap_err().to_string();
                assert!(error.contains("expected"), "{}={text}: {error}", key.name);
            }
        }
    }

    #[test]
    fn omitted_keys_have_their_defaults() {
        let mut arguments = Arguments::presets(&KEYS);
        assert_eq!(arguments.count(&N), 10);
        assert_eq!(arguments.word(&HOW), "fast");
        assert_eq!(arguments.maybe(&DB), None);
        arguments.give(&P, Value::Number(0.5)).unwrap();
        assert!((arguments.number(&P) - 0.5).abs() < f64::EPSILON);
        let twice = arguments.give(&P, Value::Number(0.5)).unwrap_err();
        assert_eq!(twice, ModelError::Twice { key: "p" });
    }
}
