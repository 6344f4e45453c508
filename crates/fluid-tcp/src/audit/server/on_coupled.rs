//! Rules `slots` and `early` on a coupled link, as far as a log tells: which slots repeats took, it does not.
//!
//! A row's slots go from the one of its first unit to that of its last, first transmissions only. Without interleaving
//! those of two packets do not overlap; with it they may, and only their beginnings are in order.

use super::{Served, Server};
use crate::audit::finding::Finding;
use crate::audit::report::{Rule, RuleTally};
use crate::audit::row::Service;

impl Server<'_> {
    /// As many slots as a delivered packet has units, and none of another packet.
    pub(super) fn check_slots(
        &self,
        served: &Served,
        units: u64,
        interleave: u64,
        tally: &mut RuleTally,
    ) {
        let Service { first, last, .. } = served.service;
        let found = || format!("slots {first} to {last}");
        let mut slots = tally.at(Rule::Slots, served.line);
        let delivered = served.fate.delivered().is_some();
        let least = if delivered { units } else { 1 };
        let room = last >= first && last - first >= least - 1;
        slots.check(room, || {
            Finding::new(found(), format!("at least {least} slots"))
        });
        let taken = self.previous.map(|previous| match interleave {
            1 => previous.last,
            _ => previous.first,
        });
        let behind = taken.map_or(0, |taken| taken.saturating_add(1));
        slots.check(first >= behind, || {
            let expected = format!("none below {behind}, which packets served before used");
            Finding::new(found(), expected)
        });
    }

    /// No service before its turn, and no delivery before the last data unit can have arrived.
    pub(super) fn check_order(&self, served: &Served, tally: &mut RuleTally) {
        let (start, enqueued) = (served.service.start, served.arrived.enqueued);
        let turn = self
            .previous
            .map_or(enqueued, |previous| previous.start.max(enqueued));
        let why = ", when it could be served";
        let mut early = tally.at(Rule::Early, served.line);
        early.not_before("service_start", start, turn, why);
        self.check_earliest(served, start, tally);
    }
}
