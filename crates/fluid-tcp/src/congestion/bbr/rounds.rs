//! Packet-timed rounds and segments delivered, as all versions of BBR count them.

use crate::congestion::AckEvent;

/// Rounds of a connection. A round ends with a rate sample of a packet that was sent after it began.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Rounds {
    /// Number of rounds so far.
    pub(in super::super) count: u64,
    /// Whether the current ACK began a round.
    pub(in super::super) round_start: bool,
    /// Segments of the connection delivered so far.
    pub(in super::super) delivered: u64,
    /// Segments delivered when the current round began.
    end: u64,
}

impl Rounds {
    pub(in super::super) fn on_ack(&mut self, ack: &AckEvent) {
        // A control restored after a spurious timeout has missed ACKs; the samples have the total.
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

    /// Begins a round now, without counting it.
    pub(in super::super) fn restart(&mut self) {
        self.end = self.delivered;
    }
}
