//! The cycle that probes for bandwidth: Down, Cruise, Refill, Up (Sec. 5.3.3).

use tmt_core::math::num::floor_u64;
use tmt_core::types::{Time, to_f64};

use super::draw::draw;
use super::{Bbr, MIN_PIPE, State};
use crate::congestion::{AckEvent, RateSample};

/// Shortest time between probes, seconds; up to one more is drawn (Sec. 5.3.3.5.3).
const MIN_WAIT: f64 = 2.0;

/// Most rounds between probes, for coexistence with Reno.
const MAX_ROUNDS: f64 = 63.0;

/// Most doublings of the growth of the long-term volume.
const MAX_UP_ROUNDS: u64 = 30;

/// `BBR.ack_phase`: the phase in which the segments acknowledged now were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum AckPhase {
    /// No probe.
    #[default]
    Other,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// State of bandwidth probing.
#[derive(Debug, Clone, Default)]
pub(super) struct Probe {
    /// Time at which the cycle began (`BBR.cycle_stamp`); `None` from a loss that began it until the next ACK.
    pub(super) since: Option<Time>,
    /// Rounds since then, from a random start, and the random time to wait, seconds.
    pub(super) rounds: u64,
    wait: f64,
    /// Number of pairs of random draws so far.
    draws: u64,
    pub(super) ack_phase: AckPhase,
    /// `BBR.bw_probe_samples`: losses now are those of a probe.
    pub(super) bw_probe_samples: bool,
    /// `BBR.bw_probe_up_rounds`: growth of the long-term volume in this round, as a power of two in segments.
    up_rounds: u64,
    /// `BBR.bw_probe_up_acks` and `BBR.probe_up_cnt`: segments acknowledged towards the next segment of growth, and how
    /// many that takes.
    up_acks: f64,
    up_cnt: f64,
}

impl Bbr {
    /// `BBRStartProbeBW_DOWN`
    pub(super) fn start_probe_bw_down(&mut self) {
        // `BBRResetCongestionSignals`
        self.signals.lost_in_round = false;
        self.signals.bw_latest = 0.0;
        self.signals.inflight_latest = 0.0;
        self.probe.draws += 1;
        let (rounds, wait) = (2 * self.probe.draws, 2 * self.probe.draws + 1);
        self.probe.rounds = floor_u64(2.0 * draw(rounds, self.now));
        self.probe.wait = MIN_WAIT + draw(wait, self.now);
        self.probe.since = None;
        self.probe.ack_phase = AckPhase::ProbeStopping;
        self.base.rounds.restart();
        self.state = State::Down;
    }

    /// `BBRStartProbeBW_REFILL`
    fn start_probe_bw_refill(&mut self) {
        self.bounds.reset_shortterm();
        self.probe.up_rounds = 0;
        self.probe.up_acks = 0.0;
        self.probe.ack_phase = AckPhase::Refilling;
        self.base.rounds.restart();
        self.state = State::Refill;
    }

    /// `BBRStartProbeBW_UP`
    fn start_probe_bw_up(&mut self, rate: &RateSample) {
        self.probe.bw_probe_samples = true;
        self.probe.ack_phase = AckPhase::ProbeStarting;
        self.base.rounds.restart();
        self.base.full.reset(rate.rate());
        self.state = State::Up;
        self.raise_inflight_longterm_slope();
    }

    /// `BBRUpdateProbeBWCyclePhase`
    pub(super) fn update_probe_bw_cycle_phase(&mut self, ack: &AckEvent) {
        if !self.base.full.reached {
            return;
        }
        self.adapt_long_term_model(ack);
        let since = *self.probe.since.get_or_insert(ack.now);
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now, since) => {
                self.start_probe_bw_refill();
            }
            State::Down if self.is_time_to_cruise(ack) => self.state = State::Cruise,
            State::Refill => {
                if let Some(rate) = ack.rate.as_ref().filter(|_| self.base.rounds.round_start) {
                    self.start_probe_bw_up(rate);
                }
            }
            State::Up if self.is_time_to_go_down(ack) => {
                self.start_probe_bw_down();
                self.probe.since = Some(ack.now);
            }
            _ => {}
        }
    }

    /// `BBRIsTimeToProbeBW`
    fn is_time_to_probe(&self, now: Time, since: Time) -> bool {
        let rounds = self.target_inflight().min(MAX_ROUNDS);
        now.since(since).as_secs_f64() > self.probe.wait || to_f64(self.probe.rounds) >= rounds
    }

    /// `BBRIsTimeToCruise`
    fn is_time_to_cruise(&self, ack: &AckEvent) -> bool {
        let pipe = to_f64(ack.pipe);
        let bdp = self.bdp(self.base.max_bw.get(), 1.0);
        pipe <= self.inflight_with_headroom() && pipe <= self.with_quanta(bdp)
    }

    /// `BBRIsTimeToGoDown`
    fn is_time_to_go_down(&mut self, ack: &AckEvent) -> bool {
        if self.is_cwnd_limited() && self.base.cwnd >= self.bounds.inflight_longterm {
            // The volume, not the path, limits the rate.
            if let Some(rate) = ack.rate {
                self.base.full.reset(rate.rate());
            }
            return false;
        }
        self.base.full.now
    }

    /// `BBRInflightWithHeadroom`: the long-term volume minus a share left to other flows.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let longterm = self.bounds.inflight_longterm;
        if longterm.is_infinite() {
            return longterm;
        }
        let headroom = (self.headroom * longterm).max(1.0);
        (longterm - headroom).max(MIN_PIPE)
    }

    /// `BBRRaiseInflightLongtermSlope`
    pub(super) fn raise_inflight_longterm_slope(&mut self) {
        let growth = to_f64(1 << self.probe.up_rounds);
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.probe.up_cnt = (self.base.cwnd / growth).max(1.0);
    }

    /// `BBRAdaptLongTermModel`
    fn adapt_long_term_model(&mut self, ack: &AckEvent) {
        let Some(rate) = &ack.rate else {
            return;
        };
        if self.base.rounds.round_start {
            if self.probe.ack_phase == AckPhase::ProbeStarting {
                self.probe.ack_phase = AckPhase::ProbeFeedback;
            }
            if self.probe.ack_phase == AckPhase::ProbeStopping {
                self.probe.bw_probe_samples = false;
                self.probe.ack_phase = AckPhase::Other;
                self.cycles += u64::from(self.in_probe_bw() && !rate.app_limited);
            }
        }
        if self.is_inflight_too_high(rate.lost, rate.in_flight_at_send)
            || self.bounds.inflight_longterm.is_infinite()
        {
            return;
        }
        let safe = to_f64(rate.in_flight_at_send);
        self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(safe);
        if self.state == State::Up {
            self.probe_inflight_longterm_upward(ack.delivered);
        }
    }

    /// `BBRProbeInflightLongtermUpward`
    pub(super) fn probe_inflight_longterm_upward(&mut self, delivered: u64) {
        if !self.is_cwnd_limited() || self.base.cwnd < self.bounds.inflight_longterm {
            return;
        }
        self.probe.up_acks += to_f64(delivered);
        let growth = (self.probe.up_acks / self.probe.up_cnt).floor();
        self.probe.up_acks -= growth * self.probe.up_cnt;
        self.bounds.inflight_longterm += growth;
        if self.base.rounds.round_start {
            self.raise_inflight_longterm_slope();
        }
    }
}
