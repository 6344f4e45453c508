//! `unit-suspected`: times that are too long for any link.

use super::{Check, Facts};
use crate::format::import::Finding;
use crate::format::import::catalogue::UNIT_SUSPECTED;
use crate::stats::distribution::Distribution;
use crate::stats::wrong_unit;
use crate::types::{Slot, Span, Time, to_f64};

/// Number of delays for the median: the first ones, as in the warning of `tmt apply`.
const DELAYS: u64 = 1 << 16;

/// Finds the mean interval and the median delay.
#[derive(Debug, Default)]
pub(super) struct Units {
    first: Option<Time>,
    last: Time,
    delays: Distribution,
}

impl Check for Units {
    fn slots(&mut self, slots: &[Slot]) {
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else {
            return;
        };
        self.first.get_or_insert(first.tx_time());
        self.last = last.tx_time();
        let received = slots.iter().filter(|slot| !slot.is_erased());
        let left = DELAYS.saturating_sub(self.delays.count());
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        for slot in received.take(left) {
            self.delays.push(slot.decode_delay());
        }
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let length = self.last.since(self.first.unwrap_or_default());
        let has_intervals = facts.has_times && facts.slots > 1;
        let period = has_intervals.then(|| length.as_secs_f64() / to_f64(facts.slots - 1));
        let [median] = self.delays.percentiles([50]);
        let found = wrong_unit(facts.kind, period, median.map(Span::as_secs_f64));
        let finding = |found| Finding::of(&UNIT_SUSPECTED, 1, "traces", found);
        found
            .map(|found| finding(found + ": perhaps the times have another unit"))
            .into_iter()
            .collect()
    }
}
