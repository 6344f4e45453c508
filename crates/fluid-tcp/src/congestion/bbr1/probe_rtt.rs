//! The smallest round-trip time, and the mode that looks for it (draft §4.1.2, §4.3.5).

use tmt_core::types::{Time, to_f64};

use super::super::bbr::{MIN_PIPE, PROBE_RTT_DURATION};
use super::{Bbr1, Mode};
use crate::congestion::AckEvent;

impl Bbr1 {
    /// `bbr_update_min_rtt`
    pub(super) fn update_min_rtt(&mut self, ack: &AckEvent) {
        let age = ack.now.since(self.min_rtt_at).as_secs_f64();
        let outdated = self.min_rtt.is_some() && age > self.min_rtt_age;
        let sample = ack.rate.and_then(|rate| rate.rtt).or(ack.rtt);
        if let Some(rtt) = sample
            && (outdated || self.min_rtt.is_none_or(|min_rtt| rtt <= min_rtt))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = ack.now;
        }
        if outdated && !self.restarts && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(self.cwnd);
            self.probe_rtt_until = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(ack);
        }
        if ack.delivered > 0 {
            self.restarts = false;
        }
    }

    fn probe_rtt(&mut self, ack: &AckEvent) {
        if self.probe_rtt_until.is_some() {
            self.probe_rtt_round_done |= self.rounds.starts;
            if self.probe_rtt_round_done {
                self.check_probe_rtt_done(ack.now);
            }
        } else if to_f64(ack.pipe) <= MIN_PIPE {
            self.probe_rtt_until = Some(ack.now.saturating_add(PROBE_RTT_DURATION));
            self.probe_rtt_round_done = false;
            self.rounds.restart();
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.min_rtt_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.probe_rtt_until = None;
        if self.filled {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
