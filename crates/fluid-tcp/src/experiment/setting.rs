//! The types of values, and how a value is read and written.

use derive_more::Display;
use serde_json::Value;

/// The type of a parameter's value; shown as what a file must hold.
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
    /// On where it is given at all; `true` in a file.
    #[display("true, or no such key")]
    Flag,
    /// One of these words.
    #[display("one of \"{}\"", _0().join("\", \""))]
    Keyword(fn() -> Vec<&'static str>),
    /// A text of this form; the words with which it may begin.
    #[display("a text: \"{_0}\"")]
    Text(&'static str, fn() -> Vec<&'static str>),
    /// Any number of texts of this form; an array in a file.
    #[display("an array of texts: [\"{_0}\"]")]
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

    /// Reads what flags or an array give, one text as a rule; none where that gives nothing.
    ///
    /// # Errors
    /// Found and expected, where the texts are not such a value.
    fn read_all(texts: &[&str]) -> Result<Option<Self>, String> {
        match texts {
            [text] => Self::read(text).map(Some),
            _ => Err(format!("found {} values, expected one", texts.len())),
        }
    }

    /// Writes it as [`Setting::read_all`] reads it.
    fn texts(&self) -> Vec<String> {
        vec![self.text()]
    }

    /// How JSON shows it: times in ns, sizes in bytes, rates in bit/s.
    fn json(&self) -> Value {
        Value::from(self.text())
    }
}
