//! `opportunity-size`: a trace as of mahimahi whose head gives its opportunities 1500 B.

use super::{Check, Facts};
use crate::format::import::catalogue::OPPORTUNITY_SIZE;
use crate::format::import::{Finding, mahimahi};
use crate::types::{Bytes, Slot, TraceKind};

/// Size of a packet without mahimahi's header of 4 B, which its manual page names.
const PAGE: Bytes = Bytes(1500);

/// Nanoseconds in a millisecond.
const MILLI: u64 = 1_000_000;

/// Watches whether all times are whole milliseconds.
#[derive(Debug, Default)]
pub(super) struct Size {
    has_fractions: bool,
}

impl Check for Size {
    fn slots(&mut self, slots: &[Slot]) {
        let is_fraction = |slot: &Slot| !slot.tx_time().as_nanos().is_multiple_of(MILLI);
        self.has_fractions = self.has_fractions || slots.iter().any(is_fraction);
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let head = facts.head;
        let by_bytes = head.get("packing") == Some("bytes");
        let is_like = by_bytes || (facts.has_times && !self.has_fractions);
        if head.lldu_bytes() != Some(PAGE) || facts.kind == Some(TraceKind::Probe) || !is_like {
            return Vec::new();
        }
        let text = format!(
            "lldu_bytes of the head is 1500; opportunities of mahimahi have {} B, so the rate is 0.27 % low",
            mahimahi::OPPORTUNITY.0
        );
        vec![Finding::of(&OPPORTUNITY_SIZE, 1, "heads", text)]
    }
}
