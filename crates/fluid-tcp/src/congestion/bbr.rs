//! BBR, version 3: draft-ietf-ccwg-bbr-05 (section numbers below are its).
//!
//! A model of the path: `max_bw`, the largest delivery rate of two probing cycles, and `min_rtt`, the smallest
//! round-trip time of 10 s; and what losses say of it: `inflight_longterm`, the volume at which a probe lost too much
//! (`bbr/congestion.rs`, §5.5.10), and the short-term bounds of rate and volume. Segments are paced at
//! `pacing_gain · bw` less 1 % (§5.6.2); what is in flight is bounded by `cwnd_gain` bandwidth-delay products and by
//! the volumes (§5.6.4). Startup and Drain are in `bbr/startup.rs` (§5.3.1 and 2), the cycle of Down, Cruise, Refill
//! and Up in `bbr/probe_bw.rs` (§5.3.3), `ProbeRTT` in `bbr/probe_rtt.rs` (§5.3.4). `bbr1` uses the parts that do not
//! differ.
//!
//! | state | pacing gain | window gain | volume |
//! |---|---|---|---|
//! | Startup | 2.77 | 2 | |
//! | Drain | 0.5 | 2 | short-term |
//! | Down | 0.9 | 2 | long-term, short-term |
//! | Cruise | 1 | 2 | 85 % of long-term, short-term |
//! | Refill | 1 | 2 | long-term |
//! | Up | 1.25 | 2.25 | long-term |
//! | `ProbeRTT` | 1 | 0.5 | 85 % of long-term, short-term |
//!
//! Named deviations:
//! - volumes are segments, and a quantum is one segment: no segmentation offload (§5.6.3 allows it, and then the
//!   offload budget is below the floor of 4 segments);
//! - after the round of a probe's last samples the bandwidth filter moves on once, and its losses count no more, as in
//!   Linux; the draft's pseudocode (§5.3.3.6) would move it on every round trip;
//! - §5.3.1.3 counts lost ranges of sequence numbers: ours are of packets found lost one after the other;
//! - what is random (§5.3.3.5.3) follows from the connection's history (`bbr/draw.rs`);
//! - the window counts as having held the sender back where an acknowledgement found it filled, in this round trip or
//!   the last;
//! - a handshake's round trip counts from the first acknowledgement on (§5.6.2);
//! - a sender with nothing in flight counts as restarting from idle, whatever kept it (§5.4.1);
//! - a spurious timeout brings the whole state back (F-RTO), not parts (§5.5.11); ECN's marks are not looked at (§3.7);
//! - SACK is taken for granted (`C.has_selective_acks`).

pub(super) mod aggregation;
mod congestion;
pub(super) mod draw;
pub(super) mod filter;
mod probe_bw;
mod probe_rtt;
pub(super) mod rounds;
mod startup;

use tmt_core::types::{Span, Time, to_f64};

use super::{
    AckEvent, Cause, CongestionControl, CongestionEvent, Entry, LostPacket, Parameter, RateSample,
    Values, Window,
};
use aggregation::Aggregation;
use congestion::{Bounds, Signals};
use filter::MaxFilter;
use probe_bw::Probe;
use probe_rtt::Delay;
use rounds::Rounds;
use startup::FullPipe;

pub(super) static ENTRY: Entry = Entry {
    name: "bbr",
    about: "BBR version 3, draft-ietf-ccwg-bbr",
    parameters: &[
        Parameter::number("loss-thresh", 0.02, 0.001, 0.5),
        Parameter::number("beta", 0.7, 0.1, 0.99),
        Parameter::number("headroom", 0.15, 0.0, 0.9),
        Parameter::number("probe-rtt", 5.0, 1.0, 3600.0),
    ],
    examples: &[
        "bbr",
        "bbr:loss-thresh=0.05,beta=0.8,headroom=0.1,probe-rtt=10",
    ],
    make: |initial_window, parameters| Box::new(Bbr::new(initial_window, parameters)),
};

/// Fewest segments in flight that keep a pipe full in spite of delayed acknowledgements (§5.6.4.3).
pub(super) const MIN_PIPE: f64 = 4.0;

/// Round-trip time before one was measured, seconds (§5.6.2).
pub(super) const NOMINAL_RTT: f64 = 0.001;

/// Share of the bandwidth that is paced at (`PacingMarginPercent`).
pub(super) const PACING_MARGIN: f64 = 0.99;

/// How long `ProbeRTT` holds its window at least.
pub(super) const PROBE_RTT_DURATION: Span = Span::from_millis(200);

/// Startup's pacing gain, 4 ln 2.
const STARTUP_GAIN: f64 = 4.0 * std::f64::consts::LN_2;

/// `BBR.DefaultCwndGain`, and that of Up and of `ProbeRTT`.
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;

/// Cycles of the bandwidth filter (`MaxBwFilterLen`).
const BW_CYCLES: u64 = 2;

/// The smoothed round-trip time, once there is one, seconds; a microsecond at least.
pub(super) fn srtt_seconds(ack: &AckEvent) -> Option<f64> {
    ack.srtt.map(|srtt| srtt.as_secs_f64().max(1e-6))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// What a user may set.
#[derive(Debug, Clone, Copy)]
struct Settings {
    /// `BBR.LossThresh`, `BBR.Beta`, `BBR.Headroom`.
    loss_thresh: f64,
    beta: f64,
    headroom: f64,
    /// `ProbeRTTInterval`, seconds.
    probe_rtt: f64,
}

#[derive(Debug, Clone)]
struct Bbr {
    settings: Settings,
    initial_window: f64,
    cwnd: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,
    state: State,
    rounds: Rounds,
    max_bw: MaxFilter,
    /// Probing cycles so far, the filter's time.
    cycles: u64,
    full: FullPipe,
    probe: Probe,
    delay: Delay,
    bounds: Bounds,
    signals: Signals,
    aggregation: Aggregation,
    /// `BBR.idle_restart`
    restarts: bool,
    in_recovery: bool,
    /// The last good window.
    prior_cwnd: f64,
    /// The window was filled in this round trip, and in the last.
    limited: (bool, bool),
    drain_round: u64,
    /// When the last acknowledgement came.
    now: Time,
}

impl Bbr {
    fn new(initial_window: f64, parameters: &Values) -> Self {
        Self {
            settings: Settings {
                loss_thresh: parameters.number("loss-thresh"),
                beta: parameters.number("beta"),
                headroom: parameters.number("headroom"),
                probe_rtt: parameters.number("probe-rtt"),
            },
            initial_window,
            cwnd: initial_window,
            pacing_rate: STARTUP_GAIN * initial_window / NOMINAL_RTT,
            has_seen_rtt: false,
            state: State::Startup,
            rounds: Rounds::default(),
            max_bw: MaxFilter::default(),
            cycles: 0,
            full: FullPipe::default(),
            probe: Probe::default(),
            delay: Delay::default(),
            bounds: Bounds::default(),
            signals: Signals::default(),
            aggregation: Aggregation::default(),
            restarts: false,
            in_recovery: false,
            prior_cwnd: 0.0,
            limited: (false, false),
            drain_round: 0,
            now: Time::ZERO,
        }
    }

    fn in_probe_bw(&self) -> bool {
        use State::{Cruise, Down, Refill, Up};
        matches!(self.state, Down | Cruise | Refill | Up)
    }

    /// `BBRIsProbingBW`
    fn probes_bw(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
            State::Up => 1.25,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    /// Segments a second (`BBRBoundBWForModel`).
    fn bw(&self) -> f64 {
        self.max_bw.get().min(self.bounds.bw_shortterm)
    }

    /// `gain` times the bandwidth-delay product at rate `bw`, segments (`BBRBDPMultiple`).
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.delay
            .min_rtt()
            .map_or(self.initial_window, |rtt| gain * bw * rtt.as_secs_f64())
    }

    /// `BBRQuantizationBudget`
    fn with_quanta(&self, segments: f64) -> f64 {
        let probe = if self.state == State::Up { 2.0 } else { 0.0 };
        segments.max(MIN_PIPE) + probe
    }

    /// `BBRTargetInflight`
    fn target_inflight(&self) -> f64 {
        self.bdp(self.bw(), 1.0).min(self.cwnd)
    }

    /// `C.is_cwnd_limited`
    fn is_cwnd_limited(&self) -> bool {
        self.limited.0 || self.limited.1
    }

    /// `BBRUpdateMaxBw`
    fn update_max_bw(&mut self, rate: Option<&RateSample>) {
        if let Some(rate) = rate
            && (!rate.app_limited || rate.rate() >= self.max_bw.get())
        {
            self.max_bw.update(self.cycles, BW_CYCLES, rate.rate());
        }
    }

    fn note_limited(&mut self, ack: &AckEvent) {
        if self.rounds.starts {
            self.limited = (false, self.limited.0);
        }
        let before = to_f64(ack.pipe + ack.delivered + ack.lost);
        self.limited.0 |= before + 1.0 > self.cwnd;
    }

    /// `BBRSetPacingRateWithGain`
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * PACING_MARGIN * self.bw();
        if rate > 0.0 && (self.full.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// `BBRSetCwnd`
    fn set_cwnd(&mut self, delivered: u64) {
        let target = self.bdp(self.bw(), self.cwnd_gain()) + self.aggregation.excess();
        let target = self.with_quanta(target);
        let early = to_f64(self.rounds.delivered) < self.initial_window;
        let grown = self.cwnd + to_f64(delivered);
        if self.full.reached {
            self.cwnd = grown.min(target);
        } else if self.cwnd < target || early {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(MIN_PIPE);
        self.bound_cwnd();
    }

    /// `BBRBoundCwndForProbeRTT`, `BBRBoundCwndForModel`
    fn bound_cwnd(&mut self) {
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        let cap = cap.min(self.bounds.inflight_shortterm).max(MIN_PIPE);
        self.cwnd = self.cwnd.min(cap);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
    }

    /// `BBRSaveCwnd`
    fn save_cwnd(&mut self) {
        let good = !self.in_recovery && self.state != State::ProbeRtt;
        let known = if good { 0.0 } else { self.prior_cwnd };
        self.prior_cwnd = known.max(self.cwnd);
    }
}

impl CongestionControl for Bbr {
    /// `BBRUpdateOnACK`
    fn on_ack(&mut self, ack: &AckEvent) {
        let rate = ack.rate.as_ref();
        self.now = ack.now;
        self.probe.since.get_or_insert(ack.now);
        self.rounds.on_ack(ack);
        self.probe.rounds += u64::from(self.rounds.starts);
        self.note_limited(ack);
        self.update_latest(rate);
        self.update_max_bw(rate);
        self.adapt_to_losses();
        self.aggregation.on_ack(
            (ack.now, ack.delivered),
            (self.bw(), self.cwnd),
            (&self.rounds, self.full.reached),
        );
        self.check_full(rate);
        self.check_startup_loss(rate);
        self.check_drain(ack);
        self.update_cycle(ack);
        self.delay.on_ack(ack, self.settings.probe_rtt);
        self.check_probe_rtt(ack);
        self.advance_latest(rate);
        if let Some(srtt) = srtt_seconds(ack).filter(|_| !self.has_seen_rtt) {
            self.has_seen_rtt = true;
            self.pacing_rate = STARTUP_GAIN * self.initial_window / srtt;
        }
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(ack.delivered);
    }

    fn on_lost(&mut self, lost: &LostPacket) {
        self.handle_lost(lost);
    }

    /// §5.6.4.4
    fn on_congestion(&mut self, event: &CongestionEvent) {
        match event.cause {
            Cause::Ecn => {}
            Cause::FastRetransmit => {
                self.save_cwnd();
                self.in_recovery = true;
                self.signals.begin_recovery(self.rounds.delivered);
            }
            Cause::Timeout | Cause::RepeatedTimeout => {
                self.save_cwnd();
                self.in_recovery = true;
                // All that was outstanding is taken for lost: nothing is in flight.
                self.cwnd = 1.0;
            }
        }
    }

    fn on_recovered(&mut self, _now: Time) {
        self.in_recovery = false;
        self.signals.end_recovery();
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.bound_cwnd();
    }

    /// `BBRHandleRestartFromIdle`
    fn on_restart(&mut self, now: Time) {
        self.restarts = true;
        self.aggregation.restart(now);
        if self.in_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    fn window(&self) -> Window {
        Window::new(self.cwnd)
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.pacing_rate)
    }

    fn samples_rate(&self) -> bool {
        true
    }

    fn governs_recovery(&self) -> bool {
        true
    }

    fn answers_marks(&self) -> bool {
        false
    }

    fn holds_back(&self) -> bool {
        self.state == State::ProbeRtt
    }
}

#[cfg(test)]
pub(super) mod path;
#[cfg(test)]
mod tests;
