//! Steps of the delay's level.
//!
//! Time is cut into bins of 100 ms. The level of a bin is the median of its delays, so that single late packets do not count. At
//! each bin the median of the levels in the window that begins there is compared with that of the window that ends there.
//! A step is where they differ by more than [`FACTOR`] times the robust spread: 1.4826 · MAD, which is the standard deviation
//! of a normal distribution (Rousseeuw 1993). The spread is the larger one of that of the whole trace and those in the two
//! windows, so that a restless stretch needs larger steps. Of the steps within a window only the largest counts.

use std::collections::BTreeSet;

use serde::Serialize;

use super::seconds;
use crate::types::{Span, Time, to_f64};

/// Length of a bin.
pub(super) const BIN: Span = Span::from_millis(100);

/// Spreads that a step exceeds.
pub(super) const FACTOR: f64 = 3.0;

/// MAD to standard deviation, for normal values.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Coarsest resolution of delays that is taken for one, ns.
const MOST_RESOLUTION: u64 = 1_000_000;

/// Least number of bins with delays in a window.
const LEAST_BINS: usize = 3;

/// A step of the delay's level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Step {
    /// Begin of the first bin after it, s: 100 ms is the resolution.
    pub time_s: f64,
    /// Median decoding delay of the window before, s.
    pub delay_before_s: f64,
    /// Median decoding delay of the window after, s.
    pub delay_after_s: f64,
    /// After less before, s.
    pub step_s: f64,
    /// Its time, ns. JSON has `time_s`.
    #[serde(skip)]
    pub time: Time,
}

/// Levels of the bins so far.
#[derive(Debug, Default)]
pub(super) struct Levels {
    /// Number and level, ns, of each bin that has delays.
    bins: Vec<(u64, u64)>,
    /// The bin that is being filled, and its delays.
    bin: u64,
    delays: Vec<u64>,
}

/// Levels of all bins, with windows.
#[derive(Debug)]
pub(super) struct Windows {
    bins: Vec<(u64, u64)>,
    /// Bins in a window.
    length: u64,
    /// Least number of bins with delays that a window needs.
    least: usize,
    /// Robust spread, ns.
    spread: Option<f64>,
}

/// The values of a window in ascending order.
#[derive(Debug, Default)]
struct Sorted(Vec<u64>);

impl Sorted {
    fn insert(&mut self, value: u64) {
        let at = self.0.partition_point(|other| *other < value);
        self.0.insert(at, value);
    }

    fn remove(&mut self, value: u64) {
        let at = self.0.partition_point(|other| *other < value);
        self.0.remove(at);
    }

    fn median(&self) -> Option<u64> {
        let middle = self.0.len().checked_sub(1)? / 2;
        Some(self.0[middle])
    }

    /// Median distance from the median.
    fn mad(&self) -> u64 {
        let Some(centre) = self.median() else {
            return 0;
        };
        let mut distances: Vec<u64> = self.0.iter().map(|value| value.abs_diff(centre)).collect();
        lower_median(&mut distances).unwrap_or(0)
    }
}

/// Lower median; `None` without values.
fn lower_median(values: &mut [u64]) -> Option<u64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}

impl Levels {
    /// Adds the delay of a slot that was sent `since` after the first row.
    pub(super) fn push(&mut self, since: Span, delay: Span) {
        let bin = since.as_nanos() / BIN.as_nanos();
        if bin != self.bin {
            self.close();
            self.bin = bin;
        }
        self.delays.push(delay.as_nanos());
    }

    fn close(&mut self) {
        if let Some(level) = lower_median(&mut self.delays) {
            self.bins.push((self.bin, level));
        }
        self.delays.clear();
    }

    /// The levels with windows of this length, for slots at this interval.
    pub(super) fn finish(mut self, window: Span, interval: Span) -> Windows {
        self.close();
        let length = window.as_nanos().div_ceil(BIN.as_nanos());
        // A window of slow probes has a bin for each, and may miss half of them.
        let every = interval.as_nanos().div_ceil(BIN.as_nanos()).max(1);
        let expected = usize::try_from(length / every).unwrap_or(usize::MAX);
        let mut windows = Windows {
            bins: self.bins,
            length,
            least: (expected / 2).max(LEAST_BINS),
            spread: None,
        };
        // Delays in whole milliseconds have no spread below one.
        let resolution = to_f64(windows.resolution());
        windows.spread = windows
            .measure_spread()
            .map(|spread| spread.max(resolution));
        windows
    }
}

impl Windows {
    /// Calls `at` for each bin with its place, the window before it and that which begins with it.
    fn slide(&self, mut at: impl FnMut(usize, &Sorted, &Sorted)) {
        let bins = &self.bins;
        let (mut before, mut after) = (Sorted::default(), Sorted::default());
        let (mut oldest, mut next) = (0, 0);
        for (place, &(bin, level)) in bins.iter().enumerate() {
            while next < bins.len() && bins[next].0 < bin.saturating_add(self.length) {
                after.insert(bins[next].1);
                next += 1;
            }
            while bins[oldest].0 + self.length < bin {
                before.remove(bins[oldest].1);
                oldest += 1;
            }
            at(place, &before, &after);
            after.remove(level);
            before.insert(level);
        }
    }

    /// Spread of the levels about the median of the window before each.
    fn measure_spread(&self) -> Option<f64> {
        let mut distances = Vec::with_capacity(self.bins.len());
        self.slide(|place, before, _| {
            if before.0.len() >= self.least
                && let Some(median) = before.median()
            {
                distances.push(self.bins[place].1.abs_diff(median));
            }
        });
        lower_median(&mut distances).map(|mad| MAD_TO_SIGMA * to_f64(mad))
    }

    /// The spread, s; `None` without a full window.
    pub(super) fn spread_s(&self) -> Option<f64> {
        self.spread.map(|spread| spread / 1e9)
    }

    /// Median level, s, of the bins in a range of numbers.
    fn level(&self, bins: std::ops::Range<u64>) -> Option<f64> {
        let from = self.bins.partition_point(|(bin, _)| *bin < bins.start);
        let to = self.bins.partition_point(|(bin, _)| *bin < bins.end);
        let mut levels: Vec<u64> = self.bins[from..to]
            .iter()
            .map(|(_, level)| *level)
            .collect();
        lower_median(&mut levels).map(seconds)
    }

    /// Level, s, of the window that ends with the bin of a time.
    pub(super) fn before(&self, since: Span) -> Option<f64> {
        let end = since.as_nanos() / BIN.as_nanos() + 1;
        self.level(end.saturating_sub(self.length)..end)
    }

    /// Level, s, of the window that begins with the bin of a time.
    pub(super) fn after(&self, since: Span) -> Option<f64> {
        let begin = since.as_nanos() / BIN.as_nanos();
        self.level(begin..begin.saturating_add(self.length))
    }

    /// Resolution of the delays, ns: the smallest difference of two levels that are not equal, at most a millisecond, which is
    /// the coarsest that tools print; 0 if all levels are equal.
    fn resolution(&self) -> u64 {
        let mut levels: Vec<u64> = self.bins.iter().map(|(_, level)| *level).collect();
        levels.sort_unstable();
        levels.dedup();
        let gaps = levels.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.min().unwrap_or(0).min(MOST_RESOLUTION)
    }

    /// The steps of a trace whose first row is at `first`.
    pub(super) fn steps(&self, first: Time) -> Vec<Step> {
        let Some(spread) = self.spread else {
            return Vec::new();
        };
        // Size, bin, and the levels on both sides.
        let mut found: Vec<(u64, u64, u64, u64)> = Vec::new();
        self.slide(|place, before, after| {
            if before.0.len().min(after.0.len()) < self.least {
                return;
            }
            let (Some(from), Some(to)) = (before.median(), after.median()) else {
                return;
            };
            let size = to.abs_diff(from);
            let exceeds = |spread: f64| size > 0 && to_f64(size) > FACTOR * spread;
            if exceeds(spread) && exceeds(MAD_TO_SIGMA * to_f64(before.mad().max(after.mad()))) {
                found.push((size, self.bins[place].0, from, to));
            }
        });
        // The largest first; of equal ones the earliest.
        found.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut taken = BTreeSet::new();
        found.retain(|(_, bin, ..)| {
            let near = bin.saturating_sub(self.length - 1)..bin.saturating_add(self.length);
            let is_free = taken.range(near).next().is_none();
            if is_free {
                taken.insert(*bin);
            }
            is_free
        });
        found.sort_by_key(|(_, bin, ..)| *bin);
        let steps = found.into_iter().map(|(_, bin, from, to)| {
            let since = BIN.checked_mul(bin).unwrap_or(Span::MAX);
            let time = first.saturating_add(since);
            Step {
                time_s: seconds(time.as_nanos()),
                delay_before_s: seconds(from),
                delay_after_s: seconds(to),
                step_s: seconds(to) - seconds(from),
                time,
            }
        });
        steps.collect()
    }
}
