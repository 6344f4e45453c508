//! Parts of the delay of a packet, which add up to it exactly (docs/metrics.md, Sec. 4).

use serde::Serialize;
use tmt_core::types::{Span, Time};

use tmt_link::Service;

/// Delay of a delivered transmission, from sending to delivery, in four parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DelayParts {
    /// Propagation from the sender to the gateway and from the link to the receiver.
    #[serde(rename = "propagation_ns")]
    pub propagation: Span,
    /// From arrival at the gateway to the first bit, LLDU or slot on the link.
    #[serde(rename = "queue_ns")]
    pub queue: Span,
    /// From the first to the last bit, LLDU or slot of the first transmission on the link. Slots in between that carry
    /// something else are included.
    #[serde(rename = "serialisation_ns")]
    pub serialisation: Span,
    /// From then until the packet is complete, without propagation: decoding, waiting for repeats and FEC, and waiting for
    /// order. Zero on a synthetic link.
    #[serde(rename = "wait_ns")]
    pub wait: Span,
}

impl DelayParts {
    /// Parts of the delay of a packet that was sent at `sent` and reached the gateway at `enqueued`. `None` if the link
    /// lost it.
    #[expect(clippy::inline_always, reason = "else the service goes through memory")]
    #[inline(always)]
    #[must_use]
    pub fn of(sent: Time, enqueued: Time, service: &Service) -> Option<Self> {
        let arrival = service.arrival?;
        let propagation = service.propagation;
        // A packet may be complete before its last repair unit is sent.
        let complete = arrival.saturating_sub(propagation);
        let end = service.end.min(complete);
        Some(Self {
            propagation: enqueued.since(sent).saturating_add(propagation),
            queue: service.start.since(enqueued),
            serialisation: end.since(service.start),
            wait: complete.since(end),
        })
    }

    /// The parts in the order propagation, queue, serialisation, wait.
    #[must_use]
    pub fn all(self) -> [Span; 4] {
        [self.propagation, self.queue, self.serialisation, self.wait]
    }

    /// Sum of the parts: the delay of the transmission.
    #[must_use]
    pub fn total(self) -> Span {
        let parts = self.all().into_iter();
        parts.fold(Span::ZERO, Span::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    fn span(nanos: u64) -> Span {
        Span::from_nanos(nanos).unwrap()
    }

    #[test]
    fn the_parts_add_up_to_the_delay() {
        let service = Service {
            start: at(1_007),
            end: at(1_018),
            arrival: Some(at(3_041)),
            propagation: span(2_000),
            first_unit: 0,
            last_unit: 1,
        };
        let parts = DelayParts::of(at(1_000), at(1_002), &service).unwrap();
        assert_eq!(
            parts,
            DelayParts {
                propagation: span(2_002),
                queue: span(5),
                serialisation: span(11),
                wait: span(23),
            }
        );
        assert_eq!(parts.total(), span(2_041));
        let lost = Service {
            arrival: None,
            ..service
        };
        assert_eq!(DelayParts::of(at(1_000), at(1_002), &lost), None);
    }
}
