//! Drop-tail: first in, first out. A packet that finds the buffer full is dropped, and no other.

use std::collections::VecDeque;

use tmt_core::types::Time;

use super::{Entry, Make, Queue};
use crate::packet::Packet;

/// Drop-tail as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "drop-tail",
    about: "drops a packet if the buffer is full",
    parameters: &[],
    examples: &["drop-tail"],
    make: Make {
        marks: false,
        by_flow: false,
        draws: false,
        refuses: |_| None,
        queue: |_, _| Box::new(Fifo::default()),
    },
};

/// Packets in the order of their arrival.
#[derive(Debug, Default)]
pub struct Fifo(VecDeque<Packet>);

impl Queue for Fifo {
    fn enqueue(&mut self, _now: Time, packet: Packet, _dropped: &mut Vec<Packet>) {
        self.0.push_back(packet);
    }

    fn dequeue(&mut self, _now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.0.pop_front()
    }

    fn waiting(&self) -> u64 {
        self.0.len() as u64
    }
}
