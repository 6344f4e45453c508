//! The gateway queue in the order in which packets reach it: rule `queue`.
//!
//! A packet leaves when its row says, which the rule `queue` holds against the rest of the row. What happens at one instant may have happened in any
//! order, so a packet let in is judged as if all who leave at that instant had left, and one dropped
//! as if none had and all who come were there already.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tmt_core::types::Time;

use super::head::Head;
use super::report::{Rule, RuleTally};
use super::row::{Fate, Row};

/// The queue, replayed.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Packets it holds at most, the one in service included.
    capacity: u64,
    /// Whether it drops only when it is full.
    drop_tail: bool,
    /// Rows whose turn has not come, by (enqueued, line): whether it drops them, or when they leave, if they do.
    pub(super) ahead: BTreeMap<(Time, u64), (bool, Option<Time>)>,
    now: Time,
    /// When those inside leave, after now.
    pub(super) inside: BinaryHeap<Reverse<Time>>,
    staying: u64,
    /// Those who leave now.
    leaving: u64,
    /// Lines of those who are dropped now.
    dropped: Vec<u64>,
}

impl Queue {
    pub(super) fn new(head: &Head) -> Self {
        Self {
            capacity: head.capacity_packets,
            drop_tail: head.drop_tail,
            ..Self::default()
        }
    }

    /// Takes the log's next row; `sent` is the latest of the log, before which nothing comes any more.
    pub(super) fn on_row(&mut self, row: &Row, sent: Time, tally: &mut RuleTally) {
        if let Some(at) = row.enqueued.filter(|_| row.fate != Fate::Duplicate) {
            let arrival = (row.fate == Fate::Queue, row.left);
            self.ahead.insert((at, row.line), arrival);
        }
        self.replay(Some(sent), tally);
    }

    /// Replays what is left when the log has ended.
    pub(super) fn finish(mut self, tally: &mut RuleTally) {
        self.replay(None, tally);
        self.judge_drops(tally);
    }

    /// Replays the arrivals before a time, or all.
    fn replay(&mut self, before: Option<Time>, tally: &mut RuleTally) {
        while let Some(first) = self.ahead.first_entry()
            && before.is_none_or(|time| first.key().0 < time)
        {
            let ((at, line), (is_dropped, leaves)) = first.remove_entry();
            if at > self.now {
                self.judge_drops(tally);
                self.now = at;
                self.leaving = 0;
                while let Some(&Reverse(leaves)) = self.inside.peek()
                    && leaves <= at
                {
                    self.inside.pop();
                    self.leaving += u64::from(leaves == at);
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
            let found = format_args!("{occupied} packets in the queue at {now}, this one included");
            let expected = format_args!("at most {capacity}");
            let mut queue = tally.at(Rule::Queue, line);
            queue.check(occupied <= capacity, found, expected);
        }
    }

    /// Judges the drops of an instant that is over.
    fn judge_drops(&mut self, tally: &mut RuleTally) {
        let (now, capacity) = (self.now, self.capacity);
        let occupied = self.occupied() + self.leaving;
        let holds = !self.drop_tail || occupied >= capacity;
        for line in self.dropped.drain(..) {
            let found = format_args!("a drop at {now} with {occupied} packets in the queue");
            let expected = format_args!("drops only when it holds {capacity}");
            tally.at(Rule::Queue, line).check(holds, found, expected);
        }
    }

    /// Packets that are still inside when those who leave now have left.
    fn occupied(&self) -> u64 {
        self.inside.len() as u64 + self.staying
    }
}
