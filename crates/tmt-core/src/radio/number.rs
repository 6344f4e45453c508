//! Numbers with their units in the texts of parameters.

use super::RadioError;

/// Reads a finite number with its unit.
///
/// # Errors
/// It is no number, or has another unit. The message says that `range` is expected.
pub(super) fn number(key: &str, text: &str, unit: &str, range: &str) -> Result<f64, RadioError> {
    let value = text
        .strip_suffix(unit)
        .and_then(|value| value.parse::<f64>().ok());
    let digits =
        |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    value
        .filter(|value| value.is_finite() && digits(text))
        .ok_or_else(|| RadioError(format!("'{key}={text}': expected {range}")))
}
