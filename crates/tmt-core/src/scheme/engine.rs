//! The engine: the state machine of every scheme, for `tmt apply` and for the coupled link (docs/schemes.md, Sec. 3–7).
//!
//! The engine is pulled. [`Engine::next_unit`] returns the unit for a slot: a repeat that is ready, or a new unit with
//! data from a [`UnitSource`]. [`Engine::on_outcome`] takes the result of the slot and returns, in order, the LLDUs whose
//! fate is known. The state of the engine is what is in flight: the current super-block, codewords that wait for repeats,
//! and LLDUs that wait for an earlier one.
//!
//! Under a saturated sender the engine also takes slots in slices ([`Engine::run_saturated`]), with the same results.

mod block;
mod decoded_super_block;
mod drop;
mod feedback;
mod first_attempt;
mod lldu_ring;
mod repeats;
mod saturated;

use block::{GridPosition, SuperBlock, UnitOutcome};
#[doc(hidden)]
pub use decoded_super_block::{DecodedColumn, DecodedSuperBlock};
pub use feedback::{Acknowledged, FeedbackLoss};
use feedback::{Feedback, ready_after};
#[doc(hidden)]
pub use first_attempt::DecodedCodeword;
pub use lldu_ring::Settled;
use lldu_ring::{LlduRing, WaitingLldu};
use repeats::{Codeword, RepeatTarget, Repeats};

use slab::Slab;

use crate::scheme::{Rounds, SchemeSpec};
use crate::types::{ErrorKind, Fate, Lldu, Slot, Span, Time};

/// Source of the data that the engine sends.
pub trait UnitSource {
    /// Number of data units of the next codeword, from 1 to `most`; `None` if nothing is queued.
    ///
    /// Called when a super-block is opened, up to I times. A super-block contains the codewords returned until `None`.
    fn next_codeword(&mut self, now: Time, most: u32) -> Option<u32>;
}

/// A saturated sender: it always has data for a full codeword.
#[derive(Debug, Clone, Copy, Default)]
pub struct Saturated;

impl UnitSource for Saturated {
    fn next_codeword(&mut self, _now: Time, most: u32) -> Option<u32> {
        Some(most)
    }
}

/// A unit that is being sent. Its outcome must be reported before the next unit is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    kind: UnitKind,
    origin: UnitOrigin,
}

/// Origin of a unit, which determines where its outcome is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitOrigin {
    /// The first attempt of its codeword, at this position of the super-block.
    First(GridPosition),
    /// The repeat queue, and whether the unit is the last of its attempt.
    Repeat(RepeatTarget, bool),
}

/// Kind of unit that a slot carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    /// A data unit of a first attempt.
    Data,
    /// A repair unit of a first attempt.
    Repair,
    /// A unit from the repeat queue.
    Repeat,
}

impl Unit {
    /// Kind of the unit, for counters and logs.
    #[must_use]
    pub fn kind(&self) -> UnitKind {
        self.kind
    }
}

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

/// The state machine that runs a scheme.
#[derive(Debug)]
pub struct Engine {
    pub(super) scheme: SchemeSpec,
    /// Whether each LLDU is reported as soon as it is settled.
    reports_settled: bool,
    /// RTT + fb, from the last unit of a failed attempt until its repeats are ready; `None` above 2^63 − 1 ns.
    repeat_after: Option<Span>,
    block: SuperBlock,
    repeats: Repeats,
    /// Codewords whose first attempt failed.
    codewords: Slab<Codeword>,
    lldus: LlduRing,
    counts: UnitCounts,
    /// Buffer for the arrivals of the codeword that is judged, ns.
    arrivals: Vec<u64>,
    /// State of feedback loss; `None` if no feedback is lost.
    feedback: Option<Box<Feedback>>,
}

impl Engine {
    /// An engine before its first slot, on a link with this RTT and feedback delay.
    #[must_use]
    pub fn new(scheme: SchemeSpec, rtt: Span, feedback_delay: Span) -> Self {
        Self {
            reports_settled: false,
            repeat_after: rtt.checked_add(feedback_delay),
            block: SuperBlock::new(scheme.data_units(), scheme.units()),
            repeats: Repeats::new(),
            codewords: Slab::new(),
            lldus: LlduRing::new(scheme.in_order()),
            counts: UnitCounts::default(),
            arrivals: Vec::new(),
            feedback: None,
            scheme,
        }
    }

    /// Units sent so far, by kind.
    #[must_use]
    pub fn counts(&self) -> UnitCounts {
        self.counts
    }

    /// Latest time of a slot for which [`Self::on_outcome`] cannot fail, because a repeat requested then is ready by
    /// 2^63 − 1 ns. `None` if the RTT plus the feedback delay exceeds that limit.
    #[must_use]
    pub fn repeats_fit_until(&self) -> Option<Time> {
        if self.scheme.rounds == Rounds::AtMost(0) {
            return Some(Time::MAX);
        }
        let last = Time::MAX.as_nanos();
        let timer = self.feedback.as_ref().map(|feedback| feedback.rules.timer);
        self.repeat_after
            .map(|after| timer.map_or(after, |timer| timer.max(after)))
            .and_then(|after| Time::from_nanos(last - after.as_nanos()))
    }

    /// The unit to send at `now`: a repeat that is ready, otherwise a new unit; `None` if there is neither.
    #[inline]
    pub fn next_unit(&mut self, now: Time, source: &mut impl UnitSource) -> Option<Unit> {
        if self.repeats.next_ready <= now.as_nanos()
            && let Some((target, _, last)) = self.repeats.take(1)
        {
            self.counts.repeated += 1;
            return Some(Unit {
                kind: UnitKind::Repeat,
                origin: UnitOrigin::Repeat(target, last),
            });
        }
        if self.block.is_sent() {
            let next = |most| source.next_codeword(now, most);
            if !self.block.open(self.scheme.interleave, next) {
                return None;
            }
        }
        let place = self.block.next_position();
        Some(Unit {
            kind: self.count_first(place),
            origin: UnitOrigin::First(place),
        })
    }

    /// Records the outcome of `unit`, which was sent in `slot`. Appends to `out` the LLDUs whose fate is known and that have
    /// no undecided LLDU before them.
    ///
    /// # Errors
    /// A repeat would be ready after 2^63 − 1 ns.
    #[inline]
    pub fn on_outcome(
        &mut self,
        unit: Unit,
        slot: &Slot,
        out: &mut Vec<Lldu>,
    ) -> Result<(), ErrorKind> {
        match unit.origin {
            UnitOrigin::First(place) if self.scheme.units == 1 => self.on_single(place, slot, out),
            UnitOrigin::First(place) => self.on_first(place, unit.kind, slot, out),
            UnitOrigin::Repeat(target, last) => {
                self.on_repeats(target, std::slice::from_ref(slot), last)
            }
        }?;
        if self.feedback.is_some()
            && let UnitOrigin::First(place) = unit.origin
            && place.row + 1 == self.block.shape(place.column).1
        {
            self.first_attempt_decoded(place, slot.tx_time())?;
        }
        self.lldus.emit(out);
        Ok(())
    }

    /// Ends the trace, whose last slot was sent at `end`. LLDUs that are undecided are censored.
    pub fn finish(&mut self, end: Time, out: &mut Vec<Lldu>) {
        for (waiting, rounds) in self.repeats.singles() {
            let attempts = rounds.saturating_add(1);
            self.lldus.settle(0, waiting, end, attempts, Fate::Censored);
        }
        for (_, codeword) in &self.codewords {
            let attempts = codeword.rounds_used.saturating_add(1);
            self.lldus
                .settle(0, codeword.waiting, end, attempts, Fate::Censored);
        }
        self.lldus.censor_rest(end);
        self.lldus.emit(out);
    }

    /// Counts the unit at `place` of the super-block, and returns its kind.
    fn count_first(&mut self, place: GridPosition) -> UnitKind {
        if place.row < self.block.shape(place.column).0 {
            self.counts.data += 1;
            UnitKind::Data
        } else {
            self.counts.repair += 1;
            UnitKind::Repair
        }
    }

    /// Records the first attempt of a codeword of one unit.
    fn on_single(
        &mut self,
        place: GridPosition,
        slot: &Slot,
        out: &mut Vec<Lldu>,
    ) -> Result<(), ErrorKind> {
        let codeword = self.block.codeword(place.column);
        if slot.is_erased() {
            return self.on_erased_single(codeword, slot.tx_time());
        }
        self.lldus.push_delivered(codeword, slot, out);
        Ok(())
    }

    /// Records that the first attempt of a codeword of one unit, sent at `now`, was erased.
    fn on_erased_single(&mut self, codeword: u64, now: Time) -> Result<(), ErrorKind> {
        let waiting = self.lldus.push_waiting(now, WaitingLldu::NONE);
        // A codeword that the caller may drop must be stored under its number.
        if !self.reports_settled && (self.scheme.extra == 0 || self.scheme.discards()) {
            self.repeat_single(waiting, 0, now)
        } else {
            self.arrivals.clear();
            self.first_attempt_failed(codeword, (1, 1), waiting, now)
        }
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
            self.lldus
                .settle(waiting.0, waiting, now, attempts, Fate::Lost);
            return Ok(());
        }
        let ready = ready_after(now, self.repeat_after)?;
        let target = RepeatTarget::Single(waiting, rounds_used.saturating_add(1));
        self.repeats.push(ready, target, 1);
        Ok(())
    }

    /// Records the outcome of a unit of the super-block.
    fn on_first(
        &mut self,
        place: GridPosition,
        kind: UnitKind,
        slot: &Slot,
        out: &mut Vec<Lldu>,
    ) -> Result<(), ErrorKind> {
        let data = kind == UnitKind::Data;
        let outcome = if data && !self.scheme.discards() {
            UnitOutcome::of_data(slot, self.lldus.next_number())
        } else {
            UnitOutcome::of(slot)
        };
        self.block.note(place, outcome);
        // A received data unit is settled at once, except in frame ARQ, where the codeword decides.
        if data && self.scheme.discards() {
            self.block.waiting = self.lldus.push_waiting(slot.tx_time(), self.block.waiting);
        } else if data && slot.is_erased() {
            self.lldus.push_waiting(slot.tx_time(), WaitingLldu::NONE);
        } else if data {
            let codeword = self.block.codeword(place.column);
            self.lldus.push_delivered(codeword, slot, out);
        }
        if place.row + 1 == self.block.shape(place.column).1 {
            self.judge_first(place.column, slot.tx_time())?;
        }
        Ok(())
    }

    /// Judges a codeword at the end of its first attempt, whose last unit was sent at `now` (docs/schemes.md, Sec. 4).
    fn judge_first(&mut self, column: u32, now: Time) -> Result<(), ErrorKind> {
        let codeword = self.block.codeword(column);
        let outcomes = self.block.column(column);
        let mut waiting = self.block.waiting;
        if !self.scheme.discards() && !outcomes.clone().any(|outcome| outcome.waiting().is_some()) {
            // All data units were received.
            return Ok(());
        }
        self.arrivals.clear();
        for outcome in outcomes {
            if let Some(arrival) = outcome.arrival() {
                self.arrivals.push(arrival);
            } else if let Some(erased) = outcome.waiting() {
                waiting = self.lldus.chain(erased, waiting);
            }
        }
        let (data_units, units) = self.block.shape(column);
        if let Some(complete) = nth_arrival(&mut self.arrivals, data_units) {
            self.lldus
                .settle(codeword, waiting, complete, 1, Fate::Delivered);
            return Ok(());
        }
        self.first_attempt_failed(codeword, (data_units, units), waiting, now)
    }

    /// Records that a codeword failed its first attempt at `now`; `self.arrivals` are the arrivals of its units.
    #[cold]
    fn first_attempt_failed(
        &mut self,
        codeword: u64,
        (data_units, units): (u32, u32),
        waiting: WaitingLldu,
        now: Time,
    ) -> Result<(), ErrorKind> {
        self.draw_feedback_loss(true);
        if self.gives_up_after(0) {
            self.lldus.settle(codeword, waiting, now, 1, Fate::Lost);
            return Ok(());
        }
        let id = self.codewords.insert(Codeword {
            number: codeword,
            data_units,
            units,
            rounds_used: 0,
            decoded: false,
            waiting,
            arrivals: self.arrivals.clone(),
        });
        self.ask_again(id, now)
    }

    /// Records the outcomes of repeats of one codeword; `last` states whether they end its attempt.
    fn on_repeats(
        &mut self,
        target: RepeatTarget,
        slots: &[Slot],
        last: bool,
    ) -> Result<(), ErrorKind> {
        let Some(now) = slots.last().map(Slot::tx_time) else {
            return Ok(());
        };
        match target {
            RepeatTarget::Single(waiting, rounds) => match slots.iter().find_map(Slot::arrival) {
                Some(arrival) => {
                    let attempts = rounds.saturating_add(1);
                    self.lldus
                        .settle(waiting.0, waiting, arrival, attempts, Fate::Delivered);
                    Ok(())
                }
                None => self.repeat_single(waiting, rounds, now),
            },
            RepeatTarget::Codeword(id) => {
                let arrivals = slots.iter().filter_map(Slot::arrival).map(Time::as_nanos);
                self.codewords[id].arrivals.extend(arrivals);
                if last { self.judge(id, now) } else { Ok(()) }
            }
        }
    }

    /// Judges a codeword at the end of a later attempt, whose last unit was sent at `now`.
    fn judge(&mut self, id: usize, now: Time) -> Result<(), ErrorKind> {
        let codeword = &mut self.codewords[id];
        let (number, waiting, rounds_used) =
            (codeword.number, codeword.waiting, codeword.rounds_used);
        let attempts = rounds_used.saturating_add(1);
        if codeword.decoded {
            return self.attempt_decoded(id, now);
        }
        if let Some(complete) = nth_arrival(&mut codeword.arrivals, codeword.data_units) {
            self.lldus
                .settle(number, waiting, complete, attempts, Fate::Delivered);
            return self.attempt_decoded(id, now);
        }
        self.draw_feedback_loss(false);
        if self.gives_up_after(rounds_used) {
            self.lldus
                .settle(number, waiting, now, attempts, Fate::Lost);
            self.codewords.remove(id);
            return Ok(());
        }
        self.ask_again(id, now)
    }

    /// Requests a round for a codeword that failed an attempt at `now`.
    fn ask_again(&mut self, id: usize, now: Time) -> Result<(), ErrorKind> {
        if self.feedback.as_ref().is_some_and(|feedback| feedback.lost) {
            return self.repeat_after_timer(id, now);
        }
        let ready = ready_after(now, self.repeat_after)?;
        let codeword = &mut self.codewords[id];
        let units = if self.scheme.discards() {
            codeword.arrivals.clear();
            codeword.units
        } else {
            let received = u32::try_from(codeword.arrivals.len()).unwrap_or(u32::MAX);
            codeword.data_units.saturating_sub(received) + self.scheme.extra
        };
        codeword.rounds_used = codeword.rounds_used.saturating_add(1);
        self.repeats.push(ready, RepeatTarget::Codeword(id), units);
        Ok(())
    }

    /// Whether a codeword that has used this many rounds gets no further one.
    fn gives_up_after(&self, rounds_used: u32) -> bool {
        matches!(self.scheme.rounds, Rounds::AtMost(rounds) if rounds_used >= rounds)
    }

    /// Arrival of the last unit that a codeword needs; `None` if fewer than `needed` units arrived in these slots.
    #[inline]
    fn complete<'s>(&mut self, slots: impl Iterator<Item = &'s Slot>, needed: u32) -> Option<Time> {
        self.arrivals.clear();
        let arrivals = slots.filter_map(Slot::arrival).map(Time::as_nanos);
        self.arrivals.extend(arrivals);
        nth_arrival(&mut self.arrivals, needed)
    }
}

/// The `needed`-th smallest of `arrivals`, T_ND; `None` if there are fewer. May reorder `arrivals`.
fn nth_arrival(arrivals: &mut [u64], needed: u32) -> Option<Time> {
    let nth = (needed as usize).checked_sub(1)?;
    let complete = *arrivals.get(nth)?;
    // Arrivals are mostly in the order of the slots.
    let complete = if arrivals.is_sorted() {
        complete
    } else {
        *arrivals.select_nth_unstable(nth).1
    };
    Time::from_nanos(complete)
}
