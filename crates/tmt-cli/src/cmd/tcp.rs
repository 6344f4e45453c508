//! `tmt tcp`: simulation of TCP flows over a timeline, a coupled link or a synthetic link.

mod args;
mod compare;
mod explain;
mod given;
mod logs;
mod report;
mod spool;

pub(crate) use args::Args;
use given::Source;
use logs::Logs;
use report::Report;
use spool::Files;

use fluid_tcp::experiment::{self, Plan, RunId};
use fluid_tcp::log::PacketHistory;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::NoProbe;
use rayon::prelude::*;
use tmt_core::format::records::Records;

use crate::exit::{Outcome, warning};
use crate::output::document::{self, Document};
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
    source.print_notes(&plan.notes);
    let mut output = Output::create(args.output.as_deref())?;
    let saved = given::save(args, &plan.resolved)?;
    let mut logs = Vec::new();
    let runs = plan.runs();
    let reports = if logs::are_asked_for(args) {
        let logged = |run| logged(args, &source, &plan, run, &mut logs);
        runs.into_iter().map(logged).collect::<Outcome<_>>()?
    } else {
        let quiet = |run| Ok((run, plan.run(run, &mut NoProbe)?, None));
        let reports = runs.into_par_iter().map(quiet);
        let reports = reports.collect::<experiment::Result<_>>();
        reports.map_err(|error| source.failure(error))?
    };
    let report = Report::new(&plan, reports);
    if let Some(unfinished) = report.unfinished() {
        warning!("tcp", "{unfinished}");
    }
    if args.json {
        json(
            &mut output,
            &Document::new(SCHEMA, report.params(), &report.results),
        )?;
    } else {
        output.write(report.text().as_bytes())?;
    }
    logs.extend(saved);
    logs.extend(rows(args, &[&report])?);
    // Files get their final names only after everything is written.
    logs.push(output);
    logs.iter_mut().try_for_each(Output::settle)?;
    logs.into_iter().try_for_each(Output::finish)
}

/// Schema of the JSON, and of the rows of `--results`.
const SCHEMA: &str = "tmt.tcp/1";

/// The file of `--results`, if requested. It still has a temporary name.
fn rows(args: &Args, reports: &[&Report<'_>]) -> Outcome<Option<Output>> {
    let Some(path) = &args.results else {
        return Ok(None);
    };
    let mut table = Records::default();
    reports
        .iter()
        .try_for_each(|report| report.add_rows(&mut table))?;
    let mut output = Output::create(Some(path))?;
    document::write(&table, &mut output, logs::results_form(path)?, SCHEMA)?;
    Ok(Some(output))
}

/// One run with its logs. The log files still have temporary names.
fn logged(
    args: &Args,
    source: &Source,
    plan: &Plan,
    run: RunId,
    outputs: &mut Vec<Output>,
) -> Outcome<(RunId, RunReport, Option<PacketHistory>)> {
    let setup = plan.setup(run);
    let mut logs = Logs::open(args, plan, &setup, run)?;
    let report = plan.run(run, &mut logs.probes());
    let report = report.map_err(|error| source.failure(error))?;
    Ok((run, report, logs.finish(plan, outputs)?))
}
