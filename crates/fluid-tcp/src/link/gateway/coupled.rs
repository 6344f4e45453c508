//! The coupled link of tcp.md §1.1: a queue in front of a PHY trace, and between them the scheme's machine, slot by
//! slot on the packets that are really there (papers/002 §2, papers/004 §II).
//!
//! What a slot carries depends on what comes to the queue only where a super-block is opened, and even there not so
//! long as the queue holds all codewords that it takes. So the link is computed ahead of the run's clock as far as
//! that, which makes an event of a stretch of slots instead of each. Slots in which nothing is pending are passed over.

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
use std::sync::Arc;

use tmt_core::scheme::engine::{DecodedSuperBlock, Engine, Settled, Unit};
use tmt_core::types::{self, Lldu, Slot, Span, Time, to_f64};

use super::{Fate, Gateway, Queued, Served};
use crate::link::{SlotUse, Usage};
pub use link::{CoupledLink, Hold, InOrder, LostFeedback, Tail};
use packets::{Packets, State};
use slot_usage::SlotUsage;
use slots::Slots;

/// Packets that wait for those before them.
#[derive(Debug, Default)]
struct Lane {
    packets: VecDeque<u64>,
    /// The running D of link-layer.md §6.
    latest: Time,
}

/// What a queue tells beside the fates of its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tells {
    /// When it knows that a packet has arrived.
    pub(crate) whole: bool,
    /// What every slot was used for, which takes a step of its own for each.
    pub(crate) slots: bool,
}

/// The queue of a coupled link.
#[derive(Debug)]
pub(crate) struct CoupledQueue {
    engine: Engine,
    rtt: Span,
    /// RTT + fb: from an attempt's last unit to its feedback.
    back: Span,
    /// Whether all feedback comes through.
    hears_all: bool,
    hold: Hold,
    tells: Tells,
    interleave: u64,
    /// ND and NR of a codeword.
    data_units: u32,
    repair_units: u32,
    slots: Slots,
    /// Slots in front of the run.
    origin: u64,
    packets: Packets,
    in_order: InOrder,
    /// By flow, or one for all.
    lanes: HashMap<usize, Lane>,
    capacity: u64,
    /// Packets in the queue, and when those leave of which it is known.
    held: u64,
    leaving: BinaryHeap<Reverse<Time>>,
    /// Packets whose fate is known, by when they leave or are lost, until that is told.
    departing: BTreeMap<(Time, u64), Served>,
    fates: VecDeque<Fate>,
    account: SlotUsage,
    /// What the slots were used for that the clock has not passed, where somebody asks.
    book: Option<VecDeque<SlotUse>>,
    due: Option<Time>,
    exhausted: bool,
    /// Kept for their memory: LLDUs in their order, and as they were settled.
    lldus: Vec<Lldu>,
    settled: Vec<Settled>,
    /// Packets all of whose units have been sent in a stretch, with the last times.
    sent: Vec<(u64, Time)>,
    block: DecodedSuperBlock,
    /// All LLDUs in their order, where a test wants to see them.
    #[cfg(test)]
    seen: Vec<Lldu>,
}

impl CoupledQueue {
    /// A queue of `capacity` packets; none where the trace cannot be read or a packet has no unit.
    pub(crate) fn new(
        link: &CoupledLink,
        rtt: Span,
        capacity: u64,
        begin: Time,
        tells: Tells,
    ) -> Option<Self> {
        if link.data_units == 0 {
            return None;
        }
        Some(Self {
            engine: link.engine(rtt),
            rtt,
            back: rtt.saturating_add(link.feedback_delay),
            hears_all: link.lost_feedback.is_none(),
            hold: link.hold,
            tells,
            interleave: link.scheme.interleave().into(),
            data_units: link.scheme.data_units(),
            repair_units: link.scheme.units() - link.scheme.data_units(),
            origin: link.trace.sent_before(begin)?,
            slots: Slots::new(Arc::clone(&link.trace)),
            packets: Packets::new(link.shape(), rtt.half()),
            in_order: link.in_order,
            lanes: HashMap::new(),
            capacity,
            held: 0,
            leaving: BinaryHeap::new(),
            departing: BTreeMap::new(),
            fates: VecDeque::new(),
            account: SlotUsage::default(),
            book: tells.slots.then(VecDeque::new),
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

    /// The same queue on a trace that begins anew every `period`, for a run that ends at `end`.
    pub(crate) fn looped(mut self, period: Span, end: Time) -> Self {
        self.slots = self.slots.looped(period, end);
        self
    }

    /// The first instant at which a slot would be used; none where nothing is pending.
    fn pending_from(&self) -> Option<Time> {
        if self.engine.is_under_way() {
            return Some(Time::ZERO);
        }
        let repeat = self.engine.next_repeat();
        let data = self.packets.waits_since();
        data.map_or(repeat, |data| Some(repeat.map_or(data, |at| at.min(data))))
    }

    /// Computes the link as far as it does not depend on what comes after `now`.
    fn advance(&mut self, now: Time) {
        self.due = None;
        while !self.exhausted
            && let Some(from) = self.pending_from()
        {
            let settled =
                self.engine.is_under_way() || self.packets.codewords_queued >= self.interleave;
            if !settled {
                let at = self.slots.time_from(from);
                // Behind the end repeats alone are never sent; what comes to the queue until then still is.
                let only_repeats = self.packets.codewords_queued == 0;
                if at.map_or(only_repeats, |at| at > now) {
                    self.due = at;
                    return;
                }
            }
            // Where nobody asks for each slot, many are taken together.
            let by_slots = !self.hears_all || self.book.is_some();
            let taken = if by_slots || self.engine.is_under_way() {
                None
            } else if self.interleave > 1 {
                self.whole(from)
            } else {
                settled.then(|| self.stretch(from)).flatten()
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

    /// One slot.
    fn step(&mut self, number: u64, slot: &Slot) {
        let at = slot.tx_time();
        let Some(unit) = self.engine.next_unit(at, &mut self.packets) else {
            return;
        };
        self.account.used.push(number..number + 1, at);
        self.note(&unit, number, slot);
        let first = self
            .engine
            .codeword_of(&unit)
            .and_then(|codeword| Some((codeword, self.packets.of(codeword)?)));
        if let Some((_, packet)) = first
            && let Some(flight) = self.packets.get_mut(packet)
            && flight.on_sent(1, number..number + 1, (at, at))
        {
            self.on_all_sent(packet, at);
        }
        // A repeat that would come later than time goes: the trace has in effect ended.
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
                _ => self.packets.of(settled.codeword),
            };
            self.on_settled((number, at), &settled.lldu, packet);
        }
        self.settled = settled;
        if let Some((_, packet)) = first {
            self.check_whole(packet);
        }
        if !self.hears_all {
            self.take_acknowledged();
        }
    }

    /// Notes that the slot of this number carries `unit`, where somebody asks.
    fn note(&mut self, unit: &Unit, number: u64, slot: &Slot) {
        let Some(book) = &mut self.book else {
            return;
        };
        let (codeword, attempt) = self.engine.attempt_of(unit);
        let packet = self.packets.of(codeword);
        if let Some(flight) = packet.and_then(|packet| self.packets.get(packet)) {
            book.push_back(SlotUse {
                slot: number,
                at: slot.tx_time(),
                kind: unit.kind(),
                copy: flight.served.packet.copy,
                codeword,
                attempt,
                arrival: slot.arrival(),
            });
        }
    }

    /// The story of an LLDU of `packet`, if that is not forgotten, is complete by the slot of this number and time.
    fn on_settled(&mut self, (number, at): (u64, Time), lldu: &Lldu, packet: Option<u64>) {
        if lldu.fate == types::Fate::Delivered && lldu.attempts == 1 && lldu.tx_time == at {
            self.account.own.push(number..number + 1, at);
        } else if lldu.fate == types::Fate::Delivered {
            self.account.delivered.push_back((at, lldu.attempts, 1));
        }
        // The LLDUs of a codeword are lost together; the packet is with the first of them.
        let Some((packet, flight)) = packet
            .and_then(|packet| Some((packet, self.packets.get_mut(packet)?)))
            .filter(|(_, flight)| flight.state == State::Open)
        else {
            return;
        };
        if lldu.fate == types::Fate::Delivered {
            flight.on_arrival(lldu.tx_time.saturating_add(lldu.decode_delay), 1);
            flight.judged = at;
            self.check_whole(packet);
            return;
        }
        let codewords = self.packets.lose(packet, at);
        self.on_lost(packet, at);
        self.engine.drop_codewords(codewords, at);
        // What that settles is lost with the packet.
        self.engine.swap_settled(&mut Vec::new());
        self.tell(packet, None);
        self.release(packet);
    }

    fn check_whole(&mut self, packet: u64) {
        let whole = self.packets.get_mut(packet);
        if whole.is_some_and(packets::Flight::becomes_whole) {
            self.check_known(packet);
            self.release(packet);
        }
    }

    /// A packet's fate is known: those go on that waited for it, and it itself if it waits for none.
    fn release(&mut self, packet: u64) {
        let Some(flight) = self.packets.get_mut(packet) else {
            return;
        };
        let lane = match self.in_order {
            InOrder::Off => {
                flight.released = true;
                if let State::Whole(arrival) = flight.state {
                    self.tell(packet, Some(arrival));
                }
                self.packets.forget();
                return;
            }
            InOrder::Link => 0,
            InOrder::Flow => flight.served.packet.copy.flow,
        };
        let mut waiting = self.lanes.remove(&lane).unwrap_or_default();
        while let Some(&first) = waiting.packets.front()
            && let Some(flight) = self.packets.get_mut(first)
            && let State::Whole(known) | State::Lost(known) = flight.state
        {
            waiting.packets.pop_front();
            waiting.latest = waiting.latest.max(known);
            flight.released = true;
            if matches!(flight.state, State::Whole(_)) {
                self.tell(first, Some(waiting.latest));
            }
        }
        self.lanes.insert(lane, waiting);
        self.packets.forget();
    }

    /// Tells that a packet arrives then, propagation left out, or is lost.
    fn tell(&mut self, number: u64, arrival: Option<Time>) {
        let Some(flight) = self.packets.get_mut(number) else {
            return;
        };
        flight.told = true;
        let Served {
            packet, service, ..
        } = &mut flight.served;
        if let State::Lost(known) = flight.state
            && flight.unsent > 0
        {
            // It is served no further.
            service.end = known;
        }
        service.arrival = arrival.map(|at| at.saturating_add(service.propagation));
        let fate = Fate::Served(*packet, *service, false);
        self.fates.push_back(fate);
        self.depart(number);
    }
}

impl Gateway for CoupledQueue {
    fn offer(&mut self, _now: Time, packet: Queued) -> Fate {
        if self.held >= self.capacity {
            return Fate::Dropped(packet);
        }
        self.held += 1;
        // Of repeats that nobody needed it is still told whose they are.
        let repeats_on = self.tells.slots && !self.hears_all;
        let awaited = self.tells.whole || self.hold == Hold::Acknowledged || repeats_on;
        let number = self.packets.push(packet, awaited);
        let lane = match self.in_order {
            InOrder::Off => return Fate::Waits,
            InOrder::Link => 0,
            InOrder::Flow => packet.copy.flow,
        };
        let lane = self.lanes.entry(lane).or_default();
        lane.packets.push_back(number);
        Fate::Waits
    }

    fn due(&self) -> Option<Time> {
        self.due
    }

    fn wake(&mut self, now: Time) -> Option<Fate> {
        if self.fates.is_empty() {
            self.advance(now);
        }
        self.fates.pop_front()
    }

    fn leave(&mut self, now: Time) -> Option<Served> {
        self.account.on_clock(now);
        while self.leaving.peek().is_some_and(|Reverse(at)| *at <= now) {
            self.leaving.pop();
            self.held -= 1;
        }
        let first = self.departing.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    fn used(&mut self, now: Time) -> Option<SlotUse> {
        self.book.as_mut()?.pop_front_if(|used| used.at <= now)
    }

    fn in_service(&self) -> impl Iterator<Item = &Served> {
        let open = self.packets.iter();
        let open = open.filter(|flight| flight.begun && !flight.departs);
        self.departing
            .values()
            .chain(open.map(|flight| &flight.served))
    }

    fn len(&self) -> u64 {
        self.held
    }

    fn tells_whole(&self) -> bool {
        self.tells.whole
    }

    fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    fn usage(&self, end: Time) -> Usage {
        let Some(slots) = self.slots.sent_until(end) else {
            // The trace cannot be read, which fails the run.
            return Usage::default();
        };
        let (used, available) = (
            self.account.used.within(slots),
            slots.saturating_sub(self.origin),
        );
        Usage {
            utilisation: (available > 0).then(|| to_f64(used) / to_f64(available)),
            packets_served: 0,
            lldus_used: Some(used),
            attempts: self.account.attempts(end, slots),
        }
    }
}
