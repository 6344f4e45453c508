//! Path between the senders and the gateway, and the node that acknowledges (docs/simulator.md, Sec. 3; Zhu 2006,
//! Sec. II).

use tmt_core::types::Span;

/// Window that a proxy advertises to the flows that share its buffer (`--split-window`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitWindow {
    /// All of the free buffer space, to each flow.
    Whole,
    /// The free buffer space divided by the number of flows.
    #[default]
    Share,
}

tmt_core::keywords!(SplitWindow { Whole => "whole", Share => "share" });

/// When a proxy announces free buffer space (`--split-announce`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitAnnounce {
    /// With the ACKs of packets; without one only to a flow that has used all of its advertised window.
    #[default]
    Acks,
    /// Also by a window update to each flow whose window grows, whenever a packet leaves the buffer.
    Every,
}

tmt_core::keywords!(SplitAnnounce { Acks => "acks", Every => "every" });

/// Delay of a packet from a sender to the gateway, and of an ACK back, for a terrestrial RTT.
pub(super) fn halves(terrestrial_rtt: Span) -> [Span; 2] {
    let forward = terrestrial_rtt.half();
    [forward, terrestrial_rtt.saturating_sub(forward)]
}

/// Delay of the terrestrial path between the senders and the gateway, and a proxy at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Path {
    /// Terrestrial RTT T1. Packets take ⌊T1/2⌋, ACKs the rest.
    pub terrestrial_rtt: Span,
    /// Proxy at the gateway, which acknowledges packets on arrival; `None` if the receiver acknowledges.
    pub split: Option<SplitWindow>,
    /// When that proxy announces free space.
    pub announce: SplitAnnounce,
    /// Feedback delay of a timeline link, by which a proxy learns later of a delivery.
    pub feedback_delay: Span,
}
