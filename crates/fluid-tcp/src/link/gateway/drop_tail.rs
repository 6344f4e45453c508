//! Drop-tail queue: first in first out, with the packet in service counted against the buffer.

use std::collections::VecDeque;

use tmt_core::types::{Span, Time};

use super::queue::{Dequeued, Entry, Queue};
use super::{Departure, Fate, Gateway, Queued, Served};
use crate::link::{Link, Service, Usage};

pub(super) static ENTRY: Entry = Entry {
    name: "drop-tail",
    about: "drops a packet if the buffer is full",
    parameters: &[],
    examples: &["drop-tail"],
    make: |_| Box::new(Fifo(VecDeque::new())),
};

/// Drop-tail as a [`Queue`]. A run uses [`DropTail`] instead, which needs no events.
#[derive(Debug)]
struct Fifo(VecDeque<Queued>);

impl Queue for Fifo {
    fn enqueue(&mut self, _now: Time, packet: Queued) -> Option<Queued> {
        self.0.push_back(packet);
        None
    }

    fn dequeue(&mut self, _now: Time) -> Option<Dequeued> {
        let packet = self.0.pop_front()?;
        Some(Dequeued::Serve {
            packet,
            marked: false,
        })
    }

    fn waiting(&self) -> u64 {
        self.0.len() as u64
    }
}

/// Gateway with a drop-tail queue. It computes a packet's service when the packet arrives.
#[derive(Debug)]
pub(crate) struct DropTail<L, D> {
    link: L,
    capacity: u64,
    /// Packets that were accepted and have not left, in order of arrival.
    inside: VecDeque<D>,
    /// Number of packets in `inside` from which on departures are due.
    many: usize,
    /// Packets that the link will not serve because it has ended.
    stuck: u64,
    /// End of the last service.
    free: Time,
}

/// Departures that wait for one another before they are processed together.
const BATCH: usize = 64;

/// What a run without a probe needs of a packet whose service has begun: a third of [`Served`], so that a full queue fits
/// into the first cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaving {
    ordinal: u64,
    start: Time,
    end: Time,
    waited: Span,
    flow: u32,
    is_lost: bool,
}

impl Departure for Leaving {
    #[inline]
    fn new(packet: &Queued, service: &Service) -> Self {
        Self {
            ordinal: packet.transmission.ordinal,
            start: service.start,
            end: service.end,
            waited: service.start.since(packet.enqueued),
            flow: u32::try_from(packet.transmission.flow).unwrap_or(u32::MAX),
            is_lost: service.arrival.is_none(),
        }
    }

    fn ordinal(&self) -> u64 {
        self.ordinal
    }

    fn flow(&self) -> usize {
        self.flow as usize
    }

    fn start(&self) -> Time {
        self.start
    }

    fn waited(&self) -> Span {
        self.waited
    }

    #[inline]
    fn end(&self) -> Time {
        self.end
    }

    fn left(&self) -> Option<Time> {
        Some(self.end)
    }

    fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn details(&self) -> Option<&Served> {
        None
    }
}

/// A packet that is tallied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tallied {
    end: Time,
}

impl Departure for Tallied {
    const IS_TALLIED: bool = true;

    #[inline]
    fn new(_packet: &Queued, service: &Service) -> Self {
        Self { end: service.end }
    }

    fn ordinal(&self) -> u64 {
        0
    }

    fn flow(&self) -> usize {
        0
    }

    fn start(&self) -> Time {
        self.end
    }

    fn waited(&self) -> Span {
        Span::ZERO
    }

    #[inline]
    fn end(&self) -> Time {
        self.end
    }

    fn left(&self) -> Option<Time> {
        Some(self.end)
    }

    fn is_lost(&self) -> bool {
        false
    }

    fn details(&self) -> Option<&Served> {
        None
    }
}

impl<L: Link, D> DropTail<L, D> {
    pub(crate) fn new(link: L, capacity: u64) -> Self {
        Self {
            link,
            capacity,
            inside: VecDeque::new(),
            many: 0,
            stuck: 0,
            free: Time::ZERO,
        }
    }
}

impl<L: Link, D: Departure> Gateway for DropTail<L, D> {
    type Departure = D;

    fn keeps_order(&self) -> bool {
        self.link.keeps_order()
    }

    #[expect(
        clippy::inline_always,
        reason = "avoids copies of packet, service and fate"
    )]
    #[inline(always)]
    fn enqueue(&mut self, now: Time, packet: Queued) -> Fate {
        if self.len() >= self.capacity {
            return Fate::Dropped(packet);
        }
        let at = now.max(self.free);
        let service = (self.stuck == 0).then(|| self.link.serve(at)).flatten();
        let Some(service) = service else {
            self.stuck += 1;
            self.many = 0;
            return Fate::Waiting;
        };
        self.free = service.end;
        self.inside.push_back(D::new(&packet, &service));
        Fate::Served(packet, service, false)
    }

    fn due(&self) -> Option<Time> {
        None
    }

    fn wake(&mut self, _now: Time) -> Option<Fate> {
        None
    }

    #[inline]
    fn pop_departed(&mut self, now: Time) -> Option<D> {
        self.inside.pop_front_if(|first| first.end() <= now)
    }

    #[inline]
    fn departures_are_due(&self) -> bool {
        self.inside.len() >= self.many
    }

    fn departed(&mut self, now: Time, each: impl FnMut(&D)) {
        let gone = self.inside.iter().take_while(|packet| packet.end() <= now);
        let gone = gone.count();
        self.inside.range(..gone).for_each(each);
        self.inside.drain(..gone);
        if self.link.keeps_order() && self.stuck == 0 {
            let capacity = usize::try_from(self.capacity).unwrap_or(usize::MAX);
            self.many = capacity.min(self.inside.len() + BATCH);
        }
    }

    fn in_service(&self) -> impl Iterator<Item = &D> {
        self.inside.iter()
    }

    fn len(&self) -> u64 {
        self.inside.len() as u64 + self.stuck
    }

    fn is_exhausted(&self) -> bool {
        self.stuck > 0
    }

    fn usage(&self, end: Time) -> Usage {
        self.link.usage(end)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tmt_core::types::{BitRate, Bytes, Span};

    use super::super::QueuedLink;
    use super::*;
    use crate::endpoint::sender::TransmissionReason;
    use crate::link::{SyntheticLink, Transmission};

    fn packet(ordinal: u64) -> Queued {
        Queued {
            transmission: Transmission {
                ordinal,
                flow: 0,
                packet: ordinal,
                copy: 1,
                why: TransmissionReason::New,
            },
            sent: Time::ZERO,
            enqueued: Time::ZERO,
            capable: false,
            cwr: false,
        }
    }

    #[test]
    fn the_packet_in_service_counts_and_leaves_at_its_end() {
        // One packet per second.
        let link = SyntheticLink::new(BitRate(8), Bytes(1), Span::ZERO, None, Time::ZERO).unwrap();
        let mut queue = DropTail::<_, Served>::new(link, 2);
        let at = |nanos| Time::from_nanos(nanos).unwrap();
        for (ordinal, taken) in [(0, true), (1, true), (2, false)] {
            let fate = queue.enqueue(Time::ZERO, packet(ordinal));
            assert_eq!(matches!(fate, Fate::Served(..)), taken, "{fate:?}");
        }
        assert_eq!(queue.pop_departed(at(999_999_999)), None);
        assert_eq!(
            queue
                .pop_departed(at(1_000_000_000))
                .unwrap()
                .packet
                .transmission
                .ordinal,
            0
        );
        assert_eq!(
            (queue.pop_departed(at(1_000_000_000)), queue.len()),
            (None, 1)
        );
        let Fate::Served(_, service, _) = queue.enqueue(at(1_000_000_000), packet(3)) else {
            panic!("the buffer has space");
        };
        assert_eq!(service.start, at(2_000_000_000));
    }

    proptest! {
        /// Compares with the same discipline in [`QueuedLink`], where departures are events.
        #[test]
        fn services_are_the_same_with_and_without_events(
            gaps in prop::collection::vec(0u64..3_000_000_000, 1..200),
            capacity in 1u64..6,
        ) {
            let link = || SyntheticLink::new(BitRate(8), Bytes(1), Span::ZERO, None, Time::ZERO).unwrap();
            let mut short = DropTail::<_, Served>::new(link(), capacity);
            let mut long = QueuedLink::new(link(), capacity, Box::new(Fifo(VecDeque::new())));
            let (mut services, mut others) = (Vec::new(), Vec::new());
            let mut now = Time::ZERO;
            for (ordinal, gap) in (0..).zip(gaps) {
                now = now.saturating_add(Span::from_nanos(gap).unwrap());
                serve_until(&mut long, now, &mut others);
                short.departed(now, |served| assert!(served.service.end <= now));
                long.pop_departed(now);
                let fate = short.enqueue(now, packet(ordinal));
                let other = long.enqueue(now, packet(ordinal));
                prop_assert_eq!(matches!(fate, Fate::Dropped(_)), matches!(other, Fate::Dropped(_)));
                services.extend(Some(fate).filter(|fate| matches!(fate, Fate::Served(..))));
                others.extend(std::iter::from_fn(|| long.wake(now)));
            }
            serve_until(&mut long, Time::MAX, &mut others);
            prop_assert_eq!(services, others);
        }
    }

    /// Performs all actions of the queue that are due by `end`.
    fn serve_until(queue: &mut QueuedLink<SyntheticLink, Fifo>, end: Time, fates: &mut Vec<Fate>) {
        while let Some(due) = queue.due().filter(|due| *due <= end) {
            queue.pop_departed(due);
            fates.extend(std::iter::from_fn(|| queue.wake(due)));
        }
    }
}
