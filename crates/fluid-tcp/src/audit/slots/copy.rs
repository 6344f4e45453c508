//! One copy of a packet: what its slots tell, held against its row.

use std::collections::BTreeMap;

use tmt_core::types::Time;

use super::Rules;
use super::codeword::{Attempt, Codeword};
use super::row::{Kind, Unit};
use crate::audit::head::{Head, Link};
use crate::audit::refusal::Refusal;
use crate::audit::report::{Ledger, Place, Rule};
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
    pub(super) fn on_unit(
        &mut self,
        unit: &Unit,
        before: &Attempt,
        rules: &Rules,
        ledger: &mut Ledger,
    ) {
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
            codeword.on_unit(unit, before, rules, ledger);
        } else {
            let codeword = Codeword::begin(unit, before, ledger);
            self.codewords.insert(unit.codeword, codeword);
        }
    }

    /// Holds its row against the slots, all of which are known up to then.
    pub(super) fn judge(&self, head: &Head, rules: &Rules, known: Time, ledger: &mut Ledger) {
        let service = self.row.fate.service();
        if let (Some(service), Some(seen)) = (service, self.seen) {
            self.check_service(&service, &seen, head, known, ledger);
        } else {
            // One that the log has begin behind the end of the run is not told of.
            let behind = service.is_some_and(|service| service.start > known);
            let neither = service.is_none() && self.seen.is_none();
            ledger.check(Rule::Slots, self.row.line, neither || behind, || {
                Refusal::new(slots(service.as_ref()), slots(self.seen.as_ref()))
            });
        }
        if let Some(at) = self.row.fate.delivered() {
            self.check_delivery(at, head, rules, ledger);
        }
    }

    fn check_service(
        &self,
        service: &Service,
        seen: &Service,
        head: &Head,
        known: Time,
        ledger: &mut Ledger,
    ) {
        let delivered = matches!(self.row.fate, Fate::Delivered { .. });
        // What is sent behind the end of the run is not told of.
        let over = service.end <= known;
        let same = service.first == seen.first && service.last == seen.last;
        let part = service.first == seen.first && service.last >= seen.last && !over;
        ledger.check(Rule::Slots, self.row.line, same || part, || {
            Refusal::new(slots(Some(service)), slots(Some(seen)))
        });
        // What is lost before its last unit ends with what loses it.
        let ends = if delivered && over {
            service.end == seen.end
        } else {
            service.end >= seen.end
        };
        let holds = service.start == seen.start && ends;
        ledger.check(Rule::Early, self.row.line, holds, || {
            let words = |service: &Service| format!("service {} to {}", service.start, service.end);
            Refusal::new(words(service), words(seen))
        });
        if let Link::Coupled {
            units_per_packet, ..
        } = head.link
            && delivered
            && over
        {
            let full = self.units == units_per_packet;
            ledger.check(Rule::Slots, self.row.line, full, || {
                let found = format!("{} slots of first transmissions", self.units);
                Refusal::new(found, format!("{units_per_packet} of a packet"))
            });
        }
    }

    /// A delivery has its data, and where nothing else holds it up comes with the last of it.
    fn check_delivery(&self, at: Time, head: &Head, rules: &Rules, ledger: &mut Ledger) {
        let mut latest = None;
        for (number, codeword) in &self.codewords {
            let complete = codeword.complete(rules);
            ledger.check(Rule::Early, self.row.line, complete.is_some(), || {
                let expected = format!("no delivery, as too little of codeword {number} came");
                Refusal::new(format!("delivered {at}"), expected)
            });
            latest = latest.max(complete);
        }
        let Some(arrives) = latest.map(|latest| latest.saturating_add(head.forward)) else {
            return;
        };
        // Repeats that nobody needed may bring more than decoding had, and earlier ones may be waited for.
        let exact = head.in_order.is_none() && rules.timer.is_none();
        let holds = if exact { at == arrives } else { at >= arrives };
        ledger.check(Rule::Early, Place::from(self.row.line), holds, || {
            let relation = if exact { "" } else { "not before " };
            let expected = format!("{relation}{arrives}, when the slots brought its last data");
            Refusal::new(format!("delivered {at}"), expected)
        });
    }
}

fn slots(service: Option<&Service>) -> String {
    service.map_or_else(
        || "no slot".to_owned(),
        |service| format!("slots {} to {}", service.first, service.last),
    )
}
