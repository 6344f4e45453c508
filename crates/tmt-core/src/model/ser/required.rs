//! The energy that a segment error rate needs.

use super::Code;
use crate::math::num::ln;
use crate::model::ModelError;

/// Ec/N0 in dB at which the segment error rate is `target`.
///
/// The rate falls from about 1 to 0 with the energy, so that it is bracketed and then closed in by secants of its
/// logarithm, halving the bracket where they are slow.
///
/// # Errors
/// `target` is above what the code has without any signal.
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
            "target={target} is met without any signal: segments are lost no more often than that"
        )));
    }
    for round in 0..200 {
        let width = high - low;
        if width < 1e-14 * (1.0 + low.abs()) {
            break;
        }
        let secant = low + width * above / (above - below);
        let middle = if secant.is_finite() && round % 3 < 2 {
            // Never quite at an end: so the bracket shrinks from both sides.
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
