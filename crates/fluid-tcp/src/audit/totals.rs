//! What a log adds up to; counted and not checked, to be compared with what the run reported.

use serde::Serialize;

use super::row::{Fate, Row};

/// Counts of packets and of transmitted copies of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Copies sent, retransmissions included; `packets_sent` of tcp.md §7.
    pub copies_sent: u64,
    /// Copies that were not the first of their packet; `packets_retransmitted` of tcp.md §7.
    pub copies_retransmitted: u64,
    /// Copies that reached the receiver.
    pub copies_delivered: u64,
    /// Copies that reached the receiver beside another copy of the same packet.
    pub duplicates_received: u64,
    /// Copies that a proxy had already.
    pub duplicates_at_proxy: u64,
    /// Copies lost on the link.
    pub lost_on_link: u64,
    /// Copies dropped at the full queue.
    pub dropped_at_queue: u64,
    /// Copies whose fate the end of the run left open.
    pub open: u64,
    /// Packets, from packet 0 of their flow without a gap, that the receiver had by the end of the run.
    pub packets_delivered_in_order: u64,
}

/// What the log says of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FlowTotals {
    /// The flow, from 0.
    pub flow: u64,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
}

/// What the log says of all flows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Sums over the flows.
    #[serde(flatten)]
    pub counts: Counts,
    /// Each flow that sent anything, by its number.
    pub flows: Vec<FlowTotals>,
}

impl Counts {
    /// Counts one copy, all but whether it came twice.
    pub(super) fn on_row(&mut self, row: &Row) {
        self.copies_sent += 1;
        self.copies_retransmitted += u64::from(row.copy > 1);
        *match row.fate {
            Fate::Delivered => &mut self.copies_delivered,
            Fate::Queue => &mut self.dropped_at_queue,
            Fate::Duplicate => &mut self.duplicates_at_proxy,
            Fate::Link => &mut self.lost_on_link,
            Fate::Open => &mut self.open,
        } += 1;
    }
}

impl Totals {
    /// Of all flows; `counts` is what [`Counts::on_row`] counted of all of them.
    pub(super) fn of(flows: Vec<FlowTotals>, mut counts: Counts) -> Self {
        for flow in &flows {
            counts.duplicates_received += flow.counts.duplicates_received;
            counts.packets_delivered_in_order += flow.counts.packets_delivered_in_order;
        }
        Self { counts, flows }
    }
}
