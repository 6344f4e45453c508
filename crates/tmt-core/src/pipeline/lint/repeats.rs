//! `repeated-delays`: received slots with exactly the delay of the slot before, as tools write it for lost packets.
//!
//! Delays that are coarse, or all the same, repeat at any distance. So the count is compared with that of slots that have
//! the delay of the eighth slot before.

use super::{Check, Facts};
use crate::format::import::catalogue::REPEATED_DELAYS;
use crate::format::import::{Finding, counted};
use crate::types::{Slot, Span};

/// Distance at which repeats are chance.
const FAR: usize = 8;

/// Least number of repeats.
const LEAST: u64 = 10;

/// As many times as at the far distance.
const TIMES: u64 = 10;

/// Counts repeats.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// Delays of the last slots, by their number modulo [`FAR`].
    last: [Span; FAR],
    /// The next place in it.
    place: usize,
    seen: u64,
    near: u64,
    far: u64,
    first: Option<u64>,
    received: u64,
}

impl Check for Repeats {
    fn slots(&mut self, slots: &[Slot]) {
        for slot in slots {
            let delay = slot.decode_delay();
            let place = self.place;
            self.place = (place + 1) % FAR;
            if delay > Slot::UNKNOWN_DELAY {
                self.received += 1;
                self.far += u64::from(delay == self.last[place]);
                if delay == self.last[(place + FAR - 1) % FAR] {
                    self.near += 1;
                    self.first.get_or_insert(self.seen);
                }
            }
            self.last[place] = delay;
            self.seen += 1;
        }
    }

    fn findings(&self, _: &Facts<'_>) -> Vec<Finding> {
        let is_odd =
            self.near >= LEAST && self.near > TIMES * self.far && self.near * 10 <= self.received;
        if !is_odd {
            return Vec::new();
        }
        let text = format!(
            "{} exactly the delay of the slot before, against {} that of 8 before: perhaps lost packets, which some tools record like that",
            counted(self.near, "received slot") + if self.near == 1 { " has" } else { " have" },
            match self.far {
                0 => "none that has".to_owned(),
                1 => "1 that has".to_owned(),
                far => format!("{far} that have"),
            }
        );
        let finding = Finding::of(&REPEATED_DELAYS, self.near, "slots", text);
        vec![finding.at_slot(self.first)]
    }
}
