//! The proxy of a split path (papers/004 §IV): it acknowledges packets as they come, tells the room that is left in its
//! buffer, and keeps a packet until the link's own acknowledgement of it has come.
//!
//! Room is told with acknowledgements of packets alone, as in the paper's analysis, and with the answer to a packet that
//! finds none; only a flow that was told there is none, and has nothing more on its way, is told when there is some
//! again, another one first each time. Packets that come out of order go on over the link at once: the receiver puts
//! them in order.

use std::collections::{BTreeSet, VecDeque};

use tmt_core::types::Time;

use crate::endpoint::Endpoint;
use crate::endpoint::receiver::{Ack, Packet, Receiver};

use super::path::SplitWindow;
use super::probe::Refused;

/// One flow's end at the proxy.
#[derive(Debug)]
struct End {
    receiver: Receiver,
    /// The packet up to which the flow was told that there is room; above all before it began.
    told: u64,
}

/// A proxy.
#[derive(Debug)]
pub(super) struct Proxy {
    capacity: u64,
    window: SplitWindow,
    /// Packets in the buffer.
    held: u64,
    ends: Vec<End>,
    /// Flows that have sent all that they were told there is room for.
    shut: BTreeSet<usize>,
    /// Those of them that are told at a release, the first of them another one each time.
    turn: usize,
    told: VecDeque<usize>,
}

impl Proxy {
    /// A proxy for flows with these endpoints, whose buffer holds `capacity` packets.
    pub(super) fn new<'a>(
        capacity: u64,
        window: SplitWindow,
        endpoints: impl Iterator<Item = &'a Endpoint>,
    ) -> Self {
        let end = |endpoint: &Endpoint| {
            let receiver = Receiver::new(Endpoint {
                delayed_ack: 1,
                ..*endpoint
            });
            End {
                receiver,
                told: u64::MAX,
            }
        };
        Self {
            capacity,
            window,
            held: 0,
            ends: endpoints.map(end).collect(),
            shut: BTreeSet::new(),
            turn: 0,
            told: VecDeque::new(),
        }
    }

    /// Packets in the buffer.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// A flow begins: the packets that it may send before it hears anything, as a handshake tells.
    pub(super) fn on_start(&mut self, flow: usize) -> u64 {
        let room = self.free();
        self.tell(flow, room);
        room
    }

    /// A packet of `flow` arrives: why it does not go on over the link, if so, and what its sender is told.
    pub(super) fn on_packet(
        &mut self,
        now: Time,
        flow: usize,
        packet: Packet,
    ) -> (Option<Refused>, Ack) {
        let receiver = &mut self.ends[flow].receiver;
        let refused = if receiver.has(packet.number) {
            Some(Refused::Duplicate)
        } else if self.held >= self.capacity {
            // As a receiver does with what lies outside of its window (RFC 9293 §3.10.7.4).
            let ack = receiver.window_update();
            return (Some(Refused::Full), self.with_room(flow, ack));
        } else {
            self.held += 1;
            None
        };
        let ack = receiver.on_packet(now, packet).ack.unwrap_or_default();
        (refused, self.with_room(flow, ack))
    }

    /// The link has acknowledged a packet, whose place is free. The flows that are told so are given by
    /// [`Self::reopened`].
    pub(super) fn on_released(&mut self) {
        self.held -= 1;
        self.turn = (self.turn + 1) % self.ends.len().max(1);
        self.told.clear();
        if !self.shut.is_empty() && self.free() > 0 {
            self.told.extend(self.shut.range(self.turn..));
            self.told.extend(self.shut.range(..self.turn));
        }
    }

    /// The next flow that was told there is no room, and is told now that there is.
    pub(super) fn reopened(&mut self) -> Option<(usize, Ack)> {
        let flow = self.told.pop_front()?;
        let ack = self.ends[flow].receiver.window_update();
        Some((flow, self.with_room(flow, ack)))
    }

    /// Room that a flow is told, beyond what it has in the buffer.
    fn free(&self) -> u64 {
        let free = self.capacity - self.held;
        match self.window {
            SplitWindow::Whole => free,
            SplitWindow::Share => free / (self.ends.len() as u64).max(1),
        }
    }

    /// A flow is told that there is room up to packet `told`.
    fn tell(&mut self, flow: usize, told: u64) {
        let end = &mut self.ends[flow];
        end.told = told;
        if told <= end.receiver.rcv_nxt() + end.receiver.out_of_order() {
            self.shut.insert(flow);
        } else {
            self.shut.remove(&flow);
        }
    }

    /// The acknowledgement with the room that is left. What the flow has above a gap lies within what it was told, so
    /// that much is added: a gap and what is above it are counted from the same packet.
    fn with_room(&mut self, flow: usize, ack: Ack) -> Ack {
        let room = self.free() + self.ends[flow].receiver.out_of_order();
        self.tell(flow, ack.next.saturating_add(room));
        Ack {
            rwnd: Some(u32::try_from(room).unwrap_or(u32::MAX)),
            ..ack
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Profile;

    fn proxy(capacity: u64, window: SplitWindow, flows: usize) -> Proxy {
        let endpoints = vec![Profile::Ns2.endpoint(); flows];
        Proxy::new(capacity, window, endpoints.iter())
    }

    fn taken(proxy: &mut Proxy, flow: usize, number: u64) -> (u64, u32) {
        let (refused, ack) = proxy.on_packet(Time::ZERO, flow, number.into());
        assert_eq!(refused, None);
        (ack.next, ack.rwnd.unwrap())
    }

    #[test]
    fn a_flow_that_begins_beside_a_full_buffer_is_told_when_there_is_room() {
        let mut proxy = proxy(2, SplitWindow::Whole, 2);
        assert_eq!(proxy.on_start(0), 2);
        taken(&mut proxy, 0, 0);
        taken(&mut proxy, 0, 1);
        assert_eq!(proxy.on_start(1), 0);
        proxy.on_released();
        let (flow, ack) = proxy.reopened().unwrap();
        assert_eq!((flow, ack.next, ack.rwnd), (1, 0, Some(1)));
        assert_eq!(proxy.reopened().unwrap().0, 0);
        assert_eq!(proxy.reopened(), None);
    }

    #[test]
    fn room_goes_down_with_every_packet_and_up_only_with_an_acknowledgement() {
        let mut proxy = proxy(3, SplitWindow::Whole, 1);
        assert_eq!(taken(&mut proxy, 0, 0), (1, 2));
        proxy.on_released();
        assert_eq!(proxy.reopened(), None, "the flow still has room");
        assert_eq!(taken(&mut proxy, 0, 1), (2, 2));
        assert_eq!(taken(&mut proxy, 0, 2), (3, 1));
        assert_eq!(taken(&mut proxy, 0, 3), (4, 0));
        assert_eq!(proxy.reopened(), None, "there is no room yet");
        proxy.on_released();
        let (flow, ack) = proxy.reopened().unwrap();
        assert_eq!(
            (flow, ack.next, ack.rwnd, ack.window_update),
            (0, 4, Some(1), true)
        );
        assert_eq!(proxy.reopened(), None, "it was told");
    }

    #[test]
    fn what_finds_no_room_is_not_acknowledged() {
        let mut proxy = proxy(2, SplitWindow::Whole, 2);
        assert_eq!(taken(&mut proxy, 0, 0), (1, 1));
        assert_eq!(taken(&mut proxy, 1, 0), (1, 0));
        let (refused, ack) = proxy.on_packet(Time::ZERO, 0, 1u64.into());
        assert_eq!(refused, Some(Refused::Full));
        assert_eq!((ack.next, ack.rwnd, ack.window_update), (1, Some(0), true));
        assert_eq!(proxy.held(), 2);
        let (refused, ack) = proxy.on_packet(Time::ZERO, 0, 0u64.into());
        assert_eq!(refused, Some(Refused::Duplicate));
        assert_eq!((ack.next, ack.rwnd), (1, Some(0)));
    }

    #[test]
    fn each_of_several_flows_is_told_its_part() {
        let mut proxy = proxy(30, SplitWindow::Share, 10);
        assert_eq!(taken(&mut proxy, 4, 0), (1, 2), "29 places for 10 flows");
        for flow in 0..9 {
            taken(&mut proxy, flow, 1 - u64::from(flow != 4));
        }
        assert_eq!(taken(&mut proxy, 9, 0), (1, 1), "19 places");
    }

    #[test]
    fn a_gap_and_what_is_above_it_count_from_the_same_packet() {
        let mut proxy = proxy(10, SplitWindow::Whole, 1);
        assert_eq!(taken(&mut proxy, 0, 0), (1, 9));
        // Packet 1 is missing; each one above it takes a place and was foreseen.
        assert_eq!(taken(&mut proxy, 0, 2), (1, 9));
        assert_eq!(taken(&mut proxy, 0, 3), (1, 9));
        assert_eq!(taken(&mut proxy, 0, 1), (4, 6));
    }
}
