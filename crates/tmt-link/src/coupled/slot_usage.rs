//! Use of the slots of a coupled link. The link is computed ahead of the run's clock; slots after the clock are kept
//! apart, so that slots after the end of the run do not count.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use tmt_core::types::Time;

/// Set of slots: a count of those that the clock has passed, and ranges of those that it has not.
#[derive(Debug, Default)]
pub(super) struct SlotRanges {
    /// Number of slots that the clock has passed.
    passed: u64,
    /// Ranges of slots that it has not, with the time of the last slot of each.
    pending: VecDeque<(Range<u64>, Time)>,
}

impl SlotRanges {
    /// Adds the slots `numbers`, the last one sent at `last`.
    pub(super) fn push(&mut self, numbers: Range<u64>, last: Time) {
        match self.pending.back_mut() {
            Some((back, at)) if back.end == numbers.start => (back.end, *at) = (numbers.end, last),
            _ => self.pending.push_back((numbers, last)),
        }
    }

    fn advance_clock(&mut self, now: Time) {
        while let Some((numbers, _)) = self.pending.pop_front_if(|(_, last)| *last <= now) {
            self.passed += numbers.end - numbers.start;
        }
    }

    /// Number of slots of the set among the first `slots` of the trace, which must include all that the clock has passed.
    pub(super) fn within(&self, slots: u64) -> u64 {
        let pending = self.pending.iter();
        let within =
            pending.map(|(numbers, _)| slots.min(numbers.end).saturating_sub(numbers.start));
        self.passed + within.sum::<u64>()
    }
}

/// Use of the slots of a coupled link, up to any time that is not before the clock.
#[derive(Debug, Default)]
pub(super) struct SlotUsage {
    /// Slots used.
    pub(super) used: SlotRanges,
    /// Slots whose data LLDU was received in its first attempt.
    pub(super) own: SlotRanges,
    /// Attempts → other LLDUs delivered, as far as the clock has passed.
    attempts: BTreeMap<u32, u64>,
    /// LLDUs delivered after the clock: time of the slot that settles them, attempts, number.
    pub(super) delivered: VecDeque<(Time, u32, u64)>,
}

impl SlotUsage {
    /// Advances the clock to `now`.
    pub(super) fn advance_clock(&mut self, now: Time) {
        self.used.advance_clock(now);
        self.own.advance_clock(now);
        while let Some((_, attempts, lldus)) = self.delivered.pop_front_if(|(at, ..)| *at <= now) {
            *self.attempts.entry(attempts).or_default() += lldus;
        }
    }

    /// Attempts → LLDUs delivered by `end`, when `slots` slots have been sent.
    pub(super) fn attempts(&self, end: Time, slots: u64) -> BTreeMap<u32, u64> {
        let mut attempts = self.attempts.clone();
        let pending = self.delivered.iter().take_while(|(at, ..)| *at <= end);
        let pending = pending.map(|(_, number, lldus)| (*number, *lldus));
        for (number, lldus) in pending.chain([(1, self.own.within(slots))]) {
            *attempts.entry(number).or_default() += lldus;
        }
        attempts.retain(|_, lldus| *lldus > 0);
        attempts
    }
}
