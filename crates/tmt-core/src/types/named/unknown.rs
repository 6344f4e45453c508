//! Messages that refuse unknown names.

use super::ParseError;
use crate::types::suggestion::suggestion;

/// The refusal of `name`, which is no `kind` of those in `known`.
///
/// ```
/// use tmt_core::named::unknown_of;
///
/// let error = unknown_of("queue", "coddel", ["codel", "drop-tail"]);
/// assert_eq!(error.to_string(), "unknown queue 'coddel' (did you mean 'codel'?); expected one of codel, drop-tail");
/// ```
#[must_use]
pub fn unknown_of<'a>(
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> ParseError {
    ParseError::Unknown {
        kind: kind.to_owned(),
        name: name.to_owned(),
        known: known.into_iter().map(str::to_owned).collect(),
    }
}

/// The refusal of `text`, which is not one of `names`.
#[must_use]
pub fn unknown(text: &str, names: &[&str]) -> ParseError {
    ParseError::Mismatch {
        found: text.to_owned(),
        suggestion: suggestion(text, names.iter().copied()),
        expected: alternatives(names),
    }
}

/// `names` as a list whose last item follows `or`.
pub(super) fn alternatives(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
