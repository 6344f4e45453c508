//! Rules `slots` and `early` on a timeline: what the log alone shows, and what the timeline itself says.

use tmt_core::Result;
use tmt_core::types::Time;

use super::{Served, Server};
use crate::audit::finding::Finding;
use crate::audit::report::{Rule, RuleTally};
use crate::audit::row::{Fate, Service};

impl Server<'_> {
    /// What holds on every timeline: no service before its turn, and decoding takes at least 1 ns.
    pub(super) fn check_bounds(&self, served: &Served, at_head: Time, tally: &mut RuleTally) {
        let start = served.service.start;
        let why = ", when it reached the head of the queue";
        let mut early = tally.at(Rule::Early, served.line);
        early.not_before("service_start", start, at_head, why);
        self.check_earliest(served, served.service.end, tally);
    }

    /// LLDUs of the right number, none of them used before.
    pub(super) fn check_lldus(&self, served: &Served, lldus: u64, tally: &mut RuleTally) -> bool {
        let Service { first, last, .. } = served.service;
        let found = || format!("LLDUs {first} to {last}");
        let whole = last >= first && last - first == lldus - 1;
        let mut slots = tally.at(Rule::Slots, served.line);
        slots.check(whole, || Finding::new(found(), format!("{lldus} LLDUs")));
        let unused = slots.check(first >= self.unused, || {
            let used = format!(
                "none below {}, which packets served before used",
                self.unused
            );
            Finding::new(found(), used)
        });
        whole && unused
    }

    /// Before which time a packet sent from `start` to `end` is not delivered where deliveries are moved apart: its
    /// LLDUs' span and one slot after the delivery before (papers/001 Figs 3–4).
    fn turn(&self, start: Time, end: Time) -> Option<Time> {
        let service = end.since(start).saturating_add(self.head.shift?);
        let before = self.latest.map(|latest| latest.saturating_add(service));
        Some(before.unwrap_or(Time::ZERO))
    }

    /// Deliveries that are moved apart, by the log alone where there is no timeline to tell more.
    pub(super) fn check_apart(&mut self, served: &Served, tally: &mut RuleTally) {
        let Service { start, end, .. } = served.service;
        if let (Some(at), None) = (served.fate.delivered(), &self.timeline)
            && let Some(turn) = self.turn(start, end)
        {
            let why = ", a service time after the one before";
            let mut early = tally.at(Rule::Early, served.line);
            early.not_before("delivered", at, turn, why);
            self.latest = Some(at);
        }
    }

    /// Holds a service whose LLDUs are in order against the timeline, where there is one.
    pub(super) fn check_stretch(
        &mut self,
        served: &Served,
        at_head: Time,
        tally: &mut RuleTally,
    ) -> Result<()> {
        let Some(timeline) = &mut self.timeline else {
            return Ok(());
        };
        let Service {
            start,
            end,
            first,
            last,
        } = served.service;
        let line = served.line;
        let stretch = timeline.stretch(first, last)?;
        let on_timeline = stretch.ok_or_else(|| {
            Finding::new(
                format!("LLDUs {first} to {last}"),
                "LLDUs that the timeline has",
            )
        });
        let Some(stretch) = tally.take(Rule::Early, line, on_timeline) else {
            return Ok(());
        };

        let mut early = tally.at(Rule::Early, line);
        for (name, found, expected, lldu) in [
            ("service_start", start, stretch.start, first),
            ("service_end", end, stretch.end, last),
        ] {
            early.exactly(
                name,
                found,
                expected,
                format_args!(", the time of LLDU {lldu}"),
            );
        }
        // Times never go back, so if any free LLDU was passed over, the one just before was.
        let used = self.previous.map(|previous| previous.last);
        let was_free = first > used.map_or(0, |used| used.saturating_add(1));
        let passed_over = stretch.before.filter(|at| was_free && *at >= at_head);
        early.check(passed_over.is_none(), || {
            let found = format!("first LLDU {first} for a packet that could go from {at_head}");
            let free = passed_over
                .map(|at| format!("the first free one; LLDU {} at {at} was free", first - 1));
            Finding::new(found, free.unwrap_or_default())
        });
        let open = matches!(served.fate, Fate::Open { .. });
        if !open || stretch.arrival.is_some() {
            let lost = matches!(served.fate, Fate::LostOnLink { .. });
            early.check(lost == stretch.arrival.is_none(), || {
                let words = |lost| {
                    if lost {
                        "lost on the link"
                    } else {
                        "not lost on the link"
                    }
                };
                Finding::new(words(lost), format!("{}, by its LLDUs", words(!lost)))
            });
        }
        if let Some(arrival) = stretch.arrival {
            let there = arrival.saturating_add(self.head.forward);
            let arrives = match self.turn(stretch.start, stretch.end) {
                Some(turn) => *self.latest.insert(there.max(turn)),
                None => there,
            };
            self.check_arrival(served, arrives, tally);
        }
        Ok(())
    }
}
