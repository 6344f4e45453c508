//! The repeat queue of link-layer.md §3, and the codewords that wait in it.

use std::collections::VecDeque;

use super::pending::Waiting;
use crate::types::Time;

/// Whose units are to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// A codeword that is one unit only and asks for one: its LLDU, and the rounds used with this one.
    Single(Waiting, u32),
    /// The codeword at this place of the slab.
    Codeword(CodewordId),
}

/// Units of one codeword that wait to be sent again.
#[derive(Debug, Clone, Copy)]
struct Repeat {
    ready: Time,
    subject: Subject,
    units: u32,
}

/// First in, first out. Slots come in the order of their times, so the head is ready first; where timers expire later
/// than feedback comes, what is ready first goes first.
#[derive(Debug)]
pub(super) struct Repeats {
    queue: VecDeque<Repeat>,
    /// When the head is ready, ns; above any time where there is none.
    next_ready: u64,
    /// Whether some units of the head have been sent.
    begun: bool,
}

impl Repeats {
    pub(super) fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            next_ready: u64::MAX,
            begun: false,
        }
    }

    /// Whether some but not all units of the head have been sent.
    pub(super) fn is_begun(&self) -> bool {
        self.begun
    }

    /// Takes out those of which `goes` says so, in their order.
    pub(super) fn drop_all(&mut self, mut goes: impl FnMut(Subject) -> bool) -> Vec<Subject> {
        let mut dropped = Vec::new();
        let mut is_head = true;
        self.queue.retain(|repeat| {
            let goes = goes(repeat.subject);
            if goes {
                dropped.push(repeat.subject);
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

    /// When the next unit can be sent again, ns; above any time where there is none.
    pub(super) fn next_ready(&self) -> u64 {
        self.next_ready
    }

    /// Asks for `units` (at least one) to be sent again from `ready` on.
    pub(super) fn push(&mut self, ready: Time, subject: Subject, units: u32) {
        if self.queue.is_empty() {
            self.next_ready = ready.as_nanos();
        }
        self.queue.push_back(Repeat {
            ready,
            subject,
            units,
        });
    }

    /// As [`Self::push`], where others may be ready later than this one; a head that is partly sent stays the head.
    pub(super) fn push_in_order(&mut self, ready: Time, subject: Subject, units: u32) {
        let settled = usize::from(self.begun);
        let mut at = self.queue.len();
        while at > settled && self.queue[at - 1].ready > ready {
            at -= 1;
        }
        let repeat = Repeat {
            ready,
            subject,
            units,
        };
        self.queue.insert(at, repeat);
        self.note_head();
    }

    /// Takes up to `most` units of the head: whose they are, how many, and whether that was its last.
    pub(super) fn take(&mut self, most: u32) -> Option<(Subject, u32, bool)> {
        let head = self.queue.front_mut()?;
        let taken = head.units.min(most);
        head.units -= taken;
        let (subject, last) = (head.subject, head.units == 0);
        self.begun = !last;
        if last {
            self.queue.pop_front();
            self.note_head();
        }
        Some((subject, taken, last))
    }

    /// The codewords of a single unit in the queue.
    pub(super) fn singles(&self) -> impl Iterator<Item = (Waiting, u32)> {
        self.queue.iter().filter_map(|repeat| match repeat.subject {
            Subject::Single(waiting, rounds) => Some((waiting, rounds)),
            Subject::Codeword(_) => None,
        })
    }
}

/// A codeword's place in the slab; good until the codeword is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodewordId(usize);

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
    pub(super) waiting: Waiting,
    /// Arrival times of the units that count, ns.
    pub(super) arrivals: Vec<u64>,
}

/// The codewords that failed an attempt: a slab whose places, and the memory in them, are used again.
#[derive(Debug, Default)]
pub(super) struct Codewords {
    places: Vec<Codeword>,
    free: Vec<usize>,
}

impl Codewords {
    /// Opens a codeword after its first attempt; `arrivals` of that one count.
    pub(super) fn open(
        &mut self,
        number: u64,
        (data_units, units): (u32, u32),
        waiting: Waiting,
        arrivals: &[u64],
    ) -> CodewordId {
        let mut codeword = Codeword {
            number,
            data_units,
            units,
            rounds_used: 0,
            decoded: false,
            waiting,
            arrivals: Vec::new(),
        };
        let place = self.free.pop().unwrap_or(self.places.len());
        if let Some(free) = self.places.get_mut(place) {
            std::mem::swap(&mut codeword.arrivals, &mut free.arrivals);
            *free = codeword;
        } else {
            self.places.push(codeword);
        }
        let kept = &mut self.places[place].arrivals;
        kept.clear();
        kept.extend_from_slice(arrivals);
        CodewordId(place)
    }

    /// Frees the place.
    pub(super) fn close(&mut self, id: CodewordId) {
        self.places[id.0].waiting = Waiting::NONE;
        self.free.push(id.0);
    }

    pub(super) fn get(&self, id: CodewordId) -> &Codeword {
        &self.places[id.0]
    }

    pub(super) fn get_mut(&mut self, id: CodewordId) -> &mut Codeword {
        &mut self.places[id.0]
    }

    /// All that are open; a closed one has nothing waiting.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Codeword> {
        self.places.iter()
    }
}
