//! Losses on a hop that has none of its own.

use tmt_core::channel::Losses;
use tmt_core::types::Time;

use super::{Event, Hop};
use crate::link::Usage;
use crate::packet::Packet;

/// A hop whose packets may be lost after their service, each on air during it. A lost packet has used the hop.
///
/// ```
/// use tmt_core::Time;
/// use tmt_core::channel::{Losses, SlotChannel, Use};
/// use tmt_link::Packet;
/// use tmt_link::hop::{Delay, Event, Hop, Lossy};
///
/// let second: SlotChannel = "list:{1}".parse()?;
/// let mut hop = Lossy::new(Delay::new(Vec::new()), Losses::new(&second, 1, Use::Terrestrial));
/// let mut arrives = || match hop.push(Time::ZERO, Packet::default()) {
///     Some(Event::Served(_, service)) => service.arrival.is_some(),
///     other => panic!("{other:?}"),
/// };
/// assert_eq!([arrives(), arrives(), arrives()], [true, false, true]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lossy<H> {
    hop: H,
    losses: Losses,
}

impl<H: Hop> Lossy<H> {
    /// `hop` with these losses, which are decided in the order of service.
    #[must_use]
    pub const fn new(hop: H, losses: Losses) -> Self {
        Self { hop, losses }
    }

    fn decide(&mut self, event: Event) -> Event {
        let Event::Served(packet, mut service) = event else {
            return event;
        };
        let on_air = service.end.since(service.start);
        if self.losses.loses(service.start, on_air) {
            service.arrival = None;
        }
        Event::Served(packet, service)
    }
}

impl<H: Hop> Hop for Lossy<H> {
    fn name(&self) -> String {
        self.hop.name()
    }

    fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        let event = self.hop.push(now, packet)?;
        Some(self.decide(event))
    }

    fn poll(&mut self, now: Time) -> Option<Event> {
        let event = self.hop.poll(now)?;
        Some(self.decide(event))
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
