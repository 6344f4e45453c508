//! Rules `slots` and `early` on a coupled link, as far as a log tells: which slots repeats took, it does not.
//!
//! A row's slots go from the one of its first unit to that of its last, first transmissions only. Without interleaving
//! those of two packets do not overlap; with it they may, and only their beginnings are in order.

use tmt_core::types::Span;

use super::{Served, Server};
use crate::audit::refusal::Refusal;
use crate::audit::report::{Ledger, Rule};
use crate::audit::row::{Fate, Service};

impl Server<'_> {
    /// As many slots as a delivered packet has units, and none of another packet.
    pub(super) fn check_slots(
        &self,
        served: &Served,
        units: u64,
        interleave: u64,
        ledger: &mut Ledger,
    ) {
        let Service { first, last, .. } = served.service;
        let found = || format!("slots {first} to {last}");
        let delivered = matches!(served.fate, Fate::Delivered { .. });
        let least = if delivered { units } else { 1 };
        let room = last >= first && last - first >= least - 1;
        ledger.check(Rule::Slots, served.line, room, || {
            Refusal::new(found(), format!("at least {least} slots"))
        });
        let behind = self.previous.map_or(0, |previous| {
            let taken = if interleave == 1 {
                previous.last
            } else {
                previous.first
            };
            taken.saturating_add(1)
        });
        ledger.check(Rule::Slots, served.line, first >= behind, || {
            Refusal::new(
                found(),
                format!("none below {behind}, which packets served before used"),
            )
        });
    }

    /// No service before its turn, and no delivery before the last data unit can have arrived.
    pub(super) fn check_order(&self, served: &Served, ledger: &mut Ledger) {
        let Service { start, .. } = served.service;
        let turn = self.previous.map_or(served.enqueued, |previous| {
            previous.start.max(served.enqueued)
        });
        ledger.check(Rule::Early, served.line, start >= turn, || {
            let expected = format!("not before {turn}, when it could be served");
            Refusal::new(format!("service_start {start}"), expected)
        });
        if let Some(at) = served.fate.delivered() {
            let shortest = self
                .head
                .forward
                .saturating_add(Span::from_nanos(1).unwrap_or(Span::ZERO));
            let earliest = start.saturating_add(shortest);
            ledger.check(Rule::Early, served.line, at >= earliest, || {
                Refusal::new(format!("delivered {at}"), format!("not before {earliest}"))
            });
        }
    }
}
