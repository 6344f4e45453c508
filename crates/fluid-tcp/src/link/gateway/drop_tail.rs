//! First in first out, drop-tail, the packet in service included.

use std::collections::VecDeque;

use tmt_core::types::Time;

use super::{Fate, Gateway, Queued, Served};
use crate::link::{Link, Usage};

/// A drop-tail queue of packets that all have the same size.
#[derive(Debug)]
pub(crate) struct DropTail<L> {
    link: L,
    capacity: u64,
    /// Packets taken in that have not left, in their order.
    inside: VecDeque<Served>,
    /// Packets that the link will never serve: it has come to its end.
    stuck: u64,
    /// When the last service ends.
    free: Time,
    exhausted: bool,
}

impl<L: Link> DropTail<L> {
    pub(crate) fn new(link: L, capacity: u64) -> Self {
        Self {
            link,
            capacity,
            inside: VecDeque::new(),
            stuck: 0,
            free: Time::ZERO,
            exhausted: false,
        }
    }
}

impl<L: Link> Gateway for DropTail<L> {
    fn offer(&mut self, now: Time, packet: Queued) -> Fate {
        if self.len() >= self.capacity {
            return Fate::Dropped(packet);
        }
        let service = if self.exhausted {
            None
        } else {
            self.link.serve(now.max(self.free))
        };
        let Some(service) = service else {
            self.exhausted = true;
            self.stuck += 1;
            return Fate::Waits;
        };
        self.free = service.end;
        self.inside.push_back(Served {
            copy: packet.copy,
            enqueued: packet.enqueued,
            service,
            left: Some(service.end),
        });
        Fate::Served(packet, service, false)
    }

    fn due(&self) -> Option<Time> {
        None
    }

    fn wake(&mut self, _now: Time) -> Option<Fate> {
        None
    }

    fn leave(&mut self, now: Time) -> Option<Served> {
        self.inside.pop_front_if(|first| first.service.end <= now)
    }

    fn in_service(&self) -> impl Iterator<Item = &Served> {
        self.inside.iter()
    }

    fn len(&self) -> u64 {
        self.inside.len() as u64 + self.stuck
    }

    fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    fn usage(&self, end: Time) -> Usage {
        self.link.usage(end)
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::{BitRate, Bytes, Span};

    use super::*;
    use crate::endpoint::sender::Why;
    use crate::link::{PacketCopy, SyntheticLink};

    fn packet(ordinal: u64) -> Queued {
        Queued {
            copy: PacketCopy {
                ordinal,
                flow: 0,
                packet: ordinal,
                copy: 1,
                why: Why::New,
            },
            sent: Time::ZERO,
            enqueued: Time::ZERO,
            capable: false,
            reduced: false,
        }
    }

    #[test]
    fn the_packet_in_service_counts_and_leaves_at_its_end() {
        // One packet a second.
        let link = SyntheticLink::new(BitRate(8), Bytes(1), Span::ZERO, None, Time::ZERO).unwrap();
        let mut queue = DropTail::new(link, 2);
        let at = |nanos| Time::from_nanos(nanos).unwrap();
        for (ordinal, taken) in [(0, true), (1, true), (2, false)] {
            let fate = queue.offer(Time::ZERO, packet(ordinal));
            assert_eq!(matches!(fate, Fate::Served(..)), taken, "{fate:?}");
        }
        assert_eq!(queue.leave(at(999_999_999)), None);
        assert_eq!(queue.leave(at(1_000_000_000)).unwrap().copy.ordinal, 0);
        assert_eq!((queue.leave(at(1_000_000_000)), queue.len()), (None, 1));
        let Fate::Served(_, service, _) = queue.offer(at(1_000_000_000), packet(3)) else {
            panic!("there is room");
        };
        assert_eq!(service.start, at(2_000_000_000));
    }
}
