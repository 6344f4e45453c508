//! The host that sends a flow's ACKs, replayed: rule `acked`.
//!
//! It takes packets in the order of their arrival and follows RFC 5681, Sec. 4.2, with the delays of the head. At equal
//! times packets arrive in the order of service.

use std::collections::{BTreeMap, BTreeSet};

use tmt_core::types::{Span, Time};

/// When ACKs are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AckRules {
    /// Packets in order per ACK.
    pub(super) every: u64,
    /// Longest delay of an ACK.
    pub(super) timer: Span,
    /// Number of ACKs at the start that are not delayed.
    pub(super) quick: u64,
    pub(super) path: AckPath,
}

/// What may happen to an ACK on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AckPath {
    /// Every ACK reaches the sender after the same time.
    Clear,
    /// ACKs may be lost.
    Lossy,
    /// ACKs may wait or be lost.
    Queued,
}

/// An arrival: its time, its place in the order of service, and its line.
pub(super) type Turn = (Time, u64, u64);

/// State of the replayed host.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    /// Arrivals not yet replayed: packet number, and when its ACK reached the sender.
    ahead: BTreeMap<Turn, (u64, Option<Time>)>,
    /// Packet expected next.
    next: u64,
    above: BTreeSet<u64>,
    /// Packets in order that no ACK covers yet.
    waiting: u64,
    /// Time at which a delayed ACK is due.
    due: Option<Time>,
    /// Number of ACKs sent.
    sent: u64,
    /// All packets below it are covered by an ACK.
    covered: u64,
    /// By packet: the time of the first ACK that covers it. Packets that share one have it at the first of them.
    acks: BTreeMap<u64, Time>,
    /// Times of all ACKs, if some of them may be lost.
    times: BTreeSet<Time>,
}

impl Receiver {
    pub(super) fn arrives(&mut self, turn: Turn, packet: u64, acked: Option<Time>) {
        self.ahead.insert(turn, (packet, acked));
    }

    /// Replays the arrivals before a time, or all if it is `None`. ACKs take `back` to the sender.
    pub(super) fn replay(&mut self, before: Option<Time>, rules: AckRules, back: Span) {
        while let Some(first) = self.ahead.first_entry()
            && before.is_none_or(|time| first.key().0 < time)
        {
            let ((now, ..), (packet, acked)) = first.remove_entry();
            // An arrival at the very time of the timer may come first, and is then covered by the ACK that it causes.
            let covered = acked == Some(now.saturating_add(back)) && packet == self.next;
            if let Some(due) = self.due
                && (due < now || due == now && !covered)
            {
                self.ack(due, rules);
            }
            self.on_packet(now, packet, rules);
        }
        if let Some(due) = self.due.filter(|due| before.is_none_or(|time| *due < time)) {
            self.ack(due, rules);
        }
    }

    fn on_packet(&mut self, now: Time, packet: u64, rules: AckRules) {
        let mut at_once = packet != self.next || self.sent < rules.quick;
        if packet == self.next {
            self.waiting += 1;
            // A packet that fills a gap is answered at once, as is any while a gap remains.
            at_once |= !self.above.is_empty();
            self.next += 1;
            while self.above.remove(&self.next) {
                self.next += 1;
            }
        } else if packet > self.next {
            self.above.insert(packet);
        }
        if at_once || self.waiting >= rules.every {
            self.ack(now, rules);
        } else {
            self.due = self.due.or(now.checked_add(rules.timer));
        }
    }

    fn ack(&mut self, now: Time, rules: AckRules) {
        (self.waiting, self.due) = (0, None);
        self.sent += 1;
        if self.next > self.covered {
            self.acks.insert(self.covered, now);
            self.covered = self.next;
        }
        if rules.path == AckPath::Lossy {
            self.times.insert(now);
        }
    }

    /// The time of the first ACK that covers `packet`.
    pub(super) fn first_ack(&self, packet: u64) -> Option<Time> {
        let is_covered = packet < self.covered;
        let first = self.acks.range(..=packet).next_back();
        first.filter(|_| is_covered).map(|(_, at)| *at)
    }

    /// Whether an ACK was sent at `time`, if some of them may be lost.
    pub(super) fn sends_at(&self, time: Time) -> bool {
        self.times.contains(&time)
    }

    /// Forgets the ACKs before the first that covers `packet`.
    pub(super) fn forget(&mut self, packet: u64) {
        while let Some((second, _)) = self.acks.iter().nth(1)
            && *second <= packet
        {
            self.acks.pop_first();
        }
        if let Some(first) = self.first_ack(packet) {
            self.times = self.times.split_off(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: AckRules = AckRules {
        every: 2,
        timer: Span::from_millis(100),
        quick: 0,
        path: AckPath::Clear,
    };

    fn at(millis: u32) -> Time {
        Time::ZERO.saturating_add(Span::from_millis(millis))
    }

    /// The first ACKs of packets 0 to 5 after these arrivals, ms.
    fn acks(rules: AckRules, arrivals: &[(u32, u64)], acked: Option<Time>) -> Vec<Option<Time>> {
        let mut receiver = Receiver::default();
        for (line, &(time, packet)) in (0..).zip(arrivals) {
            receiver.arrives((at(time), 0, line), packet, acked);
        }
        receiver.replay(None, rules, Span::from_millis(50));
        (0..6).map(|packet| receiver.first_ack(packet)).collect()
    }

    #[test]
    fn acks_follow_rfc_5681() {
        // Every second packet; after the timer; at once above a gap and where it is filled.
        let arrivals = [(0, 0), (1, 1), (2, 2), (103, 4), (104, 3), (105, 3)];
        let expected = [1, 1, 102, 104, 104].map(|time| Some(at(time)));
        assert_eq!(acks(RULES, &arrivals, None)[..5], expected);
        assert_eq!(acks(RULES, &arrivals, None)[5], None);
        let quick = AckRules { quick: 2, ..RULES };
        let expected = [0, 1, 102, 104, 104].map(|time| Some(at(time)));
        assert_eq!(acks(quick, &arrivals, None)[..5], expected);
    }

    #[test]
    fn an_arrival_at_the_time_of_the_timer_may_come_first() {
        let arrivals = [(0, 0), (100, 1)];
        let after = acks(RULES, &arrivals, Some(at(250)));
        assert_eq!(after[..2], [Some(at(100)), Some(at(200))]);
        let before = acks(RULES, &arrivals, Some(at(150)));
        assert_eq!(before[..2], [Some(at(100)), Some(at(100))]);
    }
}
