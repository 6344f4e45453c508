//! `tmt sweep`: many runs from one plan (docs/sweeps.md).

mod args;
mod engine;
mod forecast;
pub(crate) mod partial;

use std::sync::{Mutex, PoisonError};

use rayon::ThreadPoolBuilder;
use tmt_core::format::table::TableForm;
use tmt_study::engine::Error;
use tmt_study::{Draft, Plan, PlanError, Record, Records, Sweep, table};

pub(crate) use super::summarise::named;
pub(crate) use args::Args;
use engine::Job;
use partial::{Part, Partial};
pub(crate) use table::SCHEMA;

use super::tcp::Files;
use crate::exit::{Failure, Outcome, headline, warning};
use crate::host::here;
use crate::input::process::unnamed;
use crate::input::{LONGEST_TEXT, open, text};
use crate::output::{
    Output, check_writable, document, is_stdout, is_stream, on_signal, refuse_directory, table_form,
};
use crate::progress::Work;
use crate::provenance::TOOL;
use crate::table::counted;

/// A plan, with the name of its file.
struct Read {
    plan: Plan,
    file: Option<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    args.output.as_deref().map_or(Ok(()), refuse_directory)?;
    let read = read(args)?;
    check_engine(args)?;
    let refuse = |error: &PlanError| refusal(error, read.file.as_deref());
    let sweep = Sweep::new(&read.plan).map_err(|error| refuse(&error))?;
    for text in sweep.assumed() {
        warning!("sweep", "{}", named(text));
    }
    let path = args.output.as_deref().filter(|path| !is_stdout(path));
    let form = path.map(table_form).transpose()?;
    // A path that cannot be written fails before the work.
    if let Some(path) = path.filter(|_| args.shard.is_none()) {
        check_writable(path)?;
    }
    if args.dry_run {
        return forecast::print(&read.plan, &sweep);
    }
    // Reading a trace uses the pool from threads that do not belong to it.
    let threads = rayon::current_num_threads();
    let _ = ThreadPoolBuilder::new().num_threads(threads).build_global();
    let Some((path, form)) = path.zip(form).filter(|(path, _)| !is_stream(path)) else {
        return in_memory(args, &read, &sweep);
    };
    let part = args.shard.map_or(args.cluster.engine.part, Part::Shard);
    let partial = Partial::open(path, &read.plan, args.resume, part)?;
    on_signal(format!(
        "tmt sweep: interrupted: finished cells are kept in {}; --resume goes on with them",
        partial.folder().display()
    ));
    let done = partial.records()?;
    let sweep = match args.shard {
        Some(shard) => sweep.part(shard.number - 1, shard.of),
        None => sweep,
    };
    let left = sweep.clone().without(&done);
    let found = done.runs();
    let job = Job {
        flags: &args.cluster,
        resume: args.resume,
        path,
        read: &read,
        partial: &partial,
    };
    if left.runs() > 0 {
        let ran = (args.cluster.engine.run)(&job, &left, done);
        if let Err(failure) = ran {
            partial.abandon();
            return Err(failure);
        }
    }
    if args.shard.is_some() {
        let kept = partial.records()?.runs();
        headline!(
            "sweep",
            "{}: {} done, {found} found",
            partial.part(),
            counted(kept.saturating_sub(found) as u64, "run")
        );
        return partial.close();
    }
    partial.take_alone()?;
    let mut records = partial.records()?;
    let missing = sweep.without(&records).runs();
    if missing > 0 {
        return Err(Failure::failed(format!(
            "{}: found {missing} runs without records, expected none: something has removed files there; --resume runs them",
            partial.folder().display()
        )));
    }
    records.trim(&read.plan);
    finish(&read, &records, Output::create(Some(path))?, form)?;
    on_signal(String::new());
    partial.remove()?;
    refuse_all_refused(&records)
}

/// Fails if no cell has results. Their rows have the reasons.
fn refuse_all_refused(records: &Records) -> Outcome {
    let runs = records.iter().flat_map(|record| &record.runs);
    let reasons: Option<Vec<&String>> = runs.map(|run| run.error.as_ref()).collect();
    match reasons.as_ref().and_then(|reasons| reasons.first()) {
        Some(reason) => Err(Failure::failed(format!(
            "all cells were refused, the first because: {}",
            named(reason)
        ))),
        None => Ok(()),
    }
}

/// Refuses flags that need a file of results without one, and an engine that cannot work here.
fn check_engine(args: &Args) -> Outcome {
    let engine = &args.cluster;
    let needs_file = args.resume || args.shard.is_some() || engine.engine.part != Part::All;
    let has_file = args.output.as_deref().is_some_and(|path| !is_stream(path));
    if needs_file && !has_file && !args.dry_run {
        return Err(Failure::usage(
            "--resume, --shard and engines other than local need --output FILE, beside which finished cells are kept",
        ));
    }
    engine.check()
}

/// Runs everything without a file, and writes the table into a pipe or device, or prints the summary.
fn in_memory(args: &Args, read: &Read, sweep: &Sweep<'_>) -> Outcome {
    let kept = Mutex::new(Records::default());
    carry_out(read.file.as_deref(), sweep, Records::default(), |record| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.add(record.clone());
        Ok(())
    })?;
    let mut records = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    records.trim(&read.plan);
    if let Some(path) = &args.output {
        let form = if is_stdout(path) {
            TableForm::Text(None)
        } else {
            table_form(path)?
        };
        finish(read, &records, Output::create(Some(path))?, form)?;
        return refuse_all_refused(&records);
    }
    report(&records);
    let table = table::table(&read.plan, &records, TOOL)
        .map_err(|error| refusal(&error, read.file.as_deref()))?;
    let by: Vec<String> = read
        .plan
        .varying()
        .map(super::summarise::column_of)
        .collect();
    let mut output = Output::create(None)?;
    output.show(&super::summarise::text(&table, &by)?)?;
    output.finish()?;
    refuse_all_refused(&records)
}

/// Runs what is left, with progress.
pub(crate) fn carry_out(
    file: Option<&str>,
    sweep: &Sweep<'_>,
    done: Records,
    keep: impl Fn(&Record) -> Outcome + Sync,
) -> Outcome {
    let runs = sweep.runs();
    let work = Work::new(runs, "runs");
    let threads = rayon::current_num_threads();
    let sweep = sweep.clone().ends_when(here().stopped());
    let ran = sweep.run(&Files::here(), threads, done, |record| {
        let new = record.runs.len() as u64;
        work.advance(new);
        keep(record)
    });
    drop(work);
    ran.map_err(|error| stopped(error, file))
}

/// Prints what is to be known of the results.
fn report(records: &Records) {
    /// Most different warnings that are printed.
    const MOST: usize = 12;
    for text in records.findings(MOST) {
        warning!("sweep", "{}", named(&text));
    }
}

/// The failure of a sweep that has stopped.
fn stopped(error: Error<Failure>, file: Option<&str>) -> Failure {
    match error {
        Error::Plan(error) => refusal(&error, file),
        Error::Storage(message) => Failure::failed(named(&message)),
        Error::Sink(failure) => failure,
    }
}

/// Writes the table of all records.
fn finish(read: &Read, records: &Records, mut output: Output, form: TableForm) -> Outcome {
    let table = table::table(&read.plan, records, TOOL)
        .map_err(|error| refusal(&error, read.file.as_deref()))?;
    let plan = read.plan.to_file();
    document::write(&table, &mut output, form, SCHEMA, &[("plan", &plan)])?;
    let name = output.name().to_owned();
    output.finish()?;
    report(records);
    headline!(
        "sweep",
        "{}, {}: {}",
        counted(read.plan.cells() as u64, "cell"),
        counted(records.runs() as u64, "run"),
        name
    );
    Ok(())
}

/// Reads the plan: the file, then flags.
fn read(args: &Args) -> Outcome<Read> {
    let mut draft = match &args.plan {
        Some(path) => {
            if is_stdout(path) && args.shard.is_some() {
                return Err(Failure::usage(
                    "PLAN -: every shard reads the plan; name a file",
                ));
            }
            let text = text(open("sweep", Some(path))?, LONGEST_TEXT)?;
            Draft::parse(&text).map_err(|error| refusal(&error, Some(path)))?
        }
        None => Draft::default(),
    };
    draft.override_with(args.draft()?);
    let file = args.plan.clone();
    let plan = draft.plan(&mut unnamed);
    let plan = plan.map_err(|error| refusal(&error, file.as_deref()))?;
    if plan.axes().is_empty() {
        return Err(Failure::usage(
            "found nothing to run, expected a PLAN or flags such as --cc cubic,bbr; see `tmt sweep --help`",
        ));
    }
    let traces = plan.axes().iter().filter(|axis| axis.is_of_traces());
    if traces
        .flat_map(|axis| axis.values.iter().flatten())
        .any(|path| is_stdout(path))
    {
        return Err(Failure::usage(
            "trace -: a sweep reads a trace more than once; name a file",
        ));
    }
    Ok(Read { plan, file })
}

/// The failure of a plan, at its place in the file, or with the flag.
pub(crate) fn refusal(error: &PlanError, file: Option<&str>) -> Failure {
    let place = file.zip(error.place);
    Failure::usage(match place {
        Some((file, (line, column))) => {
            format!("{file}:{line}:{column}: {}", error.message.replace('`', ""))
        }
        None => named(&error.message),
    })
}
