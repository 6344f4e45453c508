//! Lost feedback, and the timer that then causes a round (docs/schemes.md, Sec. 10.6).
//!
//! The receiver reports an attempt after its last unit. If the report is lost, a timer that started with that unit
//! expires, and the sender starts a round even if the attempt was enough. There is one draw per attempt, in the order in
//! which attempts are judged.

use super::Engine;
use super::block::GridPosition;
use super::lldu_ring::WaitingLldu;
use super::repeats::{Codeword, RepeatTarget};
use crate::channel::Channel;
use crate::types::{ErrorKind, Span, Time};

/// Loss of feedback on a link, and the timer against it.
#[derive(Debug, Clone)]
pub struct FeedbackLoss {
    /// Process that loses feedback, one draw per attempt of a codeword.
    pub loss: Channel,
    /// Time from the last unit of an attempt to the repeat if no feedback arrives; at least RTT + fb.
    pub timer: Span,
}

/// A decoded codeword of which the sender has heard, so that it needs no further round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledged {
    /// Number of the codeword, as in [`Settled`](super::Settled).
    pub codeword: u64,
    /// Time at which the feedback of the last unit of its attempt arrives: transmission time + RTT + fb. If that feedback
    /// was lost and no round is left, the time at which the timer expires.
    pub at: Time,
}

/// State of feedback loss in the engine.
#[derive(Debug)]
pub(super) struct Feedback {
    pub(super) rules: FeedbackLoss,
    /// Whether the first attempt that the current unit ends failed, and its draw was made.
    failed: bool,
    /// Whether the feedback of that attempt is lost.
    pub(super) lost: bool,
    acknowledged: Vec<Acknowledged>,
}

impl Engine {
    /// The same engine on a link that loses feedback. Requires [`Self::reporting_settled`].
    #[must_use]
    pub fn with_feedback_loss(mut self, rules: FeedbackLoss) -> Self {
        self.feedback = Some(Box::new(Feedback {
            rules,
            failed: false,
            lost: false,
            acknowledged: Vec::new(),
        }));
        self
    }

    /// Drains the codewords acknowledged since the last call. Empty without [`Self::with_feedback_loss`].
    pub fn take_acknowledged(&mut self) -> impl Iterator<Item = Acknowledged> {
        let feedback = self.feedback.iter_mut();
        feedback.flat_map(|feedback| feedback.acknowledged.drain(..))
    }

    /// Handles the feedback of a first attempt that decoded its codeword; does nothing if the attempt failed.
    pub(super) fn first_attempt_decoded(
        &mut self,
        place: GridPosition,
        now: Time,
    ) -> Result<(), ErrorKind> {
        let Some(feedback) = &mut self.feedback else {
            return Ok(());
        };
        if std::mem::take(&mut feedback.failed) {
            return Ok(());
        }
        let codeword = self.block.codeword(place.column);
        let lost = feedback.rules.loss.erases();
        if !lost || self.gives_up_after(0) {
            self.acknowledge(codeword, lost, now);
            return Ok(());
        }
        let (data_units, units) = self.block.shape(place.column);
        let id = self.codewords.insert(Codeword {
            number: codeword,
            data_units,
            units,
            rounds_used: 0,
            decoded: true,
            waiting: WaitingLldu::NONE,
            arrivals: Vec::new(),
        });
        self.repeat_after_timer(id, now)
    }

    /// Handles the feedback of a later attempt, ended at `now`, of a codeword that is decoded.
    pub(super) fn attempt_decoded(&mut self, id: usize, now: Time) -> Result<(), ErrorKind> {
        let lost = self
            .feedback
            .as_mut()
            .is_some_and(|feedback| feedback.rules.loss.erases());
        if lost && !self.gives_up_after(self.codewords[id].rounds_used) {
            let codeword = &mut self.codewords[id];
            codeword.decoded = true;
            codeword.waiting = WaitingLldu::NONE;
            return self.repeat_after_timer(id, now);
        }
        let number = self.codewords.remove(id).number;
        self.acknowledge(number, lost, now);
        Ok(())
    }

    /// Draws whether the feedback of a failed attempt is lost.
    pub(super) fn draw_feedback_loss(&mut self, first: bool) {
        if let Some(feedback) = &mut self.feedback {
            feedback.lost = feedback.rules.loss.erases();
            feedback.failed |= first;
        }
    }

    /// Schedules the round for the expiry of a timer that starts at `now`: one unit plus NS, or the whole codeword in frame
    /// ARQ.
    pub(super) fn repeat_after_timer(&mut self, id: usize, now: Time) -> Result<(), ErrorKind> {
        let timer = self.feedback.as_ref().map(|feedback| feedback.rules.timer);
        let ready = ready_after(now, timer)?;
        let codeword = &mut self.codewords[id];
        if self.scheme.discards() || codeword.decoded {
            codeword.arrivals.clear();
        }
        let units = if self.scheme.discards() {
            codeword.units
        } else {
            1 + self.scheme.extra
        };
        codeword.rounds_used = codeword.rounds_used.saturating_add(1);
        self.repeats.push(ready, RepeatTarget::Codeword(id), units);
        Ok(())
    }

    /// Reports a codeword whose feedback arrived, or was lost with no round left.
    fn acknowledge(&mut self, codeword: u64, lost: bool, now: Time) {
        if let Some(feedback) = &mut self.feedback {
            let timer = Some(feedback.rules.timer);
            let after = if lost { timer } else { self.repeat_after };
            // No repeat follows, so a time above the limit is not an error.
            let at = after.and_then(|after| now.checked_add(after));
            let at = at.unwrap_or(Time::MAX);
            feedback.acknowledged.push(Acknowledged { codeword, at });
        }
    }
}

/// Time at which a repeat requested at `now` is ready.
pub(super) fn ready_after(now: Time, after: Option<Span>) -> Result<Time, ErrorKind> {
    after
        .and_then(|after| now.checked_add(after))
        .ok_or(ErrorKind::SumTooLarge {
            sum: "tx_time + RTT + feedback delay",
        })
}
