//! Registries of things that are selected by name with parameters, such as `cubic:beta=0.8,c=0.4`.
//!
//! A family (congestion controls, queue disciplines, schemes, erasure processes) lists its entries. A program adds its own
//! with [`Choice::register`], or passes them to [`Choice::parse_with`]. Names, forms, parsing and display are derived from the
//! entries.

use std::fmt;
use std::str::FromStr;

use super::{
    Kind, Named, Own, Parameter, ParseError, Part, RegisterError, Value, head, parts, suggestion,
    unknown_of,
};
use crate::types::{BitRate, Bytes, Span};

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

/// Returns what stands for the value of a parameter; `None` if it stays.
pub type Replace<'a, E> = dyn FnMut(&'static Parameter, &str) -> Result<Option<String>, E> + 'a;

impl<M> Entry<M> {
    /// Name and parameters: `cubic[:beta=0.7,c=0.4]`, `outages:every=DURATION,length=DURATION[,offset=DURATION]`.
    #[must_use]
    pub fn form(&self) -> String {
        let is_required = |parameter: &&Parameter| parameter.is_required;
        let (required, optional): (Vec<_>, Vec<_>) = self.parameters.iter().partition(is_required);
        let forms =
            |parameters: Vec<&Parameter>| parameters.into_iter().map(Parameter::form).collect();
        let (required, optional): (Vec<String>, Vec<String>) = (forms(required), forms(optional));
        match (required.join(","), optional) {
            (required, optional) if required.is_empty() && optional.is_empty() => {
                self.name.to_owned()
            }
            (required, optional) if required.is_empty() => {
                format!("{}[:{}]", self.name, optional.join(","))
            }
            (required, optional) => {
                let optional = optional.iter().map(|form| format!("[,{form}]"));
                format!("{}:{required}{}", self.name, optional.collect::<String>())
            }
        }
    }

    /// The parts of `text`, what follows the name, each with the parameter that it is for, if that is known, and its value.
    pub fn parts<'t>(
        &self,
        text: &'t str,
    ) -> impl Iterator<Item = (Option<&'static Parameter>, &'t str, &'t str)> {
        let bare = self.parameters.iter().find(|known| known.is_bare);
        let whole = bare.filter(|bare| bare.kind == Kind::Rest);
        let split = parts(text)
            .enumerate()
            .map(move |(at, Part { text, key, value })| {
                let named = self.parameters.iter().find(|known| Some(known.name) == key);
                // The name of a file may have a `=`.
                let is_file = at == 0 && bare.is_some_and(|bare| bare.kind == Kind::Content);
                match named {
                    None if key.is_none() || is_file => (bare, text, text),
                    named => (named, text, value),
                }
            });
        let split = whole.is_none().then_some(split).into_iter().flatten();
        whole
            .map(|whole| (Some(whole), text, text))
            .into_iter()
            .chain(split)
    }

    /// `text`, what follows the name, with other values in place of those for which `replace` returns one; `None` if it
    /// returns none.
    ///
    /// # Errors
    /// Those of `replace`.
    pub fn replaced<E>(
        &self,
        text: &str,
        replace: &mut Replace<'_, E>,
    ) -> Result<Option<String>, E> {
        let mut changed = false;
        let mut parts = Vec::new();
        for (parameter, part, value) in self.parts(text) {
            let other = parameter.map(|parameter| replace(parameter, value));
            let Some(other) = other.transpose()?.flatten() else {
                parts.push(part.to_owned());
                continue;
            };
            let before = part.strip_suffix(value).unwrap_or_default();
            parts.push(format!("{before}{other}"));
            changed = true;
        }
        Ok(changed.then(|| parts.join(",")))
    }

    /// Reads the values of its parameters in `text`, the part after `name:`.
    ///
    /// # Errors
    /// A part is for no parameter, a value is not accepted or given twice, or one is missing.
    pub fn read(&self, text: Option<&str>) -> Result<Values, ParseError> {
        let parts = text.into_iter().flat_map(|text| self.parts(text));
        self.fill(parts.map(|(parameter, part, value)| {
            let value = parameter.map(|parameter| parameter.kind.read(value));
            (part.to_owned(), parameter, value)
        }))
    }

    /// The error of a text without a value of `parameter`.
    #[must_use]
    pub fn missing(&self, parameter: &Parameter) -> ParseError {
        ParseError::Missing {
            name: parameter.name.to_owned(),
            form: self.form(),
        }
    }

    /// The given values, each with its text for errors, and the defaults of the other parameters.
    fn fill(
        &self,
        all: impl Iterator<
            Item = (
                String,
                Option<&'static Parameter>,
                Option<Result<Value, ParseError>>,
            ),
        >,
    ) -> Result<Values, ParseError> {
        let mut given = Values(Vec::new());
        for (text, parameter, value) in all {
            let Some((parameter, value)) = parameter.zip(value) else {
                let known = self.parameters.iter().map(|known| known.name);
                let suggestion = suggestion(Part::of(&text).name(), known);
                let expected = format!("one of these parameters{suggestion}: {}", self.form());
                return Err(ParseError::mismatch(text, expected));
            };
            let value = value.map_err(|error| error.of(text.clone(), Some(self.form())))?;
            if given.get(parameter.name).is_some() {
                let expected = format!("{} at most once: {}", parameter.name, self.form());
                return Err(ParseError::mismatch(text, expected));
            }
            given.0.push((parameter, value));
        }
        let mut values = Values(Vec::new());
        for known in self.parameters {
            match given.get(known.name).or(known.default.as_ref()) {
                Some(value) => values.0.push((known, value.clone())),
                None if known.is_required => {
                    return Err(self.missing(known));
                }
                None => {}
            }
        }
        Ok(values)
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

impl<M> PartialEq for Entry<M> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl<M> Eq for Entry<M> {}

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
        let values = defaults.filter_map(|known| Some((known, known.default.clone()?)));
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
            let text = format!("{name}={value}");
            let taken = parameter.map(|known| {
                let wrong = || ParseError::mismatch(&*text, known.kind.expected());
                known
                    .kind
                    .accepts(&value)
                    .then_some(value)
                    .ok_or_else(wrong)
            });
            (text, parameter, taken)
        });
        let values = entry.fill(given)?;
        Ok(Self { entry, values })
    }
}

impl<M> Choice<M> {
    /// The name, with the parameters that differ from their defaults: `cubic` for `cubic:beta=0.7,c=0.4`.
    #[must_use]
    pub fn short(&self) -> String {
        self.text(|parameter, value| parameter.default.as_ref() != Some(value))
    }

    /// The text with its parameters in parentheses, as a value inside of another text: `cbr(rate=64kbps,packet=160B)`.
    #[must_use]
    pub fn in_parentheses(&self) -> String {
        let text = self.to_string();
        match text
            .strip_prefix(self.entry.name)
            .and_then(|rest| rest.strip_prefix(':'))
        {
            Some(parameters) => format!("{}({parameters})", self.entry.name),
            None => text,
        }
    }

    /// The name, with the parameters that are shown.
    fn text(&self, is_shown: impl Fn(&Parameter, &Value) -> bool) -> String {
        let mut text = self.entry.name.to_owned();
        let mut separator = ':';
        for (parameter, value) in &self.values.0 {
            if is_shown(parameter, value) {
                text.push(separator);
                text += &parameter.show(value);
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
            values: entry.read(rest)?,
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
            !is_quiet || parameter.default.as_ref() != Some(value)
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
    /// Reads the values of these parameters, whose names are known.
    ///
    /// # Errors
    /// A value that its parameter does not take.
    pub fn read<'t>(
        given: impl IntoIterator<Item = (&'static Parameter, &'t str)>,
    ) -> Result<Self, ParseError> {
        let read = |(parameter, text): (&'static Parameter, &str)| match parameter.kind.read(text) {
            Ok(value) => Ok((parameter, value)),
            Err(error) => Err(error.of(parameter.named(text), None)),
        };
        given
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The value of the parameter with this name; `None` if absent.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut values = self.0.iter();
        let (_, value) = values.find(|(known, _)| known.name == name)?;
        Some(value)
    }
}

/// Implements methods that return a value of one type.
macro_rules! values {
    ($($(#[$meta:meta])* $method:ident: $variant:ident($value:ident) => $type:ty, $result:expr, $what:literal;)+) => {
        impl Values {$(
            $(#[$meta])*
            ///
            /// # Panics
            #[doc = concat!("The entry does not declare ", $what, " with this name, or it has no value.")]
            #[must_use]
            pub fn $method(&self, name: &str) -> $type {
                match self.get(name) {
                    Some(Value::$variant($value)) => $result,
                    other => panic!("{name} is {other:?}, not {}", $what),
                }
            }
        )+}
    };
}

values! {
    /// Value of the number with this name.
    number: Number(number) => f64, *number, "a number";
    /// Value of the whole number with this name.
    count: Count(count) => u64, *count, "a whole number";
    /// Whether the switch with this name is on.
    is_on: Switch(on) => bool, *on, "a switch";
    /// Value of the duration with this name.
    duration: Duration(span) => Span, *span, "a duration";
    /// Value of the size with this name.
    size: Size(size) => Bytes, *size, "a size";
    /// Value of the rate with this name.
    rate: Rate(rate) => BitRate, *rate, "a rate";
    /// The word that the parameter with this name has.
    word: Word(word) => &'static str, word, "a word";
    /// The text that the parameter with this name has.
    text: Text(text) => &str, text, "a text";
}
