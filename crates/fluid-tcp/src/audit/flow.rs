//! One flow's sender and receiver: rules `causality` and `acked`.
//!
//! For hackers: a packet is kept until a row sent after its ACK has been read. No later row can then
//! be a copy that the ACK answers, so the packet is settled, in packet order, and forgotten.

use std::collections::BTreeMap;

use tmt_core::types::{Span, Time};

use super::finding::Finding;
use super::head::Head;
use super::report::{Rule, RuleTally};
use super::row::{Fate, Row};
use super::totals::Counts;

/// A packet that is not settled.
#[derive(Debug)]
struct Packet {
    /// Line of the latest copy.
    line: u64,
    copies: u64,
    last_sent: Time,
    /// Whether the copy before that was sent at the same instant.
    at_once: bool,
    first_delivery: Option<Time>,
    /// When who answers the sender had it.
    taken: Option<Time>,
    acked: Option<Time>,
}

/// The first packet of a flow of which something is not true, if there is one.
type Missing = Option<u64>;

/// One flow of the log.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// The packet whose first copy comes next.
    next: u64,
    packets: BTreeMap<u64, Packet>,
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
            tally.check(Rule::Causality, row.line, row.sent <= acked, || {
                Finding::new(
                    format!("sent {}", row.sent),
                    format!("not after the packet's ACK, {acked}"),
                )
            });
        }
        let known = self.packets.get_mut(&row.packet);
        let is_duplicate = matches!(row.fate, Fate::Duplicate);
        if is_duplicate || known.is_none() {
            let taken = known.as_ref().and_then(|packet| packet.taken);
            let had = taken.zip(row.enqueued).is_some_and(|(at, now)| at <= now);
            tally.check(Rule::Story, row.line, !is_duplicate || had, || {
                let found = format!("packet {} copy {} a duplicate", row.packet, row.copy);
                Finding::new(found, "a copy that the proxy took in before")
            });
        }
        if let Some(packet) = known {
            packet.on_copy(row, head, tally);
            let delivered = row.fate.delivered();
            let again = delivered.is_some() && packet.first_delivery.is_some();
            self.counts.duplicates_received += u64::from(again);
            let earlier = |one: Option<Time>, other| one.into_iter().chain(other).min();
            packet.first_delivery = earlier(packet.first_delivery, delivered);
            packet.taken = earlier(packet.taken, taken(row, head));
        } else {
            self.on_new_packet(row, head, tally);
        }
        self.settle(now, head.back, tally);
    }

    /// Settles what is left when the log has ended.
    pub(super) fn finish(mut self, head: &Head, tally: &mut RuleTally) -> Counts {
        while let Some((number, packet)) = self.packets.pop_first() {
            self.judge(number, &packet, head.back, tally);
        }
        self.counts
    }

    /// Packets kept.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.packets.len()
    }

    fn on_new_packet(&mut self, row: &Row, head: &Head, tally: &mut RuleTally) {
        if row.packet < self.settled {
            tally.check(Rule::Causality, row.line, false, || {
                let found = format!("packet {} sent {}", row.packet, row.sent);
                Finding::new(found, "no copy after the ACK that earlier rows tell")
            });
            self.counts.duplicates_received += u64::from(row.fate.delivered().is_some());
            return;
        }
        let is_next = (row.packet, row.copy) == (self.next, 1);
        tally.check(Rule::Causality, row.line, is_next, || {
            let found = format!(
                "packet {} copy {}, of which no copy was sent before",
                row.packet, row.copy
            );
            Finding::new(
                found,
                format!("packet {} copy 1 as the next new one", self.next),
            )
        });
        self.next = self.next.max(row.packet + 1);
        let packet = Packet {
            line: row.line,
            copies: row.copy,
            last_sent: row.sent,
            at_once: false,
            first_delivery: row.fate.delivered(),
            taken: taken(row, head),
            acked: row.acked,
        };
        self.packets.insert(row.packet, packet);
    }

    /// Settles packets in order while all copies their ACK can answer are known.
    fn settle(&mut self, now: Time, back: Span, tally: &mut RuleTally) {
        while let Some(first) = self.packets.first_entry()
            && first.get().acked.is_some_and(|acked| acked < now)
        {
            let (number, packet) = first.remove_entry();
            self.judge(number, &packet, back, tally);
        }
    }

    fn judge(&mut self, number: u64, packet: &Packet, back: Span, tally: &mut RuleTally) {
        // Packets that were never sent were neither received nor acknowledged.
        let unsent = (number > self.settled).then_some(self.settled);
        let miss = |missing: &mut Missing, is_missing: bool| {
            *missing = missing.or(unsent).or(is_missing.then_some(number));
        };
        miss(&mut self.not_received, packet.first_delivery.is_none());
        miss(&mut self.not_taken, packet.taken.is_none());
        self.settled = number + 1;
        self.taken_by = self.taken_by.max(packet.taken.unwrap_or(Time::ZERO));
        self.counts.packets_delivered_in_order += u64::from(self.not_received.is_none());
        let Some(acked) = packet.acked else {
            miss(&mut self.not_acked, true);
            return;
        };
        miss(&mut self.not_acked, false);
        let earliest = self.taken_by.saturating_add(back);
        let mut rule = tally.at(Rule::Acked, packet.line);
        let found = || format!("packet {number} acked {acked}");
        rule.check(self.not_taken.is_none() && acked >= earliest, || {
            let expected = match self.not_taken {
                None => format!(
                    "not before {earliest}, when an ACK of packets 0 to {number} can be back"
                ),
                Some(missing) => format!("no ACK, as packet {missing} was never received"),
            };
            Finding::new(found(), expected)
        });
        rule.check(self.not_acked.is_none() && acked >= self.acked_by, || {
            let expected = match self.not_acked {
                None => format!("not before an earlier packet's ACK, {}", self.acked_by),
                Some(missing) => format!("no ACK, as packet {missing} before it has none"),
            };
            Finding::new(found(), expected)
        });
        self.acked_by = self.acked_by.max(acked);
    }
}

/// When who answers the sender had the copy: the receiver, or a proxy that had room for it.
fn taken(row: &Row, head: &Head) -> Option<Time> {
    if head.proxied {
        row.enqueued.filter(|_| row.fate.is_taken())
    } else {
        row.fate.delivered()
    }
}

impl Packet {
    /// Takes a further copy, all but its delivery.
    fn on_copy(&mut self, row: &Row, head: &Head, tally: &mut RuleTally) {
        let mut causality = tally.at(Rule::Causality, row.line);
        causality.check(row.copy == self.copies + 1, || {
            let found = format!("packet {} copy {}", row.packet, row.copy);
            let next = self.copies + 1;
            Finding::new(
                found,
                format!("copy {next} after the one on line {}", self.line),
            )
        });
        // A timeout may fall into the instant at which an acknowledgement let the copy before out, but once; beside a
        // proxy no time passes until a loss is known.
        let at_once = row.sent == self.last_sent;
        let beside = head.proxied && head.toward.is_zero() && head.back.is_zero();
        let after = row.sent > self.last_sent || at_once && (beside || !self.at_once);
        causality.check(after, || {
            let expected = format!("after the copy before, {}", self.last_sent);
            Finding::new(format!("sent {}", row.sent), expected)
        });
        self.at_once = at_once;
        tally.check(Rule::Acked, row.line, row.acked == self.acked, || {
            let words = |acked: Option<Time>| acked.map_or("never".to_owned(), |at| at.to_string());
            let found = format!("packet {} acked {}", row.packet, words(row.acked));
            Finding::new(
                found,
                format!("{} as on line {}", words(self.acked), self.line),
            )
        });
        self.copies = row.copy;
        self.last_sent = row.sent;
        self.line = row.line;
    }
}
