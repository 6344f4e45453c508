//! Rules `slots` and `early` on a timeline: checks of the log alone, and checks against the timeline.

use tmt_core::Result;
use tmt_core::types::Time;

use super::{Served, Server};
use crate::audit::finding::Finding;
use crate::audit::report::{Rule, RuleTally};
use crate::audit::row::{Fate, Service};

impl Server<'_> {
    /// Checks that the packet has the right number of unused LLDUs and is not served before it is at the head of the
    /// queue, and that decoding takes at least 1 ns.
    pub(super) fn check_lldus(&mut self, served: &Served, tally: &mut RuleTally) -> Result<()> {
        let row = &served.row;
        let (need, room) = self.head.lldus(row.size);
        let Service { start, end, .. } = served.service;
        let Service { first, last, .. } = served.service;
        let at_head = self.at_head(served.enqueued);
        let found = format_args!("LLDUs {first} to {last}");
        let mut slots = tally.at(Rule::Slots, row.line);
        // The rest of the last LLDU of the previous packet belongs to a packet that was at the gateway by then.
        let rest_of = self.previous.filter(|previous| {
            let has_room = self.filled < room && previous.last.checked_add(1) == Some(self.unused);
            has_room && served.enqueued <= previous.end
        });
        let offset = rest_of.map_or(0, |_| self.filled);
        let bytes_end = offset.saturating_add(need);
        let lldus = bytes_end.div_ceil(room);
        let whole = last >= first && last - first == lldus - 1;
        slots.check(whole, found, format_args!("{lldus} LLDUs"));
        let unused = self.unused;
        let (is_free, expected) = if let Some(previous) = rest_of {
            let (last, left) = (previous.last, room - offset);
            let expected = format!("from {last}, of which the previous packet left {left} B");
            (first == last, expected)
        } else {
            let expected = format!("none below {unused}, because earlier packets used those");
            (first >= unused, expected)
        };
        slots.check(is_free, found, expected);
        self.filled = (bytes_end - 1) % room + 1;
        let why = ", when it reached the head of the queue";
        let mut early = tally.at(Rule::Early, row.line);
        early.not_before("service_start", start, at_head, why);
        self.check_earliest(row, end, tally);
        // Deliveries that are kept apart, by the log alone if there is no timeline.
        if let (Some(at), None) = (row.delivered, &self.timeline)
            && let Some(turn) = self.turn(start, end)
        {
            let why = ", one service time after the previous delivery";
            let mut early = tally.at(Rule::Early, row.line);
            early.not_before("delivered", at, turn, why);
            self.latest = Some(at);
        }
        if whole && is_free {
            self.check_against_timeline(served, at_head, tally)?;
            self.unused = last + 1;
        }
        Ok(())
    }

    /// Earliest delivery of a packet sent from `start` to `end` with `--overlap shift`: the time that its LLDUs span plus
    /// one slot after the previous delivery (CLIFT 2014, Fig. 3 and 4).
    fn turn(&self, start: Time, end: Time) -> Option<Time> {
        let service = end.since(start).saturating_add(self.head.shift?);
        let before = self.latest.map(|latest| latest.saturating_add(service));
        Some(before.unwrap_or(Time::ZERO))
    }

    /// Checks a service against the timeline, if there is one.
    fn check_against_timeline(
        &mut self,
        served: &Served,
        at_head: Time,
        tally: &mut RuleTally,
    ) -> Result<()> {
        let Some(timeline) = &mut self.timeline else {
            return Ok(());
        };
        let (row, service) = (&served.row, served.service);
        let Service { first, last, .. } = service;
        let range = timeline.range(first, last)?;
        let mut early = tally.at(Rule::Early, row.line);
        let Some(range) = early.take(range.ok_or_else(|| {
            let found = format_args!("LLDUs {first} to {last}");
            Finding::new(found, "LLDUs that the timeline has")
        })) else {
            return Ok(());
        };
        let of = |lldu: u64| format!(", the time of LLDU {lldu}");
        early.exactly("service_start", service.start, range.start, of(first));
        early.exactly("service_end", service.end, range.end, of(last));
        // Times never go back, so if any free LLDU was skipped, the one before the first was.
        let used = self.previous.map(|previous| previous.last);
        let was_free = first > used.map_or(0, |used| used.saturating_add(1));
        let passed_over = range.before.filter(|at| was_free && *at >= at_head);
        let found = format_args!("first LLDU {first} for a packet that was ready at {at_head}");
        let free = passed_over
            .map(|at| format!("the first free LLDU; LLDU {} at {at} was free", first - 1));
        early.record(found, free);
        let lost = range.arrival.is_none();
        if row.fate != Fate::Open || !lost {
            let (is, ought) = if lost { ("not ", "") } else { ("", "not ") };
            let found = format_args!("{is}lost on the link");
            let expected = format_args!("{ought}lost on the link, according to its LLDUs");
            early.check((row.fate == Fate::Link) == lost, found, expected);
        }
        if let Some(arrival) = range.arrival {
            let there = arrival.saturating_add(self.head.forward);
            let arrives = match self.turn(range.start, range.end) {
                Some(turn) => *self.latest.insert(there.max(turn)),
                None => there,
            };
            self.check_arrival(row, arrives, tally);
        }
        Ok(())
    }
}
