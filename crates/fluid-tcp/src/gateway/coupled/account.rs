//! What the slots were used for. The link is computed ahead of the run's clock, so that what lies behind the end of
//! the run can still be left out.

use std::collections::{BTreeMap, VecDeque};

use tmt_core::units::Time;

use crate::timeline::Attempts;

#[derive(Debug, Default)]
pub(super) struct Account {
    /// Slots used up to the clock.
    used: u64,
    /// Slots used that follow each other: the first, the one behind the last, and when the last was sent.
    stretches: VecDeque<(u64, u64, Time)>,
    /// Delivered LLDUs known by the clock, by their attempts.
    attempts: Attempts,
    /// Those known later: when, and in which attempt.
    ahead: VecDeque<(Time, u32)>,
}

impl Account {
    /// Slot `number`, sent `at`, was used.
    pub(super) fn on_used(&mut self, number: u64, at: Time) {
        match self.stretches.back_mut() {
            Some((_, behind, last)) if *behind == number => {
                *behind += 1;
                *last = at;
            }
            _ => self.stretches.push_back((number, number + 1, at)),
        }
    }

    /// An LLDU is known, by the slot sent `at`, to be delivered.
    pub(super) fn on_delivered(&mut self, at: Time, attempts: u32) {
        self.ahead.push_back((at, attempts));
    }

    /// The run's clock.
    pub(super) fn on_clock(&mut self, now: Time) {
        while let Some((from, behind, _)) = self.stretches.pop_front_if(|(.., last)| *last <= now) {
            self.used += behind - from;
        }
        while let Some((_, attempts)) = self.ahead.pop_front_if(|(at, _)| *at <= now) {
            self.attempts.add(attempts, 1);
        }
    }

    /// Slots used of the first `slots`, all of them sent by the clock or later.
    pub(super) fn used(&self, slots: u64) -> u64 {
        let ahead = self.stretches.iter();
        let within = ahead.map(|(from, behind, _)| slots.min(*behind).saturating_sub(*from));
        self.used + within.sum::<u64>()
    }

    /// Delivered LLDUs known by `end`, by their attempts.
    pub(super) fn attempts(&self, end: Time) -> BTreeMap<u32, u64> {
        let mut attempts = self.attempts.clone();
        for (_, number) in self.ahead.iter().take_while(|(at, _)| *at <= end) {
            attempts.add(*number, 1);
        }
        attempts.histogram()
    }
}
