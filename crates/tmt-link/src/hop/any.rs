//! A hop of any kind as the gateway of a run.

use std::collections::BTreeMap;

use tmt_core::types::Time;

use super::{
    Attach, AttachError, Departure as _, Drive, Event, Gateway, GatewaySetup, Hop, Served,
};
use crate::link::Usage;
use crate::packet::Packet;

/// A hop that serves as the gateway of a run. It has its own queue: discipline and buffer of the setup do not apply. A packet
/// leaves it at the end of its service.
#[derive(Debug)]
pub struct AnyHop {
    hop: Box<dyn Hop>,
    /// Packets that it holds.
    held: u64,
    /// Packets whose service has begun, by the end of their service and their number.
    serving: BTreeMap<(Time, u64), Served>,
}

impl AnyHop {
    /// `hop` as a gateway.
    #[must_use]
    pub fn new(hop: Box<dyn Hop>) -> Self {
        Self {
            hop,
            held: 0,
            serving: BTreeMap::new(),
        }
    }

    fn note(&mut self, event: Event) -> Event {
        match event {
            Event::Refused(_) | Event::Dropped(_) => self.held = self.held.saturating_sub(1),
            Event::Served(packet, service) => {
                let served = Served::new(&packet, &service);
                self.serving.insert((service.end, packet.id), served);
            }
            Event::Acknowledged(..) | Event::Failed(_) => {}
        }
        event
    }
}

impl Hop for AnyHop {
    fn name(&self) -> String {
        self.hop.name()
    }

    fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        self.held += 1;
        let event = self.hop.push(now, packet)?;
        Some(self.note(event))
    }

    fn poll(&mut self, now: Time) -> Option<Event> {
        let event = self.hop.poll(now)?;
        Some(self.note(event))
    }

    fn due(&self) -> Option<Time> {
        self.hop.due()
    }

    fn has_ended(&self) -> bool {
        self.hop.has_ended()
    }

    fn usage(&self, end: Time) -> Usage {
        self.hop.usage(end)
    }
}

impl Gateway for AnyHop {
    type Departure = Served;

    fn departed(&mut self, now: Time, each: &mut dyn FnMut(&Served)) {
        while let Some(first) = self.serving.first_entry()
            && first.key().0 <= now
        {
            each(&first.remove());
            self.held = self.held.saturating_sub(1);
        }
    }

    fn in_service(&self) -> Box<dyn Iterator<Item = &Served> + '_> {
        Box::new(self.serving.values())
    }

    fn held(&self) -> u64 {
        self.held
    }

    fn stalled(&self) -> u64 {
        if self.hop.due().is_some() || self.hop.has_ended() {
            return 0;
        }
        self.held.saturating_sub(self.serving.len() as u64)
    }
}

impl Attach for AnyHop {
    fn attach<D: Drive>(self, _setup: &GatewaySetup, driver: D) -> Result<D::Output, AttachError> {
        Ok(driver.drive(self))
    }
}
