//! Services of another run, repeated by the numbers of the packets.
//!
//! Where a link repeats lost units and keeps the order, a single erased slot may stop the stream for a round trip, and which
//! packets it stops depends on the slots that each packet takes. A run whose packets come a slot earlier would be stopped as often, but
//! at other packets, so that its slow start would end elsewhere. So the n-th packet gets the service of the n-th of the recorded run: the slots that went
//! to repeats before it, the time that its own slots took, and the time until its codewords were decoded.

use std::collections::BTreeMap;
use std::sync::Arc;

use tmt_core::types::{Span, Time};
use tmt_link::{Link, Packet, Service, Usage};

/// The service of a packet, by times that do not depend on when it is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RecordedService {
    /// Time from the instant at which the packet could have been served until its service began: up to the next slot, with the
    /// repeats of others in between.
    pub(crate) pause: Span,
    /// Length of the service.
    pub(crate) length: Span,
    /// Time from the start of the service until the packet was decoded; its length if the order of delivery held it longer.
    pub(crate) decoding: Span,
    /// First and last unit of capacity that it used.
    pub(crate) units: (u64, u64),
}

/// The services of a run in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RecordedServices {
    services: Arc<[RecordedService]>,
    order: Option<Order>,
}

/// Among which packets a link keeps the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// All.
    Link,
    /// Those of a flow.
    Flow,
}

impl Order {
    /// The key of the packets that are in one order with those of `flow`.
    pub(crate) fn key(self, flow: u64) -> u64 {
        match self {
            Self::Link => 0,
            Self::Flow => flow,
        }
    }
}

impl RecordedServices {
    pub(crate) fn new(services: Vec<RecordedService>, order: Option<Order>) -> Self {
        Self {
            services: services.into(),
            order,
        }
    }
}

/// A link with these services. It loses nothing, and never ends: after the last service all are as long as the shortest, without a
/// repeat.
#[derive(Debug)]
pub(in crate::simulation) struct RepeatedLink {
    services: RecordedServices,
    propagation: Span,
    served: usize,
    /// Latest delivery in each order.
    latest: BTreeMap<u64, Time>,
}

impl RepeatedLink {
    pub(in crate::simulation) fn new(services: RecordedServices, propagation: Span) -> Self {
        Self {
            services,
            propagation,
            served: 0,
            latest: BTreeMap::new(),
        }
    }

    fn next(&mut self) -> RecordedService {
        let services = &self.services.services;
        let recorded = services.get(self.served).copied();
        self.served += 1;
        recorded.unwrap_or_else(|| {
            let shortest = services.iter().min_by_key(|service| service.length);
            let shortest = shortest.copied().unwrap_or_default();
            RecordedService {
                pause: Span::ZERO,
                decoding: shortest.length,
                ..shortest
            }
        })
    }
}

impl Link for RepeatedLink {
    fn serve(&mut self, at: Time, packet: &Packet) -> Option<Service> {
        let recorded = self.next();
        let start = at.saturating_add(recorded.pause);
        let end = start.saturating_add(recorded.length);
        let decoded = start
            .saturating_add(self.propagation)
            .saturating_add(recorded.decoding);
        let arrival = self.services.order.map_or(decoded, |order| {
            let latest = self.latest.entry(order.key(packet.flow.into()));
            *latest
                .and_modify(|latest| *latest = decoded.max(*latest))
                .or_insert(decoded)
        });
        Some(Service {
            start,
            end,
            arrival: Some(arrival),
            propagation: self.propagation,
            first_unit: recorded.units.0,
            last_unit: recorded.units.1,
        })
    }

    fn usage(&self, _end: Time) -> Usage {
        Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u32) -> Span {
        Span::from_millis(millis)
    }

    fn at(millis: u32) -> Time {
        Time::ZERO.saturating_add(ms(millis))
    }

    /// Three packets of 2 ms: the first is decoded after a repeat, 100 ms late; the third begins 5 ms after the second.
    fn services(order: Option<Order>) -> RepeatedLink {
        let recorded = [(1, 102), (0, 2), (5, 2)];
        let recorded = recorded.map(|(pause, decoding)| RecordedService {
            pause: ms(pause),
            length: ms(2),
            decoding: ms(decoding),
            units: (0, 0),
        });
        RepeatedLink::new(RecordedServices::new(recorded.into(), order), ms(10))
    }

    /// Start, end and arrival of four packets of the flows 0, 1, 0, 0 that are served at `begin` and one after another, ms.
    fn run(order: Option<Order>, begin: u32) -> Vec<(u64, u64, u64)> {
        let (mut link, mut free) = (services(order), at(begin));
        let flows = [0, 1, 0, 0];
        let served = flows.map(|flow| {
            let packet = Packet {
                flow,
                ..Packet::default()
            };
            let service = link.serve(free, &packet).unwrap();
            free = service.end;
            [service.start, service.end, service.arrival.unwrap()]
                .map(|time| time.as_nanos() / 1_000_000 - u64::from(begin))
        });
        served
            .map(|[start, end, arrival]| (start, end, arrival))
            .into()
    }

    #[test]
    fn repeats_stop_the_same_packets_whenever_they_are_served() {
        for begin in [0, 7, 500] {
            let in_order = [(1, 3, 113), (3, 5, 113), (10, 12, 113), (12, 14, 113)];
            assert_eq!(run(Some(Order::Link), begin), in_order);
            let by_flow = [(1, 3, 113), (3, 5, 15), (10, 12, 113), (12, 14, 113)];
            assert_eq!(run(Some(Order::Flow), begin), by_flow);
            let without = [(1, 3, 113), (3, 5, 15), (10, 12, 22), (12, 14, 24)];
            assert_eq!(run(None, begin), without);
        }
    }
}
