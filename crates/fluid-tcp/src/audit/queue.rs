//! The gateway queue, replayed in the order of arrival: rule `queue`.
//!
//! A packet leaves at the time on its row. Events at the same time may have happened in any order. An enqueued packet
//! is therefore checked as if all packets that leave at that time had left, a dropped one as if none had left and all
//! arrivals were enqueued.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tmt_core::types::Time;

use super::head::Head;
use super::listed::Listed;
use super::report::{Rule, RuleTally};
use super::row::{Fate, Row};

/// State of the replayed queue.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Capacity in packets, the one in service included.
    capacity: u64,
    /// Whether the queue drops only when it is full.
    drop_tail: bool,
    /// The packets that are dropped on arrival, by their number among all that arrive.
    listed: Option<Listed>,
    /// Rows not yet replayed, by (enqueued, line): whether they are dropped, and when they leave.
    pub(super) ahead: BTreeMap<(Time, u64), (bool, Option<Time>)>,
    now: Time,
    /// Times after `now` at which the packets in the queue leave.
    pub(super) inside: BinaryHeap<Reverse<Time>>,
    /// Number of packets that never leave.
    staying: u64,
    /// Number of packets that leave at `now`.
    leaving: u64,
    /// Lines of the packets that are dropped at `now`.
    dropped: Vec<u64>,
}

impl Queue {
    pub(super) fn new(head: &Head, listed: Option<Listed>) -> Self {
        Self {
            listed,
            capacity: head.capacity_packets,
            drop_tail: head.drop_tail,
            ..Self::default()
        }
    }

    /// Processes the log's next row; `sent` is the latest of the log, so that no earlier arrival can follow.
    pub(super) fn on_row(&mut self, row: &Row, sent: Time, tally: &mut RuleTally) {
        if let Some(at) = row.enqueued.filter(|_| row.fate != Fate::Duplicate) {
            let arrival = (row.fate == Fate::Queue, row.left);
            self.ahead.insert((at, row.line), arrival);
        }
        self.replay(Some(sent), tally);
    }

    /// Replays all remaining arrivals at the end of the log.
    pub(super) fn finish(mut self, tally: &mut RuleTally) {
        self.replay(None, tally);
        self.check_drops(tally);
    }

    /// Replays the arrivals before a time, or all if it is `None`.
    fn replay(&mut self, before: Option<Time>, tally: &mut RuleTally) {
        while let Some(first) = self.ahead.first_entry()
            && before.is_none_or(|time| first.key().0 < time)
        {
            let ((at, line), (is_dropped, leaves)) = first.remove_entry();
            if at > self.now {
                self.check_drops(tally);
                self.now = at;
                self.leaving = 0;
                while let Some(&Reverse(leaves)) = self.inside.peek()
                    && leaves <= at
                {
                    self.inside.pop();
                    self.leaving += u64::from(leaves == at);
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
            match leaves {
                _ if is_dropped => {
                    self.dropped.push(line);
                    continue;
                }
                None => self.staying += 1,
                Some(leaves) if leaves <= self.now => self.leaving += 1,
                Some(leaves) => self.inside.push(Reverse(leaves)),
            }
            let (capacity, occupied) = (self.capacity, self.occupied());
            let now = self.now;
            let found =
                format_args!("{occupied} packets in the queue at {now}, including this one");
            let expected = format_args!("at most {capacity}");
            let mut queue = tally.at(Rule::Queue, line);
            queue.check(occupied <= capacity, found, expected);
        }
    }

    /// Checks the drops at `now` once all its arrivals are known.
    fn check_drops(&mut self, tally: &mut RuleTally) {
        let (now, capacity) = (self.now, self.capacity);
        let occupied = self.occupied() + self.leaving;
        let holds = !self.drop_tail || occupied >= capacity;
        for line in self.dropped.drain(..) {
            let found = format_args!("a drop at {now} with {occupied} packets in the queue");
            let expected = format_args!("drops only if the queue holds {capacity}");
            tally.at(Rule::Queue, line).check(holds, found, expected);
        }
    }

    /// Number of packets in the queue after the departures at `now`.
    fn occupied(&self) -> u64 {
        self.inside.len() as u64 + self.staying
    }
}
