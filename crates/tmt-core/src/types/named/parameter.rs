//! Parameters of an entry: their kinds, and how a value is read and shown.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use derive_more::{Display, From};

use super::unknown::alternatives;
use super::{ParseError, suggestion};
use crate::types::{BitRate, Bytes, QuantityError, Span};

/// Parameter of an entry. Help, forms, completions and messages derive from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name of the parameter, as it is written before the `=`.
    pub name: &'static str,
    /// Kind and range of its values.
    pub kind: Kind,
    /// Value if none is given.
    pub default: Option<Value>,
    /// Whether a value must be given.
    pub is_required: bool,
    /// Whether the value stands without the name in what is displayed; both are read: `fixed:20`, `fixed:W=20`.
    pub is_bare: bool,
    /// Placeholder of the value in forms; if empty, the default or the name stands there.
    pub placeholder: &'static str,
    /// Meaning, in one line; may be empty.
    pub about: &'static str,
    /// With which other parameters it may be combined.
    pub rule: Rule,
}

/// Kind and range of the values of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A number from the first to the second, both included.
    Number(f64, f64),
    /// A number from 0 to 1.
    Probability,
    /// A number with its unit.
    Quantity(&'static Quantity),
    /// A whole number from the first to the second, both included.
    Count(u64, u64),
    /// Two whole numbers from 1 up to this, `A/B`, the first at most the second.
    Fraction(u32),
    /// `on` or `off`.
    Switch,
    /// No value; the parameter is present or not.
    Present,
    /// A duration with its unit, from the first to the second, both included.
    Duration(Span, Span),
    /// A duration with its unit, or this word.
    DurationOr(&'static str),
    /// A size above zero, with its unit.
    Size,
    /// A rate above zero, with its unit.
    Rate,
    /// One of these words.
    Words(&'static [&'static str]),
    /// The numbers of two nodes, `A-B`.
    Nodes,
    /// A text that is read later; what is accepted, in words.
    Text(&'static str),
    /// The whole text after the name of the entry, commas included.
    Rest,
    /// The content of a file, in braces.
    Content,
    /// A file, for a format with several inputs.
    File,
    /// The only input of a format: a file, or stdin if omitted.
    Input,
}

/// A number with a unit, and the values that are accepted.
#[derive(Debug, PartialEq)]
pub struct Quantity {
    /// Accepted values, in words.
    pub expected: &'static str,
    /// Smallest value, in the unit of a [`Value::Number`].
    pub least: f64,
    /// Largest value.
    pub most: f64,
    /// Names of units, with the factor and the divisor that turn a number of them into a [`Value::Number`]. Values are shown in
    /// the first unit in which they are exact, with at most nine decimals but in the last.
    pub units: &'static [(&'static str, f64, f64)],
}

/// Rule for combining a parameter with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The parameter is optional.
    Free,
    /// The parameter is required, for this reason.
    Required(&'static str),
    /// The parameter needs this other one.
    With(&'static str),
    /// The parameter cannot be combined with this other one.
    Without(&'static str),
}

/// Value of a parameter, as parsed and as displayed. Numbers, switches, durations and words convert into one.
#[derive(Debug, Clone, PartialEq, Display, From)]
pub enum Value {
    /// Number within the range of its parameter.
    Number(f64),
    /// Whole number within the range of its parameter.
    Count(u64),
    /// Two whole numbers, the first at most the second.
    #[display("{_0}/{_1}")]
    Fraction(u32, u32),
    /// `on` or `off`; displayed only if it differs from the default.
    #[display("{}", if *_0 { "on" } else { "off" })]
    Switch(bool),
    /// Duration, with its unit: `5ms`.
    Duration(Span),
    /// Size, with its unit.
    Size(Bytes),
    /// Rate, with its unit.
    Rate(BitRate),
    /// One of the words of its parameter; displayed only if it differs from the default.
    Word(&'static str),
    /// Text of a parameter that is read later.
    Text(Cow<'static, str>),
}

impl Value {
    /// A text, for a default.
    #[must_use]
    pub const fn text(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl Quantity {
    fn read(&self, text: &str) -> Option<f64> {
        let read = |&(unit, factor, divisor): &(&str, f64, f64)| {
            let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
            Some(number * factor / divisor)
        };
        self.units.iter().find_map(read)
    }

    /// The number with its unit, as it is read.
    #[must_use]
    pub fn show(&self, value: f64) -> String {
        let last = self.units.len() - 1;
        for (at, (unit, factor, divisor)) in self.units.iter().enumerate() {
            let number = value / factor * divisor;
            let rounded = (number * 1e9).round() / 1e9;
            if at == last {
                return format!("{number}{unit}");
            } else if (rounded * factor / divisor).to_bits() == value.to_bits() {
                return format!("{rounded}{unit}");
            }
        }
        value.to_string()
    }
}

/// The whole number that `text` is, of digits only.
fn whole<T: FromStr>(text: &str) -> Option<T> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

impl Kind {
    /// A duration of zero or more.
    pub const DURATION: Self = Self::Duration(Span::ZERO, Span::MAX);
    /// A duration above zero.
    pub const PERIOD: Self = Self::Duration(Span::NANOSECOND, Span::MAX);

    /// Accepted values, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Number(least, most) => format!("a number from {least} to {most}"),
            Self::Probability => "a probability from 0 to 1".to_owned(),
            Self::Quantity(quantity) => quantity.expected.to_owned(),
            Self::Count(least, u64::MAX) => format!("a whole number, {least} or more"),
            Self::Count(least, most) => format!("a whole number from {least} to {most}"),
            Self::Fraction(most) => {
                format!("two whole numbers A/B from 1 to {most}, the first at most the second")
            }
            Self::Switch => "on or off".to_owned(),
            Self::Duration(Span::ZERO, Span::MAX) => "a duration, such as 5ms".to_owned(),
            Self::Duration(Span::NANOSECOND, Span::MAX) => {
                "a duration above zero, such as 5ms".to_owned()
            }
            Self::Duration(least, Span::MAX) => format!("a duration of at least {least}"),
            Self::Duration(least, most) => format!("a duration from {least} to {most}"),
            Self::DurationOr(word) => format!("a duration, such as 5ms, or '{word}'"),
            Self::Size => "a size above zero, such as 33B".to_owned(),
            Self::Rate => "a rate above zero, such as 2.34Mbps".to_owned(),
            Self::Words(words) => alternatives(words),
            Self::Nodes => "the numbers of two nodes, as 0-1".to_owned(),
            Self::Content => {
                "the content of a file in braces, {…}, as no file is read here".to_owned()
            }
            Self::Text(expected) => (*expected).to_owned(),
            Self::Present | Self::Rest | Self::File | Self::Input => "a text".to_owned(),
        }
    }

    /// Reads a value.
    ///
    /// # Errors
    /// The text is not a value of this kind; the error says what is.
    pub fn read(&self, text: &str) -> Result<Value, ParseError> {
        let wrong = || ParseError::mismatch(text, self.expected());
        let wrong_unit = |error: QuantityError| ParseError::Mismatch {
            found: text.to_owned(),
            suggestion: error.did_you_mean(),
            expected: match (self, text) {
                (Self::DurationOr(word), _) => format!("{}, or '{word}'", error.expected()),
                (Self::Duration(Span::ZERO, _), "0") => format!("{}; or 0s", error.expected()),
                (_, "0") => self.expected(),
                _ => error.expected().to_owned(),
            },
        };
        let value = match *self {
            Self::Number(..) | Self::Probability => text.parse().ok().map(Value::Number),
            Self::Quantity(quantity) => quantity.read(text).map(Value::Number),
            Self::Count(..) => whole(text).map(Value::Count),
            Self::Fraction(_) => text
                .split_once('/')
                .and_then(|(part, of)| Some(Value::Fraction(whole(part)?, whole(of)?))),
            Self::Switch => match text {
                "on" => Some(Value::Switch(true)),
                "off" => Some(Value::Switch(false)),
                _ => None,
            },
            Self::DurationOr(word) if text == word => Some(Value::Word(word)),
            Self::Duration(..) | Self::DurationOr(_) => {
                Some(Value::Duration(text.parse().map_err(wrong_unit)?))
            }
            Self::Size => Some(Value::Size(text.parse().map_err(wrong_unit)?)),
            Self::Rate => Some(Value::Rate(text.parse().map_err(wrong_unit)?)),
            Self::Words(words) => {
                let known = words.iter().find(|word| **word == text);
                let unknown = || ParseError::Mismatch {
                    found: text.to_owned(),
                    suggestion: suggestion(text, words.iter().copied()),
                    expected: alternatives(words),
                };
                Some(Value::Word(known.ok_or_else(unknown)?))
            }
            Self::Nodes => {
                let nodes = text.split_once('-');
                let nodes =
                    nodes.and_then(|(from, to)| Some((whole::<u32>(from)?, whole::<u32>(to)?)));
                nodes.map(|(from, to)| Value::Text(format!("{from}-{to}").into()))
            }
            Self::Content => {
                let inside = text
                    .strip_prefix('{')
                    .and_then(|text| text.strip_suffix('}'));
                inside.map(|inside| Value::Text(inside.to_owned().into()))
            }
            Self::Present | Self::Text(_) | Self::Rest | Self::File | Self::Input => {
                Some(Value::Text(text.to_owned().into()))
            }
        };
        value.filter(|value| self.accepts(value)).ok_or_else(wrong)
    }

    /// Whether a value is of this kind and in its range.
    #[must_use]
    pub fn accepts(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Number(least, most), Value::Number(number)) => (least..=most).contains(&number),
            (Self::Probability, Value::Number(number)) => (0.0..=1.0).contains(number),
            (Self::Quantity(quantity), Value::Number(number)) => {
                (quantity.least..=quantity.most).contains(number)
            }
            (Self::Count(least, most), Value::Count(count)) => (least..=most).contains(&count),
            (Self::Fraction(most), Value::Fraction(part, of)) => {
                1 <= *part && part <= of && of <= most
            }
            (Self::Duration(least, most), Value::Duration(span)) => (least..=most).contains(&span),
            (Self::Size, Value::Size(size)) => size.0 > 0,
            (Self::Rate, Value::Rate(rate)) => rate.0 > 0,
            (Self::Words(words), Value::Word(word)) => words.contains(word),
            (Self::DurationOr(word), Value::Word(given)) => word == given,
            (Self::Switch, Value::Switch(_)) | (Self::DurationOr(_), Value::Duration(_)) => true,
            (kind, Value::Text(_)) => kind.is_text(),
            _ => false,
        }
    }

    /// Placeholder for a value in help.
    #[must_use]
    pub const fn value_name(&self) -> &'static str {
        match self {
            Self::Number(..) | Self::Probability | Self::Quantity(_) => "NUMBER",
            Self::Count(..) => "N",
            Self::Fraction(_) => "A/B",
            Self::Switch => "on|off",
            Self::Duration(..) | Self::DurationOr(_) => "DURATION",
            Self::Size => "SIZE",
            Self::Rate => "RATE",
            Self::Words(_) => "WORD",
            Self::Nodes => "A-B",
            Self::Content | Self::File | Self::Input => "FILE",
            Self::Present | Self::Text(_) | Self::Rest => "TEXT",
        }
    }

    /// Whether a value is the name of a file that is an input or output of a format.
    #[must_use]
    pub const fn is_file(&self) -> bool {
        matches!(self, Self::File | Self::Input)
    }

    /// Whether a value is the name of a file whose content is meant ([`Self::Content`]).
    #[must_use]
    pub fn names_file(&self, value: &str) -> bool {
        *self == Self::Content && self.read(value).is_err()
    }

    /// Whether a value is the text that was given.
    const fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Present
                | Self::Nodes
                | Self::Text(_)
                | Self::Rest
                | Self::Content
                | Self::File
                | Self::Input
        )
    }
}

impl Parameter {
    const fn new(
        name: &'static str,
        kind: Kind,
        default: Option<Value>,
        is_required: bool,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            default,
            is_required,
            is_bare: false,
            placeholder: "",
            about,
            rule: Rule::Free,
        }
    }

    /// Declares a parameter that must be given.
    #[must_use]
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self::new(name, kind, None, true, "")
    }

    /// Declares a parameter that may be omitted, and then has no value.
    #[must_use]
    pub const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self::new(name, kind, None, false, about)
    }

    /// Declares a parameter with a default.
    #[must_use]
    pub const fn preset(name: &'static str, kind: Kind, default: Value) -> Self {
        Self::new(name, kind, Some(default), false, "")
    }

    /// Declares a number from `least` to `most`, both included.
    #[must_use]
    pub const fn number(name: &'static str, default: f64, least: f64, most: f64) -> Self {
        Self::preset(name, Kind::Number(least, most), Value::Number(default))
    }

    /// Declares a switch, `on` or `off`.
    #[must_use]
    pub const fn switch(name: &'static str, default: bool) -> Self {
        Self::preset(name, Kind::Switch, Value::Switch(default))
    }

    /// Declares a number without a default, which is given with or without its name.
    #[must_use]
    pub const fn bare(name: &'static str, least: f64, most: f64) -> Self {
        Self::required(name, Kind::Number(least, most)).without_name()
    }

    /// Declares a duration above zero.
    #[must_use]
    pub const fn duration(name: &'static str, default: Span) -> Self {
        Self::preset(name, Kind::PERIOD, Value::Duration(default))
    }

    /// Declares a parameter that takes one of these words; the first is the default.
    #[must_use]
    pub const fn keyword(name: &'static str, words: &'static [&'static str]) -> Self {
        Self::preset(name, Kind::Words(words), Value::Word(words[0]))
    }

    /// The same parameter, displayed without its name.
    #[must_use]
    pub const fn without_name(mut self) -> Self {
        self.is_bare = true;
        self
    }

    /// The same parameter with this placeholder for its value in forms, and this meaning.
    #[must_use]
    pub const fn described(mut self, placeholder: &'static str, about: &'static str) -> Self {
        self.placeholder = placeholder;
        self.about = about;
        self
    }

    /// The same parameter with this rule.
    #[must_use]
    pub const fn when(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    /// The parameter in a form: with its placeholder, its default, or its name.
    pub(super) fn form(&self) -> String {
        match (&self.default, self.placeholder) {
            (Some(default), "") => self.show(default),
            (None, "") => self.name.to_owned(),
            (_, placeholder) => self.named(placeholder),
        }
    }

    /// The parameter with this value, as a user types it.
    #[must_use]
    pub fn show(&self, value: &Value) -> String {
        self.named(self.text(value))
    }

    /// A value of the parameter, as a user types it.
    #[must_use]
    pub fn text(&self, value: &Value) -> String {
        match (self.kind, value) {
            (Kind::Quantity(quantity), Value::Number(number)) => quantity.show(*number),
            (Kind::Content, _) => format!("{{{value}}}"),
            _ => value.to_string(),
        }
    }

    /// The default, as a user types it; empty without one.
    #[must_use]
    pub fn default_text(&self) -> String {
        self.default
            .as_ref()
            .map_or_else(String::new, |default| self.text(default))
    }

    /// The text `value` with the name before it, unless it stands alone.
    pub(crate) fn named(&self, value: impl Display) -> String {
        if self.is_bare {
            value.to_string()
        } else {
            format!("{}={value}", self.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SPEED: Quantity = Quantity {
        expected: "a speed",
        least: 0.0,
        most: 100.0,
        units: &[("km/h", 1.0, 3.6), ("m/s", 1.0, 1.0)],
    };

    /// A kind, texts that are read with what is shown of them, and texts that are refused.
    type Case<'t> = (Kind, &'t [(&'t str, &'t str)], &'t [&'t str]);

    #[test]
    fn a_kind_reads_what_it_shows_and_refuses_the_rest() {
        let second = Kind::Duration(Span::ZERO, Span::from_secs(1));
        let cases: &[Case<'_>] = &[
            (
                Kind::Number(-1.0, 2.0),
                &[("2", "2"), ("-1e0", "-1")],
                &["2.1", "nan", "", "x"],
            ),
            (
                Kind::Probability,
                &[("0", "0"), ("1.0", "1")],
                &["-0.1", "1.1", "inf"],
            ),
            (
                Kind::Quantity(&SPEED),
                &[("60km/h", "60km/h"), ("7.3m/s", "26.28km/h")],
                &["60", "101m/s"],
            ),
            (
                Kind::Count(1, 9),
                &[("9", "9"), ("01", "1")],
                &["0", "10", "+1", "1.5", ""],
            ),
            (
                Kind::Fraction(9),
                &[("2/3", "2/3"), ("9/9", "9/9")],
                &["3/2", "0/1", "1/10", "1", "1/"],
            ),
            (Kind::Switch, &[("on", "on"), ("off", "off")], &["On", ""]),
            (Kind::PERIOD, &[("0.01s", "10ms")], &["0", "0s", "10"]),
            (second, &[("0s", "0s"), ("1s", "1s")], &["1001ms", "x"]),
            (
                Kind::DurationOr("min"),
                &[("min", "min"), ("0s", "0s")],
                &["max", "1"],
            ),
            (Kind::Size, &[("1kB", "1000B")], &["0B", "33"]),
            (Kind::Rate, &[("1kbps", "1kbps")], &["0bps", "1"]),
            (Kind::Words(&["a", "b"]), &[("b", "b")], &["c", ""]),
            (Kind::Nodes, &[("0-12", "0-12")], &["0", "a-b", "1-2-3"]),
            (
                Kind::Content,
                &[("{a,b}", "{a,b}"), ("{}", "{}")],
                &["a.csv", "{a"],
            ),
        ];
        for (kind, good, bad) in cases {
            let parameter = Parameter::required("p", *kind).without_name();
            for (text, shown) in *good {
                let value = kind.read(text).unwrap();
                assert_eq!(parameter.show(&value), *shown, "{kind:?} {text}");
                assert_eq!(kind.read(shown).as_ref(), Ok(&value));
            }
            for text in *bad {
                let error = kind.read(text).unwrap_err().to_string();
                let start = format!("found '{text}'");
                assert!(
                    error.starts_with(&start) && error.contains(", expected "),
                    "{error}"
                );
            }
        }
    }
}
