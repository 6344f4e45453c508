//! Where the delay of a packet comes from: four parts that add up to it, to the nanosecond.

use serde::Serialize;
use tmt_core::types::{Span, Time};

use crate::link::Service;

/// The delay of a delivered copy, from its sending to its delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DelayParts {
    /// On the way at the speed of light: sender to queue, link to receiver.
    #[serde(rename = "propagation_ns")]
    pub propagation: Span,
    /// From the queue's end to the first bit, or the first LLDU, on the link.
    #[serde(rename = "queue_ns")]
    pub queue: Span,
    /// From the first to the last: on a timeline all LLDUs between them that are no packet's included.
    #[serde(rename = "serialisation_ns")]
    pub serialisation: Span,
    /// From the last bit, or LLDU, to the time the packet was whole, propagation left out: decoding, and the
    /// wait for what ARQ or FEC had to repair. Zero on a synthetic link.
    #[serde(rename = "wait_ns")]
    pub wait: Span,
}

impl DelayParts {
    /// The delay of a copy `sent` and `enqueued` then; none where the link lost it.
    #[must_use]
    pub fn of(sent: Time, enqueued: Time, service: &Service) -> Option<Self> {
        let arrival = service.arrival?;
        let propagation = service.propagation;
        // A packet may be whole before the last of its repair units has gone out.
        let whole = arrival.since(Time::ZERO).saturating_sub(propagation);
        let end = service.end.min(Time::ZERO.saturating_add(whole));
        Some(Self {
            propagation: enqueued.since(sent).saturating_add(propagation),
            queue: service.start.since(enqueued),
            serialisation: end.since(service.start),
            wait: arrival.since(end).saturating_sub(propagation),
        })
    }

    /// Propagation, queue, serialisation, wait.
    #[must_use]
    pub fn all(self) -> [Span; 4] {
        [self.propagation, self.queue, self.serialisation, self.wait]
    }

    /// Their sum.
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
    fn the_parts_are_the_gaps_between_the_times_and_add_up() {
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
