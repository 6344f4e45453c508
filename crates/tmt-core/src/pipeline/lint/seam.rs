//! `loop-seam`: a pause where a looped capacity trace begins again, longer than any other.
//!
//! The period is the time of the last row, as in mahimahi: before the first row of a pass there is its own time, and before
//! the last row the interval that a last line far behind the others makes.

use super::intervals::{Interval, Intervals};
use super::{Check, Facts};
use crate::format::import::Finding;
use crate::format::import::catalogue::LOOP_SEAM;
use crate::types::{Slot, Span, Time, TraceKind};

/// Least pause, ns.
const LEAST: u64 = 100_000_000;

/// Keeps the longest interval, and apart from it the last one.
#[derive(Debug, Default)]
pub(super) struct Seam {
    first: Option<Time>,
    intervals: Intervals,
    pauses: Pauses,
}

/// The last interval, and the longest before it, ns.
#[derive(Debug, Default, Clone, Copy)]
struct Pauses {
    last: Option<Interval>,
    longest: u64,
}

impl Pauses {
    fn add(&mut self, interval: Interval) {
        let before = self.last.replace(interval);
        self.longest = self.longest.max(before.map_or(0, |before| before.nanos));
    }
}

impl Check for Seam {
    fn slots(&mut self, slots: &[Slot]) {
        if let Some(slot) = slots.first() {
            self.first.get_or_insert(slot.tx_time());
        }
        let pauses = &mut self.pauses;
        self.intervals.slots(slots, |interval| pauses.add(interval));
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let mut pauses = self.pauses;
        self.intervals.waiting(|interval| pauses.add(interval));
        let (Some(first), Some(last)) = (self.first, pauses.last) else {
            return Vec::new();
        };
        if !facts.has_times || facts.kind == Some(TraceKind::Probe) || facts.slots < 3 {
            return Vec::new();
        }
        let begin = first.as_nanos();
        // Each end is compared with all other pauses, those at the other end included.
        let is_pause = |pause: u64, others: u64| {
            pause >= LEAST && pause > others.saturating_mul(2) && pause / 10 > last.usual
        };
        let span = |nanos| Span::from_nanos(nanos).unwrap_or(Span::MAX);
        let mut findings = Vec::new();
        let mut found = |pause, slot, place: &str| {
            let text = format!(
                "the trace has a pause of {} before its {place} row, the longest other one is {}: looped, it pauses so in every pass",
                span(pause),
                span(pauses.longest)
            );
            let finding = Finding::of(&LOOP_SEAM, 1, "pauses", text);
            findings.push(finding.at_slot(Some(slot)));
        };
        if is_pause(last.nanos, pauses.longest) {
            found(last.nanos, last.slot, "last");
        } else if is_pause(begin, pauses.longest.max(last.nanos)) {
            found(begin, 0, "first");
        }
        findings
    }
}
