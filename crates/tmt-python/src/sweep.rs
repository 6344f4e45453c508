//! `tmt.sweep`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use fluid_tcp::experiment::{self, Collect, InMemory, Loaded, Storage};
use pyo3::prelude::*;
use rayon::ThreadPool;
use tmt_cli::Host;
use tmt_core::format::Options;
use tmt_core::types::Note;
use tmt_study::engine::Error;
use tmt_study::table::{self, Rows, SCHEMA};
use tmt_study::{Draft, Plan, PlanError, Records, Sweep};

use crate::TOOL;
use crate::error::{Failure, tell};
use crate::input::{Held, Input, with_content};
use crate::tcp::of_results;
use crate::transform::Table;
use crate::work;

/// Most different warnings of the results.
const MOST: usize = 12;

/// The finished cells of a sweep.
#[pyclass(frozen)]
pub(crate) struct Finished(Records);

/// Rows of a sweep; the finished cells and the exception, if a signal has ended it early.
type Swept<'py> = (Table<'py>, Option<(Finished, Py<PyAny>)>);

/// Runs the cells of a plan: the text of the file `file`, if there is one, whose values those of `axes`, also a plan in TOML,
/// replace. `tables` are the traces that are not files, by the names that the plan has for them; `done` is not run again.
#[pyfunction]
pub(crate) fn sweep<'py>(
    py: Python<'py>,
    file: Option<(String, String)>,
    axes: String,
    tables: Vec<(String, Input)>,
    done: Option<PyRef<'py, Finished>>,
    jobs: Option<usize>,
    watcher: &Bound<'py, PyAny>,
) -> PyResult<Swept<'py>> {
    let plan = plan(file.as_ref(), &axes)?;
    let name = file.as_ref().map(|(name, _)| name.as_str());
    let refused = |error: PlanError| refusal(&error, name);
    let sweep = Sweep::new(&plan).map_err(refused)?;
    let assumed = sweep.assumed().iter().map(Note::warning);
    tell(watcher, &assumed.collect::<Vec<_>>())?;
    let tables = tables.into_iter();
    let tables: Result<HashMap<String, Held>, Failure> = tables
        .map(|(name, table)| Ok((name, table.hold()?)))
        .collect();
    let tables = tables?;
    let done = done.map_or_else(Records::default, |done| done.0.clone());
    let sweep = sweep.without(&done);
    let records = Mutex::new(done.clone());
    let (ran, raised) = work::attempt(py, jobs, watcher, |host| {
        let pool = work::pool(host, jobs)?;
        let traces = Traces {
            tables: &tables,
            pool: &pool,
            host,
        };
        host.begin(sweep.runs(), "runs");
        let sweep = sweep.ends_when(host.stopped());
        let ran = sweep.run(&traces, pool.current_num_threads(), done, |record| {
            host.advance(record.runs.len() as u64);
            let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
            records.add(record.clone());
            Ok::<_, Failure>(())
        });
        ran.map_err(|error| match error {
            Error::Plan(error) => refusal(&error, name),
            Error::Storage(message) => Failure::Data(message),
            Error::Sink(failure) => failure,
        })
    })?;
    let mut records = records.into_inner().unwrap_or_else(PoisonError::into_inner);
    let interrupted = raised.map(|raised| {
        let finished = Finished(records.clone());
        (finished, raised.into_value(py).into_any())
    });
    if interrupted.is_none() {
        ran?;
        records.trim(&plan);
        let found = records.findings(MOST).into_iter().map(Note::warning);
        tell(watcher, &found.collect::<Vec<_>>())?;
    }
    let table = table::rows(&plan, &records, TOOL, Rows::Scopes).map_err(refused)?;
    Ok((of_results(py, &table, SCHEMA)?, interrupted))
}

/// The plan of a file and of the axes that replace its values.
fn plan(file: Option<&(String, String)>, axes: &str) -> Result<Plan, Failure> {
    let name = file.map(|(name, _)| name.as_str());
    let mut draft = match file {
        Some((_, text)) => Draft::parse(text).map_err(|error| refusal(&error, name))?,
        None => Draft::default(),
    };
    // Their places are of no file.
    let axes = Draft::parse(axes).map_err(|error| refusal(&error, None))?;
    draft.override_with(axes.without_places());
    let mut content =
        |text: &str| with_content("plan", text).map_err(|failure| failure.to_string());
    let plan = draft.plan(&mut content);
    let plan = plan.map_err(|error| refusal(&error, name))?;
    if plan.axes().is_empty() {
        return Err(Failure::Usage(
            "found nothing to run, expected a plan, or arguments such as cc=[\"cubic\", \"bbr\"]"
                .to_owned(),
        ));
    }
    Ok(plan)
}

/// A plan that cannot run, at its place in the file if it has one.
fn refusal(error: &PlanError, file: Option<&str>) -> Failure {
    Failure::Usage(match file.zip(error.place) {
        Some((file, (line, column))) => format!("{file}:{line}:{column}: {}", error.message),
        None => error.message.clone(),
    })
}

/// The tables that were passed, and files. Timelines are held in memory.
struct Traces<'a> {
    tables: &'a HashMap<String, Held>,
    /// Where traces are read: the threads that run cells are of no pool.
    pool: &'a ThreadPool,
    host: &'a Arc<Host>,
}

impl Storage for Traces<'_> {
    fn read(&self, path: Option<&str>, options: Options) -> experiment::Result<Loaded> {
        let path = path.unwrap_or_default();
        let loaded = self.pool.install(|| match self.tables.get(path) {
            Some(table) => table.load(path, options, self.host),
            None => Input::File(path.to_owned()).load(path, options, self.host),
        })?;
        Ok(loaded)
    }

    fn collect(&self) -> Box<dyn Collect> {
        InMemory.collect()
    }

    fn stopped(&self) -> bool {
        self.host.is_stopped()
    }
}
