//! Notes on a run, and warnings (docs/warnings.md).

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Says which value is used and where it comes from.
    Info,
    /// Says how an input was read, where that is not obvious.
    Notice,
    /// The result would mislead somebody who does not know this.
    Warning,
}

/// A sentence for the user. It names parameters by their keys, in backticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How much it matters.
    pub severity: Severity,
    /// The sentence, without a full stop.
    pub text: String,
}

impl Note {
    /// Says how an input was read, where that is not obvious.
    #[must_use]
    pub fn notice(text: impl Into<String>) -> Self {
        Self {
            severity: Severity::Notice,
            text: text.into(),
        }
    }

    /// A warning: the result would mislead somebody who does not know this.
    #[must_use]
    pub fn warning(text: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            text: text.into(),
        }
    }
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self {
            severity: Severity::Info,
            text,
        }
    }
}
