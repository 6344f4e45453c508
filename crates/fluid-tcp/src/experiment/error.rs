//! Errors of an experiment: a contradiction, or a trace that cannot be used.

use thiserror::Error;

use tmt_link::apply;
use tmt_link::timeline::Unreadable;

/// An error that keeps an experiment from running. Messages name parameters by their keys, in backticks.
#[derive(Debug, Error)]
pub enum Error {
    /// A parameter is missing, out of range, or contradicts another one.
    #[error("{message}")]
    Refused {
        /// The key of the parameter that would have to change.
        key: &'static str,
        /// The value found and the value expected.
        message: String,
    },
    /// A trace lacks something that the run needs.
    #[error("{0}")]
    Data(String),
    /// A trace could not be read or stored.
    #[error(transparent)]
    Storage(Box<dyn std::error::Error + Send + Sync>),
    /// [`super::Storage::stopped`], or a probe, has ended the work early.
    #[error("stopped before its end")]
    Stopped,
}

/// Result with [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl From<apply::Error> for Error {
    fn from(error: apply::Error) -> Self {
        data(error.to_string())
    }
}

impl From<Unreadable> for Error {
    fn from(error: Unreadable) -> Self {
        data(error.to_string())
    }
}

/// Refuses the value of `key`.
pub(super) fn refused<T>(key: &'static str, message: impl Into<String>) -> Result<T> {
    Err(Error::Refused {
        key,
        message: message.into(),
    })
}

/// The error for a trace that cannot be used.
pub(super) fn data(message: impl Into<String>) -> Error {
    Error::Data(message.into())
}
