//! What was found where something else was expected.

/// The two halves of every message of the auditor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Finding {
    pub(super) found: String,
    pub(super) expected: String,
}

impl Finding {
    pub(super) fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// Input text fit for a message: short, and nothing in it moves the cursor.
pub(super) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 80;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * LONGEST)]);
    let mut shown: String = text
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().count() > LONGEST {
        shown.push('…');
    }
    format!("'{shown}'")
}
