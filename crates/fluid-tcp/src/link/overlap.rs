//! Deliveries of packets whose LLDUs overlap, moved apart (tcp.md §1.1; papers/001 Figs 3–4).
//!
//! Repeats of one packet are sent among the LLDUs of the next ones, so that packets may be complete in any order and
//! at any distance. The paper moves them so far apart that a simulator with one packet at a time on its link could
//! have sent them.

use tmt_core::types::{Span, Time};

/// When packets are delivered whose LLDUs overlap on a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// Each with the last of its LLDUs.
    #[default]
    Asap,
    /// Each at least the span of its own LLDUs and one slot after the delivery before it.
    Shift,
}

keywords!(Overlap { Asap => "asap", Shift => "shift" });

/// Deliveries, each at least its packet's service time after the one before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeliverySpacer {
    /// How long the link takes to send an LLDU.
    pub(super) slot: Span,
    /// The delivery before; none before the first.
    pub(super) latest: Option<Time>,
}

impl DeliverySpacer {
    /// When the next packet that is not lost is delivered: its LLDUs are sent from `start` to `end`, and all there at
    /// `arrival`. `None` past 2^63 − 1 ns.
    pub(super) fn space(&mut self, start: Time, end: Time, arrival: Time) -> Option<Time> {
        let service = end.since(start).checked_add(self.slot)?;
        let delivered = match self.latest {
            Some(latest) => arrival.max(latest.checked_add(service)?),
            None => arrival,
        };
        self.latest = Some(delivered);
        self.latest
    }
}
