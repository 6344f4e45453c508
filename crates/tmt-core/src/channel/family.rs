//! Families of erasure processes, and the files that their texts name.

use std::borrow::Cow;

use super::SlotChannel;
use crate::radio::RadioError;
use crate::types::named::{Entry, Kind, ParseError, Values, head};

/// A family of erasure processes with its text form, `name:key=value,…`. [`SlotChannel::parse_with`] also reads families
/// that a caller defines on top of the built-in processes.
pub type Family = Entry<Make>;

/// How a process of a family is made.
#[derive(Debug, Clone, Copy)]
pub struct Make {
    /// Whether the process advances with each unit rather than with time.
    pub in_steps: bool,
    /// The process with these parameters.
    pub process: fn(&Values) -> Result<SlotChannel, ChannelError>,
    /// For a family that has a parameter of [`Kind::Content`]: the content of its file in one line.
    pub content: Option<Content>,
}

/// Turns the content of a file into one line.
pub type Content = fn(&str) -> Result<String, TableError>;

impl Make {
    /// A process that advances with time.
    #[must_use]
    pub const fn timed(process: fn(&Values) -> Result<SlotChannel, ChannelError>) -> Self {
        Self {
            in_steps: false,
            process,
            content: None,
        }
    }
}

/// What is wrong with the table of a process, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}{message}", self.place(), self.cell())]
pub struct TableError {
    /// Name of the file; `None` for a table that is part of a text.
    pub file: Option<String>,
    /// Line from 1; 0 for the table as a whole.
    pub line: usize,
    /// Column from 1, by commas; 0 for the line as a whole.
    pub column: usize,
    /// What was found and what is expected.
    pub message: String,
}

impl TableError {
    /// A fault of the table as a whole.
    pub(super) fn whole(message: impl Into<String>) -> Self {
        Self {
            file: None,
            line: 0,
            column: 0,
            message: message.into(),
        }
    }

    fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), 0) => format!("{file}: "),
            (Some(file), line) => format!("{file}:{line}: "),
            (None, 0) => String::new(),
            (None, line) => format!("row {line}: "),
        }
    }

    fn cell(&self) -> String {
        match self.column {
            0 => String::new(),
            column => format!("column {column}: "),
        }
    }
}

/// Why the text of an erasure process is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The text has not the form of a process.
    #[error(transparent)]
    Text(#[from] ParseError),
    /// Values that are accepted by themselves do not fit together, or are out of range.
    #[error("'{given}': expected {expected}")]
    Value {
        /// The parameters with their values.
        given: String,
        /// What is accepted.
        expected: String,
    },
    /// A table is invalid.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A radio channel is invalid.
    #[error(transparent)]
    Radio(#[from] RadioError),
    /// A scenario does not take what is given.
    #[error("scenario {name}: {why}")]
    Scenario {
        /// Name of the scenario.
        name: &'static str,
        /// Why it is refused.
        why: Box<ChannelError>,
    },
    /// A file cannot be read, for this reason.
    #[error("{0}")]
    File(String),
    /// The parts of a process do not fit together, such as its states or the slots of its link, for this reason.
    #[error("{0}")]
    Misfit(String),
}

impl ChannelError {
    /// The refusal of the values that `given` has, such as `m=1s`.
    pub(super) fn value(given: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Value {
            given: given.into(),
            expected: expected.into(),
        }
    }
}

impl Family {
    /// `text`, the parameters of a process, with the content of its files in place of their names.
    fn with_files(
        &self,
        text: &str,
        content: Content,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<String, ChannelError> {
        let mut parts = Vec::new();
        for (parameter, part, value) in self.parts(text) {
            let is_name = parameter.is_some_and(|parameter| is_name(parameter.kind, value));
            if !is_name {
                parts.push(part.to_owned());
                continue;
            }
            if value.is_empty() {
                return Err(ParseError::Missing {
                    name: "name of a file".to_owned(),
                    form: self.form(),
                }
                .into());
            }
            let line = content(&read(value).map_err(ChannelError::File)?).map_err(|error| {
                let file = Some(value.to_owned());
                TableError { file, ..error }
            })?;
            let before = part.strip_suffix(value).unwrap_or_default();
            parts.push(format!("{before}{{{line}}}"));
        }
        Ok(parts.join(","))
    }
}

/// Whether `value` of a parameter is the name of a file.
fn is_name(kind: Kind, value: &str) -> bool {
    kind == Kind::Content && kind.read(value).is_err()
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
    families: &[&'static Family],
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Cow<'t, str>, ChannelError> {
    match with_names(text, families) {
        Some((family, parameters, content)) => {
            let parameters = family.with_files(parameters, content, read)?;
            Ok(Cow::Owned(format!("{}:{parameters}", family.name)))
        }
        None => Ok(Cow::Borrowed(text)),
    }
}

/// Whether `text` is a process of one of `families` that names a file.
#[must_use]
pub fn names_files(text: &str, families: &[&'static Family]) -> bool {
    with_names(text, families).is_some()
}

/// The family of a text that names files, its parameters, and how the files are read; `None` if it names none.
fn with_names<'t>(
    text: &'t str,
    families: &[&'static Family],
) -> Option<(&'static Family, &'t str, Content)> {
    let (name, parameters) = head(text);
    let family = families.iter().find(|family| family.name == name)?;
    let (parameters, content) = (parameters?, family.make.content?);
    let mut parts = family.parts(parameters);
    let has_name = parts.any(|(parameter, _, value)| {
        parameter.is_some_and(|parameter| is_name(parameter.kind, value))
    });
    has_name.then_some((*family, parameters, content))
}
