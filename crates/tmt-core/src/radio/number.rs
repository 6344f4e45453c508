//! Numbers with their units in the texts of parameters.

use super::RadioError;

/// Reads a finite number with its unit.
///
/// # Errors
/// It is no number, or has another unit.
pub(super) fn number(key: &str, text: &str, unit: &str) -> Result<f64, RadioError> {
    let value = text
        .strip_suffix(unit)
        .and_then(|value| value.parse::<f64>().ok());
    let digits =
        |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    value
        .filter(|value| value.is_finite() && digits(text))
        .ok_or_else(|| {
            let kind = if unit.is_empty() {
                "a number without a unit".to_owned()
            } else {
                format!("a number with its unit, {unit}")
            };
            RadioError(format!("'{key}={text}': expected {kind}"))
        })
}
