//! `tmt.tcp`.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_pyarrow::IntoPyArrow as _;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use fluid_tcp::experiment::{
    self, Collect, Experiment, InMemory, Loaded, Parameter, Plan, RunId, SCHEMA, Storage,
};
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::Until;
use pyo3::prelude::*;
use rayon::prelude::*;
use tmt_cli::Host;
use tmt_core::format::Options;
use tmt_core::format::records::Records;
use tmt_core::types::{Note, Span, Time};

use crate::TOOL;
use crate::error::{Failure, tell};
use crate::input::{Input, with_content};
use crate::transform::Table;
use crate::work;

/// Runs TCP flows. `parameters` are texts by key; `tables` the traces that are not files, also by key.
#[pyfunction]
pub(crate) fn tcp<'py>(
    py: Python<'py>,
    tables: Vec<(String, Input)>,
    parameters: Vec<(String, Vec<String>)>,
    jobs: Option<usize>,
    watcher: &Bound<'py, PyAny>,
) -> PyResult<Table<'py>> {
    let mut experiment = Experiment::default();
    for (key, texts) in &parameters {
        set(&mut experiment, key, texts)?;
    }
    let tables = tables.into_iter().map(|(key, table)| {
        let name = format!("the table of `{key}`");
        set(&mut experiment, &key, std::slice::from_ref(&name))?;
        Ok((name, table))
    });
    let tables: Result<HashMap<String, Input>, Failure> = tables.collect();
    let tables = Mutex::new(tables?);
    // The notes on the plan come before the runs, which may take long.
    let plans = work::run(py, jobs, watcher, |host| {
        Plans::resolve(&experiment, &Traces { tables, host })
    })?;
    tell(watcher, &plans.notes())?;
    let (table, findings, runs) = work::run(py, jobs, watcher, |host| plans.run(host))?;
    tell(watcher, &findings)?;
    let failed = |error: ArrowError| Failure::Data(error.to_string());
    let batch = numbered(&table.batch().map_err(failed)?, runs).map_err(failed)?;
    of_batch(py, batch, SCHEMA)
}

/// `batch` with the number of its run before each row, as `tmt.sweep` has it.
fn numbered(batch: &RecordBatch, runs: Vec<i64>) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let run = Arc::new(Field::new("run", DataType::Int64, true));
    let fields: Vec<_> = std::iter::once(run)
        .chain(schema.fields().iter().cloned())
        .collect();
    let run: ArrayRef = Arc::new(Int64Array::from(runs));
    let columns = std::iter::once(run).chain(batch.columns().iter().cloned());
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.collect())
}

/// The table of results for Python.
pub(crate) fn of_results<'py>(
    py: Python<'py>,
    table: &Records,
    schema: &str,
) -> PyResult<Table<'py>> {
    let batch = table.batch();
    let batch = batch.map_err(|error| Failure::Data(error.to_string()))?;
    of_batch(py, batch, schema)
}

/// The table of a batch for Python.
fn of_batch<'py>(py: Python<'py>, batch: RecordBatch, schema: &str) -> PyResult<Table<'py>> {
    let columns = batch.schema();
    let reader: Box<dyn RecordBatchReader + Send> =
        Box::new(RecordBatchIterator::new([Ok(batch)], columns));
    let pairs = [("tool", TOOL), ("schema", schema)];
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Ok((reader.into_pyarrow(py)?, pairs.to_vec()))
}

/// Sets the parameter `key`, with the content of the files that a process names.
fn set(experiment: &mut Experiment, key: &str, texts: &[String]) -> Result<(), Failure> {
    let parameter = Parameter::of(key)
        .ok_or_else(|| Failure::Usage(format!("`{key}`: found no such parameter")))?;
    let with_content = |text: &String| {
        let content = parameter.takes_files().then(|| with_content(key, text));
        Ok(content
            .transpose()?
            .flatten()
            .unwrap_or_else(|| text.clone()))
    };
    let texts: Result<Vec<String>, Failure> = texts.iter().map(with_content).collect();
    let texts = texts?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let set = experiment.set(parameter, &texts);
    set.map_err(|why| Failure::Usage(format!("`{key}`: {why}")))
}

/// The plan of one link, or of both.
enum Plans {
    One(Box<Plan>),
    Both(Box<experiment::Comparison>),
}

impl Plans {
    fn resolve(experiment: &Experiment, storage: &Traces<'_>) -> Result<Self, Failure> {
        Ok(if experiment.compares() {
            Self::Both(Box::new(experiment.resolve_comparison(storage)?))
        } else {
            Self::One(Box::new(experiment.resolve(storage)?))
        })
    }

    fn notes(&self) -> Vec<Note> {
        match self {
            Self::One(plan) => plan.notes.clone(),
            Self::Both(plans) => plans.notes(),
        }
    }

    /// The rows of all runs, what their results warn of, and the run of each row.
    fn run(&self, host: &Arc<Host>) -> Result<(Records, Vec<Note>, Vec<i64>), Failure> {
        let mut table = Records::default();
        let mut findings = Vec::new();
        let mut numbers = Vec::new();
        let mut number = |runs: &[(RunId, RunReport)]| {
            for (run, (_, report)) in (0..).zip(runs) {
                // The row of the total, and one per flow.
                numbers.extend(std::iter::repeat_n(run, 1 + report.flows.len()));
            }
        };
        match self {
            Self::One(plan) => {
                let run = |id| Ok::<_, Failure>((id, watched(plan, id, host)?));
                let runs = plan.runs();
                let length_s = whole_seconds(plan.end.since(plan.begin()));
                host.begin(
                    length_s.saturating_mul(runs.len() as u64),
                    "simulated seconds",
                );
                let runs: Result<Vec<_>, _> = runs.into_par_iter().map(run).collect();
                let runs = runs?;
                plan.add_rows(runs.iter().map(|(id, report)| (*id, report)), &mut table);
                findings = found(plan, &runs);
                number(&runs);
            }
            Self::Both(plans) => {
                let tables = Mutex::default();
                let storage = Traces { tables, host };
                host.begin(plans.coupled.runs().len() as u64, "pairs of runs");
                let run = |id| {
                    let [timeline, coupled] = plans.run(id, &storage)?;
                    host.advance(1);
                    Ok::<_, Failure>(((id, timeline), (id, coupled)))
                };
                let runs = plans.coupled.runs().into_par_iter().map(run);
                let runs: Result<(Vec<_>, Vec<_>), _> = runs.collect();
                let (timeline, coupled) = runs?;
                let links = [
                    ("timeline", &plans.timeline, timeline),
                    ("coupled", &plans.coupled, coupled),
                ];
                for (link, plan, runs) in links {
                    plan.add_rows(runs.iter().map(|(id, report)| (*id, report)), &mut table);
                    number(&runs);
                    findings.extend(found(plan, &runs).into_iter().map(|note| Note {
                        text: format!("{link} link: {}", note.text),
                        ..note
                    }));
                }
            }
        }
        Ok((table, findings, numbers))
    }
}

/// A run whose simulated time is counted, and that `host` can end.
fn watched(plan: &Plan, id: RunId, host: &Host) -> experiment::Result<RunReport> {
    let end_s = whole_seconds(plan.end.since(plan.begin()));
    let (begin, done_s) = (Cell::new(None), Cell::new(0));
    let reach = |second: u64| host.advance(second - done_s.replace(second.max(done_s.get())));
    let report = plan.run(
        id,
        &mut Until(|now: Time| {
            let first = begin.get().unwrap_or(now);
            begin.set(Some(first));
            let second = whole_seconds(now.since(first)).min(end_s);
            if second > done_s.get() {
                reach(second);
            }
            host.is_stopped()
        }),
    )?;
    // A run that ends early has done all its work.
    reach(end_s);
    Ok(report)
}

/// Whole seconds of `span`.
fn whole_seconds(span: Span) -> u64 {
    span.as_nanos() / Span::from_secs(1).as_nanos()
}

/// Warnings of the results of a plan.
fn found(plan: &Plan, runs: &[(RunId, RunReport)]) -> Vec<Note> {
    let reports: Vec<&RunReport> = runs.iter().map(|(_, report)| report).collect();
    plan.findings(&reports)
}

/// The tables that were passed, and files. Timelines are held in memory.
struct Traces<'a> {
    /// Tables by their names. A stream can be read once.
    tables: Mutex<HashMap<String, Input>>,
    host: &'a Arc<Host>,
}

impl Storage for Traces<'_> {
    fn read(&self, path: Option<&str>, options: Options) -> experiment::Result<Loaded> {
        let Some(path) = path.filter(|path| *path != "-") else {
            return Err(experiment::Error::Refused {
                key: "trace",
                message: "`trace`: found none, expected a table or the name of a file".to_owned(),
            });
        };
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let input = tables
            .remove(path)
            .unwrap_or_else(|| Input::File(path.to_owned()));
        drop(tables);
        Ok(input.load(path, options, self.host)?)
    }

    fn collect(&self) -> Box<dyn Collect> {
        InMemory.collect()
    }

    fn stopped(&self) -> bool {
        self.host.is_stopped()
    }
}
