//! Selection by name: settings with a fixed set of values, and registries whose entries have parameters.

mod keywords;
mod own;
mod parameter;
mod registry;
mod table;
mod text;
mod unknown;

pub use crate::types::suggestion::{nearest, suggestion};
pub use own::{Named, Own, RegisterError};
pub use parameter::{Kind, Parameter, Quantity, Rule, Value};
pub use registry::{Choice, Entry, Family, Replace, Values};
pub use table::{Content, Row, Rows, TableError, content, content_within, in_braces};
pub use text::{Part, brief, head, in_parentheses, pairs, parts, split, split_at};
pub use unknown::{unknown, unknown_of};

/// A name or a parameter that is not accepted; its text says what was found and what is expected.
///
/// ```
/// use tmt_core::keywords;
///
/// #[derive(Clone, Copy)]
/// enum Tail { Short, Pad }
/// keywords!(Tail { Short => "short", Pad => "pad" });
///
/// let error = "cut".parse::<Tail>().err().ok_or("accepted")?;
/// assert_eq!(error.to_string(), "found 'cut', expected short or pad");
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// No entry has this name.
    #[error("unknown {kind} '{name}'{}; expected one of {}", suggestion(.name, .known.iter().map(|known| &**known)), .known.join(", "))]
    Unknown {
        /// Kind of the named thing, such as `queue`.
        kind: String,
        /// The name found.
        name: String,
        /// The names of all entries.
        known: Vec<String>,
    },
    /// A text that is not accepted.
    #[error("found '{found}'{suggestion}, expected {expected}")]
    Mismatch {
        /// The text found.
        found: String,
        /// The question whether a similar text is meant, after a space; may be empty.
        suggestion: String,
        /// Accepted values.
        expected: String,
    },
    /// A parameter without a default is not given.
    #[error("found no {name}, expected {form}")]
    Missing {
        /// Name of the parameter.
        name: String,
        /// The accepted form of the text.
        form: String,
    },
    /// A part that needs a key has none.
    #[error("'{part}': expected KEY=VALUE, such as {example}")]
    NoKey {
        /// The part found.
        part: String,
        /// An example of a part.
        example: String,
    },
    /// A key is given more than once.
    #[error("'{0}' is given more than once")]
    Twice(String),
    /// Another reason, in words.
    #[error("{0}")]
    Other(String),
}

impl ParseError {
    /// An error with this text, which says what was found and what is expected.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self::Other(text.into())
    }

    /// The refusal of `found`, where something else is expected.
    #[must_use]
    pub fn mismatch(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Mismatch {
            found: found.into(),
            suggestion: String::new(),
            expected: expected.into(),
        }
    }

    /// The same refusal of a value where it is the `part` of a text, which has this `form`.
    fn of(self, part: String, form: Option<String>) -> Self {
        match self {
            Self::Mismatch {
                suggestion,
                expected,
                ..
            } => Self::Mismatch {
                found: part,
                suggestion,
                expected: match form {
                    Some(form) => format!("{expected}: {form}"),
                    None => expected,
                },
            },
            other => other,
        }
    }
}
