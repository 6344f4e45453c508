//! Delivery-rate samples and lost packets, reported to the congestion controls that need them.

use tmt_core::types::{Span, to_f64};

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation, Sec. 3.3).
///
/// An ACK makes one sample, of the segment that was sent last among those that it newly reports as delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateSample {
    /// Segments delivered within `interval`.
    pub delivered: u64,
    /// Longer of the time to send these segments and the time to acknowledge them; never zero.
    pub interval: Span,
    /// Segments of the connection that had been delivered when the segment was sent.
    pub prior_delivered: u64,
    /// Segments of the connection delivered so far.
    pub total_delivered: u64,
    /// Whether the application, not the window, limited the sender when the segment was sent.
    pub app_limited: bool,
    /// Segments marked lost since the segment was sent.
    pub lost: u64,
    /// Segments in the network when the segment was sent, itself included.
    pub in_flight_at_send: u64,
    /// RTT of the segment; `None` if it was retransmitted (Karn).
    pub rtt: Option<Span>,
}

impl RateSample {
    /// Returns the delivery rate in segments per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        to_f64(self.delivered) / self.interval.as_secs_f64()
    }
}

/// A packet newly marked lost; counts are as of that moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LostPacket {
    /// Packet number, from 0.
    pub packet: u64,
    /// Segments in the network when the packet was sent, itself included.
    pub in_flight_at_send: u64,
    /// Segments marked lost since the packet was sent, itself included.
    pub lost: u64,
    /// Whether the application, not the window, limited the sender when the packet was sent.
    pub app_limited: bool,
    /// Segments of the connection delivered so far.
    pub total_delivered: u64,
}
