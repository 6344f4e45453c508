//! Response to echoed congestion marks (ECN, RFC 3168, Sec. 6.1.2).

use tmt_core::types::Time;

use super::{Phase, Sender};
use crate::congestion::Cause;
use crate::endpoint::CutFrom;

impl Sender {
    /// Cuts the window on an ECE, at most once per round trip.
    pub(super) fn on_ece(&mut self, now: Time) {
        if self.snd_una < self.ecn_recovery_point {
            return;
        }
        self.note_window_reduction();
        if self.phase == Phase::Open {
            let basis = match self.endpoint.cut_from {
                CutFrom::Flight | CutFrom::Window => self.flight_size(),
                CutFrom::Cwnd => self.cc.cwnd(),
            };
            self.cut(now, basis, Cause::Ecn);
        }
    }

    /// Notes a cut of the window: no mark of this round trip cuts it again, and the next new packet carries CWR.
    pub(super) fn note_window_reduction(&mut self) {
        if self.endpoint.ecn {
            self.ecn_recovery_point = self.snd_nxt;
            self.cwr_pending = true;
        }
    }
}
