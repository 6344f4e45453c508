//! Delay without a queue: terrestrial paths between hosts and the gateway.

use tmt_core::types::{Span, Time};

use super::{Event, Hop};
use crate::link::Service;
use crate::packet::Packet;

/// Hop that delays the packets of each flow by a constant.
///
/// ```
/// use tmt_core::{Span, Time};
/// use tmt_link::Packet;
/// use tmt_link::hop::{Delay, Event, Hop};
///
/// let mut hop = Delay::new(vec![Span::from_millis(5), Span::from_millis(20)]);
/// let Some(Event::Served(_, service)) = hop.push(Time::ZERO, Packet { flow: 1, ..Packet::default() }) else {
///     return Err("a delay keeps no packet");
/// };
/// assert_eq!(service.arrival, Some(Time::ZERO.saturating_add(Span::from_millis(20))));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone)]
pub struct Delay(Vec<Span>);

impl Delay {
    /// Delays the packets of flow i by `delays[i]`, those of further flows not at all.
    #[must_use]
    pub const fn new(delays: Vec<Span>) -> Self {
        Self(delays)
    }
}

impl Hop for Delay {
    fn name(&self) -> String {
        "delay".to_owned()
    }

    #[inline]
    fn push(&mut self, now: Time, packet: Packet) -> Option<Event> {
        let delay = self.0.get(packet.flow as usize);
        let propagation = delay.copied().unwrap_or(Span::ZERO);
        let service = Service {
            start: now,
            end: now,
            // Past the largest time, a packet never arrives.
            arrival: Some(now.saturating_add(propagation)),
            propagation,
            first_unit: packet.id,
            last_unit: packet.id,
        };
        Some(Event::Served(packet, service))
    }

    fn poll(&mut self, _now: Time) -> Option<Event> {
        None
    }

    fn due(&self) -> Option<Time> {
        None
    }
}
