//! Packets of a coupled link, from the queue to their fate. They are the unit source of the engine.

use std::collections::VecDeque;
use std::ops::Range;

use tmt_core::scheme::engine::{Code, Ideal};
use tmt_core::types::{Span, Time};

use super::link::{CoupledLink, Shape};
use crate::hop::Served;
use crate::link::Service;
use crate::packet::Packet;

/// Outcome of a packet so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Neither complete nor lost.
    Open,
    /// A codeword failed in the slot sent at this time.
    Lost(Time),
    /// All LLDUs are delivered; the latest arrival among them, without propagation.
    Complete(Time),
}

/// A packet that the queue has accepted.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "events in the life of a packet, in any order"
)]
pub(super) struct TrackedPacket {
    /// Number of its first codeword, and number of its codewords.
    first: u64,
    codewords: u64,
    /// Codewords that the engine has taken.
    taken: u64,
    /// Data units that the engine has not taken.
    untaken: u32,
    /// Units of the first transmission that have not been sent.
    pub(super) unsent: u64,
    /// Data units whose LLDUs are not settled.
    unsettled: u32,
    /// Latest arrival of the settled LLDUs, without propagation.
    arrival: Time,
    /// Whether its first unit has been sent.
    pub(super) begun: bool,
    pub(super) served: Served,
    pub(super) outcome: Outcome,
    /// Time of the last unit sent, or of the last attempt that was judged.
    pub(super) judged: Time,
    /// Codewords that the link's sender is not yet done with (docs/schemes.md, Sec. 10.6).
    pub(super) unacknowledged: u64,
    /// Latest time at which it was done with one of the others.
    pub(super) acknowledged_at: Time,
    /// Whether the time at which the link's sender learns of the arrival is needed and not yet known.
    pub(super) ack_pending: bool,
    /// Whether its fate has been reported.
    pub(super) reported: bool,
    /// Whether it is in the list of departures.
    pub(super) in_departures: bool,
    /// Whether no packet waits for it any more.
    pub(super) released: bool,
}

impl TrackedPacket {
    /// Numbers of the codewords that the engine has taken.
    pub(super) fn taken(&self) -> Range<u64> {
        self.first..self.first + self.taken
    }

    /// Records that `units` units of the first transmission were sent, the first and the last of them in slots of these
    /// numbers and times. Returns whether they were the last units of the first transmission.
    pub(super) fn on_sent(&mut self, units: u32, first: (u64, Time), last: (u64, Time)) -> bool {
        let service = &mut self.served.service;
        // Codewords that are interleaved are reported in any order.
        if !self.begun || first.0 < service.first_unit {
            (service.first_unit, service.start) = first;
        }
        self.begun = true;
        if last.0 >= service.last_unit {
            (service.last_unit, service.end) = last;
        }
        self.judged = self.judged.max(last.1);
        self.unsent -= u64::from(units);
        self.unsent == 0
    }

    /// Records that `lldus` LLDUs are delivered, the latest of them at `arrival`.
    pub(super) fn on_arrival(&mut self, arrival: Time, lldus: u32) {
        self.arrival = self.arrival.max(arrival);
        self.unsettled -= lldus;
    }

    /// Marks the packet as complete if all LLDUs are delivered and all units of its first transmission are sent. Returns
    /// true only once.
    pub(super) fn try_complete(&mut self) -> bool {
        let complete = self.outcome == Outcome::Open && self.unsettled == 0 && self.unsent == 0;
        if complete {
            self.outcome = Outcome::Complete(self.arrival);
        }
        complete
    }
}

/// Accepted packets in order, numbered from 0.
#[derive(Debug)]
pub(super) struct Packets {
    /// The link, for the division of packets into codewords; its code does not matter.
    link: CoupledLink,
    /// Division of packets of the size that the link is made for.
    shape: Shape,
    propagation: Span,
    tracked: VecDeque<TrackedPacket>,
    /// Number of the first packet in `tracked`.
    base: u64,
    /// Number of the first packet that the engine has not taken completely.
    source: u64,
    /// Number of the next codeword.
    next_codeword: u64,
    /// Codewords that the engine has not taken.
    pub(super) codewords_queued: u64,
    /// Packet that [`Self::packet_of`] found last.
    hint: u64,
}

impl Packets {
    pub(super) fn new<C: Code>(link: &CoupledLink<C>, propagation: Span) -> Self {
        Self {
            shape: link.shape(link.segmentation.size()),
            link: link.clone().with_code(Ideal),
            propagation,
            tracked: VecDeque::new(),
            base: 0,
            source: 0,
            next_codeword: 0,
            codewords_queued: 0,
            hint: 0,
        }
    }

    /// Adds a packet and returns its number. `ack_pending` states whether the time of its acknowledgement is needed.
    pub(super) fn push(&mut self, packet: Packet, ack_pending: bool) -> u64 {
        let shape = if packet.size == self.link.segmentation.size() {
            self.shape
        } else {
            self.link.shape(packet.size)
        };
        let service = Service {
            start: packet.enqueued,
            end: packet.enqueued,
            arrival: None,
            propagation: self.propagation,
            first_unit: 0,
            last_unit: 0,
        };
        self.tracked.push_back(TrackedPacket {
            first: 0,
            codewords: shape.codewords,
            taken: 0,
            untaken: shape.data_units,
            unsent: shape.units,
            unsettled: shape.data_units,
            arrival: Time::ZERO,
            begun: false,
            served: Served {
                packet,
                service,
                left: None,
            },
            outcome: Outcome::Open,
            judged: Time::ZERO,
            unacknowledged: shape.codewords,
            acknowledged_at: Time::ZERO,
            ack_pending,
            reported: false,
            in_departures: false,
            released: false,
        });
        self.codewords_queued += shape.codewords;
        self.base + self.tracked.len() as u64 - 1
    }

    pub(super) fn get(&self, number: u64) -> Option<&TrackedPacket> {
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.tracked.get(index)
    }

    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut TrackedPacket> {
        let index = usize::try_from(number.checked_sub(self.base)?).ok()?;
        self.tracked.get_mut(index)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &TrackedPacket> {
        self.tracked.iter()
    }

    /// Time at which the packet with the next codeword was enqueued; `None` if all codewords are taken.
    pub(super) fn head_enqueued_at(&self) -> Option<Time> {
        Some(self.get(self.source)?.served.packet.enqueued)
    }

    /// Codewords that come next at `now`: how many with the same number of data units, at most `most`, and that number.
    pub(super) fn next_codewords(&self, now: Time, most: u32) -> Option<(u32, u32)> {
        let tracked = self.get(self.source)?;
        let untaken = tracked.untaken;
        (tracked.served.packet.enqueued <= now)
            .then_some(((untaken / most).max(1), untaken.min(most)))
    }

    /// Takes `codewords` codewords with `data_units` data units in total from the packet that is next.
    pub(super) fn take(&mut self, codewords: u64, data_units: u32) {
        let (number, next) = (self.source, self.next_codeword);
        self.next_codeword += codewords;
        self.codewords_queued -= codewords;
        let Some(tracked) = self.get_mut(number) else {
            return;
        };
        if tracked.taken == 0 {
            tracked.first = next;
        }
        tracked.taken += codewords;
        tracked.untaken -= data_units;
        self.source += u64::from(tracked.untaken == 0);
    }

    /// Packet that this codeword belongs to; `None` if it is no longer tracked.
    pub(super) fn packet_of(&mut self, codeword: u64) -> Option<u64> {
        let here = |tracked: &TrackedPacket| tracked.taken().contains(&codeword);
        // Often the same packet as before, or with interleaving the next one.
        for packet in [self.hint, self.hint + 1] {
            if self.get(packet).is_some_and(here) {
                self.hint = packet;
                return Some(packet);
            }
        }
        let not_after = |tracked: &TrackedPacket| tracked.taken > 0 && tracked.first <= codeword;
        let before = self.tracked.partition_point(not_after) as u64;
        self.hint = self.base + before.saturating_sub(1);
        self.get(self.hint).is_some_and(here).then_some(self.hint)
    }

    /// Marks a packet as lost by the slot sent `at`, so that the engine takes no more of it. Returns the codewords that
    /// the engine has.
    pub(super) fn mark_lost(&mut self, number: u64, at: Time) -> Range<u64> {
        let Some(tracked) = self.get_mut(number) else {
            return 0..0;
        };
        tracked.outcome = Outcome::Lost(at);
        tracked.untaken = 0;
        let (left, taken) = (tracked.codewords - tracked.taken, tracked.taken());
        self.codewords_queued -= left;
        if left > 0 {
            self.source += 1;
        }
        taken
    }

    /// Removes packets from the front that are finished and not needed for later reports.
    pub(super) fn remove_finished(&mut self) {
        while self
            .tracked
            .pop_front_if(|tracked| tracked.released && !tracked.ack_pending)
            .is_some()
        {
            self.base += 1;
        }
    }
}
