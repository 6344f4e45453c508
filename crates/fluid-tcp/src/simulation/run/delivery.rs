//! Packets on their way to the receiver. One exists per packet in flight, so its size is what limits speed: the event of a
//! packet that is tallied has 40 bytes, that of others 96.

use std::fmt::Debug;

use tmt_core::types::Time;
use tmt_link::Packet;
use tmt_link::hop::{Departure, Gateway, Served, Tallied};

use crate::endpoint::receiver::Segment;
use crate::endpoint::transmission::segment;
use crate::simulation::delay::DelayParts;

/// A packet on its way to the receiver.
pub(super) trait Delivery: Copy + Default + Debug {
    /// Writes a packet over another; these are the parts of its delay.
    fn write(&mut self, packet: &Packet, delay: &DelayParts);

    /// Number of its flow, from 0.
    fn flow(&self) -> usize;

    /// Its segment, as the receiver sees it.
    fn segment(&self) -> Segment;

    /// The packet and the parts of its delay; `None` if it is tallied, which only packets of TCP are.
    fn untallied(&self) -> Option<&(Packet, DelayParts)>;
}

/// Departures of a gateway, with the kind of delivery that a run stores for them.
pub(super) trait Form: Departure {
    /// Whether packets are tallied as soon as their service is known, so that only their departure matters.
    const IS_TALLIED: bool;

    /// Record of a packet that is served.
    type Delivery: Delivery;
}

/// Record of a packet that is served, in a run over gateway `G`.
pub(super) type DeliveryOf<G> = <<G as Gateway>::Departure as Form>::Delivery;

impl Form for Served {
    const IS_TALLIED: bool = false;
    type Delivery = (Packet, DelayParts);
}

impl Form for Tallied {
    const IS_TALLIED: bool = true;
    type Delivery = Expected;
}

/// A packet that is tallied when it arrives.
impl Delivery for (Packet, DelayParts) {
    #[inline]
    fn write(&mut self, packet: &Packet, delay: &DelayParts) {
        *self = (*packet, *delay);
    }

    #[inline]
    fn flow(&self) -> usize {
        self.0.flow as usize
    }

    #[inline]
    fn segment(&self) -> Segment {
        segment(&self.0)
    }

    #[inline]
    fn untallied(&self) -> Option<&(Packet, DelayParts)> {
        Some(self)
    }
}

/// A packet that was tallied when its service was known. Queues that tally mark nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Expected {
    number: u64,
    sent: Time,
    flow: u32,
    cwr: bool,
}

impl Delivery for Expected {
    #[inline]
    fn write(&mut self, packet: &Packet, _delay: &DelayParts) {
        let Segment {
            number, sent, cwr, ..
        } = segment(packet);
        *self = Self {
            number,
            sent,
            flow: packet.flow,
            cwr,
        };
    }

    #[inline]
    fn flow(&self) -> usize {
        self.flow as usize
    }

    #[inline]
    fn segment(&self) -> Segment {
        Segment {
            number: self.number,
            sent: self.sent,
            marked: false,
            cwr: self.cwr,
        }
    }

    #[inline]
    fn untallied(&self) -> Option<&(Packet, DelayParts)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_that_is_tallied_is_small() {
        let sizes = (size_of::<Expected>(), size_of::<(Packet, DelayParts)>());
        assert_eq!(sizes, (24, 88));
    }
}
