//! State and rules that both versions of BBR share.

use tmt_core::types::{Span, Time, to_f64};

use super::aggregation::Aggregation;
use super::filter::MaxFilter;
use super::rounds::Rounds;
use super::{MIN_PIPE, NOMINAL_RTT, PACING_MARGIN};
use crate::congestion::{AckEvent, RateSample};

/// Shortest time for which `ProbeRTT` holds its window.
const PROBE_RTT_DURATION: Span = Span::from_millis(200);

/// Growth of the bandwidth that restarts the search for a plateau, and rounds without it that make a plateau.
const GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// The estimator of a full pipe.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct FullPipe {
    /// Bandwidth when it last grew by a quarter, segments per second, and rounds since then.
    pub(in super::super) bw: f64,
    rounds: u32,
    /// The pipe is full now: there was a plateau since the last reset.
    pub(in super::super) now: bool,
    /// The pipe has been full at least once.
    pub(in super::super) reached: bool,
}

impl FullPipe {
    /// `BBRResetFullBW`, starting from the delivery rate `bw`.
    pub(in super::super) fn reset(&mut self, bw: f64) {
        self.bw = bw;
        self.rounds = 0;
        self.now = false;
    }
}

/// State that both versions share.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Base {
    pub(in super::super) initial_window: f64,
    pub(in super::super) cwnd: f64,
    pub(in super::super) pacing_rate: f64,
    has_seen_rtt: bool,
    pub(in super::super) rounds: Rounds,
    pub(in super::super) max_bw: MaxFilter,
    pub(in super::super) full: FullPipe,
    pub(in super::super) aggregation: Aggregation,
    /// The sender has restarted from idle (`BBR.idle_restart`).
    pub(in super::super) idle_restart: bool,
    pub(in super::super) in_recovery: bool,
    /// `prior_cwnd`: the last window outside recovery and `ProbeRTT`.
    prior_cwnd: f64,
    /// Time at which `ProbeRTT` may end, and whether a round has passed; `None` before its volume is reached.
    pub(in super::super) probe_rtt: Option<(Time, bool)>,
}

impl Base {
    /// Creates the state before the first RTT sample; paces at `gain` windows per nominal RTT.
    pub(in super::super) fn new(initial_window: f64, gain: f64) -> Self {
        Self {
            initial_window,
            cwnd: initial_window,
            pacing_rate: gain * initial_window / NOMINAL_RTT,
            ..Self::default()
        }
    }

    /// Adds a rate sample to the bandwidth filter of `window` instants. An application-limited sample counts only if it
    /// raises the estimate.
    pub(in super::super) fn update_max_bw(&mut self, rate: &RateSample, now: u64, window: u64) {
        if !rate.app_limited || rate.rate() >= self.max_bw.get() {
            self.max_bw.update(now, window, rate.rate());
        }
    }

    /// `BBRCheckFullBWReached`, `bbr_check_full_bw_reached`, with the bandwidth `bw` as of this sample.
    pub(in super::super) fn check_full_bw_reached(&mut self, rate: &RateSample, bw: f64) {
        let full = &mut self.full;
        if rate.app_limited || full.now || !self.rounds.round_start {
            return;
        }
        if bw >= full.bw * GROWTH {
            full.reset(bw);
            return;
        }
        full.rounds += 1;
        full.now = full.rounds >= FULL_ROUNDS;
        full.reached |= full.now;
    }

    /// Paces at `gain` windows per RTT after the first RTT sample, which counts as at least 1 µs.
    pub(in super::super) fn on_first_rtt(&mut self, ack: &AckEvent, gain: f64, window: f64) {
        if let Some(srtt) = ack.srtt.filter(|_| !self.has_seen_rtt) {
            self.has_seen_rtt = true;
            self.pacing_rate = gain * window / srtt.as_secs_f64().max(1e-6);
        }
    }

    /// `BBRSetPacingRateWithGain`, `bbr_set_pacing_rate`
    pub(in super::super) fn set_pacing_rate(&mut self, gain: f64, bw: f64) {
        let rate = gain * PACING_MARGIN * bw;
        if rate > 0.0 && (self.full.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// Grows the window by the segments delivered; up to `target` once the pipe has been full.
    pub(in super::super) fn grow(&mut self, delivered: u64, target: f64) {
        let early = to_f64(self.rounds.delivered) < self.initial_window;
        let grown = self.cwnd + to_f64(delivered);
        if self.full.reached {
            self.cwnd = grown.min(target);
        } else if self.cwnd < target || early {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(MIN_PIPE);
    }

    /// `BBRSaveCwnd`, `bbr_save_cwnd`: saves `cwnd`. In recovery and in `ProbeRTT`, only if it is above the saved one.
    pub(in super::super) fn save_cwnd(&mut self, cwnd: f64, in_probe_rtt: bool) {
        let good = !self.in_recovery && !in_probe_rtt;
        let known = if good { 0.0 } else { self.prior_cwnd };
        self.prior_cwnd = known.max(cwnd);
    }

    /// `BBRRestoreCwnd`
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// Begins a recovery; `cwnd` is the window before the loss.
    pub(in super::super) fn begin_recovery(&mut self, cwnd: f64, in_probe_rtt: bool) {
        self.save_cwnd(cwnd, in_probe_rtt);
        self.in_recovery = true;
    }

    /// Ends a recovery and restores the window before it.
    pub(in super::super) fn end_recovery(&mut self) {
        self.in_recovery = false;
        self.restore_cwnd();
    }

    /// Notes that the sender restarts with nothing in flight.
    pub(in super::super) fn restart(&mut self, now: Time) {
        self.idle_restart = true;
        self.aggregation.restart(now);
    }

    /// `BBRHandleProbeRTT`: holds `volume` segments for a time and a round. Returns whether `ProbeRTT` has just ended.
    pub(in super::super) fn handle_probe_rtt(&mut self, ack: &AckEvent, volume: f64) -> bool {
        if let Some((_, round_done)) = &mut self.probe_rtt {
            *round_done |= self.rounds.round_start;
            return *round_done && self.check_probe_rtt_done(ack.now);
        }
        if to_f64(ack.pipe) <= volume {
            self.probe_rtt = Some((ack.now.saturating_add(PROBE_RTT_DURATION), false));
            self.rounds.restart();
        }
        false
    }

    /// `BBRCheckProbeRTTDone`: returns whether `ProbeRTT` is over, and then restores the window before it.
    pub(in super::super) fn check_probe_rtt_done(&mut self, now: Time) -> bool {
        let ends = self.probe_rtt.is_some_and(|(until, _)| now > until);
        if ends {
            self.probe_rtt = None;
            self.restore_cwnd();
        }
        ends
    }
}
