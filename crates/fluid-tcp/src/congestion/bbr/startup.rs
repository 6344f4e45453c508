//! Startup and Drain (§5.3.1, §5.3.2), and whether the pipe is full.

use tmt_core::types::to_f64;

use super::{Bbr, State};
use crate::congestion::{AckEvent, RateSample};

/// Growth of the delivery rate that tells that there may be more, and round trips without it that tell that there is
/// none (§5.3.1.2).
const GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// Ranges that must be lost in a round trip to leave Startup (`BBRStartupFullLossCnt`).
const FULL_LOSSES: u32 = 6;

/// Round trips after which Drain ends, whatever is in flight.
const DRAIN_ROUNDS: u64 = 3;

/// The estimator of a full pipe.
#[derive(Debug, Clone, Default)]
pub(super) struct FullPipe {
    /// Delivery rate when it last grew by a quarter, segments a second, and round trips since.
    bw: f64,
    rounds: u32,
    /// It is full now: told by a plateau of the rate since the last reset.
    pub(super) now: bool,
    /// It has been, at some time.
    pub(super) reached: bool,
}

impl FullPipe {
    /// `BBRResetFullBW`, from this delivery rate on.
    pub(super) fn reset(&mut self, bw: f64) {
        self.bw = bw;
        self.rounds = 0;
        self.now = false;
    }
}

impl Bbr {
    /// `BBRCheckFullBWReached`
    pub(super) fn check_full(&mut self, rate: Option<&RateSample>) {
        let Some(rate) = rate.filter(|rate| !rate.app_limited) else {
            return;
        };
        if self.full.now || !self.rounds.starts {
            return;
        }
        if rate.rate() >= self.full.bw * GROWTH {
            self.full.reset(rate.rate());
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= FULL_ROUNDS;
        self.full.reached |= self.full.now;
    }

    /// `BBRCheckStartupDone`, with §5.3.1.3.
    pub(super) fn check_startup_loss(&mut self, rate: Option<&RateSample>) {
        if self.signals.round_starts {
            let lossy = rate.is_some_and(|rate| {
                self.signals.recovers_since_before(rate) && self.is_too_high(rate)
            });
            let ranges = self.signals.take_ranges();
            if self.state == State::Startup && lossy && ranges >= FULL_LOSSES {
                self.full.reached = true;
                let bdp = self.bdp(self.bw(), 1.0);
                self.bounds.inflight_longterm = bdp.max(self.signals.inflight_latest);
            }
        }
        if self.state == State::Startup && self.full.reached {
            self.state = State::Drain;
            self.drain_round = self.rounds.count;
        }
    }

    /// `BBRCheckDrainDone`
    pub(super) fn check_drain(&mut self, ack: &AckEvent) {
        let drained = to_f64(ack.pipe) <= self.with_quanta(self.bdp(self.bw(), 1.0));
        let late = self.rounds.count > self.drain_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (drained || late) {
            self.start_down();
        }
    }
}
