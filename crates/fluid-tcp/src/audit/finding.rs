//! The text of a violation: what was found, and what was expected.

use std::fmt::Display;

/// The two halves of the message of a violation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) found: String,
    pub(super) expected: String,
}

impl Finding {
    pub(super) fn new(found: impl Display, expected: impl Display) -> Self {
        Self {
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }
}

/// The finding that a column or key has another value than expected.
pub(super) fn unfit(name: &str, text: impl AsRef<[u8]>, expected: impl Display) -> Finding {
    Finding::new(format_args!("{name} {}", shown(text.as_ref())), expected)
}

/// The finding, unless something holds.
pub(super) fn ensure(
    holds: bool,
    found: impl Display,
    expected: impl Display,
) -> Result<(), Finding> {
    if holds {
        return Ok(());
    }
    Err(Finding::new(found, expected))
}

/// Input text quoted for a message: shortened, with control characters replaced.
pub(super) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 80;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * LONGEST)]);
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut shown: String = text.chars().take(LONGEST).map(printable).collect();
    if text.chars().count() > LONGEST {
        shown.push('…');
    }
    format!("'{shown}'")
}
