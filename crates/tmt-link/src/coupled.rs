//! Coupled link: a packet queue before a PHY trace, with the scheme's engine between them (docs/schemes.md, Sec. 10;
//! Barakat 2004, Sec. 2; Zhu 2006, Sec. II).
//!
//! Later arrivals can change what a slot carries only when a super-block is opened, and only if the queue holds fewer codewords
//! than it takes. The link is therefore computed ahead of the run's clock up to that slot, which takes one event for many slots.
//! Idle slots are skipped. The engine decides what a slot carries; here is the source of its codewords, and the accounts of their
//! packets.

mod buffer_release;
mod link;
mod packets;
mod slot_usage;
mod slots;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::ops::Range;

use tmt_core::scheme::engine::{
    Acknowledged, Code, Engine, Ideal, Sent, Settled, UnitSink, UnitSource,
};
#[cfg(test)]
use tmt_core::types::Lldu;
use tmt_core::types::{Bytes, Slot, Span, Time, to_f64};

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

/// Largest number of slots that are wanted at once, to be taken together.
const MOST_SLOTS: u32 = 256;

/// Gateway of a coupled link.
#[derive(Debug)]
pub(crate) struct CoupledQueue<C: Code = Ideal> {
    engine: Engine<C>,
    slots: Slots,
    /// Slots before the run.
    origin: u64,
    /// Number of slots that are looked at together, if the block has them: a codeword.
    slice: usize,
    due: Option<Time>,
    exhausted: bool,
    state: State,
    /// All LLDUs in order.
    #[cfg(test)]
    seen: Vec<Lldu>,
}

/// Packets of a coupled link, in its queue and on their way: the source of the engine.
#[derive(Debug)]
struct State {
    /// Time up to which arrivals are known.
    clock: Time,
    rtt: Span,
    /// RTT + fb: time from the last unit of an attempt until its feedback.
    feedback_time: Span,
    /// Whether no feedback is lost.
    lossless_feedback: bool,
    hold: Hold,
    reporting: Reporting,
    interleave: u64,
    /// LLDUs of a packet, without padding.
    segmentation: Segmentation,
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
}

impl<C: Code> CoupledQueue<C> {
    /// The gateway of `link`.
    ///
    /// # Errors
    /// The trace cannot be read, or a packet has no units.
    pub(crate) fn new(link: &CoupledLink<C>, setup: &GatewaySetup) -> Result<Self, AttachError> {
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
        let state = State {
            clock: Time::ZERO,
            rtt,
            feedback_time: rtt.saturating_add(link.feedback_delay),
            lossless_feedback: link.lost_feedback.is_none(),
            hold: link.hold,
            reporting: setup.reporting,
            interleave: link.scheme.interleave().into(),
            segmentation: link.segmentation,
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
        };
        Ok(Self {
            engine: link.engine(rtt),
            origin: link.trace.sent_before(begin).ok_or_else(unreadable)?,
            slots: match link.period {
                Some(period) => slots.looped(period, end),
                None => slots,
            },
            slice: link.scheme.units().min(MOST_SLOTS) as usize,
            due: None,
            exhausted: false,
            state,
            #[cfg(test)]
            seen: Vec::new(),
        })
    }

    /// Earliest time at which a slot would be used; `None` if nothing is pending.
    fn pending_from(&self) -> Option<Time> {
        if self.engine.is_under_way() {
            return Some(Time::ZERO);
        }
        let state = &self.state;
        let repeat = self.engine.next_repeat();
        let waiting = (state.room.waiting() > 0).then_some(state.backlogged_since);
        let data = state.packets.head_enqueued_at().or(waiting);
        data.map_or(repeat, |data| Some(repeat.map_or(data, |at| at.min(data))))
    }

    /// Computes the link as far as packets that arrive after `now` cannot change it.
    fn advance(&mut self, now: Time) {
        self.due = None;
        self.state.clock = now;
        while !self.exhausted
            && let Some(from) = self.pending_from()
        {
            let queued = self.state.packets.codewords_queued;
            if !self.engine.is_under_way() && queued < self.state.interleave {
                let at = self.slots.time_from(from);
                // After the end of the trace repeats are not sent, but packets may still arrive before it.
                let only_repeats = queued == 0 && self.state.room.waiting() == 0;
                if at.map_or(only_repeats, |at| at > now) {
                    self.due = at;
                    return;
                }
            }
            let Some((number, slots)) = self.slots.view(from, self.slice) else {
                self.exhausted = true;
                return;
            };
            // Which slot carries which unit of interleaved codewords is known one by one.
            let is_logged = self.state.slot_log.is_some();
            let most = match self.state.interleave {
                2.. if is_logged => 1,
                _ => slots.len(),
            };
            let mut taken = TakenSlots {
                number,
                slots: &slots[..most],
                #[cfg(test)]
                seen: &mut self.seen,
            };
            let used = self
                .engine
                .advance(taken.slots, &mut self.state, &mut taken);
            // A repeat past the largest time: the trace has in effect ended.
            self.exhausted = used.is_err();
            let used = used.unwrap_or_else(|(index, _)| index + 1);
            if let Some(last) = used.checked_sub(1) {
                let numbers = number..number + used as u64;
                let last = slots[last].tx_time();
                self.state.slot_usage.used.push(numbers, last);
            }
            // A slot in which nothing is sent is idle.
            self.slots.advance(used.max(1));
        }
    }
}

/// Slots that the engine takes together: the sink of the engine.
struct TakenSlots<'a> {
    /// Number of the first.
    number: u64,
    slots: &'a [Slot],
    #[cfg(test)]
    seen: &'a mut Vec<Lldu>,
}

impl TakenSlots<'_> {
    /// Number and time of a slot.
    fn at(&self, index: usize) -> (u64, Time) {
        (self.number + index as u64, self.slots[index].tx_time())
    }
}

impl UnitSource for State {
    fn is_known(&mut self, now: Time, _most: u32) -> bool {
        if self.packets.codewords_queued < self.interleave {
            if now > self.clock {
                return false;
            }
            self.pull(now);
        }
        true
    }

    fn next_codewords(&mut self, now: Time, most: u32) -> Option<(u32, u32)> {
        self.packets.next_codewords(now, most)
    }

    fn take(&mut self, codewords: u32, data_units: u32) {
        self.packets.take(codewords.into(), codewords * data_units);
    }
}

impl UnitSink<State> for TakenSlots<'_> {
    #[cfg(test)]
    fn lldus(&mut self) -> Option<&mut Vec<Lldu>> {
        Some(self.seen)
    }

    fn sent(&mut self, state: &mut State, sent: &Sent) {
        let (first, last) = (self.at(sent.slots.start), self.at(sent.slots.end - 1));
        let Some(packet) = state.packets.packet_of(sent.codewords.start) else {
            return;
        };
        let Some(tracked) = state.packets.get_mut(packet) else {
            return;
        };
        if let Some(slot_log) = &mut state.slot_log {
            let slots = (first.0..).zip(&self.slots[sent.slots.clone()]);
            slot_log.extend(
                sent.each()
                    .zip(slots)
                    .map(|(unit, (number, slot))| SlotUse {
                        slot: number,
                        at: slot.tx_time(),
                        kind: unit.1,
                        packet: tracked.served.packet,
                        codeword: unit.0,
                        attempt: sent.attempt,
                        arrival: slot.arrival(),
                    }),
            );
        }
        if sent.attempt == 1 && tracked.on_sent(sent.units, first, last) {
            state.on_all_sent(packet, last.1);
        }
    }

    fn received(&mut self, state: &mut State, slots: Range<usize>) {
        let (last, at) = self.at(slots.end - 1);
        let numbers = self.number + slots.start as u64..last + 1;
        state.slot_usage.own.push(numbers, at);
    }

    fn settled(&mut self, state: &mut State, settled: &Settled) {
        let (_, at) = self.at(settled.slot);
        if settled.recovered > 0 {
            let recovered = (at, settled.attempt, settled.recovered.into());
            state.slot_usage.delivered.push_back(recovered);
        }
        if let Some(packet) = state.packets.packet_of(settled.codewords.start)
            && let Some(tracked) = state.packets.get_mut(packet)
            && tracked.outcome == Outcome::Open
        {
            tracked.on_arrival(settled.arrival, settled.own + settled.recovered);
            tracked.judged = at;
            state.check_complete(packet);
        }
    }

    fn lost(&mut self, state: &mut State, codeword: u64, slot: usize) -> Range<u64> {
        let at = self.at(slot).1;
        let Some(packet) = state.packets.packet_of(codeword) else {
            return 0..0;
        };
        let codewords = state.packets.mark_lost(packet, at);
        state.on_lost(packet, at);
        state.report_fate(packet, None);
        state.release(packet);
        codewords
    }

    fn acknowledged(&mut self, state: &mut State, acknowledged: Acknowledged) {
        state.on_acknowledged(acknowledged);
    }
}

impl State {
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

impl<C: Code> Hop for CoupledQueue<C> {
    fn name(&self) -> String {
        "coupled link".to_owned()
    }

    fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        if self.state.room.waiting() == 0 {
            self.state.backlogged_since = now;
        }
        let refused = self.state.room.push(now, packet);
        if self.state.is_fifo {
            self.state.pull(now);
        } else {
            self.state
                .fates
                .extend(std::iter::from_fn(|| self.state.room.pop_event()));
        }
        refused
    }

    fn poll(&mut self, now: Time) -> Option<Event> {
        if self.state.fates.is_empty() {
            self.advance(now);
        }
        self.state.fates.pop_front()
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
            self.state.slot_usage.used.within(slots),
            slots.saturating_sub(self.origin),
        );
        Usage {
            utilisation: (available > 0).then(|| to_f64(used) / to_f64(available)),
            lldus_used: Some(used),
            capacity_packets: Some(self.state.segmentation.packets_in(available)),
            attempts: self.state.slot_usage.attempts(end, slots),
        }
    }
}

impl<C: Code> Gateway for CoupledQueue<C> {
    type Departure = Served;

    fn departed(&mut self, now: Time, each: &mut dyn FnMut(&Served)) {
        self.state.slot_usage.advance_clock(now);
        while let Some(&Reverse((at, size))) = self.state.leaving.peek()
            && at <= now
        {
            self.state.leaving.pop();
            self.state.room.release(size);
        }
        while let Some(first) = self.state.departing.first_entry()
            && first.key().0 <= now
        {
            each(&first.remove());
        }
    }

    fn in_service(&self) -> Box<dyn Iterator<Item = &Served> + '_> {
        let open = self.state.packets.iter();
        let open = open.filter(|tracked| tracked.begun && !tracked.in_departures);
        let departing = self.state.departing.values();
        Box::new(departing.chain(open.map(|tracked| &tracked.served)))
    }

    fn held(&self) -> u64 {
        self.state.room.held()
    }

    fn pop_slot_use(&mut self, now: Time) -> Option<SlotUse> {
        self.state
            .slot_log
            .as_mut()?
            .pop_front_if(|used| used.at <= now)
    }

    fn reports_acknowledgements(&self) -> bool {
        self.state.reporting.acknowledgements
    }
}

impl<C: Code> Attach for &CoupledLink<C> {
    fn attach<D: Drive>(self, setup: &GatewaySetup, driver: D) -> Result<D::Output, AttachError> {
        Ok(driver.drive(CoupledQueue::new(self, setup)?))
    }
}

impl<C: Code> Attach for CoupledLink<C> {
    fn attach<D: Drive>(self, setup: &GatewaySetup, driver: D) -> Result<D::Output, AttachError> {
        (&self).attach(setup, driver)
    }
}
