//! The sender's timers: the retransmission timeout (RFC 6298), and in its place the tail loss probe.

use tmt_core::types::Time;

use super::{Phase, Sender, TimerOutcome};
use crate::congestion::Cause;
use crate::endpoint::CutFrom;

impl Sender {
    /// Starts the timer anew, of the tail loss probe where one may be sent.
    pub(super) fn restart_timer(&mut self, now: Time) {
        self.deadline = (self.snd_nxt > self.snd_una)
            .then(|| self.arm_probe(now).or_else(|| self.rtt.deadline(now)))
            .flatten();
    }

    /// A timer may have expired; what came of it.
    pub fn on_timer(&mut self, now: Time) -> TimerOutcome {
        let mut outcome = TimerOutcome::Nothing;
        let rack_deadline = self.rack.as_ref().and_then(|rack| rack.deadline);
        if rack_deadline.is_some_and(|deadline| deadline <= now) {
            self.rack_detect_losses(now, false);
            outcome = TimerOutcome::Other;
            if self.phase == Phase::Open && self.detected_loss() {
                self.enter_recovery(now, 0);
                self.restart_timer(now);
            } else if matches!(self.phase, Phase::Recovery { .. }) {
                // No acknowledgement may come to let out what was found lost.
                self.update_prr(0);
                if self.pipe == 0 {
                    self.prr.allow_at_least_one();
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
        let repeated = matches!(self.phase, Phase::Loss { .. })
            && self
                .outstanding
                .front()
                .is_some_and(|o| o.transmissions > 1);
        let cause = match self.endpoint.cut_from {
            CutFrom::Flight if repeated => Cause::RepeatedTimeout,
            _ => Cause::Timeout,
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
            // Everything that is not known to have arrived is lost (RFC 6675, Sec. 5.1).
            self.mark_lost(self.snd_una, self.snd_nxt, true);
        } else {
            self.send_cursor = self.snd_una;
        }
        self.deadline = self.rtt.deadline(now);
    }

    /// The timer for what was just sent; a timeout that runs goes on.
    pub(super) fn arm_timer_after_send(&mut self, now: Time) {
        let waited = self.tail_probe.armed;
        match self.arm_probe(now) {
            Some(probe) => self.deadline = Some(probe),
            None if waited || self.deadline.is_none() => self.deadline = self.rtt.deadline(now),
            None => {}
        }
    }
}
