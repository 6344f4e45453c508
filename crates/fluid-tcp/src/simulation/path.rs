//! The path of tcp.md §2: what lies between the senders and the gateway, and who answers there (papers/004 §II).

use tmt_core::types::Span;

/// How the room of a proxy's buffer is told to the flows that share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SplitWindow {
    /// Each flow is told all of it.
    Whole,
    /// Each flow is told its part of it.
    #[default]
    Share,
}

keywords!(SplitWindow { Whole => "whole", Share => "share" });

/// From the senders to the gateway and back: a delay without losses or a queue of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Path {
    /// Its round-trip time, T1. Packets take ⌊T1/2⌋, acknowledgements the rest.
    pub terrestrial_rtt: Span,
    /// A proxy at the gateway acknowledges what reaches it; none where the receiver behind the link does.
    pub split: Option<SplitWindow>,
    /// Extra delay of the link's feedback where the link is a timeline: by it a proxy learns later what was delivered.
    pub feedback_delay: Span,
}

impl Path {
    /// The way of a packet to the gateway.
    pub(super) fn forward_delay(&self) -> Span {
        self.terrestrial_rtt.half()
    }

    /// The way of an acknowledgement from it.
    pub(super) fn return_delay(&self) -> Span {
        self.terrestrial_rtt.saturating_sub(self.forward_delay())
    }
}
