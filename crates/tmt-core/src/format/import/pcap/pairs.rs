//! Which packet of the sender's capture is which of the receiver's.
//!
//! The receiver's capture is read ahead by [`AHEAD`] packets that are not matched yet: a packet that is not among them was
//! lost. Memory is bounded.

use std::collections::{HashMap, VecDeque};

use super::super::finding::{Finding, counted};
use super::super::probe::{Fate, Record, Records};
use super::capture::Capture;
use super::packet::{Flow, Packet};
use super::{RECEIVER, SENDER};
use crate::format::import::catalogue::{
    PACKETS_ALIKE, RECEIVED_AGAIN, RECEIVED_ONLY, RECEIVED_REORDERED, SEGMENTATION_OFFLOAD,
    SEGMENTS_WITHOUT_PAYLOAD,
};
use crate::types::{Error, ErrorKind, Result};

/// Received packets that are held until the packet sent is read, and packets sent that are read before their turn.
const AHEAD: usize = 1 << 16;

/// A packet longer than this was captured before the network card cut it into segments, bytes: above jumbo frames.
const LONGEST_FRAME: u64 = 9216;

/// A packet that was received.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    time: i64,
    /// Its place among the packets received.
    order: u64,
    /// Whether one of the same identity was matched while it waited.
    is_copy: bool,
}

/// Counts of peculiarities.
#[derive(Debug, Default)]
struct Odd {
    matched: u64,
    copies: u64,
    unknown: u64,
    reordered: u64,
    long: u64,
    empty: u64,
    alike: u64,
}

/// Reads the packets of one flow, and what became of them.
pub(super) struct Pairs {
    sender: Capture,
    receiver: Capture,
    flow: Flow,
    /// Whether segments without payload are packets of the flow.
    with_empty: bool,
    /// Packets sent whose turn has not come, and of each identity their times.
    turns: VecDeque<Packet>,
    copies: HashMap<u64, VecDeque<i64>>,
    all_sent: bool,
    /// Packets received that are not matched yet, by identity.
    waiting: HashMap<u64, VecDeque<Arrival>>,
    /// Identities in the order of arrival, for those that nobody sent.
    queue: VecDeque<(u64, u64)>,
    /// Packets in `waiting`.
    held: usize,
    received: u64,
    ended: bool,
    /// Highest place among those matched.
    highest: u64,
    /// Packets sent since the last match.
    unmatched: usize,
    /// Delay of the packet matched last, ns.
    last_delay: Option<i64>,
    sent: u64,
    odd: Odd,
}

impl Pairs {
    pub(super) fn new(sender: Capture, receiver: Capture, flow: Flow, with_empty: bool) -> Self {
        Self {
            sender,
            receiver,
            flow,
            with_empty,
            turns: VecDeque::new(),
            copies: HashMap::new(),
            all_sent: false,
            waiting: HashMap::new(),
            queue: VecDeque::new(),
            held: 0,
            received: 0,
            ended: false,
            highest: 0,
            unmatched: 0,
            last_delay: None,
            sent: 0,
            odd: Odd::default(),
        }
    }

    /// Whether a packet is one of the flow.
    fn is_own(&self, packet: &Packet) -> bool {
        packet.flow == self.flow && (self.with_empty || !packet.is_empty)
    }

    /// Reads the receiver's capture ahead.
    fn read_ahead(&mut self) -> Result<()> {
        while !self.ended && self.held < AHEAD {
            let Some(packet) = self.receiver.next_packet()? else {
                self.ended = true;
                break;
            };
            if !self.is_own(&packet) {
                continue;
            }
            self.received += 1;
            self.waiting
                .entry(packet.identity)
                .or_default()
                .push_back(Arrival {
                    time: packet.time,
                    order: self.received,
                    is_copy: false,
                });
            self.queue.push_back((packet.identity, self.received));
            self.held += 1;
        }
        Ok(())
    }

    /// Reads the sender's capture ahead, and returns the next packet sent.
    fn next_sent(&mut self) -> Result<Option<Packet>> {
        while !self.all_sent && self.turns.len() < AHEAD {
            match self.sender.next_packet()? {
                Some(packet) if self.is_own(&packet) => {
                    let copies = self.copies.entry(packet.identity).or_default();
                    copies.push_back(packet.time);
                    self.turns.push_back(packet);
                }
                Some(packet) => self.odd.empty += u64::from(packet.flow == self.flow),
                None => self.all_sent = true,
            }
        }
        Ok(self.turns.pop_front())
    }

    /// The arrival of a packet, whose turn it is; `None` if it was lost.
    ///
    /// If fewer packets arrived that look alike than were sent, the first of them is that whose delay would be nearest to
    /// the delay of the packet matched before; otherwise they arrived in the order of sending.
    fn arrival(&mut self, packet: &Packet) -> Option<Arrival> {
        let sent = self.copies.get_mut(&packet.identity)?;
        sent.pop_front();
        let later = sent.len();
        let arrivals = self.waiting.get_mut(&packet.identity);
        let waiting = arrivals.as_ref().map_or(0, |arrivals| arrivals.len());
        let first = arrivals
            .as_ref()
            .and_then(|arrivals| arrivals.front().copied());
        let mut is_later = false;
        if let (Some(first), Some(near)) = (first, self.last_delay)
            && waiting <= later
        {
            let distance =
                |sent: i64| (i128::from(first.time) - i128::from(sent) - i128::from(near)).abs();
            let own = distance(packet.time);
            is_later = sent.iter().any(|sent| distance(*sent) < own);
            self.odd.alike += 1;
        }
        if later == 0 {
            self.copies.remove(&packet.identity);
        }
        let arrivals = arrivals.filter(|_| !is_later)?;
        let arrival = arrivals.pop_front()?;
        // Those that are left when all copies sent are matched arrived again.
        for again in arrivals.iter_mut() {
            again.is_copy = true;
        }
        if arrivals.is_empty() {
            self.waiting.remove(&packet.identity);
        }
        self.held -= 1;
        Some(arrival)
    }

    /// Drops those that nobody sent: received long before those that are matched now, or in the way of any match.
    fn forget(&mut self) {
        let is_stuck = self.unmatched > AHEAD && self.held >= AHEAD;
        let least = self.highest.saturating_sub(AHEAD as u64);
        let mut drops = if is_stuck { AHEAD / 2 } else { 0 };
        while let Some((identity, order)) = self.queue.front().copied() {
            if order >= least && drops == 0 {
                break;
            }
            self.queue.pop_front();
            drops = drops.saturating_sub(1);
            let Some(copies) = self.waiting.get_mut(&identity) else {
                continue;
            };
            let Some(place) = copies.iter().position(|copy| copy.order == order) else {
                continue;
            };
            if let Some(arrival) = copies.remove(place) {
                self.held -= 1;
                self.count_unsent(arrival);
            }
            if copies_are_gone(&self.waiting, identity) {
                self.waiting.remove(&identity);
            }
        }
        if is_stuck {
            self.unmatched = 0;
        }
    }

    fn count_unsent(&mut self, arrival: Arrival) {
        if arrival.is_copy {
            self.odd.copies += 1;
        } else {
            self.odd.unknown += 1;
        }
    }

    /// Reads what is left of the receiver's capture, and counts it.
    fn finish(&mut self) -> Result<()> {
        if self.sent > 0 && self.odd.matched == 0 {
            let flow = self.flow;
            let kind = if self.received == 0 {
                ErrorKind::format(
                    format!(
                        "no packet of {flow} among {} packets",
                        self.receiver.packets()
                    ),
                    "the receiver's capture of that flow, with the same addresses (or another `flow`)",
                )
            } else {
                ErrorKind::format(
                    format!(
                        "none of the {} packets sent among {} received of {flow}",
                        self.sent, self.received
                    ),
                    "captures of the same time, without segmentation offload",
                )
            };
            return Err(Error::new(kind).of_input(RECEIVER));
        }
        loop {
            self.read_ahead()?;
            while let Some((identity, order)) = self.queue.pop_front() {
                let copies = self.waiting.get_mut(&identity);
                let place = copies
                    .as_ref()
                    .and_then(|copies| copies.iter().position(|copy| copy.order == order));
                if let (Some(copies), Some(place)) = (copies, place)
                    && let Some(arrival) = copies.remove(place)
                {
                    self.count_unsent(arrival);
                }
            }
            self.waiting.clear();
            self.held = 0;
            if self.ended {
                return Ok(());
            }
        }
    }
}

/// Whether nothing of an identity waits.
fn copies_are_gone(waiting: &HashMap<u64, VecDeque<Arrival>>, identity: u64) -> bool {
    waiting.get(&identity).is_some_and(VecDeque::is_empty)
}

impl Records for Pairs {
    fn next_record(&mut self) -> Result<Option<Record>> {
        let Some(packet) = self.next_sent()? else {
            self.finish()?;
            return Ok(None);
        };
        self.sent += 1;
        self.odd.long += u64::from(packet.length > LONGEST_FRAME);
        self.read_ahead()?;
        let fate = match self.arrival(&packet) {
            None => {
                self.unmatched += 1;
                Fate::Lost
            }
            Some(arrival) => {
                self.unmatched = 0;
                self.odd.matched += 1;
                self.odd.reordered += u64::from(arrival.order < self.highest);
                self.highest = self.highest.max(arrival.order);
                let delay = arrival.time.saturating_sub(packet.time);
                self.last_delay = Some(delay);
                Fate::Received(Some(delay))
            }
        };
        self.forget();
        Ok(Some(Record {
            number: None,
            sent: Some(packet.time),
            fate,
        }))
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.sender.error(kind)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let odd = &self.odd;
        if odd.reordered > 0 {
            let text = format!(
                "{RECEIVER}: {} after one that was sent later",
                counted(odd.reordered, "packet")
            );
            findings.push(Finding::of(
                &RECEIVED_REORDERED,
                odd.reordered,
                "packets",
                text,
            ));
        }
        if odd.copies > 0 {
            let text = format!(
                "{RECEIVER}: {} again; one arrival counts",
                counted(odd.copies, "packet")
            );
            findings.push(Finding::of(&RECEIVED_AGAIN, odd.copies, "packets", text));
        }
        if odd.unknown > 0 {
            let text = format!(
                "{RECEIVER}: {} of the flow that the sender's capture does not have, ignored: one began earlier, or dropped packets",
                counted(odd.unknown, "packet")
            );
            let finding = Finding::of(&RECEIVED_ONLY, odd.unknown, "packets", text);
            findings.push(finding.not_carried());
        }
        if odd.alike > 0 {
            let text = format!(
                "{SENDER}: {} that look like later ones, fewer of which arrived: taken as the one whose delay is nearest to that of the packet before",
                counted(odd.alike, "packet")
            );
            findings.push(Finding::of(&PACKETS_ALIKE, odd.alike, "packets", text).assumed());
        }
        if odd.long > 0 {
            let text = format!(
                "{SENDER}: {} of more than {LONGEST_FRAME} B: captured before the network card cut them into segments; they match nothing (ethtool -K DEVICE tso off gso off gro off)",
                counted(odd.long, "packet")
            );
            findings.push(Finding::of(
                &SEGMENTATION_OFFLOAD,
                odd.long,
                "packets",
                text,
            ));
        }
        if odd.empty > 0 {
            let text = format!(
                "{SENDER}: {} of the flow without payload (handshake, acknowledgements), left out",
                counted(odd.empty, "segment")
            );
            findings.push(Finding::of(
                &SEGMENTS_WITHOUT_PAYLOAD,
                odd.empty,
                "packets",
                text,
            ));
        }
        findings
    }
}
