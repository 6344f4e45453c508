//! The types of values, and how a value is read and written.

use std::fmt;

use serde_json::Value;

/// The type of a parameter's value.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A duration with its unit, such as `500ms`.
    Duration,
    /// A size with its unit, such as `1500B`.
    Bytes,
    /// A rate with its unit, such as `2.34Mbps`.
    Rate,
    /// A whole number from the first to the second.
    Count(u64, u64),
    /// A number from 0 to 1.
    Probability,
    /// `on` or `off`; `true` or `false` in a file.
    Switch,
    /// On where it is given at all; `true` in a file.
    Flag,
    /// One of these words.
    Keyword(fn() -> Vec<&'static str>),
    /// A text of this form; the words with which it may begin.
    Text(&'static str, fn() -> Vec<&'static str>),
    /// Any number of texts of this form; an array in a file.
    List(&'static str),
}

impl Kind {
    /// Placeholder of a value in help.
    #[must_use]
    pub fn placeholder(self) -> String {
        match self {
            Self::Duration => "DURATION".to_owned(),
            Self::Bytes => "SIZE".to_owned(),
            Self::Rate => "RATE".to_owned(),
            Self::Count(..) => "N".to_owned(),
            Self::Probability => "P".to_owned(),
            Self::Switch => "on|off".to_owned(),
            Self::Flag => String::new(),
            Self::Keyword(words) => words().join("|"),
            Self::Text(form, _) | Self::List(form) => form.to_owned(),
        }
    }

    /// Values, or beginnings of values, that can be completed.
    #[must_use]
    pub fn words(self) -> Vec<&'static str> {
        match self {
            Self::Switch => vec!["on", "off"],
            Self::Keyword(words) | Self::Text(_, words) => words(),
            _ => Vec::new(),
        }
    }

    /// The same, any number of times.
    pub(super) const fn listed(self) -> Self {
        match self {
            Self::Text(form, _) => Self::List(form),
            other => other,
        }
    }

    /// The unit that the name of a number of this type ends in.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Duration => "_ns",
            Self::Bytes => "_bytes",
            Self::Rate => "_bps",
            _ => "",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duration => {
                f.write_str("a duration with its unit (ns, us, ms, s, min, h), such as \"500ms\"")
            }
            Self::Bytes => {
                f.write_str("a size with its unit (B, kB, KiB, MB, …), such as \"1500B\"")
            }
            Self::Rate => {
                f.write_str("a rate with its unit (bps, kbps, Mbps, Gbps), such as \"2.34Mbps\"")
            }
            Self::Count(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Probability => f.write_str("a number from 0 to 1"),
            Self::Switch => f.write_str("true or false"),
            Self::Flag => f.write_str("true, or no such key"),
            Self::Keyword(words) => write!(f, "one of \"{}\"", words().join("\", \"")),
            Self::Text(form, _) => write!(f, "a text: \"{form}\""),
            Self::List(form) => write!(f, "an array of texts: [\"{form}\"]"),
        }
    }
}

/// A value that a parameter may take: read from the text that a flag or a file gives, and written the same way.
pub trait Setting: Sized {
    /// Its type.
    const KIND: Kind;

    /// Reads it.
    ///
    /// # Errors
    /// Found and expected, where the text is not such a value.
    fn read(text: &str) -> Result<Self, String>;

    /// Writes it as [`Setting::read`] reads it.
    fn text(&self) -> String;

    /// How JSON shows it: times in ns, sizes in bytes, rates in bit/s.
    fn json(&self) -> Value {
        Value::from(self.text())
    }
}
