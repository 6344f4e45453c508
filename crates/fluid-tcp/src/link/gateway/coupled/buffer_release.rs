//! How long the queue of a coupled link holds a packet, and when it knows that one has arrived.

use std::cmp::Reverse;

use tmt_core::types::Time;

use super::super::Fate;
use super::packets::Outcome;
use super::{CoupledQueue, Hold};

impl CoupledQueue {
    /// The last unit of a packet goes out for the first time, at `at`.
    pub(super) fn on_all_sent(&mut self, packet: u64, at: Time) {
        if self.hold == Hold::Sent {
            self.leave_at(packet, at);
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
            Hold::Sent => self.leave_at(packet, at),
            Hold::Acknowledged => self.leave_at(packet, at.saturating_add(self.feedback_time)),
        }
    }

    /// Takes in which codewords the sender is done with.
    pub(super) fn take_acknowledged(&mut self) {
        let told: Vec<_> = self.machine.take_acknowledged().collect();
        for told in told {
            if let Some(packet) = self.packets.packet_of(told.codeword)
                && let Some(tracked) = self.packets.get_mut(packet)
            {
                tracked.acknowledged_at = tracked.acknowledged_at.max(told.at);
                tracked.unacknowledged -= 1;
                self.check_acknowledged(packet);
            }
        }
    }

    /// Looks whether the sender of a packet knows that it has arrived.
    pub(super) fn check_acknowledged(&mut self, packet: u64) {
        let Some(tracked) = self.packets.get_mut(packet) else {
            return;
        };
        let Outcome::Complete(arrival) = tracked.outcome else {
            return;
        };
        let told = if self.lossless_feedback {
            tracked.judged.saturating_add(self.feedback_time)
        } else {
            tracked.acknowledged_at
        };
        let open = tracked.unacknowledged > 0 && !self.lossless_feedback;
        if open || !tracked.ack_pending {
            return;
        }
        // Feedback on what came last is sent when that is there.
        let known = told.max(arrival.saturating_add(self.rtt));
        tracked.ack_pending = false;
        if self.reporting.acknowledgements {
            self.fates
                .push_back(Fate::Acknowledged(tracked.served.packet, known));
        }
        if self.hold == Hold::Acknowledged {
            self.leave_at(packet, known);
            self.depart(packet);
        }
        self.packets.remove_finished();
    }

    /// A packet leaves the queue then.
    fn leave_at(&mut self, packet: u64, at: Time) {
        self.leaving.push(Reverse(at));
        if let Some(tracked) = self.packets.get_mut(packet) {
            tracked.served.left = Some(at);
        }
    }

    /// Lists a packet among those that depart, once its fate and its leave are known.
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
