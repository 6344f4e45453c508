//! The rate of a trace over time: what windows of equal length delivered.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::types::{Bytes, Slot, Span, Time, to_f64};

/// Window of [`RateTally`] by default.
pub const RATE_WINDOW: Span = Span::from_secs(1);

/// Largest number of windows that [`RateTally::listing`] keeps.
pub const MOST_WINDOWS: u64 = 1_000_000;

/// Counts the slots that successive windows of a trace received. The first window begins at the first row; the last one is
/// counted only if a row lies beyond it.
///
/// ```
/// use tmt_core::stats::RateTally;
/// use tmt_core::types::Bytes;
/// use tmt_core::{Slot, Span, Time};
///
/// let at = |millis| Time::ZERO.saturating_add(Span::from_millis(millis));
/// let slot = |millis| Slot::new(at(millis), Span::from_millis(1)).unwrap();
/// let mut tally = RateTally::new(Span::from_millis(10));
/// // Three slots, none, one; the window that begins at 30 ms is not over.
/// tally.slots(&[slot(0), slot(1), slot(9), slot(25), slot(30)]);
/// let rates = tally.finish(Bytes(125)).unwrap();
/// assert_eq!((rates.windows, rates.min_bps, rates.p50_bps, rates.max_bps), (3, 0.0, 100e3, 300e3));
/// ```
#[derive(Debug, Clone)]
pub struct RateTally {
    window: Span,
    begin: Option<Time>,
    /// End of the window that is being counted.
    end: Time,
    slots: u64,
    received: u64,
    /// Number of windows by slots received.
    windows: BTreeMap<u64, u64>,
    /// Number of all windows.
    ended: u64,
    listed: Option<Vec<Window>>,
    lists_all: bool,
}

/// One window of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Begin of the window.
    pub begin: Time,
    /// Rows in it.
    pub slots: u64,
    /// Those that were received.
    pub received: u64,
}

/// Rates of windows of equal length: LLDUs received, in full size, over the length of a window. Percentiles are by nearest rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rates {
    /// Length of a window, s.
    pub window_s: f64,
    /// Number of windows that ended within the trace.
    pub windows: u64,
    /// Smallest rate, bit/s.
    pub min_bps: f64,
    /// 5th percentile, bit/s.
    pub p5_bps: f64,
    /// Median, bit/s.
    pub p50_bps: f64,
    /// 95th percentile, bit/s.
    pub p95_bps: f64,
    /// Largest rate, bit/s.
    pub max_bps: f64,
}

impl Rates {
    /// The rates with their names, in order.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("min", self.min_bps),
            ("p5", self.p5_bps),
            ("p50", self.p50_bps),
            ("p95", self.p95_bps),
            ("max", self.max_bps),
        ]
    }
}

impl RateTally {
    /// Counts over windows of this length, above zero.
    #[must_use]
    pub const fn new(window: Span) -> Self {
        Self {
            window,
            begin: None,
            end: Time::ZERO,
            slots: 0,
            received: 0,
            windows: BTreeMap::new(),
            ended: 0,
            listed: None,
            lists_all: true,
        }
    }

    /// Keeps the counts of each window, too, up to [`MOST_WINDOWS`].
    #[must_use]
    pub fn listing(mut self) -> Self {
        self.listed = Some(Vec::new());
        self
    }

    /// Adds the next rows, in order of time.
    pub fn slots(&mut self, slots: &[Slot]) {
        for slot in slots {
            let at = slot.tx_time();
            let begin = *self.begin.get_or_insert_with(|| {
                self.end = at.saturating_add(self.window);
                at
            });
            if at >= self.end {
                self.close(at, begin);
            }
            self.slots += 1;
            self.received += u64::from(!slot.is_erased());
        }
    }

    /// Ends the window that is being counted, and those without a row before `at`.
    fn close(&mut self, at: Time, begin: Time) {
        self.count(1);
        (self.slots, self.received) = (0, 0);
        let window = self.window.as_nanos();
        let empty = at.since(self.end).as_nanos() / window;
        if empty > 0 {
            self.count(empty);
        }
        let ended = at.since(begin).as_nanos() / window;
        let end = Span::from_nanos((ended + 1).saturating_mul(window));
        self.end = end.map_or(Time::MAX, |end| begin.saturating_add(end));
    }

    /// Counts `windows` in a row that received the same.
    fn count(&mut self, windows: u64) {
        let before = self.ended;
        self.ended += windows;
        if let (Some(listed), Some(first)) = (&mut self.listed, self.begin) {
            self.lists_all &= self.ended <= MOST_WINDOWS;
            let kept = windows.min(MOST_WINDOWS.saturating_sub(before));
            listed.extend((before..before + kept).map(|number| {
                Window {
                    begin: self
                        .window
                        .checked_mul(number)
                        .map_or(Time::MAX, |after| first.saturating_add(after)),
                    slots: self.slots,
                    received: self.received,
                }
            }));
        }
        *self.windows.entry(self.received).or_default() += windows;
    }

    /// The windows that were kept; `None` if the trace has more than [`MOST_WINDOWS`], or they were not asked for.
    #[must_use]
    pub fn listed(&self) -> Option<&[Window]> {
        self.listed.as_deref().filter(|_| self.lists_all)
    }

    /// Length of a window.
    #[must_use]
    pub const fn window(&self) -> Span {
        self.window
    }

    /// The rate of LLDUs of this size that one window received, bit/s.
    #[must_use]
    pub fn rate_bps(&self, received: u64, lldu: Bytes) -> f64 {
        to_f64(received) * 8.0 * to_f64(lldu.0) / self.window.as_secs_f64()
    }

    /// The rates of LLDUs of this size; `None` if no window ended within the trace.
    #[must_use]
    pub fn finish(&self, lldu: Bytes) -> Option<Rates> {
        let windows = self.ended;
        let rate = |percent: u64| {
            // Nearest rank, from 1; the smallest of all for 0.
            let rank = (u128::from(windows) * u128::from(percent))
                .div_ceil(100)
                .max(1);
            let mut below = 0_u128;
            let found = self.windows.iter().find(|(_, count)| {
                below += u128::from(**count);
                below >= rank
            });
            found.map(|(received, _)| self.rate_bps(*received, lldu))
        };
        Some(Rates {
            window_s: self.window.as_secs_f64(),
            windows,
            min_bps: rate(0)?,
            p5_bps: rate(5)?,
            p50_bps: rate(50)?,
            p95_bps: rate(95)?,
            max_bps: rate(100)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slot(at: u64, is_received: bool) -> Slot {
        let at = Time::from_nanos(at).unwrap();
        let delay = Span::from_nanos(u64::from(is_received)).unwrap();
        Slot::new(at, delay).unwrap_or(Slot::erased(at))
    }

    proptest! {
        /// Against the counts of each window by its definition, however the rows are batched.
        #[test]
        fn windows_hold_what_lies_in_them(
            window in 1..50_u64,
            begin in 0..1000_u64,
            steps in prop::collection::vec((0..120_u64, any::<bool>()), 1..60),
            batch in 1..7_usize,
        ) {
            let mut at = begin;
            let mut slots = vec![slot(begin, true)];
            for (step, is_received) in steps {
                at += step;
                slots.push(slot(at, is_received));
            }
            let mut tally = RateTally::new(Span::from_nanos(window).unwrap()).listing();
            slots.chunks(batch).for_each(|batch| tally.slots(batch));
            let whole = (at - begin) / window;
            let expected: Vec<Window> = (0..whole).map(|number| {
                let from = begin + number * window;
                let own = |slot: &&Slot| (from..from + window).contains(&slot.tx_time().as_nanos());
                let slots: Vec<&Slot> = slots.iter().filter(own).collect();
                Window {
                    begin: Time::from_nanos(from).unwrap(),
                    slots: slots.len() as u64,
                    received: slots.iter().filter(|slot| !slot.is_erased()).count() as u64,
                }
            }).collect();
            prop_assert_eq!(tally.listed().unwrap(), &expected[..]);
            let found = tally.finish(Bytes(1));
            prop_assert_eq!(found.is_some(), whole > 0);
            if let Some(found) = found {
                let mut sorted: Vec<u64> = expected.iter().map(|window| window.received).collect();
                sorted.sort_unstable();
                for ((_, rate), percent) in found.named().iter().zip([0, 5, 50, 95, 100]) {
                    let rank = (percent * sorted.len()).div_ceil(100).max(1);
                    let expected = tally.rate_bps(sorted[rank - 1], Bytes(1));
                    prop_assert_eq!(rate.to_bits(), expected.to_bits());
                }
                prop_assert_eq!(found.windows, whole);
            }
        }
    }

    #[test]
    fn a_gap_of_years_is_counted_and_not_listed() {
        let mut tally = RateTally::new(Span::from_millis(1)).listing();
        tally.slots(&[slot(0, true), slot(u64::MAX / 2, true)]);
        assert_eq!(tally.listed(), None);
        let rates = tally.finish(Bytes(1)).unwrap();
        assert_eq!((rates.p50_bps, rates.max_bps), (0.0, 8000.0));
    }
}
