//! Rules `slots` and `early` on a coupled link, and `left` for rule `queue`: what the log shows without the slots.

use super::{Served, Server};
use crate::audit::report::{Rule, RuleTally};
use crate::audit::row::Service;
use tmt_core::types::{Span, Time};

impl Server<'_> {
    /// Checks the slots of a coupled link. A row has the slots of its first and last unit, first transmissions only; the
    /// log does not contain the slots of repeats. Slots of two packets overlap only with interleaving. Then only their
    /// first slots are in order.
    pub(super) fn check_slots(&self, served: &Served, tally: &mut RuleTally) {
        let (_, units) = self.head.units(served.row.size);
        let Service { first, last, .. } = served.service;
        let mut slots = tally.at(Rule::Slots, served.row.line);
        let found = format_args!("slots {first} to {last}");
        let least = served.row.delivered.map_or(1, |_| units);
        let enough = last >= first && last - first >= least - 1;
        slots.check(enough, found, format_args!("at least {least} slots"));
        let taken = self.previous.map(|previous| match self.head.interleave {
            1 => previous.last,
            _ => previous.first,
        });
        let unused = taken.map_or(0, |taken| taken.saturating_add(1));
        let expected = format_args!("none below {unused}, because earlier packets used those");
        slots.check(first >= unused, found, expected);
        let before = self.previous.map_or(Time::ZERO, |previous| previous.start);
        let (start, turn) = (served.service.start, before.max(served.enqueued));
        let mut early = tally.at(Rule::Early, served.row.line);
        let why = ", the earliest time at which it could be served";
        early.not_before("service_start", start, turn, why);
        self.check_earliest(&served.row, start, tally);
    }

    /// Checks when the packet leaves a buffer that keeps it until the link has acknowledged it: at the later of the
    /// feedback for its last unit, and a round trip after its data was complete (docs/schemes.md, Sec. 10.5).
    ///
    /// `has_own_time` says whether its delivery did not wait for an earlier packet. The log does not contain the last
    /// repeat. Without lost feedback a repeat is necessary, so that it is sent before the data is complete, unless the
    /// scheme also sends more than that.
    pub(super) fn check_leaving(&self, served: &Served, has_own_time: bool, tally: &mut RuleTally) {
        let head = &self.head;
        let known = head.keeps && head.feedback_timer.is_none();
        let (Some(left), Some(at), true) = (served.row.left, served.row.delivered, known) else {
            return;
        };
        let Service { start, end, .. } = served.service;
        let heard = |last: Time| last.saturating_add(head.heard());
        let complete = at.saturating_add(head.feedback);
        let latest = complete.max(heard(end));
        let earliest = if has_own_time { latest } else { heard(end) };
        let why = ", when the link can have acknowledged it";
        let mut queue = tally.at(Rule::Queue, served.row.line);
        queue.not_before("left", left, earliest, why);
        // A repeat is sent after the feedback for the first transmission, and a delivery that needs it comes later.
        let is_repeated = at > heard(start).saturating_add(head.forward);
        let latest = match head.scheme {
            _ if !is_repeated => latest,
            Some(scheme) if scheme.last_attempt == Some(1) => latest,
            Some(scheme) if scheme.needs_all => {
                let moment = Span::from_nanos(1).unwrap_or(Span::ZERO);
                let delay = head.feedback_delay.saturating_sub(moment);
                latest.max(complete.saturating_add(delay))
            }
            _ => return,
        };
        let expected = format_args!("not after {latest}{why}");
        queue.check(left <= latest, format_args!("left {left}"), expected);
    }
}
