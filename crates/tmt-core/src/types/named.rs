//! Selection by name: settings with a fixed set of values, and registries whose entries have parameters.

mod keywords;
mod own;
mod registry;
mod text;
mod unknown;

pub use crate::types::suggestion::{nearest, suggestion};
pub use own::{Named, Own, RegisterError};
pub use registry::{Choice, Entry, Family, Parameter, Value, Values};
pub use text::{Part, head, in_parentheses, pairs, parts, split};
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
#[error("{0}")]
pub struct ParseError(pub(crate) String);

impl ParseError {
    /// An error with this text, which says what was found and what is expected.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
