//! Super-blocks that are decoded in their first attempt, as a whole: the order of the grid without its outcomes.

use std::ops::Range;

use super::{Engine, nth_arrival};
use crate::types::{Lldu, Slot, Time};

/// A codeword of such a super-block; slots are told by their index among those of the super-block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedColumn {
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
    /// When it is decoded, where an LLDU waits for that.
    complete: Time,
}

/// A super-block that is sent in one piece; kept for its memory.
#[derive(Debug, Default)]
pub struct DecodedSuperBlock {
    columns: Vec<DecodedColumn>,
    units: usize,
    /// Arrivals of each column's units, ns.
    arrivals: Vec<Vec<u64>>,
    /// Slots of data LLDUs in their order: runs of those that came through on their own, and each of the others with its
    /// column.
    data: Vec<(Range<usize>, Option<usize>)>,
    /// Columns in the order of their last units.
    ends: Vec<usize>,
}

impl DecodedSuperBlock {
    /// Begins anew, with codewords of so many data units, each with `repair_units` more.
    pub fn open(&mut self, codewords: impl Iterator<Item = u32>, repair_units: u32) {
        self.columns.clear();
        self.columns
            .extend(codewords.map(|data_units| DecodedColumn {
                data_units,
                units: data_units + repair_units,
                own: 0,
                last: 0,
                arrival: Time::ZERO,
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
    pub fn columns(&self) -> &[DecodedColumn] {
        &self.columns
    }

    /// Slots in which data LLDUs came through on their own, in their order.
    pub fn own(&self) -> impl Iterator<Item = &Range<usize>> {
        let own = self.data.iter().filter(|(_, column)| column.is_none());
        own.map(|(run, _)| run)
    }

    /// Its codewords in the order of their last units.
    pub fn ended(&self) -> impl Iterator<Item = &DecodedColumn> {
        self.ends.iter().map(|column| &self.columns[*column])
    }

    /// Puts the units into `slots`, row by row; nothing where too few of a codeword arrive.
    fn lay(&mut self, slots: &[Slot]) -> Option<()> {
        self.data.clear();
        self.ends.clear();
        self.arrivals.resize_with(self.columns.len(), Vec::new);
        self.arrivals.iter_mut().for_each(Vec::clear);
        let mut at = 0;
        for row in 0.. {
            if at == slots.len() {
                break;
            }
            for (number, column) in self.columns.iter_mut().enumerate() {
                if row >= column.units {
                    continue;
                }
                let arrival = slots[at].arrival();
                let arrivals = &mut self.arrivals[number];
                arrivals.extend(arrival.map(Time::as_nanos));
                if row < column.data_units {
                    match (arrival, self.data.last_mut()) {
                        (None, _) => self.data.push((at..at + 1, Some(number))),
                        (_, Some((run, None))) if run.end == at => run.end += 1,
                        _ => self.data.push((at..at + 1, None)),
                    }
                    column.own += u32::from(arrival.is_some());
                    column.arrival = column.arrival.max(arrival.unwrap_or(Time::ZERO));
                }
                if row + 1 == column.units {
                    if column.own < column.data_units {
                        column.complete = nth_arrival(arrivals, column.data_units)?;
                        column.arrival = column.arrival.max(column.complete);
                    }
                    column.last = at;
                    self.ends.push(number);
                }
                at += 1;
            }
        }
        Some(())
    }
}

impl Engine {
    /// Takes a super-block of the codewords that are next, whose first attempts are all of the slots, and appends as
    /// [`Self::take_received_units`]; whether it did. Nothing is done, and what `block` shows means nothing, where the attempts
    /// are not enough for each codeword, or a repeat comes before the block's last unit.
    pub fn take_super_block(
        &mut self,
        block: &mut DecodedSuperBlock,
        slots: &[Slot],
        out: &mut Vec<Lldu>,
    ) -> bool {
        debug_assert!(!self.is_under_way() && block.units == slots.len());
        let in_time = self.before_repeat(slots).len() == slots.len();
        if !in_time || self.scheme.discards() || block.lay(slots).is_none() {
            return false;
        }
        for (run, column) in &block.data {
            let run = &slots[run.clone()];
            match column {
                None => self.lldus.push_all_delivered(run, out),
                Some(column) => {
                    let complete = block.columns[*column].complete;
                    self.lldus.push_all_decoded(run, complete, false);
                }
            }
        }
        let columns = block.columns.iter();
        let data: u64 = columns.map(|column| u64::from(column.data_units)).sum();
        self.block.pass(block.columns.len() as u64);
        self.counts.data += data;
        self.counts.repair += slots.len() as u64 - data;
        self.lldus.emit(out);
        true
    }
}
