//! Rule `fifo`: packets are served in the order in which the queue discipline of the head keeps them.
//!
//! | discipline | first in, first out among | and |
//! |---|---|---|
//! | `fq-codel` | the packets of a flow | |
//! | `priority` | the packets of a class | none is taken while one of a higher class waits; not checked on a coupled link |
//! | any other | all packets | |
//!
//! A discipline takes a packet when the link is free, which is at the end of the service before or later at its arrival. On a
//! coupled link that time is not in the log.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tmt_core::types::Time;

use super::Arrived;
use crate::audit::head::Order;
use crate::audit::report::{Rule, RuleTally};
use crate::audit::row::Row;

/// Packets that are served in the order of their arrival.
#[derive(Debug, Default)]
struct Lane {
    /// Latest arrival of a served packet.
    enqueued: Time,
    /// Per flow, the latest line among the served packets with that arrival.
    tied: BTreeMap<u64, u64>,
    /// First arrival among the packets that still waited for service at the end of the run.
    waiting: Option<Arrived>,
    /// Latest time at which one was taken from the queue, and its line.
    taken: (Time, u64),
}

/// The orders of a queue, replayed in the order of service.
#[derive(Debug, Default)]
pub(in crate::audit) struct Fifo {
    order: Order,
    /// Classes of the flows.
    classes: Vec<u64>,
    /// Whether the log shows when packets are taken.
    shows_turns: bool,
    lanes: BTreeMap<u64, Lane>,
}

impl Fifo {
    pub(in crate::audit) fn new(order: Order, classes: Vec<u64>, shows_turns: bool) -> Self {
        Self {
            order,
            classes,
            shows_turns,
            lanes: BTreeMap::new(),
        }
    }

    /// Number of the lane of a packet; a higher one is served first under priorities.
    pub(in crate::audit) fn lane(&self, row: &Row) -> u64 {
        let class = usize::try_from(row.flow).map(|flow| self.classes.get(flow));
        match self.order {
            Order::Link => 0,
            Order::Flow => row.flow,
            Order::Class => class.ok().flatten().copied().unwrap_or(0),
        }
    }

    /// Turn of a packet among those whose services look alike in the log, because they fit into one LLDU: the least first.
    pub(super) fn turn(&self, row: &Row) -> Reverse<u64> {
        let is_ranked = self.order == Order::Class;
        Reverse(if is_ranked { self.lane(row) } else { 0 })
    }

    /// A packet still waited for service at the end of the run.
    pub(in crate::audit) fn waits(&mut self, row: &Row, arrived: Arrived) {
        let lane = self.lanes.entry(self.lane(row)).or_default();
        lane.waiting = Some(lane.waiting.map_or(arrived, |first| first.min(arrived)));
    }

    /// Entries that are kept for packets that arrived together.
    #[cfg(test)]
    pub(super) fn tied(&self) -> usize {
        self.lanes.values().map(|lane| lane.tied.len()).sum()
    }

    /// Checks the next service, of a packet that was enqueued then; the queue was asked for a packet at `taken`.
    pub(in crate::audit) fn check(
        &mut self,
        row: &Row,
        (enqueued, start, taken): (Time, Time, Time),
        tally: &mut RuleTally,
    ) {
        let (line, flow) = (row.line, row.kept_in_order_with());
        let number = self.lane(row);
        let mut fifo = tally.at(Rule::Fifo, line);
        let found = format_args!("served {start}, enqueued {enqueued}");
        let scope = self.order.scope();
        let lane = self.lanes.entry(number).or_default();
        // Packets of different flows may reach the queue at the same time in any order; those of one flow are in order.
        let tied = lane.tied.get(&flow).filter(|before| **before > line);
        let overtaken = match tied {
            _ if enqueued > lane.enqueued => None,
            None if enqueued == lane.enqueued => None,
            None => Some(format!("enqueued {}", lane.enqueued)),
            Some(before) => Some(format!("on line {before}, which its flow sent later")),
        };
        let expected = overtaken.map(|before| format!("service before the packet{scope} {before}"));
        fifo.record(found, expected);
        if enqueued > lane.enqueued {
            lane.enqueued = enqueued;
            lane.tied.clear();
        }
        if enqueued == lane.enqueued {
            let latest = lane.tied.entry(flow).or_insert(line);
            *latest = line.max(*latest);
        }
        let passed_over = lane.waiting.filter(|&(at, first, of)| {
            at < enqueued || at == enqueued && of == flow && first < line
        });
        let expected = passed_over.map(|(at, line, _)| {
            format!("no service while line {line}{scope}, enqueued {at}, waits")
        });
        fifo.record(found, expected);
        lane.taken = lane.taken.max((taken, line));
        if self.order == Order::Class && self.shows_turns {
            let below = self.lanes.range(..number).map(|(_, lane)| lane.taken);
            let first = below.max().filter(|(at, _)| *at > enqueued);
            let expected = first.map(|(at, line)| {
                format!("service before line {line} of a lower class, which was taken {at}")
            });
            fifo.record(found, expected);
            let above = self.lanes.range(number + 1..);
            let waiting = above.filter_map(|(_, lane)| lane.waiting).min();
            let passed_over = waiting.filter(|(at, ..)| *at < taken);
            let expected = passed_over.map(|(at, line, _)| {
                format!("no service while line {line} of a higher class, enqueued {at}, waits")
            });
            fifo.record(found, expected);
        }
    }
}
