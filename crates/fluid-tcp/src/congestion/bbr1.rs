//! BBR, version 1: draft-cardwell-iccrg-bbr-congestion-control-00, as mainline Linux ships it (`net/ipv4/tcp_bbr.c`
//! of 6.x, whose names stand in brackets).
//!
//! A model of the path (draft §4.1): the bandwidth `bw` is the largest delivery rate of 10 round trips, `min_rtt` the
//! smallest round-trip time of 10 s. Segments are paced at `pacing_gain · bw` less 1 %, and at most
//! `cwnd_gain · bw · min_rtt` are in flight (§4.2). Four modes (§4.3): Startup doubles the rate each round trip (gain
//! 2/ln 2) until three of them pass without a quarter more bandwidth; Drain (gain ln 2/2) lasts until no more than
//! one bandwidth-delay product is in flight; `ProbeBW` cycles gains 1.25, 0.75 and six times 1, each for about one
//! `min_rtt`; `ProbeRTT`, when `min_rtt` is 10 s old, holds 4 segments for 200 ms and a round trip.
//!
//! What Linux has beyond the draft is here, too: the window's allowance for aggregated acknowledgements, and the
//! search for policers (`policer=off` is without). Losses move the window as in Linux: the first round trip of a
//! recovery conserves packets, and its end brings back the window of before.
//!
//! As in Linux a round trip as short as the smallest makes that one new, so a flow alone on a path without jitter,
//! which empties its queue in every cycle, never needs `ProbeRTT`.
//!
//! Named deviations:
//! - quantities are exact where Linux rounds to 1/256 or to milliseconds; both maximum filters are exact, that of the
//!   aggregation over 10 round trips (Linux: 5 to 10);
//! - no segmentation offload: a quantum (`bbr_tso_segs_goal`) is one segment, and none is scheduled ahead of its
//!   departure, so what is in the network is what was sent;
//! - the phase in which `ProbeBW` begins, random in Linux, follows from the connection's history (`bbr/draw.rs`);
//! - a round-trip time that may contain a delayed acknowledgement replaces an outdated `min_rtt` as any other does;
//! - a handshake's round trip counts from the first acknowledgement on (`bbr_init_pacing_rate_from_rtt`);
//! - a sender with nothing in flight counts as restarting from idle, whatever kept it;
//! - ECN's marks are not looked at, as in Linux; a spurious timeout brings the whole state back (F-RTO).

mod cycle;
mod policer;
mod probe_rtt;

use tmt_core::types::{Span, Time, to_f64};

use super::bbr::base::Base;
use super::bbr::{MIN_PIPE, PACING_MARGIN};
use super::{
    AckEvent, Cause, CongestionControl, CongestionEvent, Entry, LostPacket, Parameter, Values,
    Window,
};
use cycle::CYCLE;
use policer::Policer;

/// BBR version 1 as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "bbr1",
    about: "BBR version 1, as in Linux",
    parameters: &[
        Parameter::number("cwnd-gain", 2.0, 1.0, 10.0),
        Parameter::number("probe-rtt", 10.0, 1.0, 3600.0),
        Parameter::switch("policer", true),
    ],
    examples: &["bbr1", "bbr1:cwnd-gain=3,probe-rtt=5,policer=off"],
    make: |initial_window, parameters| Box::new(Bbr1::new(initial_window, parameters)),
};

/// 2/ln 2 `bbr_high_gain`.
const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;

/// Round trips of the bandwidth filter `bbr_bw_rtts`.
const BW_ROUNDS: u64 = 10;

/// Longest time at the bandwidth that the window allows for aggregation `bbr_extra_acked_max_us`, seconds.
const AGGREGATION_TIME: f64 = 0.1;

/// Quanta that the two ends keep for themselves, segments `bbr_quantization_budget`.
const QUANTA: f64 = 3.0;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

#[derive(Debug, Clone, Default)]
struct Bbr1 {
    base: Base,
    cwnd_gain: f64,
    /// Seconds after which `min_rtt` is outdated.
    min_rtt_age: f64,
    finds_policers: bool,
    mode: Mode,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    /// Place in the cycle, when it was taken, and how many cycles were begun anew.
    phase: usize,
    phase_since: Time,
    cycles: u64,
    conserves: bool,
    policer: Policer,
    /// Segments found lost so far.
    lost: u64,
    last: Last,
}

/// The acknowledgement taken in last.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    now: Time,
    /// The window before it.
    cwnd: f64,
    /// What may be in the network in packet conservation.
    conserved: f64,
}

impl Bbr1 {
    fn new(initial_window: f64, parameters: &Values) -> Self {
        Self {
            base: Base::new(initial_window, HIGH_GAIN * PACING_MARGIN),
            cwnd_gain: parameters.number("cwnd-gain"),
            min_rtt_age: parameters.number("probe-rtt"),
            finds_policers: parameters.is_on("policer"),
            ..Self::default()
        }
    }

    /// Segments a second.
    fn bw(&self) -> f64 {
        self.policer
            .rate()
            .unwrap_or_else(|| self.base.max_bw.get())
    }

    fn pacing_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeBw if self.policer.rate().is_none() => CYCLE[self.phase],
            Mode::ProbeBw | Mode::ProbeRtt => 1.0,
        }
    }

    /// The window's gain in this mode.
    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw => self.cwnd_gain,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// Bandwidth times delay times `gain`, rounded up `bbr_bdp`.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.base.initial_window, |rtt| {
            (gain * bw * rtt.as_secs_f64()).ceil()
        })
    }

    /// Room for what the ends hold: up to an even number, and a pair more to probe with `bbr_quantization_budget`.
    fn with_quanta(&self, segments: f64) -> f64 {
        let even = 2.0 * f64::midpoint(segments, QUANTA).ceil();
        let probes = self.mode == Mode::ProbeBw && self.phase == 0;
        if probes { even + 2.0 } else { even }
    }

    /// `bbr_inflight`
    fn inflight(&self, gain: f64) -> f64 {
        self.with_quanta(self.bdp(self.base.max_bw.get(), gain))
    }

    fn update_bw(&mut self, ack: &AckEvent) {
        self.base.rounds.on_ack(ack);
        let Some(rate) = ack.rate else {
            return;
        };
        if self.base.rounds.starts {
            self.conserves = false;
        }
        self.watch_policer(ack.now, ack.lost > 0, rate.app_limited);
        self.base
            .update_max_bw(&rate, self.base.rounds.count, BW_ROUNDS);
        self.base.aggregation.on_ack(
            (ack.now, ack.delivered),
            (self.bw(), self.base.cwnd),
            (&self.base.rounds, true),
        );
    }

    /// `bbr_check_drain`
    fn check_drain(&mut self, ack: &AckEvent) {
        if self.mode == Mode::Startup && self.base.full.reached {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && to_f64(ack.pipe) <= self.inflight(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// `bbr_set_cwnd`
    fn set_cwnd(&mut self, ack: &AckEvent) {
        if ack.delivered > 0 {
            self.base.cwnd = (self.base.cwnd - to_f64(ack.lost)).max(1.0);
            if self.conserves {
                self.base.cwnd = self.base.cwnd.max(self.last.conserved);
            } else {
                let extra = self
                    .base
                    .aggregation
                    .excess()
                    .min(AGGREGATION_TIME * self.bw());
                let extra = if self.base.full.reached { extra } else { 0.0 };
                let target = self.with_quanta(self.bdp(self.bw(), self.window_gain()) + extra);
                self.base.grow(ack.delivered, target);
            }
        }
        if self.probes_rtt() {
            self.base.cwnd = self.base.cwnd.min(MIN_PIPE);
        }
    }

    fn probes_rtt(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}

impl CongestionControl for Bbr1 {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.last = Last {
            now: ack.now,
            cwnd: self.base.cwnd,
            conserved: to_f64(ack.pipe + ack.delivered),
        };
        self.update_bw(ack);
        self.update_phase(ack);
        if let Some(rate) = &ack.rate {
            self.base.check_full(rate, self.base.max_bw.get());
        }
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.base
            .on_first_rtt(ack, HIGH_GAIN * PACING_MARGIN, self.base.cwnd);
        self.base.set_pacing_rate(self.pacing_gain(), self.bw());
        self.set_cwnd(ack);
    }

    fn on_lost(&mut self, _lost: &LostPacket) {
        self.lost += 1;
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let told_by_ack = event.now == self.last.now;
        match event.cause {
            Cause::Ecn => {}
            Cause::FastRetransmit => {
                // Found lost by time alone: the acknowledgement before tells of another instant.
                let (cwnd, conserved) = if told_by_ack {
                    (self.last.cwnd, self.last.conserved)
                } else {
                    (self.base.cwnd, event.in_flight)
                };
                self.base.begin_recovery(cwnd, self.probes_rtt());
                self.conserves = true;
                self.base.rounds.restart();
                self.base.cwnd = self.base.cwnd.min(conserved).max(1.0);
            }
            Cause::Timeout | Cause::RepeatedTimeout => {
                self.base.begin_recovery(self.base.cwnd, self.probes_rtt());
                self.base.full.bw = 0.0;
                self.base.cwnd = 1.0;
                self.base.rounds.starts = true;
                self.watch_policer(event.now, true, false);
            }
        }
    }

    fn on_recovered(&mut self, _now: Time) {
        self.conserves = false;
        self.base.end_recovery();
        if self.probes_rtt() {
            self.base.cwnd = self.base.cwnd.min(MIN_PIPE);
        }
    }

    fn on_restart(&mut self, now: Time) {
        self.base.restart(now);
        if self.mode == Mode::ProbeBw {
            self.base.set_pacing_rate(1.0, self.bw());
        } else if self.probes_rtt() && self.base.ends_probe_rtt(now) {
            self.exit_probe_rtt(now);
        }
    }

    fn window(&self) -> Window {
        Window::new(self.base.cwnd)
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.base.pacing_rate)
    }

    fn holds_back(&self) -> bool {
        self.probes_rtt()
    }
}

#[cfg(test)]
mod tests;
