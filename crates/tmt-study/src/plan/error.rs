//! Errors of a plan, with their place.

use super::Axis;

/// A plan that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PlanError {
    /// Line and column in the file, from 1; `None` for a flag or the plan as a whole.
    pub place: Option<(usize, usize)>,
    /// The name whose value is refused; `None` for the plan as a whole.
    pub name: Option<String>,
    /// Text found and text expected. It begins with the name in backticks, if there is one.
    pub message: String,
}

impl PlanError {
    /// An error in the value of `name`.
    pub(crate) fn of(name: &str, why: impl Into<String>) -> Self {
        Self {
            place: None,
            name: Some(name.to_owned()),
            message: format!("`{name}`: {}", why.into()),
        }
    }

    /// An error in a value of `axis`.
    pub(crate) fn at(axis: &Axis, why: impl Into<String>) -> Self {
        Self {
            place: axis.place,
            ..Self::of(&axis.name, why)
        }
    }

    /// An error of the plan as a whole.
    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Self {
            place: None,
            name: None,
            message: message.into(),
        }
    }
}
