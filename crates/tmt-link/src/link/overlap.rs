//! Delivery of packets whose LLDUs overlap on a timeline: `--overlap` (docs/simulator.md, Sec. 2.1; CLIFT 2014,
//! Figs. 3, 4).
//!
//! Repeats of one packet are sent among the LLDUs of the next packets. Packets may thus be complete in any order and
//! at any distance. CLIFT delays deliveries until a link that serves one packet at a time could have made them.

use tmt_core::types::{Span, Time};

/// Delivery of packets whose LLDUs overlap on a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// A packet is delivered with its last LLDU.
    #[default]
    Asap,
    /// A packet is delivered no earlier than the previous one plus its own service time: the span of its LLDUs and
    /// one slot.
    Shift,
}

tmt_core::keywords!(Overlap { Asap => "asap", Shift => "shift" });

/// Spaces deliveries: each is at least its packet's service time after the previous one.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeliverySpacer {
    /// Time that the link takes to send one LLDU.
    pub(super) slot: Span,
    /// Previous delivery; `None` before the first.
    pub(super) latest: Option<Time>,
}

impl DeliverySpacer {
    /// Delivery of the next packet that is not lost. Its LLDUs are sent from `start` to `end` and are all decoded at
    /// `arrival`. `None` if the delivery is past 2^63 − 1 ns.
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
