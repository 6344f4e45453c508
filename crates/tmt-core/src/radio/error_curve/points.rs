//! An error curve as points of Es/N0 and rate, from a text.

use std::fmt;

use super::{ErrorCurve, Modulation, log_linear};
use crate::radio::RadioError;

/// Start of the text form, in which a list of `es_n0_db/rate` follows.
pub(super) const PREFIX: &str = "points:";

/// Highest rate at the upper end of a curve above which nothing is lost.
const NEGLIGIBLE: f64 = 1e-9;

/// Rule outside the points, unless the curve ends in 1 below and in 1e-9 or less above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, derive_more::Display)]
pub enum Outside {
    /// Nothing is known: a channel that reaches it is refused.
    #[default]
    #[display("refuse")]
    Refuse,
    /// The rate of the nearer end.
    #[display("clamp")]
    Clamp,
    /// Every word is lost below, none above.
    #[display("step")]
    Step,
}

/// Points of an error curve, with rising Es/N0 and rates that do not rise.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    points: Vec<(f64, f64)>,
    outside: Outside,
}

impl Points {
    /// Reads lines of Es/N0 in dB and error rate, separated by a comma, a semicolon or blanks. A header
    /// (`es_n0_db,error_rate`), empty lines and lines that start with `#` are skipped.
    ///
    /// # Errors
    /// A line is not of this form, Es/N0 does not rise, a rate is not in [0, 1] or rises, or there are fewer than two
    /// points. The message names line and column.
    pub fn read(text: &str, outside: Outside) -> Result<Self, RadioError> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_end();
            if line.trim_start().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let fields = fields(line);
            let at = |column: usize| format!("line {number}, column {column}");
            let [(db_at, db), (rate_at, rate)] = fields[..] else {
                return Err(RadioError(format!(
                    "{}: found {} fields, expected two: es_n0_db,error_rate",
                    at(1),
                    fields.len()
                )));
            };
            if points.is_empty() && db.starts_with(|c: char| c.is_ascii_alphabetic()) {
                if db == "es_n0_db" && rate == "error_rate" {
                    continue;
                }
                return Err(RadioError(format!(
                    "{}: found '{db}', expected a number, or the header es_n0_db,error_rate",
                    at(db_at)
                )));
            }
            let value = number_of(db).filter(|db| db.abs() <= 100.0);
            let es_n0_db = value.ok_or_else(|| {
                RadioError(format!(
                    "{}: es_n0_db: found '{db}', expected dB from -100 to 100",
                    at(db_at)
                ))
            })?;
            let value = number_of(rate).filter(|rate| (0.0..=1.0).contains(rate));
            let rate_value = value.ok_or_else(|| {
                RadioError(format!(
                    "{}: error_rate: found '{rate}', expected 0 to 1",
                    at(rate_at)
                ))
            })?;
            if let Some(&(before_db, before)) = points.last() {
                if es_n0_db <= before_db {
                    return Err(RadioError(format!(
                        "{}: es_n0_db: found {db} after {before_db}, expected rising values",
                        at(db_at)
                    )));
                }
                if rate_value > before {
                    return Err(RadioError(format!(
                        "{}: error_rate: found {rate} after {before}, expected rates that do not rise",
                        at(rate_at)
                    )));
                }
            }
            points.push((es_n0_db, rate_value));
        }
        if points.len() < 2 {
            return Err(RadioError(format!(
                "found {} points, expected at least two lines es_n0_db,error_rate",
                points.len()
            )));
        }
        Ok(Self { points, outside })
    }

    /// Reads the text form.
    pub(super) fn from_inline(text: &str) -> Result<ErrorCurve, RadioError> {
        let (text, outside) = match text.split_once('@') {
            Some((text, "clamp")) => (text, Outside::Clamp),
            Some((text, "step")) => (text, Outside::Step),
            Some((_, other)) => {
                return Err(RadioError(format!("'@{other}': expected @clamp or @step")));
            }
            None => (text, Outside::Refuse),
        };
        let lines = text.replace('|', "\n").replace('/', " ");
        Ok(ErrorCurve::Points(
            Self::read(&lines, outside)?,
            Modulation::Qpsk,
        ))
    }

    pub(super) fn rate(&self, es_n0_db: f64) -> f64 {
        let after = self.points.partition_point(|(db, _)| *db <= es_n0_db);
        let left = after.checked_sub(1).and_then(|at| self.points.get(at));
        match (left, self.points.get(after)) {
            (Some(left), Some(right)) if left.1 > 0.0 && right.1 > 0.0 => {
                log_linear(*left, *right, es_n0_db)
            }
            (Some((x0, y0)), Some((x1, y1))) => y0 + (y1 - y0) * (es_n0_db - x0) / (x1 - x0),
            (None, Some(_)) if self.outside != Outside::Clamp => 1.0,
            (Some((db, rate)), None) if self.outside != Outside::Clamp && es_n0_db > *db => {
                if self.outside == Outside::Refuse {
                    *rate
                } else {
                    0.0
                }
            }
            (Some((_, rate)), None) | (None, Some((_, rate))) => *rate,
            (None, None) => 1.0,
        }
    }

    /// Whether the curve begins with a rate of 1, and ends with one that is negligible: it is then known everywhere.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let ends = self.points.first().zip(self.points.last());
        ends.is_some_and(|((_, first), (_, last))| {
            *first >= 1.0 - NEGLIGIBLE && *last <= NEGLIGIBLE
        })
    }

    pub(super) fn covers(&self, low_db: f64, high_db: f64) -> Result<(), RadioError> {
        let (Some(&(first_db, first)), Some(&(last_db, last))) =
            (self.points.first(), self.points.last())
        else {
            return Ok(());
        };
        if self.outside != Outside::Refuse {
            return Ok(());
        }
        let below = low_db < first_db && first < 1.0 - NEGLIGIBLE;
        let above = high_db > last_db && last > NEGLIGIBLE;
        if !below && !above {
            return Ok(());
        }
        let (end, rate) = if below {
            (first_db, first)
        } else {
            (last_db, last)
        };
        let side = if below { "below" } else { "above" };
        Err(RadioError(format!(
            "the error curve is known from {first_db} to {last_db} dB, but the channel reaches Es/N0 {side} that; expected a \
             rate of 1 at the lower and of 1e-9 or less at the upper end (found {rate} at {end} dB), or `@clamp` after the points, \
             which keeps the rate of the nearer end"
        )))
    }
}

impl fmt::Display for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        for (at, (db, rate)) in self.points.iter().enumerate() {
            let mark = if at == 0 { "" } else { "|" };
            write!(f, "{mark}{db}/{rate}")?;
        }
        match self.outside {
            Outside::Refuse => Ok(()),
            outside => write!(f, "@{outside}"),
        }
    }
}

/// Fields of a line with their columns, from 1.
pub(in crate::radio) fn fields(line: &str) -> Vec<(usize, &str)> {
    let separates = |c: char| matches!(c, ',' | ';') || c.is_whitespace();
    let pieces = line.split(separates).filter(|field| !field.is_empty());
    let column = |field: &str| field.as_ptr().addr() - line.as_ptr().addr() + 1;
    pieces.map(|field| (column(field), field)).collect()
}

/// A finite number.
pub(in crate::radio) fn number_of(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}
