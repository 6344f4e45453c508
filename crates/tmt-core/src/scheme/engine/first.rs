//! First transmissions by slices, for a link whose queue holds the codewords: what needs no repeat is settled without
//! the super-block's grid. Between super-blocks only, and only where one is a single codeword.

use super::saturated::before;
use super::{Machine, nth_arrival};
use crate::types::{Lldu, Slot, Time};

/// A codeword that was decoded in its first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// When the last of its LLDUs is there, propagation left out.
    pub arrival: Time,
    /// Data LLDUs that came through on their own, and so were known at once; the others were when it was judged.
    pub own: u32,
}

impl Machine {
    /// Those of `slots` in which the next repeat cannot be sent yet.
    #[must_use]
    pub fn before_repeats<'a>(&self, slots: &'a [Slot]) -> &'a [Slot] {
        &slots[..before(slots, self.repeats.next_ready())]
    }

    /// Codewords of one unit each, all of them received, in slots before the next repeat; appends the LLDUs whose
    /// story is complete. They are not told as settled.
    pub fn take_received(&mut self, slots: &[Slot], out: &mut Vec<Lldu>) {
        debug_assert!(self.units == 1 && !self.is_under_way());
        self.block.pass(slots.len() as u64);
        self.counts.data += slots.len() as u64;
        self.pending.push_all_delivered(slots, out);
        self.pending.emit(out);
    }

    /// A codeword of `data_units`, whose first attempt these slots before the next repeat are; none, and nothing
    /// done, where that is not enough. Appends the LLDUs whose story is complete; they are not told as settled.
    pub fn take_decoded(
        &mut self,
        data_units: u32,
        slots: &[Slot],
        out: &mut Vec<Lldu>,
    ) -> Option<Decoded> {
        debug_assert!(!self.is_under_way());
        let (data, repair) = slots.split_at(data_units as usize);
        let own = data.iter().filter(|slot| !slot.is_erased()).count();
        let decoded = if own == data.len() && !self.discards {
            self.pending.push_all_delivered(data, out);
            let arrival = data.iter().filter_map(Slot::arrival).max()?;
            Decoded {
                arrival,
                own: data_units,
            }
        } else {
            self.arrivals.clear();
            let arrivals = slots.iter().filter_map(Slot::arrival);
            self.arrivals.extend(arrivals.map(Time::as_nanos));
            let complete = nth_arrival(&mut self.arrivals, data_units)?;
            if self.discards {
                self.pending.push_all_complete(data, complete);
                Decoded {
                    arrival: complete,
                    own: 0,
                }
            } else {
                self.pending.push_all_repaired(data, complete);
                let latest = data.iter().filter_map(Slot::arrival).max();
                Decoded {
                    arrival: latest.map_or(complete, |latest| latest.max(complete)),
                    own: u32::try_from(own).unwrap_or(data_units),
                }
            }
        };
        self.block.pass(1);
        self.counts.data += data.len() as u64;
        self.counts.repair += repair.len() as u64;
        self.pending.emit(out);
        Some(decoded)
    }
}
