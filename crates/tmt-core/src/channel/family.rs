//! Families of erasure processes, and the files that their texts name.

use std::borrow::Cow;

use super::SlotChannel;
use crate::radio::RadioError;
pub use crate::types::named::{Content, TableError};
use crate::types::named::{Entry, Parameter, ParseError, Values, head, in_braces};

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
    /// For a family that has a parameter of [`Kind::Content`](crate::named::Kind::Content): the content of its file in one line.
    pub content: Option<Content>,
}

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
        /// Accepted values.
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
        let mut unnamed = |parameter: &'static Parameter, value: &str| {
            if !parameter.kind.names_file(value) {
                return Ok(None);
            }
            let missing = || ParseError::Missing {
                name: "name of a file".to_owned(),
                form: self.form(),
            };
            let content = in_braces(value, missing, content, read).map_err(ChannelError::File)?;
            content.map(Some).map_err(ChannelError::from)
        };
        let replaced = self.replaced(text, &mut unnamed)?;
        Ok(replaced.unwrap_or_else(|| text.to_owned()))
    }
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
        parameter.is_some_and(|parameter| parameter.kind.names_file(value))
    });
    has_name.then_some((*family, parameters, content))
}
