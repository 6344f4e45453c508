//! The cycle of gains that probes for bandwidth (draft, Sec. 4.3.4).

use tmt_core::math::num::floor_u64;
use tmt_core::types::{Time, to_f64};

use super::super::bbr::draw::draw;
use super::{Bbr1, Mode};
use crate::congestion::AckEvent;

/// `bbr_pacing_gain`: pacing gains of a cycle.
pub(super) const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// `bbr_cycle_rand`: number of phases in which a cycle may begin, all but the second.
const FIRST_PHASES: f64 = 7.0;

impl Bbr1 {
    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        self.mode = Mode::ProbeBw;
        self.cycles += 1;
        let skipped = floor_u64(FIRST_PHASES * draw(self.cycles, now));
        // Any phase of the cycle but the one after the probe.
        self.phase = match usize::try_from(skipped).unwrap_or(0) {
            0 => 0,
            skipped => CYCLE.len() - skipped,
        };
        self.phase_since = now;
    }

    /// `bbr_is_next_cycle_phase`
    pub(super) fn update_phase(&mut self, ack: &AckEvent) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let lasted = ack.now.since(self.phase_since);
        let full = self.min_rtt.is_some_and(|rtt| lasted > rtt);
        let gain = self.pacing_gain();
        let before = to_f64(ack.pipe + ack.delivered + ack.lost);
        let over = if gain > 1.0 {
            // The next segment to be sent counts, too.
            full && (ack.lost > 0 || before + 1.0 >= self.inflight(gain))
        } else {
            full || (gain < 1.0 && before <= self.inflight(1.0))
        };
        if over {
            self.phase = (self.phase + 1) % CYCLE.len();
            self.phase_since = ack.now;
        }
    }
}
