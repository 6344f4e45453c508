//! Word error rate over Es/N0: published curves by name, or points of a user.

mod dvb_s2;
mod lte;
mod points;
mod turbo;

use std::fmt;
use std::str::FromStr;

use crate::math::normal::upper_tail;
use crate::math::num::{exp, ln, pow};
use crate::types::named::suggestion;

use super::mutual_information::{Equivocation, Modulation};
use super::{RadioError, from_db};

pub use points::{Outside, Points};
pub(super) use points::{fields, number_of};

/// A code with a published error curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Code {
    /// Name, such as `turbo:264-1/3`.
    pub name: &'static str,
    /// Bits per symbol.
    pub efficiency_bit_per_symbol: f64,
    /// Modulation of the symbols.
    pub modulation: Modulation,
    shape: Shape,
}

/// How a published curve is described.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    /// Q((x − t)/s) of x = Es/N0 in dB, then points at falling rates, log-linear from the fit at `join_db` on.
    Fit {
        t: f64,
        s: f64,
        join_db: f64,
        tail: &'static [(f64, f64)],
    },
    /// 10^(−7 + 35 (T − x)), at most 1, with the threshold T in dB.
    Threshold(f64),
    /// Q((I − b)/c) of the mutual information I per coded bit of QPSK.
    Information { b: f64, c: f64 },
}

impl Shape {
    fn rate(&self, es_n0_db: f64) -> f64 {
        match *self {
            Self::Fit {
                t,
                s,
                join_db,
                tail,
            } => {
                let fit = |db: f64| upper_tail((db - t) / s);
                if es_n0_db <= join_db || tail.is_empty() {
                    return fit(es_n0_db);
                }
                let mut from = (join_db, fit(join_db));
                let mut rate = 0.0;
                for &to in tail {
                    rate = log_linear(from, to, es_n0_db);
                    if es_n0_db <= to.0 {
                        break;
                    }
                    from = to;
                }
                rate
            }
            Self::Threshold(threshold_db) => pow(
                10.0,
                -7.0 + dvb_s2::DECADES_PER_DB * (threshold_db - es_n0_db),
            )
            .min(1.0),
            Self::Information { b, c } => {
                let information = 1.0 - Equivocation::qpsk().share(from_db(es_n0_db));
                upper_tail((information - b) / c)
            }
        }
    }
}

/// The rate at `x` on the line through two points whose rates are above zero, in the logarithm of the rate.
fn log_linear((x0, rate0): (f64, f64), (x1, rate1): (f64, f64), x: f64) -> f64 {
    exp(ln(rate0) + (ln(rate1) - ln(rate0)) * (x - x0) / (x1 - x0))
}

/// Word error rate over Es/N0 in dB.
///
/// ```
/// use tmt_core::radio::ErrorCurve;
///
/// let curve: ErrorCurve = "turbo:264-1/3".parse()?;
/// assert!((curve.rate(-1.0) / 0.142 - 1.0).abs() < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum ErrorCurve {
    /// A published curve.
    Code(&'static Code),
    /// Points of a user, for a modulation.
    Points(Points, Modulation),
}

impl ErrorCurve {
    /// All published curves.
    pub fn codes() -> impl Iterator<Item = &'static Code> {
        [turbo::CODES, dvb_s2::CODES, lte::CODES]
            .into_iter()
            .flatten()
    }

    /// Probability that a word is lost at this Es/N0, in [0, 1].
    #[must_use]
    pub fn rate(&self, es_n0_db: f64) -> f64 {
        match self {
            Self::Code(code) => code.shape.rate(es_n0_db),
            Self::Points(points, _) => points.rate(es_n0_db),
        }
    }

    /// Bits per symbol; `None` for points, which do not say.
    #[must_use]
    pub fn efficiency_bit_per_symbol(&self) -> Option<f64> {
        match self {
            Self::Code(code) => Some(code.efficiency_bit_per_symbol),
            Self::Points(..) => None,
        }
    }

    /// Modulation for which the mutual information is computed.
    #[must_use]
    pub fn modulation(&self) -> Modulation {
        match self {
            Self::Code(code) => code.modulation,
            Self::Points(_, modulation) => *modulation,
        }
    }

    /// Whether the curve is known from `low_db` to `high_db`.
    ///
    /// # Errors
    /// A part of the range is outside the points, and nothing is said about rates there.
    pub fn covers(&self, low_db: f64, high_db: f64) -> Result<(), RadioError> {
        match self {
            Self::Code(_) => Ok(()),
            Self::Points(points, _) => points.covers(low_db, high_db),
        }
    }

    /// Es/N0 in dB at which the rate falls to `rate`, to 1e-6 dB; `None` if it does not between −40 and 60 dB.
    #[must_use]
    pub fn threshold_db(&self, rate: f64) -> Option<f64> {
        let (mut low, mut high) = (-40.0, 60.0);
        if self.rate(low) < rate || self.rate(high) > rate {
            return None;
        }
        while high - low > 1e-6 {
            let middle = f64::midpoint(low, high);
            if self.rate(middle) > rate {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(high)
    }
}

impl fmt::Display for ErrorCurve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => f.write_str(code.name),
            Self::Points(points, _) => points.fmt(f),
        }
    }
}

impl FromStr for ErrorCurve {
    type Err = RadioError;

    fn from_str(text: &str) -> Result<Self, RadioError> {
        if let Some(points) = text.strip_prefix(points::PREFIX) {
            return Points::from_inline(points);
        }
        let found = Self::codes().find(|code| code.name == text);
        found.map(Self::Code).ok_or_else(|| {
            let suggestion = suggestion(text, Self::codes().map(|code| code.name));
            RadioError(format!(
                "unknown code '{text}'{suggestion}; expected one of turbo:264-1/3, turbo:6144-1/2, dvb-s2:qpsk-1/2 and the like"
            ))
        })
    }
}

#[cfg(test)]
mod tests;
