//! Results of a model.

use serde::{Serialize, Serializer};

/// Value of a result. JSON has null for infinities and absent values.
#[derive(Debug, Clone, PartialEq, derive_more::From, Serialize)]
#[serde(untagged)]
pub enum Quantity {
    /// A number, which may be infinite.
    Number(f64),
    /// No value for these arguments; a remark gives the reason.
    Absent,
    /// A whole number.
    Count(u64),
    /// Yes or no.
    Truth(bool),
    /// A word.
    Word(String),
    /// Numbers by index.
    Array(Vec<f64>),
    /// Numbers by key, in ascending order of the keys.
    Map(#[serde(serialize_with = "as_map")] Vec<(u64, f64)>),
}

impl From<Option<f64>> for Quantity {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Absent, Self::Number)
    }
}

/// Serializes pairs as a map.
fn as_map<S: Serializer>(pairs: &[(u64, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

/// The results of a model in display order, and remarks on them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    fields: Vec<(&'static str, Quantity)>,
    remarks: Vec<String>,
}

impl Outcome {
    /// An outcome without results and remarks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a result.
    ///
    /// Infinities are allowed. NaN makes [`Model::evaluate`](super::Model::evaluate) fail. If a number has no value for some
    /// arguments, add [`Quantity::Absent`] and a remark with the reason.
    #[must_use]
    pub fn with(mut self, name: &'static str, quantity: impl Into<Quantity>) -> Self {
        self.fields.push((name, quantity.into()));
        self
    }

    /// Adds a remark, for example that an assumption of the model does not hold.
    #[must_use]
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.remarks.push(text.into());
        self
    }

    /// Adds a remark if `applies`.
    #[must_use]
    pub fn remark_if(self, applies: bool, text: &str) -> Self {
        if applies { self.remark(text) } else { self }
    }

    /// All results with their names, in display order.
    #[must_use]
    pub fn fields(&self) -> &[(&'static str, Quantity)] {
        &self.fields
    }

    /// The number with this name; `None` if absent.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        let found = self.fields.iter().find(|(known, _)| *known == name)?;
        match &found.1 {
            Quantity::Number(number) => Some(*number),
            Quantity::Count(count) => Some(crate::types::to_f64(*count)),
            _ => None,
        }
    }

    /// All remarks on the results.
    #[must_use]
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Name of the first result that contains NaN.
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
