//! The rate at which a trace begins.

use crate::types::{Span, Time, to_f64};

/// Number of rows, from the first, whose times give the rate.
const RATE_ROWS: u64 = 10_000;

/// Measures the rows per second of the first 10 000 rows of a trace.
///
/// ```
/// use tmt_core::stats::SlotRate;
/// use tmt_core::{Span, Time};
///
/// let mut rate = SlotRate::default();
/// for millis in [0, 2, 4, 6] {
///     rate.push(Time::ZERO.saturating_add(Span::from_millis(millis)));
/// }
/// assert_eq!(rate.per_second(), Some(500.0));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct SlotRate {
    rows: u64,
    first: Time,
    last: Time,
}

impl SlotRate {
    /// Adds the next row, sent at `tx_time`.
    pub fn push(&mut self, tx_time: Time) {
        if self.rows < RATE_ROWS {
            if self.rows == 0 {
                self.first = tx_time;
            }
            self.last = tx_time;
            self.rows += 1;
        }
    }

    /// Rows per second; `None` if there are fewer than two rows or all have the same time.
    #[must_use]
    pub fn per_second(&self) -> Option<f64> {
        let length: Span = self.last.since(self.first);
        let steps = to_f64(self.rows.saturating_sub(1));
        (!length.is_zero()).then(|| steps / length.as_secs_f64())
    }
}
