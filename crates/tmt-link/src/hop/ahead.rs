//! Drop-tail queue whose services are computed ahead: first in, first out, with the packet in service counted against the
//! buffer. Departures are no events, since the service of a packet follows from its arrival and the end of the one before.

use std::collections::VecDeque;

use tmt_core::types::{Bytes, Time};

use super::{Departure, Event, Gateway, Hop, HopError};
use crate::link::{Link, Usage};
use crate::packet::Packet;
use crate::queue::Buffer;

/// Gateway with a drop-tail queue. It computes the service of a packet when the packet arrives.
#[derive(Debug)]
pub struct Ahead<L, D> {
    link: L,
    buffer: Buffer,
    /// Packets that were accepted and have not left, in order of arrival.
    inside: VecDeque<D>,
    /// Sizes of these packets and their sum, if the buffer is measured in bytes.
    sizes: VecDeque<Bytes>,
    bytes: u64,
    /// Number of packets in `inside` from which on departures are due.
    due_from: usize,
    /// Packets that the link will not serve because it has ended.
    stuck: u64,
    /// End of the last service.
    free: Time,
}

/// Departures that wait for one another before they are processed together.
const BATCH: usize = 64;

impl<L: Link, D> Ahead<L, D> {
    /// A gateway with an empty buffer of this size before `link`.
    #[must_use]
    pub fn new(link: L, buffer: Buffer) -> Self {
        Self {
            link,
            buffer,
            inside: VecDeque::new(),
            sizes: VecDeque::new(),
            bytes: 0,
            due_from: 0,
            stuck: 0,
            free: Time::ZERO,
        }
    }

    /// Counts a packet of this size against a buffer that is measured in bytes. Returns whether it has room.
    #[cold]
    fn hold_bytes(&mut self, size: Bytes) -> bool {
        let has_room = self.buffer.has_room(0, self.bytes, size);
        if has_room {
            self.sizes.push_back(size);
            self.bytes += size.0;
        }
        has_room
    }
}

impl<L: Link, D: Departure> Hop for Ahead<L, D> {
    fn name(&self) -> String {
        "drop-tail queue".to_owned()
    }

    #[expect(
        clippy::inline_always,
        reason = "avoids copies of packet, service and event"
    )]
    #[inline(always)]
    fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        match self.buffer {
            Buffer::Packets(limit) if self.held() >= limit => return Some(Event::Refused(packet)),
            Buffer::Packets(_) => {}
            Buffer::Bytes(buffer) => {
                let size = packet.size;
                if !self.buffer.could_hold(size) {
                    return Some(Event::Failed(HopError::TooLarge { size, buffer }));
                }
                if !self.hold_bytes(size) {
                    return Some(Event::Refused(packet));
                }
            }
        }
        let at = now.max(self.free);
        let service = (self.stuck == 0).then(|| self.link.serve(at, &packet));
        let Some(service) = service.flatten() else {
            self.stuck += 1;
            self.due_from = 0;
            return None;
        };
        self.free = service.end;
        self.inside.push_back(D::new(&packet, &service));
        Some(Event::Served(packet, service))
    }

    fn poll(&mut self, _now: Time) -> Option<Event> {
        None
    }

    fn due(&self) -> Option<Time> {
        None
    }

    fn has_ended(&self) -> bool {
        self.stuck > 0
    }

    fn usage(&self, end: Time) -> Usage {
        self.link.usage(end)
    }
}

impl<L: Link, D: Departure> Gateway for Ahead<L, D> {
    type Departure = D;

    #[inline]
    fn knows_ahead(&self) -> bool {
        true
    }

    fn keeps_order(&self) -> bool {
        self.link.keeps_order()
    }

    #[inline]
    fn departures_are_due(&self) -> bool {
        self.inside.len() >= self.due_from
    }

    fn departed(&mut self, now: Time, each: &mut dyn FnMut(&D)) {
        let has_left = |packet: &D| packet.end() <= now;
        let mut gone = 0;
        // They leave in order, and unless they wait for one another, none or one leaves at a time.
        if self.inside.get(1).is_some_and(has_left) {
            gone = self.inside.partition_point(has_left);
            self.inside.range(..gone).for_each(each);
            self.inside.drain(..gone);
        } else if let Some(packet) = self.inside.front().filter(|packet| has_left(packet)) {
            gone = 1;
            each(packet);
            self.inside.pop_front();
        }
        match self.buffer {
            Buffer::Packets(limit) if self.link.keeps_order() && self.stuck == 0 => {
                let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                self.due_from = limit.min(self.inside.len() + BATCH);
            }
            Buffer::Packets(_) => {}
            Buffer::Bytes(_) => {
                let sizes = self.sizes.drain(..gone);
                self.bytes -= sizes.map(|size| size.0).sum::<u64>();
            }
        }
    }

    fn in_service(&self) -> Box<dyn Iterator<Item = &D> + '_> {
        Box::new(self.inside.iter())
    }

    fn held(&self) -> u64 {
        self.inside.len() as u64 + self.stuck
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tmt_core::types::{BitRate, Span};

    use super::*;
    use crate::hop::{Queued, Served};
    use crate::link::SyntheticLink;
    use crate::queue::Fifo;

    fn packet(id: u64, size: u64) -> Packet {
        Packet {
            id,
            size: Bytes(size),
            ..Packet::default()
        }
    }

    /// A link of one byte per second.
    fn link() -> SyntheticLink {
        SyntheticLink::new(BitRate(8), Bytes(1), Span::ZERO, None, Time::ZERO).unwrap()
    }

    #[test]
    fn the_packet_in_service_counts_and_leaves_at_its_end() {
        let mut queue = Ahead::<_, Served>::new(link(), Buffer::Packets(2));
        let at = |nanos| Time::from_nanos(nanos).unwrap();
        for (id, taken) in [(0, true), (1, true), (2, false)] {
            let event = queue.push(Time::ZERO, packet(id, 1)).unwrap();
            assert_eq!(matches!(event, Event::Served(..)), taken, "{event:?}");
        }
        let departed = |queue: &mut Ahead<_, Served>, now| {
            let mut gone = Vec::new();
            queue.departed(at(now), &mut |served| gone.push(served.packet.id));
            gone
        };
        assert_eq!(departed(&mut queue, 999_999_999), [0; 0]);
        assert_eq!(departed(&mut queue, 1_000_000_000), [0]);
        assert_eq!(queue.held(), 1);
        let Some(Event::Served(_, service)) = queue.push(at(1_000_000_000), packet(3, 1)) else {
            panic!("the buffer has space");
        };
        assert_eq!(service.start, at(2_000_000_000));
    }

    proptest! {
        /// Compares with the same discipline in [`Queued`], where departures are events: packets of different sizes, and
        /// buffers in packets and in bytes.
        #[test]
        fn services_are_the_same_with_and_without_events(
            arrivals in prop::collection::vec((0u64..3_000_000_000, 1u64..4), 1..200),
            buffer in prop_oneof![(1u64..6).prop_map(Buffer::Packets), (3u64..12).prop_map(Buffer::Bytes)],
        ) {
            let mut ahead = Ahead::<_, Served>::new(link(), buffer);
            let mut queued = Queued::new(link(), buffer, Box::<Fifo>::default());
            let (mut services, mut others) = (Vec::new(), Vec::new());
            let mut now = Time::ZERO;
            for (id, (gap, size)) in (0..).zip(arrivals) {
                now = now.saturating_add(Span::from_nanos(gap).unwrap());
                poll_until(&mut queued, now, &mut others);
                ahead.departed(now, &mut |served| assert!(served.service.end <= now));
                queued.departed(now, &mut |_| {});
                prop_assert_eq!(ahead.held(), queued.held());
                let event = ahead.push(now, packet(id, size)).unwrap();
                let other = queued.push(now, packet(id, size));
                let is_refused = matches!(other, Some(Event::Refused(_)));
                prop_assert_eq!(matches!(event, Event::Refused(_)), is_refused);
                services.extend(Some(event).filter(|event| matches!(event, Event::Served(..))));
                others.extend(std::iter::from_fn(|| queued.poll(now)));
            }
            poll_until(&mut queued, Time::MAX, &mut others);
            prop_assert_eq!(services, others);
        }
    }

    #[test]
    fn a_packet_larger_than_the_buffer_fails_the_hop() {
        let too_large = Some(Event::Failed(HopError::TooLarge {
            size: Bytes(4),
            buffer: 3,
        }));
        let mut ahead = Ahead::<_, Served>::new(link(), Buffer::Bytes(3));
        assert_eq!(ahead.push(Time::ZERO, packet(0, 4)), too_large);
        let mut queued = Queued::new(link(), Buffer::Bytes(3), Box::<Fifo>::default());
        assert_eq!(queued.push(Time::ZERO, packet(0, 4)), too_large);
    }

    /// Performs all actions of the queue that are due by `end`.
    fn poll_until(queue: &mut Queued<SyntheticLink, Fifo>, end: Time, events: &mut Vec<Event>) {
        while let Some(due) = queue.due().filter(|due| *due <= end) {
            events.extend(std::iter::from_fn(|| queue.poll(due)));
        }
    }
}
