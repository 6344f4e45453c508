//! First transmissions by slices, for a link whose queue holds the codewords: what needs no repeat is settled without
//! the super-block's grid. Between super-blocks only, and only where one is a single codeword.

use super::Engine;
use super::saturated::count_before;
use crate::types::{Lldu, Slot, Time};

/// A codeword that was decoded in its first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedCodeword {
    /// When the last of its LLDUs is there, propagation left out.
    pub arrival: Time,
    /// Data LLDUs that came through on their own, and so were known at once; the others were when it was judged.
    pub own: u32,
}

impl Engine {
    /// Those of `slots` in which the next repeat cannot be sent yet.
    #[must_use]
    pub fn before_repeat<'s>(&self, slots: &'s [Slot]) -> &'s [Slot] {
        &slots[..count_before(slots, self.repeats.next_ready)]
    }

    /// Takes codewords of one unit each, all of them received in these of the slots; appends the LLDUs that are settled
    /// and have no unsettled one before them.
    pub fn take_received_units(&mut self, slots: &[Slot], out: &mut Vec<Lldu>) {
        debug_assert!(self.scheme.units == 1 && !self.is_under_way());
        self.block.pass(slots.len() as u64);
        self.counts.data += slots.len() as u64;
        self.lldus.push_all_delivered(slots, out);
        self.lldus.emit(out);
    }

    /// Takes a codeword of `data_units`, whose first attempt are these of the slots, and appends as
    /// [`Self::take_received_units`]; `None`, and nothing is done, where the attempt is not enough.
    pub fn take_codeword(
        &mut self,
        data_units: u32,
        slots: &[Slot],
        out: &mut Vec<Lldu>,
    ) -> Option<DecodedCodeword> {
        debug_assert!(!self.is_under_way());
        let (data, repair) = slots.split_at(data_units as usize);
        let frame = self.scheme.discards();
        let own = data.iter().filter(|slot| !frame && !slot.is_erased());
        let arrival = own.clone().filter_map(Slot::arrival).max();
        let own = u32::try_from(own.count()).unwrap_or(data_units);
        let arrival = if own == data_units {
            self.lldus.push_all_delivered(data, out);
            arrival
        } else {
            let complete = self.complete(slots.iter(), data_units)?;
            self.lldus.push_all_decoded(data, complete, frame);
            arrival.max(Some(complete))
        };
        self.block.pass(1);
        self.counts.data += data.len() as u64;
        self.counts.repair += repair.len() as u64;
        self.lldus.emit(out);
        Some(DecodedCodeword {
            arrival: arrival?,
            own,
        })
    }
}
