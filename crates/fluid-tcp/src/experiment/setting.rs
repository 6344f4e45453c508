//! Types of parameter values, and conversion between value, text and JSON.

use derive_more::Display;
use serde_json::Value;

/// Type of a parameter's value. Displayed as the value that a parameter file must hold.
#[derive(Debug, Clone, Copy, Display)]
pub enum Kind {
    /// A duration with its unit, such as `500ms`.
    #[display("a duration with its unit (ns, us, ms, s, min, h), such as \"500ms\"")]
    Duration,
    /// A size with its unit, such as `1500B`.
    #[display("a size with its unit (B, kB, KiB, MB, …), such as \"1500B\"")]
    Bytes,
    /// A rate with its unit, such as `2.34Mbps`.
    #[display("a rate with its unit (bps, kbps, Mbps, Gbps), such as \"2.34Mbps\"")]
    Rate,
    /// A whole number from the first to the second.
    #[display("a whole number from {_0} to {_1}")]
    Count(u64, u64),
    /// A number from 0 to 1.
    #[display("a number from 0 to 1")]
    Probability,
    /// `on` or `off`; `true` or `false` in a file.
    #[display("true or false")]
    Switch,
    /// On if given; `true` in a file.
    #[display("true (omit the key otherwise)")]
    Flag,
    /// One of these words.
    #[display("one of \"{}\"", _0().join("\", \""))]
    Keyword(fn() -> Vec<&'static str>),
    /// A text of this form, and the words with which it may begin.
    #[display("a string: \"{_0}\"")]
    Text(&'static str, fn() -> Vec<&'static str>),
    /// Any number of texts of this form; an array in a file.
    #[display("an array of strings: [\"{_0}\"]")]
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

    /// Unit suffix of the JSON key of a number of this type; empty if it has none.
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Duration => "_ns",
            Self::Bytes => "_bytes",
            Self::Rate => "_bps",
            _ => "",
        }
    }
}

/// A value that a parameter can take, read from the text of a flag or a parameter file.
pub trait Setting: Sized {
    /// Type of the value.
    const KIND: Kind;

    /// Reads the value from `text`.
    ///
    /// # Errors
    /// The text is not such a value; the message has found and expected.
    fn read(text: &str) -> Result<Self, String>;

    /// The text that [`Setting::read`] reads back.
    fn text(&self) -> String;

    /// Reads the value from all its texts, usually one; `None` if they set nothing.
    ///
    /// # Errors
    /// The texts are not such a value; the message has found and expected.
    fn read_all(texts: &[&str]) -> Result<Option<Self>, String> {
        match texts {
            [text] => Self::read(text).map(Some),
            _ => Err(format!("found {} values, expected one", texts.len())),
        }
    }

    /// The texts that [`Setting::read_all`] reads back.
    fn texts(&self) -> Vec<String> {
        vec![self.text()]
    }

    /// The value in JSON: times in ns, sizes in bytes, rates in bit/s.
    fn json(&self) -> Value {
        Value::from(self.text())
    }
}
