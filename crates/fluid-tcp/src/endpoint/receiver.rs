//! The receiver of a flow: cumulative, selective and delayed ACKs.

use std::num::NonZeroU32;
use std::sync::Arc;

use tmt_core::types::{Bytes, Span, Time};

use crate::endpoint::Endpoint;
use crate::endpoint::ranges::RangeSet;
use crate::endpoint::receive_window::ReceiveWindow;

/// Most SACK blocks per ACK (RFC 2018, Sec. 3; the option space also holds other options).
const SACK_BLOCKS: usize = 3;

/// Most ranges remembered, in the order of their latest arrivals; the SACK blocks are chosen from them.
const RECENT_RANGES: usize = 8;

/// ACKs that only add to SACK blocks and are not held back, and how many may be (`TCP_FASTRETRANS_THRESH`,
/// `tcp_comp_sack_nr`). They are held back for at most this share of the RTT (`__tcp_ack_snd_check`).
const LEAST_REPEATS: u32 = 3;
const MOST_HELD_BACK: u32 = 44;
/// Latest ranges that may change while an ACK is held back (`TCP_SACK_BLOCKS_EXPECTED`).
const RANGES_HELD_BACK: usize = 2;
const RTT_SHARE: u64 = 20;

/// An ACK, from the receiver or from a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one per flag on the wire")]
pub struct Ack {
    /// Segment expected next: the cumulative ACK of all packets below it.
    pub next: u64,
    /// SACK blocks: ranges [start, end) received above `next`, the latest first. An empty range is no block.
    pub blocks: [(u64, u64); SACK_BLOCKS],
    /// Whether a duplicate packet caused the ACK: a D-SACK (RFC 2883) without its block.
    pub dsack: bool,
    /// Whether the ACK echoes a congestion mark (ECE, RFC 3168).
    pub ece: bool,
    /// Whether the ACK is a window update, which no accepted packet caused.
    pub window_update: bool,
    /// Whether the window was closed before that update.
    pub reopens: bool,
    /// With timestamps: when the packet was sent that the ACK echoes (TSecr, RFC 7323, Sec. 4.3). Zero without.
    pub echo: Time,
    /// Advertised window: packets from `next` on that the sender may send. `None` if the ACK does not advertise one.
    pub rwnd: Option<Rwnd>,
}

impl Ack {
    /// Size on the wire, from hosts with these settings. SACK blocks take 8 B each and 4 B together, padding included (RFC 2018,
    /// Sec. 3; a D-SACK is a block, RFC 2883).
    #[must_use]
    pub fn size(&self, endpoint: &Endpoint) -> Bytes {
        let in_use = self.blocks.iter().filter(|(start, end)| start < end);
        let blocks = if endpoint.sack {
            in_use.count() as u64 + u64::from(self.dsack)
        } else {
            0
        };
        // 40 B of options have room for three blocks beside timestamps, for four without.
        let most = if endpoint.timestamps { 3 } else { 4 };
        let option = if blocks > 0 {
            4 + 8 * blocks.min(most)
        } else {
            0
        };
        Bytes(endpoint.bare_ack().0 + option)
    }
}

/// Advertised window, 0 to 2^32 − 2 packets.
///
/// `Option<Rwnd>` is as small as a `u32`: an [`Ack`] is copied several times per packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rwnd(NonZeroU32);

impl Rwnd {
    /// A window of this many packets, or of the largest number that there is.
    #[must_use]
    pub fn new(packets: u64) -> Self {
        let plus_one = u32::try_from(packets).unwrap_or(u32::MAX).saturating_add(1);
        Self(NonZeroU32::new(plus_one).unwrap_or(NonZeroU32::MAX))
    }

    /// The number of packets.
    #[must_use]
    pub fn packets(self) -> u64 {
        u64::from(self.0.get()) - 1
    }
}

/// A packet that arrives at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Segment number, from 0.
    pub number: u64,
    /// Time at which this transmission was sent: its timestamp (TSval, RFC 7323).
    pub sent: Time,
    /// Whether a queue has marked the packet (CE, RFC 3168).
    pub marked: bool,
    /// Whether the sender reports that it has reduced its window after an ECE (CWR, RFC 3168).
    pub cwr: bool,
}

impl From<u64> for Segment {
    fn from(number: u64) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }
}

/// Outcome of the arrival of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Whether the receiver already had the packet.
    pub duplicate: bool,
    /// ACK to send at once; `None` if it is delayed.
    pub ack: Option<Ack>,
}

/// An ACK that a receiver is about to send: whether a duplicate packet causes it, and the range above a gap that has just grown.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Answer {
    dsack: bool,
    newest: Option<(u64, u64)>,
}

/// The receiver of one flow.
///
/// Fields lie in the order in which they are declared, those that every packet needs in the first 120 bytes.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    rcv_nxt: u64,
    /// Packets received, each once.
    received: u64,
    /// Segment expected by the last ACK (`Last.ACK.sent`), and the timestamp to echo (`TS.Recent`, RFC 7323, Sec. 4.3).
    last_acked: u64,
    ts_recent: Time,
    /// Shared, because it is large and the same for many flows.
    endpoint: Arc<Endpoint>,
    /// In-order packets that no ACK covers yet.
    unacked: u32,
    /// Number of ACKs still to be sent without delay.
    quick_acks_left: u32,
    /// ACKs since `rcv_nxt` last moved on that only added to SACK blocks, and such ACKs held back since.
    repeats: u32,
    held_back: u32,
    /// Whether ACKs carry ECE: from a CE mark until the sender sends CWR (RFC 3168, Sec. 6.1.3).
    ece: bool,
    deadline: Option<Time>,
    out_of_order: RangeSet,
    window: Option<Box<ReceiveWindow>>,
    /// The ranges that grew last, the latest first; empty without packets out of order.
    recent: Vec<(u64, u64)>,
    /// Round-trip time; a share of it limits how long they are held back.
    rtt: Option<Span>,
}

impl Receiver {
    /// Creates a receiver that has received nothing.
    #[must_use]
    pub fn new(endpoint: impl Into<Arc<Endpoint>>) -> Self {
        let endpoint = endpoint.into();
        Self {
            rcv_nxt: 0,
            out_of_order: RangeSet::default(),
            recent: Vec::new(),
            unacked: 0,
            quick_acks_left: endpoint.quick_acks,
            window: ReceiveWindow::of(&endpoint).map(Box::new),
            received: 0,
            repeats: 0,
            held_back: 0,
            rtt: None,
            last_acked: 0,
            ts_recent: Time::ZERO,
            endpoint,
            ece: false,
            deadline: None,
        }
    }

    /// Returns the packet expected next, which is the number of packets received in order.
    #[must_use]
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Whether packet `number` has been received, in order or not.
    #[inline]
    #[must_use]
    pub fn has(&self, number: u64) -> bool {
        number < self.rcv_nxt || self.out_of_order.contains(number)
    }

    /// Returns how many packets have been received above a gap.
    #[must_use]
    pub fn out_of_order(&self) -> u64 {
        self.received - self.rcv_nxt
    }

    /// Returns the window that the receiver advertises with the handshake, packets; `None` if windows are constant.
    #[must_use]
    pub fn first_window(&self) -> Option<u64> {
        self.window.as_ref().map(|window| window.advertised())
    }

    /// Whether its ACKs depend on the round-trip time of the sender.
    #[inline]
    pub(crate) fn follows_rtt(&self) -> bool {
        self.window.is_some() || !self.endpoint.sack_compression.is_zero()
    }

    /// Whether it sends an ACK for each packet at once.
    pub(crate) fn answers_at_once(&self) -> bool {
        self.endpoint.delayed_ack <= 1 && !self.follows_rtt()
    }

    /// Adapts the receive buffer to what the application has read by `now`, all that is in order, with a round-trip time of
    /// `rtt`.
    #[expect(clippy::inline_always, reason = "is part of every delivery")]
    #[inline(always)]
    pub fn on_read(&mut self, now: Time, rtt: impl FnOnce() -> Option<Span>) {
        if !self.follows_rtt() {
            return;
        }
        self.rtt = rtt();
        if let Some(window) = &mut self.window {
            let (next, above_gap) = (self.rcv_nxt, &self.out_of_order);
            let above = || above_gap.highest().map_or(0, |end| end - next);
            window.on_read(now, self.rtt, next, above);
        }
    }

    /// Makes an ACK of what has been received although no packet was accepted.
    #[must_use]
    pub fn window_update(&mut self) -> Ack {
        Ack {
            window_update: true,
            reopens: true,
            ..self.make_ack(Answer::default())
        }
    }

    /// Returns the time at which a delayed ACK is due; `None` if none is pending.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Accepts a packet that arrives `now`. Returns whether it is a duplicate, and the ACK to send at once.
    #[expect(
        clippy::inline_always,
        reason = "writes the ACK where it is wanted; a copy of it stalls"
    )]
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, packet: impl Into<Segment>) -> Arrival {
        let packet = packet.into();
        let duplicate = self.note(packet);
        let held_back = self.release_held_back(packet.number, duplicate);
        let answer = self.answer(now, packet.number, duplicate);
        let ack = answer.map(|answer| self.make_ack(answer));
        Arrival {
            duplicate,
            ack: ack.or(held_back),
        }
    }

    /// Accepts a packet as [`Self::on_packet`] does. The receiver does not [follow the RTT](Self::follows_rtt), so that it never holds
    /// an ACK back. Returns whether the packet is a duplicate, and the content of the ACK to send at once; the caller must
    /// [write](Self::write_ack) that ACK before it calls anything else.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn accept(&mut self, now: Time, packet: Segment) -> (bool, Option<Answer>) {
        debug_assert!(!self.follows_rtt(), "an ACK may be held back");
        let duplicate = self.note(packet);
        (duplicate, self.answer(now, packet.number, duplicate))
    }

    /// Notes what a packet says. Returns whether it is a duplicate.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn note(&mut self, packet: Segment) -> bool {
        let number = packet.number;
        self.ece = (self.ece && !packet.cwr) || packet.marked;
        let duplicate = number != self.rcv_nxt && self.has(number);
        self.received += u64::from(!duplicate);
        if number <= self.last_acked {
            self.ts_recent = self.ts_recent.max(packet.sent);
        }
        let opens = !duplicate
            && self
                .window
                .as_mut()
                .is_some_and(|window| window.on_packet());
        if opens && self.endpoint.quick_while_growing {
            // As in `tcp_grow_window`: the count stays while the window grows.
            self.quick_acks_left |= 1;
        }
        duplicate
    }

    /// Returns the ACK that is held back if packet `number` must not wait with it.
    #[inline]
    fn release_held_back(&mut self, number: u64, duplicate: bool) -> Option<Ack> {
        let may_be = self.held_back > 0 && !duplicate && number != self.rcv_nxt;
        let is_sent = may_be && self.quick_acks_left == 0 && self.changes_another_range(number);
        is_sent.then(|| self.make_ack(Answer::default()))
    }

    /// Takes packet `number`. Returns the content of the ACK to send at once; `None` if it waits.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn answer(&mut self, now: Time, number: u64, duplicate: bool) -> Option<Answer> {
        // RFC 5681, Sec. 4.2: at once if a gap is filled or remains, otherwise every b-th packet.
        let mut at_once = duplicate || self.quick_acks_left > 0;
        let mut delay = self.endpoint.delayed_ack_timer;
        let mut newest = None;
        if number == self.rcv_nxt {
            self.rcv_nxt += 1;
            self.unacked += 1;
            self.repeats = 0;
            at_once |= self.fills_gap();
        } else if !duplicate {
            newest = Some(self.store_out_of_order(number));
            match self.compression().filter(|_| !at_once) {
                Some(longest) => delay = longest,
                None => at_once = true,
            }
        }
        if at_once || self.unacked >= self.endpoint.delayed_ack {
            let dsack = duplicate;
            return Some(Answer { dsack, newest });
        }
        let due = || now.checked_add(delay);
        self.deadline = self.deadline.or_else(due);
        None
    }

    /// Returns the delayed ACK if its timer has expired at `now`.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        let due = self.deadline.is_some_and(|deadline| deadline <= now);
        due.then(|| self.make_ack(Answer::default()))
    }

    /// Returns for how long the ACK of a packet above a gap is held back; `None` if it is sent at once. As in Linux
    /// (`__tcp_ack_snd_check`), the first three are, so that the sender detects a loss early.
    fn compression(&mut self) -> Option<Span> {
        let longest = self.endpoint.sack_compression;
        if longest.is_zero() || !self.endpoint.sack {
            return None;
        }
        if self.repeats < LEAST_REPEATS {
            self.repeats += 1;
            return None;
        }
        self.held_back += 1;
        let share = self.rtt.map(|rtt| rtt.as_nanos() / RTT_SHARE);
        let share = share.and_then(Span::from_nanos).unwrap_or(longest);
        (self.held_back < MOST_HELD_BACK).then_some(longest.min(share))
    }

    /// Whether packet `number` changes none of the two latest ranges. As in Linux (`tcp_sack_new_ofo_skb`), the ACK that is held back
    /// is sent first then, so that its three blocks report a burst full of gaps whole.
    fn changes_another_range(&self, number: u64) -> bool {
        let latest = self.recent.get(..RANGES_HELD_BACK);
        let grows = |(start, end): &(u64, u64)| number + 1 == *start || number == *end;
        latest.is_some_and(|ranges| !ranges.iter().any(grows))
    }

    /// Moves `rcv_nxt` over packets that are no longer above a gap. Returns whether there were any above a gap.
    #[inline]
    fn fills_gap(&mut self) -> bool {
        let any = !self.out_of_order.is_empty();
        if any {
            self.fill_gap();
        }
        any
    }

    #[inline(never)]
    fn fill_gap(&mut self) {
        if let Some(end) = self.out_of_order.take_first_if(self.rcv_nxt) {
            self.rcv_nxt = end;
            self.recent.retain(|(start, _)| *start >= end);
        }
    }

    /// Stores a packet above a gap. Returns the range that holds it.
    #[inline(never)]
    fn store_out_of_order(&mut self, number: u64) -> (u64, u64) {
        let (range, grew) = self.out_of_order.add(number);
        let within = |(start, _): &(u64, u64)| (range.0..range.1).contains(start);
        match self.recent.first_mut() {
            Some(first) if grew && within(first) => *first = range,
            _ => {
                self.recent.retain(|other| !within(other));
                self.recent.insert(0, range);
                self.recent.truncate(RECENT_RANGES);
            }
        }
        range
    }

    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn make_ack(&mut self, answer: Answer) -> Ack {
        let mut ack = Ack::default();
        self.write_ack(answer, &mut ack);
        ack
    }

    /// Makes an ACK of what has been received, and writes it over another one.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    pub(crate) fn write_ack(&mut self, answer: Answer, to: &mut Ack) {
        self.unacked = 0;
        self.held_back = 0;
        self.quick_acks_left = self.quick_acks_left.saturating_sub(1);
        self.deadline = None;
        to.blocks = if !self.out_of_order.is_empty() && self.endpoint.sack {
            self.latest_ranges(answer.newest)
        } else {
            Default::default()
        };
        self.last_acked = self.rcv_nxt;
        (to.next, to.echo) = (self.rcv_nxt, self.ts_recent);
        (to.dsack, to.ece) = (answer.dsack, self.ece);
        (to.window_update, to.reopens) = (false, false);
        to.rwnd = self.window.as_mut().map(|window| {
            Rwnd::new(window.advertise_from(self.rcv_nxt, self.received - self.rcv_nxt))
        });
    }

    /// The ranges that grew last, as SACK blocks. `newest` is the one that has just grown, if any: to load it from memory would
    /// wait for its store.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    fn latest_ranges(&self, newest: Option<(u64, u64)>) -> [(u64, u64); SACK_BLOCKS] {
        let recent = |number: usize| self.recent.get(number).copied().unwrap_or_default();
        [newest.unwrap_or_else(|| recent(0)), recent(1), recent(2)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::endpoint::Profile;

    fn receiver(sack: bool, delayed_ack: u32) -> Receiver {
        Receiver::new(Endpoint {
            sack,
            delayed_ack,
            ..Profile::Rfc.endpoint()
        })
    }

    fn at(millis: u32) -> Time {
        Time::ZERO.checked_add(Span::from_millis(millis)).unwrap()
    }

    #[test]
    fn an_advertised_window_is_kept_as_given_or_as_the_largest() {
        for packets in [0, 1, 50, u64::from(u32::MAX) - 1] {
            assert_eq!(Rwnd::new(packets).packets(), packets);
        }
        for packets in [u64::from(u32::MAX), u64::MAX] {
            assert_eq!(Rwnd::new(packets).packets(), u64::from(u32::MAX) - 1);
        }
        // Events carry ACKs by value.
        assert_eq!(size_of::<Ack>(), 72);
    }

    #[test]
    fn every_second_packet_in_order_is_acknowledged_and_a_single_one_after_the_timer() {
        let mut receiver = receiver(true, 2);
        assert_eq!(receiver.on_packet(at(0), 0).ack, None);
        assert_eq!(receiver.on_packet(at(1), 1).ack.unwrap().next, 2);
        assert_eq!(receiver.on_packet(at(2), 2).ack, None);
        assert_eq!(receiver.deadline(), Some(at(102)));
        assert_eq!(receiver.on_timer(at(101)), None);
        assert_eq!(receiver.on_timer(at(102)).unwrap().next, 3);
        assert_eq!(receiver.deadline(), None);
    }

    #[test]
    fn a_gap_and_its_end_are_acknowledged_at_once() {
        let mut receiver = receiver(true, 2);
        receiver.on_packet(at(0), 0);
        let ack = receiver.on_packet(at(1), 2).ack.unwrap();
        assert_eq!((ack.next, ack.blocks[0]), (1, (2, 3)));
        let ack = receiver.on_packet(at(2), 1).ack.unwrap();
        assert_eq!((ack.next, ack.blocks[0]), (3, (0, 0)));
    }

    #[test]
    fn there_are_at_most_three_sack_blocks_and_the_first_holds_the_latest_arrival() {
        let mut receiver = receiver(true, 1);
        for number in [2, 4, 6, 8] {
            receiver.on_packet(at(0), number);
        }
        let ack = receiver.on_packet(at(1), 3).ack.unwrap();
        assert_eq!(ack.blocks, [(2, 5), (8, 9), (6, 7)]);
    }

    #[test]
    fn a_packet_that_arrives_again_is_a_duplicate() {
        let mut receiver = receiver(true, 1);
        receiver.on_packet(at(0), 0);
        receiver.on_packet(at(0), 5);
        assert!(receiver.on_packet(at(1), 0).duplicate);
        assert!(receiver.on_packet(at(1), 5).duplicate);
        assert!(!receiver.on_packet(at(1), 1).duplicate);
    }

    #[test]
    fn quick_acks_are_not_delayed() {
        let mut receiver = Receiver::new(Endpoint {
            quick_acks: 3,
            delayed_ack: 2,
            ..Profile::Rfc.endpoint()
        });
        let answers: Vec<bool> = (0..7u64)
            .map(|number| receiver.on_packet(at(0), number).ack.is_some())
            .collect();
        assert_eq!(answers, [true, true, true, false, true, false, true]);
    }

    #[test]
    fn from_the_fourth_on_acks_that_only_add_sack_blocks_are_held_back() {
        let mut receiver = Receiver::new(Endpoint {
            sack_compression: Span::from_millis(1),
            ..Profile::Rfc.endpoint()
        });
        let sent = |receiver: &mut Receiver, now, numbers: std::ops::Range<u64>| -> Vec<bool> {
            numbers
                .map(|number| receiver.on_packet(now, number).ack.is_some())
                .collect()
        };
        assert_eq!(
            sent(&mut receiver, at(0), 1..6),
            [true, true, true, false, false]
        );
        assert_eq!(receiver.deadline(), Some(at(1)));
        assert_eq!(receiver.on_timer(at(1)).unwrap().blocks[0], (1, 6));
        assert_eq!(sent(&mut receiver, at(2), 6..7), [false]);
        // The gap is filled: at once, and the next three are again.
        assert_eq!(sent(&mut receiver, at(2), 0..1), [true]);
        assert_eq!(receiver.deadline(), None);
        assert_eq!(sent(&mut receiver, at(3), 8..12), [true, true, true, false]);
        // A twentieth of an RTT of 10 ms, and no more than 44 packets.
        receiver.on_timer(at(4));
        receiver.on_read(at(4), || Some(Span::from_millis(10)));
        receiver.on_packet(at(4), 12);
        let half = Time::from_nanos(4_500_000);
        assert_eq!(receiver.deadline(), half);
        let waiting = sent(&mut receiver, at(4), 13..60);
        assert_eq!(waiting.iter().position(|sent| *sent), Some(42));
    }

    #[test]
    fn acks_that_are_held_back_lose_no_range_of_a_burst() {
        let mut receiver = Receiver::new(Endpoint {
            sack_compression: Span::from_millis(1),
            ..Profile::Rfc.endpoint()
        });
        let mut reported = RangeSet::default();
        let mut acks = 0;
        let mut report = |ack: Ack| {
            acks += 1;
            ack.blocks
                .iter()
                .flat_map(|(start, end)| *start..*end)
                .for_each(|number| _ = reported.add(number));
        };
        // Every second packet, and then those that join two ranges each, all at one instant.
        let burst: Vec<u64> = (0..100)
            .map(|gap| 2 * gap + 1)
            .chain((40..60).map(|gap| 2 * gap))
            .collect();
        for number in &burst {
            receiver.on_packet(at(0), *number).ack.map(&mut report);
        }
        receiver.on_timer(at(1)).map(&mut report);
        // One for each new range and for the first packet that joins two old ones; the other 19 wait for the timer together.
        assert_eq!(acks, 99 + 1 + 1);
        assert!(burst.iter().all(|number| reported.contains(*number)));
    }

    #[test]
    fn a_congestion_mark_is_echoed_until_cwr_arrives() {
        // RFC 3168, Sec. 6.1.3: every ACK carries ECE until a packet with CWR arrives.
        let mut receiver = receiver(true, 1);
        let packet = |number, marked, cwr| Segment {
            number,
            marked,
            cwr,
            ..Segment::default()
        };
        let echoed: Vec<bool> = [
            packet(0, false, false),
            packet(1, true, false),
            packet(2, false, false),
            packet(3, false, true),
            packet(4, true, true),
        ]
        .map(|packet| receiver.on_packet(at(0), packet).ack.unwrap().ece)
        .to_vec();
        assert_eq!(echoed, [false, true, true, false, true]);
    }

    #[test]
    fn without_sack_there_are_no_blocks() {
        let mut receiver = receiver(false, 1);
        assert_eq!(receiver.on_packet(at(0), 3).ack.unwrap(), Ack::default());
    }

    proptest! {
        /// An ACK that is written over one with every field set is that which is returned, and leaves the receiver as it does.
        #[test]
        fn an_ack_is_the_same_written_or_returned(
            sack: bool,
            delayed_ack in 1u32..4,
            quick_acks in 0u32..20,
            packets in prop::collection::vec((0u64..6, any::<bool>(), any::<bool>()), 1..60),
        ) {
            let endpoint = Endpoint { sack, delayed_ack, quick_acks, ..Profile::Rfc.endpoint() };
            let (mut one, mut other) = (Receiver::new(endpoint), Receiver::new(endpoint));
            for (millis, (ahead, marked, cwr)) in (0u32..).step_by(40).zip(packets) {
                let number = (one.rcv_nxt() + ahead).saturating_sub(2);
                let segment = Segment { number, sent: at(millis / 2), marked, cwr };
                prop_assert_eq!(one.on_timer(at(millis)), other.on_timer(at(millis)));
                let returned = one.on_packet(at(millis), segment);
                let (duplicate, answer) = other.accept(at(millis), segment);
                let ack = answer.map(|answer| {
                    let mut ack = Ack {
                        next: u64::MAX,
                        blocks: [(7, 9); SACK_BLOCKS],
                        dsack: true,
                        ece: true,
                        window_update: true,
                        reopens: true,
                        echo: Time::MAX,
                        rwnd: Some(Rwnd::new(3)),
                    };
                    other.write_ack(answer, &mut ack);
                    ack
                });
                prop_assert_eq!(returned, Arrival { duplicate, ack });
                prop_assert_eq!(one.deadline(), other.deadline());
            }
        }
    }
}
