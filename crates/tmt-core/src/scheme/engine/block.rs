//! The super-block that is being sent: which unit is next, and what became of those before it.

use std::ops::Range;

use super::lldu_ring::WaitingLldu;
use crate::types::Slot;

/// What became of a unit of the super-block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnitOutcome(u64);

/// Above every arrival time.
const NOT_RECEIVED: u64 = 1 << 63;

impl UnitOutcome {
    /// No unit, or one that was erased and that nothing waits for.
    pub(super) const NONE: Self = Self(u64::MAX);

    /// A received unit, or an erased one that nothing waits for.
    pub(super) fn of(slot: &Slot) -> Self {
        slot.arrival()
            .map_or(Self::NONE, |arrival| Self(arrival.as_nanos()))
    }

    /// A received data unit, or an erased one whose LLDU has this number and waits.
    pub(super) fn of_data(slot: &Slot, number: u64) -> Self {
        slot.arrival()
            .map_or(Self(NOT_RECEIVED | number), |arrival| {
                Self(arrival.as_nanos())
            })
    }

    /// The arrival, ns.
    pub(super) fn arrival(self) -> Option<u64> {
        (self.0 < NOT_RECEIVED).then_some(self.0)
    }

    /// The LLDU that waits.
    pub(super) fn waiting(self) -> Option<WaitingLldu> {
        (self.0 >= NOT_RECEIVED && self != Self::NONE)
            .then_some(WaitingLldu(self.0 & !NOT_RECEIVED))
    }
}

/// A codeword of a super-block.
#[derive(Debug, Clone, Copy)]
struct Codeword {
    data_units: u32,
    /// Whether it is sent no further.
    dropped: bool,
}

/// A super-block of link-layer.md §3: a grid that is sent row by row, one column a codeword.
#[derive(Debug)]
pub(super) struct SuperBlock {
    /// Data units of a full codeword, ND.
    full: u32,
    /// NR.
    repair_units: u32,
    /// Its codewords, and how many they are.
    codewords: Vec<Codeword>,
    pub(super) columns: u32,
    /// Rows of the longest codeword.
    pub(super) rows: u32,
    /// Whether places of the grid have no unit: those of short codewords and of dropped ones.
    pub(super) holes: bool,
    /// The next unit's place in the grid, row by row.
    pub(super) position: u32,
    /// Codewords of the super-blocks before it.
    first: u64,
    /// What became of the units in front of it.
    pub(super) outcomes: Vec<UnitOutcome>,
    /// LLDUs that wait for the codeword as a whole, where frames are delivered whole or not at all.
    pub(super) waiting: WaitingLldu,
}

/// The place of a unit in the super-block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GridPosition {
    pub(super) row: u32,
    pub(super) column: u32,
}

impl SuperBlock {
    /// One that is all sent.
    pub(super) fn new(data_units: u32, units: u32) -> Self {
        Self {
            full: data_units,
            repair_units: units - data_units,
            codewords: Vec::new(),
            columns: 0,
            rows: 0,
            holes: false,
            position: 0,
            first: 0,
            outcomes: Vec::new(),
            waiting: WaitingLldu::NONE,
        }
    }

    /// Opens the next one, of codewords with as many data units as `next` says, at most `most` of them.
    pub(super) fn open(&mut self, most: u32, mut next: impl FnMut(u32) -> Option<u32>) -> bool {
        self.first += u64::from(self.columns);
        let codewords = (0..most).map_while(|_| next(self.full));
        self.codewords.clear();
        self.codewords.extend(codewords.map(|data_units| Codeword {
            data_units: data_units.clamp(1, self.full),
            dropped: false,
        }));
        let data_units = self.codewords.iter().map(|codeword| codeword.data_units);
        let longest = data_units.clone().max();
        self.rows = longest.map_or(0, |longest| longest + self.repair_units);
        self.holes = data_units.min() < Some(self.full);
        self.columns = u32::try_from(self.codewords.len()).unwrap_or(most);
        self.position = 0;
        self.outcomes.clear();
        self.waiting = WaitingLldu::NONE;
        self.columns > 0
    }

    /// Passes over `codewords` that are sent without it; it is all sent.
    pub(super) fn pass(&mut self, codewords: u64) {
        self.first += codewords;
    }

    /// Whether all of its units have been sent.
    pub(super) fn is_sent(&self) -> bool {
        self.position == self.columns * self.rows
    }

    /// The number of a codeword among all that were taken from a source one super-block after the other.
    pub(super) fn codeword(&self, column: u32) -> u64 {
        self.first + u64::from(column)
    }

    /// Drops the unsent units of those codewords among `codewords` that are being sent; their columns.
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
            self.holes = true;
        }
        self.skip_holes();
        columns
    }

    /// Steps over places that have no unit: of short codewords in the last rows, and of dropped ones.
    fn skip_holes(&mut self) {
        while self.holes && !self.is_sent() {
            let (row, column) = (self.position / self.columns, self.position % self.columns);
            if row < self.shape(column).1 && !self.codewords[column as usize].dropped {
                return;
            }
            self.position += 1;
        }
    }

    /// The data units of a codeword, and all its units.
    pub(super) fn shape(&self, column: u32) -> (u32, u32) {
        let data_units = self.codewords[column as usize].data_units;
        (data_units, data_units + self.repair_units)
    }

    /// The next unit's place, and the step to the one after it.
    pub(super) fn next_position(&mut self) -> GridPosition {
        let (row, column) = match self.columns {
            1 => (self.position, 0),
            columns => (self.position / columns, self.position % columns),
        };
        self.position += 1;
        self.skip_holes();
        GridPosition { row, column }
    }

    /// Notes what became of the unit at `place`; units are noted in the order in which they are sent.
    pub(super) fn note(&mut self, place: GridPosition, outcome: UnitOutcome) {
        let at = place.row as usize * self.columns as usize + place.column as usize;
        if at > self.outcomes.len() {
            // Places of short codewords are skipped.
            self.outcomes.resize(at, UnitOutcome::NONE);
        }
        self.outcomes.push(outcome);
    }

    /// What became of a codeword's units.
    pub(super) fn column(&self, column: u32) -> impl Iterator<Item = UnitOutcome> + Clone {
        let outcomes = self.outcomes.get(column as usize..).unwrap_or_default();
        outcomes.iter().copied().step_by(self.columns as usize)
    }
}
