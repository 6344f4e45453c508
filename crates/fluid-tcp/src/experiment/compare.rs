//! Comparison of both links on one trace or generated channel: the coupled link, and the timeline that `tmt apply` would
//! produce from it.

use std::sync::Arc;

use tmt_core::types::{Note, Span, Time};

use super::chain::timeline_of;
use super::error::{Result, data, refused};
use super::parameters::Experiment;
use super::plan::{CoupledPlan, LinkPlan, Plan, RunId};
use super::storage::{Loaded, Storage};
use super::values::LinkKind;
use crate::simulation::metrics::RunReport;
use crate::simulation::probe::Until;
use tmt_link::apply::AppliedScheme;
use tmt_link::{InOrder, Tail};

/// The plans of the timeline link and the coupled link on the same slots.
#[derive(Debug)]
pub struct Comparison {
    /// Plan over the timeline link.
    pub timeline: Plan,
    /// Plan over the coupled link.
    pub coupled: Plan,
}

impl Experiment {
    /// Resolves an experiment over both links.
    ///
    /// # Errors
    /// As [`Experiment::resolve`].
    pub fn resolve_comparison(&self, storage: &dyn Storage) -> Result<Comparison> {
        self.filled().compare_filled(storage)
    }

    fn compare_filled(&self, storage: &dyn Storage) -> Result<Comparison> {
        let ends = self.ends()?;
        let (mut on_coupled, coupled) = self.coupled_link(storage)?;
        on_coupled.resolved.overlap = None;
        let flows = ends.1.len();
        if coupled.link.in_order == InOrder::Flow && flows > 1 {
            return refused(
                "in_order",
                format!(
                    "`compare_links`: found `in_order` flow with {flows} flows, expected link or off: a timeline has a single order"
                ),
            );
        }
        let mut head = on_coupled.head.clone();
        if let (Some(_), Some(rate)) = (&self.channel, self.rate_of_slots()) {
            head.set("rate_bps", rate.0.to_string());
            head.set("lldu_bytes", coupled.trace.lldu.0.to_string());
        }
        let applied = coupled.applied(on_coupled.rtt);
        applied.describe(&mut head, Some(on_coupled.decode_delay), None);
        // Both links have RTT and rate from the trace itself, and say so alike.
        for key in ["rtt_ns", "slots_per_s"] {
            match on_coupled.head.get(key) {
                Some(value) => head.set(key, value),
                None => head.remove(key),
            }
        }
        let slots = &coupled.for_seed(self.seed().0).trace;
        let (rows, end) = timeline_of(&applied, slots, storage)?;
        let loaded = Loaded {
            name: "the timeline".to_owned(),
            rows,
            head,
            end: Some(end),
            notes: Vec::new(),
        };
        let (mut on_timeline, timeline) = self.link_over(LinkKind::Timeline, loaded, false)?;
        // The slots are the same, and so is the queue.
        on_timeline.rate_bps = on_coupled.rate_bps;
        // Settings of the coupled link do not apply to the timeline link.
        let resolved = &mut on_timeline.resolved;
        (resolved.channel, resolved.rate, resolved.scheme) = (None, None, None);
        (resolved.tail, resolved.in_order, resolved.hold) = (None, None, None);
        resolved.feedback_delay = None;
        if self.channel.is_some() {
            // Every seed has its own timeline, which ends at its own time.
            on_timeline.ends = None;
        }
        let timeline = LinkPlan::Timeline(timeline);
        Ok(Comparison {
            timeline: self.plan(storage, ends.clone(), on_timeline, timeline)?,
            coupled: self.plan(
                storage,
                ends,
                on_coupled,
                LinkPlan::Coupled(Box::new(coupled)),
            )?,
        })
    }
}

impl CoupledPlan {
    /// The scheme of the timeline that `tmt apply` would produce, in the coupled link's order of delivery.
    fn applied(&self, rtt: Span) -> AppliedScheme {
        let scheme = self.link.scheme.clone();
        AppliedScheme {
            scheme: match self.link.in_order {
                InOrder::Off => scheme,
                InOrder::Link | InOrder::Flow => scheme.with_order(),
            },
            rtt,
            feedback_delay: self.link.feedback_delay,
        }
    }
}

impl Comparison {
    /// One run over each link, the timeline link first. Both end where the timeline is no longer usable.
    ///
    /// # Errors
    /// A trace that can no longer be read, or a timeline that cannot be stored.
    pub fn run(&self, run: RunId, storage: &dyn Storage) -> Result<[RunReport; 2]> {
        let (LinkPlan::Coupled(coupled), LinkPlan::Timeline(timeline)) =
            (&self.coupled.link, &self.timeline.link)
        else {
            return Err(data("found one link, expected two to compare"));
        };
        let mut own = timeline.clone();
        if coupled.channel.is_some() {
            let applied = coupled.applied(self.coupled.rtt);
            let slots = &coupled.for_seed(run.seed).trace;
            let (rows, end_line) = timeline_of(&applied, slots, storage)?;
            (own.rows, own.end_line) = (Arc::new(rows), Some(end_line));
            own.find_slots();
        }
        let [mut on_timeline, mut on_coupled] =
            [&self.timeline, &self.coupled].map(|plan| plan.setup(run));
        let usable = own.end_line.map_or(Time::MAX, |end| end.usable_until);
        let usable = usable.max(on_timeline.begin);
        let end = on_timeline.end.min(on_coupled.end).min(usable);
        (on_timeline.end, on_coupled.end) = (end, end);
        let own = LinkPlan::Timeline(own);
        let (timeline, coupled) = (&self.timeline, &self.coupled);
        Ok([
            timeline.run_over(&own, run, &on_timeline, &mut Until(|_| storage.stopped()))?,
            coupled.run_over(
                &coupled.link,
                run,
                &on_coupled,
                &mut Until(|_| storage.stopped()),
            )?,
        ])
    }

    /// Notes to print before the runs: those of the coupled link, then those of the timeline link that differ.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let mut notes = self.coupled.notes.clone();
        let mut others = self.timeline.notes.clone();
        others.retain(|note| !notes.contains(note));
        notes.extend(others);
        if let LinkPlan::Coupled(plan) = &self.coupled.link {
            if plan.link.tail == Tail::Pad {
                notes.push(
                    "tail pad applies to the coupled link only: a timeline has no packets"
                        .to_owned()
                        .into(),
                );
            }
            if plan.channel.is_some() {
                notes.push(
                    "each run ends where its timeline is no longer usable"
                        .to_owned()
                        .into(),
                );
            }
        }
        if self.timeline.end < self.coupled.end {
            notes.push(
                format!(
                    "both links run until {}, where the timeline is no longer usable",
                    self.timeline.end
                )
                .into(),
            );
        }
        notes
    }
}
