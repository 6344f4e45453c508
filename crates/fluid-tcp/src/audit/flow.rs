//! One flow's sender and receiver: rules `causality` and `acked`.
//!
//! For hackers: a packet is kept until a row sent after its ACK has been read. No later row can then
//! be a copy that the ACK answers, so the packet is settled, in packet order, and forgotten.

use std::collections::BTreeMap;

use tmt_core::types::{Span, Time};

use super::head::Head;
use super::refusal::Refusal;
use super::report::{Ledger, Rule};
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
    pub(super) fn on_row(&mut self, row: &Row, now: Time, head: &Head, ledger: &mut Ledger) {
        self.counts.on_row(row);
        if let Some(acked) = row.acked {
            ledger.check(Rule::Causality, row.line, row.sent <= acked, || {
                Refusal::new(
                    format!("sent {}", row.sent),
                    format!("not after the packet's ACK, {acked}"),
                )
            });
        }
        if let Some(packet) = self.packets.get_mut(&row.packet) {
            packet.on_copy(row, head, ledger);
            let duplicate = row.fate.delivered().is_some() && packet.first_delivery.is_some();
            self.counts.duplicates_received += u64::from(duplicate);
            let earlier = |one: Option<Time>, other| one.into_iter().chain(other).min();
            packet.first_delivery = earlier(packet.first_delivery, row.fate.delivered());
            if matches!(row.fate, Fate::Duplicate) {
                let had = packet.taken.zip(row.enqueued);
                let holds = had.is_some_and(|(taken, at)| taken <= at);
                ledger.check(Rule::Story, row.line, holds, || {
                    let found = format!("packet {} copy {} a duplicate", row.packet, row.copy);
                    Refusal::new(found, "a copy that the proxy took in before")
                });
            }
            packet.taken = earlier(packet.taken, taken(row, head));
        } else {
            ledger.check(
                Rule::Story,
                row.line,
                !matches!(row.fate, Fate::Duplicate),
                || {
                    let found = format!("packet {} copy {} a duplicate", row.packet, row.copy);
                    Refusal::new(found, "a copy that the proxy took in before")
                },
            );
            self.on_new_packet(row, head, ledger);
        }
        self.settle(now, head.back, ledger);
    }

    /// Settles what is left when the log has ended.
    pub(super) fn finish(mut self, head: &Head, ledger: &mut Ledger) -> Counts {
        while let Some((number, packet)) = self.packets.pop_first() {
            self.judge(number, &packet, head.back, ledger);
        }
        self.counts
    }

    /// Packets kept.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.packets.len()
    }

    fn on_new_packet(&mut self, row: &Row, head: &Head, ledger: &mut Ledger) {
        if row.packet < self.settled {
            ledger.check(Rule::Causality, row.line, false, || {
                let found = format!("packet {} sent {}", row.packet, row.sent);
                Refusal::new(found, "no copy after the ACK that earlier rows tell")
            });
            self.counts.duplicates_received += u64::from(row.fate.delivered().is_some());
            return;
        }
        ledger.check(
            Rule::Causality,
            row.line,
            (row.packet, row.copy) == (self.next, 1),
            || {
                Refusal::new(
                    format!(
                        "packet {} copy {}, of which no copy was sent before",
                        row.packet, row.copy
                    ),
                    format!("packet {} copy 1 as the next new one", self.next),
                )
            },
        );
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
    fn settle(&mut self, now: Time, back: Span, ledger: &mut Ledger) {
        while let Some(first) = self.packets.first_entry()
            && first.get().acked.is_some_and(|acked| acked < now)
        {
            let (number, packet) = first.remove_entry();
            self.judge(number, &packet, back, ledger);
        }
    }

    fn judge(&mut self, number: u64, packet: &Packet, back: Span, ledger: &mut Ledger) {
        if number > self.settled {
            // Packets that were never sent were neither received nor acknowledged.
            self.not_received.get_or_insert(self.settled);
            self.not_taken.get_or_insert(self.settled);
            self.not_acked.get_or_insert(self.settled);
        }
        self.settled = number + 1;
        if packet.first_delivery.is_none() {
            self.not_received.get_or_insert(number);
        }
        match packet.taken {
            None => _ = self.not_taken.get_or_insert(number),
            Some(at) => self.taken_by = self.taken_by.max(at),
        }
        self.counts.packets_delivered_in_order += u64::from(self.not_received.is_none());
        let Some(acked) = packet.acked else {
            self.not_acked.get_or_insert(number);
            return;
        };
        let earliest = self.taken_by.saturating_add(back);
        ledger.check(Rule::Acked, packet.line, self.not_taken.is_none() && acked >= earliest, || {
            let expected = self.not_taken.map_or_else(
                || format!("not before {earliest}, when an ACK of packets 0 to {number} can be back"),
                |missing| format!("no ACK, as packet {missing} was never received"),
            );
            Refusal::new(format!("packet {number} acked {acked}"), expected)
        });
        ledger.check(
            Rule::Acked,
            packet.line,
            self.not_acked.is_none() && acked >= self.acked_by,
            || {
                let expected = self.not_acked.map_or_else(
                    || format!("not before an earlier packet's ACK, {}", self.acked_by),
                    |missing| format!("no ACK, as packet {missing} before it has none"),
                );
                Refusal::new(format!("packet {number} acked {acked}"), expected)
            },
        );
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
    fn on_copy(&mut self, row: &Row, head: &Head, ledger: &mut Ledger) {
        ledger.check(
            Rule::Causality,
            row.line,
            row.copy == self.copies + 1,
            || {
                let found = format!("packet {} copy {}", row.packet, row.copy);
                Refusal::new(
                    found,
                    format!(
                        "copy {} after the one on line {}",
                        self.copies + 1,
                        self.line
                    ),
                )
            },
        );
        // A timeout may fall into the instant at which an acknowledgement let the copy before out, but once; beside a
        // proxy no time passes until a loss is known.
        let at_once = row.sent == self.last_sent;
        let beside = head.proxied && head.toward.is_zero() && head.back.is_zero();
        let after = row.sent > self.last_sent || at_once && (beside || !self.at_once);
        ledger.check(Rule::Causality, row.line, after, || {
            Refusal::new(
                format!("sent {}", row.sent),
                format!("after the copy before, {}", self.last_sent),
            )
        });
        self.at_once = at_once;
        ledger.check(Rule::Acked, row.line, row.acked == self.acked, || {
            let told = |acked: Option<Time>| {
                acked.map_or_else(|| "never".to_owned(), |acked| acked.to_string())
            };
            let found = format!("packet {} acked {}", row.packet, told(row.acked));
            Refusal::new(
                found,
                format!("{} as on line {}", told(self.acked), self.line),
            )
        });
        self.copies = row.copy;
        self.last_sent = row.sent;
        self.line = row.line;
    }
}
