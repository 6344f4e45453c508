//! The coupled link of tcp.md §1.1: a queue in front of a PHY trace, and between them the scheme's machine, slot by
//! slot on the packets that are really there (papers/002 §2, papers/004 §II).
//!
//! What a slot carries depends on what comes to the queue only where a super-block is opened, and even there not so
//! long as the queue holds all codewords that it takes. So the link is computed ahead of the run's clock as far as
//! that, which makes an event of a stretch of slots instead of each. Slots in which nothing is pending are passed over.

mod account;
mod packets;
mod slots;
mod stretch;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::machine::{FeedbackLoss, Machine, Settled};
use tmt_core::scheme::SchemeSpec;
use tmt_core::slot::{self, Lldu, Slot};
use tmt_core::units::{Span, Time, to_f64};

use super::{Fate, Gateway, Queued, Served};
use crate::link::Usage;
use crate::timeline::Timeline;
use account::Account;
use packets::{Packets, Shape, State};
use slots::Slots;

/// What becomes of the last codeword of a packet whose units do not fill it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tail {
    /// It has the data units that are left, and all repair units.
    #[default]
    Short,
    /// It is filled up to a whole one; what fills it is sent, and repaired, like data.
    Pad,
}

impl FromStr for Tail {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "short" => Ok(Self::Short),
            "pad" => Ok(Self::Pad),
            _ => Err(format!("found '{text}', expected short or pad")),
        }
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Short => "short",
            Self::Pad => "pad",
        })
    }
}

/// For which packets before it a delivered packet waits until they are delivered or lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InOrder {
    /// All of the link.
    Link,
    /// Those of its flow.
    Flow,
    /// None.
    #[default]
    Off,
}

impl FromStr for InOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "link" => Ok(Self::Link),
            "flow" => Ok(Self::Flow),
            "off" => Ok(Self::Off),
            _ => Err(format!("found '{text}', expected link, flow or off")),
        }
    }
}

impl fmt::Display for InOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Link => "link",
            Self::Flow => "flow",
            Self::Off => "off",
        })
    }
}

/// Feedback of the scheme that is lost on its way, and a timer that has units sent again where nothing is heard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostFeedback {
    /// Probability that the feedback of an attempt of a codeword is lost.
    pub probability: f64,
    /// From the last unit of the attempt to the repeat; RTT + fb or more.
    pub timer: Span,
    /// Seed of the draws.
    pub seed: u64,
}

/// A PHY trace with a scheme on it.
#[derive(Debug, Clone)]
pub struct CoupledLink {
    /// The slots.
    pub trace: Arc<Timeline>,
    /// The scheme; its own `in-order` is that of LLDUs and has no effect here.
    pub scheme: SchemeSpec,
    /// Extra delay of the feedback, fb.
    pub feedback_delay: Span,
    /// What is lost of the feedback; none where all of it comes through.
    pub lost_feedback: Option<LostFeedback>,
    /// Data units of a packet, at least one.
    pub data_units: u32,
    /// The last codeword of a packet.
    pub tail: Tail,
    /// The order of delivery.
    pub in_order: InOrder,
}

impl CoupledLink {
    /// Units of a packet's first transmission, repair units and padding included.
    #[must_use]
    pub fn units_per_packet(&self) -> u64 {
        self.shape().units
    }

    /// The same link under `seed`.
    #[must_use]
    pub fn seeded(&self, seed: u64) -> Self {
        let lost_feedback = self.lost_feedback;
        Self {
            lost_feedback: lost_feedback.map(|lost| LostFeedback { seed, ..lost }),
            ..self.clone()
        }
    }

    /// The machine of the scheme, before its first slot.
    #[must_use]
    pub fn machine(&self, rtt: Span) -> Machine {
        let machine = Machine::new(&self.scheme, rtt, self.feedback_delay).watched();
        let Some(lost) = self.lost_feedback else {
            return machine;
        };
        let p = lost.probability;
        machine.with_feedback_loss(FeedbackLoss {
            loss: Channel::of_feedback(ChannelSpec::Bernoulli { p }, lost.seed),
            timer: lost.timer,
        })
    }

    fn shape(&self) -> Shape {
        let (full, repair) = (
            self.scheme.data_units(),
            self.scheme.units() - self.scheme.data_units(),
        );
        let codewords = self.data_units.div_ceil(full);
        let data_units = match self.tail {
            Tail::Short => self.data_units,
            Tail::Pad => codewords.saturating_mul(full),
        };
        Shape {
            data_units,
            units: u64::from(data_units) + u64::from(codewords) * u64::from(repair),
            codewords: codewords.into(),
        }
    }
}

/// Packets that wait for those before them.
#[derive(Debug, Default)]
struct Lane {
    packets: VecDeque<u64>,
    /// The running D of link-layer.md §6.
    latest: Time,
}

/// The queue of a coupled link.
#[derive(Debug)]
pub(crate) struct CoupledQueue {
    machine: Machine,
    /// Whether all feedback comes through.
    hears_all: bool,
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
    propagation: Span,
    capacity: u64,
    /// Packets in the queue; each leaves when its last unit has been sent for the first time.
    held: u64,
    leaving: BinaryHeap<Reverse<Time>>,
    /// Packets whose fate is known, by when they leave or are lost, until that is told.
    departing: BTreeMap<(Time, u64), Served>,
    fates: VecDeque<Fate>,
    account: Account,
    due: Option<Time>,
    exhausted: bool,
    /// Kept for their memory: LLDUs in their order, and as they were settled.
    lldus: Vec<Lldu>,
    settled: Vec<Settled>,
    /// Packets all of whose units have been sent in a stretch.
    sent: Vec<u64>,
    /// All LLDUs in their order, where a test wants to see them.
    #[cfg(test)]
    seen: Vec<Lldu>,
}

impl CoupledQueue {
    /// A queue of `capacity` packets; none where the trace cannot be read or a packet has no unit.
    pub(crate) fn new(link: &CoupledLink, rtt: Span, capacity: u64, begin: Time) -> Option<Self> {
        if link.data_units == 0 {
            return None;
        }
        let slots = Slots::new(Arc::clone(&link.trace), begin)?;
        Some(Self {
            machine: link.machine(rtt),
            hears_all: link.lost_feedback.is_none(),
            interleave: link.scheme.interleave().into(),
            data_units: link.scheme.data_units(),
            repair_units: link.scheme.units() - link.scheme.data_units(),
            origin: slots.next(),
            slots,
            packets: Packets::new(
                link.shape(),
                rtt.half(),
                link.scheme.interleave().try_into().ok()?,
            ),
            in_order: link.in_order,
            lanes: HashMap::new(),
            propagation: rtt.half(),
            capacity,
            held: 0,
            leaving: BinaryHeap::new(),
            departing: BTreeMap::new(),
            fates: VecDeque::new(),
            account: Account::default(),
            due: None,
            exhausted: false,
            lldus: Vec::new(),
            settled: Vec::new(),
            sent: Vec::new(),
            #[cfg(test)]
            seen: Vec::new(),
        })
    }

    /// The first instant at which a slot would be used; none where nothing is pending.
    fn pending_from(&self) -> Option<Time> {
        if self.machine.is_under_way() {
            return Some(Time::ZERO);
        }
        match (self.packets.waits_since(), self.machine.next_repeat()) {
            (Some(data), Some(repeat)) => Some(data.min(repeat)),
            (data, repeat) => data.or(repeat),
        }
    }

    /// Computes the link as far as it does not depend on what comes after `now`.
    fn advance(&mut self, now: Time) {
        self.due = None;
        while !self.exhausted
            && let Some(from) = self.pending_from()
        {
            let settled =
                self.machine.is_under_way() || self.packets.codewords_queued >= self.interleave;
            if !settled {
                let at = self.slots.time_from(from);
                // Behind the end repeats alone are never sent; what comes to the queue until then still is.
                let only_repeats = self.packets.codewords_queued == 0;
                if at.map_or(only_repeats, |at| at > now) {
                    self.due = at;
                    return;
                }
            }
            if settled && self.stretch(from) {
                continue;
            }
            let Some((number, slot)) = self.slots.take(from) else {
                self.exhausted = true;
                return;
            };
            self.step(number, &slot);
            while self.machine.is_under_way()
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
        let Some(unit) = self.machine.next_unit(at, &mut self.packets) else {
            return;
        };
        self.account.on_used(number..number + 1, at);
        let first = self
            .machine
            .codeword_of(&unit)
            .and_then(|codeword| Some((codeword, self.packets.of(codeword)?)));
        if let Some((_, packet)) = first
            && let Some(flight) = self.packets.get_mut(packet)
            && flight.on_sent(number..number + 1, (at, at))
        {
            self.leaving.push(Reverse(at));
        }
        // A repeat that would come later than time goes: the trace has in effect ended.
        let outcome = self.machine.on_outcome(unit, slot, &mut self.lldus);
        self.exhausted = outcome.is_err();
        #[cfg(test)]
        self.seen.extend_from_slice(&self.lldus);
        self.lldus.clear();
        let mut settled = std::mem::take(&mut self.settled);
        self.machine.swap_settled(&mut settled);
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
            self.machine.take_acknowledged().for_each(drop);
        }
    }

    /// The story of an LLDU of `packet`, if that is not forgotten, is complete by the slot of this number and time.
    fn on_settled(&mut self, (number, at): (u64, Time), lldu: &Lldu, packet: Option<u64>) {
        if lldu.fate == slot::Fate::Delivered && lldu.attempts == 1 && lldu.tx_time == at {
            self.account.on_own(number..number + 1, at);
        } else if lldu.fate == slot::Fate::Delivered {
            self.account.on_delivered(at, lldu.attempts, 1);
        }
        // The LLDUs of a codeword are lost together; the packet is with the first of them.
        let Some((packet, flight)) = packet
            .and_then(|packet| Some((packet, self.packets.get_mut(packet)?)))
            .filter(|(_, flight)| flight.state == State::Open)
        else {
            return;
        };
        if lldu.fate == slot::Fate::Delivered {
            flight.on_arrival(lldu.tx_time.saturating_add(lldu.decode_delay), 1);
            self.check_whole(packet);
            return;
        }
        let (leaves, codewords) = self.packets.lose(packet, at);
        if leaves {
            self.leaving.push(Reverse(at));
        }
        self.machine.drop_codewords(codewords, at);
        // What that settles is lost with the packet.
        self.machine.take_settled().for_each(drop);
        self.tell(packet, None);
        self.release(packet);
    }

    fn check_whole(&mut self, packet: u64) {
        let whole = self.packets.get_mut(packet);
        if whole.is_some_and(packets::Flight::becomes_whole) {
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
                flight.done = true;
                if let State::Whole(arrival) = flight.state {
                    self.tell(packet, Some(arrival));
                }
                self.packets.forget();
                return;
            }
            InOrder::Link => 0,
            InOrder::Flow => flight.queued.copy.flow,
        };
        let mut lane = self.lanes.remove_entry(&lane);
        while let Some((_, lane)) = &mut lane
            && let Some(&first) = lane.packets.front()
            && let Some(flight) = self.packets.get_mut(first)
            && flight.state != State::Open
        {
            lane.packets.pop_front();
            flight.done = true;
            match flight.state {
                State::Whole(arrival) => {
                    lane.latest = lane.latest.max(arrival);
                    let latest = lane.latest;
                    self.tell(first, Some(latest));
                }
                State::Lost(known) => lane.latest = lane.latest.max(known),
                State::Open => {}
            }
        }
        self.lanes.extend(lane);
        self.packets.forget();
    }

    /// Tells that a packet arrives then, propagation left out, or is lost.
    fn tell(&mut self, number: u64, arrival: Option<Time>) {
        let Some(flight) = self.packets.get_mut(number) else {
            return;
        };
        flight.told = true;
        let is_sent = flight.is_sent();
        let served = &mut flight.served;
        if let State::Lost(known) = flight.state
            && !is_sent
        {
            // It leaves the queue with its failure.
            served.service.end = known;
            served.left = Some(known);
        }
        served.service.arrival = arrival.map(|at| at.saturating_add(self.propagation));
        let departs = match flight.state {
            State::Lost(known) => known,
            _ => served.service.end,
        };
        self.departing.insert((departs, number), *served);
        let fate = Fate::Served(flight.queued, served.service, false);
        self.fates.push_back(fate);
    }
}

impl Gateway for CoupledQueue {
    fn offer(&mut self, now: Time, packet: Queued) -> Fate {
        if self.held >= self.capacity {
            return Fate::Dropped(packet);
        }
        self.held += 1;
        let number = self.packets.push(packet, now);
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

    fn in_service(&self) -> impl Iterator<Item = &Served> {
        let open = self.packets.iter();
        let open = open.filter(|flight| flight.begun && !flight.told);
        self.departing
            .values()
            .chain(open.map(|flight| &flight.served))
    }

    fn len(&self) -> u64 {
        self.held
    }

    fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    fn usage(&self, end: Time) -> Usage {
        let Some(slots) = self.slots.sent_until(end) else {
            // The trace cannot be read, which fails the run.
            return Usage::default();
        };
        let (used, available) = (self.account.used(slots), slots.saturating_sub(self.origin));
        Usage {
            utilisation: (available > 0).then(|| to_f64(used) / to_f64(available)),
            packets_served: 0,
            lldus_used: Some(used),
            attempts: self.account.attempts(end, slots),
        }
    }
}
