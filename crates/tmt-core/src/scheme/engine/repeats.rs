//! The repeat queue (docs/schemes.md, Sec. 3), and the codewords that wait in it.

use std::collections::VecDeque;

use super::code::{Arrivals, Attempt};
use super::lldu_ring::WaitingLldu;
use crate::types::Time;

/// Codeword for which units are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepeatTarget {
    /// A codeword of one unit that requests one: its LLDU, and the rounds used, this one included.
    Single(WaitingLldu, u32),
    /// The codeword with this key in [`Engine::codewords`](super::Engine).
    Codeword(usize),
}

/// Entry of the repeat queue: units of one codeword.
#[derive(Debug, Clone, Copy)]
struct Repeat {
    ready: Time,
    target: RepeatTarget,
    units: u32,
}

/// The repeat queue, first in, first out. Since slots are in order of time, the head is ready first. With lost feedback,
/// timers expire later than feedback arrives; the entry that is ready first then goes first.
#[derive(Debug)]
pub(super) struct Repeats {
    queue: VecDeque<Repeat>,
    /// Time at which the head is ready, ns; `u64::MAX` if the queue is empty.
    pub(super) next_ready: u64,
    /// Whether the head has been sent in part.
    pub(super) begun: bool,
}

impl Repeats {
    pub(super) fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            next_ready: u64::MAX,
            begun: false,
        }
    }

    /// Removes the entries for which `goes` returns true, and returns their targets in order.
    pub(super) fn drop_all(
        &mut self,
        mut goes: impl FnMut(RepeatTarget) -> bool,
    ) -> Vec<RepeatTarget> {
        let mut dropped = Vec::new();
        let mut is_head = true;
        self.queue.retain(|repeat| {
            let goes = goes(repeat.target);
            if goes {
                dropped.push(repeat.target);
                self.begun &= !is_head;
            }
            is_head = false;
            !goes
        });
        self.note_head();
        dropped
    }

    /// Updates `next_ready` after a change of the head.
    fn note_head(&mut self) {
        let head = self.queue.front();
        self.next_ready = head.map_or(u64::MAX, |head| head.ready.as_nanos());
    }

    /// Adds an entry of `units` (at least one), before those that are ready later. A head that has been sent in part stays
    /// the head.
    pub(super) fn push(&mut self, ready: Time, target: RepeatTarget, units: u32) {
        let settled = usize::from(self.begun);
        let mut at = self.queue.len();
        while at > settled && self.queue[at - 1].ready > ready {
            at -= 1;
        }
        let repeat = Repeat {
            ready,
            target,
            units,
        };
        if at == self.queue.len() {
            self.queue.push_back(repeat);
        } else {
            self.queue.insert(at, repeat);
        }
        self.note_head();
    }

    /// Takes up to `most` units of the head. Returns their target, their number, and whether they include the last one.
    pub(super) fn take(&mut self, most: u32) -> Option<(RepeatTarget, u32, bool)> {
        let head = self.queue.front_mut()?;
        let taken = head.units.min(most);
        head.units -= taken;
        let (target, last) = (head.target, head.units == 0);
        self.begun = !last;
        if last {
            self.queue.pop_front();
            self.note_head();
        }
        Some((target, taken, last))
    }

    /// The waiting LLDUs and rounds used of the codewords of one unit.
    pub(super) fn singles(&self) -> impl Iterator<Item = (WaitingLldu, u32)> {
        self.queue.iter().filter_map(|repeat| match repeat.target {
            RepeatTarget::Single(waiting, rounds) => Some((waiting, rounds)),
            RepeatTarget::Codeword(_) => None,
        })
    }
}

/// A codeword whose first attempt failed, or whose feedback was lost.
#[derive(Debug)]
pub(super) struct Codeword {
    /// Number of the codeword among all codewords taken from the source.
    pub(super) number: u64,
    pub(super) data_units: u32,
    /// Units of the first attempt.
    pub(super) units: u32,
    /// Rounds requested so far, r.
    pub(super) rounds_used: u32,
    /// Whether it is decoded without the sender having heard of it.
    pub(super) decoded: bool,
    /// List of its LLDUs that wait.
    pub(super) waiting: WaitingLldu,
    /// Arrivals of the units that count.
    pub(super) arrivals: Arrivals,
}

impl Codeword {
    /// A codeword after its first attempt, without arrivals.
    pub(super) fn after_first(attempt: &Attempt, waiting: WaitingLldu) -> Self {
        Self {
            number: attempt.codeword,
            data_units: attempt.data_units,
            units: attempt.units,
            rounds_used: 0,
            decoded: false,
            waiting,
            arrivals: Arrivals::default(),
        }
    }
}
