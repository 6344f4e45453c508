//! BBR, version 1: draft-cardwell-iccrg-bbr-congestion-control-00, as in mainline Linux (`net/ipv4/tcp_bbr.c` of 6.x;
//! names in code font that begin with `bbr_` are from there).
//!
//! The model of the path (draft, Sec. 4.1) is the bandwidth `bw`, the largest delivery rate of 10 rounds, and
//! `min_rtt`, the smallest RTT of 10 s. Segments are paced at `pacing_gain · bw` less 1 %, and at most
//! `cwnd_gain · bw · min_rtt` are in flight (Sec. 4.2). There are four modes (Sec. 4.3):
//! - Startup doubles the rate every round (gain 2/ln 2), until the bandwidth grows by less than a quarter for three
//!   rounds.
//! - Drain (gain ln 2/2) lasts until at most one bandwidth-delay product is in flight.
//! - `ProbeBW` cycles through the gains 1.25, 0.75 and six times 1, each for about one `min_rtt`.
//! - `ProbeRTT` begins when `min_rtt` is 10 s old, and holds 4 segments for 200 ms and a round.
//!
//! Two parts of Linux beyond the draft are here, too: the allowance of the window for aggregated ACKs, and the
//! detection of policers (`policer=off` disables it). Losses act on the window as in Linux: the first round of a
//! recovery conserves packets, and the end of the recovery restores the window.
//!
//! Two rules depend on the hosts ([`super::Implementation`]):
//! - which RTTs renew `min_rtt` before it expires. In the draft and in Linux before 5.10 an equal one does: a flow that
//!   is alone on a path without jitter empties its queue in every cycle, so it never needs `ProbeRTT`. Since Linux 5.10
//!   only a smaller one does: without jitter none does, and `ProbeRTT` comes every 10 s;
//! - the quantum: one segment, or that of `bbr_tso_segs_goal`. Three quanta may be in flight beyond the model
//!   (`bbr_quantization_budget`).
//!
//! Named deviations:
//! - quantities are exact where Linux rounds to 1/256 or to milliseconds; both maximum filters are exact, that of the
//!   aggregation over 10 rounds (Linux: 5 to 10);
//! - no segmentation offload: segments are paced one by one, regardless of the quantum, and none is scheduled ahead of its
//!   departure, so pipe is what was sent;
//! - the first phase of `ProbeBW`, random in Linux, follows from the connection's history (`bbr/draw.rs`);
//! - any RTT replaces an expired `min_rtt`. Linux excepts that of a single packet shorter than a full segment, whose ACK
//!   may have been delayed (`FLAG_ACK_MAYBE_DELAYED`); here all packets have the same size;
//! - the RTT of a handshake counts from the first ACK on (`bbr_init_pacing_rate_from_rtt`);
//! - a sender with nothing in flight counts as restarting from idle, regardless of the reason;
//! - ECN marks are ignored, as in Linux; a spurious timeout (F-RTO) restores the whole state.

mod cycle;
mod policer;
mod probe_rtt;

use tmt_core::types::{Span, Time, to_f64};

use super::bbr::base::Base;
use super::bbr::{MIN_PIPE, PACING_MARGIN};
use super::{
    AckEvent, Cause, CongestionControl, CongestionEvent, Connection, Entry, Implementation,
    LostPacket, Make, MinRttRenewal, Parameter, Quantum, Values, Window,
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
    make: Make(|connection, parameters| Box::new(Bbr1::new(connection, parameters))),
};

/// `bbr_high_gain`, 2/ln 2.
const HIGH_GAIN: f64 = 2.0 / std::f64::consts::LN_2;

/// `bbr_bw_rtts`: length of the bandwidth filter, rounds.
const BW_ROUNDS: u64 = 10;

/// `bbr_extra_acked_max_us`: largest allowance for aggregation, in seconds at the bandwidth.
const AGGREGATION_TIME: f64 = 0.1;

/// `bbr_quantization_budget`: quanta that the two hosts hold.
const QUANTA: f64 = 3.0;

/// `bbr_tso_segs_goal`: seconds at the pacing rate that make a quantum (`sk_pacing_shift` = 10), and its limits: bytes
/// (`GSO_LEGACY_MAX_SIZE` less headers), and segments.
const QUANTUM_TIME: f64 = 1.0 / 1024.0;
const MAX_QUANTUM_BYTES: f64 = 65_215.0;
const MAX_QUANTUM: f64 = 127.0;

/// `bbr_min_tso_rate`, bytes per second: from here on a quantum is at least two segments.
const MIN_TSO_RATE: f64 = 150_000.0;

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
    /// Lifetime of `min_rtt`, seconds.
    min_rtt_age: f64,
    detects_policers: bool,
    /// Whether an RTT equal to `min_rtt` renews it.
    renews_by_equal: bool,
    /// Payload of a segment, bytes, if the quantum follows from the pacing rate.
    tso_payload: Option<f64>,
    mode: Mode,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    /// Index in the cycle of gains, its start time, and how many times `ProbeBW` was entered.
    phase: usize,
    phase_since: Time,
    cycles: u64,
    packet_conservation: bool,
    policer: Policer,
    /// Segments marked lost so far.
    lost: u64,
    last_ack: LastAck,
}

/// The last ACK processed.
#[derive(Debug, Clone, Copy, Default)]
struct LastAck {
    now: Time,
    /// Window before the ACK, segments.
    cwnd: f64,
    /// Window of packet conservation, segments.
    conserved: f64,
}

impl Bbr1 {
    fn new(connection: &Connection, parameters: &Values) -> Self {
        let Implementation {
            bbr_min_rtt,
            bbr_quantum,
            ..
        } = connection.implementation;
        Self {
            base: Base::new(connection.initial_window.into(), HIGH_GAIN * PACING_MARGIN),
            renews_by_equal: bbr_min_rtt == MinRttRenewal::Equal,
            tso_payload: (bbr_quantum == Quantum::Tso).then(|| to_f64(connection.payload.0)),
            cwnd_gain: parameters.number("cwnd-gain"),
            min_rtt_age: parameters.number("probe-rtt"),
            detects_policers: parameters.is_on("policer"),
            ..Self::default()
        }
    }

    /// Bandwidth estimate, segments per second.
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

    /// Window gain of the current mode.
    fn window_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw => self.cwnd_gain,
            Mode::ProbeRtt => 1.0,
        }
    }

    /// `bbr_bdp`: `gain` bandwidth-delay products, rounded up to segments.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        self.min_rtt.map_or(self.base.initial_window, |rtt| {
            (gain * bw * rtt.as_secs_f64()).ceil()
        })
    }

    /// Quantum, segments; `bbr_tso_segs_goal`.
    fn quantum(&self) -> f64 {
        self.tso_payload.map_or(1.0, |payload| {
            let rate = self.base.pacing_rate * payload;
            let least = if rate < MIN_TSO_RATE { 1.0 } else { 2.0 };
            let bytes = (QUANTUM_TIME * rate).min(MAX_QUANTUM_BYTES);
            (bytes / payload).floor().clamp(least, MAX_QUANTUM)
        })
    }

    /// `bbr_quantization_budget`: adds the segments that the hosts hold, up to an even number, and two more to probe.
    fn with_quanta(&self, segments: f64) -> f64 {
        let even = 2.0 * f64::midpoint(segments, QUANTA * self.quantum()).ceil();
        let probes = self.mode == Mode::ProbeBw && self.phase == 0;
        if probes { even + 2.0 } else { even }
    }

    /// `bbr_inflight`: volume in flight for `gain` bandwidth-delay products, segments.
    fn inflight(&self, gain: f64) -> f64 {
        self.with_quanta(self.bdp(self.base.max_bw.get(), gain))
    }

    fn update_bw(&mut self, ack: &AckEvent) {
        self.base.rounds.on_ack(ack);
        let Some(rate) = ack.rate else {
            return;
        };
        if self.base.rounds.round_start {
            self.packet_conservation = false;
        }
        self.update_policer(ack.now, ack.lost > 0, rate.app_limited);
        self.base
            .update_max_bw(&rate, self.base.rounds.count, BW_ROUNDS);
        self.base.aggregation.on_ack(
            (ack.now, ack.delivered),
            (self.bw(), self.base.cwnd),
            (&self.base.rounds, true),
        );
    }

    /// `bbr_check_drain`
    fn check_drain_done(&mut self, ack: &AckEvent) {
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
            if self.packet_conservation {
                self.base.cwnd = self.base.cwnd.max(self.last_ack.conserved);
            } else {
                let extra = self
                    .base
                    .aggregation
                    .extra_acked()
                    .min(AGGREGATION_TIME * self.bw());
                let extra = if self.base.full.reached { extra } else { 0.0 };
                let target = self.with_quanta(self.bdp(self.bw(), self.window_gain()) + extra);
                self.base.grow(ack.delivered, target);
            }
        }
        if self.in_probe_rtt() {
            self.base.cwnd = self.base.cwnd.min(MIN_PIPE);
        }
    }

    fn in_probe_rtt(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}

impl CongestionControl for Bbr1 {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.last_ack = LastAck {
            now: ack.now,
            cwnd: self.base.cwnd,
            conserved: to_f64(ack.pipe + ack.delivered),
        };
        self.update_bw(ack);
        self.update_phase(ack);
        if let Some(rate) = &ack.rate {
            self.base
                .check_full_bw_reached(rate, self.base.max_bw.get());
        }
        self.check_drain_done(ack);
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
        let found_by_ack = event.now == self.last_ack.now;
        match event.cause {
            Cause::Ecn => {}
            Cause::FastRetransmit => {
                // If a timer marked the packet lost, the last ACK describes another instant.
                let (cwnd, conserved) = if found_by_ack {
                    (self.last_ack.cwnd, self.last_ack.conserved)
                } else {
                    (self.base.cwnd, event.in_flight)
                };
                self.base.begin_recovery(cwnd, self.in_probe_rtt());
                self.packet_conservation = true;
                self.base.rounds.restart();
                self.base.cwnd = self.base.cwnd.min(conserved).max(1.0);
            }
            Cause::Timeout | Cause::RepeatedTimeout => {
                self.base
                    .begin_recovery(self.base.cwnd, self.in_probe_rtt());
                self.base.full.bw = 0.0;
                self.base.cwnd = 1.0;
                self.base.rounds.round_start = true;
                self.update_policer(event.now, true, false);
            }
        }
    }

    fn on_recovered(&mut self, _now: Time) {
        self.packet_conservation = false;
        self.base.end_recovery();
        if self.in_probe_rtt() {
            self.base.cwnd = self.base.cwnd.min(MIN_PIPE);
        }
    }

    fn on_restart(&mut self, now: Time) {
        self.base.restart(now);
        if self.mode == Mode::ProbeBw {
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
mod tests;
