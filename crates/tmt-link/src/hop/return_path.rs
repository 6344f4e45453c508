//! Return path of the ACKs: a rate, or a timeline of its own (`--return-trace`), with a queue before it, and losses. ACKs take
//! the LLDUs of a timeline as packets take those of a timeline link (docs/simulator.md, Sec. 2.1).

use std::collections::VecDeque;

use tmt_core::channel::Losses;
use tmt_core::stats::distribution::Distribution;
use tmt_core::types::{BitRate, Bytes, Span, Time, to_f64};

use super::access::{Demand, Requested};
use super::{Event, Hop};
use crate::link::{Link as _, Service, TimelineLink, Usage};
use crate::packet::Packet;
use crate::packing::Segmentation;
use crate::queue::Buffer;
use crate::timeline::Timeline;

/// Values up to which the waiting times are exact, and buckets above it.
const EXACT_WAITS: usize = 1 << 16;
const BUCKETS_OF_WAITS: usize = 1 << 13;

/// Timeline of a path beside the link, and what a packet takes of it.
#[derive(Debug, Clone)]
pub struct PathTrace {
    /// Its LLDUs.
    pub timeline: Timeline,
    /// Segmentation of packets; one needs at least 1 LLDU and no more than the timeline has.
    pub segmentation: Segmentation,
    /// Period with which the timeline is repeated; `None` if it is used once.
    pub period: Option<Span>,
}

/// Settings of the return path, shared by all flows. By default it has neither losses nor a queue.
#[derive(Debug, Clone, Default)]
pub struct ReturnPath {
    /// Process that loses ACKs, each on air while it is sent at the rate, or for an instant; they have used the path
    /// nevertheless.
    pub loss: Option<Losses>,
    /// Rate of the path; `None` for no limit.
    pub rate: Option<BitRate>,
    /// Rate that is assigned on request, beside [`Self::rate`], and the RTT of the link. Packets pushed then need a queue that is
    /// not the path's own ([`ReturnHop::demand`]).
    pub requested: Option<(Requested, Span)>,
    /// Timeline whose LLDUs the ACKs take, instead of a rate.
    pub trace: Option<PathTrace>,
    /// Buffer of the drop-tail queue before rate or timeline, the ACK in service included.
    pub buffer: Buffer,
}

impl ReturnPath {
    /// Largest rate on demand, the constant one included, and the time from a request to it; `None` without such a rate.
    #[must_use]
    pub fn on_request(&self) -> Option<(BitRate, Span)> {
        let (requested, rtt) = self.requested.as_ref()?;
        let constant = self.rate.map_or(0, |rate| rate.0);
        let most = BitRate(constant.saturating_add(requested.most.0));
        Some((most, requested.round_trip.unwrap_or(*rtt)))
    }

    /// Whether ACKs are neither lost nor wait.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.loss.is_none()
            && self.rate.is_none()
            && self.trace.is_none()
            && self.requested.is_none()
    }
}

/// Carrier of the ACKs.
#[derive(Debug)]
enum Carrier {
    /// Nothing that takes time.
    Free,
    Rate(BitRate),
    /// A rate that follows requests.
    Demand(Box<Demand>),
    /// `None` if the timeline is too short for one ACK or cannot be read.
    Trace(Option<Box<TimelineLink>>),
}

/// The return path as a hop, without propagation. It says at once when an ACK arrives, but on demand, where it accepts none: its
/// driver serves the packets with [`Self::demand`] and [`Self::finish`].
#[derive(Debug)]
pub struct ReturnHop {
    carrier: Carrier,
    loss: Option<Losses>,
    buffer: Buffer,
    begin: Time,
    /// End of the last service.
    free: Time,
    /// ACKs in the buffer: the end of the service and the size of each, and all their bytes.
    held: VecDeque<(Time, Bytes)>,
    bytes: u64,
    /// Sum of the times of service on a path with a rate.
    busy: Span,
    waits: Distribution,
}

impl ReturnHop {
    /// Return path of a run that starts at `begin`.
    #[must_use]
    pub fn new(path: &ReturnPath, begin: Time) -> Self {
        let on_request = path.requested.as_ref();
        let on_request = on_request.map(|(requested, rtt)| {
            let constant = path.rate.unwrap_or(BitRate(0));
            Box::new(Demand::new(constant, requested, *rtt, begin))
        });
        let carrier = match (&path.trace, path.rate) {
            _ if on_request.is_some() => on_request.map_or(Carrier::Free, Carrier::Demand),
            (Some(trace), _) => {
                let (timeline, period) = (trace.timeline.clone(), trace.period);
                let link =
                    TimelineLink::new(timeline, trace.segmentation, Span::ZERO, period, begin);
                Carrier::Trace(link.map(Box::new))
            }
            (None, Some(rate)) => Carrier::Rate(rate),
            (None, None) => Carrier::Free,
        };
        Self {
            carrier,
            loss: path.loss.clone(),
            buffer: path.buffer,
            begin,
            free: begin,
            held: VecDeque::new(),
            bytes: 0,
            busy: Span::ZERO,
            waits: Distribution::within(EXACT_WAITS, BUCKETS_OF_WAITS),
        }
    }

    /// Times that ACKs have waited for their service.
    #[must_use]
    pub fn waits(&self) -> &Distribution {
        &self.waits
    }

    /// Time from which on nothing is in service.
    #[must_use]
    pub fn free(&self) -> Time {
        self.free
    }

    /// The terminal, on a path whose rate follows requests.
    pub fn demand(&mut self) -> Option<&mut Demand> {
        match &mut self.carrier {
            Carrier::Demand(demand) => Some(demand),
            _ => None,
        }
    }

    /// A packet that had waited since `since` was served by a demand from `start` to `end`.
    pub fn finish(&mut self, packet: Packet, since: Time, (start, end): (Time, Time)) -> Event {
        self.waits.push(start.since(since));
        self.free = end;
        let mut service = Service {
            start,
            end,
            arrival: Some(end),
            propagation: Span::ZERO,
            first_unit: packet.id,
            last_unit: packet.id,
        };
        let losses = self.loss.as_mut();
        if losses.is_some_and(|losses| losses.loses(start, end.since(start))) {
            service.arrival = None;
        }
        Event::Served(packet, service)
    }

    /// As [`Hop::push`] of a packet that has waited since `since` in a queue that is not the path's own.
    pub fn push_late(&mut self, now: Time, since: Time, packet: Packet) -> Option<Event> {
        Some(self.offer(now, since, packet))
    }

    /// A packet that has waited since `since` meets the path at `now`.
    fn offer(&mut self, now: Time, since: Time, packet: Packet) -> Event {
        let serves = match self.carrier {
            Carrier::Free => true,
            Carrier::Demand(_) => false,
            Carrier::Rate(_) | Carrier::Trace(_) => self.has_room(now, packet.size),
        };
        if !serves {
            return Event::Refused(packet);
        }
        let start = now.max(self.free);
        let mut service = Service {
            start: now,
            end: now,
            arrival: Some(now),
            propagation: Span::ZERO,
            first_unit: packet.id,
            last_unit: packet.id,
        };
        match &mut self.carrier {
            Carrier::Free | Carrier::Demand(_) => {}
            Carrier::Rate(rate) => {
                // Past the largest time, an ACK never arrives.
                let on_air = rate.time_of_bit(u128::from(packet.size.0) * 8);
                let end = start.saturating_add(on_air.unwrap_or(Time::MAX).since(Time::ZERO));
                (service.start, service.end, service.arrival) = (start, end, Some(end));
                self.hold(since, packet.size, &service);
            }
            Carrier::Trace(link) => {
                let served = link.as_mut().and_then(|link| link.serve(start, &packet));
                service.arrival = served.and_then(|served| served.arrival);
                if let Some(served) = served {
                    self.hold(since, packet.size, &served);
                }
            }
        }
        let on_air = service.end.since(service.start);
        let losses = self.loss.as_mut();
        if losses.is_some_and(|losses| losses.loses(service.start, on_air)) {
            service.arrival = None;
        }
        Event::Served(packet, service)
    }

    /// Whether there is room for an ACK at `now`. Those whose service is over have left.
    fn has_room(&mut self, now: Time, size: Bytes) -> bool {
        while let Some((_, left)) = self.held.pop_front_if(|(end, _)| *end <= now) {
            self.bytes -= left.0;
        }
        self.buffer
            .has_room(self.held.len() as u64, self.bytes, size)
    }

    /// An ACK waits from `now` until the start of its service.
    fn hold(&mut self, now: Time, size: Bytes, service: &Service) {
        self.free = service.end;
        self.held.push_back((service.end, size));
        self.bytes += size.0;
        self.waits.push(service.start.since(now));
        self.busy = self.busy.saturating_add(service.end.since(service.start));
    }
}

impl Hop for ReturnHop {
    fn name(&self) -> String {
        "return path".to_owned()
    }

    fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        Some(self.offer(now, now, packet))
    }

    fn poll(&mut self, _now: Time) -> Option<Event> {
        None
    }

    fn due(&self) -> Option<Time> {
        None
    }

    fn usage(&self, end: Time) -> Usage {
        match &self.carrier {
            Carrier::Free | Carrier::Trace(None) => Usage::default(),
            Carrier::Demand(demand) => {
                let mut demand = demand.clone();
                demand.advance(end, |_| 0);
                Usage {
                    utilisation: demand.utilisation(),
                    ..Usage::default()
                }
            }
            Carrier::Trace(Some(link)) => link.usage(end),
            Carrier::Rate(_) => {
                // Service after the end is no use of the run.
                let later = self.free.since(end.max(self.begin)).as_nanos();
                let busy = self.busy.as_nanos().saturating_sub(later);
                let length = end.since(self.begin).as_nanos();
                Usage {
                    utilisation: (length > 0).then(|| to_f64(busy) / to_f64(length)),
                    ..Usage::default()
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use proptest::prelude::*;
    use tmt_core::types::Bytes;

    use super::*;
    use crate::packing::Packing;
    use crate::timeline::Builder;

    #[test]
    fn a_full_queue_refuses_acks_until_one_is_served() {
        // 8 kbps: an ACK of 50 B takes 50 ms.
        let path = ReturnPath {
            rate: Some(BitRate(8000)),
            buffer: Buffer::Bytes(120),
            ..ReturnPath::default()
        };
        let at = |millis| Time::ZERO.saturating_add(Span::from_millis(millis));
        let mut hop = ReturnHop::new(&path, Time::ZERO);
        let mut push = |millis| {
            let ack = Packet {
                size: Bytes(50),
                ..Packet::default()
            };
            match hop.push(at(millis), ack) {
                Some(Event::Served(_, service)) => service.arrival,
                _ => None,
            }
        };
        assert_eq!(
            [0, 0, 0].map(&mut push),
            [Some(at(50)), Some(at(100)), None]
        );
        assert_eq!([49, 50].map(&mut push), [None, Some(at(150))]);
        // Of 100 ms all, of 200 ms three in four.
        assert_eq!(hop.usage(at(100)).utilisation, Some(1.0));
        assert_eq!(hop.usage(at(200)).utilisation, Some(0.75));
        assert_eq!(hop.waits().max(), Some(Span::from_millis(50)));
    }

    proptest! {
        /// Compares with the rule applied to a list of bytes, or of whole LLDUs: an ACK takes the first free ones and needs
        /// all of them.
        #[test]
        fn acks_take_the_first_free_lldus(
            steps in prop::collection::vec((0u64..20, 0u64..60), 1..80),
            (size, room) in prop_oneof![(1usize..4, Just(1usize)), (1usize..60, 2usize..90)],
            waits in prop::collection::vec(prop_oneof![Just(0u64), 0u64..50], 1..60),
            begin in 0u64..100,
        ) {
            let segmentation = Packing::Bytes.segmentation(Bytes(size as u64), NonZeroU64::new(room as u64).unwrap());
            prop_assume!(segmentation.lldus() <= steps.len() as u64);
            let mut at = 0;
            let rows: Vec<(u64, u64)> = steps.iter().map(|(step, delay)| { at += step; (at, delay.saturating_sub(10)) }).collect();
            let mut builder = Builder::default();
            for &(at, delay) in &rows {
                builder.push(Time::from_nanos(at).unwrap(), Span::from_nanos(delay).unwrap(), None);
            }
            let rows: Vec<(u64, u64)> = rows.iter().flat_map(|row| std::iter::repeat_n(*row, room)).collect();
            let trace = PathTrace { timeline: builder.finish().into(), segmentation, period: None };
            let path = ReturnPath { trace: Some(trace), ..ReturnPath::default() };
            let mut link = ReturnHop::new(&path, Time::from_nanos(begin).unwrap());
            let (mut now, mut next) = (begin, 0);
            for wait in waits {
                now += wait;
                while next < rows.len() && rows[next].0 < now {
                    next += 1;
                }
                let taken = rows.get(next..next + size);
                let there = taken.and_then(|taken| {
                    let lost = taken.iter().any(|(_, delay)| *delay == 0);
                    let latest = taken.iter().map(|(at, delay)| at + delay).max();
                    latest.filter(|_| !lost)
                });
                next = if taken.is_some() { next + size } else { rows.len() };
                let ack = Packet { size: Bytes(size as u64), ..Packet::default() };
                let Some(Event::Served(_, service)) = link.push(Time::from_nanos(now).unwrap(), ack) else {
                    panic!("the return path keeps no packet");
                };
                prop_assert_eq!(service.arrival.map(Time::as_nanos), there);
            }
        }
    }
}
