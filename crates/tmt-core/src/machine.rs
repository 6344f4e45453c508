//! The state machine of link-layer.md §3: one for `tmt apply` and for a simulator's link.
//!
//! It is a *pull* machine (§12). Asked for the next unit at time t it answers a repeat, or takes new
//! data from a [`UnitSource`], or nothing; told what became of the unit it updates the codeword and
//! emits the LLDUs whose story is complete, in number order. It holds what is in flight and no more:
//! codewords not yet judged, and LLDUs that wait for an earlier one.

mod codewords;
mod pending;

use std::collections::VecDeque;

use codewords::{CodewordId, Codewords};
use pending::Pending;

use crate::error::ErrorKind;
use crate::scheme::{Combining, Rounds, SchemeSpec};
use crate::slot::{Lldu, Slot};
use crate::units::{Span, Time};

/// Where the machine takes its data from.
pub trait UnitSource {
    /// The number of data units of the next codeword, from 1 to `most`; `None` when nothing is queued.
    ///
    /// Asked when a super-block is opened, once for each of its codewords; a super-block is sent with
    /// the codewords there are.
    fn next_codeword(&mut self, now: Time, most: u32) -> Option<u32>;
}

/// The saturated sender: there always is data for a full codeword.
#[derive(Debug, Clone, Copy, Default)]
pub struct Saturated;

impl UnitSource for Saturated {
    fn next_codeword(&mut self, _now: Time, most: u32) -> Option<u32> {
        Some(most)
    }
}

/// A unit on its way, to be handed back with its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    codeword: CodewordId,
    kind: UnitKind,
}

/// What a slot carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    /// A data unit, sent for the first time.
    Data,
    /// A repair unit of a codeword's first transmission.
    Repair,
    /// A unit from the repeat queue.
    Repeat,
}

impl Unit {
    /// What the unit is.
    #[must_use]
    pub fn kind(&self) -> UnitKind {
        self.kind
    }
}

/// Units sent so far; they add up to the slots used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UnitCounts {
    /// First transmissions of data units.
    pub data: u64,
    /// First transmissions of repair units.
    pub repair: u64,
    /// Units from the repeat queue.
    pub repeated: u64,
}

/// Units of one codeword that wait to be sent again.
#[derive(Debug, Clone, Copy)]
struct Repeat {
    ready: Time,
    codeword: CodewordId,
    units: u32,
}

/// Which unit of the super-block goes out next.
#[derive(Debug, Default)]
struct SuperBlock {
    codewords: Vec<CodewordId>,
    row: u32,
    column: usize,
    /// Rows of the longest codeword.
    rows: u32,
}

/// The state machine of one scheme.
#[derive(Debug)]
pub struct Machine {
    data_units: u32,
    repair_units: u32,
    extra: u32,
    rounds: Option<u32>,
    combining: Combining,
    interleave: u32,
    /// RTT + fb: from the last unit of a failed attempt to the first repeat; none past 2^63 − 1 ns.
    repeat_after: Option<Span>,
    super_block: SuperBlock,
    repeats: VecDeque<Repeat>,
    codewords: Codewords,
    pending: Pending,
    counts: UnitCounts,
}

impl Machine {
    /// A machine at the start of a link with this round-trip time and extra feedback delay.
    #[must_use]
    pub fn new(scheme: &SchemeSpec, rtt: Span, feedback_delay: Span) -> Self {
        Self {
            data_units: scheme.data_units(),
            repair_units: scheme.units() - scheme.data_units(),
            extra: scheme.extra(),
            rounds: match scheme.rounds() {
                Rounds::AtMost(rounds) => Some(rounds),
                Rounds::Unlimited => None,
            },
            combining: scheme.combining(),
            interleave: scheme.interleave(),
            repeat_after: rtt.checked_add(feedback_delay),
            super_block: SuperBlock::default(),
            repeats: VecDeque::new(),
            codewords: Codewords::default(),
            pending: Pending::new(scheme.in_order()),
            counts: UnitCounts::default(),
        }
    }

    /// Units sent so far.
    #[must_use]
    pub fn counts(&self) -> UnitCounts {
        self.counts
    }

    /// The unit to be sent at `now`: a repeat that is ready, else new data, else none.
    pub fn next_unit(&mut self, now: Time, source: &mut impl UnitSource) -> Option<Unit> {
        if let Some(head) = self.repeats.front_mut()
            && head.ready <= now
        {
            let codeword = head.codeword;
            head.units -= 1;
            if head.units == 0 {
                self.repeats.pop_front();
            }
            self.counts.repeated += 1;
            return Some(Unit {
                codeword,
                kind: UnitKind::Repeat,
            });
        }
        if self.super_block.row == self.super_block.rows && !self.open_super_block(now, source) {
            return None;
        }
        let (codeword, row) = self.next_place();
        let kind = if row < self.codewords.get(codeword).data_units {
            self.counts.data += 1;
            UnitKind::Data
        } else {
            self.counts.repair += 1;
            UnitKind::Repair
        };
        Some(Unit { codeword, kind })
    }

    /// What became of `unit`, sent in `slot`; LLDUs whose story is complete are appended to `out`.
    ///
    /// # Errors
    /// A repeat would be ready later than 2^63 − 1 ns.
    pub fn on_outcome(
        &mut self,
        unit: Unit,
        slot: &Slot,
        out: &mut Vec<Lldu>,
    ) -> Result<(), ErrorKind> {
        let codeword = self.codewords.get_mut(unit.codeword);
        codeword.in_attempt -= 1;
        if let Some(arrival) = slot.arrival() {
            codeword.arrivals.push(arrival);
        }
        if unit.kind == UnitKind::Data {
            // A unit that came through on its own is settled at once, except where frames are
            // delivered whole or not at all.
            if slot.is_erased() || self.combining == Combining::Discard {
                codeword.waiting =
                    Some(self.pending.push_waiting(slot.tx_time(), codeword.waiting));
            } else {
                self.pending
                    .push_delivered(slot.tx_time(), slot.decode_delay());
            }
        }
        if codeword.in_attempt == 0 {
            self.judge(unit.codeword, slot.tx_time())?;
        }
        self.pending.emit(out);
        Ok(())
    }

    /// Ends the trace, whose last slot was sent at `end`: what is not judged is censored.
    pub fn finish(&mut self, end: Time, out: &mut Vec<Lldu>) {
        for codeword in self.codewords.take_in_flight() {
            let attempts = codeword.rounds_used.saturating_add(1);
            self.pending.censor(codeword.waiting, attempts, end);
        }
        self.pending.emit(out);
    }

    fn open_super_block(&mut self, now: Time, source: &mut impl UnitSource) -> bool {
        let block = &mut self.super_block;
        block.codewords.clear();
        block.row = 0;
        block.column = 0;
        block.rows = 0;
        for _ in 0..self.interleave {
            let Some(data_units) = source.next_codeword(now, self.data_units) else {
                break;
            };
            let data_units = data_units.clamp(1, self.data_units);
            let units = data_units + self.repair_units;
            block.rows = block.rows.max(units);
            block.codewords.push(self.codewords.open(data_units, units));
        }
        !block.codewords.is_empty()
    }

    /// The codeword and row of the super-block's next unit, and the step to the one after it.
    fn next_place(&mut self) -> (CodewordId, u32) {
        let block = &mut self.super_block;
        let place = (block.codewords[block.column], block.row);
        // Shorter codewords have no unit in the last rows. One that is all sent may be closed already,
        // but its place is not taken before the next super-block is opened.
        loop {
            block.column += 1;
            if block.column == block.codewords.len() {
                block.column = 0;
                block.row += 1;
            }
            if block.row == block.rows
                || self.codewords.get(block.codewords[block.column]).units > block.row
            {
                break;
            }
        }
        place
    }

    /// The end of an attempt, whose last unit was sent at `now` (§3).
    fn judge(&mut self, id: CodewordId, now: Time) -> Result<(), ErrorKind> {
        let codeword = self.codewords.get_mut(id);
        let needed = codeword.data_units as usize;
        let received = codeword.arrivals.len();
        if received >= needed {
            if codeword.waiting.is_some() {
                let (_, complete, _) = codeword.arrivals.select_nth_unstable(needed - 1);
                let complete = *complete;
                self.pending.deliver(
                    codeword.waiting,
                    complete,
                    codeword.rounds_used.saturating_add(1),
                );
            }
            self.codewords.close(id);
            return Ok(());
        }
        if self
            .rounds
            .is_some_and(|rounds| codeword.rounds_used >= rounds)
        {
            self.pending.lose(
                codeword.waiting,
                now,
                codeword.rounds_used.saturating_add(1),
            );
            self.codewords.close(id);
            return Ok(());
        }
        let ready = self
            .repeat_after
            .and_then(|after| now.checked_add(after))
            .ok_or(ErrorKind::SumTooLarge {
                sum: "tx_time + RTT + feedback delay",
            })?;
        let units = match self.combining {
            Combining::Incremental => {
                let missing = codeword.data_units - u32::try_from(received).unwrap_or(u32::MAX);
                missing + self.extra
            }
            Combining::Discard => {
                codeword.arrivals.clear();
                codeword.units
            }
        };
        codeword.rounds_used = codeword.rounds_used.saturating_add(1);
        codeword.in_attempt = units;
        self.repeats.push_back(Repeat {
            ready,
            codeword: id,
            units,
        });
        Ok(())
    }
}
