//! Rules `slots` and `early` on a timeline: what the log alone shows, and what the timeline itself says.

use tmt_core::Result;
use tmt_core::types::{Span, Time};

use super::{Served, Server};
use crate::audit::head::Head;
use crate::audit::refusal::Refusal;
use crate::audit::report::{Ledger, Rule};
use crate::audit::row::{Fate, Service};

/// What holds on every timeline: no service before its turn, and decoding takes at least 1 ns.
pub(super) fn check_bounds(served: &Served, at_head: Time, head: &Head, ledger: &mut Ledger) {
    let Service { start, end, .. } = served.service;
    ledger.check(Rule::Early, served.line, start >= at_head, || {
        let expected = format!("not before {at_head}, when it reached the head of the queue");
        Refusal::new(format!("service_start {start}"), expected)
    });
    if let Some(at) = served.fate.delivered() {
        let shortest = head
            .forward
            .saturating_add(Span::from_nanos(1).unwrap_or(Span::ZERO));
        let earliest = end.saturating_add(shortest);
        ledger.check(Rule::Early, served.line, at >= earliest, || {
            Refusal::new(format!("delivered {at}"), format!("not before {earliest}"))
        });
    }
}

impl Server<'_> {
    /// LLDUs of the right number, none of them used before.
    pub(super) fn check_lldus(&self, served: &Served, lldus: u64, ledger: &mut Ledger) -> bool {
        let Service { first, last, .. } = served.service;
        let found = || format!("LLDUs {first} to {last}");
        let whole = last >= first && last - first == lldus - 1;
        let whole = ledger.check(Rule::Slots, served.line, whole, || {
            Refusal::new(found(), format!("{lldus} LLDUs"))
        });
        let unused = ledger.check(Rule::Slots, served.line, first >= self.unused, || {
            Refusal::new(
                found(),
                format!(
                    "none below {}, which packets served before used",
                    self.unused
                ),
            )
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
    pub(super) fn check_apart(&mut self, served: &Served, ledger: &mut Ledger) {
        let Service { start, end, .. } = served.service;
        if let (Some(at), None) = (served.fate.delivered(), &self.timeline)
            && let Some(turn) = self.turn(start, end)
        {
            ledger.check(Rule::Early, served.line, at >= turn, || {
                let expected = format!("not before {turn}, a service time after the one before");
                Refusal::new(format!("delivered {at}"), expected)
            });
            self.latest = Some(at);
        }
    }

    /// Holds a service whose LLDUs are in order against the timeline, where there is one.
    pub(super) fn check_stretch(
        &mut self,
        served: &Served,
        at_head: Time,
        ledger: &mut Ledger,
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
            Refusal::new(
                format!("LLDUs {first} to {last}"),
                "LLDUs that the timeline has",
            )
        });
        let Some(stretch) = ledger.take(Rule::Early, line, on_timeline) else {
            return Ok(());
        };

        for (name, found, expected, lldu) in [
            ("service_start", start, stretch.start, first),
            ("service_end", end, stretch.end, last),
        ] {
            ledger.check(Rule::Early, line, found == expected, || {
                Refusal::new(
                    format!("{name} {found}"),
                    format!("{expected}, the time of LLDU {lldu}"),
                )
            });
        }
        // Times never go back, so if any free LLDU was passed over, the one just before was.
        let was_free = first
            > self
                .previous
                .map_or(0, |previous| previous.last.saturating_add(1));
        let passed_over = stretch
            .before
            .filter(|&before| was_free && before >= at_head);
        ledger.check(Rule::Early, line, passed_over.is_none(), || {
            let free = passed_over
                .map(|at| format!("the first free one; LLDU {} at {at} was free", first - 1));
            Refusal::new(
                format!("first LLDU {first} for a packet that could go from {at_head}"),
                free.unwrap_or_default(),
            )
        });

        match (served.fate, stretch.arrival) {
            (Fate::Open { .. }, None) => {}
            (fate, arrival) => {
                let lost = matches!(fate, Fate::LostOnLink { .. });
                ledger.check(Rule::Early, line, lost == arrival.is_none(), || {
                    let words = |lost| {
                        if lost {
                            "lost on the link"
                        } else {
                            "not lost on the link"
                        }
                    };
                    Refusal::new(words(lost), format!("{}, by its LLDUs", words(!lost)))
                });
            }
        }
        if let Some(arrival) = stretch.arrival {
            let there = arrival.saturating_add(self.head.forward);
            let arrives = match self.turn(stretch.start, stretch.end) {
                Some(turn) => *self.latest.insert(there.max(turn)),
                None => there,
            };
            self.check_arrival(served, arrives, ledger);
        }
        Ok(())
    }
}
