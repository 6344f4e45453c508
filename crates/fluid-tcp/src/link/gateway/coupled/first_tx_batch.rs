//! Slots by stretches: what is received, or decoded, in its first attempt before the next repeat takes no step of its
//! own for each unit.

use tmt_core::scheme::engine::Engine;
use tmt_core::types::{Lldu, Slot, Time};

use super::CoupledQueue;
use super::slot_usage::SlotUsage;

/// What a stretch of slots did for the packet that is next: data units, slots, and when the last of its LLDUs is there,
/// propagation left out.
type Part = (u32, usize, Time);

/// The parts of a queue that a stretch changes beside its packets.
struct Parts<'a> {
    engine: &'a mut Engine,
    account: &'a mut SlotUsage,
    lldus: &'a mut Vec<Lldu>,
}

impl CoupledQueue {
    /// Takes slots from `from` on so long as they need no repeat, where the machine stands between super-blocks of one
    /// codeword; none where there are none.
    pub(super) fn stretch(&mut self, from: Time) -> Option<()> {
        let units = self.data_units + self.repair_units;
        let (number, slots) = self.slots.view(from, units as usize)?;
        let slots = self.engine.before_repeat(slots);
        let mut parts = Parts {
            engine: &mut self.engine,
            account: &mut self.account,
            lldus: &mut self.lldus,
        };
        let (mut done, mut last) = (0, Time::ZERO);
        while let Some(rest) = slots.get(done..)
            && let Some(first) = rest.first().map(Slot::tx_time)
            && let Some((packet, ahead)) = self.packets.source(first)
        {
            let at = number + done as u64;
            let part = if units == 1 {
                parts.singles(rest, at, ahead)
            } else {
                let data_units = ahead.min(self.data_units);
                parts.codeword(rest, at, (data_units, data_units + self.repair_units))
            };
            let Some((data_units, taken, arrival)) = part else {
                break;
            };
            let codewords = data_units.div_ceil(self.data_units);
            let Some(flight) = self.packets.take(codewords.into(), data_units) else {
                break;
            };
            done += taken;
            last = slots[done - 1].tx_time();
            flight.on_arrival(arrival, data_units);
            if flight.on_sent(taken as u64, at..at + taken as u64, (first, last)) {
                self.sent.push((packet, last));
            }
        }
        if done == 0 {
            return None;
        }
        self.account.used.push(number..number + done as u64, last);
        self.slots.advance(done);
        self.on_stretch();
        Some(())
    }

    /// Slots were taken together: goes on with the packets of which all has been sent in them.
    pub(super) fn on_stretch(&mut self) {
        #[cfg(test)]
        self.seen.extend_from_slice(&self.lldus);
        self.lldus.clear();
        let mut sent = std::mem::take(&mut self.sent);
        for (packet, last) in sent.drain(..) {
            self.on_all_sent(packet, last);
            self.check_whole(packet);
        }
        self.sent = sent;
    }
}

impl Parts<'_> {
    /// Codewords of one unit, at most `ahead` of them, up to the first that is erased; the slots begin with number
    /// `at`.
    fn singles(&mut self, slots: &[Slot], at: u64, ahead: u32) -> Option<Part> {
        let most = slots.len().min(ahead as usize);
        let (mut received, mut arrival) = (0, Time::ZERO);
        for here in slots[..most].iter().map_while(Slot::arrival) {
            arrival = arrival.max(here);
            received += 1;
        }
        let run = &slots[..received];
        let last = run.last()?.tx_time();
        self.engine.take_received_units(run, self.lldus);
        self.account.own.push(at..at + received as u64, last);
        Some((u32::try_from(received).unwrap_or(ahead), received, arrival))
    }

    /// A codeword of this shape, if its first attempt is enough; the slots begin with number `at`.
    fn codeword(
        &mut self,
        slots: &[Slot],
        at: u64,
        (data_units, units): (u32, u32),
    ) -> Option<Part> {
        let slots = slots.get(..units as usize)?;
        let decoded = self.engine.take_codeword(data_units, slots, self.lldus)?;
        let data = &slots[..data_units as usize];
        if decoded.own == data_units {
            let last = data.last()?.tx_time();
            self.account.own.push(at..at + u64::from(data_units), last);
        } else {
            if decoded.own > 0 {
                for (number, slot) in (at..).zip(data).filter(|(_, slot)| !slot.is_erased()) {
                    self.account.own.push(number..number + 1, slot.tx_time());
                }
            }
            let judged = slots.last()?.tx_time();
            let others = u64::from(data_units - decoded.own);
            self.account.delivered.push_back((judged, 1, others));
        }
        Some((data_units, slots.len(), decoded.arrival))
    }
}
