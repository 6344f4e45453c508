//! The smallest RTT, and `ProbeRTT`, which measures it (draft, Sec. 4.1.2 and 4.3.5).

use tmt_core::types::{Span, Time};

use super::super::bbr::MIN_PIPE;
use super::{Bbr1, Mode};
use crate::congestion::AckEvent;

impl Bbr1 {
    /// `bbr_update_min_rtt`
    pub(super) fn update_min_rtt(&mut self, ack: &AckEvent) {
        let age = ack.now.since(self.min_rtt_at).as_secs_f64();
        let expired = self.min_rtt.is_some() && age > self.min_rtt_age;
        let sample = ack.rate.and_then(|rate| rate.rtt).or(ack.rtt);
        if let Some(rtt) = sample
            && (expired || self.min_rtt.is_none_or(|min_rtt| self.renews(rtt, min_rtt)))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = ack.now;
        }
        if expired && !self.base.idle_restart && !self.in_probe_rtt() {
            self.mode = Mode::ProbeRtt;
            self.base.save_cwnd(self.base.cwnd, true);
            self.base.probe_rtt = None;
        }
        if self.in_probe_rtt() && self.base.handle_probe_rtt(ack, MIN_PIPE) {
            self.exit_probe_rtt(ack.now);
        }
        if ack.delivered > 0 {
            self.base.idle_restart = false;
        }
    }

    /// Whether a sample renews `min_rtt` before it expires.
    fn renews(&self, rtt: Span, min_rtt: Span) -> bool {
        rtt < min_rtt || (self.renews_by_equal && rtt == min_rtt)
    }

    pub(super) fn exit_probe_rtt(&mut self, now: Time) {
        self.min_rtt_at = now;
        if self.base.full.reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
