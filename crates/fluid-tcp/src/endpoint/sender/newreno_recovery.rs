//! Recovery without SACK: duplicate and partial acknowledgements (RFC 5681 §3.2, RFC 6582).

use tmt_core::types::to_f64;

use super::{Phase, Sender};
use tmt_core::math::num::floor_u64;

/// Duplicate acknowledgements on which limited transmit sends (RFC 3042).
const LIMITED: u64 = 2;

impl Sender {
    /// Something new was acknowledged in recovery, but not everything: the next gap is known.
    pub(super) fn on_partial(&mut self, acked: u64) {
        self.retransmit = Some(self.una);
        // Deflate by what was acknowledged and add back one (RFC 6582 §3.2 step 3).
        let window = self.cc.cwnd() + self.inflation - to_f64(acked) + 1.0;
        self.inflation = window.max(1.0) - self.cc.cwnd();
    }

    /// The packet to send next: where go-back-N stands, else new data.
    pub(super) fn choose_partial(&mut self) -> Option<u64> {
        let inflated = floor_u64(self.cc.cwnd() + self.inflation);
        let in_flight = self.nxt - self.una;
        let limited = if self.phase == Phase::Open && self.endpoint.limited_transmit {
            u64::from(self.dupacks).min(LIMITED)
        } else {
            0
        };
        let again = self.nxt < self.high;
        if !again && !self.has_new_data() {
            self.held_by_cwnd = false;
            return None;
        }
        if in_flight >= inflated + limited {
            self.held_by_cwnd = true;
            return None;
        }
        if in_flight >= inflated {
            self.limited += 1;
        }
        Some(self.nxt)
    }
}
