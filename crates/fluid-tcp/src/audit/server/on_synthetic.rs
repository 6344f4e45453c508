//! Rules `slots` and `early` on a synthetic link: services in a row, each of the exact length.

use tmt_core::types::Time;

use super::{Served, Server};
use crate::audit::finding::Finding;
use crate::audit::head::ServiceTime;
use crate::audit::report::{Rule, RuleTally};
use crate::audit::row::Service;

impl Server<'_> {
    /// Services are numbered 0, 1, 2 …
    pub(super) fn check_ordinal(&self, served: &Served, tally: &mut RuleTally) {
        let Service { first, last, .. } = served.service;
        let next = self.services;
        let holds = first == next && last == next;
        tally.check(Rule::Slots, served.line, holds, || {
            let found = format!("services {first} to {last}");
            Finding::new(found, format!("service {next}"))
        });
    }

    /// A packet is served as soon as it can be, at the link's rate, and arrives.
    pub(super) fn check_rate(
        &mut self,
        served: &Served,
        at_head: Time,
        exact: ServiceTime,
        tally: &mut RuleTally,
    ) {
        let Service { start, end, .. } = served.service;
        let mut early = tally.at(Rule::Early, served.line);
        let why = ", when it reached the head of the queue";
        early.exactly("service_start", start, at_head, why);
        let ends = [exact.floor, exact.ceil].map(|span| start.saturating_add(span));
        early.check(ends.contains(&end), || {
            let expected = format!("{} or {}", ends[0], ends[1]);
            Finding::new(format!("service_end {end}"), expected)
        });
        self.check_arrival(served, end.saturating_add(self.head.forward), tally);
    }
}
