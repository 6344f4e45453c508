//! One flow's sender and receiver: rules `causality` and `acked`.
//!
//! For hackers: a packet is kept until a row sent after its ACK has been read. No later row can then
//! be a copy that the ACK answers, so the packet is settled, in packet order, and forgotten.

use std::collections::BTreeMap;

use tmt_core::types::{Span, Time};

use super::head::Head;
use super::report::{Rule, RuleTally};
use super::row::{Fate, Row};
use super::totals::Counts;

/// A packet that is not settled.
#[derive(Debug)]
pub(super) struct Packet {
    latest: Row,
    /// Whether the copy before that was sent at the same instant.
    at_once: bool,
    /// When a copy of it was first delivered.
    delivered: Option<Time>,
    /// When who answers the sender had it: the receiver, or a proxy that had room for it.
    taken: Option<Time>,
    /// As its first copy says.
    acked: Option<Time>,
}

/// The first packet of a flow of which something is not true, if there is one.
type Missing = Option<u64>;

/// One flow of the log.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// The packet whose first copy comes next.
    next: u64,
    pub(super) packets: BTreeMap<u64, Packet>,
    /// Packets below are settled.
    settled: u64,
    /// The first settled packet that was never received.
    not_received: Missing,
    /// The first that who answers never had.
    not_taken: Missing,
    /// The first settled packet that was never acknowledged.
    not_acked: Missing,
    /// When who answers had every settled packet.
    taken_by: Time,
    /// The latest ACK of a settled packet.
    acked_by: Time,
    counts: Counts,
}

impl Flow {
    /// Takes the flow's next row; `now` is the latest `sent` of the log.
    pub(super) fn on_row(&mut self, row: &Row, now: Time, head: &Head, tally: &mut RuleTally) {
        self.counts.on_row(row);
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
            let found = format_args!("packet {} copy {} a duplicate", row.packet, row.copy);
            let expected = "a copy that the proxy took in before";
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
        // Packets are settled in order while all copies their ACK can answer are known.
        while let Some(first) = self.packets.first_entry()
            && first.get().acked.is_some_and(|acked| acked < now)
        {
            let (number, packet) = first.remove_entry();
            self.settle(number, &packet, head.back, tally);
        }
    }

    /// Settles what is left when the log has ended.
    pub(super) fn finish(mut self, head: &Head, tally: &mut RuleTally) -> Counts {
        while let Some((number, packet)) = self.packets.pop_first() {
            self.settle(number, &packet, head.back, tally);
        }
        self.counts
    }

    fn on_new_packet(&mut self, row: &Row, taken: Option<Time>, tally: &mut RuleTally) {
        let &Row { packet, copy, .. } = row;
        let mut causality = tally.at(Rule::Causality, row.line);
        if packet < self.settled {
            let found = format_args!("packet {packet} sent {}", row.sent);
            causality.check(false, found, "no copy after the ACK that earlier rows tell");
            self.counts.duplicates_received += u64::from(row.delivered.is_some());
            return;
        }
        let found = format_args!("packet {packet} copy {copy}, of which no copy was sent before");
        let expected = format_args!("packet {} copy 1 as the next new one", self.next);
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

    fn settle(&mut self, number: u64, packet: &Packet, back: Span, tally: &mut RuleTally) {
        // Packets that were never sent were neither received nor acknowledged.
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
        let Some(acked) = packet.acked else {
            return;
        };
        let earliest = self.taken_by.saturating_add(back);
        let mut rule = tally.at(Rule::Acked, packet.latest.line);
        let found = format_args!("packet {number} acked {acked}");
        let early = (acked < earliest).then(|| {
            format!("not before {earliest}, when an ACK of packets 0 to {number} can be back")
        });
        let missing = self.not_taken;
        let missing = missing.map(|it| format!("no ACK, as packet {it} was never received"));
        rule.refuse(found, missing.or(early));
        let early = (acked < self.acked_by)
            .then(|| format!("not before an earlier packet's ACK, {}", self.acked_by));
        let missing = self.not_acked;
        let missing = missing.map(|it| format!("no ACK, as packet {it} before it has none"));
        rule.refuse(found, missing.or(early));
        self.acked_by = self.acked_by.max(acked);
    }
}

impl Packet {
    /// Takes a further copy, all but its delivery.
    fn on_copy(&mut self, row: &Row, head: &Head, tally: &mut RuleTally) {
        let Row {
            line, copy, sent, ..
        } = self.latest;
        let mut causality = tally.at(Rule::Causality, row.line);
        let found = format_args!("packet {} copy {}", row.packet, row.copy);
        let expected = format_args!("copy {} after the one on line {line}", copy + 1);
        causality.check(row.copy == copy + 1, found, expected);
        // A timeout may fall into the instant at which an acknowledgement let the copy before out, but once; beside a
        // proxy no time passes until a loss is known.
        let at_once = row.sent == sent;
        let beside = head.proxied && head.toward.is_zero() && head.back.is_zero();
        let after = row.sent > sent || at_once && (beside || !self.at_once);
        let expected = format_args!("after the copy before, {sent}");
        causality.check(after, format_args!("sent {}", row.sent), expected);
        let words = |acked: Option<Time>| acked.map_or("never".to_owned(), |at| at.to_string());
        let expected =
            (row.acked != self.acked).then(|| format!("{} as on line {line}", words(self.acked)));
        let found = format_args!("packet {} acked {}", row.packet, words(row.acked));
        tally.at(Rule::Acked, row.line).refuse(found, expected);
        (self.at_once, self.latest) = (at_once, *row);
    }
}
