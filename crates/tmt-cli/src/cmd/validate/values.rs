//! Named values, in which `{key}` refers to another value.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::exit::{Failure, Outcome};

/// Values of a family, a figure, a point or a row.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Values(BTreeMap<String, toml::Value>);

impl Values {
    /// Adds `others`, which replace values of the same name.
    pub(super) fn put<'a>(
        &mut self,
        others: impl IntoIterator<Item = (&'a String, &'a toml::Value)>,
    ) {
        let others = others.into_iter();
        self.0
            .extend(others.map(|(key, value)| (key.clone(), value.clone())));
    }

    /// A copy with `others` added.
    pub(super) fn with(&self, others: &Self) -> Self {
        let mut values = self.clone();
        values.put(&others.0);
        values
    }

    /// A value with all references resolved.
    pub(super) fn text(&self, key: &str) -> Outcome<String> {
        self.filled_in(&format!("{{{key}}}"))
    }

    /// A value as a number.
    pub(super) fn number(&self, key: &str) -> Outcome<f64> {
        let text = self.text(key)?;
        let number = text.parse();
        number.map_err(|_| Failure::failed(format!("{key}: found '{text}', expected a number")))
    }

    /// `template` with `{key}`, `{key/N}` and `{key:N}` replaced, nested ones first.
    pub(super) fn filled_in(&self, template: &str) -> Outcome<String> {
        let mut text = template.to_owned();
        while let Some(end) = text.find('}') {
            let start = text[..end].rfind('{').unwrap_or(0);
            let name = &text[start + 1..end];
            let value = if let Some((key, divisor)) = name.rsplit_once('/') {
                let divisor: f64 = divisor.parse().map_err(Failure::failed)?;
                (self.number(key)? / divisor).to_string()
            } else if let Some((key, decimals)) = name.rsplit_once(':') {
                let decimals = decimals.parse().map_err(Failure::failed)?;
                format!("{:.decimals$}", self.number(key)?)
            } else {
                match self.0.get(name) {
                    Some(toml::Value::String(text)) => text.clone(),
                    Some(number) => number.to_string(),
                    None => return Err(Failure::failed(format!("unknown value '{name}'"))),
                }
            };
            text.replace_range(start..=end, &value);
        }
        Ok(text)
    }
}
