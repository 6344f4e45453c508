//! Totals of a log. They are counted, not checked, and can be compared with the report of the run.

use serde::Serialize;

/// Counts of packets and of their transmissions, which the packet log calls copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// Transmissions, retransmissions included; `packets_sent` in docs/metrics.md, Sec. 2.
    pub copies_sent: u64,
    /// Transmissions after the first of their packet; `packets_retransmitted` in docs/metrics.md, Sec. 2.
    pub copies_retransmitted: u64,
    /// Transmissions that reached the receiver, duplicates included.
    pub copies_delivered: u64,
    /// Transmissions that reached the receiver in addition to another one of the same packet.
    pub duplicates_received: u64,
    /// Transmissions that a proxy discarded because it had the packet already.
    pub duplicates_at_proxy: u64,
    /// Transmissions that were lost on the link.
    pub lost_on_link: u64,
    /// Transmissions that were dropped or lost on the paths beside the link; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub gone_beside: u64,
    /// Transmissions that the queue dropped.
    pub dropped_at_queue: u64,
    /// Transmissions whose fate was open at the end of the run.
    pub open: u64,
    /// Packets that the receiver had in order, from packet 0 of their flow without a gap, at the end of the run.
    pub packets_delivered_in_order: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Counts of one flow of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FlowTotals {
    /// Number of the flow, from 0.
    pub flow: u64,
    /// Counts of its packets and transmissions.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Counts of all flows of the log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Counts, summed over the flows of the log.
    #[serde(flatten)]
    pub counts: Counts,
    /// Counts of each flow that sent at least one packet, sorted by its number.
    pub flows: Vec<FlowTotals>,
}

impl Totals {
    /// Totals of `flows`; `counts` is that of all rows.
    pub(super) fn of(flows: Vec<FlowTotals>, mut counts: Counts) -> Self {
        for flow in &flows {
            counts.duplicates_received += flow.counts.duplicates_received;
            counts.packets_delivered_in_order += flow.counts.packets_delivered_in_order;
        }
        Self { counts, flows }
    }
}
