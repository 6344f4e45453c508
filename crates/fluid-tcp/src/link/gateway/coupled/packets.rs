//! The packets of a coupled link, from the queue to their fate: the unit source of its machine.

use std::collections::VecDeque;
use std::ops::Range;

use tmt_core::scheme::engine::UnitSource;
use tmt_core::types::{Span, Time};

use super::super::{Queued, Served};
use crate::link::Service;

/// How a packet is cut into codewords.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape {
    /// Data units of a packet, those of padding included.
    pub(super) data_units: u32,
    /// All units of its first transmission.
    pub(super) units: u64,
    pub(super) codewords: u64,
}

/// What is known of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Open,
    /// A codeword failed, in the slot sent then.
    Lost(Time),
    /// All of it is there then, propagation left out.
    Complete(Time),
}

/// A packet that was let in.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what has happened to a packet, in no order of its own"
)]
pub(super) struct TrackedPacket {
    /// Its first codeword, and how many of them the machine has taken.
    first: u64,
    taken: u64,
    /// Data units the machine has not taken.
    untaken: u32,
    /// Units not sent for the first time.
    pub(super) unsent: u64,
    /// Data units whose LLDU is not settled.
    unsettled: u32,
    /// Latest arrival of those that are, propagation left out.
    arrival: Time,
    /// Whether its first unit has been sent.
    pub(super) begun: bool,
    pub(super) served: Served,
    pub(super) outcome: Outcome,
    /// When the last of its attempts so far was judged, or the last unit of one sent.
    pub(super) judged: Time,
    /// Codewords of which the sender has not heard that they were decoded, and when it has of the others.
    pub(super) unacknowledged: u64,
    pub(super) acknowledged_at: Time,
    /// Whether it matters when the sender knows that it has arrived, and that is open.
    pub(super) ack_pending: bool,
    /// Whether its fate was told, whether it is listed to depart, and whether no packet waits for it any more.
    pub(super) reported: bool,
    pub(super) in_departures: bool,
    pub(super) released: bool,
}

impl TrackedPacket {
    /// The codewords that the machine has taken.
    pub(super) fn codewords(&self) -> Range<u64> {
        self.first..self.first + self.taken
    }

    /// So many units go out for the first time, from the first to the last of the slots of these numbers and times;
    /// whether they were the last.
    pub(super) fn on_sent(
        &mut self,
        units: u64,
        numbers: Range<u64>,
        (first, last): (Time, Time),
    ) -> bool {
        let service = &mut self.served.service;
        if !self.begun {
            self.begun = true;
            service.start = first;
            service.first_unit = numbers.start;
        }
        service.end = last;
        service.last_unit = numbers.end - 1;
        self.judged = last;
        self.unsent -= units;
        self.unsent == 0
    }

    /// LLDUs of it arrive, the latest of them then.
    pub(super) fn on_arrival(&mut self, arrival: Time, lldus: u32) {
        self.arrival = self.arrival.max(arrival);
        self.unsettled -= lldus;
    }

    /// Whether all of it is there and sent, which is told only once.
    pub(super) fn try_complete(&mut self) -> bool {
        let whole = self.outcome == Outcome::Open && self.unsettled == 0 && self.unsent == 0;
        if whole {
            self.outcome = Outcome::Complete(self.arrival);
        }
        whole
    }
}

/// Packets in the order in which they were let in, numbered from 0.
#[derive(Debug, Default)]
pub(super) struct Packets {
    shape: Shape,
    propagation: Span,
    tracked: VecDeque<TrackedPacket>,
    /// Number of the first of them.
    base: u64,
    /// The first one of which the machine has not taken all.
    source: u64,
    /// Number of the next codeword.
    next_codeword: u64,
    /// Codewords the machine has not taken.
    pub(super) codewords_queued: u64,
    /// The packet that was looked for last.
    hint: u64,
}

impl Packets {
    pub(super) fn new(shape: Shape, propagation: Span) -> Self {
        Self {
            shape,
            propagation,
            ..Self::default()
        }
    }

    /// Lets a packet in, of which may be awaited when the sender knows that it has arrived; its number.
    pub(super) fn push(&mut self, packet: Queued, ack_pending: bool) -> u64 {
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
            taken: 0,
            untaken: self.shape.data_units,
            unsent: self.shape.units,
            unsettled: self.shape.data_units,
            arrival: Time::ZERO,
            begun: false,
            served: Served {
                packet,
                service,
                left: None,
            },
            outcome: Outcome::Open,
            judged: Time::ZERO,
            unacknowledged: self.shape.codewords,
            acknowledged_at: Time::ZERO,
            ack_pending,
            reported: false,
            in_departures: false,
            released: false,
        });
        self.codewords_queued += self.shape.codewords;
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

    /// When the packet came in whose codewords are next; none where all are taken.
    pub(super) fn head_enqueued_at(&self) -> Option<Time> {
        Some(self.get(self.source)?.served.packet.enqueued)
    }

    /// The packet whose codewords are next at `now`, and its data units that are not taken.
    pub(super) fn source(&self, now: Time) -> Option<(u64, u32)> {
        let tracked = self.get(self.source)?;
        (tracked.served.packet.enqueued <= now).then_some((self.source, tracked.untaken))
    }

    /// Data units of the codewords that can be taken at `now`, at most `most` each.
    pub(super) fn codewords_at(&self, now: Time, most: u32) -> impl Iterator<Item = u32> {
        let taken = usize::try_from(self.source - self.base).unwrap_or(usize::MAX);
        let waiting = self.tracked.range(taken.min(self.tracked.len())..);
        waiting
            .take_while(move |tracked| tracked.served.packet.enqueued <= now)
            .flat_map(move |tracked| {
                let whole = std::iter::repeat_n(most, (tracked.untaken / most) as usize);
                whole.chain(Some(tracked.untaken % most).filter(|rest| *rest > 0))
            })
    }

    /// Takes `codewords` with `data_units` together of the packet whose codewords are next.
    pub(super) fn take(&mut self, codewords: u64, data_units: u32) -> Option<&mut TrackedPacket> {
        let (number, next) = (self.source, self.next_codeword);
        self.next_codeword += codewords;
        self.codewords_queued -= codewords;
        let all_taken = self.get(number)?.untaken == data_units;
        self.source += u64::from(all_taken);
        let tracked = self.get_mut(number)?;
        if tracked.taken == 0 {
            tracked.first = next;
        }
        tracked.taken += codewords;
        tracked.untaken -= data_units;
        Some(tracked)
    }

    /// The packet that has this codeword; none once it is forgotten.
    pub(super) fn packet_of(&mut self, codeword: u64) -> Option<u64> {
        let here = |tracked: &TrackedPacket| tracked.codewords().contains(&codeword);
        if !self.get(self.hint).is_some_and(here) {
            let not_behind =
                |tracked: &TrackedPacket| tracked.taken > 0 && tracked.first <= codeword;
            let behind = self.tracked.partition_point(not_behind) as u64;
            self.hint = self.base + behind.saturating_sub(1);
        }
        self.get(self.hint).is_some_and(here).then_some(self.hint)
    }

    /// A codeword of the packet failed in the slot sent `at`: nothing more of it is given to the machine. The codewords
    /// that the machine has.
    pub(super) fn mark_lost(&mut self, number: u64, at: Time) -> Range<u64> {
        let codewords = self.shape.codewords;
        let Some(tracked) = self.get_mut(number) else {
            return 0..0;
        };
        tracked.outcome = Outcome::Lost(at);
        tracked.untaken = 0;
        let (left, taken) = (codewords - tracked.taken, tracked.codewords());
        self.codewords_queued -= left;
        if left > 0 {
            self.source += 1;
        }
        taken
    }

    /// Forgets the packets at the front that nothing waits for.
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

impl UnitSource for Packets {
    fn next_codeword(&mut self, now: Time, most: u32) -> Option<u32> {
        let (_, ahead) = self.source(now)?;
        let data_units = ahead.min(most);
        self.take(1, data_units)?;
        Some(data_units)
    }
}
