//! `tmt.tcp`.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use arrow_array::{RecordBatchIterator, RecordBatchReader};
use arrow_pyarrow::IntoPyArrow as _;
use fluid_tcp::experiment::{
    self, Collect, Experiment, InMemory, Loaded, Parameter, Plan, RunId, SCHEMA, Storage,
};
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::NoProbe;
use pyo3::prelude::*;
use rayon::prelude::*;
use tmt_core::format::Options;
use tmt_core::format::records::Records;
use tmt_core::types::Note;

use crate::TOOL;
use crate::error::{Failure, tell};
use crate::input::{Input, with_content};
use crate::transform::Table;
use crate::work::{self, Stop};

/// Runs TCP flows. `parameters` are texts by key; `tables` the traces that are not files, also by key.
#[pyfunction]
pub(crate) fn tcp<'py>(
    py: Python<'py>,
    tables: Vec<(String, Input)>,
    parameters: Vec<(String, Vec<String>)>,
    jobs: Option<usize>,
    notify: &Bound<'py, PyAny>,
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
    let plans = work::run(py, jobs, |stop| {
        Plans::resolve(&experiment, &Traces { tables, stop })
    })?;
    tell(notify, &plans.notes())?;
    let (table, findings) = work::run(py, jobs, |stop| plans.run(stop))?;
    tell(notify, &findings)?;
    of_results(py, &table, SCHEMA)
}

/// The table of results for Python.
pub(crate) fn of_results<'py>(
    py: Python<'py>,
    table: &Records,
    schema: &str,
) -> PyResult<Table<'py>> {
    let batch = table
        .batch()
        .map_err(|error| Failure::Data(error.to_string()))?;
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
        let content = parameter.takes_process().then(|| with_content(key, text));
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

    /// The rows of all runs, and what their results warn of.
    fn run(&self, stop: &Stop) -> Result<(Records, Vec<Note>), Failure> {
        let mut table = Records::default();
        let mut findings = Vec::new();
        match self {
            Self::One(plan) => {
                let run = |id| {
                    stop.check()?;
                    Ok::<_, Failure>((id, plan.run(id, &mut NoProbe)?))
                };
                let runs: Result<Vec<_>, _> = plan.runs().into_par_iter().map(run).collect();
                let runs = runs?;
                plan.add_rows(runs.iter().map(|(id, report)| (*id, report)), &mut table);
                findings = found(plan, &runs);
            }
            Self::Both(plans) => {
                let run = |id| {
                    stop.check()?;
                    let [timeline, coupled] = plans.run(id, &InMemory)?;
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
                    findings.extend(found(plan, &runs).into_iter().map(|note| Note {
                        text: format!("{link} link: {}", note.text),
                        ..note
                    }));
                }
            }
        }
        Ok((table, findings))
    }
}

/// What the results of a plan warn of.
fn found(plan: &Plan, runs: &[(RunId, RunReport)]) -> Vec<Note> {
    let reports: Vec<&RunReport> = runs.iter().map(|(_, report)| report).collect();
    plan.findings(&reports)
}

/// The tables that were passed, and files. Timelines are held in memory.
struct Traces<'a> {
    /// Tables by their names. A stream can be read once.
    tables: Mutex<HashMap<String, Input>>,
    stop: &'a Stop,
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
        Ok(input.load(path, options, self.stop)?)
    }

    fn collect(&self) -> Box<dyn Collect> {
        InMemory.collect()
    }
}
