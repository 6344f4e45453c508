//! A measured fade: Es/N0 at given times, joined by straight lines in dB.

use std::sync::Arc;

use crate::types::{Span, Time, to_f64};

use super::{RadioError, STRETCH, from_db};

/// Time between samples of a series that is not given in equal steps of at most this length.
const STEP: Span = Span::from_millis(1);

/// Es/N0 over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    points: Arc<[(Time, f64)]>,
    step: Span,
}

impl Series {
    /// The series through `points`: time and Es/N0 in dB. Before the first and after the last point their values hold.
    ///
    /// # Errors
    /// There are fewer than two points, times do not rise, or a value is not between −200 and 200 dB.
    pub fn new(points: Vec<(Time, f64)>) -> Result<Self, RadioError> {
        let mut step = None;
        let mut equal = points.first().is_some_and(|(time, _)| *time == Time::ZERO);
        for (at, pair) in points.windows(2).enumerate() {
            let [(before, _), (after, _)] = pair else {
                continue;
            };
            if after <= before {
                return Err(RadioError(format!(
                    "point {}: time {after} after {before}, expected rising times",
                    at + 2
                )));
            }
            let length = after.since(*before);
            equal &= *step.get_or_insert(length) == length;
        }
        if let Some((at, (_, db))) = points
            .iter()
            .enumerate()
            .find(|(_, (_, db))| !(-200.0..=200.0).contains(db))
        {
            return Err(RadioError(format!(
                "point {}: found {db} dB, expected -200 to 200 dB",
                at + 1
            )));
        }
        if points.len() < 2 {
            return Err(RadioError(format!(
                "found {} points of a fade, expected at least two",
                points.len()
            )));
        }
        let step = step.filter(|step| equal && *step <= Span::from_millis(10));
        Ok(Self {
            points: points.into(),
            step: step.unwrap_or(STEP),
        })
    }

    /// Time between samples: that between the points, if it is equal and at most 10 ms; else 1 ms.
    #[must_use]
    pub const fn step(&self) -> Span {
        self.step
    }

    /// Time of the last point.
    #[must_use]
    pub fn end(&self) -> Time {
        self.points.last().map_or(Time::ZERO, |(time, _)| *time)
    }

    /// Lowest and highest Es/N0, dB.
    #[must_use]
    pub fn range_db(&self) -> (f64, f64) {
        let values = || self.points.iter().map(|(_, db)| *db);
        (
            values().fold(f64::INFINITY, f64::min),
            values().fold(f64::NEG_INFINITY, f64::max),
        )
    }

    /// Es/N0 of the samples of stretch `number`, ratios.
    pub(super) fn stretch(&self, number: u64, es_n0: &mut [f64; STRETCH]) {
        let step = self.step.as_nanos();
        let time = |sample: u64| Time::from_nanos(sample.saturating_mul(step)).unwrap_or(Time::MAX);
        let from = number * STRETCH as u64;
        let mut after = self
            .points
            .partition_point(|(point, _)| *point <= time(from));
        for (sample, out) in (from..).zip(es_n0) {
            let now = time(sample);
            while self
                .points
                .get(after)
                .is_some_and(|(point, _)| *point <= now)
            {
                after += 1;
            }
            let before = after.checked_sub(1).and_then(|at| self.points.get(at));
            *out = from_db(match (before, self.points.get(after)) {
                (Some((t0, db0)), Some((t1, db1))) => {
                    let part = to_f64(now.since(*t0).as_nanos()) / to_f64(t1.since(*t0).as_nanos());
                    db0 + (db1 - db0) * part
                }
                (Some((_, db)), None) | (None, Some((_, db))) => *db,
                (None, None) => 0.0,
            });
        }
    }
}
