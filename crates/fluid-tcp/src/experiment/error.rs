//! Why an experiment cannot run.

use thiserror::Error;

use crate::link::timeline::Timeline;

/// Why an experiment cannot run. Messages name parameters by their keys, in backticks.
#[derive(Debug, Error)]
pub enum Error {
    /// A parameter is missing, wrong, or does not go with another one.
    #[error("{message}")]
    Refused {
        /// The key of the parameter that would have to change.
        key: &'static str,
        /// What was found and what was expected.
        message: String,
    },
    /// A trace does not give what the run needs.
    #[error("{0}")]
    Data(String),
    /// A trace could not be read or kept.
    #[error(transparent)]
    Storage(Box<dyn std::error::Error + Send + Sync>),
}

/// The result of what may refuse an experiment.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Refuses the value of `key`.
pub(super) fn refused<T>(key: &'static str, message: impl Into<String>) -> Result<T> {
    Err(Error::Refused {
        key,
        message: message.into(),
    })
}

/// Says what is wrong with a trace.
pub(super) fn data(message: impl Into<String>) -> Error {
    Error::Data(message.into())
}

/// Why a block of `timeline` cannot be read.
pub(super) fn unreadable(timeline: &Timeline) -> Error {
    let failure = timeline.failure();
    data(failure.unwrap_or_else(|| "the timeline cannot be read".to_owned()))
}
