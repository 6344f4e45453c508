//! Fast recovery, with SACK or without: when it begins, what it cuts, when it ends.

use tmt_core::types::Time;

use super::prr::Prr;
use super::tlp::TailProbe;
use super::{DUP_THRESHOLD, Phase, Sender};
use crate::congestion::Cause;
use crate::endpoint::Recovery;
use tmt_core::math::num::floor_u64;

impl Sender {
    /// Whether what is known calls for a fast retransmit.
    pub(super) fn finds_loss(&self) -> bool {
        if self.high == self.una {
            return false;
        }
        if self.endpoint.sack {
            return self.una < self.lost_below && (self.rack.is_none() || self.any_lost());
        }
        self.dupacks >= DUP_THRESHOLD && self.recover.is_none_or(|point| self.una > point)
    }

    /// A recovery begins, after duplicates or a timeout: what was measured and counted before tells nothing any more.
    pub(super) fn begin(&mut self, phase: Phase) {
        self.note_reduction();
        self.phase = phase;
        self.limited = 0;
        self.timed = None;
        self.tail_probe = TailProbe::default();
        self.rtx_cursor = self.una;
        self.extra_cursor = self.una;
    }

    pub(super) fn enter_recovery(&mut self, now: Time, delivered: u64) {
        self.events.fast_recoveries += 1;
        let outstanding = self.high - self.una;
        // A mark of the same round trip has cut the window already (RFC 3168 §6.1.2).
        if !self.endpoint.ecn || self.una >= self.reduced_at {
            self.cut(now, self.cut_basis(), Cause::FastRetransmit);
        }
        self.begin(Phase::Recovery { point: self.high });
        // Where the first partial acknowledgement ends a recovery, duplicates may start the next at once.
        if self.cc.recovers_by_partial() {
            self.recover = Some(self.high);
        }
        self.seen_partial = false;
        if self.follows_prr() {
            self.prr = Prr::begin(outstanding);
            self.in_recovery(delivered);
            self.prr.allow_at_least_one();
        } else {
            // With SACK the packet may have been sent again already, in the recovery before this one; what was found
            // lost by time need not be the first.
            let first = self.outstanding.front();
            let urgent = !self.endpoint.sack
                || first.is_some_and(|o| !o.again && (o.lost || self.rack.is_none()));
            self.retransmit = urgent.then_some(self.una);
        }
        if !self.endpoint.sack {
            self.inflation = f64::from(DUP_THRESHOLD);
        }
    }

    /// A fast recovery, or one after a timeout, is over.
    pub(super) fn leave_recovery(&mut self, now: Time) {
        self.phase = Phase::Open;
        self.dupacks = 0;
        self.inflation = 0.0;
        self.retransmit = None;
        if let Some(rack) = &mut self.rack {
            rack.on_recovered();
        }
        self.cc.on_recovered(now);
    }

    /// Whether proportional rate reduction says what a recovery sends.
    pub(super) fn follows_prr(&self) -> bool {
        self.endpoint.sack && self.endpoint.recovery == Recovery::Prr && !self.governed
    }

    /// Proportional rate reduction's share of an acknowledgement in recovery.
    pub(super) fn in_recovery(&mut self, delivered: u64) {
        if self.follows_prr() {
            let ssthresh = floor_u64(self.cc.cwnd());
            self.prr.on_ack(delivered, self.pipe, ssthresh);
        }
    }
}
