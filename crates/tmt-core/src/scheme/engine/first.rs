//! First transmissions by slices, for a link whose queue holds the codewords: what needs no repeat is settled without
//! the super-block's grid. Between super-blocks only, and only where one is a single codeword.

use super::Machine;
use super::saturated::before;
use super::whole::WholeBlock;
use crate::types::{Lldu, Slot, Time};

/// A codeword that was decoded in its first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decoded {
    /// When the last of its LLDUs is there, propagation left out.
    pub arrival: Time,
    /// Data LLDUs that came through on their own, and so were known at once; the others were when it was judged.
    pub own: u32,
}

/// A machine between two super-blocks, for codewords that are sent in slots before the next repeat.
///
/// What is taken this way is not reported as settled.
#[derive(Debug)]
pub struct FirstAttempts<'m, 's> {
    machine: &'m mut Machine,
    slots: &'s [Slot],
}

impl Machine {
    /// First attempts in those of `slots` in which the next repeat cannot be sent yet. Only between two super-blocks:
    /// see [`Self::is_under_way`].
    pub fn first_attempts<'s>(&mut self, slots: &'s [Slot]) -> FirstAttempts<'_, 's> {
        FirstAttempts {
            slots: &slots[..before(slots, self.repeats.next_ready())],
            machine: self,
        }
    }
}

impl<'s> FirstAttempts<'_, 's> {
    /// The slots before the next repeat.
    #[must_use]
    pub fn slots(&self) -> &'s [Slot] {
        self.slots
    }

    /// Takes codewords of one unit each, all of them received in these of the slots; appends the LLDUs that are settled
    /// and have no unsettled one before them.
    pub fn take_received(&mut self, slots: &[Slot], out: &mut Vec<Lldu>) {
        let machine = &mut *self.machine;
        debug_assert!(machine.units == 1 && !machine.is_under_way());
        machine.block.pass(slots.len() as u64);
        machine.counts.data += slots.len() as u64;
        machine.pending.push_all_delivered(slots, out);
        machine.pending.emit(out);
    }

    /// Takes a codeword of `data_units`, whose first attempt are these of the slots, and appends as
    /// [`Self::take_received`]; `None`, and nothing is done, where the attempt is not enough.
    pub fn take_decoded(
        &mut self,
        data_units: u32,
        slots: &[Slot],
        out: &mut Vec<Lldu>,
    ) -> Option<Decoded> {
        let machine = &mut *self.machine;
        debug_assert!(!machine.is_under_way());
        let (data, repair) = slots.split_at(data_units as usize);
        let own = data.iter().filter(|slot| !slot.is_erased()).count();
        let decoded = if own == data.len() && !machine.discards {
            machine.pending.push_all_delivered(data, out);
            let arrival = data.iter().filter_map(Slot::arrival).max()?;
            Decoded {
                arrival,
                own: data_units,
            }
        } else {
            let complete = machine.complete(slots.iter(), data_units)?;
            if machine.discards {
                machine.pending.push_all_complete(data, complete);
                Decoded {
                    arrival: complete,
                    own: 0,
                }
            } else {
                machine.pending.push_all_repaired(data, complete);
                let latest = data.iter().filter_map(Slot::arrival).max();
                Decoded {
                    arrival: latest.map_or(complete, |latest| latest.max(complete)),
                    own: u32::try_from(own).unwrap_or(data_units),
                }
            }
        };
        machine.block.pass(1);
        machine.counts.data += data.len() as u64;
        machine.counts.repair += repair.len() as u64;
        machine.pending.emit(out);
        Some(decoded)
    }

    /// Takes a super-block of the codewords that are next, whose first attempts are all of the slots, and appends as
    /// [`Self::take_received`]; whether it did. Nothing is done, and what `block` shows means nothing, where the attempts
    /// are not enough for each codeword, or a repeat comes before the block's last unit.
    pub fn take_whole(self, block: &mut WholeBlock, out: &mut Vec<Lldu>) -> bool {
        self.slots.len() == block.units() && self.machine.take_whole(block, self.slots, out)
    }
}
