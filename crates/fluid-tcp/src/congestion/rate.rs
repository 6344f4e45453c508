//! What a controller is told of the rate of delivery, and of what was lost, if it asks.

use tmt_core::types::{Span, to_f64};

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation §3.3), made by an acknowledgement of the
/// segment that was sent last among those that it tells to have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateSample {
    /// Segments delivered within the interval.
    pub delivered: u64,
    /// The longer of the times it took to send and to acknowledge them; never zero.
    pub interval: Span,
    /// Segments of the connection delivered when that segment was sent, and now.
    pub prior_delivered: u64,
    /// Segments of the connection delivered so far.
    pub total_delivered: u64,
    /// The application, not the window, held the sender back when that segment was sent.
    pub app_limited: bool,
    /// Segments found lost since that segment was sent.
    pub lost: u64,
    /// Segments in the network when it was sent, itself included.
    pub in_flight_at_send: u64,
    /// Its round-trip time; none where it was sent more than once (Karn).
    pub rtt: Option<Span>,
}

impl RateSample {
    /// Segments a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        to_f64(self.delivered) / self.interval.as_secs_f64()
    }
}

/// A packet was found lost; numbers are as of then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LostPacket {
    /// Its number.
    pub packet: u64,
    /// Segments in the network when it was sent, itself included.
    pub in_flight_at_send: u64,
    /// Segments found lost since, itself included.
    pub lost: u64,
    /// The application, not the window, held the sender back when it was sent.
    pub app_limited: bool,
    /// Segments of the connection delivered so far.
    pub total_delivered: u64,
}
