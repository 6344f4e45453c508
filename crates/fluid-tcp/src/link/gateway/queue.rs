//! Queue disciplines: the trait, selection by name, and the gateway that serves a queue packet by packet.

use std::fmt;

use tmt_core::types::Time;

use super::{Fate, Gateway, Queued, Served};
use crate::link::{Link, Usage};
use crate::named::{self, Values};

/// Queue discipline: stores the packets that wait for the link and decides which to serve, mark or drop. The packet in
/// service is not in the queue.
pub trait Queue: fmt::Debug + Send {
    /// Adds a packet at `now`. The caller has checked that the buffer has space. Returns the packet if the discipline
    /// drops it nevertheless.
    fn enqueue(&mut self, now: Time, packet: Queued) -> Option<Queued>;

    /// Removes one packet when the link is free at `now`. After a drop the caller asks again, until a packet is served
    /// or the queue returns `None`.
    fn dequeue(&mut self, now: Time) -> Option<Dequeued>;

    /// Number of packets in the queue.
    fn waiting(&self) -> u64;
}

/// Packet removed from a queue, to be served or dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dequeued {
    /// The link serves this packet next.
    Serve {
        /// Packet to be served.
        packet: Queued,
        /// Whether it gets an ECN mark; only if it is [`Queued::capable`].
        marked: bool,
    },
    /// The queue drops this packet.
    Drop(Queued),
}

/// Constructor of an empty queue from the values of its entry's parameters.
pub type Make = fn(&Values) -> Box<dyn Queue>;

/// Registry entry of a queue discipline: name, parameters and constructor.
pub type Entry = named::Entry<Make>;

/// Queue discipline with its parameters, such as `codel:target=5ms,interval=100ms` (`--queue`). A packet that finds the
/// buffer full is always dropped.
///
/// ```
/// use fluid_tcp::link::gateway::{CODEL, Discipline};
/// use tmt_core::Span;
///
/// let codel = Discipline::new(&CODEL, [("target", Span::from_millis(50).into())])?;
/// assert_eq!(codel, "codel:target=50ms".parse()?);
/// assert!(Discipline::DROP_TAIL.is_drop_tail());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Discipline = named::Choice<Make>;

/// Gateway with any discipline. It serves one packet at a time; departures are events.
#[derive(Debug)]
pub(crate) struct QueuedLink<L, Q: ?Sized> {
    link: L,
    queue: Box<Q>,
    capacity: u64,
    served: Option<Served>,
    /// Packets that the link will not serve because it has ended.
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
    type Departure = Served;

    #[inline]
    fn enqueue(&mut self, now: Time, packet: Queued) -> Fate {
        if self.len() >= self.capacity {
            return Fate::Dropped(packet);
        }
        self.queue
            .enqueue(now, packet)
            .map_or(Fate::Waiting, Fate::Dropped)
    }

    fn due(&self) -> Option<Time> {
        if self.queue.waiting() == 0 || self.is_exhausted() {
            return None;
        }
        Some(self.served.map_or(Time::ZERO, |served| served.service.end))
    }

    fn wake(&mut self, now: Time) -> Option<Fate> {
        // `pop_departed` has to remove the previous packet first.
        if self.served.is_some() || self.is_exhausted() {
            return None;
        }
        let (packet, marked) = match self.queue.dequeue(now)? {
            Dequeued::Serve { packet, marked } => (packet, marked),
            Dequeued::Drop(packet) => return Some(Fate::Dropped(packet)),
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

    fn pop_departed(&mut self, now: Time) -> Option<Served> {
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
