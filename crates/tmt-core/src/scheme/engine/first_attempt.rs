//! Fast path of the coupled link for first attempts that decode: they are settled without the grid of a super-block.
//!
//! Allowed between super-blocks only, and only if a super-block is a single codeword.

use super::Engine;
use super::saturated::count_before;
use crate::types::{Lldu, Slot, Time};

/// A codeword that was decoded in its first attempt. Part of a fast path of the coupled link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodedCodeword {
    /// Time at which the last of its LLDUs is available, propagation excluded.
    pub arrival: Time,
    /// Number of data LLDUs that were received and so settled at once. The others were settled when the codeword was judged.
    pub own: u32,
}

impl Engine {
    /// The prefix of `slots` in which no repeat is ready.
    #[doc(hidden)]
    #[must_use]
    pub fn before_repeat<'s>(&self, slots: &'s [Slot]) -> &'s [Slot] {
        &slots[..count_before(slots, self.repeats.next_ready)]
    }

    /// Sends one codeword of one unit in each of `slots`, all of which are received. Appends to `out` as
    /// [`Self::on_outcome`] does.
    #[doc(hidden)]
    pub fn take_received_units(&mut self, slots: &[Slot], out: &mut Vec<Lldu>) {
        debug_assert!(self.scheme.units == 1 && !self.is_under_way());
        self.block.pass(slots.len() as u64);
        self.counts.data += slots.len() as u64;
        self.lldus.push_all_delivered(slots, out);
        self.lldus.emit(out);
    }

    /// Sends a codeword of `data_units` in `slots`, which hold its first attempt. Appends to `out` as
    /// [`Self::on_outcome`] does. `None`, without any effect, if the attempt does not decode.
    #[doc(hidden)]
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
