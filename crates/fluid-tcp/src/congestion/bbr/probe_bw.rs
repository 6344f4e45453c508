//! The cycle that probes for bandwidth: Down, Cruise, Refill, Up (§5.3.3).

use tmt_core::math::num::floor_u64;
use tmt_core::types::{Time, to_f64};

use super::draw::draw;
use super::{Bbr, MIN_PIPE, State};
use crate::congestion::{AckEvent, RateSample};

/// Seconds between probes: at least so many, and up to one more (§5.3.3.5.3).
const LEAST_WAIT: f64 = 2.0;

/// Round trips between probes at most, so that Reno can live beside.
const MOST_ROUNDS: f64 = 63.0;

/// How often the growth of the long-term volume doubles.
const MOST_DOUBLINGS: u64 = 30;

/// What the acknowledgements that come now were sent by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Acks {
    /// Nothing of a probe.
    #[default]
    Other,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The probing of a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Probe {
    /// When the cycle began (`BBR.cycle_stamp`); none from a loss that began it to the next acknowledgement.
    pub(super) since: Option<Time>,
    /// Round trips since, and seconds to wait, both with something random.
    pub(super) rounds: u64,
    wait: f64,
    /// Times that something random was drawn.
    draws: u64,
    pub(super) acks: Acks,
    /// Losses are those of a probe (`BBR.bw_probe_samples`).
    pub(super) samples: bool,
    /// Segments that the long-term volume grows by in this round trip, as a power of two.
    doublings: u64,
    /// Segments acknowledged towards the next one that it grows by, and how many that takes.
    acked: f64,
    per_segment: f64,
}

impl Bbr {
    /// `BBRStartProbeBW_DOWN`
    pub(super) fn start_down(&mut self) {
        // `BBRResetCongestionSignals`
        self.signals.lost_in_round = false;
        self.signals.bw_latest = 0.0;
        self.signals.inflight_latest = 0.0;
        self.probe.draws += 1;
        let (rounds, wait) = (2 * self.probe.draws, 2 * self.probe.draws + 1);
        self.probe.rounds = floor_u64(2.0 * draw(rounds, self.now));
        self.probe.wait = LEAST_WAIT + draw(wait, self.now);
        self.probe.since = None;
        self.probe.acks = Acks::ProbeStopping;
        self.base.rounds.restart();
        self.state = State::Down;
    }

    /// `BBRStartProbeBW_REFILL`
    fn start_refill(&mut self) {
        self.bounds.reset_shortterm();
        self.probe.doublings = 0;
        self.probe.acked = 0.0;
        self.probe.acks = Acks::Refilling;
        self.base.rounds.restart();
        self.state = State::Refill;
    }

    /// `BBRStartProbeBW_UP`
    fn start_up(&mut self, rate: &RateSample) {
        self.probe.samples = true;
        self.probe.acks = Acks::ProbeStarting;
        self.base.rounds.restart();
        self.base.full.reset(rate.rate());
        self.state = State::Up;
        self.raise_slope();
    }

    /// `BBRUpdateProbeBWCyclePhase`
    pub(super) fn update_cycle(&mut self, ack: &AckEvent) {
        if !self.base.full.reached {
            return;
        }
        self.adapt_longterm(ack);
        let since = *self.probe.since.get_or_insert(ack.now);
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now, since) => {
                self.start_refill();
            }
            State::Down if self.is_time_to_cruise(ack) => self.state = State::Cruise,
            State::Refill => {
                if let Some(rate) = ack.rate.as_ref().filter(|_| self.base.rounds.starts) {
                    self.start_up(rate);
                }
            }
            State::Up if self.is_time_to_go_down(ack) => {
                self.start_down();
                self.probe.since = Some(ack.now);
            }
            _ => {}
        }
    }

    /// `BBRIsTimeToProbeBW`
    fn is_time_to_probe(&self, now: Time, since: Time) -> bool {
        let rounds = self.target_inflight().min(MOST_ROUNDS);
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
            // The volume, not the path, is what limits the rate.
            if let Some(rate) = ack.rate {
                self.base.full.reset(rate.rate());
            }
            return false;
        }
        self.base.full.now
    }

    /// `BBRInflightWithHeadroom`: what leaves others room.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let longterm = self.bounds.inflight_longterm;
        if longterm.is_infinite() {
            return longterm;
        }
        let headroom = (self.headroom * longterm).max(1.0);
        (longterm - headroom).max(MIN_PIPE)
    }

    /// `BBRRaiseInflightLongtermSlope`
    pub(super) fn raise_slope(&mut self) {
        let growth = to_f64(1 << self.probe.doublings);
        self.probe.doublings = (self.probe.doublings + 1).min(MOST_DOUBLINGS);
        self.probe.per_segment = (self.base.cwnd / growth).max(1.0);
    }

    /// `BBRAdaptLongTermModel`
    fn adapt_longterm(&mut self, ack: &AckEvent) {
        let Some(rate) = &ack.rate else {
            return;
        };
        if self.base.rounds.starts {
            if self.probe.acks == Acks::ProbeStarting {
                self.probe.acks = Acks::ProbeFeedback;
            }
            if self.probe.acks == Acks::ProbeStopping {
                self.probe.samples = false;
                self.probe.acks = Acks::Other;
                self.cycles += u64::from(self.in_probe_bw() && !rate.app_limited);
            }
        }
        if self.is_too_high(rate.lost, rate.in_flight_at_send)
            || self.bounds.inflight_longterm.is_infinite()
        {
            return;
        }
        let safe = to_f64(rate.in_flight_at_send);
        self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(safe);
        if self.state == State::Up {
            self.probe_upward(ack.delivered);
        }
    }

    /// `BBRProbeInflightLongtermUpward`
    pub(super) fn probe_upward(&mut self, delivered: u64) {
        if !self.is_cwnd_limited() || self.base.cwnd < self.bounds.inflight_longterm {
            return;
        }
        self.probe.acked += to_f64(delivered);
        let growth = (self.probe.acked / self.probe.per_segment).floor();
        self.probe.acked -= growth * self.probe.per_segment;
        self.bounds.inflight_longterm += growth;
        if self.base.rounds.starts {
            self.raise_slope();
        }
    }
}
