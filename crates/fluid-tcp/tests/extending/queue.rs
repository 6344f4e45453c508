//! A queue that drops what has waited for too long.

use std::collections::VecDeque;

use tmt_core::named::Parameter;
use tmt_core::types::{Span, Time};
use tmt_link::Packet;
use tmt_link::queue::{Entry, Make, Queue};

pub(crate) static PATIENCE: Entry = Entry {
    name: "patience",
    about: "packets that have waited for longer than limit",
    parameters: &[Parameter::duration("limit", Span::from_millis(50))],
    examples: &["patience", "patience:limit=20ms"],
    make: Make {
        marks: false,
        by_flow: false,
        draws: false,
        refuses: |_| None,
        queue: |parameters, _context| {
            let limit = parameters.duration("limit");
            let waiting = VecDeque::new();
            Box::new(Patience { limit, waiting })
        },
    },
};

#[derive(Debug)]
struct Patience {
    limit: Span,
    waiting: VecDeque<Packet>,
}

impl Queue for Patience {
    fn enqueue(&mut self, _now: Time, packet: Packet, _dropped: &mut Vec<Packet>) {
        self.waiting.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        while let Some(packet) = self.waiting.pop_front() {
            if now.since(packet.enqueued) <= self.limit {
                return Some(packet);
            }
            dropped.push(packet);
        }
        None
    }

    fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}
