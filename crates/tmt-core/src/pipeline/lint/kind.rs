//! `probes-suspected` and `capacity-suspected`: rows that look like the other kind of trace.

use super::intervals::{Interval, Intervals};
use super::{Check, Facts};
use crate::format::import::Finding;
use crate::format::import::catalogue::{CAPACITY_SUSPECTED, PROBES_SUSPECTED};
use crate::types::{Slot, Span, TraceKind};

/// Rows below which a look says nothing.
const LEAST_ROWS: u64 = 100;

/// Least interval of probes, ns. Links send slots more often than that.
const LEAST_INTERVAL: u64 = 1_000_000;

/// Counts intervals and notes delays.
#[derive(Debug, Default)]
pub(super) struct Kind {
    intervals: Intervals,
    /// Intervals within a tenth of the usual one.
    usual: u64,
    smallest: Option<Span>,
    largest: Option<Span>,
}

/// Whether an interval is the usual one.
fn is_usual(interval: Interval) -> bool {
    interval.nanos.abs_diff(interval.usual) <= interval.usual / 10
}

impl Check for Kind {
    fn slots(&mut self, slots: &[Slot]) {
        let usual = &mut self.usual;
        self.intervals
            .slots(slots, |interval| *usual += u64::from(is_usual(interval)));
        let received = slots.iter().filter(|slot| !slot.is_erased());
        let delays = received.map(Slot::decode_delay);
        self.smallest = delays.clone().chain(self.smallest).min();
        self.largest = delays.chain(self.largest).max();
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let mut usual = self.usual;
        let count = |interval| usual += u64::from(is_usual(interval));
        let interval = self.intervals.waiting(count);
        let (Some(interval), true) = (interval, facts.has_times && facts.slots >= LEAST_ROWS)
        else {
            return Vec::new();
        };
        let rows = facts.slots;
        let is_constant = usual * 5 >= (rows - 1) * 4;
        let varies = facts.erased > 0 || self.smallest < self.largest;
        let has_size = facts.head.lldu_bytes().is_some();
        let finding = match facts.kind {
            None if is_constant && interval >= LEAST_INTERVAL && varies && !has_size => {
                let interval = Span::from_nanos(interval).unwrap_or(Span::MAX);
                let text = format!(
                    "a row every {interval} with losses or delays looks like probes, which sample a link: their rate is not its capacity"
                );
                Finding::of(&PROBES_SUSPECTED, rows, "rows", text)
            }
            Some(TraceKind::Probe)
                if !is_constant
                    && facts.erased == 0
                    && self
                        .largest
                        .is_some_and(|delay| delay <= Slot::UNKNOWN_DELAY) =>
            {
                let text = "no losses, no delays and no constant interval look like delivery opportunities, though the head says probe";
                Finding::of(&CAPACITY_SUSPECTED, rows, "rows", text)
            }
            _ => return Vec::new(),
        };
        vec![finding]
    }
}
