//! Sums of a trace by cells of equal numbers of slots.

use super::MOST_CELLS;
use crate::stats::distribution::{BITS, bucket};
use crate::types::{Slot, Time, to_f64};

/// Number of buckets of delays, those of the histogram of `tmt stats`: within 0.1 %.
const BUCKETS: usize = 64 << BITS;

/// Sums of a cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    pub(super) slots: u64,
    pub(super) erased: u64,
    /// Bursts and gaps that begin in it.
    pub(super) bursts: u64,
    pub(super) gaps: u64,
    /// Rows after a received one, and after an erased one, of the same trace.
    pub(super) after_received: u64,
    pub(super) after_erased: u64,
    /// Those of them that are of the same kind as the one before.
    pub(super) stays_received: u64,
    pub(super) stays_erased: u64,
    /// Sum of the decoding delays of received rows, ns.
    pub(super) delay: u128,
    /// Received rows by the bucket of their delays, in ascending order.
    pub(super) delays: Vec<(u16, u32)>,
    /// Time of its first row.
    pub(super) first: Time,
    /// From there to the first row of the next cell, or to the last row of the trace, s. Set at the end.
    pub(super) seconds: f64,
    /// Steps from a row to the next one in this time. Set at the end.
    pub(super) steps: u64,
}

impl Cell {
    /// Adds the cell that follows.
    fn merge(&mut self, next: &Self) {
        self.slots += next.slots;
        self.erased += next.erased;
        self.bursts += next.bursts;
        self.gaps += next.gaps;
        self.after_received += next.after_received;
        self.after_erased += next.after_erased;
        self.stays_received += next.stays_received;
        self.stays_erased += next.stays_erased;
        self.delay += next.delay;
        let own = std::mem::take(&mut self.delays);
        self.delays = merged(&own, &next.delays);
    }
}

/// Two histograms together.
fn merged(a: &[(u16, u32)], b: &[(u16, u32)]) -> Vec<(u16, u32)> {
    let mut all = [a, b].concat();
    // Two sorted runs, which the sort recognises.
    all.sort_by_key(|(bucket, _)| *bucket);
    all.dedup_by(|next, kept| {
        let is_equal = next.0 == kept.0;
        kept.1 = kept.1.saturating_add(if is_equal { next.1 } else { 0 });
        is_equal
    });
    all
}

/// Cells of a trace that is being read.
#[derive(Debug)]
pub(super) struct Cells {
    full: Vec<Cell>,
    /// Slots of a full cell.
    size: u64,
    cell: Cell,
    /// Received rows of the current cell by bucket, and the buckets in use.
    counts: Vec<u32>,
    used: Vec<u16>,
    /// Whether the row before was erased.
    before: Option<bool>,
    last: Time,
}

impl Default for Cells {
    fn default() -> Self {
        Self {
            full: Vec::new(),
            size: 1,
            cell: Cell::default(),
            counts: vec![0; BUCKETS],
            used: Vec::new(),
            before: None,
            last: Time::ZERO,
        }
    }
}

/// Bucket of a delay above 0.
pub(super) fn bucket_of(nanos: u64) -> u16 {
    u16::try_from(bucket(nanos, BITS)).unwrap_or(u16::MAX)
}

impl Cells {
    pub(super) fn add(&mut self, slots: &[Slot]) {
        for slot in slots {
            if self.cell.slots == 0 {
                self.cell.first = slot.tx_time();
            }
            let erased = slot.is_erased();
            let cell = &mut self.cell;
            cell.slots += 1;
            cell.erased += u64::from(erased);
            let stays = self.before == Some(erased);
            match self.before {
                Some(true) => {
                    cell.after_erased += 1;
                    cell.stays_erased += u64::from(stays);
                }
                Some(false) => {
                    cell.after_received += 1;
                    cell.stays_received += u64::from(stays);
                }
                None => {}
            }
            if !stays {
                cell.bursts += u64::from(erased);
                cell.gaps += u64::from(!erased);
            }
            if !erased {
                let delay = slot.decode_delay().as_nanos();
                cell.delay += u128::from(delay);
                let bucket = bucket_of(delay);
                let count = &mut self.counts[usize::from(bucket)];
                if *count == 0 {
                    self.used.push(bucket);
                }
                *count = count.saturating_add(1);
            }
            self.before = Some(erased);
            self.last = slot.tx_time();
            if self.cell.slots == self.size {
                self.close();
            }
        }
    }

    /// Ends the current cell. If there are too many, pairs of neighbours become one.
    fn close(&mut self) {
        let mut cell = std::mem::take(&mut self.cell);
        self.used.sort_unstable();
        let counts = &mut self.counts;
        let take = |bucket| (bucket, std::mem::take(&mut counts[usize::from(bucket)]));
        cell.delays = self.used.drain(..).map(take).collect();
        self.full.push(cell);
        if self.full.len() == MOST_CELLS {
            self.size *= 2;
            let pairs = self.full.chunks(2).map(|pair| {
                let mut both = pair[0].clone();
                pair[1..].iter().for_each(|next| both.merge(next));
                both
            });
            self.full = pairs.collect();
        }
    }

    /// All cells. The last one may be smaller than the others.
    pub(super) fn finish(mut self) -> Vec<Cell> {
        if self.cell.slots > 0 {
            self.close();
        }
        let ends: Vec<Time> = self.full.iter().skip(1).map(|cell| cell.first).collect();
        let count = self.full.len();
        let ends = ends.into_iter().chain([self.last]);
        for (place, (cell, end)) in self.full.iter_mut().zip(ends).enumerate() {
            cell.seconds = to_f64(end.since(cell.first).as_nanos()) / 1e9;
            cell.steps = cell.slots - u64::from(place + 1 == count);
        }
        self.full
    }
}
