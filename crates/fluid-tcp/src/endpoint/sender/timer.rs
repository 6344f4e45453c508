//! The sender's timers: the retransmission timeout (RFC 6298), and in its place the tail loss probe.

use tmt_core::types::Time;

use super::{Phase, Sender, TimerOutcome};
use crate::congestion::Cause;
use crate::endpoint::CutFrom;

impl Sender {
    /// Starts the timer anew, of the tail loss probe where one may be sent.
    pub(super) fn arm(&mut self, now: Time) {
        self.deadline = (self.high > self.una)
            .then(|| self.probe_due(now).or_else(|| self.rtt.deadline(now)))
            .flatten();
    }

    /// A timer may have expired; what came of it.
    pub fn on_timer(&mut self, now: Time) -> TimerOutcome {
        let mut outcome = TimerOutcome::Nothing;
        let overdue = self.rack.as_ref().and_then(|rack| rack.deadline);
        if overdue.is_some_and(|deadline| deadline <= now) {
            self.find_overdue(now, false);
            outcome = TimerOutcome::Other;
            if self.phase == Phase::Open && self.finds_loss() {
                self.enter_recovery(now, 0);
                self.arm(now);
            } else if matches!(self.phase, Phase::Recovery { .. }) {
                // No acknowledgement may come to let out what was found lost.
                self.in_recovery(0);
                if self.pipe == 0 {
                    self.prr.allow_at_least_one();
                }
            }
        }
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return outcome;
        }
        if self.sends_probe() {
            self.deadline = self.rtt.deadline(now);
            return TimerOutcome::Other;
        }
        self.on_timeout(now);
        TimerOutcome::Timeout
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        self.events.timeouts += 1;
        let again = matches!(self.phase, Phase::Loss { .. })
            && self.outstanding.front().is_some_and(|o| o.copies > 1);
        let cause = match self.endpoint.cut_from {
            CutFrom::Flight if again => Cause::RepeatedTimeout,
            _ => Cause::Timeout,
        };
        let in_flight = self.cut_basis();
        self.rtt.back_off();
        self.doubt_timeout();
        self.cut(now, in_flight, cause);
        self.begin(Phase::Loss { point: self.high });
        self.recover = Some(self.high);
        self.dupacks = 0;
        self.inflation = 0.0;
        self.retransmit = None;
        if self.endpoint.sack {
            // Everything that is not known to have arrived is lost (RFC 6675 §5.1).
            self.lose(self.una, self.high, true);
        } else {
            self.nxt = self.una;
        }
        self.deadline = self.rtt.deadline(now);
    }

    /// The timer for what was just sent; a timeout that runs goes on.
    pub(super) fn arm_for_sent(&mut self, now: Time) {
        let waited = self.tail_probe.waits;
        match self.probe_due(now) {
            Some(probe) => self.deadline = Some(probe),
            None if waited || self.deadline.is_none() => self.deadline = self.rtt.deadline(now),
            None => {}
        }
    }
}
