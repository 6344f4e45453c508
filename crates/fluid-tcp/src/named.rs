//! Selection by name: settings with a fixed set of values, and registries whose entries have parameters.

#[macro_use]
mod keywords;
mod registry;

pub(crate) use keywords::unknown;
pub use registry::{Choice, Entry, Family, Parameter, Value, Values};

/// A name or a parameter that is not accepted; its text says what was found and what is expected.
///
/// ```
/// use fluid_tcp::congestion::Algorithm;
///
/// let error = "cubic:beta=2".parse::<Algorithm>().unwrap_err();
/// assert!(error.to_string().starts_with("found 'beta=2', expected a number from"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub(crate) String);
