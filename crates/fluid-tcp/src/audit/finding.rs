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

/// Input text quoted for a message: shortened, with control characters replaced.
pub(super) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 80;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * LONGEST)]);
    let printable = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let shown: String = text.chars().take(LONGEST).map(printable).collect();
    let more = if text.chars().count() > LONGEST {
        "…"
    } else {
        ""
    };
    format!("'{shown}{more}'")
}
