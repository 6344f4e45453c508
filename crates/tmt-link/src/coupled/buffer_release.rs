//! Release of packets from the buffer of a coupled link (`--hold`; docs/schemes.md, Sec. 10.5), and the times at which the
//! link's sender learns that they have arrived.

use std::cmp::Reverse;

use tmt_core::scheme::engine::Acknowledged;
use tmt_core::types::Time;

use super::packets::Outcome;
use super::{Hold, State};
use crate::hop::Event;

impl State {
    /// The last unit of a packet's first transmission is sent at `at`.
    pub(super) fn on_all_sent(&mut self, packet: u64, at: Time) {
        if self.hold == Hold::Sent {
            self.release_at(packet, at);
        }
    }

    /// A packet was lost in the slot sent `at`.
    pub(super) fn on_lost(&mut self, packet: u64, at: Time) {
        let Some(tracked) = self.packets.get_mut(packet) else {
            return;
        };
        tracked.ack_pending = false;
        match self.hold {
            Hold::Sent if tracked.unsent == 0 => {}
            Hold::Sent => self.release_at(packet, at),
            Hold::Acknowledged => self.release_at(packet, at.saturating_add(self.feedback_time)),
        }
    }

    /// The link's sender is done with a codeword.
    pub(super) fn on_acknowledged(&mut self, acknowledged: Acknowledged) {
        if let Some(packet) = self.packets.packet_of(acknowledged.codeword)
            && let Some(tracked) = self.packets.get_mut(packet)
        {
            tracked.acknowledged_at = tracked.acknowledged_at.max(acknowledged.at);
            tracked.unacknowledged -= 1;
            self.check_acknowledged(packet);
        }
    }

    /// Reports and releases a packet if the time at which the link's sender learns of its arrival is now known.
    pub(super) fn check_acknowledged(&mut self, packet: u64) {
        let Some(tracked) = self.packets.get_mut(packet) else {
            return;
        };
        let Outcome::Complete(arrival) = tracked.outcome else {
            return;
        };
        let feedback_at = if self.lossless_feedback {
            tracked.judged.saturating_add(self.feedback_time)
        } else {
            tracked.acknowledged_at
        };
        let open = tracked.unacknowledged > 0 && !self.lossless_feedback;
        if open || !tracked.ack_pending {
            return;
        }
        // Feedback on the last unit cannot be sent before that has arrived.
        let known = feedback_at.max(arrival.saturating_add(self.rtt));
        tracked.ack_pending = false;
        if self.reporting.acknowledgements {
            self.fates
                .push_back(Event::Acknowledged(tracked.served.packet, known));
        }
        if self.hold == Hold::Acknowledged {
            self.release_at(packet, known);
            self.depart(packet);
        }
        self.packets.remove_finished();
    }

    /// Schedules a packet to leave the buffer at `at`.
    fn release_at(&mut self, packet: u64, at: Time) {
        if let Some(tracked) = self.packets.get_mut(packet) {
            self.leaving.push(Reverse((at, tracked.served.packet.size)));
            tracked.served.left = Some(at);
        }
    }

    /// Adds a packet to the departures once its fate and the time at which it leaves are known.
    pub(super) fn depart(&mut self, number: u64) {
        if let Some(tracked) = self.packets.get_mut(number)
            && let Some(left) = tracked.served.left.filter(|_| tracked.reported)
        {
            tracked.in_departures = true;
            let departs = match tracked.outcome {
                Outcome::Lost(known) if self.hold == Hold::Sent => known,
                _ => left,
            };
            self.departing.insert((departs, number), tracked.served);
        }
    }
}
