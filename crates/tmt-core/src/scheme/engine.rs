//! The engine: the state machine of every scheme, for `tmt apply` and for the coupled link (docs/schemes.md, Sec. 3–7).
//!
//! [`Engine::advance`] takes slots. For each it sends a repeat that is ready, or a new unit with data from a
//! [`UnitSource`], and it reports what it sent and what became of it to a [`UnitSink`]. Which units decode a codeword is up
//! to a [`Code`]. The state of the engine is what is in flight: the current super-block, codewords that wait for repeats, and
//! LLDUs that wait for an earlier one.

mod block;
mod code;
mod feedback;
mod interface;
mod lldu_ring;
mod repeats;
mod slices;

use std::ops::Range;

use slab::Slab;

use block::{SuperBlock, UnitOutcome};
use code::Arrivals;
pub use code::{Attempt, Code, Ideal, ReceivedUnit, Verdict};
pub use feedback::FeedbackLoss;
use feedback::ready_after;
use interface::Ends;
pub use interface::{Acknowledged, Saturated, Sent, Settled, UnitKind, UnitSink, UnitSource};
use lldu_ring::{LlduRing, WaitingLldu};
use repeats::{Codeword, RepeatTarget, Repeats};

use crate::scheme::{Rounds, SchemeSpec};
use crate::types::{ErrorKind, Fate, Lldu, Slot, Span, Time};

/// Numbers of units sent, by kind. They add up to the number of slots used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnitCounts {
    /// Data units of first attempts.
    pub data: u64,
    /// Repair units of first attempts.
    pub repair: u64,
    /// Units from the repeat queue.
    pub repeated: u64,
}

/// The state machine that runs a scheme, with a code that decides what is decoded.
#[derive(Debug)]
pub struct Engine<C: Code = Ideal> {
    pub(super) scheme: SchemeSpec,
    code: C,
    /// RTT + fb, from the last unit of a failed attempt until its repeats are ready; `None` above 2^63 − 1 ns.
    repeat_after: Option<Span>,
    block: SuperBlock,
    repeats: Repeats,
    /// Codewords whose first attempt failed.
    codewords: Slab<Codeword>,
    lldus: LlduRing,
    counts: UnitCounts,
    /// Scratch memory for the arrivals of the codeword that is judged.
    arrivals: Arrivals,
    /// Scratch memory for its received units.
    received: Vec<ReceivedUnit>,
    /// Rules of feedback loss; `None` if no feedback is lost.
    feedback: Option<Box<FeedbackLoss>>,
}

/// A slot by its index in the slice that is taken, and its time.
#[derive(Debug, Clone, Copy)]
struct At {
    index: usize,
    time: Time,
}

impl Engine {
    /// An engine with the ideal code before its first slot, on a link with this RTT and feedback delay.
    #[must_use]
    pub fn new(scheme: SchemeSpec, rtt: Span, feedback_delay: Span) -> Self {
        Self::with_code(scheme, Ideal, rtt, feedback_delay)
    }
}

impl<C: Code> Engine<C> {
    /// An engine with `code` before its first slot, on a link with this RTT and feedback delay.
    #[must_use]
    pub fn with_code(scheme: SchemeSpec, code: C, rtt: Span, feedback_delay: Span) -> Self {
        Self {
            code,
            repeat_after: rtt.checked_add(feedback_delay),
            block: SuperBlock::new(scheme.data_units(), scheme.units()),
            repeats: Repeats::new(),
            codewords: Slab::new(),
            lldus: LlduRing::new(scheme.in_order()),
            counts: UnitCounts::default(),
            arrivals: Arrivals::default(),
            received: Vec::new(),
            feedback: None,
            scheme,
        }
    }

    /// The same engine, leaving the order of delivery to the caller, even if the scheme is `in-order` (docs/schemes.md,
    /// Sec. 10.4).
    #[must_use]
    pub fn without_order(mut self) -> Self {
        self.lldus.without_order();
        self
    }

    /// Units sent so far, by kind.
    #[must_use]
    pub fn counts(&self) -> UnitCounts {
        self.counts
    }

    /// Latest time of a slot for which [`Self::advance`] cannot fail, because a repeat requested then is ready by
    /// 2^63 − 1 ns. `None` if the RTT plus the feedback delay exceeds that limit.
    #[must_use]
    pub fn repeats_fit_until(&self) -> Option<Time> {
        if self.scheme.rounds == Rounds::AtMost(0) {
            return Some(Time::MAX);
        }
        let last = Time::MAX.as_nanos();
        let timer = self.feedback.as_ref().map(|feedback| feedback.timer);
        self.repeat_after
            .map(|after| timer.map_or(after, |timer| timer.max(after)))
            .and_then(|after| Time::from_nanos(last - after.as_nanos()))
    }

    /// Time at which the head of the repeat queue is ready; `None` if the queue is empty.
    #[must_use]
    pub fn next_repeat(&self) -> Option<Time> {
        Time::from_nanos(self.repeats.next_ready)
    }

    /// Whether a super-block or an attempt of repeats has been sent in part. The next unit then does not depend on the
    /// source.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.repeats.begun || !self.block.is_sent()
    }

    /// Ends the trace, whose last slot was sent at `end`. LLDUs that are undecided are censored.
    pub fn finish(&mut self, end: Time, out: &mut Vec<Lldu>) {
        for (waiting, rounds) in self.repeats.singles() {
            let attempts = rounds.saturating_add(1);
            self.lldus.settle(waiting, end, attempts, Fate::Censored);
        }
        for (_, codeword) in &self.codewords {
            let attempts = codeword.rounds_used.saturating_add(1);
            self.lldus
                .settle(codeword.waiting, end, attempts, Fate::Censored);
        }
        self.lldus.censor_rest(end);
        self.lldus.emit(Some(out));
    }

    /// Judges a codeword at the end of its first attempt, whose last unit was sent `at` (docs/schemes.md, Sec. 4).
    fn judge_first<S, K: UnitSink<S>>(
        &mut self,
        column: u32,
        at: At,
        ends: &mut Ends<S, K>,
    ) -> Result<(), ErrorKind> {
        let (data_units, units) = self.block.shape(column);
        let attempt = Attempt {
            codeword: self.block.codeword(column),
            attempt: 1,
            data_units,
            units,
        };
        let outcomes = self.block.column(column);
        let frame = self.scheme.discards();
        // Number and latest arrival of the LLDUs that are delivered already.
        let (mut own, mut arrival) = (0, Time::ZERO);
        if K::TAKES_EVENTS && !frame {
            let data = outcomes.clone().take(data_units as usize);
            for here in data.filter_map(UnitOutcome::arrival) {
                own += 1;
                arrival = arrival.max(Time::from_nanos(here).unwrap_or(Time::MAX));
            }
        }
        let settled = |recovered, arrival| Settled {
            codewords: attempt.codeword..attempt.codeword + 1,
            attempt: 1,
            slot: at.index,
            own,
            recovered,
            arrival,
        };
        let mut waiting = self.block.waiting;
        let data_erased = if K::TAKES_EVENTS {
            own < data_units
        } else {
            outcomes.clone().any(|unit| unit.waiting().is_some())
        };
        let verdict = if frame || data_erased {
            self.arrivals.clear();
            let arrivals = outcomes.clone().take(units as usize);
            self.arrivals
                .extend::<C>(arrivals.map(UnitOutcome::arrival));
            for erased in outcomes.filter_map(UnitOutcome::waiting) {
                waiting = self.lldus.chain(erased, waiting);
            }
            self.arrivals
                .judge(&self.code, &attempt, &mut self.received)
        } else {
            // All data units were received.
            Verdict::Decoded(arrival)
        };
        match verdict {
            Verdict::Decoded(complete) => {
                let recovered = self.lldus.settle(waiting, complete, 1, Fate::Delivered);
                ends.settled(|| settled(recovered, arrival.max(complete)));
                self.first_attempt_decoded(&attempt, at.time, ends)
            }
            Verdict::Missing(missing) => {
                if own > 0 {
                    ends.settled(|| settled(0, arrival));
                }
                self.first_attempt_failed(&attempt, waiting, missing, at, ends)
            }
        }
    }

    /// Records that a codeword failed its first attempt, which ended `at`, by `missing` units; `self.arrivals` are the
    /// arrivals of its units.
    #[cold]
    fn first_attempt_failed<S, K: UnitSink<S>>(
        &mut self,
        attempt: &Attempt,
        waiting: WaitingLldu,
        missing: u32,
        at: At,
        ends: &mut Ends<S, K>,
    ) -> Result<(), ErrorKind> {
        let feedback_lost = self.loses_feedback();
        if self.gives_up_after(0) {
            self.lldus.settle(waiting, at.time, 1, Fate::Lost);
            self.give_up(attempt.codeword, at, ends);
            return Ok(());
        }
        let codeword = Codeword::after_first(attempt, waiting);
        let id = self.codewords.insert(Codeword {
            arrivals: self.arrivals.clone(),
            ..codeword
        });
        self.ask_again(id, missing, feedback_lost, at.time)
    }

    /// Requests a round for a codeword of one unit, whose attempt at `now` failed after `rounds_used` rounds.
    fn repeat_single(
        &mut self,
        waiting: WaitingLldu,
        rounds_used: u32,
        now: Time,
    ) -> Result<(), ErrorKind> {
        if self.gives_up_after(rounds_used) {
            let attempts = rounds_used.saturating_add(1);
            self.lldus.settle(waiting, now, attempts, Fate::Lost);
            return Ok(());
        }
        let ready = ready_after(now, self.repeat_after)?;
        let target = RepeatTarget::Single(waiting, rounds_used.saturating_add(1));
        self.repeats.push(ready, target, 1);
        Ok(())
    }

    /// Records the outcomes of repeats of one codeword in `slots`, from index `from` on; `last` states whether they end its
    /// attempt.
    fn on_repeats<S, K: UnitSink<S>>(
        &mut self,
        target: RepeatTarget,
        slots: &[Slot],
        from: usize,
        last: bool,
        ends: &mut Ends<S, K>,
    ) -> Result<(), ErrorKind> {
        let Some(now) = slots.last().map(Slot::tx_time) else {
            return Ok(());
        };
        match target {
            RepeatTarget::Single(waiting, rounds) => match slots.iter().find_map(Slot::arrival) {
                Some(arrival) => {
                    let attempts = rounds.saturating_add(1);
                    self.lldus
                        .settle(waiting, arrival, attempts, Fate::Delivered);
                    Ok(())
                }
                None => self.repeat_single(waiting, rounds, now),
            },
            RepeatTarget::Codeword(id) => {
                let arrivals = slots.iter().map(|slot| slot.arrival().map(Time::as_nanos));
                self.codewords[id].arrivals.extend::<C>(arrivals);
                let index = from + slots.len() - 1;
                if last {
                    self.judge(id, At { index, time: now }, ends)
                } else {
                    Ok(())
                }
            }
        }
    }

    /// Judges a codeword at the end of a later attempt, whose last unit was sent `at`.
    fn judge<S, K: UnitSink<S>>(
        &mut self,
        id: usize,
        at: At,
        ends: &mut Ends<S, K>,
    ) -> Result<(), ErrorKind> {
        let codeword = &mut self.codewords[id];
        if codeword.decoded {
            return self.attempt_decoded(id, at.time, ends);
        }
        let (waiting, rounds_used) = (codeword.waiting, codeword.rounds_used);
        let attempt = Attempt {
            codeword: codeword.number,
            attempt: rounds_used.saturating_add(1),
            data_units: codeword.data_units,
            units: codeword.units,
        };
        let verdict = codeword
            .arrivals
            .judge(&self.code, &attempt, &mut self.received);
        let missing = match verdict {
            Verdict::Missing(missing) => missing,
            Verdict::Decoded(complete) => {
                let attempts = attempt.attempt;
                let recovered = self
                    .lldus
                    .settle(waiting, complete, attempts, Fate::Delivered);
                ends.settled(|| Settled {
                    codewords: attempt.codeword..attempt.codeword + 1,
                    attempt: attempts,
                    slot: at.index,
                    own: 0,
                    recovered,
                    arrival: complete,
                });
                return self.attempt_decoded(id, at.time, ends);
            }
        };
        let feedback_lost = self.loses_feedback();
        if self.gives_up_after(rounds_used) {
            self.lldus
                .settle(waiting, at.time, attempt.attempt, Fate::Lost);
            self.codewords.remove(id);
            self.give_up(attempt.codeword, at, ends);
            return Ok(());
        }
        self.ask_again(id, missing, feedback_lost, at.time)
    }

    /// Requests a round for a codeword that failed an attempt at `now` by `missing` units.
    fn ask_again(
        &mut self,
        id: usize,
        missing: u32,
        feedback_lost: bool,
        now: Time,
    ) -> Result<(), ErrorKind> {
        if feedback_lost {
            return self.repeat_after_timer(id, now);
        }
        let ready = ready_after(now, self.repeat_after)?;
        self.request(id, missing, ready);
        Ok(())
    }

    /// Requests a round that is ready at `ready`: `units` and the extra units, or the whole codeword in frame ARQ.
    fn request(&mut self, id: usize, units: u32, ready: Time) {
        let codeword = &mut self.codewords[id];
        let units = if self.scheme.discards() {
            codeword.arrivals.clear();
            codeword.units
        } else {
            units.saturating_add(self.scheme.extra)
        };
        codeword.rounds_used = codeword.rounds_used.saturating_add(1);
        self.repeats.push(ready, RepeatTarget::Codeword(id), units);
    }

    /// Whether a codeword that has used this many rounds gets no further one.
    fn gives_up_after(&self, rounds_used: u32) -> bool {
        matches!(self.scheme.rounds, Rounds::AtMost(rounds) if rounds_used >= rounds)
    }

    /// Reports that a codeword failed `at`, and drops what the sink gives up with it.
    fn give_up<S, K: UnitSink<S>>(&mut self, codeword: u64, at: At, ends: &mut Ends<S, K>) {
        if K::TAKES_EVENTS {
            self.report_sent(0..self.block.columns, ends);
            let dropped = ends.sink.lost(ends.source, codeword, at.index);
            self.drop_codewords(dropped, at.time);
        }
    }

    /// Gives up `codewords` at `now`: their remaining units and repeats are not sent, and their undecided LLDUs are lost
    /// with the attempts made so far. Data units that were never sent have no LLDU.
    fn drop_codewords(&mut self, codewords: Range<u64>, now: Time) {
        let known = &self.codewords;
        let dropped = self.repeats.drop_all(|target| match target {
            RepeatTarget::Codeword(id) => codewords.contains(&known[id].number),
            RepeatTarget::Single(..) => false,
        });
        for target in dropped {
            if let RepeatTarget::Codeword(id) = target {
                // A round is counted when it is requested, so this is the number of attempts before it.
                let codeword = self.codewords.remove(id);
                let attempts = codeword.rounds_used;
                self.lldus
                    .settle(codeword.waiting, now, attempts, Fate::Lost);
            }
        }
        for column in self.block.drop_unsent(codewords) {
            let mut waiting = std::mem::replace(&mut self.block.waiting, WaitingLldu::NONE);
            for erased in self.block.column(column).filter_map(UnitOutcome::waiting) {
                waiting = self.lldus.chain(erased, waiting);
            }
            self.lldus.settle(waiting, now, 1, Fate::Lost);
        }
    }
}
