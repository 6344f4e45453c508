//! `tmt tcp`: simulation of TCP flows over a timeline, a coupled link or a synthetic link.

mod args;
mod compare;
mod explain;
mod given;
mod logs;
mod report;
mod simulated;
mod spool;

pub(crate) use args::Args;
use given::Source;
use logs::Logs;
use simulated::Simulated;
use spool::Files;

use fluid_tcp::experiment::{self, Plan, RunId};
use fluid_tcp::log::PacketHistory;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::{All, NoProbe};
use rayon::prelude::*;

use crate::exit::{Outcome, headline, warning};
use crate::output::{Output, json};

pub(crate) fn run(args: &Args) -> Outcome {
    let source = Source::of(args)?;
    logs::check(args, &source.experiment)?;
    if source.experiment.compares() {
        return compare::run(args, &source);
    }
    let plan = source.experiment.resolve(&Files);
    let plan = plan.map_err(|error| source.failure(error))?;
    logs::check_flow(args, plan.flows.len())?;
    headline!("tcp", "{}", plan.headline(&source.experiment));
    source.print_notes(&plan.notes);
    let mut output = Output::create(args.output.as_deref())?;
    let saved = given::save(args, &plan.resolved)?;
    let mut logs = Vec::new();
    let runs = plan.runs();
    let reports = if logs::are_asked_for(args) {
        let work = Simulated::of(&plan, runs.len());
        let logged = |run| logged(args, &source, &plan, run, &mut logs, &work);
        runs.into_iter().map(logged).collect::<Outcome<_>>()?
    } else {
        let work = Simulated::of(&plan, runs.len());
        let alone = |run| {
            let report = if work.is_shown() {
                work.watch(|clock| plan.run(run, &mut All(vec![clock])))
            } else {
                plan.run(run, &mut NoProbe)
            };
            Ok((run, report?, None))
        };
        let reports = runs.into_par_iter().map(alone);
        let reports = reports.collect::<experiment::Result<_>>();
        reports.map_err(|error| source.failure(error))?
    };
    let report = report::Report::new(&plan, reports);
    if let Some(unfinished) = report.unfinished() {
        warning!("tcp", "{unfinished}");
    }
    if args.json {
        json(&mut output, &report)?;
    } else {
        output.write(report.text().as_bytes())?;
    }
    logs.extend(saved);
    // Files get their final names only after everything is written.
    logs.push(output);
    logs.iter_mut().try_for_each(Output::settle)?;
    logs.into_iter().try_for_each(Output::finish)
}

/// One run with its logs. The log files still have temporary names.
fn logged(
    args: &Args,
    source: &Source,
    plan: &Plan,
    run: RunId,
    outputs: &mut Vec<Output>,
    work: &Simulated,
) -> Outcome<(RunId, RunReport, Option<PacketHistory>)> {
    let setup = plan.setup(run);
    let mut logs = Logs::open(args, plan, &setup, run)?;
    let report = if work.is_shown() {
        work.watch(|clock| plan.run(run, &mut All(vec![&mut logs.probes(), clock])))
    } else {
        plan.run(run, &mut logs.probes())
    };
    let report = report.map_err(|error| source.failure(error))?;
    Ok((run, report, logs.finish(plan, outputs)?))
}
