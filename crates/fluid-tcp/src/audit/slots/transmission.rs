//! One transmission of a packet: checks its row against its slots.

use std::collections::BTreeMap;

use tmt_core::types::Time;

use super::History;
use super::codeword::Codeword;
use super::order::Order;
use super::row::{Kind, Unit};
use crate::audit::report::{Rule, RuleTally};
use crate::audit::row::{Fate, Row, Service};

/// A transmission in the queue or on the link.
#[derive(Debug)]
pub(in crate::audit) struct Transmission {
    pub(super) row: Row,
    /// First and last slot with a unit other than a repeat.
    seen: Option<Service>,
    /// Number of units other than repeats.
    units: u64,
    /// Number of data units.
    data: u64,
    codewords: BTreeMap<u64, Codeword>,
    /// Time of its latest unit.
    pub(super) latest: Option<Time>,
}

impl Transmission {
    pub(super) fn new(row: Row) -> Self {
        Self {
            row,
            seen: None,
            units: 0,
            data: 0,
            codewords: BTreeMap::new(),
            latest: None,
        }
    }

    /// Processes its next unit.
    pub(super) fn on_unit(&mut self, unit: &Unit, history: &History, tally: &mut RuleTally) {
        self.latest = Some(unit.at);
        self.data += u64::from(unit.kind == Kind::Data);
        if unit.kind != Kind::Repeat {
            self.units += 1;
            let seen = self.seen.get_or_insert(Service {
                start: unit.at,
                end: unit.at,
                first: unit.slot,
                last: unit.slot,
            });
            (seen.end, seen.last) = (unit.at, unit.slot);
        }
        if let Some(codeword) = self.codewords.get_mut(&unit.codeword) {
            codeword.on_unit(unit, history, tally);
        } else {
            let codeword = Codeword::begin(unit, history, tally);
            self.codewords.insert(unit.codeword, codeword);
        }
    }

    /// Checks its row against its slots, and takes its turn in in-order delivery: when its data arrives, or with the slot
    /// that lost it. No unit of it follows, or all slots up to `known` have been processed.
    pub(super) fn settle(
        &self,
        history: &History,
        known: Time,
        order: Option<&mut Order>,
        tally: &mut RuleTally,
    ) {
        self.check_service(history, known, tally);
        let codewords = self.codewords.values();
        let times: Option<Vec<Time>> = codewords.map(|it| it.complete(history)).collect();
        let complete = times.and_then(|times| times.into_iter().max());
        self.check_delivery(complete, history, tally);
        if self.row.fate == Fate::Link {
            let mut repeats = tally.at(Rule::Repeats, self.row.line);
            let expected = "a codeword that failed in the last attempt of the scheme";
            repeats.check(self.has_failed(history), "lost on the link", expected);
        }
        self.check_leaving(complete, history, tally);
        if let (Some(order), Some(seen), Some(latest)) = (order, self.seen, self.latest) {
            let at = complete.unwrap_or(latest);
            let at = at.saturating_add(history.head.forward);
            order.ends(seen.first, self.row, at, tally);
        }
    }

    /// Checks slots and times of its service.
    fn check_service(&self, history: &History, known: Time, tally: &mut RuleTally) {
        let line = self.row.line;
        let words = |service: Option<Service>| {
            let slots = |service: Service| format!("slots {} to {}", service.first, service.last);
            service.map_or("no slot".to_owned(), slots)
        };
        let (found, expected) = (words(self.row.service), words(self.seen));
        let mut slots = tally.at(Rule::Slots, line);
        if let (Some(service), Some(seen)) = (self.row.service, self.seen) {
            // Slots after the end of the run are not in the log.
            let over = service.end <= known;
            let whole = over && self.row.delivered.is_some();
            let same = service.last == seen.last || service.last > seen.last && !over;
            slots.check(service.first == seen.first && same, found, expected);
            if whole {
                let (data, units) = history.head.units(self.row.size);
                let found = format_args!("{} slots of first transmissions", self.units);
                let expected = format_args!("{units} per packet");
                slots.check(self.units == units, found, expected);
                let data = data.unwrap_or(self.data);
                let found = format_args!("{} data units", self.data);
                slots.check(self.data == data, found, data);
            }
            // The service of a packet that is lost early ends in the slot that lost it. A loss may still be logged as open:
            // if feedback can be lost, or if the run ended before it was known, or before the slot that lost it.
            let is_lost = match self.row.fate {
                Fate::Open => {
                    !over || history.head.feedback_timer.is_some() || self.has_failed(history)
                }
                fate => fate == Fate::Link,
            };
            let later = service.end > seen.end && (service.last > seen.last || is_lost);
            let ends = service.end == seen.end || later && !whole;
            let words = |service: Service| format!("service {} to {}", service.start, service.end);
            let mut early = tally.at(Rule::Early, line);
            let holds = service.start == seen.start && ends;
            early.check(holds, words(service), words(seen));
        } else {
            // A service that begins after the last known slot is not in the slot log.
            let not_logged = self.row.service.is_some_and(|it| it.start > known);
            let neither = self.row.service.is_none() && self.seen.is_none();
            slots.check(neither || not_logged, found, expected);
        }
    }

    /// Whether a codeword failed in the last attempt of the scheme.
    fn has_failed(&self, history: &History) -> bool {
        self.codewords.values().any(|codeword| {
            history.last_attempt() == Some(codeword.attempt())
                && codeword.complete(history).is_none()
        })
    }

    /// Checks that a delivery has its data and, if it waits for nothing else, happens when the data is complete.
    fn check_delivery(&self, complete: Option<Time>, history: &History, tally: &mut RuleTally) {
        let Some(at) = self.row.delivered else { return };
        let mut early = tally.at(Rule::Early, self.row.line);
        for (number, codeword) in &self.codewords {
            let received = codeword.complete(history).is_some();
            let expected = format_args!("no delivery, because codeword {number} was not received");
            early.check(received, format_args!("delivered {at}"), expected);
        }
        let Some(complete) = complete else {
            return;
        };
        let arrives = complete.saturating_add(history.head.forward);
        let why = ", when its data is complete according to the slots";
        match (history.head.feedback_timer, history.head.in_order) {
            // Repeats may have been unnecessary.
            (Some(_), _) => early.not_before("delivered", at, arrives, why),
            (None, None) => early.exactly("delivered", at, arrives, why),
            // It waits for its turn: `Order::ends` checks it.
            (None, Some(_)) => {}
        }
    }

    /// Checks when the packet leaves a buffer that keeps it until the link has acknowledged it: after the feedback for
    /// its last unit, and a round trip after its data was complete.
    fn check_leaving(&self, complete: Option<Time>, history: &History, tally: &mut RuleTally) {
        let head = &history.head;
        let is_known = head.keeps && head.feedback_timer.is_none() && self.row.fate != Fate::Open;
        if let (true, Some(left), Some(latest)) = (is_known, self.row.left, self.latest) {
            let heard = latest.saturating_add(head.heard());
            let rtt = head.forward.saturating_add(head.feedback);
            let complete = complete.filter(|_| self.row.delivered.is_some());
            let leaves = complete.map_or(heard, |at| heard.max(at.saturating_add(rtt)));
            let why = ", when the link has acknowledged it";
            let mut queue = tally.at(Rule::Queue, self.row.line);
            queue.exactly("left", left, leaves, why);
        }
    }
}
