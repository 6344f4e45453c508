//! Registries of things that are selected by name with parameters, such as `cubic:beta=0.8,c=0.4`.
//!
//! A family (congestion controls, queue disciplines) lists its entries. A program adds its own with [`Choice::register`], or
//! passes them to [`Choice::parse_with`]. Names, forms, parsing and display are derived from the entries.

use std::fmt;
use std::str::FromStr;

use super::unknown::alternatives;
use super::{Named, Own, ParseError, Part, RegisterError, head, parts, suggestion, unknown_of};
use crate::types::Span;
use derive_more::{Display, From};

/// Parameter of an entry: a number, a switch, a duration, or one of some words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Name of the parameter, as it is written before the `=`.
    pub name: &'static str,
    /// Default value. `None` for a number that must be given, with or without its name: `fixed:20`.
    pub default: Option<Value>,
    /// Smallest and largest accepted value of a number.
    pub range: (f64, f64),
    /// Accepted words; empty unless the parameter takes words.
    pub words: &'static [&'static str],
}

/// Value of a parameter, as parsed and as displayed. Numbers, switches, spans and words convert into one.
#[derive(Debug, Clone, Copy, PartialEq, Display, From)]
pub enum Value {
    /// Number within the range of its parameter.
    Number(f64),
    /// `on` or `off`; displayed only if it differs from the default.
    #[display("{}", if *_0 { "on" } else { "off" })]
    Switch(bool),
    /// Duration above zero, with its unit: `5ms`.
    Duration(Span),
    /// One of the words of its parameter; displayed only if it differs from the default.
    Word(&'static str),
}

impl Parameter {
    const fn new(name: &'static str, default: Option<Value>, range: (f64, f64)) -> Self {
        Self {
            name,
            default,
            range,
            words: &[],
        }
    }

    /// Declares a number from `least` to `most`, both included.
    #[must_use]
    pub const fn number(name: &'static str, default: f64, least: f64, most: f64) -> Self {
        Self::new(name, Some(Value::Number(default)), (least, most))
    }

    /// Declares a switch, `on` or `off`.
    #[must_use]
    pub const fn switch(name: &'static str, default: bool) -> Self {
        Self::new(name, Some(Value::Switch(default)), (0.0, 1.0))
    }

    /// Declares a number without a default, which is given with or without its name.
    #[must_use]
    pub const fn bare(name: &'static str, least: f64, most: f64) -> Self {
        Self::new(name, None, (least, most))
    }

    /// Declares a duration above zero.
    #[must_use]
    pub const fn duration(name: &'static str, default: Span) -> Self {
        Self::new(name, Some(Value::Duration(default)), (0.0, f64::MAX))
    }

    /// Declares a parameter that takes one of these words; the first is the default.
    #[must_use]
    pub const fn keyword(name: &'static str, words: &'static [&'static str]) -> Self {
        let default = Some(Value::Word(words[0]));
        let range = (0.0, 0.0);
        Self {
            name,
            default,
            range,
            words,
        }
    }

    /// Whether the parameter takes `value`.
    fn accepts(&self, value: &Value) -> bool {
        match (self.default, value) {
            (Some(Value::Switch(_)), Value::Switch(_)) => true,
            (Some(Value::Duration(_)), Value::Duration(span)) => !span.is_zero(),
            (Some(Value::Word(_)), Value::Word(word)) => self.words.contains(word),
            (None | Some(Value::Number(_)), Value::Number(number)) => {
                let (least, most) = self.range;
                (least..=most).contains(number)
            }
            _ => false,
        }
    }

    /// What the parameter accepts, in words.
    fn expected(&self) -> String {
        let (least, most) = self.range;
        match self.default {
            Some(Value::Switch(_)) => "on or off".to_owned(),
            Some(Value::Duration(_)) => "a duration above zero, such as 5ms".to_owned(),
            Some(Value::Word(_)) => alternatives(self.words),
            _ => format!("a number from {least} to {most}"),
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        let value = match (self.default, text) {
            (Some(Value::Switch(_)), "on") => Some(Value::Switch(true)),
            (Some(Value::Switch(_)), "off") => Some(Value::Switch(false)),
            (Some(Value::Switch(_)), _) => None,
            (Some(Value::Duration(_)), _) => text.parse().ok().map(Value::Duration),
            (Some(Value::Word(_)), _) => {
                let known = self.words.iter().find(|word| **word == text);
                known.map(|word| Value::Word(word))
            }
            _ => text.parse().ok().map(Value::Number),
        };
        value.filter(|value| self.accepts(value))
    }

    /// Formats the parameter with this value, as a user types it.
    fn show(&self, value: Value) -> String {
        match self.default {
            None => value.to_string(),
            Some(_) => format!("{}={value}", self.name),
        }
    }
}

/// Entry of a registry: a name, its parameters, and a constructor.
#[derive(Debug)]
pub struct Entry<M: 'static> {
    /// Name, without `:`, `,`, `=` or blanks.
    pub name: &'static str,
    /// One line that states what it does.
    pub about: &'static str,
    /// Parameters in the order in which they are displayed.
    pub parameters: &'static [Parameter],
    /// Examples that cover all its parameters; tests parse them.
    pub examples: &'static [&'static str],
    /// Constructor, which receives the values of the parameters.
    pub make: M,
}

impl<M> Entry<M> {
    /// Name and parameters with their defaults: `cubic[:beta=0.7,c=0.4]`.
    #[must_use]
    pub fn form(&self) -> String {
        let show = |parameter: &Parameter| match parameter.default {
            Some(default) => parameter.show(default),
            None => parameter.name.to_owned(),
        };
        let parameters: Vec<String> = self.parameters.iter().map(show).collect();
        let (name, parameters) = (self.name, parameters.join(","));
        match self.parameters {
            [] => name.to_owned(),
            all if all.iter().all(|p| p.default.is_some()) => format!("{name}[:{parameters}]"),
            _ => format!("{name}:{parameters}"),
        }
    }

    /// Parses the values of its parameters in `text`, the part after `name:`.
    fn values(&self, text: Option<&str>) -> Result<Values, ParseError> {
        let mut given = Vec::new();
        for part in text.into_iter().flat_map(parts) {
            let is_meant = |known: &&Parameter| match part.key {
                Some(name) => known.name == name,
                None => known.default.is_none(),
            };
            let parameter = self.parameters.iter().find(is_meant);
            let value = parameter.and_then(|known| known.parse(part.value));
            given.push((part.text.to_owned(), parameter, value));
        }
        self.fill(given)
    }

    /// The given values, each with its text for errors, and the defaults of the other parameters.
    fn fill(
        &self,
        all: Vec<(String, Option<&'static Parameter>, Option<Value>)>,
    ) -> Result<Values, ParseError> {
        let mut given = Values(Vec::new());
        for (text, parameter, value) in all {
            let refuse = |expected: &str| {
                ParseError(format!(
                    "found '{text}', expected {expected}: {}",
                    self.form()
                ))
            };
            let parameter = parameter.ok_or_else(|| {
                let known = self.parameters.iter().map(|known| known.name);
                let suggestion = suggestion(Part::of(&text).name(), known);
                refuse(&format!("one of these parameters{suggestion}"))
            })?;
            let value = value.ok_or_else(|| refuse(&parameter.expected()))?;
            if given.get(parameter.name).is_some() {
                return Err(refuse(&format!("{} at most once", parameter.name)));
            }
            given.0.push((parameter, value));
        }
        let filled = self.parameters.iter().map(|known| {
            let missing =
                || ParseError(format!("found no {}, expected {}", known.name, self.form()));
            let value = given.get(known.name).or(known.default);
            Ok((known, value.ok_or_else(missing)?))
        });
        filled.collect::<Result<_, _>>().map(Values)
    }
}

/// Family of registered things. Its type is that of their constructor, usually a struct around a function pointer.
pub trait Family: Copy + 'static {
    /// Name of the family in errors, such as `congestion control`.
    const KIND: &'static str;

    /// Entries of this crate.
    const ENTRIES: &'static [&'static Entry<Self>];

    /// Entry that is selected by default. All its parameters have defaults.
    const DEFAULT: &'static Entry<Self>;

    /// Entries that the program has registered.
    fn own() -> &'static Own<Entry<Self>>;
}

impl<M: 'static> Named for Entry<M> {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// Entry of a registry, selected with values for its parameters.
#[derive(Debug, Clone)]
pub struct Choice<M: 'static> {
    entry: &'static Entry<M>,
    values: Values,
}

impl<M> Choice<M> {
    /// Selects an entry with default values. All its parameters must have defaults.
    #[must_use]
    pub fn with_defaults(entry: &'static Entry<M>) -> Self {
        let defaults = entry.parameters.iter();
        let values = defaults.filter_map(|known| Some((known, known.default?)));
        Self {
            entry,
            values: Values(values.collect()),
        }
    }

    /// An entry with these values of its parameters, by their names, and the defaults of the others.
    ///
    /// ```
    /// use tmt_core::named::{Choice, Entry, Parameter};
    ///
    /// static RED: Entry<()> = Entry {
    ///     name: "red",
    ///     about: "drops at random as the queue grows",
    ///     parameters: &[Parameter::number("least", 5.0, 0.0, 1e6), Parameter::bare("most", 0.0, 1e6)],
    ///     examples: &["red:15", "red:least=1,most=20"],
    ///     make: (),
    /// };
    /// assert_eq!(Choice::new(&RED, [("most", 15.0.into())])?.to_string(), "red:least=5,15");
    /// assert!(Choice::new(&RED, []).is_err()); // `most` has no default
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Names the value that the entry does not take, or the one that it needs, and what is accepted.
    pub fn new<'a>(
        entry: &'static Entry<M>,
        values: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Self, ParseError> {
        let given = values.into_iter().map(|(name, value)| {
            let parameter = entry.parameters.iter().find(|known| known.name == name);
            let taken = parameter.filter(|known| known.accepts(&value));
            (format!("{name}={value}"), parameter, taken.map(|_| value))
        });
        let values = entry.fill(given.collect())?;
        Ok(Self { entry, values })
    }
}

impl<M> Choice<M> {
    /// The name, with the parameters that differ from their defaults: `cubic` for `cubic:beta=0.7,c=0.4`.
    #[must_use]
    pub fn short(&self) -> String {
        self.text(|parameter, value| parameter.default != Some(value))
    }

    /// The name, with the parameters that are shown.
    fn text(&self, is_shown: impl Fn(&Parameter, Value) -> bool) -> String {
        let mut text = self.entry.name.to_owned();
        let mut separator = ':';
        for (parameter, value) in &self.values.0 {
            if is_shown(parameter, *value) {
                text.push(separator);
                text += &parameter.show(*value);
                separator = ',';
            }
        }
        text
    }
}

impl<M: Family> Choice<M> {
    /// Registers entries of the program, once, beside those of the crate.
    ///
    /// # Errors
    /// [`RegisterError`]: a name that is taken, or a second call.
    pub fn register(own: Vec<&'static Entry<M>>) -> Result<(), RegisterError> {
        M::own().register(M::ENTRIES, own)
    }

    /// All entries: those of the crate, and those that the program has registered.
    #[must_use]
    pub fn entries() -> Vec<&'static Entry<M>> {
        M::own().after(M::ENTRIES)
    }

    /// Names of the entries, for completions.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        Self::entries().iter().map(|entry| entry.name).collect()
    }

    /// Forms of the entries, for help.
    #[must_use]
    pub fn forms() -> Vec<String> {
        Self::entries().iter().map(|entry| entry.form()).collect()
    }

    /// Parses a selection among `entries`: [`Family::ENTRIES`], entries of the caller, or both.
    ///
    /// # Errors
    /// The message has the text found and what was expected.
    pub fn parse_with(text: &str, entries: &[&'static Entry<M>]) -> Result<Self, ParseError> {
        let (name, rest) = head(text);
        let entry = entries.iter().find(|entry| entry.name == name);
        let entry = entry
            .ok_or_else(|| unknown_of(M::KIND, name, entries.iter().map(|entry| entry.name)))?;
        Ok(Self {
            entry,
            values: entry.values(rest)?,
        })
    }

    /// Entry that is selected.
    #[must_use]
    pub fn entry(&self) -> &'static Entry<M> {
        self.entry
    }

    /// Values of its parameters, given or default.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }
}

impl<M> PartialEq for Choice<M> {
    fn eq(&self, other: &Self) -> bool {
        self.entry.name == other.entry.name && self.values == other.values
    }
}

impl<M> fmt::Display for Choice<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|parameter, value| {
            let is_quiet = matches!(value, Value::Switch(_) | Value::Word(_));
            !is_quiet || parameter.default != Some(value)
        }))
    }
}

impl<M: Family> Default for Choice<M> {
    fn default() -> Self {
        Self::with_defaults(M::DEFAULT)
    }
}

impl<M: Family> FromStr for Choice<M> {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse_with(text, &Self::entries())
    }
}

/// Values of an entry's parameters, by name and in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Values(Vec<(&'static Parameter, Value)>);

impl Values {
    fn get(&self, name: &str) -> Option<Value> {
        let mut values = self.0.iter();
        let (_, value) = values.find(|(known, _)| known.name == name)?;
        Some(*value)
    }

    /// Value of the number with this name.
    ///
    /// # Panics
    /// The entry does not declare a number with this name.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Number(number)) => number,
            other => panic!("{name} is {other:?}, not a number"),
        }
    }

    /// Whether the switch with this name is on.
    ///
    /// # Panics
    /// The entry does not declare a switch with this name.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Switch(on)) => on,
            other => panic!("{name} is {other:?}, not a switch"),
        }
    }

    /// Value of the duration with this name.
    ///
    /// # Panics
    /// The entry does not declare a duration with this name.
    #[must_use]
    pub fn duration(&self, name: &str) -> Span {
        match self.get(name) {
            Some(Value::Duration(span)) => span,
            other => panic!("{name} is {other:?}, not a time"),
        }
    }

    /// The word that the parameter with this name has.
    ///
    /// # Panics
    /// The entry does not declare a parameter with this name that takes words.
    #[must_use]
    pub fn word(&self, name: &str) -> &'static str {
        match self.get(name) {
            Some(Value::Word(word)) => word,
            other => panic!("{name} is {other:?}, not a word"),
        }
    }
}
