//! Time-division access: packets wait for the next frame, which carries a number of them.

use std::collections::VecDeque;

use tmt_core::types::{Span, Time};
use tmt_link::hop::{Event, Hop};
use tmt_link::{Packet, Service};

#[derive(Debug)]
pub(crate) struct Frames {
    length: Span,
    capacity: usize,
    waiting: VecDeque<Packet>,
    /// Next frame, and the packets that it can still carry.
    next: Time,
    room: usize,
}

impl Frames {
    /// Frames of this length, from time zero on, that carry up to `capacity` packets each.
    pub(crate) fn new(length: Span, capacity: usize) -> Self {
        Self {
            length,
            capacity,
            waiting: VecDeque::new(),
            next: Time::ZERO,
            room: capacity,
        }
    }

    /// Moves on to the first frame at or after `now` with room for a packet.
    fn advance(&mut self, now: Time) {
        while self.next < now || self.room == 0 {
            self.next = self.next.saturating_add(self.length);
            self.room = self.capacity;
        }
    }
}

impl Hop for Frames {
    fn name(&self) -> String {
        "frames".to_owned()
    }

    fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        self.advance(now);
        self.waiting.push_back(packet);
        None
    }

    fn poll(&mut self, now: Time) -> Option<Event> {
        self.advance(now);
        if self.next > now {
            return None;
        }
        let packet = self.waiting.pop_front()?;
        self.room -= 1;
        let service = Service {
            start: now,
            end: now,
            arrival: Some(now),
            propagation: Span::ZERO,
            first_unit: packet.id,
            last_unit: packet.id,
        };
        Some(Event::Served(packet, service))
    }

    fn due(&self) -> Option<Time> {
        // A frame that is full has been advanced past by the next call.
        (!self.waiting.is_empty()).then_some(self.next)
    }
}
