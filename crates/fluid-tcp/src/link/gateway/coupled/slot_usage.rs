//! What the slots were used for. The link is computed ahead of the run's clock, so that what lies behind the end of
//! the run can still be left out.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use tmt_core::types::Time;

use crate::link::timeline::Attempts;

/// Slots that follow each other.
#[derive(Debug)]
struct Stretch {
    numbers: Range<u64>,
    /// When the last was sent.
    last: Time,
}

/// Stretches that the clock has not passed.
#[derive(Debug, Default)]
struct Stretches {
    /// Slots of those that it has.
    behind: u64,
    ahead: VecDeque<Stretch>,
}

impl Stretches {
    fn push(&mut self, numbers: Range<u64>, last: Time) {
        match self.ahead.back_mut() {
            Some(back) if back.numbers.end == numbers.start => {
                back.numbers.end = numbers.end;
                back.last = last;
            }
            _ => self.ahead.push_back(Stretch { numbers, last }),
        }
    }

    fn on_clock(&mut self, now: Time) {
        while let Some(stretch) = self.ahead.pop_front_if(|stretch| stretch.last <= now) {
            self.behind += stretch.numbers.end - stretch.numbers.start;
        }
    }

    /// How many of them are among the first `slots` of the trace, all of those sent by the clock or later.
    fn within(&self, slots: u64) -> u64 {
        let ahead = self.ahead.iter().map(|stretch| &stretch.numbers);
        let within = ahead.map(|numbers| slots.min(numbers.end).saturating_sub(numbers.start));
        self.behind + within.sum::<u64>()
    }
}

#[derive(Debug, Default)]
pub(super) struct SlotUsage {
    /// Slots used.
    used: Stretches,
    /// Slots of data LLDUs that came through on their own.
    own: Stretches,
    /// Other delivered LLDUs known by the clock, by their attempts.
    attempts: Attempts,
    /// Those known later: when, in which attempt, and how many.
    ahead: VecDeque<(Time, u32, u64)>,
}

impl SlotUsage {
    /// Slots of these numbers were used, the last of them sent `at`.
    pub(super) fn on_used(&mut self, numbers: Range<u64>, at: Time) {
        self.used.push(numbers, at);
    }

    /// In slots of these numbers, the last of them sent `at`, LLDUs came through on their own.
    pub(super) fn on_own(&mut self, numbers: Range<u64>, at: Time) {
        self.own.push(numbers, at);
    }

    /// `lldus` are known, by the slot sent `at`, to be delivered.
    pub(super) fn on_delivered(&mut self, at: Time, attempts: u32, lldus: u64) {
        self.ahead.push_back((at, attempts, lldus));
    }

    /// The run's clock.
    pub(super) fn on_clock(&mut self, now: Time) {
        self.used.on_clock(now);
        self.own.on_clock(now);
        while let Some((_, attempts, lldus)) = self.ahead.pop_front_if(|(at, ..)| *at <= now) {
            self.attempts.add(attempts, lldus);
        }
    }

    /// Slots used of the first `slots`, all of them sent by the clock or later.
    pub(super) fn used(&self, slots: u64) -> u64 {
        self.used.within(slots)
    }

    /// Delivered LLDUs known by `end`, when `slots` have been sent, by their attempts.
    pub(super) fn attempts(&self, end: Time, slots: u64) -> BTreeMap<u32, u64> {
        let mut attempts = self.attempts.clone();
        attempts.add(1, self.own.within(slots));
        for (_, number, lldus) in self.ahead.iter().take_while(|(at, ..)| *at <= end) {
            attempts.add(*number, *lldus);
        }
        attempts.histogram()
    }
}
