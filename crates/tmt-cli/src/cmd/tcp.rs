//! `tmt tcp`: TCP flows over a link-layer timeline, a coupled link or a synthetic one (tcp.md §7).

mod args;
mod compare;
mod explain;
mod flows;
mod logs;
mod offsets;
mod plan;
mod report;
mod spool;

pub(crate) use args::Args;
use explain::Explanation;
use logs::Logs;
use plan::{LinkPlan, Plan, Which};

use std::sync::Arc;

use fluid_tcp::link::{SyntheticLink, TimelineLink};
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::{NoProbe, Probe};
use fluid_tcp::simulation::{self, Setup};
use rayon::prelude::*;
use tmt_core::channel::Channel;

use crate::exit::{Failure, Outcome, note};
use crate::output::{Output, json};

pub(crate) fn run(args: &Args) -> Outcome {
    if args.compare_links {
        return compare::run(args);
    }
    let plan = plan::resolve(args)?;
    plan.tell();
    let mut output = Output::create(args.output.as_deref())?;
    let (mut logs, mut explanations) = (Vec::new(), Vec::new());
    let runs = plan.runs(args.seed, args.seeds);
    let reports: Vec<(Which, RunReport)> = if logs::are_asked_for(args) {
        runs.iter()
            .map(|which| {
                let report = logged(args, &plan, *which, &mut logs, &mut explanations)?;
                Ok((*which, report))
            })
            .collect::<Outcome<_>>()?
    } else {
        runs.par_iter()
            .map(|which| Ok((*which, plan.run(*which, &mut NoProbe)?)))
            .collect::<Outcome<_>>()?
    };
    let report = report::Report::new(&plan, args.seed, reports).explained(explanations);
    if let Some(unfinished) = report.unfinished() {
        note!("tcp", "{unfinished}");
    }
    if args.json {
        json(&mut output, &report)?;
    } else {
        output.write(report.text().as_bytes())?;
    }
    // Files get their names only when everything is where it goes.
    logs.push(output);
    logs.iter_mut().try_for_each(Output::settle)?;
    logs.into_iter().try_for_each(Output::finish)
}

/// One run with its logs written; they are yet to be made final.
fn logged(
    args: &Args,
    plan: &Plan,
    which: Which,
    outputs: &mut Vec<Output>,
    explanations: &mut Vec<Explanation>,
) -> Outcome<RunReport> {
    let setup = plan.setup(which);
    let mut logs = Logs::open(args, plan, &setup, which)?;
    let report = plan.run(which, &mut logs.probes())?;
    explanations.extend(logs.finish(plan, outputs)?);
    Ok(report)
}

impl Plan {
    /// One run of the plan.
    pub(crate) fn run<P: Probe>(&self, which: Which, probe: &mut P) -> Outcome<RunReport> {
        let setup: Setup = self.setup(which);
        self.run_over(&self.link, which, &setup, probe)
    }

    /// One run over `link`.
    fn run_over<P: Probe>(
        &self,
        link: &LinkPlan,
        which: Which,
        setup: &Setup,
        probe: &mut P,
    ) -> Outcome<RunReport> {
        let report = over(link, which, setup, probe)?;
        let spool = self
            .return_trace
            .as_ref()
            .and_then(|plan| plan.spool.as_ref());
        match spool.and_then(|spool| spool.failure()) {
            Some(failure) => Err(failure),
            None => Ok(report),
        }
    }
}

fn over<P: Probe>(
    link: &LinkPlan,
    which: Which,
    setup: &Setup,
    probe: &mut P,
) -> Outcome<RunReport> {
    Ok(match link {
        LinkPlan::Timeline(plan) => {
            let unreadable = || plan.spool.as_ref().and_then(|spool| spool.failure());
            let link = TimelineLink::new(
                Arc::clone(&plan.timeline),
                plan.lldus_per_packet,
                setup.rtt.half(),
                plan.period,
                setup.begin,
            );
            let link = link.ok_or_else(|| {
                unreadable().unwrap_or_else(|| {
                    Failure::failed("found no room for a packet on the timeline")
                })
            })?;
            let link = match plan.shift {
                Some(slot) => link.shifted(slot),
                None => link,
            };
            let report = simulation::run(setup, link, probe);
            if let Some(failure) = unreadable() {
                return Err(failure);
            }
            report
        }
        LinkPlan::Coupled(plan) => {
            let link = plan.under(which.seed).seeded(which.seed);
            let report = simulation::run_coupled_looped(setup, &link, plan.trace.period, probe);
            let spool = plan.trace.spool.as_ref();
            if let Some(failure) = spool.and_then(|spool| spool.failure()) {
                return Err(failure);
            }
            report.ok_or_else(|| Failure::failed("found a trace that cannot be read"))?
        }
        LinkPlan::Synthetic { rate, loss } => {
            let channel = loss.map(|spec| Channel::new(spec, which.seed));
            let link =
                SyntheticLink::new(*rate, setup.packet, setup.rtt.half(), channel, setup.begin)
                    .ok_or_else(|| {
                        Failure::usage("--rate and --packet leave no link: both must be above zero")
                    })?;
            simulation::run(setup, link, probe)
        }
    })
}
