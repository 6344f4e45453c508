//! What every slot was used for, kept until the run's clock has passed it.

use std::collections::VecDeque;

use tmt_core::scheme::engine::Unit;
use tmt_core::types::{Slot, Time};

use super::CoupledQueue;
use crate::link::SlotUse;

/// Slots used, of which nobody has been told.
#[derive(Debug, Default)]
pub(super) struct SlotLogBuffer(VecDeque<SlotUse>);

impl SlotLogBuffer {
    /// The next one sent by `now`.
    pub(super) fn take(&mut self, now: Time) -> Option<SlotUse> {
        self.0.pop_front_if(|used| used.at <= now)
    }
}

impl CoupledQueue {
    /// Notes that the slot of this number carries `unit`, where somebody asks.
    pub(super) fn note(&mut self, unit: &Unit, number: u64, slot: &Slot) {
        let Some(book) = &mut self.book else {
            return;
        };
        let (codeword, attempt) = self.machine.attempt_of(unit);
        let packet = self.packets.of(codeword);
        if let Some(flight) = packet.and_then(|packet| self.packets.get(packet)) {
            book.0.push_back(SlotUse {
                slot: number,
                at: slot.tx_time(),
                kind: unit.kind(),
                copy: flight.queued.copy,
                codeword,
                attempt,
                arrival: slot.arrival(),
            });
        }
    }
}
