//! `clock-offset`: a smallest one-way delay that no network has; `least-delays`: many delays of 1 ns in a trace from which
//! propagation was removed. The second is no fault where delays are coarse and the smallest one was removed.

use super::{Check, Facts};
use crate::format::import::Finding;
use crate::format::import::catalogue::{CLOCK_OFFSET, LEAST_DELAYS};
use crate::types::{Slot, Span};

/// A smallest one-way delay from which on the clocks differ, as in the importers.
const LEAST_OFFSET: Span = Span::from_millis(1500);

/// Delays of 1 ns among those received from which on they are reported: one in twenty.
const FLOORED: u64 = 20;

/// Finds the smallest delay.
#[derive(Debug, Default)]
pub(super) struct Offset {
    seen: u64,
    smallest: Option<Span>,
    floored: u64,
    first_floored: Option<u64>,
}

impl Check for Offset {
    fn slots(&mut self, slots: &[Slot]) {
        for slot in slots.iter().filter(|slot| !slot.is_erased()) {
            let delay = slot.decode_delay();
            if self.smallest.is_none_or(|smallest| delay < smallest) {
                self.smallest = Some(delay);
            }
            self.floored += u64::from(delay == Slot::UNKNOWN_DELAY);
        }
        if self.first_floored.is_none() && self.floored > 0 {
            let place = slots
                .iter()
                .position(|slot| slot.decode_delay() == Slot::UNKNOWN_DELAY);
            self.first_floored = place.map(|place| self.seen + place as u64);
        }
        self.seen += slots.len() as u64;
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(smallest) = self.smallest else {
            return Vec::new();
        };
        let removed = facts.head.number("propagation_removed_ns");
        let measured = removed.and_then(Span::from_nanos).unwrap_or(Span::ZERO);
        let smallest = smallest.as_nanos().checked_add(measured.as_nanos());
        let smallest = smallest.and_then(Span::from_nanos).unwrap_or(Span::MAX);
        let mut findings = Vec::new();
        // A round trip begins and ends at the same clock.
        let is_one_way = facts.head.get("one_way_delay").is_none();
        if is_one_way && smallest >= LEAST_OFFSET {
            let text = format!(
                "the smallest one-way delay is {smallest}, more than any network needs at best: the clocks differ by about that, or the delays have another unit"
            );
            findings.push(Finding::of(&CLOCK_OFFSET, 1, "clocks", text));
        }
        let received = facts.slots - facts.erased;
        if removed.is_some() && self.floored * FLOORED > received && self.floored < received {
            let text = format!(
                "{} of {received} received slots have the least delay of 1 ns: before {measured} were removed as propagation they had that or less",
                self.floored
            );
            let finding = Finding::of(&LEAST_DELAYS, self.floored, "slots", text);
            findings.push(finding.at_slot(self.first_floored));
        }
        findings
    }
}
