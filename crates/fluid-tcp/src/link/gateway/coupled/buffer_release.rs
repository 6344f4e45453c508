//! How long the queue of a coupled link holds a packet, and when it knows that one has arrived.

use std::cmp::Reverse;

use tmt_core::types::{Span, Time};

use super::super::Fate;
use super::packets::State;
use super::{CoupledLink, CoupledQueue, Hold, Tells};

/// What the queue makes of the link's feedback.
#[derive(Debug)]
pub(super) struct Feedback {
    rtt: Span,
    /// RTT + fb: from an attempt's last unit to its feedback.
    back: Span,
    hears_all: bool,
    hold: Hold,
    tells: Tells,
}

impl Feedback {
    pub(super) fn new(link: &CoupledLink, rtt: Span, tells: Tells) -> Self {
        Self {
            rtt,
            back: rtt.saturating_add(link.feedback_delay),
            hears_all: link.lost_feedback.is_none(),
            hold: link.hold,
            tells,
        }
    }

    /// Whether all feedback comes through.
    pub(super) fn hears_all(&self) -> bool {
        self.hears_all
    }

    /// Whether it is told when a packet is known to have arrived.
    pub(super) fn tells_whole(&self) -> bool {
        self.tells.whole
    }

    /// Whether anything depends on when a packet is known to have arrived: repeats that nobody needed are still told
    /// of by whose they are.
    pub(super) fn is_awaited(&self) -> bool {
        let repeats_on = self.tells.slots && !self.hears_all;
        self.tells.whole || self.hold == Hold::Acknowledged || repeats_on
    }
}

impl CoupledQueue {
    /// The last unit of a packet goes out for the first time, at `at`.
    pub(super) fn on_all_sent(&mut self, packet: u64, at: Time) {
        if self.feedback.hold == Hold::Sent {
            self.leave_at(packet, at);
        }
    }

    /// A packet was lost in the slot sent `at`.
    pub(super) fn on_lost(&mut self, packet: u64, at: Time) {
        let known = at.saturating_add(self.feedback.back);
        let Some(flight) = self.packets.get_mut(packet) else {
            return;
        };
        flight.awaited = false;
        let is_sent = flight.is_sent();
        match self.feedback.hold {
            Hold::Sent if is_sent => {}
            Hold::Sent => self.leave_at(packet, at),
            Hold::Acknowledged => self.leave_at(packet, known),
        }
    }

    /// Takes in which codewords the sender is done with.
    pub(super) fn take_acknowledged(&mut self) {
        let mut told = std::mem::take(&mut self.acknowledged);
        told.extend(self.machine.take_acknowledged());
        for told in told.drain(..) {
            let Some(packet) = self.packets.of(told.codeword) else {
                continue;
            };
            if let Some(flight) = self.packets.get_mut(packet) {
                flight.on_acknowledged(told.at);
                self.check_known(packet);
            }
        }
        self.acknowledged = told;
    }

    /// Looks whether the sender of a packet knows that it has arrived.
    pub(super) fn check_known(&mut self, packet: u64) {
        let feedback = &self.feedback;
        let Some(flight) = self.packets.get_mut(packet) else {
            return;
        };
        let State::Whole(arrival) = flight.state else {
            return;
        };
        let told = if feedback.hears_all {
            Some(flight.judged.saturating_add(feedback.back))
        } else {
            flight.acknowledged()
        };
        let Some(told) = told.filter(|_| flight.awaited) else {
            return;
        };
        // Feedback on what came last is sent when that is there.
        let known = told.max(arrival.saturating_add(feedback.rtt));
        flight.awaited = false;
        if feedback.tells.whole {
            self.fates.push_back(Fate::Whole(flight.queued, known));
        }
        if feedback.hold == Hold::Acknowledged {
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
        let hold = self.feedback.hold;
        let Some(flight) = self.packets.get_mut(number) else {
            return;
        };
        let Some(left) = flight.served.left.filter(|_| flight.told) else {
            return;
        };
        flight.departs = true;
        let departs = match flight.state {
            State::Lost(known) if hold == Hold::Sent => known,
            _ => left,
        };
        self.departing.insert((departs, number), flight.served);
    }
}
