//! The gateway queue in the order in which packets reach it: rule `queue`.
//!
//! A packet leaves when its row says, which the rule `queue` holds against the rest of the row. What happens at one instant may have happened in any
//! order, so a packet let in is judged as if all who leave at that instant had left, and one dropped
//! as if none had and all who come were there already.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use tmt_core::types::Time;

use super::finding::Finding;
use super::report::{Rule, RuleTally};
use super::row::{Fate, Row};

/// How a packet fares at the queue.
#[derive(Debug, Clone, Copy)]
enum Arrival {
    Dropped,
    /// Let in; it leaves at this time, or stays for the rest of the run.
    Accepted(Option<Time>),
}

/// The queue, replayed.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Packets it holds at most, the one in service included.
    capacity: u64,
    /// Whether it drops only when it is full.
    drop_tail: bool,
    /// Rows whose turn has not come, by (enqueued, line).
    ahead: BTreeMap<(Time, u64), Arrival>,
    now: Time,
    /// When those inside leave, after now.
    inside: BinaryHeap<Reverse<Time>>,
    staying: u64,
    /// Those who leave now.
    leaving: u64,
    /// Lines of those who are dropped now.
    dropped: Vec<u64>,
}

impl Queue {
    pub(super) fn new(capacity: u64, drop_tail: bool) -> Self {
        Self {
            capacity,
            drop_tail,
            ..Self::default()
        }
    }

    /// Takes the log's next row; `sent` is the latest of the log, before which nothing comes any more.
    pub(super) fn on_row(&mut self, row: &Row, sent: Time, tally: &mut RuleTally) {
        let arrival = match row.fate {
            Fate::DroppedAtQueue => Some(Arrival::Dropped),
            Fate::Duplicate => None,
            _ => Some(Arrival::Accepted(row.left)),
        };
        if let Some((at, arrival)) = row.enqueued.zip(arrival) {
            self.ahead.insert((at, row.line), arrival);
        }
        while let Some(first) = self.ahead.first_entry()
            && first.key().0 < sent
        {
            let ((at, line), arrival) = first.remove_entry();
            self.on_arrival(at, line, arrival, tally);
        }
    }

    /// Replays what is left when the log has ended.
    pub(super) fn finish(mut self, tally: &mut RuleTally) {
        while let Some(((at, line), arrival)) = self.ahead.pop_first() {
            self.on_arrival(at, line, arrival, tally);
        }
        self.judge_drops(tally);
    }

    /// Packets kept.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.ahead.len() + self.inside.len()
    }

    fn on_arrival(&mut self, at: Time, line: u64, arrival: Arrival, tally: &mut RuleTally) {
        if at > self.now {
            self.judge_drops(tally);
            self.now = at;
            self.leaving = 0;
            while self
                .inside
                .peek()
                .is_some_and(|&Reverse(leaves)| leaves <= at)
            {
                let leaves = self.inside.pop();
                self.leaving += u64::from(leaves == Some(Reverse(at)));
            }
        }
        match arrival {
            Arrival::Dropped => self.dropped.push(line),
            Arrival::Accepted(leaves) => {
                match leaves {
                    None => self.staying += 1,
                    Some(leaves) if leaves <= self.now => self.leaving += 1,
                    Some(leaves) => self.inside.push(Reverse(leaves)),
                }
                let occupied = self.occupied();
                tally.check(Rule::Queue, line, occupied <= self.capacity, || {
                    let found = format!(
                        "{occupied} packets in the queue at {}, this one included",
                        self.now
                    );
                    Finding::new(found, format!("at most {}", self.capacity))
                });
            }
        }
    }

    /// Judges the drops of an instant that is over.
    fn judge_drops(&mut self, tally: &mut RuleTally) {
        let occupied = self.occupied() + self.leaving;
        for line in self.dropped.drain(..) {
            let holds = !self.drop_tail || occupied >= self.capacity;
            tally.check(Rule::Queue, line, holds, || {
                let found = format!(
                    "a drop at {} with {occupied} packets in the queue",
                    self.now
                );
                Finding::new(found, format!("drops only when it holds {}", self.capacity))
            });
        }
    }

    /// Packets that are still inside when those who leave now have left.
    fn occupied(&self) -> u64 {
        self.inside.len() as u64 + self.staying
    }
}
