//! What the texts of erasure processes hold.

use super::SlotChannel;
use crate::model::nearest;

/// A process by its text form, `name:key=value,…`. A caller's own, which is made of one of ours, is read by
/// [`SlotChannel::parse_with`].
#[derive(Debug)]
pub struct Family {
    /// What its text begins with.
    pub name: &'static str,
    /// What it does, one line of help.
    pub about: &'static str,
    /// What it takes; the value of a single key stands without its name.
    pub keys: &'static [Key],
    /// Texts with all that it takes, as they are printed.
    pub examples: &'static [&'static str],
    /// Whether it goes on with every unit, and not with time.
    pub in_steps: bool,
    /// The process of what follows the name and `:`.
    pub read: fn(&str) -> Result<SlotChannel, ChannelError>,
}

/// A parameter of a process.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What a form shows for its value.
    pub value: &'static str,
    /// Its value when it is not given; none where it is needed.
    pub preset: Option<&'static str>,
    /// What it is, with its domain.
    pub about: &'static str,
}

impl Key {
    /// A parameter that is always given.
    #[must_use]
    pub const fn needed(name: &'static str, value: &'static str, about: &'static str) -> Self {
        Self {
            name,
            value,
            preset: None,
            about,
        }
    }

    /// A parameter with a preset.
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

/// Why a channel's text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChannelError(pub String);

impl Family {
    /// The accepted form, such as `fading:m=MEAN BAD TIME,X=SHARE OF BAD TIME`.
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

    /// The values of its keys, as many as there are, in their order.
    ///
    /// # Errors
    /// A key that is unknown, given more than once, or missing.
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

/// The process of one of these families that `text` says.
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
