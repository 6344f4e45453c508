//! Packet-timed round trips, and what has been delivered, as every version of BBR counts them.

use crate::congestion::AckEvent;

/// Round trips of a connection: each ends with a rate sample of a packet that was sent after it began.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Rounds {
    /// Round trips so far.
    pub(in super::super) count: u64,
    /// The acknowledgement just taken in has begun one.
    pub(in super::super) round_start: bool,
    /// Segments of the connection delivered so far.
    pub(in super::super) delivered: u64,
    /// Segments delivered when the current one began.
    end: u64,
}

impl Rounds {
    pub(in super::super) fn on_ack(&mut self, ack: &AckEvent) {
        // A controller that was kept over a timeout has missed some; the samples tell all.
        self.delivered = ack.rate.map_or_else(
            || self.delivered.saturating_add(ack.delivered),
            |rate| rate.total_delivered,
        );
        self.round_start = ack
            .rate
            .is_some_and(|rate| rate.prior_delivered >= self.end);
        if self.round_start {
            self.count += 1;
            self.restart();
        }
    }

    /// The current round trip begins here and now, without being counted.
    pub(in super::super) fn restart(&mut self) {
        self.end = self.delivered;
    }
}
