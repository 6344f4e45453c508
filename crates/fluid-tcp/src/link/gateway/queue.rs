//! Queues that decide packet by packet what to drop, mark and serve; and disciplines by name.

use std::fmt;

use tmt_core::types::Time;

use super::{Fate, Gateway, Queued, Served};
use crate::link::{Link, Usage};
use crate::named::{self, Values};

/// Packets that wait for the link, and which of them go next. The packet in service is not among them.
pub trait Queue: fmt::Debug + Send {
    /// A packet comes at `now` and finds room. Returns it where the queue drops it all the same.
    fn offer(&mut self, now: Time, packet: Queued) -> Option<Queued>;

    /// The link is free at `now`: takes one packet out, to be served or dropped. Called again after a drop, until
    /// the link is busy or the queue has nothing to give.
    fn take(&mut self, now: Time) -> Option<Taken>;

    /// Packets that wait.
    fn waiting(&self) -> u64;
}

/// A packet that a queue has taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The link serves it next.
    Serve {
        /// The packet.
        packet: Queued,
        /// It gets a mark (ECN); only where it is [`Queued::capable`].
        marked: bool,
    },
    /// The queue drops it.
    Drop(Queued),
}

/// Makes an empty queue with the values of its entry's parameters.
pub type Make = fn(&Values) -> Box<dyn Queue>;

/// A queue as it is registered: its name, parameters and what makes it.
pub type Entry = named::Entry<Make>;

/// Which packets a queue drops, by name with parameters, such as `codel:target=5ms,interval=100ms`. A packet that finds
/// no room is always dropped.
pub type Discipline = named::Choice<Make>;

/// A queue with its link, one packet in service at a time; departures are events.
#[derive(Debug)]
pub(crate) struct QueuedLink<L, Q: ?Sized> {
    link: L,
    queue: Box<Q>,
    capacity: u64,
    served: Option<Served>,
    /// Packets that the link will never serve: it has come to its end.
    stuck: u64,
}

impl<L: Link, Q: Queue + ?Sized> QueuedLink<L, Q> {
    pub(crate) fn new(link: L, capacity: u64, queue: Box<Q>) -> Self {
        Self {
            link,
            queue,
            capacity,
            served: None,
            stuck: 0,
        }
    }
}

impl<L: Link, Q: Queue + ?Sized> Gateway for QueuedLink<L, Q> {
    #[inline]
    fn offer(&mut self, now: Time, packet: Queued) -> Fate {
        if self.len() >= self.capacity {
            return Fate::Dropped(packet);
        }
        self.queue
            .offer(now, packet)
            .map_or(Fate::Waits, Fate::Dropped)
    }

    fn due(&self) -> Option<Time> {
        if self.queue.waiting() == 0 || self.is_exhausted() {
            return None;
        }
        Some(self.served.map_or(Time::ZERO, |served| served.service.end))
    }

    fn wake(&mut self, now: Time) -> Option<Fate> {
        // `leave` first says who has left.
        if self.served.is_some() || self.is_exhausted() {
            return None;
        }
        let (packet, marked) = match self.queue.take(now)? {
            Taken::Serve { packet, marked } => (packet, marked),
            Taken::Drop(packet) => return Some(Fate::Dropped(packet)),
        };
        let Some(service) = self.link.serve(now) else {
            self.stuck = 1;
            return None;
        };
        self.served = Some(Served {
            packet,
            service,
            left: Some(service.end),
        });
        Some(Fate::Served(packet, service, marked))
    }

    fn leave(&mut self, now: Time) -> Option<Served> {
        self.served.take_if(|served| served.service.end <= now)
    }

    fn in_service(&self) -> impl Iterator<Item = &Served> {
        self.served.iter()
    }

    fn len(&self) -> u64 {
        self.queue.waiting() + u64::from(self.served.is_some()) + self.stuck
    }

    fn is_exhausted(&self) -> bool {
        self.stuck > 0
    }

    fn usage(&self, end: Time) -> Usage {
        self.link.usage(end)
    }
}
