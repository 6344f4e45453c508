//! Outages and handover candidates of a measured trace (docs/metrics.md, Sec. 11).
//!
//! An outage is a stretch between two deliveries that is longer than a threshold, whether slots were lost in it or there were
//! none. A handover candidate is a step of the delay's level. Both are compared with a grid, such as the 15 s at which
//! Starlink assigns its satellites anew.

mod grid;
mod steps;

pub use grid::{Grid, GridEvents};
pub use steps::Step;

use serde::Serialize;

use crate::stats::distribution::Distribution;
use crate::types::{Slot, Span, Time, to_f64};

use self::steps::{BIN, Levels};

/// Least threshold of an outage by the rule.
const LEAST_OUTAGE: Span = Span::from_millis(100);

/// Median slot intervals that an outage lasts at least by the rule.
const OUTAGE_INTERVALS: u64 = 10;

/// Least window by the rule: ten bins.
const LEAST_WINDOW: Span = Span::from_secs(1);

/// Median slot intervals that a window has at least by the rule.
const WINDOW_INTERVALS: u64 = 20;

/// Values up to which the median slot interval is exact, and buckets above it.
const INTERVALS: usize = 1 << 16;

/// Settings of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentSettings {
    /// Threshold of an outage; by the rule if `None`.
    pub outage: Option<Span>,
    /// Length of the windows before and after a step; by the rule if `None`.
    pub window: Option<Span>,
    /// Period of the grid, above zero.
    pub grid: Span,
    /// Seed of the draws that say what chance gives on the grid.
    pub seed: u64,
    /// Whether a delay of 1 ns was measured, as where the propagation was removed; unknown if not.
    pub shortest_is_known: bool,
}

/// A stretch without delivery.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Outage {
    /// Transmission time of the last delivered slot before it, or of the first row, s.
    pub start_s: f64,
    /// From there to the next delivered slot, or to the last row, s.
    pub length_s: f64,
    /// Slots in between, all of them lost.
    pub slots_lost: u64,
    /// Median decoding delay of the window before, s; `None` if nothing was delivered there or delays are unknown.
    pub delay_before_s: Option<f64>,
    /// The same of the window after it, s.
    pub delay_after_s: Option<f64>,
    /// Whether the trace begins or ends in it, so that it was longer.
    pub is_cut: bool,
    /// Start, ns. JSON has `start_s`.
    #[serde(skip)]
    pub start: Time,
    /// Length, ns. JSON has `length_s`.
    #[serde(skip)]
    pub length: Span,
}

/// Outages of a trace and steps of its delay's level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Segments {
    /// Median time between neighbouring rows, s; 0 for one row.
    pub slot_period_median_s: f64,
    /// Stretches longer than this are outages, s.
    pub outage_threshold_s: f64,
    /// Where the threshold is from: `rule` or `given`.
    pub outage_threshold_from: &'static str,
    /// Outages in the order of time.
    pub outages: Vec<Outage>,
    /// Sum of their lengths, s.
    pub outage_total_s: f64,
    /// That sum over the length of the trace; null without length.
    pub outage_share: Option<f64>,
    /// Length of the windows, s.
    pub window_s: f64,
    /// Robust spread of the delay's level within a window, s; null if there are not enough delays.
    pub level_spread_s: Option<f64>,
    /// Steps of the delay's level, in the order of time.
    pub steps: Vec<Step>,
    /// Steps and starts of outages against the grid.
    pub grid: Grid,
}

/// A stretch that may be an outage.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    start: Time,
    end: Time,
    lost: u64,
    is_cut: bool,
}

/// Searches a trace for outages and steps, in one pass. Memory grows with its length in time, 16 bytes for 100 ms, not with
/// its slots.
///
/// ```
/// use tmt_core::stats::{SegmentSettings, SegmentTally};
/// use tmt_core::{Slot, Span, Time};
///
/// let at = |millis| Time::ZERO.saturating_add(Span::from_millis(millis));
/// let grid = Span::from_secs(15);
/// let mut tally = SegmentTally::new(SegmentSettings { outage: None, window: None, grid, seed: 1, shortest_is_known: false });
/// // Every 10 ms a slot, and those from 500 ms to 890 ms are lost.
/// let slots = (0..200).map(|row| match row {
///     50..90 => Some(Slot::erased(at(10 * row))),
///     _ => Slot::new(at(10 * row), Span::from_millis(36)),
/// });
/// tally.slots(&slots.flatten().collect::<Vec<_>>());
/// let found = tally.finish();
/// assert_eq!(found.outage_threshold_s, 0.1); // the larger of 100 ms and ten slots
/// let outage = found.outages[0];
/// assert_eq!((outage.start_s, outage.length_s, outage.slots_lost), (0.49, 0.41, 40));
/// ```
#[derive(Debug)]
pub struct SegmentTally {
    settings: SegmentSettings,
    intervals: Distribution,
    first: Option<Time>,
    last: Time,
    /// Last delivered slot, or the first row.
    delivered: Time,
    /// Whether there was one.
    has_delivered: bool,
    lost: u64,
    stretches: Vec<Stretch>,
    levels: Levels,
}

impl SegmentTally {
    /// A search that has seen no slot.
    #[must_use]
    pub fn new(settings: SegmentSettings) -> Self {
        Self {
            settings,
            intervals: Distribution::within(INTERVALS, INTERVALS),
            first: None,
            last: Time::ZERO,
            delivered: Time::ZERO,
            has_delivered: false,
            lost: 0,
            stretches: Vec::new(),
            levels: Levels::default(),
        }
    }

    /// Adds the next slots, in order of time.
    pub fn slots(&mut self, slots: &[Slot]) {
        for slot in slots {
            let time = slot.tx_time();
            if self.first.is_none() {
                self.first = Some(time);
                self.delivered = time;
            } else {
                self.intervals.push(time.since(self.last));
            }
            self.last = time;
            if slot.is_erased() {
                self.lost += 1;
                continue;
            }
            self.stretch(time, !self.has_delivered);
            (self.delivered, self.has_delivered, self.lost) = (time, true, 0);
            if slot.decode_delay() > Slot::UNKNOWN_DELAY || self.settings.shortest_is_known {
                let since = time.since(self.first.unwrap_or(time));
                self.levels.push(since, slot.decode_delay());
            }
        }
    }

    /// Keeps the stretch up to `end` if it may be an outage.
    fn stretch(&mut self, end: Time, is_cut: bool) {
        let least = self.settings.outage.unwrap_or(LEAST_OUTAGE);
        let start = self.delivered;
        if end.since(start) > least {
            let lost = self.lost;
            self.stretches.push(Stretch {
                start,
                end,
                lost,
                is_cut,
            });
        }
    }

    /// Outages and steps of the whole trace.
    #[must_use]
    pub fn finish(mut self) -> Segments {
        self.stretch(self.last, true);
        let first = self.first.unwrap_or_default();
        let [median] = self.intervals.percentiles([50]);
        let interval = median.unwrap_or(Span::ZERO);
        let times = |factor| interval.checked_mul(factor).unwrap_or(Span::MAX);
        let by_rule = LEAST_OUTAGE.max(times(OUTAGE_INTERVALS));
        let threshold = self.settings.outage.unwrap_or(by_rule);
        let window = self
            .settings
            .window
            .unwrap_or(LEAST_WINDOW.max(times(WINDOW_INTERVALS)))
            .max(BIN);
        let levels = self.levels.finish(window, interval);
        let outages: Vec<Outage> = self
            .stretches
            .iter()
            .filter(|stretch| stretch.end.since(stretch.start) > threshold)
            .map(|stretch| {
                let length = stretch.end.since(stretch.start);
                Outage {
                    start_s: stretch.start.since(Time::ZERO).as_secs_f64(),
                    length_s: length.as_secs_f64(),
                    slots_lost: stretch.lost,
                    delay_before_s: levels.before(stretch.start.since(first)),
                    delay_after_s: levels.after(stretch.end.since(first)),
                    is_cut: stretch.is_cut,
                    start: stretch.start,
                    length,
                }
            })
            .collect();
        let total: f64 = outages.iter().map(|outage| outage.length_s).sum();
        let length = self.last.since(first);
        let steps = levels.steps(first);
        let starts = outages.iter().map(|outage| outage.start.as_nanos());
        let step_times = steps.iter().map(|step| step.time.as_nanos());
        let grid = Grid::new(
            self.settings.grid,
            self.settings.seed,
            step_times.collect(),
            starts.collect(),
        );
        Segments {
            slot_period_median_s: interval.as_secs_f64(),
            outage_threshold_s: threshold.as_secs_f64(),
            outage_threshold_from: if self.settings.outage.is_some() {
                "given"
            } else {
                "rule"
            },
            outage_total_s: total,
            outage_share: (!length.is_zero()).then(|| total / length.as_secs_f64()),
            outages,
            window_s: window.as_secs_f64(),
            level_spread_s: levels.spread_s(),
            steps,
            grid,
        }
    }
}

/// Nanoseconds as seconds.
fn seconds(nanos: u64) -> f64 {
    to_f64(nanos) / 1e9
}

#[cfg(test)]
mod tests;
