//! How Startup and Drain end (Sec. 5.3.1, Sec. 5.3.2).

use tmt_core::types::to_f64;

use super::{Bbr, State};
use crate::congestion::{AckEvent, RateSample};

/// Ranges that must be lost in a round to leave Startup (`BBRStartupFullLossCnt`).
const FULL_LOSSES: u32 = 6;

/// Rounds after which Drain ends in any case.
const DRAIN_ROUNDS: u64 = 3;

impl Bbr {
    /// `BBRCheckStartupDone`, including the loss criterion of Sec. 5.3.1.3.
    pub(super) fn check_startup_done(&mut self, rate: Option<&RateSample>) {
        if self.signals.loss_round_start {
            let lossy = rate
                .zip(self.signals.recovery)
                .is_some_and(|(rate, recovery)| {
                    // A full round of the recovery has passed.
                    rate.prior_delivered >= recovery
                        && self.is_inflight_too_high(rate.lost, rate.in_flight_at_send)
                });
            self.signals.last_lost = None;
            let ranges = std::mem::take(&mut self.signals.ranges);
            if self.state == State::Startup && lossy && ranges >= FULL_LOSSES {
                self.base.full.reached = true;
                let bdp = self.bdp(self.bw(), 1.0);
                self.bounds.inflight_longterm = bdp.max(self.signals.inflight_latest);
            }
        }
        if self.state == State::Startup && self.base.full.reached {
            self.state = State::Drain;
            self.drain_round = self.base.rounds.count;
        }
    }

    /// `BBRCheckDrainDone`
    pub(super) fn check_drain_done(&mut self, ack: &AckEvent) {
        let drained = to_f64(ack.pipe) <= self.with_quanta(self.bdp(self.bw(), 1.0));
        let late = self.base.rounds.count > self.drain_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (drained || late) {
            self.start_probe_bw_down();
        }
    }
}
