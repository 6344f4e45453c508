//! What the slots were used for. The link is computed ahead of the run's clock, so that what lies behind the end of
//! the run can still be left out.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use tmt_core::types::Time;

/// Ranges of slots that follow each other, and that the clock has not passed.
#[derive(Debug, Default)]
pub(super) struct SlotRanges {
    /// Slots of those that it has.
    passed: u64,
    /// Their numbers, and when the last was sent.
    pending: VecDeque<(Range<u64>, Time)>,
}

impl SlotRanges {
    /// Adds the slots of these numbers, the last of them sent then.
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

    /// How many of them are among the first `slots` of the trace, all of those sent by the clock or later.
    pub(super) fn within(&self, slots: u64) -> u64 {
        let pending = self.pending.iter();
        let within =
            pending.map(|(numbers, _)| slots.min(numbers.end).saturating_sub(numbers.start));
        self.passed + within.sum::<u64>()
    }
}

#[derive(Debug, Default)]
pub(super) struct SlotUsage {
    /// Slots used.
    pub(super) used: SlotRanges,
    /// Slots of data LLDUs that came through on their own.
    pub(super) own: SlotRanges,
    /// Other delivered LLDUs known by the clock, by their attempts.
    attempts: BTreeMap<u32, u64>,
    /// Those known later: by the slot sent when, in which attempt, and how many.
    pub(super) delivered: VecDeque<(Time, u32, u64)>,
}

impl SlotUsage {
    /// The run's clock.
    pub(super) fn advance_clock(&mut self, now: Time) {
        self.used.advance_clock(now);
        self.own.advance_clock(now);
        while let Some((_, attempts, lldus)) = self.delivered.pop_front_if(|(at, ..)| *at <= now) {
            *self.attempts.entry(attempts).or_default() += lldus;
        }
    }

    /// Delivered LLDUs known by `end`, when `slots` have been sent, by their attempts.
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
