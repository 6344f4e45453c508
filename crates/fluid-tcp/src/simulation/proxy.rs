//! Proxy of a split path (docs/simulator.md, Sec. 3; Zhu 2006, Sec. IV). It acknowledges packets on arrival, advertises
//! the free space of its buffer, and stores a packet until the link has acknowledged it.
//!
//! The window is advertised with the ACK of each packet, as in the analysis of Zhu 2006, and with the ACK of a packet
//! that finds the buffer full. A window update is sent only to a flow that has used all of its advertised window, or
//! ([`SplitAnnounce::Every`]) to each flow whose window grows. If there are several, the one that is first changes with every release. Packets that arrive out of order are forwarded
//! at once; the receiver orders them.

use std::collections::{BTreeSet, VecDeque};

use tmt_core::types::Time;

use crate::endpoint::Endpoint;
use crate::endpoint::receiver::{Ack, Receiver, Rwnd, Segment};

use super::path::{SplitAnnounce, SplitWindow};
use super::probe::Refused;

/// State of one flow at the proxy.
#[derive(Debug)]
struct End {
    receiver: Receiver,
    /// First packet after the advertised window; `u64::MAX` before the flow starts.
    advertised: u64,
}

/// Proxy with one buffer for all flows.
#[derive(Debug)]
pub(super) struct Proxy {
    capacity: u64,
    window: SplitWindow,
    announce: SplitAnnounce,
    /// Number of packets in the buffer.
    held: u64,
    ends: Vec<End>,
    /// Flows that have used all of their advertised window.
    closed: BTreeSet<usize>,
    /// Flow with which the window updates of a release begin.
    turn: usize,
    window_updates: VecDeque<usize>,
}

impl Proxy {
    /// Creates a proxy for flows with these endpoints. Its buffer holds `capacity` packets.
    pub(super) fn new<'a>(
        capacity: u64,
        (window, announce): (SplitWindow, SplitAnnounce),
        endpoints: impl Iterator<Item = &'a Endpoint>,
    ) -> Self {
        let end = |endpoint: &Endpoint| {
            let receiver = Receiver::new(Endpoint {
                delayed_ack: 1,
                ..*endpoint
            });
            End {
                receiver,
                advertised: u64::MAX,
            }
        };
        Self {
            capacity,
            window,
            announce,
            held: 0,
            ends: endpoints.map(end).collect(),
            closed: BTreeSet::new(),
            turn: 0,
            window_updates: VecDeque::new(),
        }
    }

    /// Number of packets in the buffer.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// A flow starts. Returns its initial window in packets, as advertised in a handshake.
    pub(super) fn on_start(&mut self, flow: usize) -> u64 {
        let window = self.free();
        self.advertise(flow, window);
        window
    }

    /// A packet of `flow` arrives. Returns the reason if it is not forwarded, and the ACK for its sender.
    pub(super) fn on_packet(
        &mut self,
        now: Time,
        flow: usize,
        packet: Segment,
    ) -> (Option<Refused>, Ack) {
        let receiver = &mut self.ends[flow].receiver;
        let refused = if receiver.has(packet.number) {
            Some(Refused::Duplicate)
        } else if self.held >= self.capacity {
            // As a receiver does with a segment outside its window (RFC 9293, Sec. 3.10.7.4).
            let ack = receiver.window_update();
            return (Some(Refused::Full), self.with_window(flow, ack));
        } else {
            self.held += 1;
            None
        };
        let ack = receiver.on_packet(now, packet).ack.unwrap_or_default();
        (refused, self.with_window(flow, ack))
    }

    /// The link has acknowledged a packet, which leaves the buffer. [`Self::next_window_update`] then returns the window
    /// updates.
    pub(super) fn on_released(&mut self) {
        self.held -= 1;
        self.turn = (self.turn + 1) % self.ends.len().max(1);
        self.window_updates.clear();
        if self.announce == SplitAnnounce::Every {
            let turns = (self.turn..self.ends.len()).chain(0..self.turn);
            let free = self.free();
            let ends = &self.ends;
            self.window_updates.extend(turns.filter(|flow| {
                let End {
                    receiver,
                    advertised,
                } = &ends[*flow];
                let until = receiver.rcv_nxt() + receiver.out_of_order() + free;
                until > *advertised
            }));
        } else if !self.closed.is_empty() && self.free() > 0 {
            self.window_updates.extend(self.closed.range(self.turn..));
            self.window_updates.extend(self.closed.range(..self.turn));
        }
    }

    /// Next flow to get a window update, and the ACK that carries it.
    pub(super) fn next_window_update(&mut self) -> Option<(usize, Ack)> {
        let flow = self.window_updates.pop_front()?;
        let reopens = self.closed.contains(&flow);
        let ack = self.ends[flow].receiver.window_update();
        Some((flow, self.with_window(flow, Ack { reopens, ..ack })))
    }

    /// Free buffer space that is advertised to a flow, in packets.
    fn free(&self) -> u64 {
        let free = self.capacity - self.held;
        match self.window {
            SplitWindow::Whole => free,
            SplitWindow::Share => free / (self.ends.len() as u64).max(1),
        }
    }

    /// Records that the window advertised to `flow` ends before packet `until`.
    fn advertise(&mut self, flow: usize, until: u64) {
        let end = &mut self.ends[flow];
        end.advertised = until;
        if until <= end.receiver.rcv_nxt() + end.receiver.out_of_order() {
            self.closed.insert(flow);
        } else {
            self.closed.remove(&flow);
        }
    }

    /// Adds the advertised window to an ACK. Packets above a gap are already in the buffer but within the window, so they
    /// are added to the free space.
    fn with_window(&mut self, flow: usize, ack: Ack) -> Ack {
        let window = self.free() + self.ends[flow].receiver.out_of_order();
        self.advertise(flow, ack.next.saturating_add(window));
        Ack {
            rwnd: Some(Rwnd::new(window)),
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
        Proxy::new(capacity, (window, SplitAnnounce::Acks), endpoints.iter())
    }

    fn taken(proxy: &mut Proxy, flow: usize, number: u64) -> (u64, u64) {
        let (refused, ack) = proxy.on_packet(Time::ZERO, flow, number.into());
        assert_eq!(refused, None);
        (ack.next, ack.rwnd.unwrap().packets())
    }

    #[test]
    fn a_flow_that_starts_with_a_full_buffer_gets_a_window_update() {
        let mut proxy = proxy(2, SplitWindow::Whole, 2);
        assert_eq!(proxy.on_start(0), 2);
        taken(&mut proxy, 0, 0);
        taken(&mut proxy, 0, 1);
        assert_eq!(proxy.on_start(1), 0);
        proxy.on_released();
        let (flow, ack) = proxy.next_window_update().unwrap();
        assert_eq!((flow, ack.next, ack.rwnd), (1, 0, Some(Rwnd::new(1))));
        assert_eq!(proxy.next_window_update().unwrap().0, 0);
        assert_eq!(proxy.next_window_update(), None);
    }

    #[test]
    fn the_window_grows_only_with_an_ack() {
        let mut proxy = proxy(3, SplitWindow::Whole, 1);
        assert_eq!(taken(&mut proxy, 0, 0), (1, 2));
        proxy.on_released();
        assert_eq!(
            proxy.next_window_update(),
            None,
            "the flow still has window"
        );
        assert_eq!(taken(&mut proxy, 0, 1), (2, 2));
        assert_eq!(taken(&mut proxy, 0, 2), (3, 1));
        assert_eq!(taken(&mut proxy, 0, 3), (4, 0));
        assert_eq!(proxy.next_window_update(), None, "the buffer is still full");
        proxy.on_released();
        let (flow, ack) = proxy.next_window_update().unwrap();
        assert_eq!(
            (flow, ack.next, ack.rwnd, ack.window_update),
            (0, 4, Some(Rwnd::new(1)), true)
        );
        assert_eq!(proxy.next_window_update(), None, "the update was sent");
    }

    #[test]
    fn every_freed_slot_is_announced_to_the_flows_whose_window_it_opens() {
        let endpoints = vec![Profile::Ns2.endpoint(); 3];
        let announce = SplitAnnounce::Every;
        let mut proxy = Proxy::new(3, (SplitWindow::Whole, announce), endpoints.iter());
        assert_eq!((proxy.on_start(0), proxy.on_start(1)), (3, 3));
        assert_eq!(taken(&mut proxy, 0, 0), (1, 2));
        assert_eq!(taken(&mut proxy, 0, 1), (2, 1));
        let updates = |proxy: &mut Proxy| {
            proxy.on_released();
            let next = std::iter::from_fn(|| proxy.next_window_update());
            next.map(|(flow, ack)| (flow, ack.next, ack.rwnd.unwrap().packets()))
                .collect::<Vec<_>>()
        };
        // Flow 1 has been offered all three packets, flow 2 has not begun.
        assert_eq!(updates(&mut proxy), [(0, 2, 2)]);
        assert_eq!(updates(&mut proxy), [(0, 2, 3)]);
        // With shares, the window grows with every third packet that leaves.
        let shares = (SplitWindow::Share, announce);
        let mut proxy = Proxy::new(6, shares, endpoints.iter());
        assert_eq!(proxy.on_start(0), 2);
        assert_eq!(taken(&mut proxy, 0, 0), (1, 1));
        assert_eq!(taken(&mut proxy, 0, 1), (2, 1));
        assert_eq!(taken(&mut proxy, 0, 2), (3, 1));
        assert_eq!(taken(&mut proxy, 0, 3), (4, 0));
        assert_eq!(updates(&mut proxy), [(0, 4, 1)]);
        assert_eq!(updates(&mut proxy), []);
        assert_eq!(updates(&mut proxy), []);
        assert_eq!(updates(&mut proxy), [(0, 4, 2)]);
    }

    #[test]
    fn a_packet_that_finds_the_buffer_full_is_not_acknowledged() {
        let mut proxy = proxy(2, SplitWindow::Whole, 2);
        assert_eq!(taken(&mut proxy, 0, 0), (1, 1));
        assert_eq!(taken(&mut proxy, 1, 0), (1, 0));
        let (refused, ack) = proxy.on_packet(Time::ZERO, 0, 1u64.into());
        assert_eq!(refused, Some(Refused::Full));
        assert_eq!(
            (ack.next, ack.rwnd, ack.window_update),
            (1, Some(Rwnd::new(0)), true)
        );
        assert_eq!(proxy.held(), 2);
        let (refused, ack) = proxy.on_packet(Time::ZERO, 0, 0u64.into());
        assert_eq!(refused, Some(Refused::Duplicate));
        assert_eq!((ack.next, ack.rwnd), (1, Some(Rwnd::new(0))));
    }

    #[test]
    fn flows_share_the_advertised_window() {
        let mut proxy = proxy(30, SplitWindow::Share, 10);
        assert_eq!(
            taken(&mut proxy, 4, 0),
            (1, 2),
            "29 free packets for 10 flows"
        );
        for flow in 0..9 {
            taken(&mut proxy, flow, 1 - u64::from(flow != 4));
        }
        assert_eq!(taken(&mut proxy, 9, 0), (1, 1), "19 free packets");
    }

    #[test]
    fn packets_above_a_gap_do_not_reduce_the_window() {
        let mut proxy = proxy(10, SplitWindow::Whole, 1);
        assert_eq!(taken(&mut proxy, 0, 0), (1, 9));
        // Segment 1 is missing. Each packet above it takes space that was already advertised.
        assert_eq!(taken(&mut proxy, 0, 2), (1, 9));
        assert_eq!(taken(&mut proxy, 0, 3), (1, 9));
        assert_eq!(taken(&mut proxy, 0, 1), (4, 6));
    }
}
