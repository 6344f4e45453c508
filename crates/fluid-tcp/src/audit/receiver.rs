//! The host that sends a flow's ACKs, replayed: rule `acked`.
//!
//! It takes packets in the order of their arrival and follows RFC 5681, Sec. 4.2, with the delays of the head. At equal
//! times packets arrive in the order of service.
//!
//! A log does not show whether a delayed ACK was due before or after a packet that arrives at the same time, nor on some
//! links in which order packets arrive at one time. The replay follows all possibilities and drops those that contradict
//! the column `acked`. If there are more than [`MOST_MOVES`] at one event, it ends.

use std::collections::{BTreeMap, BTreeSet};

use tmt_core::types::{Span, Time};

/// When ACKs are sent, and what happens to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AckRules {
    /// Packets in order per ACK.
    pub(super) every: u64,
    /// Longest delay of an ACK.
    pub(super) timer: Span,
    /// Number of ACKs at the start that are not delayed.
    pub(super) quick: u64,
    /// Whether further ACKs may be sent without delay, while the host enlarges its window. A log does not show that window.
    pub(super) may_be_quick: bool,
    /// Longest time for which an ACK is held back that only adds to SACK blocks.
    pub(super) held_back: Span,
    pub(super) path: AckPath,
    /// Time of an ACK to the sender; if ACKs may wait, the shortest.
    pub(super) back: Span,
    /// Whether packets that arrive at one time may do so in any order.
    pub(super) any_order: bool,
}

/// Effect of the return path on an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum AckPath {
    /// Every ACK reaches the sender after the same time.
    #[default]
    Clear,
    /// ACKs may be lost.
    Lossy,
    /// ACKs may wait or be lost.
    Queued,
}

/// Possible move of a host: its state afterwards, and the ACK that it sent.
type Move = (Delayed, Option<Ack>);

/// Number of moves at one event above which the replay of a flow ends. Delayed ACKs of two packets have a few dozen;
/// where many packets arrive at one time and an ACK may cover any number of them, moves grow with the cube of that.
const MOST_MOVES: usize = 1 << 14;

/// An arrival: its time, its place in the order of service, and its line.
pub(super) type Turn = (Time, u64, u64);

/// A packet that the host has.
#[derive(Debug, Clone, Copy)]
struct Packet {
    /// When the log says that its ACK reached the sender.
    acked: Option<Time>,
    /// The earliest and the latest time at which the first ACK that covers it may have been sent.
    first: Option<(Time, Time)>,
}

/// A possible state of the delayed ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Delayed {
    /// Packets in order that no ACK covers yet.
    waiting: u64,
    /// Time at which a delayed ACK is due.
    due: Option<Time>,
    /// Number of ACKs sent, up to those that are not delayed.
    sent: u64,
}

/// An ACK of the packets from `start` to before `end` that no ACK has covered before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ack {
    at: Time,
    start: u64,
    end: u64,
}

/// State of the replayed host.
#[derive(Debug)]
pub(super) struct Receiver {
    /// Arrivals not yet replayed: packet numbers.
    ahead: BTreeMap<Turn, u64>,
    /// Packet expected next.
    next: u64,
    above: BTreeSet<u64>,
    /// Time of the latest arrival, and the packet that was expected before all arrivals at that time.
    latest: Option<(Time, u64)>,
    /// All states that do not contradict the log; none after there were too many to follow.
    states: BTreeSet<Delayed>,
    packets: BTreeMap<u64, Packet>,
    /// Times of all ACKs, if some of them may be lost.
    times: BTreeSet<Time>,
    /// Arrivals above a gap whose ACKs may have been held back, if some may be lost. One that arrives covers what lost ones
    /// did.
    held_back: BTreeSet<Time>,
}

impl Default for Receiver {
    fn default() -> Self {
        Self {
            ahead: BTreeMap::new(),
            next: 0,
            above: BTreeSet::new(),
            latest: None,
            states: BTreeSet::from([Delayed::default()]),
            packets: BTreeMap::new(),
            times: BTreeSet::new(),
            held_back: BTreeSet::new(),
        }
    }
}

impl Receiver {
    /// A packet arrives that the log says was acknowledged at `acked`.
    pub(super) fn arrives(&mut self, turn: Turn, packet: u64, acked: Option<Time>) {
        self.ahead.insert(turn, packet);
        let new = Packet { acked, first: None };
        self.packets.entry(packet).or_insert(new);
    }

    /// Replays the arrivals before a time, or all if it is `None`.
    pub(super) fn replay(&mut self, before: Option<Time>, rules: AckRules) {
        while let Some(first) = self.ahead.first_entry()
            && before.is_none_or(|time| first.key().0 < time)
        {
            let ((now, ..), packet) = first.remove_entry();
            self.on_timers(|due| due < now, |due| due == now, rules);
            self.on_packet(now, packet, rules);
        }
        let is_over = |due| before.is_none_or(|time| due < time);
        self.on_timers(is_over, |_| false, rules);
    }

    /// Sends the delayed ACKs that have become due, and those that may have.
    fn on_timers(
        &mut self,
        has_fired: impl Fn(Time) -> bool,
        may_fire: impl Fn(Time) -> bool,
        rules: AckRules,
    ) {
        let fires = |state: &Delayed| state.due.filter(|due| has_fired(*due) || may_fire(*due));
        if self.states.iter().all(|state| fires(state).is_none()) {
            return;
        }
        let mut moves = BTreeSet::new();
        for state in &self.states {
            if let Some(due) = fires(state) {
                moves.insert(state.answers(due, self.next - state.waiting, self.next, rules));
            }
            if !state.due.is_some_and(&has_fired) {
                moves.insert((*state, None));
            }
        }
        self.follow(&moves, rules);
    }

    fn on_packet(&mut self, now: Time, packet: u64, rules: AckRules) {
        let tied = self.latest.filter(|(at, _)| *at == now);
        let (_, first) = *self.latest.insert(tied.unwrap_or((now, self.next)));
        let is_next = packet == self.next;
        // A packet that fills a gap is answered at once, as is any while a gap remains.
        let at_once = !is_next || !self.above.is_empty();
        let covered = self.next;
        if is_next {
            self.next += 1;
            while self.above.remove(&self.next) {
                self.next += 1;
            }
        } else if packet > self.next {
            self.above.insert(packet);
            if rules.path == AckPath::Lossy && !rules.held_back.is_zero() {
                self.held_back.insert(now);
            }
        }
        let mut moves = BTreeSet::new();
        for state in &self.states {
            if moves.len() > MOST_MOVES {
                break;
            }
            let start = covered - state.waiting;
            let waiting = state.waiting + u64::from(is_next);
            if at_once || state.sent < rules.quick || waiting >= rules.every {
                moves.insert(state.answers(now, start, self.next, rules));
            } else {
                let due = state.due.or(now.checked_add(rules.timer));
                let waits = Delayed {
                    waiting,
                    due,
                    ..*state
                };
                moves.insert((waits, None));
                if rules.may_be_quick {
                    moves.insert(state.answers(now, start, self.next, rules));
                }
            }
            if tied.is_some() && rules.any_order {
                // The last of those that arrived in order may wait for the next ACK.
                let most = (self.next - first).min(rules.every.saturating_sub(1));
                for waiting in 0..=most {
                    let end = start.max(self.next - waiting);
                    let (state, ack) = state.answers(now, start, end, rules);
                    let due = now.checked_add(rules.timer).filter(|_| end < self.next);
                    let state = Delayed {
                        waiting: self.next - end,
                        due,
                        ..state
                    };
                    moves.insert((state, ack));
                }
            }
        }
        self.follow(&moves, rules);
    }

    /// Takes the moves that do not contradict the log, or all if each of them does. Ends the replay if there are too many.
    fn follow(&mut self, moves: &BTreeSet<Move>, rules: AckRules) {
        if moves.len() > MOST_MOVES {
            self.states.clear();
            return;
        }
        // Many moves share an ACK.
        let mut acks: BTreeSet<Ack> = moves.iter().filter_map(|(_, ack)| *ack).collect();
        let contradictory: BTreeSet<Ack> = acks
            .iter()
            .copied()
            .filter(|ack| !self.fits(*ack, rules))
            .collect();
        let fits = |(_, ack): &&Move| ack.is_none_or(|ack| !contradictory.contains(&ack));
        let states: BTreeSet<Delayed> =
            moves.iter().filter(fits).map(|(state, _)| *state).collect();
        let agrees = !states.is_empty();
        if agrees {
            self.states = states;
            acks.retain(|ack| !contradictory.contains(ack));
        } else {
            self.states = moves.iter().map(|(state, _)| *state).collect();
        }
        for ack in acks {
            for (_, packet) in self.packets.range_mut(ack.start..ack.end) {
                // A time that contradicts the log replaces those that do not.
                let known = packet.first.filter(|_| agrees);
                let (earliest, latest) = known.unwrap_or((ack.at, ack.at));
                packet.first = Some((earliest.min(ack.at), latest.max(ack.at)));
            }
            if rules.path == AckPath::Lossy {
                self.times.insert(ack.at);
            }
        }
    }

    /// Whether the replay goes on: there were not too many possibilities. Otherwise it does not know when the host sends
    /// ACKs.
    pub(super) fn is_followed(&self) -> bool {
        !self.states.is_empty()
    }

    /// Whether the log has the packets of an ACK acknowledged when it reaches the sender, or later if it may be lost or
    /// wait.
    fn fits(&self, ack: Ack, rules: AckRules) -> bool {
        let reaches = ack.at.saturating_add(rules.back);
        let mut packets = self.packets.range(ack.start..ack.end);
        packets.all(|(_, packet)| match (packet.acked, rules.path) {
            (None, _) => true,
            (Some(acked), AckPath::Clear) => acked == reaches,
            (Some(acked), AckPath::Lossy | AckPath::Queued) => acked >= reaches,
        })
    }

    /// The earliest and the latest time at which the first ACK that covers `packet` may have been sent.
    pub(super) fn first_ack(&self, packet: u64) -> Option<(Time, Time)> {
        self.packets.get(&packet)?.first
    }

    /// Whether an ACK was sent at `time`, or may have been after it was held back, if some of them may be lost.
    pub(super) fn sends_at(&self, time: Time, rules: AckRules) -> bool {
        let arrived = self.held_back.range(..=time).next_back();
        self.times.contains(&time) || arrived.is_some_and(|at| time.since(*at) <= rules.held_back)
    }

    /// Forgets the packets up to `packet`, and the ACKs before the first that covers it.
    pub(super) fn forget(&mut self, packet: u64) {
        if let Some((first, _)) = self.first_ack(packet) {
            self.times = self.times.split_off(&first);
            // Of those before, the latest may still be held back.
            let latest = self.held_back.range(..first).next_back().copied();
            self.held_back = self.held_back.split_off(&latest.unwrap_or(first));
        }
        while let Some(first) = self.packets.first_entry()
            && *first.key() <= packet
        {
            first.remove();
        }
    }
}

impl Delayed {
    /// The state after an ACK at `at` of the packets from `start` to before `end`.
    fn answers(self, at: Time, start: u64, end: u64, rules: AckRules) -> Move {
        let state = Self {
            waiting: 0,
            due: None,
            sent: rules.quick.min(self.sent + 1),
        };
        (state, Some(Ack { at, start, end }))
    }
}

#[cfg(test)]
mod tests {
    use test_support::depth;

    use super::*;

    const RULES: AckRules = AckRules {
        every: 2,
        timer: Span::from_millis(100),
        quick: 0,
        may_be_quick: false,
        held_back: Span::ZERO,
        path: AckPath::Clear,
        back: Span::from_millis(50),
        any_order: false,
    };

    fn at(millis: u32) -> Time {
        Time::ZERO.saturating_add(Span::from_millis(millis))
    }

    /// The first ACKs of packets after arrivals (time, packet, time of its ACK in the log), ms.
    fn acks(rules: AckRules, arrivals: &[(u32, u64, Option<u32>)]) -> Vec<[u64; 2]> {
        let mut receiver = Receiver::default();
        for (line, &(time, packet, acked)) in (0..).zip(arrivals) {
            receiver.arrives((at(time), 0, line), packet, acked.map(at));
        }
        receiver.replay(None, rules);
        let millis = |time: Time| time.as_nanos() / 1_000_000;
        (0..6)
            .map_while(|packet| receiver.first_ack(packet))
            .map(|(earliest, latest)| [millis(earliest), millis(latest)])
            .collect()
    }

    #[test]
    fn acks_follow_rfc_5681() {
        // Every second packet; after the timer; at once above a gap and where it is filled.
        let arrivals = [(0, 0), (1, 1), (2, 2), (103, 4), (104, 3), (105, 3)];
        let arrivals = arrivals.map(|(time, packet)| (time, packet, None));
        assert_eq!(
            acks(RULES, &arrivals),
            [1, 1, 102, 104, 104].map(|it| [it; 2])
        );
        let quick = AckRules { quick: 2, ..RULES };
        assert_eq!(
            acks(quick, &arrivals),
            [0, 1, 102, 104, 104].map(|it| [it; 2])
        );
    }

    #[test]
    fn an_ack_that_may_be_quick_is_sent_with_its_packet_or_with_the_next() {
        let growing = AckRules {
            may_be_quick: true,
            ..RULES
        };
        let acked = |first| acks(growing, &[(0, 0, first), (10, 1, Some(60))]);
        assert_eq!(acked(Some(50)), [[0, 0], [10, 10]]);
        assert_eq!(acked(Some(60)), [[10, 10], [10, 10]]);
        // Neither: the log is wrong.
        assert_eq!(acked(Some(55))[0], [10, 10]);
    }

    #[test]
    fn where_acks_are_lost_one_that_was_held_back_may_be_the_first_to_arrive() {
        let rules = AckRules {
            path: AckPath::Lossy,
            held_back: Span::from_millis(3),
            ..RULES
        };
        let mut receiver = Receiver::default();
        for (line, (time, packet)) in (0..).zip([(0, 0), (1, 1), (10, 3), (20, 5)]) {
            receiver.arrives((at(time), 0, line), packet, None);
        }
        receiver.replay(None, rules);
        let sends = |receiver: &Receiver| {
            let times = [1, 2, 10, 13, 14, 20, 23, 24];
            times.map(|time| receiver.sends_at(at(time), rules))
        };
        assert_eq!(
            sends(&receiver),
            [true, false, true, true, false, true, true, false]
        );
        receiver.forget(0);
        receiver.forget(1);
        assert!(receiver.sends_at(at(13), rules));
        let at_once = AckRules {
            held_back: Span::ZERO,
            ..rules
        };
        assert!(!receiver.sends_at(at(13), at_once));
    }

    #[test]
    fn an_arrival_at_the_time_of_the_timer_may_come_first() {
        let acked = |first, second| acks(RULES, &[(0, 0, first), (100, 1, second)]);
        // The timer first: the second packet has an ACK of its own.
        assert_eq!(acked(Some(150), Some(250)), [[100, 100], [200, 200]]);
        assert_eq!(acked(Some(150), Some(150)), [[100, 100], [100, 100]]);
        // The log does not know, or is wrong.
        assert_eq!(acked(None, None), [[100, 100], [100, 200]]);
        assert_eq!(acked(Some(150), Some(200)), [[100, 100], [200, 200]]);
        // Two arrivals at that time: the timer may be first, between them or last.
        let three = |second, third| {
            let arrivals = [
                (0, 0, Some(150)),
                (100, 1, Some(second)),
                (100, 2, Some(third)),
            ];
            acks(RULES, &arrivals)
        };
        assert_eq!(three(150, 150), [[100, 100]; 3]);
        assert_eq!(three(150, 250), [[100, 100], [100, 100], [200, 200]]);
        assert_eq!(three(150, 170)[2], [200, 200]);
    }

    #[test]
    fn acks_that_may_wait_have_the_earliest_time_of_all_possibilities() {
        let rules = AckRules {
            path: AckPath::Queued,
            ..RULES
        };
        let acked = |second| acks(rules, &[(0, 0, Some(180)), (100, 1, Some(second))]);
        assert_eq!(acked(180), [[100, 100], [100, 100]]);
        assert_eq!(acked(260), [[100, 100], [100, 200]]);
    }

    #[test]
    fn a_replay_with_too_many_possibilities_ends() {
        let followed = |every, quick| {
            let mut receiver = Receiver::default();
            for packet in 0..320 {
                receiver.arrives((at(1), 0, packet), packet, Some(at(51)));
            }
            let rules = AckRules {
                every,
                quick,
                any_order: true,
                ..RULES
            };
            receiver.replay(None, rules);
            receiver.is_followed()
        };
        assert!(followed(2, 16));
        assert!(followed(20, 0));
        for quick in depth(&[0][..], &[1000, 0]) {
            assert!(!followed(1000, *quick));
        }
    }

    #[test]
    fn packets_that_arrive_at_one_time_may_change_places() {
        // As sent, 1 is acknowledged with 0, and 2 waits. If 2 arrives before 1, all are acknowledged at once.
        let arrivals = |third| [(0, 0, Some(60)), (10, 1, Some(60)), (10, 2, Some(third))];
        let any = AckRules {
            any_order: true,
            ..RULES
        };
        assert_eq!(acks(RULES, &arrivals(60))[2], [110, 110]);
        assert_eq!(acks(any, &arrivals(60)), [[10, 10]; 3]);
        assert_eq!(acks(any, &arrivals(160))[2], [110, 110]);
        assert_eq!(acks(any, &arrivals(100))[2], [110, 110]);
    }
}
