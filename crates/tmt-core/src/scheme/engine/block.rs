//! The super-block that is being sent: the next unit, and the outcomes of those before it.

use std::iter::{Copied, StepBy};
use std::ops::Range;
use std::slice::Iter;

use super::interface::Sent;
use super::lldu_ring::WaitingLldu;
use crate::types::Slot;

/// Outcome of a unit of the super-block, packed in 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnitOutcome(u64);

/// Flag of units that were not received; above every arrival time.
const NOT_RECEIVED: u64 = 1 << 63;

impl UnitOutcome {
    /// No unit, or an erased unit for which no LLDU waits.
    pub(super) const NONE: Self = Self(u64::MAX);

    /// The outcome of a unit for which no LLDU waits.
    pub(super) fn of(slot: &Slot) -> Self {
        slot.arrival()
            .map_or(Self::NONE, |arrival| Self(arrival.as_nanos()))
    }

    /// The outcome of a data unit; LLDU `number` waits if it was erased.
    pub(super) fn of_data(slot: &Slot, number: u64) -> Self {
        slot.arrival()
            .map_or(Self(NOT_RECEIVED | number), |arrival| {
                Self(arrival.as_nanos())
            })
    }

    /// Arrival of the unit, ns; `None` if it was not received.
    pub(super) fn arrival(self) -> Option<u64> {
        (self.0 < NOT_RECEIVED).then_some(self.0)
    }

    /// The LLDU that waits for the codeword because the unit was erased.
    pub(super) fn waiting(self) -> Option<WaitingLldu> {
        (self.0 >= NOT_RECEIVED && self != Self::NONE)
            .then_some(WaitingLldu(self.0 & !NOT_RECEIVED))
    }
}

/// A codeword of the super-block.
#[derive(Debug, Clone, Copy)]
struct Codeword {
    data_units: u32,
    /// Whether its remaining units are not sent.
    dropped: bool,
    /// Units that have been reported to the sink.
    reported: u32,
}

/// A super-block (docs/schemes.md, Sec. 3): a grid with one column per codeword, sent row by row.
#[derive(Debug)]
pub(super) struct SuperBlock {
    /// Data units of a full codeword, ND.
    full: u32,
    /// Repair units of a codeword, NR.
    repair_units: u32,
    codewords: Vec<Codeword>,
    /// Number of codewords.
    pub(super) columns: u32,
    /// Units of the longest codeword.
    pub(super) rows: u32,
    /// Data units of the shortest codeword; 0 once a codeword is dropped.
    shortest: u32,
    /// Index of the next unit in the grid, counted row by row.
    pub(super) position: u32,
    /// Number of codewords before this super-block.
    first: u64,
    /// Outcomes of the units before `position`.
    pub(super) outcomes: Vec<UnitOutcome>,
    /// Slots of the units before `position`, by their index in the slice in which they were sent; empty if no sink takes
    /// events.
    pub(super) slots: Vec<usize>,
    /// In frame ARQ, the LLDUs that wait for the codeword.
    pub(super) waiting: WaitingLldu,
}

impl SuperBlock {
    /// A super-block that has been sent completely.
    pub(super) fn new(data_units: u32, units: u32) -> Self {
        Self {
            full: data_units,
            repair_units: units - data_units,
            codewords: Vec::new(),
            columns: 0,
            rows: 0,
            shortest: 0,
            position: 0,
            first: 0,
            outcomes: Vec::new(),
            slots: Vec::new(),
            waiting: WaitingLldu::NONE,
        }
    }

    /// Opens the next super-block with at most `most` codewords. `next` gets the number of those that still fit, and returns
    /// how many follow and their number of data units. Returns whether there is at least one.
    pub(super) fn open(
        &mut self,
        most: u32,
        mut next: impl FnMut(u32) -> Option<(u32, u32)>,
    ) -> bool {
        self.first += u64::from(self.columns);
        self.codewords.clear();
        (self.columns, self.shortest, self.position) = (0, self.full, 0);
        let mut longest = 0;
        while self.columns < most
            && let Some((codewords, data_units)) = next(most - self.columns)
        {
            let codeword = Codeword {
                data_units,
                dropped: false,
                reported: 0,
            };
            self.columns += codewords;
            self.codewords.resize(self.columns as usize, codeword);
            longest = longest.max(data_units);
            self.shortest = self.shortest.min(data_units);
        }
        self.rows = longest + self.repair_units;
        self.outcomes.clear();
        self.slots.clear();
        self.waiting = WaitingLldu::NONE;
        self.columns > 0
    }

    /// Counts `codewords` that are sent without the grid, after this super-block was sent completely. Returns the number of
    /// the first.
    pub(super) fn pass(&mut self, codewords: u64) -> u64 {
        let first = self.codeword(self.columns);
        self.first += codewords;
        first
    }

    /// Numbers of data units and, after them, of repair units that come next and end no codeword. They are on positions that
    /// follow one another.
    pub(super) fn run(&self) -> (u32, u32) {
        let units = self.shortest + self.repair_units;
        let data = self.shortest.min(units.saturating_sub(1)) * self.columns;
        if self.has_holes() && self.position >= data {
            return self.run_in_row();
        }
        let end = if self.has_holes() {
            data
        } else {
            (self.rows - 1) * self.columns
        };
        let data_left = data.saturating_sub(self.position);
        (data_left, end.saturating_sub(self.position) - data_left)
    }

    /// The same in a row whose positions differ: units of codewords of the same length.
    fn run_in_row(&self) -> (u32, u32) {
        let (row, column) = self.next_position();
        let (data_units, units) = self.shape(column);
        let rest = &self.codewords[column as usize..];
        let alike = |codeword: &&Codeword| codeword.data_units == data_units && !codeword.dropped;
        let run = rest.iter().take_while(alike).count();
        let run = u32::try_from(run).unwrap_or(self.columns);
        match row {
            _ if row + 1 == units => (0, 0),
            _ if row < data_units => (run, 0),
            _ => (0, run),
        }
    }

    /// Whether all units have been sent.
    pub(super) fn is_sent(&self) -> bool {
        self.position == self.columns * self.rows
    }

    /// Number of a codeword among all codewords taken from the source.
    pub(super) fn codeword(&self, column: u32) -> u64 {
        self.first + u64::from(column)
    }

    /// Drops the unsent units of `codewords`. Returns the columns of those that had such units.
    pub(super) fn drop_unsent(&mut self, codewords: Range<u64>) -> Vec<u32> {
        let column = |codeword: u64| {
            let column = codeword.saturating_sub(self.first).min(self.columns.into());
            u32::try_from(column).unwrap_or(self.columns)
        };
        let mut columns: Vec<u32> = (column(codewords.start)..column(codewords.end)).collect();
        columns.retain(|column| {
            let last = (self.shape(*column).1 - 1) * self.columns + column;
            let dropped = self.codewords[*column as usize].dropped;
            last >= self.position && !self.is_sent() && !dropped
        });
        for column in &columns {
            self.codewords[*column as usize].dropped = true;
            self.shortest = 0;
        }
        self.skip_holes();
        columns
    }

    /// Whether the grid has positions without a unit, because of short or dropped codewords.
    fn has_holes(&self) -> bool {
        self.shortest + self.repair_units != self.rows
    }

    /// Skips positions without a unit.
    fn skip_holes(&mut self) {
        while self.has_holes() && !self.is_sent() {
            let (row, column) = self.next_position();
            if row < self.shape(column).1 && !self.codewords[column as usize].dropped {
                return;
            }
            self.position += 1;
        }
    }

    /// Number of data units and of all units of a codeword.
    pub(super) fn shape(&self, column: u32) -> (u32, u32) {
        let data_units = self.codewords[column as usize].data_units;
        (data_units, data_units + self.repair_units)
    }

    /// Row and column of the next unit.
    pub(super) fn next_position(&self) -> (u32, u32) {
        match self.columns {
            1 => (self.position, 0),
            columns => (self.position / columns, self.position % columns),
        }
    }

    /// Prepares for outcomes of units from the next one on: fills the positions without a unit before it.
    pub(super) fn align(&mut self) {
        let at = self.position as usize;
        if at > self.outcomes.len() {
            self.outcomes.resize(at, UnitOutcome::NONE);
        }
    }

    /// Moves on by `units`, whose outcomes have been added. They were sent in `slots`, by their index in the slice, if a sink
    /// takes events.
    pub(super) fn advance(&mut self, units: u32, slots: Option<Range<usize>>) {
        if let Some(slots) = slots {
            self.slots.resize(self.position as usize, 0);
            self.slots.extend(slots);
        }
        self.position += units;
        self.skip_holes();
    }

    /// The units of a codeword that have been sent since the last call; `None` if there are none.
    #[inline]
    pub(super) fn report_sent(&mut self, column: u32) -> Option<Sent> {
        let (rows, more) = self.next_position();
        let (data_units, units) = self.shape(column);
        let codeword = &mut self.codewords[column as usize];
        let from = codeword.reported;
        let until = (rows + u32::from(column < more)).min(units);
        if codeword.dropped || from >= until {
            return None;
        }
        codeword.reported = until;
        let number = self.codeword(column);
        let at = |row: u32| (row * self.columns + column) as usize;
        let [first, last] = [from, until - 1].map(|row| self.slots[at(row)]);
        Some(Sent {
            codewords: number..number + 1,
            attempt: 1,
            data_units: until.min(data_units) - from.min(data_units),
            units: until - from,
            slots: first..last + 1,
        })
    }

    /// Outcomes of the units of a codeword, in the order of sending.
    pub(super) fn column(&self, column: u32) -> StepBy<Copied<Iter<'_, UnitOutcome>>> {
        let outcomes = self.outcomes.get(column as usize..).unwrap_or_default();
        outcomes.iter().copied().step_by(self.columns as usize)
    }
}
