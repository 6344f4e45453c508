//! Data LLDUs in number order, from the first one whose story is not complete.

use std::collections::VecDeque;

use crate::slot::{Fate, Lldu};
use crate::units::{Span, Time};

/// An LLDU that is not yet emitted.
#[derive(Debug, Clone, Copy)]
struct Entry {
    tx_time: Time,
    /// When the far link layer had it, or knew that it never will.
    known_at: Time,
    /// Zero while the codeword is not judged.
    attempts: u32,
    fate: Fate,
    /// The LLDU of the same codeword that waits beside this one.
    previous: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Pending {
    entries: VecDeque<Entry>,
    /// Number of the front entry.
    first: u64,
    /// With in-order delivery the running D of link-layer.md §6.
    in_order: Option<Time>,
}

impl Pending {
    pub(super) fn new(in_order: bool) -> Self {
        Self {
            entries: VecDeque::new(),
            first: 0,
            in_order: in_order.then_some(Time::ZERO),
        }
    }

    /// Adds an LLDU that came through on its own.
    pub(super) fn push_delivered(&mut self, tx_time: Time, delay: Span) {
        let known_at = tx_time.saturating_add(delay);
        self.entries.push_back(Entry {
            tx_time,
            known_at,
            attempts: 1,
            fate: Fate::Delivered,
            previous: None,
        });
    }

    /// Adds an LLDU that waits for its codeword, in front of which `previous` does; returns its number.
    pub(super) fn push_waiting(&mut self, tx_time: Time, previous: Option<u64>) -> u64 {
        self.entries.push_back(Entry {
            tx_time,
            known_at: tx_time,
            attempts: 0,
            fate: Fate::Censored,
            previous,
        });
        self.first + self.entries.len() as u64 - 1
    }

    /// The codeword was decoded when the last unit it needed arrived.
    pub(super) fn deliver(&mut self, waiting: Option<u64>, arrival: Time, attempts: u32) {
        self.settle(waiting, arrival, attempts, Fate::Delivered);
    }

    /// The codeword failed and was given up.
    pub(super) fn lose(&mut self, waiting: Option<u64>, given_up: Time, attempts: u32) {
        self.settle(waiting, given_up, attempts, Fate::Lost);
    }

    /// The trace ended before the codeword was judged.
    pub(super) fn censor(&mut self, waiting: Option<u64>, attempts: u32, end: Time) {
        self.settle(waiting, end, attempts, Fate::Censored);
    }

    fn settle(&mut self, mut waiting: Option<u64>, known_at: Time, attempts: u32, fate: Fate) {
        while let Some(number) = waiting {
            let Ok(index) = usize::try_from(number - self.first) else {
                return;
            };
            let entry = &mut self.entries[index];
            entry.known_at = known_at;
            entry.attempts = attempts;
            entry.fate = fate;
            waiting = entry.previous;
        }
    }

    /// Hands over what is settled, as far as no LLDU in front of it is waiting.
    pub(super) fn emit(&mut self, out: &mut Vec<Lldu>) {
        while let Some(entry) = self
            .entries
            .front()
            .filter(|entry| entry.attempts != 0)
            .copied()
        {
            self.entries.pop_front();
            self.first += 1;
            let handed_up = match &mut self.in_order {
                None => entry.known_at,
                Some(latest) => {
                    *latest = (*latest).max(entry.known_at);
                    *latest
                }
            };
            let decode_delay = if entry.fate == Fate::Delivered {
                handed_up.since(entry.tx_time)
            } else {
                Span::ZERO
            };
            out.push(Lldu {
                tx_time: entry.tx_time,
                decode_delay,
                attempts: entry.attempts,
                fate: entry.fate,
            });
        }
    }
}
