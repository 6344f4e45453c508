//! Rules `slots` and `early` on a synthetic link: services in a row, each of the exact length.

use tmt_core::types::Time;

use super::{Served, Server};
use crate::audit::head::ServiceTime;
use crate::audit::refusal::Refusal;
use crate::audit::report::{Ledger, Rule};
use crate::audit::row::Service;

impl Server<'_> {
    /// Services are numbered 0, 1, 2 …
    pub(super) fn check_ordinal(&self, served: &Served, ledger: &mut Ledger) {
        let Service { first, last, .. } = served.service;
        ledger.check(
            Rule::Slots,
            served.line,
            (first, last) == (self.services, self.services),
            || {
                Refusal::new(
                    format!("services {first} to {last}"),
                    format!("service {}", self.services),
                )
            },
        );
    }

    /// A packet is served as soon as it can be, at the link's rate, and arrives.
    pub(super) fn check_rate(
        &mut self,
        served: &Served,
        at_head: Time,
        exact: ServiceTime,
        ledger: &mut Ledger,
    ) {
        let Service { start, end, .. } = served.service;
        ledger.check(Rule::Early, served.line, start == at_head, || {
            let expected = format!("{at_head}, when it reached the head of the queue");
            Refusal::new(format!("service_start {start}"), expected)
        });
        let ends = [exact.floor, exact.ceil].map(|span| start.saturating_add(span));
        ledger.check(Rule::Early, served.line, ends.contains(&end), || {
            Refusal::new(
                format!("service_end {end}"),
                format!("{} or {}", ends[0], ends[1]),
            )
        });
        self.check_arrival(served, end.saturating_add(self.head.forward), ledger);
    }
}
