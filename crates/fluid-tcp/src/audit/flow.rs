//! Sender and receiver of one flow: rules `causality` and `acked`.
//!
//! A packet is kept until a row sent after its ACK has been read. No later row can then be a transmission that the
//! ACK covers, so the packet is settled, in packet order, and dropped from memory.

use std::collections::BTreeMap;

use tmt_core::types::Time;

use super::datagram_form::Form;
use super::datagrams::Datagrams;
use super::head::Head;
use super::receiver::{AckPath, Receiver};
use super::report::{Rule, RuleTally};
use super::row::{Fate, Row};
use super::totals::Counts;

/// A packet that is not settled yet.
#[derive(Debug)]
pub(super) struct Packet {
    latest: Row,
    /// Whether the transmission before the latest was sent at the same time.
    at_once: bool,
    /// First time at which a transmission was delivered.
    delivered: Option<Time>,
    /// Time at which the host that sends the ACKs had it: the receiver, or a proxy that accepted it.
    taken: Option<Time>,
    /// Time of the ACK on the row of its first transmission.
    acked: Option<Time>,
}

/// Lowest number of a packet that lacks something, `None` if no packet does.
type Missing = Option<u64>;

/// One flow of the log.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Lowest number of a packet that has not been sent.
    next: u64,
    pub(super) packets: BTreeMap<u64, Packet>,
    /// All packets with a lower number are settled.
    settled: u64,
    /// First settled packet that the receiver never had.
    not_received: Missing,
    /// First settled packet that the host that sends the ACKs never had.
    not_taken: Missing,
    /// First settled packet without an ACK.
    not_acked: Missing,
    /// Time at which the host that sends the ACKs had every settled packet.
    taken_by: Time,
    /// Latest ACK of a settled packet.
    acked_by: Time,
    receiver: Receiver,
    counts: Counts,
    /// Whether the log has no ACKs, so that a packet is settled at once.
    unacknowledged: bool,
    /// `None` if it is TCP.
    datagrams: Option<Datagrams>,
}

impl Flow {
    /// A flow before its first row; of a log without ACKs if `unacknowledged`, or of datagrams.
    pub(super) fn new(unacknowledged: bool, datagrams: Option<Form>) -> Self {
        Self {
            unacknowledged,
            datagrams: datagrams.map(Datagrams::new),
            ..Self::default()
        }
    }

    /// Processes the flow's next row; `now` is the latest `sent` of the log.
    pub(super) fn on_row(&mut self, row: &Row, now: Time, head: &Head, tally: &mut RuleTally) {
        row.count(&mut self.counts);
        if let Some(datagrams) = &mut self.datagrams {
            return datagrams.on_row(row, &mut self.counts, tally);
        }
        if let Some(acked) = row.acked {
            let found = format_args!("sent {}", row.sent);
            let expected = format_args!("not after the packet's ACK, {acked}");
            let mut causality = tally.at(Rule::Causality, row.line);
            causality.check(row.sent <= acked, found, expected);
        }
        let taken = if head.proxied {
            row.enqueued.filter(|_| row.fate.is_taken())
        } else {
            row.delivered
        };
        let known = self.packets.get_mut(&row.packet);
        let is_duplicate = row.fate == Fate::Duplicate;
        if is_duplicate || known.is_none() {
            let taken = known.as_ref().and_then(|packet| packet.taken);
            let had = taken.zip(row.enqueued).is_some_and(|(at, now)| at <= now);
            let found = format_args!("packet {} copy {} is a duplicate", row.packet, row.copy);
            let expected = "an earlier copy that the proxy accepted";
            let mut story = tally.at(Rule::Story, row.line);
            story.check(!is_duplicate || had, found, expected);
        }
        if let Some(packet) = known {
            packet.on_copy(row, head, tally);
            let again = row.delivered.and(packet.delivered);
            self.counts.duplicates_received += u64::from(again.is_some());
            let earlier = |one: Option<Time>, other| one.into_iter().chain(other).min();
            packet.delivered = earlier(packet.delivered, row.delivered);
            packet.taken = earlier(packet.taken, taken);
        } else {
            self.on_new_packet(row, taken, tally);
        }
        if let Some(rules) = head.acks {
            if let Some(at) = taken {
                let place = row.service.filter(|_| !head.proxied);
                let turn = (at, place.map_or(0, |it| it.first), row.line);
                self.receiver.arrives(turn, row.packet, row.acked);
            }
            self.receiver.replay(Some(now), rules);
        }
        // A packet is settled once all transmissions that its ACK can cover are known.
        while let Some(first) = self.packets.first_entry()
            && first
                .get()
                .acked
                .map_or(self.unacknowledged, |acked| acked < now)
        {
            let (number, packet) = first.remove_entry();
            self.settle(number, &packet, head, now, tally);
        }
    }

    /// Whether the receiver has every packet that was sent. A run ends early only if all flows are complete, which datagrams
    /// never are.
    pub(super) fn is_complete(&self) -> bool {
        if self.datagrams.is_some() {
            return false;
        }
        let later = self.packets.iter().zip(self.settled..);
        let has = |((number, packet), next): ((&u64, &Packet), u64)| {
            *number == next && packet.delivered.is_some()
        };
        self.not_received.is_none() && later.into_iter().all(has)
    }

    /// Settles all remaining packets at the end of the log. All events before `known` are in the log.
    pub(super) fn finish(mut self, head: &Head, known: Time, tally: &mut RuleTally) -> Counts {
        if let Some(rules) = head.acks {
            self.receiver.replay(None, rules);
        }
        while let Some((number, packet)) = self.packets.pop_first() {
            self.settle(number, &packet, head, known, tally);
        }
        self.counts
    }

    fn on_new_packet(&mut self, row: &Row, taken: Option<Time>, tally: &mut RuleTally) {
        let &Row { packet, copy, .. } = row;
        let mut causality = tally.at(Rule::Causality, row.line);
        if packet < self.settled {
            let found = format_args!("packet {packet} sent {}", row.sent);
            let expected = "no copy after the packet's ACK on earlier rows";
            causality.check(false, found, expected);
            self.counts.duplicates_received += u64::from(row.delivered.is_some());
            return;
        }
        let found = format_args!("packet {packet} copy {copy} without an earlier copy");
        let expected = format_args!("packet {} copy 1 as the next new packet", self.next);
        causality.check((packet, copy) == (self.next, 1), found, expected);
        self.next = self.next.max(packet + 1);
        let new = Packet {
            latest: *row,
            at_once: false,
            delivered: row.delivered,
            taken,
            acked: row.acked,
        };
        self.packets.insert(packet, new);
    }

    fn settle(
        &mut self,
        number: u64,
        packet: &Packet,
        head: &Head,
        known: Time,
        tally: &mut RuleTally,
    ) {
        // A packet that was never sent was neither received nor acknowledged.
        let unsent = (number > self.settled).then_some(self.settled);
        let miss = |missing: &mut Missing, time: Option<Time>| {
            *missing = missing.or(unsent).or(time.is_none().then_some(number));
        };
        miss(&mut self.not_received, packet.delivered);
        miss(&mut self.not_taken, packet.taken);
        miss(&mut self.not_acked, packet.acked);
        self.settled = number + 1;
        self.taken_by = self.taken_by.max(packet.taken.unwrap_or(Time::ZERO));
        self.counts.packets_delivered_in_order += u64::from(self.not_received.is_none());
        self.check_ack(number, packet, head, known, tally);
        self.receiver.forget(number);
        let Some(acked) = packet.acked else {
            return;
        };
        let earliest = self.taken_by.saturating_add(head.back);
        let mut rule = tally.at(Rule::Acked, packet.latest.line);
        let found = format_args!("packet {number} acked {acked}");
        // Otherwise `check_ack` knows the time.
        let unknown = head.acks.is_none() || !self.receiver.is_followed();
        let early = (unknown && acked < earliest).then(|| {
            format!("not before {earliest}, the earliest time for an ACK of packets 0 to {number}")
        });
        let missing = self.not_taken;
        let missing = missing.map(|it| format!("no ACK, because packet {it} was never received"));
        rule.record(found, missing.or(early));
        let early = (acked < self.acked_by)
            .then(|| format!("not before {}, the ACK of an earlier packet", self.acked_by));
        let missing = self.not_acked;
        let missing = missing.map(|it| format!("no ACK, because the earlier packet {it} has none"));
        rule.record(found, missing.or(early));
        self.acked_by = self.acked_by.max(acked);
    }

    /// Checks that a packet was acknowledged by the first ACK that covers it, if the head says when ACKs are sent.
    fn check_ack(
        &self,
        number: u64,
        packet: &Packet,
        head: &Head,
        known: Time,
        tally: &mut RuleTally,
    ) {
        let Some(rules) = head.acks.filter(|_| self.receiver.is_followed()) else {
            return;
        };
        let first = self.receiver.first_ack(number);
        let first = first.map(|(earliest, latest)| {
            let reaches = |at: Time| at.saturating_add(rules.back);
            (reaches(earliest), reaches(latest))
        });
        let holds = match (packet.acked, first) {
            (None, Some((_, latest))) => rules.path != AckPath::Clear || latest >= known,
            (None, None) => true,
            // An ACK of a packet that the host never had is reported below.
            (Some(_), None) => self.not_taken.is_some(),
            (Some(acked), Some((earliest, latest))) => match rules.path {
                AckPath::Clear => acked == earliest || acked == latest,
                AckPath::Lossy => {
                    let sent = acked.as_nanos().checked_sub(rules.back.as_nanos());
                    let sent = sent.and_then(Time::from_nanos);
                    acked >= earliest
                        && sent.is_some_and(|sent| self.receiver.sends_at(sent, rules))
                }
                AckPath::Queued => acked >= earliest,
            },
        };
        let found = format_args!("packet {number} acked {}", words(packet.acked));
        let due = words(first.map(|(earliest, _)| earliest));
        let expected = format_args!("{due}, by the ACKs that the receiver sends");
        let mut rule = tally.at(Rule::Acked, packet.latest.line);
        rule.check(holds, found, expected);
    }
}

/// A time in words.
fn words(at: Option<Time>) -> String {
    at.map_or("never".to_owned(), |at| at.to_string())
}

impl Packet {
    /// Checks a further transmission, except for its delivery.
    fn on_copy(&mut self, row: &Row, head: &Head, tally: &mut RuleTally) {
        let Row {
            line, copy, sent, ..
        } = self.latest;
        let mut causality = tally.at(Rule::Causality, row.line);
        let found = format_args!("packet {} copy {}", row.packet, row.copy);
        let expected = format_args!("copy {} after the one on line {line}", copy + 1);
        causality.check(row.copy == copy + 1, found, expected);
        // A timeout may coincide once with the ACK that triggered the previous transmission. Next to a proxy a loss
        // is known without delay.
        let at_once = row.sent == sent;
        let beside = head.proxied && head.toward.is_zero() && head.back.is_zero();
        let after = row.sent > sent || at_once && (beside || !self.at_once);
        let expected = format_args!("after {sent}, when the previous copy was sent");
        causality.check(after, format_args!("sent {}", row.sent), expected);
        let expected =
            (row.acked != self.acked).then(|| format!("{} as on line {line}", words(self.acked)));
        let found = format_args!("packet {} acked {}", row.packet, words(row.acked));
        tally.at(Rule::Acked, row.line).record(found, expected);
        (self.at_once, self.latest) = (at_once, *row);
    }
}
