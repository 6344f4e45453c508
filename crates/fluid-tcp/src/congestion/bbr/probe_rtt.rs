//! `ProbeRTT`, and the smallest RTT that it measures (Sec. 5.3.4).

use tmt_core::types::{Span, Time};

use super::probe_bw::AckPhase;
use super::{Bbr, MIN_PIPE, PROBE_RTT_CWND_GAIN, State};
use crate::congestion::AckEvent;

/// Lifetime of `min_rtt`, seconds (`MinRTTFilterLen`).
const MIN_RTT_AGE: f64 = 10.0;

/// RTT of the path without queues, and the schedule of `ProbeRTT`.
#[derive(Debug, Clone, Default)]
pub(super) struct RttFilter {
    min_rtt: Option<(Span, Time)>,
    /// `BBR.probe_rtt_min_delay`, `BBR.probe_rtt_min_stamp`.
    probe_rtt_min: Option<(Span, Time)>,
    /// `BBR.probe_rtt_expired`: `ProbeRTT` is due.
    probe_rtt_expired: bool,
}

impl RttFilter {
    pub(super) fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.map(|(rtt, _)| rtt)
    }

    /// `BBRUpdateMinRTT`, with `interval` seconds between two `ProbeRTT` states.
    pub(super) fn on_ack(&mut self, ack: &AckEvent, interval: f64) {
        let is_older = |at: Time, seconds: f64| ack.now.since(at).as_secs_f64() > seconds;
        self.probe_rtt_expired = self
            .probe_rtt_min
            .is_some_and(|(_, at)| is_older(at, interval));
        let sample = ack.rate.and_then(|rate| rate.rtt).or(ack.rtt);
        if let Some(rtt) = sample
            && (self.probe_rtt_expired || self.probe_rtt_min.is_none_or(|(recent, _)| rtt < recent))
        {
            self.probe_rtt_min = Some((rtt, ack.now));
        }
        if let Some((recent, _)) = self.probe_rtt_min
            && self
                .min_rtt
                .is_none_or(|(rtt, at)| recent < rtt || is_older(at, MIN_RTT_AGE))
        {
            self.min_rtt = self.probe_rtt_min;
        }
    }
}

impl Bbr {
    /// `BBRProbeRTTCwnd`
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bw(), PROBE_RTT_CWND_GAIN).max(MIN_PIPE)
    }

    /// `BBRCheckProbeRTT`
    pub(super) fn check_probe_rtt(&mut self, ack: &AckEvent) {
        if !self.in_probe_rtt() && self.min_rtt.probe_rtt_expired && !self.base.idle_restart {
            self.state = State::ProbeRtt;
            self.base.save_cwnd(self.base.cwnd, true);
            self.base.probe_rtt = None;
            self.probe.ack_phase = AckPhase::ProbeStopping;
            self.base.rounds.restart();
        }
        let volume = self.probe_rtt_cwnd();
        if self.in_probe_rtt() && self.base.handle_probe_rtt(ack, volume) {
            self.exit_probe_rtt(ack.now);
        }
        if ack.delivered > 0 {
            self.base.idle_restart = false;
        }
    }

    /// `BBRExitProbeRTT`
    pub(super) fn exit_probe_rtt(&mut self, now: Time) {
        if let Some((_, at)) = &mut self.min_rtt.probe_rtt_min {
            *at = now;
        }
        self.bounds.reset_shortterm();
        if self.base.full.reached {
            self.start_probe_bw_down();
            self.probe.since = Some(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
