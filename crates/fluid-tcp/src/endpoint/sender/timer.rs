//! The sender's timers: the retransmission timer (RFC 6298), or the timer of the tail loss probe in its place.

use tmt_core::types::Time;

use super::prr::Progress;
use super::{Phase, Sender, TimerOutcome};
use crate::congestion::Cause;
use crate::endpoint::CutFrom;

impl Sender {
    /// Restarts the timer: that of the tail loss probe if one may be sent, otherwise the retransmission timer.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    pub(super) fn restart_timer(&mut self, now: Time) {
        self.timer_restarted = now;
        self.deadline = (self.snd_nxt > self.snd_una)
            .then(|| self.arm_probe(now).or_else(|| self.rtt.deadline(now)))
            .flatten();
    }

    /// Acts on the timers that have expired at `now`.
    pub(super) fn on_expired(&mut self, now: Time) -> TimerOutcome {
        let mut outcome = TimerOutcome::Nothing;
        let rack_deadline = self.rack.as_ref().and_then(|rack| rack.deadline);
        if rack_deadline.is_some_and(|deadline| deadline <= now) {
            self.rack_detect_losses(now, false);
            outcome = TimerOutcome::Other;
            if self.phase == Phase::Open && self.detected_loss() {
                self.enter_recovery(now, Progress::NONE);
                self.restart_timer(now);
            } else if matches!(self.phase, Phase::Recovery { .. }) {
                // There may be no further ACK to allow the retransmission.
                self.update_prr(Progress::NONE);
                if self.pipe == 0 {
                    self.prr.allow_at_least_one(self.pipe);
                }
            }
        }
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return outcome;
        }
        if self.on_probe_timer() {
            self.deadline = self.rtt.deadline(now);
            return TimerOutcome::Other;
        }
        self.on_timeout(now);
        TimerOutcome::Timeout
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        self.events.timeouts += 1;
        let in_loss = matches!(self.phase, Phase::Loss { .. });
        let first = self.first_outstanding();
        let keeps_threshold = match self.endpoint.cut_from {
            CutFrom::Flight => in_loss && first.is_some_and(|o| o.transmissions > 1),
            CutFrom::Window => false,
            // The recovery has cut it.
            CutFrom::Cwnd if matches!(self.phase, Phase::Recovery { .. }) => true,
            CutFrom::Cwnd => in_loss && self.timeouts_in_row > 0,
        };
        self.timeouts_in_row += 1;
        let cause = if keeps_threshold {
            Cause::RepeatedTimeout
        } else {
            Cause::Timeout
        };
        let in_flight = self.cut_basis();
        self.rtt.back_off();
        self.start_f_rto();
        self.cut(now, in_flight, cause);
        self.begin_phase(Phase::Loss {
            recovery_point: self.snd_nxt,
        });
        self.recover = Some(self.snd_nxt);
        self.dupacks = 0;
        self.inflation = 0.0;
        self.retransmit = None;
        if self.endpoint.sack {
            // Everything that is not SACKed counts as lost (RFC 6675, Sec. 5.1).
            self.mark_lost(self.snd_una, self.snd_nxt, true);
        } else {
            self.send_cursor = self.snd_una;
        }
        self.deadline = self.rtt.deadline(now);
    }

    /// Arms the timer for a packet sent `now`. A running retransmission timer continues.
    pub(super) fn arm_timer_after_send(&mut self, now: Time) {
        let was_armed = self.tail_probe.armed;
        match self.arm_probe(now) {
            Some(probe) => self.deadline = Some(probe),
            None if was_armed || self.deadline.is_none() => self.deadline = self.rtt.deadline(now),
            None => {}
        }
    }
}
