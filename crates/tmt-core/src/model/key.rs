//! What a model takes: keys, their presets and domains, and the values given for them.

use std::str::FromStr;

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::ModelError;

/// A value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A real number.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// One of the key's words.
    Word(&'static str),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // The fewest digits that read back as the same number.
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

/// What a key may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Domain {
    /// In [0, 1].
    Probability,
    /// Above 0, finite.
    Positive,
    /// 0 or above, finite.
    NonNegative,
    /// Any finite number.
    Real,
    /// Whole, from the first to the second, both included.
    Count(u64, u64),
    /// One of these.
    Word(&'static [&'static str]),
}

/// A key with its preset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// Name at the interface.
    pub name: &'static str,
    /// Other names it answers to.
    pub aliases: &'static [&'static str],
    /// What it is, with its unit.
    pub about: &'static str,
    /// Its value when it is not given; none where the model does without it, or derives it as `about` says.
    pub preset: Option<Value>,
    /// What it may be.
    pub domain: Domain,
}

impl Serialize for Key {
    /// Its description: preset and domain as texts.
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
    /// All its names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether this is one of its names.
    #[must_use]
    pub fn answers_to(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// The preset as it would be typed; none where there is none.
    #[must_use]
    pub fn preset_text(&self) -> Option<String> {
        self.preset.map(|value| value.to_string())
    }

    /// What is accepted, in words.
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

    /// The value that `text` says.
    ///
    /// # Errors
    /// It is no value of this key.
    pub fn parse(&self, text: &str) -> Result<Value, ModelError> {
        let value = match self.domain {
            Domain::Word(words) => {
                let word = words.iter().find(|word| **word == text);
                word.map(|word| Value::Word(word))
            }
            // Whole numbers above 2^53 have no double of their own.
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

    /// The value that is this number; none where it is none of this key.
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
        // A minus in front of a zero has no meaning here, and would make minus infinities.
        (allowed && number.is_finite()).then_some(Value::Number(number + 0.0))
    }

    /// The refusal of what was found for this key.
    #[must_use]
    pub fn refusal(&self, found: &str) -> ModelError {
        ModelError::Value {
            key: self.name,
            found: found.to_owned(),
            expected: self.expected(),
        }
    }
}

/// Values for all keys of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    keys: &'static [Key],
    /// By the place of the key; none where it is left out and has no preset.
    values: Vec<Option<Value>>,
    /// By the place of the key: whether it was given.
    given: Vec<bool>,
}

impl Arguments {
    /// Every key at its preset.
    #[must_use]
    pub fn presets(keys: &'static [Key]) -> Self {
        Self {
            keys,
            values: keys.iter().map(|key| key.preset).collect(),
            given: vec![false; keys.len()],
        }
    }

    fn place(&self, key: &Key) -> usize {
        self.keys
            .iter()
            .position(|known| known.name == key.name)
            .unwrap_or_else(|| panic!("the model has no key {}", key.name))
    }

    /// Gives a key its value.
    ///
    /// # Errors
    /// It has been given one before.
    pub fn give(&mut self, key: &Key, value: Value) -> Result<(), ModelError> {
        let place = self.place(key);
        if self.given[place] {
            return Err(ModelError::Twice { key: key.name });
        }
        self.given[place] = true;
        self.values[place] = Some(value);
        Ok(())
    }

    /// The value of a key; none where it is left out and has no preset.
    #[must_use]
    pub fn value(&self, key: &Key) -> Option<Value> {
        self.values[self.place(key)]
    }

    /// The number given for a key that has no preset.
    #[must_use]
    pub fn maybe(&self, key: &Key) -> Option<f64> {
        match self.value(key) {
            Some(Value::Number(number)) => Some(number),
            Some(Value::Count(count)) => Some(crate::types::to_f64(count)),
            _ => None,
        }
    }

    /// The value of a number's key.
    ///
    /// # Panics
    /// If the key has neither value nor preset: the model should have asked [`Self::maybe`].
    #[must_use]
    pub fn number(&self, key: &Key) -> f64 {
        self.maybe(key)
            .unwrap_or_else(|| panic!("{} is no number", key.name))
    }

    /// The value of a whole number's key.
    ///
    /// # Panics
    /// If it is no such key.
    #[must_use]
    pub fn count(&self, key: &Key) -> u64 {
        match self.value(key) {
            Some(Value::Count(count)) => count,
            _ => panic!("{} is no whole number", key.name),
        }
    }

    /// The same, as a length.
    ///
    /// # Panics
    /// If it is no such key.
    #[must_use]
    pub fn size(&self, key: &Key) -> usize {
        usize::try_from(self.count(key)).unwrap_or(usize::MAX)
    }

    /// The value of a word's key.
    ///
    /// # Panics
    /// If it is no such key.
    #[must_use]
    pub fn word(&self, key: &Key) -> &'static str {
        match self.value(key) {
            Some(Value::Word(word)) => word,
            _ => panic!("{} is no word", key.name),
        }
    }

    /// The value of a word's key as what the word stands for.
    ///
    /// # Panics
    /// If it is no such key, or one of its words stands for nothing.
    #[must_use]
    pub fn choice<T: FromStr>(&self, key: &Key) -> T {
        let word = self.word(key);
        let unknown = |_| panic!("{} has no meaning for '{word}'", key.name);
        word.parse().unwrap_or_else(unknown)
    }

    /// Keys and values, in the model's order; those without a value are none.
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
    fn presets_stand_for_what_is_left_out() {
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
