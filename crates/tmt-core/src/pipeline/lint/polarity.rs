//! `polarity-suspected`: more than half of the slots are erased; `nothing-received`: all of them.

use super::{Check, Facts};
use crate::format::import::Finding;
use crate::format::import::catalogue::{NOTHING_RECEIVED, POLARITY_SUSPECTED};
use crate::types::Slot;

/// Remembers the first erased slot.
#[derive(Debug, Default)]
pub(super) struct Polarity {
    seen: u64,
    first: Option<u64>,
}

impl Check for Polarity {
    fn slots(&mut self, slots: &[Slot]) {
        if self.first.is_none() {
            let place = slots.iter().position(Slot::is_erased);
            self.first = place.map(|place| self.seen + place as u64);
        }
        self.seen += slots.len() as u64;
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Facts { slots, erased, .. } = *facts;
        if erased * 2 <= slots {
            return Vec::new();
        }
        let finding = if erased == slots {
            let text = format!("all {slots} slots are erased: nothing can be sent over this trace");
            Finding::of(&NOTHING_RECEIVED, erased, "slots", text)
        } else {
            let text = format!(
                "{erased} of {slots} slots are erased: a link in deep fade, or 0 and 1 the wrong way round"
            );
            Finding::of(&POLARITY_SUSPECTED, erased, "slots", text)
        };
        vec![finding.at_slot(self.first)]
    }
}
