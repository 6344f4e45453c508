//! Fast recovery, with or without SACK: when it begins, what it cuts, when it ends.

use tmt_core::types::Time;

use super::prr::{Progress, Prr};
use super::tlp::TailProbe;
use super::{DUP_THRESH, Phase, Sender};
use crate::congestion::Cause;
use crate::endpoint::{CutFrom, Recovery, TimerRestart};
use tmt_core::math::num::floor_u64;

impl Sender {
    /// Whether the sender has detected a loss that calls for a fast retransmit.
    pub(super) fn detected_loss(&self) -> bool {
        if self.snd_nxt == self.snd_una {
            return false;
        }
        if self.endpoint.sack {
            return self.snd_una < self.lost_below
                && (self.rack.is_none() || self.has_lost_packet());
        }
        self.dupacks >= DUP_THRESH && self.recover.is_none_or(|point| self.snd_una > point)
    }

    /// Begins a recovery after a detected loss or a timeout: resets cursors, the tail loss probe and running
    /// measurements.
    pub(super) fn begin_phase(&mut self, phase: Phase) {
        self.note_window_reduction();
        self.phase = phase;
        self.limited_transmits = 0;
        self.timed_packet = None;
        self.tail_probe = TailProbe::default();
        self.rtx_cursor = self.snd_una;
        self.rule_3_cursor = self.snd_una;
    }

    /// Begins a recovery because of an ACK. Returns whether the timer restarts: in Linux only the retransmission of the first
    /// outstanding packet restarts it.
    pub(super) fn begin_recovery(&mut self, now: Time, progress: Progress) -> bool {
        let armed = self.tail_probe.armed;
        self.enter_recovery(now, progress);
        let restarts = self.endpoint.timer_restart == TimerRestart::Acked;
        if armed && !restarts {
            // No probe is sent in a recovery. The retransmission timer runs since the last restart.
            let due = self.rtt.deadline(self.timer_restarted);
            self.deadline = due.map(|due| due.max(now));
        }
        restarts
    }

    /// Begins the next recovery with the ACK that ends one. A control with a window of its own sees neither end nor begin,
    /// since in Linux the state is the same before and after the ACK (`bbr_set_cwnd_to_recover_or_restore`). Returns whether
    /// the timer restarts.
    pub(super) fn prolong_recovery(&mut self) -> bool {
        self.events.fast_recoveries += 1;
        if let Some(rack) = &mut self.rack {
            rack.on_recovered();
        }
        self.save_undo();
        self.begin_phase(Phase::Recovery {
            recovery_point: self.snd_nxt,
        });
        self.endpoint.timer_restart == TimerRestart::Acked
    }

    pub(super) fn enter_recovery(&mut self, now: Time, progress: Progress) {
        self.events.fast_recoveries += 1;
        let recover_fs = self.recover_fs(progress.delivered);
        self.save_undo();
        // An ECE of the same round trip may have cut the window already (RFC 3168, Sec. 6.1.2).
        if !self.endpoint.ecn || self.snd_una >= self.ecn_recovery_point {
            self.cut(now, self.cut_basis(), Cause::FastRetransmit);
        }
        self.begin_phase(Phase::Recovery {
            recovery_point: self.snd_nxt,
        });
        // If the first partial ACK ends a recovery (Reno), duplicate ACKs may start the next one at once.
        if self.cc.uses_newreno_recovery() {
            self.recover = Some(self.snd_nxt);
        }
        self.seen_partial = false;
        if self.uses_prr() {
            self.prr = Prr::begin(recover_fs);
            // A timer, or an ACK that delivers nothing, begins a recovery as if it had delivered a packet
            // (`tcp_rack_reo_timeout`).
            let delivered = progress.delivered.max(1);
            self.update_prr(match self.endpoint.recovery {
                Recovery::Prr9937 => Progress {
                    delivered,
                    ..progress
                },
                Recovery::Prr | Recovery::Halving => progress,
            });
            self.prr.allow_at_least_one(self.pipe);
        } else if self.endpoint.force_retransmit || !self.cc_controls_recovery {
            // With SACK, the previous recovery may have retransmitted the packet already. With RACK, the lost packet
            // need not be the first.
            let first = self.first_outstanding();
            let urgent = !self.endpoint.sack
                || first.is_some_and(|o| !o.retransmitted && (o.lost || self.rack.is_none()));
            self.retransmit = urgent.then_some(self.snd_una);
        }
        if !self.endpoint.sack {
            self.inflation = f64::from(DUP_THRESH);
        }
    }

    /// Ends a fast recovery, or the recovery after a timeout.
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

    /// Whether PRR limits what a recovery sends.
    pub(super) fn uses_prr(&self) -> bool {
        self.endpoint.sack
            && self.endpoint.recovery != Recovery::Halving
            && !self.cc_controls_recovery
    }

    /// `RecoverFS` of PRR for a recovery that begins with an ACK which newly reports `delivered` packets. Call before the
    /// cut.
    fn recover_fs(&self, delivered: u64) -> u64 {
        let outstanding = self.snd_nxt - self.snd_una;
        match (self.endpoint.recovery, self.endpoint.cut_from) {
            // As in Linux, ssthresh is a share of the same quantity.
            (Recovery::Prr9937, CutFrom::Cwnd) => floor_u64(self.cc.cwnd()),
            // RFC 9937, Sec. 6: without what was SACKed before this ACK.
            (Recovery::Prr9937, _) => outstanding - self.sacked_count + delivered,
            (Recovery::Prr | Recovery::Halving, _) => outstanding,
        }
    }

    /// Updates PRR with what an ACK in recovery reports.
    pub(super) fn update_prr(&mut self, progress: Progress) {
        self.update_prr_to(progress, floor_u64(self.cc.cwnd()));
    }

    /// The same with this threshold, in segments.
    #[expect(
        clippy::inline_always,
        reason = "every ACK of a long recovery takes this way"
    )]
    #[inline(always)]
    pub(super) fn update_prr_to(&mut self, progress: Progress, ssthresh: u64) {
        if self.uses_prr() {
            match self.endpoint.recovery {
                Recovery::Prr9937 => self.prr.on_ack_9937(progress, self.pipe, ssthresh),
                Recovery::Prr | Recovery::Halving => {
                    self.prr.on_ack(progress, self.pipe, ssthresh);
                }
            }
        }
    }
}
