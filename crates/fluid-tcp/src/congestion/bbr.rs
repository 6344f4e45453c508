//! BBR, version 3: draft-ietf-ccwg-bbr-05. Section numbers below are those of the draft.
//!
//! The model of the path has four parts: `max_bw`, the largest delivery rate of two probing cycles; `min_rtt`, the smallest RTT
//! of 10 s; `inflight_longterm`, the volume in flight at which a probe lost too much; and short-term bounds of rate and volume
//! after other losses (`bbr/congestion.rs`, Sec. 5.5.10). Segments are paced at `pacing_gain · bw` less 1 % (Sec. 5.6.2). The
//! volume in flight is bounded by `cwnd_gain` bandwidth-delay products and by the volumes (Sec. 5.6.4).
//!
//! Startup and Drain are in `bbr/startup.rs` (Sec. 5.3.1 and 5.3.2), the cycle Down, Cruise, Refill and Up in
//! `bbr/probe_bw.rs` (Sec. 5.3.3), `ProbeRTT` in `bbr/probe_rtt.rs` (Sec. 5.3.4). `bbr1` shares `bbr/base.rs` and its
//! parts.
//!
//! | state | pacing gain | window gain | volume bounds |
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
//! - volumes are in segments, and a quantum is one segment: no segmentation offload (Sec. 5.6.3 allows this; the
//!   offload budget is then below the minimum of 4 segments);
//! - after the round of a probe's last samples the bandwidth filter advances once, and losses no longer count towards
//!   the probe, as in Linux, in Sec. 5.5.6 and in the pseudocode of draft-06 (Sec. 5.3.3.9); that of draft-05
//!   (Sec. 5.3.3.6) would advance it every round. A cycle that `ProbeRTT` cuts short does not advance it, so RTTs above
//!   some 0.5 s, queue included, keep the bandwidth for good (docs/validity.md, Sec. 3.1);
//! - Sec. 5.3.1.3 counts lost ranges of sequence numbers; here, packets with consecutive numbers that are marked lost
//!   one after the other form a range;
//! - random values (Sec. 5.3.3.5.3) follow from the connection's history (`bbr/draw.rs`);
//! - the sender counts as cwnd-limited if an ACK found the window filled, in this round or the last;
//! - the RTT of a handshake counts from the first ACK on (Sec. 5.6.2);
//! - a sender with nothing in flight counts as restarting from idle, regardless of the reason (Sec. 5.4.1);
//! - a spurious timeout (F-RTO) restores the whole state, not parts of it (Sec. 5.5.11);
//! - ECN marks are ignored (Sec. 3.7);
//! - SACK is assumed (`C.has_selective_acks`).

mod aggregation;
pub(super) mod base;
mod congestion;
pub(super) mod draw;
mod filter;
mod probe_bw;
mod probe_rtt;
mod rounds;
mod startup;

use tmt_core::types::{Time, to_f64};

use super::{
    AckEvent, Cause, CongestionControl, CongestionEvent, Connection, Entry, LostPacket, Make,
    Parameter, Values, Window,
};
use base::Base;
use congestion::{Bounds, Signals};
use probe_bw::Probe;
use probe_rtt::RttFilter;

/// BBR version 3 as a registry entry.
pub static ENTRY: Entry = Entry {
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
    make: Make(|connection, parameters| Box::new(Bbr::new(connection, parameters))),
};

/// `BBR.MinPipeCwnd`: fewest segments in flight that keep a pipe full in spite of delayed ACKs (Sec. 5.6.4.3).
pub(super) const MIN_PIPE: f64 = 4.0;

/// RTT before the first measurement, seconds (Sec. 5.6.2).
const NOMINAL_RTT: f64 = 0.001;

/// Pacing rate as a share of the bandwidth (`PacingMarginPercent`).
pub(super) const PACING_MARGIN: f64 = 0.99;

/// Pacing gain in Startup, 4 ln 2.
const STARTUP_GAIN: f64 = 4.0 * std::f64::consts::LN_2;

/// `BBR.DefaultCwndGain`, and the window gains of Up and of `ProbeRTT`.
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;

/// Cycles of the bandwidth filter (`MaxBwFilterLen`).
const BW_CYCLES: u64 = 2;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

#[derive(Debug, Clone, Default)]
struct Bbr {
    base: Base,
    /// `BBR.LossThresh`, `BBR.Beta`, `BBR.Headroom`.
    loss_thresh: f64,
    beta: f64,
    headroom: f64,
    /// `ProbeRTTInterval`, seconds.
    probe_rtt: f64,
    state: State,
    /// Probing cycles so far, the virtual time of the bandwidth filter.
    cycles: u64,
    probe: Probe,
    min_rtt: RttFilter,
    bounds: Bounds,
    signals: Signals,
    /// Whether the window was filled in this round, and in the last.
    cwnd_limited: (bool, bool),
    drain_round: u64,
    /// Time of the last ACK.
    now: Time,
}

impl Bbr {
    fn new(connection: &Connection, parameters: &Values) -> Self {
        Self {
            base: Base::new(connection.initial_window.into(), STARTUP_GAIN),
            loss_thresh: parameters.number("loss-thresh"),
            beta: parameters.number("beta"),
            headroom: parameters.number("headroom"),
            probe_rtt: parameters.number("probe-rtt"),
            ..Self::default()
        }
    }

    fn in_probe_bw(&self) -> bool {
        use State::{Cruise, Down, Refill, Up};
        matches!(self.state, Down | Cruise | Refill | Up)
    }

    /// `BBRIsProbingBW`
    fn is_probing_bw(&self) -> bool {
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

    /// Bandwidth estimate, segments per second (`BBRBoundBWForModel`).
    fn bw(&self) -> f64 {
        self.base.max_bw.get().min(self.bounds.bw_shortterm)
    }

    /// `gain` times the bandwidth-delay product at rate `bw`, segments (`BBRBDPMultiple`).
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt
            .min_rtt()
            .map_or(self.base.initial_window, |rtt| {
                gain * bw * rtt.as_secs_f64()
            })
    }

    /// `BBRQuantizationBudget`
    fn with_quanta(&self, segments: f64) -> f64 {
        let probe = if self.state == State::Up { 2.0 } else { 0.0 };
        segments.max(MIN_PIPE) + probe
    }

    /// `BBRTargetInflight`
    fn target_inflight(&self) -> f64 {
        self.bdp(self.bw(), 1.0).min(self.base.cwnd)
    }

    /// `C.is_cwnd_limited`
    fn is_cwnd_limited(&self) -> bool {
        self.cwnd_limited.0 || self.cwnd_limited.1
    }

    fn update_cwnd_limited(&mut self, ack: &AckEvent) {
        if self.base.rounds.round_start {
            self.cwnd_limited = (false, self.cwnd_limited.0);
        }
        let before = to_f64(ack.pipe + ack.delivered + ack.lost);
        self.cwnd_limited.0 |= before + 1.0 > self.base.cwnd;
    }

    /// `BBRSetCwnd`
    fn set_cwnd(&mut self, delivered: u64) {
        let target = self.bdp(self.bw(), self.cwnd_gain()) + self.base.aggregation.extra_acked();
        self.base.grow(delivered, self.with_quanta(target));
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
        self.base.cwnd = self.base.cwnd.min(cap);
        if self.in_probe_rtt() {
            self.base.cwnd = self.base.cwnd.min(self.probe_rtt_cwnd());
        }
    }

    fn in_probe_rtt(&self) -> bool {
        self.state == State::ProbeRtt
    }
}

impl CongestionControl for Bbr {
    /// `BBRUpdateOnACK`
    fn on_ack(&mut self, ack: &AckEvent) {
        let rate = ack.rate.as_ref();
        self.now = ack.now;
        self.probe.since.get_or_insert(ack.now);
        self.base.rounds.on_ack(ack);
        self.probe.rounds += u64::from(self.base.rounds.round_start);
        self.update_cwnd_limited(ack);
        self.update_latest_delivery_signals(rate);
        if let Some(rate) = rate {
            self.base.update_max_bw(rate, self.cycles, BW_CYCLES);
        }
        self.update_congestion_signals();
        self.base.aggregation.on_ack(
            (ack.now, ack.delivered),
            (self.bw(), self.base.cwnd),
            (&self.base.rounds, self.base.full.reached),
        );
        if let Some(rate) = rate {
            self.base.check_full_bw_reached(rate, rate.rate());
        }
        self.check_startup_done(rate);
        self.check_drain_done(ack);
        self.update_probe_bw_cycle_phase(ack);
        self.min_rtt.on_ack(ack, self.probe_rtt);
        self.check_probe_rtt(ack);
        self.advance_latest_delivery_signals(rate);
        let initial_window = self.base.initial_window;
        self.base.on_first_rtt(ack, STARTUP_GAIN, initial_window);
        let bw = self.bw();
        self.base.set_pacing_rate(self.pacing_gain(), bw);
        self.set_cwnd(ack.delivered);
    }

    fn on_lost(&mut self, lost: &LostPacket) {
        self.handle_lost_packet(lost);
    }

    /// Cuts the window as in Sec. 5.6.4.4: only a timeout does.
    fn on_congestion(&mut self, event: &CongestionEvent) {
        if event.cause == Cause::Ecn {
            return;
        }
        self.base
            .begin_recovery(self.base.cwnd, self.in_probe_rtt());
        if event.cause.is_timeout() {
            // Everything outstanding is marked lost, so nothing is in flight.
            self.base.cwnd = 1.0;
        } else {
            self.signals.recovery = Some(self.base.rounds.delivered);
        }
    }

    fn on_recovered(&mut self, _now: Time) {
        self.signals.recovery = None;
        self.base.end_recovery();
        self.bound_cwnd();
    }

    /// `BBRHandleRestartFromIdle`
    fn on_restart(&mut self, now: Time) {
        self.base.restart(now);
        if self.in_probe_bw() {
            self.base.set_pacing_rate(1.0, self.bw());
        } else if self.in_probe_rtt() && self.base.check_probe_rtt_done(now) {
            self.exit_probe_rtt(now);
        }
    }

    fn window(&self) -> Window {
        Window::new(self.base.cwnd)
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.base.pacing_rate)
    }

    fn marks_samples_app_limited(&self) -> bool {
        self.in_probe_rtt()
    }
}

#[cfg(test)]
pub(super) mod path;
#[cfg(test)]
mod tests;
