//! `saturated-delays`: many delays at the largest one; `wrapped-delays`: some at a power of two that a counter of 32 bits has.

use std::collections::BTreeSet;

use super::{Check, Facts};
use crate::format::import::catalogue::{SATURATED_DELAYS, WRAPPED_DELAYS};
use crate::format::import::{Finding, counted};
use crate::types::{Slot, Span};

/// Distinct delays beside the largest one. Fewer are those of a link with a few MODCODs or attempts, not measured ones.
const DISTINCT: usize = 32;

/// Fewest delays at the largest one.
const LEAST: u64 = 20;

/// One in as many received slots has the largest delay.
const SHARE: u64 = 20;

/// Units of counters that wrap, ns: of ns and of us.
const UNITS: [(&str, u64); 2] = [("ns", 1), ("us", 1000)];

/// Distance from 2^32 units within which a delay may have wrapped, and below which most delays are, in units.
const NEAR: u64 = 1 << 28;

/// At most one in as many delays has wrapped.
const WRAPPED: u64 = 5;

/// Delays that may have wrapped in a unit.
#[derive(Debug, Default, Clone, Copy)]
struct Wraps {
    count: u64,
    small: u64,
    first: Option<u64>,
}

/// Watches the largest delays.
#[derive(Debug, Default)]
pub(super) struct Extremes {
    seen: u64,
    received: u64,
    /// Delays that differ, up to as many as matter.
    distinct: BTreeSet<Span>,
    largest: Span,
    at_largest: u64,
    first_largest: u64,
    wraps: [Wraps; UNITS.len()],
}

impl Check for Extremes {
    fn slots(&mut self, slots: &[Slot]) {
        for slot in slots {
            let (number, delay) = (self.seen, slot.decode_delay());
            self.seen += 1;
            if slot.is_erased() || delay == Slot::UNKNOWN_DELAY {
                continue;
            }
            self.received += 1;
            if self.distinct.len() <= DISTINCT + 1 {
                self.distinct.insert(delay);
            }
            if delay > self.largest {
                (self.largest, self.at_largest, self.first_largest) = (delay, 0, number);
            }
            self.at_largest += u64::from(delay == self.largest);
            for (wraps, (_, unit)) in self.wraps.iter_mut().zip(UNITS) {
                let units = delay.as_nanos() / unit;
                wraps.small += u64::from(units < NEAR);
                if units.abs_diff(1 << 32) <= NEAR {
                    wraps.count += 1;
                    wraps.first.get_or_insert(number);
                }
            }
        }
    }

    fn findings(&self, _: &Facts<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let is_saturated = self.at_largest >= LEAST
            && self.at_largest * SHARE >= self.received
            && self.distinct.len() > DISTINCT + 1;
        if is_saturated {
            let text = format!(
                "{} of {} have exactly the largest delay, {}: what was longer is recorded as that",
                self.at_largest,
                counted(self.received, "received slot"),
                self.largest
            );
            let finding = Finding::of(&SATURATED_DELAYS, self.at_largest, "slots", text);
            findings.push(finding.at_slot(Some(self.first_largest)));
        }
        for (wraps, (unit, _)) in self.wraps.iter().zip(UNITS) {
            let is_rare = wraps.count * WRAPPED <= self.received;
            if wraps.count > 0 && is_rare && wraps.small * 2 >= self.received {
                let text = format!(
                    "{} of about 2^32 {unit} among much smaller ones: a negative difference in 32 bits, or a counter that wrapped",
                    counted(wraps.count, "delay")
                );
                let finding = Finding::of(&WRAPPED_DELAYS, wraps.count, "slots", text);
                findings.push(finding.at_slot(wraps.first));
            }
        }
        findings
    }
}
