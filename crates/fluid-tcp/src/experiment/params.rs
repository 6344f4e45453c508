//! What `params` of JSON show: every resolved parameter, and what follows from them.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A parameter that won over what the metadata said.
#[derive(Debug, Clone)]
pub struct Overridden {
    /// The key of the metadata.
    pub key: &'static str,
    /// The flag that sets the parameter.
    pub flag: &'static str,
    /// What the metadata said, in the unit of the key.
    pub told: u64,
    /// What the run uses, in the unit of the key.
    pub used: u64,
}

/// Names and values, in the order in which they are shown.
type Fields = Vec<(&'static str, Value)>;

/// What a name stands for.
#[derive(Debug, Clone)]
pub(super) enum Shown {
    /// A value.
    Value(Value),
    /// Objects of several values.
    List(Vec<Fields>),
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::List(objects) => serializer.collect_seq(objects.iter().map(Object)),
        }
    }
}

struct Object<'a>(&'a Fields);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Names and values in the order of [`super::PARAMETERS`], each fact after the parameter that it follows from.
#[derive(Debug, Clone, Default)]
pub struct Params(pub(super) Vec<(String, Shown)>);

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}
