//! An experiment as a map of the keys of a parameter file: what serde reads and writes.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::parameters::{Experiment, PARAMETERS, Parameter};
use super::setting::Kind;

impl Serialize for Experiment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let given = PARAMETERS
            .iter()
            .filter(|parameter| parameter.is_given(self));
        let values = given.map(|parameter| (parameter.key, Texts::of(parameter, self)));
        serializer.collect_map(values)
    }
}

impl<'de> Deserialize<'de> for Experiment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Keys)
    }
}

/// One text, or several.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Texts {
    Switch(bool),
    Whole(u64),
    Number(f64),
    One(String),
    Several(Vec<String>),
}

impl Texts {
    fn of(parameter: &Parameter, experiment: &Experiment) -> Self {
        let mut texts = (parameter.access.texts)(experiment).unwrap_or_default();
        match (parameter.kind, texts.len()) {
            (Kind::List(_), _) | (_, 0 | 2..) => Self::Several(texts),
            _ => Self::One(texts.remove(0)),
        }
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = Experiment;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of the parameters of an experiment")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Experiment, A::Error> {
        let mut experiment = Experiment::default();
        while let Some(key) = map.next_key::<String>()? {
            let parameter = Parameter::of(&key)
                .ok_or_else(|| A::Error::custom(format!("unknown parameter {key}")))?;
            if parameter.is_given(&experiment) {
                return Err(A::Error::custom(format!("{key} is given more than once")));
            }
            let texts = match map.next_value::<Texts>()? {
                Texts::Switch(on) => vec![super::Setting::text(&on)],
                Texts::Whole(number) => vec![number.to_string()],
                Texts::Number(number) => vec![number.to_string()],
                Texts::One(text) => vec![text],
                Texts::Several(texts) => texts,
            };
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            (parameter.access.set)(&mut experiment, &texts)
                .map_err(|why| A::Error::custom(format!("{key}: {why}")))?;
        }
        Ok(experiment)
    }
}
