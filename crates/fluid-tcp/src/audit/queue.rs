//! The gateway queue, replayed in the order of arrival: rule `queue`. The buffer counts packets or their bytes.
//!
//! A packet leaves at the time on its row. Events at the same time may have happened in any order. An enqueued packet
//! is therefore checked as if all packets that leave at that time had left, a dropped one as if none had left and all
//! arrivals were enqueued.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tmt_core::types::Time;

use super::head::{Capacity, Head};
use super::listed::Listed;
use super::report::{Rule, RuleTally};
use super::row::{Fate, Row};

/// When a packet leaves, as far as the log says: it is inside before the first time, and outside after the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaves {
    pub(super) first: Time,
    pub(super) last: Time,
}

impl Leaves {
    /// At a time, or never.
    pub(super) fn at(time: Option<Time>) -> Self {
        let time = time.unwrap_or(Time::MAX);
        Self {
            first: time,
            last: time,
        }
    }

    /// At a time of either.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }
}

/// State of the replayed queue.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Capacity, the packet in service included.
    capacity: Capacity,
    /// Whether the queue drops only when it is full.
    drop_tail: bool,
    /// The packets that are dropped on arrival, by their number among all that arrive.
    listed: Option<Listed>,
    /// Rows not yet replayed, by (enqueued, line): whether they are dropped, when they leave, and their room.
    pub(super) ahead: BTreeMap<(Time, u64), (bool, Leaves, u64)>,
    now: Time,
    /// First and last times, the first after `now`, at which the packets in the queue leave, and their room.
    pub(super) inside: BinaryHeap<Reverse<(Time, Time, u64)>>,
    /// Room of the packets that are in the queue after `now`: one each, or their bytes.
    occupied: u64,
    /// Last times, from `now` on, of the packets that may have left at `now`, and their room; the sum of those rooms.
    leaving: BinaryHeap<Reverse<(Time, u64)>>,
    may_hold: u64,
    /// The time from which on it is not known which packets are inside.
    unknown_from: Option<Time>,
    /// Lines of the packets that are dropped at `now`, and their room.
    dropped: Vec<(u64, u64)>,
}

impl Queue {
    /// The queue of the gateway.
    pub(super) fn new(head: &Head, listed: Option<Listed>) -> Self {
        Self {
            listed,
            ..Self::of(head.capacity, head.drop_tail)
        }
    }

    /// A queue that drops only when it is full if it is drop-tail.
    pub(super) fn of(capacity: Capacity, drop_tail: bool) -> Self {
        Self {
            capacity,
            drop_tail,
            ..Self::default()
        }
    }

    /// Processes the log's next row; `sent` is the latest of the log, so that no earlier arrival can follow.
    pub(super) fn on_row(&mut self, row: &Row, sent: Time, tally: &mut RuleTally) {
        if let Some(at) = row.enqueued.filter(|_| row.fate != Fate::Duplicate) {
            self.arrives(row, at, row.fate == Fate::Queue, Leaves::at(row.left));
        }
        self.replay(Some(sent), tally);
    }

    /// The packet of a row arrives at a time, and is dropped then or leaves at another.
    pub(super) fn arrives(&mut self, row: &Row, at: Time, is_dropped: bool, leaves: Leaves) {
        let room = self.capacity.of(row.size);
        self.ahead
            .insert((at, row.line), (is_dropped, leaves, room));
    }

    /// It is not known which packets are inside from a time on.
    pub(super) fn set_unknown_from(&mut self, time: Time) {
        let from = self.unknown_from.unwrap_or(Time::MAX);
        self.unknown_from = Some(from.min(time));
    }

    /// Replays all remaining arrivals at the end of the log.
    pub(super) fn finish(&mut self, tally: &mut RuleTally) {
        self.replay(None, tally);
        self.check_drops(tally);
    }

    /// Replays the arrivals before a time, or all if it is `None`.
    pub(super) fn replay(&mut self, before: Option<Time>, tally: &mut RuleTally) {
        while let Some(first) = self.ahead.first_entry()
            && before.is_none_or(|time| first.key().0 < time)
        {
            let ((at, line), (is_dropped, leaves, room)) = first.remove_entry();
            if at > self.now {
                self.check_drops(tally);
                self.now = at;
                while let Some(&Reverse((first, last, room))) = self.inside.peek()
                    && first <= at
                {
                    self.inside.pop();
                    self.occupied -= room;
                    self.may_leave(last, room);
                }
                while let Some(&Reverse((last, room))) = self.leaving.peek()
                    && last < at
                {
                    self.leaving.pop();
                    self.may_hold -= room;
                }
            }
            let listed = self.listed.as_mut().map(Listed::next);
            if let Some((at, true)) = listed {
                let found = format_args!("arrival {at} in the queue");
                let expected = "a drop, as 'queue_loss' of the head lists it";
                tally
                    .at(Rule::Queue, line)
                    .check(is_dropped, found, expected);
                if is_dropped {
                    continue;
                }
            }
            if is_dropped {
                self.dropped.push((line, room));
                continue;
            }
            if leaves.first <= self.now {
                self.may_leave(leaves.last.max(self.now), room);
            } else {
                self.occupied += room;
                if leaves.first < Time::MAX {
                    let inside = (leaves.first, leaves.last, room);
                    self.inside.push(Reverse(inside));
                }
            }
            let (most, unit) = (self.capacity.most, self.capacity.unit());
            let (occupied, now) = (self.occupied, self.now);
            let is_unknown = self.unknown_from.is_some_and(|from| now >= from);
            let found = format_args!("{occupied} {unit} in the queue at {now}, including this one");
            let expected = format_args!("at most {most}");
            let mut queue = tally.at(Rule::Queue, line);
            queue.check(occupied <= most || is_unknown, found, expected);
        }
    }

    /// A packet may have left at `now`, and has at the `last` time.
    fn may_leave(&mut self, last: Time, room: u64) {
        self.leaving.push(Reverse((last, room)));
        self.may_hold += room;
    }

    /// Checks the drops at `now` once all its arrivals are known.
    fn check_drops(&mut self, tally: &mut RuleTally) {
        let (most, unit) = (self.capacity.most, self.capacity.unit());
        let (now, occupied) = (self.now, self.occupied + self.may_hold);
        let is_unknown = self.unknown_from.is_some_and(|from| now >= from);
        for (line, room) in self.dropped.drain(..) {
            let holds = !self.drop_tail || is_unknown || occupied.saturating_add(room) > most;
            let found = format_args!("a drop at {now} with {occupied} {unit} in the queue");
            let expected = format_args!("drops only if the queue holds {}", most - (room - 1));
            tally.at(Rule::Queue, line).check(holds, found, expected);
        }
    }
}
