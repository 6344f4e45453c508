//! One copy of a packet: what its slots tell, held against its row.

use std::collections::BTreeMap;

use tmt_core::types::Time;

use super::codeword::Codeword;
use super::row::{Kind, Unit};
use super::{History, Rules};
use crate::audit::finding::Finding;
use crate::audit::head::Link;
use crate::audit::report::{Rule, RuleTally};
use crate::audit::row::{Fate, Row, Service};

/// A copy in the queue or on the link.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) row: Row,
    /// Its first transmissions, from the first to the last.
    seen: Option<Service>,
    units: u64,
    codewords: BTreeMap<u64, Codeword>,
    /// Time of the last of its units.
    pub(super) latest: Option<Time>,
}

impl Copy {
    pub(super) fn new(row: &Row) -> Self {
        Self {
            row: *row,
            seen: None,
            units: 0,
            codewords: BTreeMap::new(),
            latest: None,
        }
    }

    /// Takes its next unit.
    pub(super) fn on_unit(&mut self, unit: &Unit, history: &History, tally: &mut RuleTally) {
        self.latest = Some(unit.at);
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

    /// Holds its row against the slots, all of which are known up to then.
    pub(super) fn judge(&self, rules: &Rules, known: Time, tally: &mut RuleTally) {
        let service = self.row.fate.service();
        if let (Some(service), Some(seen)) = (service, self.seen) {
            self.check_service(&service, &seen, rules, known, tally);
        } else {
            // One that the log has begin behind the end of the run is not told of.
            let behind = service.is_some_and(|service| service.start > known);
            let neither = service.is_none() && self.seen.is_none();
            tally.check(Rule::Slots, self.row.line, neither || behind, || {
                Finding::new(slots(service.as_ref()), slots(self.seen.as_ref()))
            });
        }
        if let Some(at) = self.row.fate.delivered() {
            self.check_delivery(at, rules, tally);
        }
    }

    fn check_service(
        &self,
        service: &Service,
        seen: &Service,
        rules: &Rules,
        known: Time,
        tally: &mut RuleTally,
    ) {
        let delivered = matches!(self.row.fate, Fate::Delivered { .. });
        // What is sent behind the end of the run is not told of.
        let over = service.end <= known;
        let same = service.first == seen.first && service.last == seen.last;
        let part = service.first == seen.first && service.last >= seen.last && !over;
        tally.check(Rule::Slots, self.row.line, same || part, || {
            Finding::new(slots(Some(service)), slots(Some(seen)))
        });
        // What is lost before its last unit ends with what loses it.
        let ends = service.end == seen.end || service.end > seen.end && !(delivered && over);
        let holds = service.start == seen.start && ends;
        tally.check(Rule::Early, self.row.line, holds, || {
            let words = |service: &Service| format!("service {} to {}", service.start, service.end);
            Finding::new(words(service), words(seen))
        });
        if let Link::Coupled {
            units_per_packet, ..
        } = rules.head.link
            && delivered
            && over
        {
            let full = self.units == units_per_packet;
            tally.check(Rule::Slots, self.row.line, full, || {
                let found = format!("{} slots of first transmissions", self.units);
                Finding::new(found, format!("{units_per_packet} of a packet"))
            });
        }
    }

    /// A delivery has its data, and where nothing else holds it up comes with the last of it.
    fn check_delivery(&self, at: Time, rules: &Rules, tally: &mut RuleTally) {
        let mut early = tally.at(Rule::Early, self.row.line);
        let mut latest = None;
        for (number, codeword) in &self.codewords {
            let complete = codeword.complete(rules);
            early.check(complete.is_some(), || {
                let expected = format!("no delivery, as too little of codeword {number} came");
                Finding::new(format!("delivered {at}"), expected)
            });
            latest = latest.max(complete);
        }
        let Some(latest) = latest else {
            return;
        };
        let arrives = latest.saturating_add(rules.head.forward);
        let why = ", when the slots brought its last data";
        // Repeats that nobody needed may bring more than decoding had, and earlier ones may be waited for.
        if rules.head.in_order.is_none() && rules.timer.is_none() {
            early.exactly("delivered", at, arrives, why);
        } else {
            early.not_before("delivered", at, arrives, why);
        }
    }
}

fn slots(service: Option<&Service>) -> String {
    service.map_or_else(
        || "no slot".to_owned(),
        |service| format!("slots {} to {}", service.first, service.last),
    )
}
