//! `missing-rows` and `clock-steps`: gaps in the times of slots that otherwise have a constant interval.

use super::intervals::{Interval, Intervals};
use super::{Check, Facts};
use crate::format::import::catalogue::{CLOCK_STEPS, MISSING_ROWS};
use crate::format::import::{Finding, counted};
use crate::types::{Slot, Span};

/// Intervals that the usual one must be shared by: four fifths.
const SHARE: (u64, u64) = (4, 5);

/// Least usual interval, ns: shorter ones are those of slots, not of samples that a table might leave out.
const LEAST_INTERVAL: u64 = 1_000_000;

/// Least step of a clock, ns, as in the importers.
const LEAST_STEP: u64 = 1_000_000_000;

/// As many usual intervals are no step of a clock.
const STEP_INTERVALS: u64 = 3;

/// By this part of a gap the usual interval may be off: 2 %.
const DRIFT: u64 = 50;

/// Counts intervals by their length.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    intervals: u64,
    usual: u64,
    gaps: u64,
    missing: u64,
    first_gap: Option<u64>,
    steps: u64,
    first_step: Option<u64>,
    largest_step: u64,
}

impl Counts {
    fn add(&mut self, interval: Interval) {
        let Interval { slot, nanos, usual } = interval;
        self.intervals += 1;
        if nanos.abs_diff(usual) <= usual / 10 {
            self.usual += 1;
            return;
        }
        if usual < LEAST_INTERVAL || nanos < usual + usual / 2 {
            return;
        }
        let times = (nanos + usual / 2) / usual;
        if nanos.abs_diff(times.saturating_mul(usual)) <= usual / 4 + nanos / DRIFT {
            self.gaps += 1;
            self.missing += times - 1;
            self.first_gap.get_or_insert(slot);
        } else if nanos > LEAST_STEP.max(usual.saturating_mul(STEP_INTERVALS)) {
            self.steps += 1;
            self.first_step.get_or_insert(slot);
            self.largest_step = self.largest_step.max(nanos);
        }
    }
}

/// Counts the gaps of a trace.
#[derive(Debug, Default)]
pub(super) struct Rows {
    intervals: Intervals,
    counts: Counts,
}

impl Check for Rows {
    fn slots(&mut self, slots: &[Slot]) {
        let counts = &mut self.counts;
        self.intervals.slots(slots, |interval| counts.add(interval));
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let mut counts = self.counts;
        let usual = self.intervals.waiting(|interval| counts.add(interval));
        let is_constant = counts.usual * SHARE.1 >= counts.intervals * SHARE.0;
        let (Some(usual), true, true) = (usual, is_constant, facts.has_times) else {
            return Vec::new();
        };
        let span = |nanos| Span::from_nanos(nanos).unwrap_or(Span::MAX);
        let mut findings = Vec::new();
        if counts.missing > 0 {
            let text = format!(
                "{} missing in {}: rows follow each other by {}, and these gaps are whole multiples of it: lost packets left out, or a clock that was set forward",
                counted(counts.missing, "row"),
                counted(counts.gaps, "gap"),
                span(usual)
            );
            let finding = Finding::of(&MISSING_ROWS, counts.missing, "rows", text);
            findings.push(finding.at_slot(counts.first_gap));
        }
        if counts.steps > 0 {
            let text = format!(
                "{}: rows follow each other by {}, but here by up to {}, which is no multiple of it: the clock was set forward, or traces were put together",
                counted(counts.steps, "clock step"),
                span(usual),
                span(counts.largest_step)
            );
            let finding = Finding::of(&CLOCK_STEPS, counts.steps, "steps", text);
            findings.push(finding.at_slot(counts.first_step));
        }
        findings
    }
}
