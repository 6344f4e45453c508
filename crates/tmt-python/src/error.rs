//! Exceptions and warnings, with the messages of the libraries.

use fluid_tcp::experiment;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{PyErr, create_exception};
use tmt_core::ErrorKind;
use tmt_core::types::{Note, Severity};
use tmt_link::apply;

create_exception!(
    tmt,
    Error,
    PyRuntimeError,
    "A trace that is damaged, incomplete or unsuitable. The message has its row, what was found and what was expected."
);
create_exception!(
    tmt,
    UsageError,
    PyValueError,
    "A parameter that is missing, out of range or contradicts another one."
);

/// Reason why a function does not return.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An argument.
    #[error("{0}")]
    Usage(String),
    /// A trace.
    #[error("{0}")]
    Data(String),
    /// A file, with its name.
    #[error("{1}")]
    Io(std::io::ErrorKind, String),
    /// Ctrl-C; the exception is already set.
    #[error("interrupted")]
    Interrupted,
}

impl Failure {
    /// An error in the input `name`, with its remedy.
    pub(crate) fn input(name: &str, error: &tmt_core::Error) -> Self {
        let message = error.message_in(name);
        match (error.kind(), remedy(error.kind())) {
            // Other libraries' errors, such as those of a table that is made while it is read, have no kind.
            (ErrorKind::Io(error), _) if error.kind() != std::io::ErrorKind::Other => {
                Self::Io(error.kind(), message)
            }
            (_, Some(remedy)) => Self::Data(format!("{message}; {remedy}")),
            (_, None) => Self::Data(message),
        }
    }

    /// A file that cannot be read.
    pub(crate) fn file(name: &str, error: &std::io::Error) -> Self {
        Self::Io(error.kind(), format!("{name}: {error}"))
    }
}

/// Remedy for an error, in terms of Python, if there is one.
fn remedy(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Cut { .. } | ErrorKind::CutStream { .. } => {
            "`allow_cut=True` uses the rows that are there"
        }
        ErrorKind::RowCount { .. } => {
            "rows were removed or added after the table was read; `allow_cut=True` uses those that are there"
        }
        ErrorKind::UnitMissing { .. } => "give `unit`, as in `unit=\"s\"`, or rename the column",
        ErrorKind::UnitOfName { .. } => "omit `unit`",
        ErrorKind::UnitOfIntegers { .. } => "omit `unit`, or use `unit=\"ns\"`",
        ErrorKind::RoundsToZero { .. } | ErrorKind::TooLarge { .. } => {
            "numbers have the unit in the name of their column, or that of `unit`"
        }
        ErrorKind::MissingColumn { .. } => {
            "`columns=\"tx=NAME,delay=NAME,erased=NAME\"` reads columns of other names"
        }
        ErrorKind::ColumnType { .. } => {
            "cast the column, in pyarrow by `.cast(\"int64\")` or `.cast(\"double\")`"
        }
        ErrorKind::OutOfOrder { .. } => "sort the table by transmission time",
        _ => return None,
    })
}

impl From<apply::Error> for Failure {
    fn from(error: apply::Error) -> Self {
        match error {
            apply::Error::OtherRtt(_) => Self::Usage(error.to_string()),
            _ => Self::Data(error.to_string()),
        }
    }
}

impl From<experiment::Error> for Failure {
    fn from(error: experiment::Error) -> Self {
        match error {
            experiment::Error::Refused { message, .. } => Self::Usage(message),
            experiment::Error::Data(message) => Self::Data(message),
            experiment::Error::Stopped => Self::Interrupted,
            experiment::Error::Storage(error) => match error.downcast::<Self>() {
                Ok(failure) => *failure,
                Err(error) => Self::Data(error.to_string()),
            },
        }
    }
}

impl From<Failure> for experiment::Error {
    fn from(failure: Failure) -> Self {
        Self::Storage(Box::new(failure))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Usage(message) => UsageError::new_err(message),
            Failure::Data(message) => Error::new_err(message),
            Failure::Io(kind, message) => std::io::Error::new(kind, message).into(),
            Failure::Interrupted => PyRuntimeError::new_err("interrupted"),
        }
    }
}

/// Passes notes to the method `tell` of `watcher`, with their severity and text.
pub(crate) fn tell(watcher: &Bound<'_, PyAny>, notes: &[Note]) -> PyResult<()> {
    for Note { severity, text } in notes {
        let severity = match severity {
            Severity::Info => "info",
            Severity::Notice => "notice",
            Severity::Warning => "warning",
        };
        watcher.call_method1("tell", (severity, text))?;
    }
    Ok(())
}
