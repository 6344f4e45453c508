//! The usual interval between neighbouring slots, found from the first ones.

use crate::types::{Slot, Time};

/// Number of intervals whose median is the usual one.
const SAMPLE: usize = 4096;

/// Passes intervals on together with the usual one, which is the median of the first of them.
#[derive(Debug, Default)]
pub(super) struct Intervals {
    before: Option<Time>,
    /// The first intervals, ns, as long as the usual one is not known.
    sample: Vec<u64>,
    usual: Option<u64>,
    /// Number of the slot that comes next, from 0.
    next: u64,
}

/// An interval: the number of the slot at its end, its length and the usual one, ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval {
    pub(super) slot: u64,
    pub(super) nanos: u64,
    pub(super) usual: u64,
}

impl Intervals {
    /// Passes the intervals up to these slots to `take`, late as long as the usual one is not known.
    pub(super) fn slots(&mut self, slots: &[Slot], mut take: impl FnMut(Interval)) {
        for slot in slots {
            let time = slot.tx_time();
            let (at, before) = (self.next, self.before.replace(time));
            self.next += 1;
            let Some(before) = before else { continue };
            let nanos = time.since(before).as_nanos();
            if let Some(usual) = self.usual {
                take(Interval {
                    slot: at,
                    nanos,
                    usual,
                });
            } else {
                self.sample.push(nanos);
                if self.sample.len() == SAMPLE {
                    self.settle(&mut take);
                }
            }
        }
    }

    /// Passes on what waits. Returns the usual interval, ns; `None` if there is no interval.
    pub(super) fn waiting(&self, mut take: impl FnMut(Interval)) -> Option<u64> {
        let usual = self.usual.or_else(|| median(&self.sample))?;
        for (slot, nanos) in (1..).zip(&self.sample) {
            take(Interval {
                slot,
                nanos: *nanos,
                usual,
            });
        }
        Some(usual)
    }

    fn settle(&mut self, take: &mut impl FnMut(Interval)) {
        self.usual = self.waiting(take);
        self.sample = Vec::new();
    }
}

/// The lower median.
fn median(values: &[u64]) -> Option<u64> {
    let mut values = values.to_vec();
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable(middle).1)
}
