//! Recovery without SACK: duplicate and partial ACKs (RFC 5681, Sec. 3.2; RFC 6582), go-back-N after a timeout.

use tmt_core::types::to_f64;

use super::{Phase, Sender};
use tmt_core::math::num::floor_u64;

/// Number of duplicate ACKs on which limited transmit sends (RFC 3042).
const LIMITED: u64 = 2;

impl Sender {
    /// Processes a partial ACK in recovery, which reveals the next gap.
    pub(super) fn on_partial(&mut self, acked: u64) {
        self.retransmit = Some(self.snd_una);
        // Deflate by the packets acknowledged and add back one (RFC 6582, Sec. 3.2, step 3).
        let window = self.cc.cwnd() + self.inflation - to_f64(acked) + 1.0;
        self.inflation = window.max(1.0) - self.cc.cwnd();
    }

    /// Returns the packet to send next: go-back-N after a timeout, otherwise new data.
    pub(super) fn next_without_sack(&mut self) -> Option<u64> {
        let inflated = floor_u64(self.cc.cwnd() + self.inflation);
        let in_flight = self.send_cursor - self.snd_una;
        let limited = if self.phase == Phase::Open && self.endpoint.limited_transmit {
            u64::from(self.dupacks).min(LIMITED)
        } else {
            0
        };
        let goes_back = self.send_cursor < self.snd_nxt;
        if !goes_back && !self.has_new_data() {
            self.on_window_open();
            return None;
        }
        if in_flight >= inflated + limited {
            self.on_window_filled();
            return None;
        }
        if in_flight >= inflated {
            self.limited_transmits += 1;
        }
        Some(self.send_cursor)
    }
}
