//! Serde form of an experiment: a map with the keys of a parameter file.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::{Table, Value};

use super::parameters::{Experiment, PARAMETERS, Parameter};
use super::setting::{Kind, Setting as _};

impl Serialize for Experiment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let given = PARAMETERS.iter().filter(|p| p.is_given(self));
        serializer.collect_map(given.map(|parameter| {
            let texts = (parameter.access.texts)(self).unwrap_or_default();
            let value = match parameter.kind {
                Kind::List(_) => Value::from(texts),
                _ => Value::from(texts.concat()),
            };
            (parameter.key, value)
        }))
    }
}

impl<'de> Deserialize<'de> for Experiment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut experiment = Self::default();
        // A table refuses duplicate keys.
        for (key, value) in Table::deserialize(deserializer)? {
            let parameter = Parameter::of(&key)
                .ok_or_else(|| D::Error::custom(format!("unknown parameter {key}")))?;
            let texts: Vec<String> = match value {
                Value::Array(values) => values.into_iter().map(text).collect(),
                value => vec![text(value)],
            };
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            (parameter.access.set)(&mut experiment, &texts)
                .map_err(|why| D::Error::custom(format!("{key}: {why}")))?;
        }
        Ok(experiment)
    }
}

/// The value as the text of a flag.
fn text(value: Value) -> String {
    match value {
        Value::Boolean(on) => on.text(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}
