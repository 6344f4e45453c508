//! Coupled link: a packet queue before a PHY trace, with the scheme's engine between them (docs/schemes.md, Sec. 10;
//! Barakat 2004, Sec. 2; Zhu 2006, Sec. II).
//!
//! Later arrivals can change what a slot carries only when a super-block is opened, and only if the queue holds fewer
//! codewords than it takes. The link is therefore computed ahead of the run's clock up to that slot, which takes one
//! event for many slots. Idle slots are skipped.

mod buffer_release;
mod first_tx_batch;
mod link;
mod packets;
mod slot_usage;
mod slots;
mod superblock_batch;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

use tmt_core::scheme::engine::{DecodedSuperBlock, Engine, Settled, Unit};
use tmt_core::types::{self, Bytes, Lldu, Slot, Span, Time, to_f64};

use crate::hop::{
    Attach, AttachError, Drive, Event, Gateway, GatewaySetup, Hop, Reporting, Room, Served,
};
use crate::link::{SlotUse, Usage};
use crate::packet::Packet;
use crate::packing::Segmentation;
use crate::queue::{self, DROP_TAIL, Queue};
pub use link::{CoupledLink, Hold, InOrder, LostFeedback, Tail};
use packets::{Outcome, Packets};
use slot_usage::SlotUsage;
use slots::Slots;

/// Packets of one order of delivery that wait for an earlier one.
#[derive(Debug, Default)]
struct ReorderQueue {
    packets: VecDeque<u64>,
    /// D of docs/schemes.md, Sec. 6: delivery of the latest packet.
    latest: Time,
}

/// Gateway of a coupled link.
#[derive(Debug)]
pub(crate) struct CoupledQueue {
    engine: Engine,
    rtt: Span,
    /// RTT + fb: time from the last unit of an attempt until its feedback.
    feedback_time: Span,
    /// Whether no feedback is lost.
    lossless_feedback: bool,
    hold: Hold,
    reporting: Reporting,
    interleave: u64,
    /// ND of a codeword.
    data_units: u32,
    /// NR of a codeword.
    repair_units: u32,
    /// LLDUs of a packet, without padding.
    segmentation: Segmentation,
    slots: Slots,
    /// Slots before the run.
    origin: u64,
    packets: Packets,
    in_order: InOrder,
    /// One per flow, or one for the link under key 0.
    reorder_queues: HashMap<u32, ReorderQueue>,
    room: Room<dyn Queue>,
    /// Whether packets leave the queue in the order of their arrival, so that the link takes them at once.
    is_fifo: bool,
    /// Time from which on the queue has held a packet, if it holds one.
    backlogged_since: Time,
    /// Times at which packets leave the buffer, as far as they are known, and their sizes.
    leaving: BinaryHeap<Reverse<(Time, Bytes)>>,
    /// Packets whose fate is known, by the time at which they leave or are lost, until they are returned.
    departing: BTreeMap<(Time, u64), Served>,
    fates: VecDeque<Event>,
    slot_usage: SlotUsage,
    /// Uses of slots that the clock has not passed; `None` if slots are not reported.
    slot_log: Option<VecDeque<SlotUse>>,
    due: Option<Time>,
    exhausted: bool,
    /// Scratch memory for LLDUs in order.
    lldus: Vec<Lldu>,
    /// Scratch memory for LLDUs as they are settled.
    settled: Vec<Settled>,
    /// Scratch memory for packets whose last unit was sent in a batch, with its time.
    sent: Vec<(u64, Time)>,
    /// Scratch memory for super-blocks that are computed at once.
    block: DecodedSuperBlock,
    /// All LLDUs in order.
    #[cfg(test)]
    seen: Vec<Lldu>,
}

impl CoupledQueue {
    /// The gateway of `link`.
    ///
    /// # Errors
    /// The trace cannot be read, or a packet has no units.
    pub(crate) fn new(link: &CoupledLink, setup: &GatewaySetup) -> Result<Self, AttachError> {
        if link.segmentation.lldus() == 0 {
            return Err(AttachError::NoUnits);
        }
        let unreadable = || {
            let failure = link.trace.failure();
            AttachError::Unreadable(
                failure.unwrap_or_else(|| "the trace cannot be read".to_owned()),
            )
        };
        let (rtt, (begin, end)) = (setup.rtt, setup.run);
        let queue = queue::start(&setup.discipline, &setup.context(link.rate()));
        let slots = Slots::new(link.trace.clone());
        Ok(Self {
            engine: link.engine(rtt),
            rtt,
            feedback_time: rtt.saturating_add(link.feedback_delay),
            lossless_feedback: link.lost_feedback.is_none(),
            hold: link.hold,
            reporting: setup.reporting,
            interleave: link.scheme.interleave().into(),
            data_units: link.scheme.data_units(),
            repair_units: link.scheme.units() - link.scheme.data_units(),
            segmentation: link.segmentation,
            origin: link.trace.sent_before(begin).ok_or_else(unreadable)?,
            slots: match link.period {
                Some(period) => slots.looped(period, end),
                None => slots,
            },
            packets: Packets::new(link, rtt.half()),
            in_order: link.in_order,
            reorder_queues: HashMap::new(),
            room: Room::new(queue, setup.buffer),
            is_fifo: queue::is(&setup.discipline, &DROP_TAIL),
            backlogged_since: begin,
            leaving: BinaryHeap::new(),
            departing: BTreeMap::new(),
            fates: VecDeque::new(),
            slot_usage: SlotUsage::default(),
            slot_log: setup.reporting.slots.then(VecDeque::new),
            due: None,
            exhausted: false,
            lldus: Vec::new(),
            settled: Vec::new(),
            sent: Vec::new(),
            block: DecodedSuperBlock::default(),
            #[cfg(test)]
            seen: Vec::new(),
        })
    }

    /// Earliest time at which a slot would be used; `None` if nothing is pending.
    fn pending_from(&self) -> Option<Time> {
        if self.engine.is_under_way() {
            return Some(Time::ZERO);
        }
        let repeat = self.engine.next_repeat();
        let waiting = (self.room.waiting() > 0).then_some(self.backlogged_since);
        let data = self.packets.head_enqueued_at().or(waiting);
        data.map_or(repeat, |data| Some(repeat.map_or(data, |at| at.min(data))))
    }

    /// Computes the link as far as packets that arrive after `now` cannot change it.
    fn advance(&mut self, now: Time) {
        self.due = None;
        while !self.exhausted
            && let Some(from) = self.pending_from()
        {
            let settled =
                self.engine.is_under_way() || self.packets.codewords_queued >= self.interleave;
            if !settled {
                let at = self.slots.time_from(from);
                // After the end of the trace repeats are not sent, but packets may still arrive before it.
                let only_repeats = self.packets.codewords_queued == 0 && self.room.waiting() == 0;
                if at.map_or(only_repeats, |at| at > now) {
                    self.due = at;
                    return;
                }
                let repeat = self.engine.next_repeat();
                if let Some(at) = at
                    && repeat.is_none_or(|repeat| repeat > at)
                {
                    self.pull(at);
                }
            }
            // Take many slots at once unless each has to be reported.
            let one_by_one = !self.lossless_feedback || self.slot_log.is_some();
            let taken = if one_by_one || self.engine.is_under_way() {
                None
            } else if self.interleave > 1 {
                self.send_superblock_batch(from)
            } else {
                settled.then(|| self.send_first_tx_batch(from)).flatten()
            };
            if taken.is_some() {
                continue;
            }
            let Some((number, slot)) = self.slots.take(from) else {
                self.exhausted = true;
                return;
            };
            self.step(number, &slot);
            while self.engine.is_under_way()
                && !self.exhausted
                && let Some((number, slot)) = self.slots.take(Time::ZERO)
            {
                self.step(number, &slot);
            }
        }
    }

    /// Takes packets from the queue for the super-block that is opened at `now`; all of them if the queue keeps the order.
    fn pull(&mut self, now: Time) {
        while (self.is_fifo || self.packets.codewords_queued < self.interleave)
            && self.room.waiting() > 0
            && let Some(packet) = self.room.next(now)
        {
            // With lost feedback, repeats that the receiver did not need are reported too, so keep their packets.
            let unneeded_repeats = self.reporting.slots && !self.lossless_feedback;
            let ack_pending = self.reporting.acknowledgements
                || self.hold == Hold::Acknowledged
                || unneeded_repeats;
            let number = self.packets.push(packet, ack_pending);
            let order = match self.in_order {
                InOrder::Off => continue,
                InOrder::Link => 0,
                InOrder::Flow => packet.flow,
            };
            let queue = self.reorder_queues.entry(order).or_default();
            queue.packets.push_back(number);
        }
        self.fates
            .extend(std::iter::from_fn(|| self.room.pop_event()));
    }

    /// Sends one unit in `slot`, the slot of this number, and processes the outcome.
    fn step(&mut self, number: u64, slot: &Slot) {
        let at = slot.tx_time();
        let Some(unit) = self.engine.next_unit(at, &mut self.packets) else {
            return;
        };
        self.slot_usage.used.push(number..number + 1, at);
        self.log_slot(&unit, number, slot);
        let first = self
            .engine
            .codeword_of(&unit)
            .and_then(|codeword| Some((codeword, self.packets.packet_of(codeword)?)));
        if let Some((_, packet)) = first
            && let Some(tracked) = self.packets.get_mut(packet)
            && tracked.on_sent(1, number..number + 1, (at, at))
        {
            self.on_all_sent(packet, at);
        }
        // A repeat past the largest time: the trace has in effect ended.
        let outcome = self.engine.on_outcome(unit, slot, &mut self.lldus);
        self.exhausted = outcome.is_err();
        #[cfg(test)]
        self.seen.extend_from_slice(&self.lldus);
        self.lldus.clear();
        let mut settled = std::mem::take(&mut self.settled);
        self.engine.swap_settled(&mut settled);
        for settled in settled.drain(..) {
            let packet = match first {
                Some((codeword, packet)) if codeword == settled.codeword => Some(packet),
                _ => self.packets.packet_of(settled.codeword),
            };
            self.on_settled((number, at), &settled.lldu, packet);
        }
        self.settled = settled;
        if let Some((_, packet)) = first {
            self.check_complete(packet);
        }
        if !self.lossless_feedback {
            self.take_acknowledged();
        }
    }

    /// Records that the slot of this number carries `unit`, if slots are reported.
    fn log_slot(&mut self, unit: &Unit, number: u64, slot: &Slot) {
        let Some(slot_log) = &mut self.slot_log else {
            return;
        };
        let (codeword, attempt) = self.engine.attempt_of(unit);
        let packet = self.packets.packet_of(codeword);
        if let Some(tracked) = packet.and_then(|packet| self.packets.get(packet)) {
            slot_log.push_back(SlotUse {
                slot: number,
                at: slot.tx_time(),
                kind: unit.kind(),
                packet: tracked.served.packet,
                codeword,
                attempt,
                arrival: slot.arrival(),
            });
        }
    }

    /// The fate of an LLDU is settled by the slot of this number and time. `packet` is the one that it belongs to, if that
    /// is still tracked.
    fn on_settled(&mut self, (number, at): (u64, Time), lldu: &Lldu, packet: Option<u64>) {
        if lldu.fate == types::Fate::Delivered && lldu.attempts == 1 && lldu.tx_time == at {
            self.slot_usage.own.push(number..number + 1, at);
        } else if lldu.fate == types::Fate::Delivered {
            self.slot_usage.delivered.push_back((at, lldu.attempts, 1));
        }
        // The LLDUs of a codeword are lost together; the first of them loses the packet.
        let Some((packet, tracked)) = packet
            .and_then(|packet| Some((packet, self.packets.get_mut(packet)?)))
            .filter(|(_, tracked)| tracked.outcome == Outcome::Open)
        else {
            return;
        };
        if lldu.fate == types::Fate::Delivered {
            tracked.on_arrival(lldu.tx_time.saturating_add(lldu.decode_delay), 1);
            tracked.judged = at;
            self.check_complete(packet);
            return;
        }
        let codewords = self.packets.mark_lost(packet, at);
        self.on_lost(packet, at);
        self.engine.drop_codewords(codewords, at);
        // LLDUs settled by this are lost with the packet.
        self.engine.swap_settled(&mut Vec::new());
        self.report_fate(packet, None);
        self.release(packet);
    }

    /// Releases a packet if it has become complete.
    fn check_complete(&mut self, packet: u64) {
        let tracked = self.packets.get_mut(packet);
        if tracked.is_some_and(packets::TrackedPacket::try_complete) {
            self.check_acknowledged(packet);
            self.release(packet);
        }
    }

    /// The fate of a packet is known. Delivers it and the packets that waited for it, as far as the order allows.
    fn release(&mut self, packet: u64) {
        let Some(tracked) = self.packets.get_mut(packet) else {
            return;
        };
        let order = match self.in_order {
            InOrder::Off => {
                tracked.released = true;
                if let Outcome::Complete(arrival) = tracked.outcome {
                    self.report_fate(packet, Some(arrival));
                }
                self.packets.remove_finished();
                return;
            }
            InOrder::Link => 0,
            InOrder::Flow => tracked.served.packet.flow,
        };
        let mut waiting = self.reorder_queues.remove(&order).unwrap_or_default();
        while let Some(&first) = waiting.packets.front()
            && let Some(tracked) = self.packets.get_mut(first)
            && let Outcome::Complete(known) | Outcome::Lost(known) = tracked.outcome
        {
            waiting.packets.pop_front();
            waiting.latest = waiting.latest.max(known);
            tracked.released = true;
            if matches!(tracked.outcome, Outcome::Complete(_)) {
                self.report_fate(first, Some(waiting.latest));
            }
        }
        self.reorder_queues.insert(order, waiting);
        self.packets.remove_finished();
    }

    /// Reports the fate of a packet: its arrival without propagation, or `None` if it is lost.
    fn report_fate(&mut self, number: u64, arrival: Option<Time>) {
        let Some(tracked) = self.packets.get_mut(number) else {
            return;
        };
        tracked.reported = true;
        let Served {
            packet, service, ..
        } = &mut tracked.served;
        if let Outcome::Lost(known) = tracked.outcome
            && tracked.unsent > 0
        {
            // The packet takes no further slot.
            service.end = known;
        }
        service.arrival = arrival.map(|at| at.saturating_add(service.propagation));
        let fate = Event::Served(*packet, *service);
        self.fates.push_back(fate);
        self.depart(number);
    }
}

impl Hop for CoupledQueue {
    fn name(&self) -> String {
        "coupled link".to_owned()
    }

    fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        if self.room.waiting() == 0 {
            self.backlogged_since = now;
        }
        let refused = self.room.push(now, packet);
        if self.is_fifo {
            self.pull(now);
        } else {
            self.fates
                .extend(std::iter::from_fn(|| self.room.pop_event()));
        }
        refused
    }

    fn poll(&mut self, now: Time) -> Option<Event> {
        if self.fates.is_empty() {
            self.advance(now);
        }
        self.fates.pop_front()
    }

    fn due(&self) -> Option<Time> {
        self.due
    }

    fn has_ended(&self) -> bool {
        self.exhausted
    }

    fn usage(&self, end: Time) -> Usage {
        let Some(slots) = self.slots.sent_until(end) else {
            // The trace cannot be read; the run fails.
            return Usage::default();
        };
        let (used, available) = (
            self.slot_usage.used.within(slots),
            slots.saturating_sub(self.origin),
        );
        Usage {
            utilisation: (available > 0).then(|| to_f64(used) / to_f64(available)),
            lldus_used: Some(used),
            capacity_packets: Some(self.segmentation.packets_in(available)),
            attempts: self.slot_usage.attempts(end, slots),
        }
    }
}

impl Gateway for CoupledQueue {
    type Departure = Served;

    fn departed(&mut self, now: Time, mut each: impl FnMut(&Served)) {
        self.slot_usage.advance_clock(now);
        while let Some(&Reverse((at, size))) = self.leaving.peek()
            && at <= now
        {
            self.leaving.pop();
            self.room.release(size);
        }
        while let Some(first) = self.departing.first_entry()
            && first.key().0 <= now
        {
            each(&first.remove());
        }
    }

    fn in_service(&self) -> impl Iterator<Item = &Served> {
        let open = self.packets.iter();
        let open = open.filter(|tracked| tracked.begun && !tracked.in_departures);
        self.departing
            .values()
            .chain(open.map(|tracked| &tracked.served))
    }

    fn len(&self) -> u64 {
        self.room.held()
    }

    fn pop_slot_use(&mut self, now: Time) -> Option<SlotUse> {
        self.slot_log.as_mut()?.pop_front_if(|used| used.at <= now)
    }

    fn reports_acknowledgements(&self) -> bool {
        self.reporting.acknowledgements
    }
}

impl Attach for &CoupledLink {
    fn attach<D: Drive>(self, setup: &GatewaySetup, driver: D) -> Result<D::Output, AttachError> {
        Ok(driver.drive(CoupledQueue::new(self, setup)?))
    }
}

impl Attach for CoupledLink {
    fn attach<D: Drive>(self, setup: &GatewaySetup, driver: D) -> Result<D::Output, AttachError> {
        (&self).attach(setup, driver)
    }
}
