//! Batches of slots before the next repeat. Codewords whose first attempt suffices are computed together instead of unit
//! by unit.

use tmt_core::scheme::engine::Engine;
use tmt_core::types::{Lldu, Slot, Time};

use super::CoupledQueue;
use super::slot_usage::SlotUsage;

/// Part of a batch that serves one packet: data units, slots, and the latest arrival of its LLDUs without propagation.
type BatchPart = (u32, usize, Time);

/// State of the queue that a batch changes in addition to the packets.
struct BatchState<'a> {
    engine: &'a mut Engine,
    slot_usage: &'a mut SlotUsage,
    lldus: &'a mut Vec<Lldu>,
}

impl CoupledQueue {
    /// Takes slots from `from` on, as long as they need no repeat. The engine must be between super-blocks, which have one
    /// codeword each. Returns `None` if there are no such slots; nothing has then changed.
    pub(super) fn send_first_tx_batch(&mut self, from: Time) -> Option<()> {
        let units = self.data_units + self.repair_units;
        let (number, slots) = self.slots.view(from, units as usize)?;
        let slots = self.engine.before_repeat(slots);
        let mut batch = BatchState {
            engine: &mut self.engine,
            slot_usage: &mut self.slot_usage,
            lldus: &mut self.lldus,
        };
        let (mut done, mut last) = (0, Time::ZERO);
        while let Some(rest) = slots.get(done..)
            && let Some(first) = rest.first().map(Slot::tx_time)
            && let Some((packet, ahead)) = self.packets.source(first)
        {
            let at = number + done as u64;
            let part = if units == 1 {
                batch.singles(rest, at, ahead)
            } else {
                let data_units = ahead.min(self.data_units);
                batch.codeword(rest, at, (data_units, data_units + self.repair_units))
            };
            let Some((data_units, taken, arrival)) = part else {
                break;
            };
            let codewords = data_units.div_ceil(self.data_units);
            let Some(tracked) = self.packets.take(codewords.into(), data_units) else {
                break;
            };
            done += taken;
            last = slots[done - 1].tx_time();
            tracked.on_arrival(arrival, data_units);
            if tracked.on_sent(taken as u64, at..at + taken as u64, (first, last)) {
                self.sent.push((packet, last));
            }
        }
        if done == 0 {
            return None;
        }
        self.slot_usage
            .used
            .push(number..number + done as u64, last);
        self.slots.advance(done);
        self.finish_batch();
        Some(())
    }

    /// Processes the packets whose last unit was sent in the batch.
    pub(super) fn finish_batch(&mut self) {
        #[cfg(test)]
        self.seen.extend_from_slice(&self.lldus);
        self.lldus.clear();
        let mut sent = std::mem::take(&mut self.sent);
        for (packet, last) in sent.drain(..) {
            self.on_all_sent(packet, last);
            self.check_complete(packet);
        }
        self.sent = sent;
    }
}

impl BatchState<'_> {
    /// Sends up to `ahead` codewords of one unit, up to the first erased slot. The first slot has the number `at`.
    fn singles(&mut self, slots: &[Slot], at: u64, ahead: u32) -> Option<BatchPart> {
        let most = slots.len().min(ahead as usize);
        let (mut received, mut arrival) = (0, Time::ZERO);
        for here in slots[..most].iter().map_while(Slot::arrival) {
            arrival = arrival.max(here);
            received += 1;
        }
        let run = &slots[..received];
        let last = run.last()?.tx_time();
        self.engine.take_received_units(run, self.lldus);
        self.slot_usage.own.push(at..at + received as u64, last);
        Some((u32::try_from(received).unwrap_or(ahead), received, arrival))
    }

    /// Sends a codeword with these numbers of data units and units, if its first attempt suffices. The first slot has the
    /// number `at`.
    fn codeword(
        &mut self,
        slots: &[Slot],
        at: u64,
        (data_units, units): (u32, u32),
    ) -> Option<BatchPart> {
        let slots = slots.get(..units as usize)?;
        let decoded = self.engine.take_codeword(data_units, slots, self.lldus)?;
        let data = &slots[..data_units as usize];
        if decoded.own == data_units {
            let last = data.last()?.tx_time();
            self.slot_usage
                .own
                .push(at..at + u64::from(data_units), last);
        } else {
            if decoded.own > 0 {
                for (number, slot) in (at..).zip(data).filter(|(_, slot)| !slot.is_erased()) {
                    self.slot_usage.own.push(number..number + 1, slot.tx_time());
                }
            }
            let judged = slots.last()?.tx_time();
            let others = u64::from(data_units - decoded.own);
            self.slot_usage.delivered.push_back((judged, 1, others));
        }
        Some((data_units, slots.len(), decoded.arrival))
    }
}
