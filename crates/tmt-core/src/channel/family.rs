//! Families of erasure processes and the form of their texts.

use super::SlotChannel;
use crate::model::nearest;

/// A family of erasure processes with its text form, `name:key=value,…`. [`SlotChannel::parse_with`] also reads families
/// that a caller defines on top of the built-in processes.
#[derive(Debug)]
pub struct Family {
    /// Name, with which the text starts.
    pub name: &'static str,
    /// Description, one line of help.
    pub about: &'static str,
    /// Parameters. If there is only one, its value is given without its name.
    pub keys: &'static [Key],
    /// Texts that together use every key, as they are printed.
    pub examples: &'static [&'static str],
    /// Whether the process advances with each unit rather than with time.
    pub in_steps: bool,
    /// Reads the text after the name and `:`.
    pub read: fn(&str) -> Result<SlotChannel, ChannelError>,
}

/// A parameter of a process.
#[derive(Debug)]
pub struct Key {
    /// Name of the parameter in texts.
    pub name: &'static str,
    /// Placeholder for the value in the form.
    pub value: &'static str,
    /// Default value; `None` if the parameter is required.
    pub preset: Option<&'static str>,
    /// Description with the range of values, for help.
    pub about: &'static str,
}

impl Key {
    /// A parameter without a default, which every use must give.
    #[must_use]
    pub const fn needed(name: &'static str, value: &'static str, about: &'static str) -> Self {
        Self {
            name,
            value,
            preset: None,
            about,
        }
    }

    /// A parameter with a default value.
    #[must_use]
    pub const fn preset(
        name: &'static str,
        value: &'static str,
        preset: &'static str,
        about: &'static str,
    ) -> Self {
        Self {
            preset: Some(preset),
            ..Self::needed(name, value, about)
        }
    }
}

/// An invalid text of an erasure process; displays as the complete message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChannelError(pub String);

impl Family {
    /// The accepted form of the text, such as `fading:m=MEAN BAD TIME,X=SHARE OF BAD TIME`.
    #[must_use]
    pub fn form(&self) -> String {
        format!("{}:{}", self.name, self.parameters())
    }

    fn parameters(&self) -> String {
        if let [Key { value, .. }] = self.keys {
            return (*value).to_owned();
        }
        let mut form = String::new();
        for key in self.keys {
            let mark = if form.is_empty() { "" } else { "," };
            let part = format!("{mark}{}={}", key.name, key.value);
            form += &key.preset.map_or(part.clone(), |_| format!("[{part}]"));
        }
        form
    }

    /// Values of the `N` keys, in their order.
    ///
    /// # Errors
    /// A key is unknown, given more than once, or missing.
    pub fn values<'t, const N: usize>(&self, text: &'t str) -> Result<[&'t str; N], ChannelError> {
        let mut given = [None; N];
        for part in text.split(',') {
            let known = part.split_once('=').and_then(|(name, value)| {
                let place = self.keys.iter().position(|key| key.name == name)?;
                Some((given.get_mut(place)?, name, value))
            });
            let Some((place, name, value)) = known else {
                let form = self.parameters();
                return Err(ChannelError(format!("'{part}': expected {form}")));
            };
            if place.replace(value).is_some() {
                return Err(ChannelError(format!("'{name}' is given more than once")));
            }
        }
        let mut values = [""; N];
        for ((value, given), key) in values.iter_mut().zip(given).zip(self.keys) {
            *value = given.or(key.preset).ok_or_else(|| {
                let form = self.parameters();
                ChannelError(format!("'{}' is missing: expected {form}", key.name))
            })?;
        }
        Ok(values)
    }
}

/// Reads the process of one of `families` from `text`.
pub(super) fn read(text: &str, families: &[&Family]) -> Result<SlotChannel, ChannelError> {
    let found = text.split_once(':').and_then(|(name, parameters)| {
        let family = families.iter().find(|family| family.name == name)?;
        Some((family.read)(parameters))
    });
    found.unwrap_or_else(|| {
        let forms: Vec<String> = families.iter().map(|family| family.form()).collect();
        let forms = forms.join(", ");
        let (name, _) = text.split_once(':').unwrap_or((text, ""));
        let found = match nearest(name, families.iter().map(|family| family.name)) {
            Some(known) if known == name => format!("'{text}' has no parameters"),
            Some(nearest) => format!("unknown process '{text}' (did you mean '{nearest}'?)"),
            None => format!("unknown process '{text}'"),
        };
        Err(ChannelError(format!("{found}; expected one of {forms}")))
    })
}
