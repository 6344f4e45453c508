//! The repeat queue of link-layer.md §3, and the codewords that wait in it.

use std::collections::VecDeque;

use super::lldu_ring::WaitingLldu;
use crate::types::Time;

/// Whose units are to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RepeatTarget {
    /// A codeword that is one unit only and asks for one: its LLDU, and the rounds used with this one.
    Single(WaitingLldu, u32),
    /// The codeword under this key of [`Engine::codewords`](super::Engine).
    Codeword(usize),
}

/// Units of one codeword that wait to be sent again.
#[derive(Debug, Clone, Copy)]
struct Repeat {
    ready: Time,
    target: RepeatTarget,
    units: u32,
}

/// First in, first out. Slots come in the order of their times, so the head is ready first; where timers expire later
/// than feedback comes, what is ready first goes first.
#[derive(Debug)]
pub(super) struct Repeats {
    queue: VecDeque<Repeat>,
    /// When the head is ready, ns; above any time where there is none.
    pub(super) next_ready: u64,
    /// Whether some units of the head have been sent, and others not.
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

    /// Takes out those of which `goes` says so, in their order.
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

    fn note_head(&mut self) {
        let head = self.queue.front();
        self.next_ready = head.map_or(u64::MAX, |head| head.ready.as_nanos());
    }

    /// Asks for `units` (at least one) to be sent again from `ready` on, before what is ready later; a head that is
    /// partly sent stays the head.
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

    /// Takes up to `most` units of the head: whose they are, how many, and whether that was its last.
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

    /// The codewords of a single unit in the queue.
    pub(super) fn singles(&self) -> impl Iterator<Item = (WaitingLldu, u32)> {
        self.queue.iter().filter_map(|repeat| match repeat.target {
            RepeatTarget::Single(waiting, rounds) => Some((waiting, rounds)),
            RepeatTarget::Codeword(_) => None,
        })
    }
}

/// A codeword whose first attempt was not enough.
#[derive(Debug)]
pub(super) struct Codeword {
    /// Its number among all that were taken.
    pub(super) number: u64,
    pub(super) data_units: u32,
    /// Units of the first attempt.
    pub(super) units: u32,
    /// Retransmission rounds used so far, r.
    pub(super) rounds_used: u32,
    /// Whether it has been decoded, of which the sender has not heard.
    pub(super) decoded: bool,
    /// Its LLDUs that wait.
    pub(super) waiting: WaitingLldu,
    /// Arrival times of the units that count, ns.
    pub(super) arrivals: Vec<u64>,
}
