//! Strict priority by the class of a packet: classes 0 to 7, the highest served first, as the class selectors of Differentiated
//! Services ask (RFC 2474, Sec. 4.2.2.2); first in, first out within a class.
//!
//! ```text
//! enqueue: append to the queue of the packet's class
//!     if the buffer is full: drop the last packet of the lowest class that waits, if that is below the packet's; else the packet
//! dequeue: the first packet of the highest class that waits
//! ```
//!
//! A packet in service is not interrupted.

use std::collections::VecDeque;

use tmt_core::types::Time;

use super::{Entry, Make, Queue};
use crate::packet::{CLASSES, Packet};

/// Strict priority as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "priority",
    about: "serves the highest class first, and drops of the lowest if the buffer is full (RFC 2474)",
    parameters: &[],
    examples: &["priority"],
    make: Make {
        marks: false,
        by_flow: true,
        draws: false,
        refuses: |_| None,
        queue: |_, _| Box::new(Priority::default()),
    },
};

/// Packets by class, each class in the order of arrival.
#[derive(Debug, Default)]
pub struct Priority([VecDeque<Packet>; CLASSES as usize]);

impl Priority {
    /// The queue of a class; of the highest if there is no such class.
    fn class(&mut self, class: u8) -> &mut VecDeque<Packet> {
        &mut self.0[usize::from(class.min(CLASSES - 1))]
    }
}

impl Queue for Priority {
    fn enqueue(&mut self, _now: Time, packet: Packet, _dropped: &mut Vec<Packet>) {
        self.class(packet.class).push_back(packet);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.0.iter_mut().rev().find_map(VecDeque::pop_front)
    }

    fn make_room(&mut self, _now: Time, packet: &Packet) -> Option<Packet> {
        let below = self.0.iter_mut().take(packet.class.into());
        below
            .filter(|class| !class.is_empty())
            .find_map(VecDeque::pop_back)
    }

    fn waiting(&self) -> u64 {
        self.0.iter().map(|class| class.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(id: u64, class: u8) -> Packet {
        Packet {
            id,
            class,
            ..Packet::default()
        }
    }

    #[test]
    fn classes_follow_the_table() {
        let mut queue = Priority::default();
        let mut none = Vec::new();
        for (id, class) in [(0, 0), (1, 3), (2, 7), (3, 3), (4, 0), (5, 7)] {
            queue.enqueue(Time::ZERO, packet(id, class), &mut none);
        }
        let mut next = |queue: &mut Priority| queue.dequeue(Time::ZERO, &mut none).map(|it| it.id);
        assert_eq!(next(&mut queue), Some(2));
        queue.enqueue(Time::ZERO, packet(6, 7), &mut Vec::new());
        let order: Vec<u64> = std::iter::from_fn(|| next(&mut queue)).collect();
        assert_eq!(order, [5, 6, 1, 3, 0, 4]);
        assert_eq!(queue.waiting(), 0);
    }

    #[test]
    fn a_full_buffer_drops_the_last_packet_of_a_lower_class() {
        let mut queue = Priority::default();
        for (id, class) in [(0, 1), (1, 1), (2, 3)] {
            queue.enqueue(Time::ZERO, packet(id, class), &mut Vec::new());
        }
        let mut room = |class| {
            queue
                .make_room(Time::ZERO, &packet(9, class))
                .map(|it| it.id)
        };
        assert_eq!([room(0), room(1)], [None; 2]);
        assert_eq!([room(3), room(2), room(2)], [Some(1), Some(0), None]);
        assert_eq!([room(3), room(4), room(7)], [None, Some(2), None]);
    }
}
