//! Lost feedback, and the timer that then causes a round (docs/schemes.md, Sec. 10.6).
//!
//! The receiver reports an attempt after its last unit. If the report is lost, a timer that started with that unit
//! expires, and the sender starts a round even if the attempt was enough. There is one draw per attempt, in the order in
//! which attempts are judged.

use super::interface::Ends;
use super::lldu_ring::WaitingLldu;
use super::repeats::Codeword;
use super::{Acknowledged, Attempt, Code, Engine, UnitSink};
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

impl<C: Code> Engine<C> {
    /// The same engine on a link that loses feedback. It must be driven with a sink that takes events
    /// ([`UnitSink::acknowledged`]).
    #[must_use]
    pub fn with_feedback_loss(mut self, rules: FeedbackLoss) -> Self {
        self.feedback = Some(Box::new(rules));
        self
    }

    /// Draws whether the feedback of an attempt is lost.
    pub(super) fn loses_feedback(&mut self) -> bool {
        let feedback = self.feedback.as_mut();
        feedback.is_some_and(|feedback| feedback.loss.erases())
    }

    /// Handles the feedback of a first attempt, ended at `now`, that decoded its codeword.
    pub(super) fn first_attempt_decoded<S, K: UnitSink<S>>(
        &mut self,
        attempt: &Attempt,
        now: Time,
        ends: &mut Ends<S, K>,
    ) -> Result<(), ErrorKind> {
        if self.feedback.is_none() {
            return Ok(());
        }
        let lost = self.loses_feedback();
        if !lost || self.gives_up_after(0) {
            self.acknowledge(attempt.codeword, lost, now, ends);
            return Ok(());
        }
        let codeword = Codeword::after_first(attempt, WaitingLldu::NONE);
        let id = self.codewords.insert(Codeword {
            decoded: true,
            ..codeword
        });
        self.repeat_after_timer(id, now)
    }

    /// Handles the feedback of a later attempt, ended at `now`, of a codeword that is decoded.
    pub(super) fn attempt_decoded<S, K: UnitSink<S>>(
        &mut self,
        id: usize,
        now: Time,
        ends: &mut Ends<S, K>,
    ) -> Result<(), ErrorKind> {
        let lost = self.loses_feedback();
        if lost && !self.gives_up_after(self.codewords[id].rounds_used) {
            let codeword = &mut self.codewords[id];
            codeword.decoded = true;
            codeword.waiting = WaitingLldu::NONE;
            return self.repeat_after_timer(id, now);
        }
        let number = self.codewords.remove(id).number;
        self.acknowledge(number, lost, now, ends);
        Ok(())
    }

    /// Schedules the round for the expiry of a timer that starts at `now`: one unit plus NS, or the whole codeword in frame
    /// ARQ.
    pub(super) fn repeat_after_timer(&mut self, id: usize, now: Time) -> Result<(), ErrorKind> {
        let timer = self.feedback.as_ref().map(|feedback| feedback.timer);
        let ready = ready_after(now, timer)?;
        let codeword = &mut self.codewords[id];
        if codeword.decoded {
            codeword.arrivals.clear();
        }
        self.request(id, 1, ready);
        Ok(())
    }

    /// Reports a codeword whose feedback arrived, or was lost with no round left.
    fn acknowledge<S, K: UnitSink<S>>(
        &mut self,
        codeword: u64,
        lost: bool,
        now: Time,
        ends: &mut Ends<S, K>,
    ) {
        if let Some(feedback) = &self.feedback {
            let timer = Some(feedback.timer);
            let after = if lost { timer } else { self.repeat_after };
            // No repeat follows, so a time above the limit is not an error.
            let at = after.and_then(|after| now.checked_add(after));
            let at = at.unwrap_or(Time::MAX);
            let acknowledged = Acknowledged { codeword, at };
            ends.sink.acknowledged(ends.source, acknowledged);
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
