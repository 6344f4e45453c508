//! Gateway: the queue and the link after it (docs/simulator.md, Sec. 4).
//!
//! Under drop-tail a departure is not an event. The service of a packet follows from the time at which it is accepted
//! and from the end of the previous service. `Gateway::pop_departed` returns the packets that have left by a given time;
//! at one instant, departures precede arrivals (docs/simulator.md, Sec. 10).

mod codel;
mod coupled;
mod drop_tail;
mod queue;

use tmt_core::types::{Span, Time};

use crate::link::{Service, SlotUse, Transmission, Usage};
use crate::named::Family;
use codel::CoDel;
pub use codel::ENTRY as CODEL;
pub use coupled::{CoupledLink, Hold, InOrder, LostFeedback, Tail};
pub(crate) use coupled::{CoupledQueue, QueueReporting};
pub(crate) use drop_tail::{DropTail, Leaving, Tallied};
pub(crate) use queue::QueuedLink;
pub use queue::{Dequeued, Discipline, Entry, Make, Queue};

/// Size of the queue's buffer (`--buffer`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// Number of packets, whatever their size.
    Packets(u64),
    /// Number of bytes, of which only whole packets count.
    Bytes(u64),
}

impl Buffer {
    /// Number of packets of `packet` bytes that fit into the buffer.
    #[must_use]
    pub fn packets(self, packet: u64) -> u64 {
        match self {
            Self::Packets(packets) => packets,
            Self::Bytes(bytes) => bytes.checked_div(packet).unwrap_or(0),
        }
    }
}

/// Registry of queue disciplines. To add one, write a file and a line here.
pub static ENTRIES: &[&Entry] = &[&drop_tail::ENTRY, &codel::ENTRY];

impl Family for Make {
    const KIND: &'static str = "queue";
    const ENTRIES: &'static [&'static Entry] = ENTRIES;
}

impl Discipline {
    /// Drops a packet if the buffer is full, and no other.
    pub const DROP_TAIL: Self = Self::plain(&drop_tail::ENTRY);

    /// Whether this is drop-tail, for which a run needs no departure events.
    #[must_use]
    pub fn is_drop_tail(&self) -> bool {
        std::ptr::eq(self.entry(), &raw const drop_tail::ENTRY)
    }

    /// Creates an empty CoDel queue if this is CoDel: calls of its methods are then static, a twelfth of a run.
    pub(crate) fn codel(&self) -> Option<CoDel> {
        let is_codel = std::ptr::eq(self.entry(), &raw const codel::ENTRY);
        is_codel.then(|| CoDel::of(self.values()))
    }

    /// Creates an empty queue of this discipline.
    #[must_use]
    pub fn queue(&self) -> Box<dyn Queue> {
        (self.entry().make)(self.values())
    }
}

impl Default for Discipline {
    fn default() -> Self {
        Self::DROP_TAIL
    }
}

/// Packet at the queue, with what the queue and the receiver need of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queued {
    /// Transmission that this is: flow, packet and number.
    pub transmission: Transmission,
    /// Time at which the sender sent it.
    pub sent: Time,
    /// Time at which it reached the queue.
    pub enqueued: Time,
    /// Whether it is ECN-capable: CoDel marks it instead of dropping it.
    pub capable: bool,
    /// Whether it carries CWR: the sender has cwr its window after an ECN-Echo.
    pub cwr: bool,
}

/// Fate of a packet at the gateway, reported as soon as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The packet is dropped on arrival or by the queue.
    Dropped(Queued),
    /// The link serves the packet; the flag says whether it has an ECN mark.
    Served(Queued, Service, bool),
    /// The gateway learns at this time that the link has delivered the packet. Reported only if
    /// [`QueueReporting::acknowledgements`] is set.
    Acknowledged(Queued, Time),
    /// The packet waits in the queue.
    Waiting,
}

/// Packet whose service has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) packet: Queued,
    pub(crate) service: Service,
    /// Time at which it leaves the buffer; `None` if that is not yet known.
    pub(crate) left: Option<Time>,
}

/// Packet whose service has begun, as far as a run needs it.
pub(crate) trait Departure: Copy + std::fmt::Debug {
    /// Whether packets are tallied as soon as their service is known, so that only their departure matters.
    const IS_TALLIED: bool = false;

    /// The packet with the service that it gets from a drop-tail queue.
    fn new(packet: &Queued, service: &Service) -> Self;

    /// Number of its transmission over all flows, from 0.
    fn ordinal(&self) -> u64;

    /// Number of its flow, from 0.
    fn flow(&self) -> usize;

    /// Time at which its service begins.
    fn start(&self) -> Time;

    /// How long it has waited for that in the queue.
    fn waited(&self) -> Span;

    /// Time at which its service ends.
    fn end(&self) -> Time;

    /// Time at which it leaves the buffer; `None` if that is not yet known.
    fn left(&self) -> Option<Time>;

    /// Whether the link loses it.
    fn is_lost(&self) -> bool;

    /// Everything about it, for a probe.
    fn details(&self) -> Option<&Served>;
}

impl Departure for Served {
    fn new(packet: &Queued, service: &Service) -> Self {
        Self {
            packet: *packet,
            service: *service,
            left: Some(service.end),
        }
    }

    fn ordinal(&self) -> u64 {
        self.packet.transmission.ordinal
    }

    fn flow(&self) -> usize {
        self.packet.transmission.flow
    }

    fn start(&self) -> Time {
        self.service.start
    }

    fn waited(&self) -> Span {
        self.service.start.since(self.packet.enqueued)
    }

    fn end(&self) -> Time {
        self.service.end
    }

    fn left(&self) -> Option<Time> {
        self.left
    }

    fn is_lost(&self) -> bool {
        self.service.arrival.is_none()
    }

    fn details(&self) -> Option<&Served> {
        Some(self)
    }
}

/// A queue with its link.
pub(crate) trait Gateway {
    /// What it keeps of the packets whose service has begun.
    type Departure: Departure;

    /// Whether packets of a flow cannot overtake each other.
    fn keeps_order(&self) -> bool {
        false
    }

    /// Accepts `packet` at `now` if there is free buffer space.
    fn enqueue(&mut self, now: Time, packet: Queued) -> Fate;

    /// Time of the next action that no arrival triggers; `None` if there is none.
    fn due(&self) -> Option<Time>;

    /// Performs one action that is due; `None` if there is none left.
    fn wake(&mut self, now: Time) -> Option<Fate>;

    /// Returns the next packet that has left the queue by `now` and whose fate is known, in that order.
    fn pop_departed(&mut self, now: Time) -> Option<Self::Departure>;

    /// Whether departures have to be processed before the next arrival, which else they cannot influence.
    fn departures_are_due(&self) -> bool {
        true
    }

    /// Removes all packets that [`Gateway::pop_departed`] would return, and calls `each` with each of them.
    #[inline]
    fn departed(&mut self, now: Time, mut each: impl FnMut(&Self::Departure)) {
        while let Some(served) = self.pop_departed(now) {
            each(&served);
        }
    }

    /// Returns the next slot used by `now`, each once; `None` if slots are not reported.
    fn pop_slot_use(&mut self, _now: Time) -> Option<SlotUse> {
        None
    }

    /// Packets in service, the next to leave first. Call `pop_departed` before.
    fn in_service(&self) -> impl Iterator<Item = &Self::Departure>;

    /// Packets in the buffer, the one in service included, as of the last call of `pop_departed`.
    fn len(&self) -> u64;

    /// Whether it reports [`Fate::Acknowledged`]. Otherwise a proxy derives the time from the packet's arrival.
    fn reports_acknowledgements(&self) -> bool {
        false
    }

    /// Whether the link has ended and will not serve another packet.
    fn is_exhausted(&self) -> bool;

    /// Use of the link until `end`.
    fn usage(&self, end: Time) -> Usage;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_in_bytes_holds_whole_packets() {
        assert_eq!(Buffer::Bytes(64_000).packets(1500), 42);
        assert_eq!(Buffer::Packets(7).packets(1500), 7);
    }

    #[test]
    fn a_discipline_is_displayed_as_it_is_parsed() {
        for text in ["drop-tail", "codel:target=20ms,interval=1s"] {
            assert_eq!(text.parse::<Discipline>().unwrap().to_string(), text);
        }
        assert_eq!(
            "codel".parse::<Discipline>().unwrap().to_string(),
            "codel:target=5ms,interval=100ms"
        );
        assert!("drop-tail".parse::<Discipline>().unwrap().is_drop_tail());
        for text in [
            "",
            "red",
            "codel:",
            "codel:target",
            "codel:target=0s",
            "codel:x=1",
            "codelx",
            "codel:target=1s,target=1s",
            "drop-tail:",
        ] {
            assert!(text.parse::<Discipline>().is_err(), "{text}");
        }
    }
}
