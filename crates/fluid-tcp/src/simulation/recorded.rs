//! Losses of another run, repeated packet by packet, and the services of a link that repeats lost units.

mod services;

use std::collections::BTreeMap;
use std::sync::Arc;

use tmt_core::types::Time;
use tmt_link::hop::{Event, Gateway, Hop, Served};
use tmt_link::{Packet, Service, SlotUse, Usage};

pub(super) use services::RepeatedLink;
pub(crate) use services::{Order, RecordedService, RecordedServices};

/// Fates of the packets of a run that are known before. The link loses those of the list after it has served them, and no
/// others: a packet that the link itself would lose arrives when the link has given it up, or where that is not later, as if
/// it needed no decoding.
///
/// Packets are numbered from 0 in the order in which they arrive at the queue, retransmissions included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedLosses {
    dropped: Arc<[u64]>,
    lost: Arc<[u64]>,
    services: Option<RecordedServices>,
}

impl RecordedLosses {
    /// The losses of a run, in any order: packets that are dropped on their arrival at the queue, beside those that the queue
    /// drops by itself, and packets that are lost on the link. The latter are numbered among those that the queue does not drop.
    #[must_use]
    pub fn new(mut dropped: Vec<u64>, mut lost: Vec<u64>) -> Self {
        dropped.sort_unstable();
        lost.sort_unstable();
        Self {
            dropped: dropped.into(),
            lost: lost.into(),
            services: None,
        }
    }

    /// The same with the services of the run, which then replace those of the link.
    #[must_use]
    pub(crate) fn with_services(self, services: Option<RecordedServices>) -> Self {
        Self { services, ..self }
    }

    /// The services that replace those of the link, if they do.
    pub(super) fn services(&self) -> Option<&RecordedServices> {
        self.services.as_ref()
    }
}

/// A gateway whose packets get the recorded fates. A run without them has the gateway itself, which costs nothing.
#[derive(Debug)]
pub(super) struct Repeating<'a> {
    gateway: &'a mut dyn Gateway<Departure = Served>,
    losses: RecordedLosses,
    /// Packets that arrived at the queue, and those of them that it accepted.
    arrived: u64,
    accepted: u64,
    /// Numbers of accepted packets that the queue dropped later, rising.
    dropped: Vec<u64>,
    /// Numbers of the packets that are in the queue or in service, by their names.
    held: BTreeMap<u64, u64>,
    /// Arrivals of packets whose fate is not that of the link, until they have left the queue.
    changed: BTreeMap<u64, Option<Time>>,
}

impl<'a> Repeating<'a> {
    pub(super) fn new(
        gateway: &'a mut dyn Gateway<Departure = Served>,
        losses: RecordedLosses,
    ) -> Self {
        Self {
            gateway,
            losses,
            arrived: 0,
            accepted: 0,
            dropped: Vec::new(),
            held: BTreeMap::new(),
            changed: BTreeMap::new(),
        }
    }

    /// The event with the fate that is recorded.
    fn repeat(&mut self, now: Time, event: Event) -> Event {
        match event {
            Event::Served(packet, service) => {
                Event::Served(packet, self.service(now, &packet, service))
            }
            Event::Refused(packet) | Event::Dropped(packet) => {
                if let Some(number) = self.held.remove(&packet.id) {
                    let (Ok(place) | Err(place)) = self.dropped.binary_search(&number);
                    self.dropped.insert(place, number);
                }
                event
            }
            Event::Acknowledged(..) | Event::Failed(_) => event,
        }
    }

    /// The service of a packet, which is known `now`. All packets that the queue drops before it are known.
    fn service(&mut self, now: Time, packet: &Packet, service: Service) -> Service {
        let Some(number) = self.held.remove(&packet.id) else {
            return service;
        };
        let (Ok(before) | Err(before)) = self.dropped.binary_search(&number);
        let is_lost = self
            .losses
            .lost
            .binary_search(&(number - before as u64))
            .is_ok();
        let arrival = match service.arrival {
            _ if is_lost => None,
            None => Some(service.end.saturating_add(service.propagation).max(now)),
            arrives => arrives,
        };
        if arrival != service.arrival {
            self.changed.insert(packet.id, arrival);
        }
        Service { arrival, ..service }
    }
}

impl Hop for Repeating<'_> {
    fn name(&self) -> String {
        self.gateway.name()
    }

    fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        let number = self.arrived;
        self.arrived += 1;
        if self.losses.dropped.binary_search(&number).is_ok() {
            return Some(Event::Refused(packet));
        }
        self.held.insert(packet.id, self.accepted);
        self.accepted += 1;
        let event = self.gateway.push(now, packet)?;
        Some(self.repeat(now, event))
    }

    fn poll(&mut self, now: Time) -> Option<Event> {
        let event = self.gateway.poll(now)?;
        Some(self.repeat(now, event))
    }

    fn due(&self) -> Option<Time> {
        self.gateway.due()
    }

    fn has_ended(&self) -> bool {
        self.gateway.has_ended()
    }

    fn usage(&self, end: Time) -> Usage {
        self.gateway.usage(end)
    }
}

impl Gateway for Repeating<'_> {
    type Departure = Served;

    fn knows_ahead(&self) -> bool {
        self.gateway.knows_ahead()
    }

    fn wake(&mut self, now: Time) -> Option<Event> {
        let event = self.gateway.wake(now)?;
        Some(self.repeat(now, event))
    }

    fn departures_are_due(&self) -> bool {
        self.gateway.departures_are_due()
    }

    fn departed(&mut self, now: Time, each: &mut dyn FnMut(&Served)) {
        let changed = &mut self.changed;
        self.gateway.departed(now, &mut |served| {
            let arrival = changed.remove(&served.packet.id);
            let service = Service {
                arrival: arrival.unwrap_or(served.service.arrival),
                ..served.service
            };
            each(&Served { service, ..*served });
        });
    }

    fn in_service(&self) -> Box<dyn Iterator<Item = &Served> + '_> {
        self.gateway.in_service()
    }

    fn held(&self) -> u64 {
        self.gateway.held()
    }

    fn stalled(&self) -> u64 {
        self.gateway.stalled()
    }

    fn pop_slot_use(&mut self, now: Time) -> Option<SlotUse> {
        self.gateway.pop_slot_use(now)
    }

    fn reports_acknowledgements(&self) -> bool {
        self.gateway.reports_acknowledgements()
    }
}
