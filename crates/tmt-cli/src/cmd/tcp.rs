//! `tmt tcp`: simulation of TCP flows over a timeline, a coupled link or a synthetic link.

mod args;
mod compare;
mod explain;
mod given;
mod logs;
mod metrics;
mod recorded;
mod report;
mod simulated;
mod spool;

pub(crate) use args::{Args, Given, flag, typed};
use given::Source;
pub(crate) use given::named;
use logs::Logs;
pub(crate) use metrics::explained;
use report::Report;
use simulated::Simulated;
pub(crate) use spool::{Files, unescaped};

use fluid_tcp::experiment::{self, Experiment, Plan, RunId, SCHEMA};
use fluid_tcp::log::PacketHistory;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::{All, NoProbe};
use rayon::prelude::*;
use tmt_core::format::records::Records;
use tmt_core::format::table::TableForm;

use crate::exit::{Outcome, headline};
use crate::output::document::{self, Document};
use crate::output::{Output, table_form};
use crate::table::write;

pub(crate) fn run(args: &Args) -> Outcome {
    if args.metrics {
        return metrics::run(args);
    }
    let source = Source::of(args)?;
    if let Some(path) = &args.compare_log {
        return recorded::run(args, path, &source);
    }
    logs::check(args, &source.experiment)?;
    if source.experiment.compares() {
        return compare::run(args, &source);
    }
    let plan = source.experiment.resolve(&Files::here());
    let plan = plan.map_err(|error| source.failure(error))?;
    logs::check_plan(args, &plan)?;
    headline!("tcp", "{}", plan.headline(&source.experiment));
    source.print_notes(&plan.notes);
    let mut output = Output::create(args.output.as_deref())?;
    let saved = given::save(args, &plan.resolved)?;
    let rows = Rows::create(args)?;
    let mut logs = Vec::new();
    let runs = plan.runs();
    let work = Simulated::of(&plan, runs.len());
    let reports: Vec<_> = if logs::are_asked_for(args) {
        let logged = |run| {
            let to = (&mut output, &mut logs);
            logged(args, &source, &plan, run, to, &work)
        };
        runs.into_iter().map(logged).collect::<Outcome<_>>()?
    } else {
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
    let report = Report::new(&plan, reports);
    source.print_notes(&report.findings());
    let document = Document::new(SCHEMA, report.params(), &report.results)
        .repeated_by(given::file(&plan.resolved));
    write(&mut output, args.json, &document, |_| report.text())?;
    logs.extend(saved);
    logs.extend(
        rows.map(|rows| rows.write(&[&report], &plan.resolved))
            .transpose()?,
    );
    // Files get their final names only after everything is written.
    logs.push(output);
    logs.iter_mut().try_for_each(Output::close)?;
    logs.into_iter().try_for_each(Output::finish)
}

/// The file of `--results`. It is created before the runs, which a path that cannot be written would waste.
struct Rows {
    output: Output,
    form: TableForm,
}

impl Rows {
    /// Creates the file, if requested.
    fn create(args: &Args) -> Outcome<Option<Self>> {
        let Some(path) = &args.results else {
            return Ok(None);
        };
        let (output, form) = (Output::create(Some(path))?, table_form(path)?);
        Ok(Some(Self { output, form }))
    }

    /// Writes the rows of all runs of `resolved`. The file still has a temporary name.
    fn write(mut self, reports: &[&Report<'_>], resolved: &Experiment) -> Outcome<Output> {
        let mut table = Records::default();
        for report in reports {
            report.add_rows(&mut table);
        }
        let params = given::file(resolved);
        document::write(
            &table,
            &mut self.output,
            self.form,
            SCHEMA,
            &[("params", &params)],
        )?;
        Ok(self.output)
    }
}

/// One run with its logs. The log files still have temporary names. Lines before the table go to its output.
fn logged(
    args: &Args,
    source: &Source,
    plan: &Plan,
    run: RunId,
    (table, outputs): (&mut Output, &mut Vec<Output>),
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
    Ok((run, report, logs.finish(plan, table, outputs)?))
}
