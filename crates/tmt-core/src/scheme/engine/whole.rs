//! Super-blocks that are decoded in their first attempt, as a whole: the order of the grid without its cells.

use std::ops::Range;

use super::Machine;
use crate::types::{Lldu, Slot, Time};

/// A codeword of such a super-block; slots are told by their index among those of the super-block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its data units.
    pub data_units: u32,
    /// All its units.
    pub units: u32,
    /// Data LLDUs that came through on their own; the others are known with its last unit.
    pub own: u32,
    /// The slot of its last unit.
    pub last: usize,
    /// When the last of its LLDUs is there, propagation left out.
    pub arrival: Time,
    /// Units that were erased.
    erased: u32,
    /// When it is decoded, where an LLDU waits for that.
    complete: Time,
}

/// A super-block that is sent in one piece; kept for its memory.
#[derive(Debug, Default)]
pub struct WholeBlock {
    columns: Vec<Column>,
    units: usize,
    /// The first slot of each row.
    rows: Vec<usize>,
    /// Slots of data LLDUs that came through on their own.
    own: Vec<Range<usize>>,
    /// Slots of the other data LLDUs, and their columns.
    waiting: Vec<(usize, usize)>,
    /// Columns in the order of their last units.
    ends: Vec<usize>,
}

impl WholeBlock {
    /// Begins anew, with codewords of so many data units, each with `repair_units` more.
    pub fn open(&mut self, codewords: impl Iterator<Item = u32>, repair_units: u32) {
        self.columns.clear();
        self.columns.extend(codewords.map(|data_units| Column {
            data_units,
            units: data_units + repair_units,
            own: 0,
            last: 0,
            arrival: Time::ZERO,
            erased: 0,
            complete: Time::ZERO,
        }));
        let units = self.columns.iter().map(|column| column.units as usize);
        self.units = units.sum();
    }

    /// All its units, one a slot.
    #[must_use]
    pub fn units(&self) -> usize {
        self.units
    }

    /// Its codewords.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Slots in which data LLDUs came through on their own, in their order.
    #[must_use]
    pub fn own(&self) -> &[Range<usize>] {
        &self.own
    }

    /// Its codewords in the order of their last units.
    pub fn ended(&self) -> impl Iterator<Item = &Column> {
        self.ends.iter().map(|column| &self.columns[*column])
    }

    /// Puts the units into `slots`, row by row; whether enough of each codeword arrive.
    fn lay(&mut self, slots: &[Slot]) -> bool {
        self.rows.clear();
        self.own.clear();
        self.waiting.clear();
        self.ends.clear();
        let (mut at, mut run) = (0, 0..0);
        for row in 0.. {
            if at == slots.len() {
                break;
            }
            self.rows.push(at);
            for (number, column) in self.columns.iter_mut().enumerate() {
                if row >= column.units {
                    continue;
                }
                let arrival = slots[at].arrival();
                if arrival.is_none() {
                    column.erased += 1;
                    if column.erased > column.units - column.data_units {
                        return false;
                    }
                }
                if row < column.data_units {
                    if let Some(arrival) = arrival {
                        column.arrival = column.arrival.max(arrival);
                        column.own += 1;
                        if run.end != at {
                            self.own.push(std::mem::replace(&mut run, at..at));
                        }
                        run.end = at + 1;
                    } else {
                        self.waiting.push((at, number));
                    }
                }
                if row + 1 == column.units {
                    column.last = at;
                    self.ends.push(number);
                }
                at += 1;
            }
        }
        self.own.push(run);
        self.own.retain(|run| !run.is_empty());
        true
    }

    /// The slots of a column.
    fn slots_of(&self, column: usize) -> impl Iterator<Item = usize> {
        let (in_front, units) = (&self.columns[..column], self.columns[column].units);
        (0..units).zip(&self.rows).map(move |(row, first)| {
            let holes = in_front.iter().filter(|other| other.units <= row).count();
            first + column - holes
        })
    }
}

impl Machine {
    /// A super-block of the codewords that are next, whose first attempts these slots before the next repeat are;
    /// nothing is done, and what `block` tells means nothing, where that is not enough for each of them. Appends the
    /// LLDUs whose story is complete; they are not told as settled.
    pub(super) fn take_whole(
        &mut self,
        block: &mut WholeBlock,
        slots: &[Slot],
        out: &mut Vec<Lldu>,
    ) -> bool {
        debug_assert!(!self.is_under_way() && block.units == slots.len());
        if self.discards || !block.lay(slots) {
            return false;
        }
        for number in 0..block.columns.len() {
            let Column {
                data_units, own, ..
            } = block.columns[number];
            if own == data_units {
                continue;
            }
            let column = block.slots_of(number).map(|at| &slots[at]);
            let Some(complete) = self.complete(column, data_units) else {
                return false;
            };
            let column = &mut block.columns[number];
            column.complete = complete;
            column.arrival = column.arrival.max(complete);
        }
        let mut waiting = block.waiting.iter().peekable();
        let runs = block.own.iter().cloned();
        for run in runs.chain(std::iter::once(slots.len()..slots.len())) {
            while let Some((at, column)) = waiting.next_if(|(at, _)| *at < run.start) {
                let complete = block.columns[*column].complete;
                self.pending
                    .push_all_complete(std::slice::from_ref(&slots[*at]), complete);
            }
            self.pending.push_all_delivered(&slots[run], out);
        }
        let columns = block.columns.iter();
        let data: u64 = columns.map(|column| u64::from(column.data_units)).sum();
        self.block.pass(block.columns.len() as u64);
        self.counts.data += data;
        self.counts.repair += slots.len() as u64 - data;
        self.pending.emit(out);
        true
    }
}
