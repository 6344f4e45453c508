//! Packets on their way to the receiver, as far as a run has to remember them.
//!
//! There are as many as the link holds, and each is written and read once, so memory is time: the event of a packet that is
//! tallied has 40 bytes, that of others 96.

use std::fmt::Debug;

use tmt_core::types::Time;

use crate::endpoint::receiver::Packet;
use crate::link::Transmission;
use crate::link::gateway::{Departure, Gateway, Leaving, Queued, Served, Tallied};
use crate::simulation::delay::DelayParts;

/// A packet on its way to the receiver.
pub(super) trait Delivery: Copy + Default + Debug {
    /// Writes a packet over another; these are the parts of its delay.
    fn write(&mut self, packet: &Queued, delay: &DelayParts, marked: bool);

    /// Number of its flow, from 0.
    fn flow(&self) -> usize;

    /// What the receiver sees of it.
    fn packet(&self) -> Packet;

    /// Transmission that it is, and its delay; `None` if they are tallied.
    fn untallied(&self) -> Option<(Transmission, &DelayParts)>;
}

/// Departures of a gateway, with the kind of delivery that a run stores for them.
pub(super) trait Remembered: Departure {
    /// What is stored of a packet that is served.
    type Delivery: Delivery;
}

/// What a run over gateway `G` remembers.
pub(super) type DeliveryOf<G> = <<G as Gateway>::Departure as Remembered>::Delivery;

impl Remembered for Served {
    type Delivery = Whole;
}

impl Remembered for Leaving {
    type Delivery = Whole;
}

impl Remembered for Tallied {
    type Delivery = Known;
}

/// A packet that is tallied when it arrives.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Whole {
    transmission: Transmission,
    sent: Time,
    delay: DelayParts,
    marked: bool,
    cwr: bool,
}

impl Delivery for Whole {
    #[inline]
    fn write(&mut self, packet: &Queued, delay: &DelayParts, marked: bool) {
        self.transmission = packet.transmission;
        self.sent = packet.sent;
        self.delay = *delay;
        self.marked = marked;
        self.cwr = packet.cwr;
    }

    #[inline]
    fn flow(&self) -> usize {
        self.transmission.flow
    }

    #[inline]
    fn packet(&self) -> Packet {
        Packet {
            number: self.transmission.packet,
            sent: self.sent,
            marked: self.marked,
            cwr: self.cwr,
        }
    }

    #[inline]
    fn untallied(&self) -> Option<(Transmission, &DelayParts)> {
        Some((self.transmission, &self.delay))
    }
}

/// A packet that was tallied when its service was known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    number: u64,
    sent: Time,
    flow: u32,
    marked: bool,
    cwr: bool,
}

impl Delivery for Known {
    #[inline]
    fn write(&mut self, packet: &Queued, _delay: &DelayParts, marked: bool) {
        self.number = packet.transmission.packet;
        self.sent = packet.sent;
        self.flow = u32::try_from(packet.transmission.flow).unwrap_or(u32::MAX);
        self.marked = marked;
        self.cwr = packet.cwr;
    }

    #[inline]
    fn flow(&self) -> usize {
        self.flow as usize
    }

    #[inline]
    fn packet(&self) -> Packet {
        Packet {
            number: self.number,
            sent: self.sent,
            marked: self.marked,
            cwr: self.cwr,
        }
    }

    #[inline]
    fn untallied(&self) -> Option<(Transmission, &DelayParts)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_is_tallied_is_small() {
        assert_eq!((size_of::<Known>(), size_of::<Whole>()), (24, 80));
    }
}
