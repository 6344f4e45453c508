//! What a model gives.

use serde::{Serialize, Serializer};

/// One result; JSON has null for an infinity.
#[derive(Debug, Clone, PartialEq, derive_more::From, Serialize)]
#[serde(untagged)]
pub enum Quantity {
    /// A number; infinities allowed.
    Number(f64),
    /// Nothing: the number has no value for these arguments, and a remark says why.
    Absent,
    /// A whole number.
    Count(u64),
    /// Yes or no.
    Truth(bool),
    /// A word.
    Word(String),
    /// Numbers by place.
    Array(Vec<f64>),
    /// Numbers by key, keys rising.
    Map(#[serde(serialize_with = "as_map")] Vec<(u64, f64)>),
}

impl From<Option<f64>> for Quantity {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Absent, Self::Number)
    }
}

/// A map of the pairs.
fn as_map<S: Serializer>(pairs: &[(u64, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

/// The results of a model, in the order in which they are shown, and what is to be said about them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    fields: Vec<(&'static str, Quantity)>,
    remarks: Vec<String>,
}

impl Outcome {
    /// No results yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a result. Infinities are allowed, what is not a number makes the model refuse; where a number has no value
    /// for some arguments, a remark is to say why.
    #[must_use]
    pub fn with(mut self, name: &'static str, quantity: impl Into<Quantity>) -> Self {
        self.fields.push((name, quantity.into()));
        self
    }

    /// Says that the model is used outside of its assumptions, or what a limit means.
    #[must_use]
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.remarks.push(text.into());
        self
    }

    /// The same, only where it applies.
    #[must_use]
    pub fn remark_if(self, applies: bool, text: &str) -> Self {
        if applies { self.remark(text) } else { self }
    }

    /// Results by name.
    #[must_use]
    pub fn fields(&self) -> &[(&'static str, Quantity)] {
        &self.fields
    }

    /// The number of this name; none where there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        let found = self.fields.iter().find(|(known, _)| *known == name)?;
        match &found.1 {
            Quantity::Number(number) => Some(*number),
            Quantity::Count(count) => Some(crate::types::to_f64(*count)),
            _ => None,
        }
    }

    /// What is to be said about the results.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The first result that is no number.
    pub(super) fn not_a_number(&self) -> Option<&'static str> {
        let bad = |quantity: &Quantity| match quantity {
            Quantity::Number(number) => number.is_nan(),
            Quantity::Array(numbers) => numbers.iter().any(|number| number.is_nan()),
            Quantity::Map(pairs) => pairs.iter().any(|(_, number)| number.is_nan()),
            Quantity::Absent | Quantity::Count(_) | Quantity::Truth(_) | Quantity::Word(_) => false,
        };
        let found = self.fields.iter().find(|(_, quantity)| bad(quantity));
        found.map(|(name, _)| *name)
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.fields.iter().map(|(name, quantity)| (name, quantity)))
    }
}
