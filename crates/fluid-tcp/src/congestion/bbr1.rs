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

use super::bbr::aggregation::Aggregation;
use super::bbr::filter::MaxFilter;
use super::bbr::rounds::Rounds;
use super::bbr::{MIN_PIPE, NOMINAL_RTT, PACING_MARGIN, srtt_seconds};
use super::{
    AckEvent, Cause, CongestionControl, CongestionEvent, Entry, LostPacket, Parameter, Values,
    Window,
};
use cycle::CYCLE;
use policer::Policer;

pub(super) static ENTRY: Entry = Entry {
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

/// Growth that tells that there may be more bandwidth, and round trips without it that tell that there is none.
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;

/// Longest time at the bandwidth that the window allows for aggregation `bbr_extra_acked_max_us`, seconds.
const AGGREGATION_TIME: f64 = 0.1;

/// Quanta that the two ends keep for themselves, segments `bbr_quantization_budget`.
const QUANTA: f64 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of tcp_bbr.c that is on or off by itself"
)]
struct Bbr1 {
    cwnd_gain: f64,
    /// Seconds after which `min_rtt` is outdated.
    min_rtt_age: f64,
    finds_policers: bool,
    initial_window: f64,
    cwnd: f64,
    pacing_rate: f64,
    has_seen_rtt: bool,
    mode: Mode,
    rounds: Rounds,
    max_bw: MaxFilter,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    /// Bandwidth when it last grew by a quarter, and round trips since.
    full_bw: f64,
    full_bw_rounds: u32,
    filled: bool,
    /// Place in the cycle, when it was taken, and how many cycles were begun anew.
    phase: usize,
    phase_since: Time,
    cycles: u64,
    /// When `ProbeRTT` may end; none while more than 4 segments are in flight.
    probe_rtt_until: Option<Time>,
    probe_rtt_round_done: bool,
    restarts: bool,
    in_recovery: bool,
    conserves: bool,
    /// The last good window [`prior_cwnd`.
    prior_cwnd: f64,
    aggregation: Aggregation,
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
            cwnd_gain: parameters.number("cwnd-gain"),
            min_rtt_age: parameters.number("probe-rtt"),
            finds_policers: parameters.is_on("policer"),
            initial_window,
            cwnd: initial_window,
            pacing_rate: HIGH_GAIN * PACING_MARGIN * initial_window / NOMINAL_RTT,
            has_seen_rtt: false,
            mode: Mode::Startup,
            rounds: Rounds::default(),
            max_bw: MaxFilter::default(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            full_bw: 0.0,
            full_bw_rounds: 0,
            filled: false,
            phase: 0,
            phase_since: Time::ZERO,
            cycles: 0,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            restarts: false,
            in_recovery: false,
            conserves: false,
            prior_cwnd: 0.0,
            aggregation: Aggregation::default(),
            policer: Policer::default(),
            lost: 0,
            last: Last::default(),
        }
    }

    /// Segments a second.
    fn bw(&self) -> f64 {
        self.policer.rate().unwrap_or_else(|| self.max_bw.get())
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
        self.min_rtt.map_or(self.initial_window, |rtt| {
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
        self.with_quanta(self.bdp(self.max_bw.get(), gain))
    }

    fn update_bw(&mut self, ack: &AckEvent) {
        self.rounds.on_ack(ack);
        let Some(rate) = ack.rate else {
            return;
        };
        if self.rounds.starts {
            self.conserves = false;
        }
        self.watch_policer(ack.now, ack.lost > 0, rate.app_limited);
        // What the application held back counts only where it is more than is known.
        if !rate.app_limited || rate.rate() >= self.max_bw.get() {
            self.max_bw
                .update(self.rounds.count, BW_ROUNDS, rate.rate());
        }
        self.aggregation.on_ack(
            (ack.now, ack.delivered),
            (self.bw(), self.cwnd),
            (&self.rounds, true),
        );
    }

    /// `bbr_check_full_bw_reached`
    fn check_full(&mut self, ack: &AckEvent) {
        let limited = ack.rate.is_none_or(|rate| rate.app_limited);
        if self.filled || !self.rounds.starts || limited {
            return;
        }
        if self.max_bw.get() >= FULL_BW_GROWTH * self.full_bw {
            self.full_bw = self.max_bw.get();
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.filled = self.full_bw_rounds >= FULL_BW_ROUNDS;
    }

    /// `bbr_check_drain`
    fn check_drain(&mut self, ack: &AckEvent) {
        if self.mode == Mode::Startup && self.filled {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && to_f64(ack.pipe) <= self.inflight(1.0) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// `bbr_set_pacing_rate`
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * PACING_MARGIN * self.bw();
        if rate > 0.0 && (self.filled || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_set_cwnd`
    fn set_cwnd(&mut self, ack: &AckEvent) {
        let delivered = to_f64(ack.delivered);
        if ack.delivered > 0 {
            self.cwnd = (self.cwnd - to_f64(ack.lost)).max(1.0);
            if self.conserves {
                self.cwnd = self.cwnd.max(self.last.conserved);
            } else {
                let extra = self.aggregation.excess().min(AGGREGATION_TIME * self.bw());
                let extra = if self.filled { extra } else { 0.0 };
                let target = self.with_quanta(self.bdp(self.bw(), self.window_gain()) + extra);
                if self.filled {
                    self.cwnd = (self.cwnd + delivered).min(target);
                } else if self.cwnd < target || to_f64(self.rounds.delivered) < self.initial_window
                {
                    self.cwnd += delivered;
                }
                self.cwnd = self.cwnd.max(MIN_PIPE);
            }
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_PIPE);
        }
    }

    /// `bbr_save_cwnd`
    fn save_cwnd(&mut self, cwnd: f64) {
        let good = !self.in_recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good {
            cwnd
        } else {
            self.prior_cwnd.max(cwnd)
        };
    }
}

impl CongestionControl for Bbr1 {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.last = Last {
            now: ack.now,
            cwnd: self.cwnd,
            conserved: to_f64(ack.pipe + ack.delivered),
        };
        self.update_bw(ack);
        self.update_phase(ack);
        self.check_full(ack);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        if let Some(srtt) = srtt_seconds(ack).filter(|_| !self.has_seen_rtt) {
            self.has_seen_rtt = true;
            self.pacing_rate = HIGH_GAIN * PACING_MARGIN * self.cwnd / srtt;
        }
        self.set_pacing_rate(self.pacing_gain());
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
                self.save_cwnd(if told_by_ack {
                    self.last.cwnd
                } else {
                    self.cwnd
                });
                self.in_recovery = true;
                self.conserves = true;
                self.rounds.restart();
                // Found lost by time alone: the acknowledgement before tells of another instant.
                let conserved = if told_by_ack {
                    self.last.conserved
                } else {
                    event.in_flight
                };
                self.cwnd = self.cwnd.min(conserved).max(1.0);
            }
            Cause::Timeout | Cause::RepeatedTimeout => {
                self.save_cwnd(self.cwnd);
                self.in_recovery = true;
                self.full_bw = 0.0;
                self.cwnd = 1.0;
                self.rounds.starts = true;
                self.watch_policer(event.now, true, false);
            }
        }
    }

    fn on_recovered(&mut self, _now: Time) {
        self.in_recovery = false;
        self.conserves = false;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_PIPE);
        }
    }

    fn on_restart(&mut self, now: Time) {
        self.restarts = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(1.0),
            Mode::ProbeRtt => self.check_probe_rtt_done(now),
            Mode::Startup | Mode::Drain => {}
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
        self.mode == Mode::ProbeRtt
    }
}

#[cfg(test)]
mod tests;
