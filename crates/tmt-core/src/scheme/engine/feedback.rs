//! Feedback that is lost on its way to the sender, and the timer that then has units sent again.
//!
//! The feedback of an attempt is told by its last unit. Where it is lost the sender learns nothing: a timer that began
//! with that unit expires, and what the sender then repeats is a round like any other, though the attempt may have
//! been enough. Draws are made in the order in which attempts are judged, one each.

use super::Engine;
use super::block::GridPosition;
use super::lldu_ring::WaitingLldu;
use super::repeats::{Codeword, RepeatTarget};
use crate::channel::Channel;
use crate::types::{ErrorKind, Span, Time};

/// How a link loses feedback, and what it does about it.
#[derive(Debug, Clone)]
pub struct FeedbackLoss {
    /// Loses feedback, one draw an attempt of a codeword.
    pub loss: Channel,
    /// From an attempt's last unit to the repeat where nothing was heard; RTT + fb or more.
    pub timer: Span,
}

/// The sender is done with a codeword that was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledged {
    /// Number of the codeword, as in [`Settled`](super::Settled).
    pub codeword: u64,
    /// When the feedback came that told so, as far as it depends on the last unit of an attempt: that unit's time,
    /// RTT and fb; or the last timer, where no round is left to ask with.
    pub at: Time,
}

/// What a engine keeps for it.
#[derive(Debug)]
pub(super) struct Feedback {
    pub(super) rules: FeedbackLoss,
    /// Whether the first attempt that the unit ends was judged not to be enough, and drawn for.
    failed: bool,
    /// Whether the feedback of that one is lost.
    pub(super) lost: bool,
    acknowledged: Vec<Acknowledged>,
}

impl Engine {
    /// The same engine on a link that loses feedback; only for one that is reports_settled.
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

    /// Codewords whose sender is done with them, told since this was asked last; none on a link that loses no feedback.
    pub fn take_acknowledged(&mut self) -> impl Iterator<Item = Acknowledged> {
        let feedback = self.feedback.iter_mut();
        feedback.flat_map(|feedback| feedback.acknowledged.drain(..))
    }

    /// The end of a first attempt, which was enough unless something else was noted.
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

    /// A codeword that was decoded, in this attempt or before, ends an attempt at `now`.
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

    /// Draws for an attempt that was not enough, the `first` or a later one.
    pub(super) fn draw_feedback_loss(&mut self, first: bool) {
        if let Some(feedback) = &mut self.feedback {
            feedback.lost = feedback.rules.loss.erases();
            feedback.failed |= first;
        }
    }

    /// The timer of a codeword expires, which began at `now`: a round that asks for one unit, or for the frame.
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

    /// Tells of a codeword whose feedback came through, or was lost and is not waited for.
    fn acknowledge(&mut self, codeword: u64, lost: bool, now: Time) {
        if let Some(feedback) = &mut self.feedback {
            let timer = Some(feedback.rules.timer);
            let after = if lost { timer } else { self.repeat_after };
            // Where no repeat is ever asked for, no time of feedback is too late.
            let at = after.and_then(|after| now.checked_add(after));
            let at = at.unwrap_or(Time::MAX);
            feedback.acknowledged.push(Acknowledged { codeword, at });
        }
    }
}

/// When a repeat is ready that waits for so long.
pub(super) fn ready_after(now: Time, after: Option<Span>) -> Result<Time, ErrorKind> {
    after
        .and_then(|after| now.checked_add(after))
        .ok_or(ErrorKind::SumTooLarge {
            sum: "tx_time + RTT + feedback delay",
        })
}
