//! How long the queue of a coupled link holds a packet, and when it knows that one has arrived.

use std::cmp::Reverse;

use tmt_core::types::Time;

use super::super::Fate;
use super::packets::State;
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
        let Some(flight) = self.packets.get_mut(packet) else {
            return;
        };
        flight.awaited = false;
        match self.hold {
            Hold::Sent if flight.unsent == 0 => {}
            Hold::Sent => self.leave_at(packet, at),
            Hold::Acknowledged => self.leave_at(packet, at.saturating_add(self.back)),
        }
    }

    /// Takes in which codewords the sender is done with.
    pub(super) fn take_acknowledged(&mut self) {
        let told: Vec<_> = self.engine.take_acknowledged().collect();
        for told in told {
            if let Some(packet) = self.packets.of(told.codeword)
                && let Some(flight) = self.packets.get_mut(packet)
            {
                flight.heard = flight.heard.max(told.at);
                flight.unheard -= 1;
                self.check_known(packet);
            }
        }
    }

    /// Looks whether the sender of a packet knows that it has arrived.
    pub(super) fn check_known(&mut self, packet: u64) {
        let Some(flight) = self.packets.get_mut(packet) else {
            return;
        };
        let State::Whole(arrival) = flight.state else {
            return;
        };
        let told = if self.hears_all {
            flight.judged.saturating_add(self.back)
        } else {
            flight.heard
        };
        let open = flight.unheard > 0 && !self.hears_all;
        if open || !flight.awaited {
            return;
        }
        // Feedback on what came last is sent when that is there.
        let known = told.max(arrival.saturating_add(self.rtt));
        flight.awaited = false;
        if self.tells.whole {
            self.fates
                .push_back(Fate::Whole(flight.served.packet, known));
        }
        if self.hold == Hold::Acknowledged {
            self.leave_at(packet, known);
            self.depart(packet);
        }
        self.packets.forget();
    }

    /// A packet leaves the queue then.
    fn leave_at(&mut self, packet: u64, at: Time) {
        self.leaving.push(Reverse(at));
        if let Some(flight) = self.packets.get_mut(packet) {
            flight.served.left = Some(at);
        }
    }

    /// Lists a packet among those that depart, once its fate and its leave are known.
    pub(super) fn depart(&mut self, number: u64) {
        if let Some(flight) = self.packets.get_mut(number)
            && let Some(left) = flight.served.left.filter(|_| flight.told)
        {
            flight.departs = true;
            let departs = match flight.state {
                State::Lost(known) if self.hold == Hold::Sent => known,
                _ => left,
            };
            self.departing.insert((departs, number), flight.served);
        }
    }
}
