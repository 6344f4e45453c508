//! The Ec/N0 that a segment error rate requires.

use super::Code;
use crate::math::num::ln;
use crate::model::ModelError;

/// Ec/N0 in dB at which the segment error rate is `target`.
///
/// The rate falls from about 1 to 0 with the energy. The solution is bracketed, and found by secants of the logarithm of
/// the rate, with bisection if they are slow.
///
/// # Errors
/// `target` is above the segment error rate without signal.
pub fn required_ecn0_db(code: &Code, target: f64) -> Result<f64, ModelError> {
    if target <= 0.0 {
        return Ok(f64::INFINITY);
    }
    let wanted = ln(target);
    let excess = |decibels: f64| ln(code.errors_at(decibels).segment) - wanted;
    let (mut low, mut high) = (-60.0, 60.0);
    let (mut above, mut below) = (excess(low), excess(high));
    if above < 0.0 || target >= 1.0 {
        return Err(ModelError::refused(format!(
            "target={target} is met without signal: the segment error rate is never higher"
        )));
    }
    for round in 0..200 {
        let width = high - low;
        if width < 1e-14 * (1.0 + low.abs()) {
            break;
        }
        let secant = low + width * above / (above - below);
        let middle = if secant.is_finite() && round % 3 < 2 {
            // Never exactly at an end, so that the bracket shrinks from both sides.
            let edge = width * 1e-3;
            secant.clamp(low + edge.min(1e-13), high - edge.min(1e-13))
        } else {
            f64::midpoint(low, high)
        };
        let found = excess(middle);
        if found > 0.0 {
            (low, above) = (middle, found);
            below *= 0.5;
        } else {
            (high, below) = (middle, found);
            above *= 0.5;
        }
        if found.abs() < 1e-15 {
            return Ok(middle);
        }
    }
    Ok(f64::midpoint(low, high))
}
