//! Families of erasure processes and the form of their texts.

use std::borrow::Cow;

use super::SlotChannel;
use crate::types::named::{ParseError, Part, head, parts, suggestion};

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
    /// For a key whose value is a file: turns the file's content into one line, which replaces it in braces.
    file: Option<Content>,
}

/// What is wrong with a table, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Line from 1; 0 for the table as a whole.
    pub(super) line: usize,
    /// Column from 1, by commas; 0 for the line as a whole.
    pub(super) column: usize,
    pub(super) message: String,
}

impl Fault {
    /// A fault of the table as a whole.
    pub(super) fn whole(message: impl Into<String>) -> Self {
        Self {
            line: 0,
            column: 0,
            message: message.into(),
        }
    }

    /// The error, with the place in the file `name`, or in the text if there is none.
    pub(super) fn error(&self, name: Option<&str>) -> ChannelError {
        let column = match self.column {
            0 => String::new(),
            column => format!("column {column}: "),
        };
        let place = match (name, self.line) {
            (Some(name), 0) => format!("{name}: "),
            (Some(name), line) => format!("{name}:{line}: "),
            (None, 0) => String::new(),
            (None, line) => format!("row {line}: "),
        };
        ChannelError(format!("{place}{column}{}", self.message))
    }
}

impl From<Fault> for ChannelError {
    /// The error of a table that is part of a text.
    fn from(fault: Fault) -> Self {
        fault.error(None)
    }
}

/// Turns the content of a file into one line.
type Content = fn(&str) -> Result<String, Fault>;

impl Key {
    /// A parameter without a default, which every use must give.
    #[must_use]
    pub const fn needed(name: &'static str, value: &'static str, about: &'static str) -> Self {
        Self {
            name,
            value,
            preset: None,
            about,
            file: None,
        }
    }

    /// A required parameter whose value is a file, or its content in braces. As the first key it is given without its name.
    pub(super) const fn file(
        name: &'static str,
        value: &'static str,
        about: &'static str,
        content: Content,
    ) -> Self {
        Self {
            file: Some(content),
            ..Self::needed(name, value, about)
        }
    }

    /// Whether the value is a file, or its content in braces.
    #[must_use]
    pub const fn is_file(&self) -> bool {
        self.file.is_some()
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

impl From<ParseError> for ChannelError {
    fn from(error: ParseError) -> Self {
        Self(error.to_string())
    }
}

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
        for (at, key) in self.keys.iter().enumerate() {
            let mark = if at == 0 { "" } else { "," };
            let part = if at == 0 && key.file.is_some() {
                key.value.to_owned()
            } else {
                format!("{mark}{}={}", key.name, key.value)
            };
            form += &key.preset.map_or(part.clone(), |_| format!("[{part}]"));
        }
        form
    }

    /// The parts of a text, each with the number of its key, if that is known, and its value.
    fn parts<'t>(&self, text: &'t str) -> impl Iterator<Item = (Option<usize>, &'t str, &'t str)> {
        parts(text).enumerate().map(|(at, part)| {
            let place = self.keys.iter().position(|key| Some(key.name) == part.key);
            let is_file = at == 0 && self.keys.first().is_some_and(Key::is_file);
            match place {
                Some(_) => (place, part.text, part.value),
                None => (is_file.then_some(0), part.text, part.text),
            }
        })
    }

    /// Values of the `N` keys, in their order; that of a file is its content.
    ///
    /// # Errors
    /// A key is unknown, given more than once, or missing; or a file has not been read.
    pub fn values<'t, const N: usize>(&self, text: &'t str) -> Result<[&'t str; N], ChannelError> {
        let mut given = [None; N];
        for (place, part, value) in self.parts(text) {
            let Some((key, place)) =
                place.and_then(|at| Some((self.keys.get(at)?, given.get_mut(at)?)))
            else {
                let form = self.parameters();
                let suggestion =
                    suggestion(Part::of(part).name(), self.keys.iter().map(|key| key.name));
                return Err(ChannelError(format!(
                    "'{part}'{suggestion}: expected {form}"
                )));
            };
            let name = key.name;
            let value = match (key.file, inside(value)) {
                (None, _) => value,
                (Some(_), Some(content)) => content,
                (Some(_), None) => {
                    return Err(ChannelError(format!(
                        "'{value}': found the name of a file, expected its content in braces, {}:{{…}}; files are not read here",
                        self.name
                    )));
                }
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

    /// `text`, the parameters of a process, with the content of its files in place of their names.
    fn with_files(
        &self,
        text: &str,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<String, ChannelError> {
        let mut parts = Vec::new();
        for (place, part, value) in self.parts(text) {
            let content = place.and_then(|at| self.keys.get(at)?.file);
            let Some(content) = content.filter(|_| inside(value).is_none()) else {
                parts.push(part.to_owned());
                continue;
            };
            if value.is_empty() {
                let form = self.parameters();
                return Err(ChannelError(format!(
                    "found no name of a file: expected {form}"
                )));
            }
            let line = content(&read(value).map_err(ChannelError)?)
                .map_err(|fault| fault.error(Some(value)))?;
            let before = part.strip_suffix(value).unwrap_or_default();
            parts.push(format!("{before}{{{line}}}"));
        }
        Ok(parts.join(","))
    }

    /// Whether `text`, the parameters of a process, names a file.
    fn names_files(&self, text: &str) -> bool {
        let is_name = |(place, _, value): (Option<usize>, &str, &str)| {
            let key = place.and_then(|at| self.keys.get(at));
            key.is_some_and(|key| key.file.is_some()) && inside(value).is_none()
        };
        self.parts(text).any(is_name)
    }
}

/// What is inside the braces of a content.
fn inside(value: &str) -> Option<&str> {
    value.strip_prefix('{')?.strip_suffix('}')
}

/// The text of a process with the content of files, in braces, in place of their names; `read` returns the text of a file,
/// or why it cannot be read. Text that names no file is left as it is, valid or not.
///
/// ```
/// use tmt_core::channel::{FAMILIES, SlotChannel, with_files};
///
/// let mut read = |name: &str| match name {
///     "rain.csv" => Ok("state,erasure,dry,wet  # by hand\ndry,0,0.9,0.1\nwet,1,0.4,0.6\n".to_owned()),
///     other => Err(format!("{other}: not found")),
/// };
/// let text = with_files("markov:rain.csv,start=dry", FAMILIES, &mut read)?;
/// assert_eq!(text, "markov:{state,erasure,dry,wet;dry,0,0.9,0.1;wet,1,0.4,0.6},start=dry");
/// let rain: SlotChannel = text.parse()?;
/// assert_eq!(rain.to_string(), text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A file cannot be read, or its content is invalid: with its name, line and column.
pub fn with_files<'t>(
    text: &'t str,
    families: &[&Family],
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Cow<'t, str>, ChannelError> {
    match family_of(text, families) {
        Some((family, parameters)) if family.names_files(parameters) => {
            let parameters = family.with_files(parameters, read)?;
            Ok(Cow::Owned(format!("{}:{parameters}", family.name)))
        }
        _ => Ok(Cow::Borrowed(text)),
    }
}

/// Whether `text` is a process of one of `families` that names a file.
#[must_use]
pub fn names_files(text: &str, families: &[&Family]) -> bool {
    let found = family_of(text, families);
    found.is_some_and(|(family, parameters)| family.names_files(parameters))
}

/// The family that `text` names, and its parameters.
fn family_of<'t, 'f>(text: &'t str, families: &[&'f Family]) -> Option<(&'f Family, &'t str)> {
    let (name, parameters) = head(text);
    let family = families.iter().find(|family| family.name == name)?;
    Some((family, parameters?))
}

/// Reads the process of one of `families` from `text`.
pub(super) fn read(text: &str, families: &[&Family]) -> Result<SlotChannel, ChannelError> {
    let found = family_of(text, families).map(|(family, parameters)| (family.read)(parameters));
    found.unwrap_or_else(|| {
        let forms: Vec<String> = families.iter().map(|family| family.form()).collect();
        let forms = forms.join(", ");
        let (name, _) = head(text);
        let known = families.iter().map(|family| family.name);
        let found = if known.clone().any(|known| known == name) {
            format!("'{text}' has no parameters")
        } else {
            format!("unknown process '{text}'{}", suggestion(name, known))
        };
        Err(ChannelError(format!("{found}; expected one of {forms}")))
    })
}
