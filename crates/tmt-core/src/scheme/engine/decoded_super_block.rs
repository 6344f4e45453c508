//! Fast path of the coupled link for super-blocks of which all codewords decode in their first attempt.

use std::ops::Range;

use super::{Engine, nth_arrival};
use crate::types::{Lldu, Slot, Time};

/// A codeword of a [`DecodedSuperBlock`]. Slots are given by their index in the super-block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedColumn {
    /// Number of data units of the codeword, ND.
    pub data_units: u32,
    /// Number of all units of the codeword, N.
    pub units: u32,
    /// Number of data LLDUs that were received. The others are settled with the last unit of the codeword.
    pub own: u32,
    /// Slot of its last unit.
    pub last: usize,
    /// Time at which the last of its LLDUs is available, propagation excluded.
    pub arrival: Time,
    /// Time at which it is decoded; zero if all its data LLDUs were received.
    complete: Time,
}

/// A super-block that is sent in consecutive slots and decodes. Reused, to keep its buffers.
#[derive(Debug, Default)]
pub struct DecodedSuperBlock {
    columns: Vec<DecodedColumn>,
    units: usize,
    /// Arrivals of the units of each codeword, ns.
    arrivals: Vec<Vec<u64>>,
    /// Slots of data LLDUs in order: runs of received ones, and each erased one with its column.
    data: Vec<(Range<usize>, Option<usize>)>,
    /// Columns in order of their last units.
    ends: Vec<usize>,
}

impl DecodedSuperBlock {
    /// Starts a new super-block of codewords with these numbers of data units, each with `repair_units`.
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

    /// Number of units, which is the number of slots it takes.
    #[must_use]
    pub fn units(&self) -> usize {
        self.units
    }

    /// The codewords, in the order of their columns.
    #[must_use]
    pub fn columns(&self) -> &[DecodedColumn] {
        &self.columns
    }

    /// Runs of slots in which data LLDUs were received, in order.
    pub fn own(&self) -> impl Iterator<Item = &Range<usize>> {
        let own = self.data.iter().filter(|(_, column)| column.is_none());
        own.map(|(run, _)| run)
    }

    /// The codewords in order of their last units.
    pub fn ended(&self) -> impl Iterator<Item = &DecodedColumn> {
        self.ends.iter().map(|column| &self.columns[*column])
    }

    /// Assigns the units to `slots` row by row; `None` if a codeword does not decode.
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
    /// Sends the next codewords as a super-block in `slots`, which hold their first attempts. Appends to `out` as
    /// [`Self::on_outcome`] does. Returns false, without any effect but on `block`, if a codeword does not decode or a repeat
    /// is ready before the last slot.
    #[doc(hidden)]
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
