//! A queue that drops what has waited for too long.

use std::collections::VecDeque;

use fluid_tcp::link::gateway::{Dequeued, Entry, Queue, Queued};
use fluid_tcp::named::Parameter;
use tmt_core::types::{Span, Time};

pub(crate) static PATIENCE: Entry = Entry {
    name: "patience",
    about: "packets that have waited for longer than limit",
    parameters: &[Parameter::duration("limit", Span::from_millis(50))],
    examples: &["patience", "patience:limit=20ms"],
    make: |parameters| {
        let limit = parameters.duration("limit");
        let waiting = VecDeque::new();
        Box::new(Patience { limit, waiting })
    },
};

#[derive(Debug)]
struct Patience {
    limit: Span,
    waiting: VecDeque<Queued>,
}

impl Queue for Patience {
    fn enqueue(&mut self, _now: Time, packet: Queued) -> Option<Queued> {
        self.waiting.push_back(packet);
        None
    }

    fn dequeue(&mut self, now: Time) -> Option<Dequeued> {
        let packet = self.waiting.pop_front()?;
        Some(if now.since(packet.enqueued) > self.limit {
            Dequeued::Drop(packet)
        } else {
            let marked = false;
            Dequeued::Serve { packet, marked }
        })
    }

    fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}
