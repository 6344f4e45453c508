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
    let known: Vec<&str> = known.into_iter().collect();
    let suggestion = suggestion(name, known.iter().copied());
    let known = known.join(", ");
    ParseError(format!(
        "unknown {kind} '{name}'{suggestion}; expected one of {known}"
    ))
}

/// Error message for `text`, which is not one of `names`.
#[must_use]
pub fn unknown(text: &str, names: &[&str]) -> ParseError {
    let suggestion = suggestion(text, names.iter().copied());
    let expected = alternatives(names);
    ParseError(format!("found '{text}'{suggestion}, expected {expected}"))
}

/// `names` as a list whose last item follows `or`.
pub(super) fn alternatives(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
