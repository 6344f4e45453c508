//! `--compare-links`: one trace, or one generated channel, as the coupled link and as the timeline that `tmt apply`
//! would make of it.

use std::sync::Arc;

use fluid_tcp::link::gateway::{InOrder, Tail};
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::NoProbe;
use tmt_core::scheme::SchemeSpec;
use tmt_core::scheme::runner::Walk;
use tmt_core::types::{EndLine, Slot, Span};

use super::super::args::Args;
use super::super::spool::{Collector, Spooled};
use super::link::{Link, link_of};
use super::{CoupledPlan, LinkPlan, Plan, TimelinePlan, Which, ends, finish};
use crate::exit::{Failure, Outcome};

/// The plans of both links.
pub(crate) struct Both {
    pub(crate) timeline: Plan,
    pub(crate) coupled: Plan,
}

/// A run over either link.
pub(crate) struct Pair {
    /// Over the timeline, with the link it ran over.
    pub(crate) timeline: (RunReport, LinkPlan),
    pub(crate) coupled: RunReport,
}

/// What does not go with a comparison.
fn check(args: &Args) -> Outcome {
    let refused = [
        ("--packets", args.packets.is_some()),
        ("--slots", args.slots.is_some()),
        ("--series", args.series.is_some()),
        ("--pcap", args.pcap.is_some()),
        ("--qlog", args.qlog.is_some()),
        ("--explain", args.explain.is_some()),
        ("--offsets", args.offsets.is_some()),
        ("--loop", args.looped),
        // `tmt apply` makes no timeline of a link whose feedback is lost.
        ("--feedback-loss", args.feedback_loss.is_some()),
        (
            "--return-trace -",
            args.return_trace.as_deref() == Some("-"),
        ),
    ];
    if let Some((flag, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "{flag} has no meaning with --compare-links: run each link by itself"
        )));
    }
    if args.link != "timeline" {
        return Err(Failure::usage(format!(
            "--compare-links: found --link {}, expected none, as it runs the timeline and the coupled link",
            args.link
        )));
    }
    if args.scheme.is_none() {
        return Err(Failure::usage("--compare-links needs --scheme"));
    }
    Ok(())
}

/// Reads the trace and resolves both plans.
pub(crate) fn both(args: &Args) -> Outcome<Both> {
    check(args)?;
    let of_coupled = Args {
        link: "coupled".to_owned(),
        overlap: None,
        compare_links: false,
        ..args.clone()
    };
    // What is said of the comparison stays with this one.
    let of_timeline = Args {
        channel: None,
        rate: None,
        scheme: None,
        feedback_delay: None,
        tail: None,
        in_order: None,
        ..args.clone()
    };
    let ends = ends(&of_coupled)?;
    let coupled = super::coupled::coupled(&of_coupled)?;
    let flows = args.flow.len().max(args.flows as usize);
    if let LinkPlan::Coupled(plan) = &coupled.plan
        && plan.link.in_order == InOrder::Flow
        && flows > 1
    {
        return Err(Failure::usage(format!(
            "--compare-links: found --in-order flow and {flows} flows, expected link or off, as a timeline has one order"
        )));
    }
    let timeline = timeline(&of_timeline, args, &coupled)?;
    Ok(Both {
        timeline: finish(&of_timeline, ends.clone(), timeline)?,
        coupled: finish(&of_coupled, ends, coupled)?,
    })
}

/// The timeline link over the slots of the coupled one, with the head that `tmt apply` would give it.
fn timeline(args: &Args, as_typed: &Args, coupled: &Link) -> Outcome<Link> {
    let LinkPlan::Coupled(plan) = &coupled.plan else {
        return Err(Failure::failed("found no coupled link to compare with"));
    };
    let mut head = coupled.head.clone();
    if let (Some(_), Some(rate)) = (as_typed.channel, as_typed.rate) {
        head.set("rate_bps", rate.0.to_string());
        head.set("lldu_bytes", plan.trace.lldu.0.to_string());
    }
    head.set("scheme", plan.timeline_scheme().to_string());
    let feedback_delay = plan.link.feedback_delay.as_nanos();
    head.set("feedback_delay_ns", feedback_delay.to_string());
    let (spooled, end_line) = plan.walked(as_typed.seed, coupled.rtt.value)?;
    let end_line = Some(end_line);
    let link = link_of(args, "the timeline", spooled, &head, end_line, Vec::new())?;
    Ok(match as_typed.channel {
        // Every seed has a timeline of its own, and an end.
        Some(_) => Link { ends: None, ..link },
        None => link,
    })
}

impl CoupledPlan {
    /// The scheme of the timeline, with the order of delivery that the coupled link has.
    fn timeline_scheme(&self) -> SchemeSpec {
        let scheme = self.link.scheme.clone();
        if self.link.in_order == InOrder::Off {
            scheme
        } else {
            scheme.with_order()
        }
    }

    /// The timeline of the slots under `seed`, and its end line: what `tmt apply` makes of them.
    fn walked(&self, seed: u64, rtt: Span) -> Outcome<(Spooled, EndLine)> {
        let link = self.under(seed);
        let trace = &link.trace;
        let mut walk = Walk::new(self.timeline_scheme(), rtt, link.feedback_delay);
        let mut collector = Collector::default();
        let (mut slots, mut lldus) = (Vec::new(), Vec::new());
        for number in 0..trace.blocks() {
            let block = trace.block(number).ok_or_else(|| {
                let failure = self.trace.spool.as_ref().and_then(|spool| spool.failure());
                failure.unwrap_or_else(|| Failure::failed("found a trace that cannot be read"))
            })?;
            slots.clear();
            let rows = 0..trace.rows_of(number);
            slots.extend(rows.filter_map(|row| Slot::new(block.tx_time(row), block.delay(row))));
            walk.slots(&slots, &mut lldus).map_err(|_| {
                Failure::failed(
                    "found slots whose repeats would be later than 2^63 - 1 ns, expected earlier ones",
                )
            })?;
            collector.lldus(&lldus);
            lldus.clear();
        }
        let end = walk.finish(&mut lldus);
        collector.lldus(&lldus);
        Ok((collector.finish()?, end))
    }
}

impl Both {
    /// One run over each of the links, both of them up to where the timeline is usable.
    pub(crate) fn run(&self, which: Which) -> Outcome<Pair> {
        let (LinkPlan::Coupled(coupled), LinkPlan::Timeline(timeline)) =
            (&self.coupled.link, &self.timeline.link)
        else {
            return Err(Failure::failed("found no two links to compare"));
        };
        let mut own = timeline.clone();
        if coupled.channel.is_some() {
            let ((timeline, spool), end_line) = coupled.walked(which.seed, self.coupled.rtt)?;
            own = TimelinePlan {
                timeline: Arc::new(timeline),
                spool,
                end_line: Some(end_line),
                ..own
            };
        }
        let mut on_timeline = self.timeline.setup(which);
        let mut on_coupled = self.coupled.setup(which);
        let usable = own
            .end_line
            .map(|end| end.usable_until.max(on_timeline.begin));
        let end = on_timeline.end.min(on_coupled.end);
        let end = usable.map_or(end, |usable| end.min(usable));
        (on_timeline.end, on_coupled.end) = (end, end);
        let link = LinkPlan::Timeline(own);
        let report = self
            .timeline
            .run_over(&link, which, &on_timeline, &mut NoProbe)?;
        Ok(Pair {
            timeline: (report, link),
            coupled: self
                .coupled
                .run_over(&self.coupled.link, which, &on_coupled, &mut NoProbe)?,
        })
    }

    /// What is said on stderr: of the coupled link, then what is different of the timeline.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = self.coupled.notes.clone();
        let others = &self.timeline.notes;
        notes.extend(
            others
                .iter()
                .filter(|note| !self.coupled.notes.contains(note))
                .cloned(),
        );
        let (one, other) = (self.timeline.buffer, self.coupled.buffer);
        if one != other {
            notes.push(format!(
                "the timeline has a buffer of {one} packets, the coupled link one of {other} (--buffer makes them the same)"
            ));
        }
        if matches!(&self.coupled.link, LinkPlan::Coupled(plan) if plan.link.tail == Tail::Pad) {
            notes.push(
                "tail pad is of the coupled link alone: a timeline knows no packets".to_owned(),
            );
        }
        if matches!(&self.coupled.link, LinkPlan::Coupled(plan) if plan.channel.is_some()) {
            notes.push("each run ends where its timeline is usable no more".to_owned());
        }
        if self.timeline.end < self.coupled.end {
            notes.push(format!(
                "both links run until {}, where the timeline ends that is usable",
                self.timeline.end
            ));
        }
        notes
    }
}
