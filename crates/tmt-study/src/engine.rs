//! Runs the cells of a plan on several threads. Cells with the same slots share them, and those with the same scheme the
//! timeline. No result depends on threads or on the order in which cells end.

mod queue;
mod shared;
mod task;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use fluid_tcp::experiment::{self, Experiment, Storage};

use tmt_core::types::Stopped;

use crate::plan::{Plan, PlanError, Seen};
use crate::record::{Fields, Record, Records};
use queue::Queue;
pub(crate) use shared::{Over, Shared};
use task::Task;

/// Error of a sweep.
#[derive(Debug, thiserror::Error)]
pub enum Error<E> {
    /// A value that its parameter refuses, and that only shows with the other values of its cell.
    #[error(transparent)]
    Plan(PlanError),
    /// A trace that cannot be read or stored, with the reason.
    #[error("{0}")]
    Storage(String),
    /// The receiver of the results has failed.
    #[error("{0}")]
    Sink(E),
}

/// State of a rule for stopping.
struct Known {
    records: Records,
    /// Its view of each cell.
    seen: BTreeMap<usize, Seen>,
}

/// Experiment of a cell in place of a simulation of TCP: results of one seed, by name. The function says whether the work shall end
/// early, which is then an error of any text.
pub type OwnRun = fn(&Experiment, &dyn Fn() -> bool) -> Result<Fields, String>;

/// The work of a plan, or of a part of it.
///
/// ```
/// use fluid_tcp::experiment::InMemory;
/// use tmt_study::{Draft, Sweep};
///
/// let plan = "link = \"synthetic\"\nrate = \"2Mbps\"\nduration = \"10s\"\ncc = [\"reno\", \"cubic\"]\nloss = \"bernoulli:0.01\"\nseeds = 3\n";
/// let plan = Draft::parse(plan)?.plan(&mut |_| Ok(None))?;
/// let records = Sweep::new(&plan)?.collect(&InMemory, 2)?;
/// assert_eq!(records.runs(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sweep<'a> {
    plan: &'a Plan,
    tasks: Vec<Task>,
    /// Values that the plan leaves open, once each.
    assumed: Vec<String>,
    own: Option<OwnRun>,
    /// Ends models that take long.
    stopped: Stopped,
}

impl<'a> Sweep<'a> {
    /// All work of `plan`.
    ///
    /// # Errors
    /// A value made of variables that its parameter refuses.
    pub fn new(plan: &'a Plan) -> Result<Self, PlanError> {
        let (tasks, assumed) = task::all(plan, false)?;
        Ok(Self {
            plan,
            tasks,
            assumed,
            own: None,
            stopped: Stopped::NEVER,
        })
    }

    /// All work of `plan`, where `own` is run with each seed instead of a simulation of TCP.
    ///
    /// # Errors
    /// A value made of variables that its parameter refuses.
    pub fn of_own(plan: &'a Plan, own: OwnRun) -> Result<Self, PlanError> {
        let (tasks, assumed) = task::all(plan, true)?;
        Ok(Self {
            plan,
            tasks,
            assumed,
            own: Some(own),
            stopped: Stopped::NEVER,
        })
    }

    /// The same, which ends before the next cell once `stopped` says so, and within a cell that measures codes; [`Storage::stopped`] ends
    /// runs of TCP, too. [`Self::run`] then fails, and passes no record of a cell that was stopped.
    #[must_use]
    pub fn ends_when(mut self, stopped: Stopped) -> Self {
        self.stopped = stopped;
        self
    }

    /// Part `part` of `parts`, from 0: every `parts`-th cell. All parts together have all cells once.
    #[must_use]
    pub fn part(mut self, part: usize, parts: usize) -> Self {
        self.tasks.retain(|task| task.cell % parts.max(1) == part);
        self
    }

    /// Only the cells for which `is_chosen` holds.
    #[must_use]
    pub fn of_cells(mut self, is_chosen: impl Fn(usize) -> bool) -> Self {
        self.tasks.retain(|task| is_chosen(task.cell));
        self
    }

    /// The work that `done` does not have.
    #[must_use]
    pub fn without(mut self, done: &Records) -> Self {
        let is_done = |task: &Task| task.runs().all(|run| done.has(task.cell, run));
        self.tasks.retain(|task| !is_done(task));
        if let Some(stop) = self.plan.stop() {
            let mut is_enough: BTreeMap<usize, bool> = BTreeMap::new();
            self.tasks.retain(|task| {
                let look = || {
                    stop.enough(&done.leading(task.cell, &stop.metric))
                        .is_some()
                };
                !*is_enough.entry(task.cell).or_insert_with(look)
            });
        }
        self
    }

    /// Numbers of the cells that are left.
    #[must_use]
    pub fn cells(&self) -> BTreeSet<usize> {
        self.tasks.iter().map(|task| task.cell).collect()
    }

    /// Number of runs left to do; a rule for stopping may make it fewer.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.tasks.iter().map(|task| task.count).sum()
    }

    /// Values that the plan leaves open and that are assumed, as sentences with parameters in backticks.
    #[must_use]
    pub fn assumed(&self) -> &[String] {
        &self.assumed
    }

    /// Runs everything on `threads` threads and passes each record to `sink` when it is complete. `done` has the records of
    /// an earlier call, for the rule for stopping.
    ///
    /// # Errors
    /// The first error of `sink`, a trace that cannot be read, or a stop. A cell that refuses its parameters is a record with the reason.
    pub fn run<E: Send>(
        &self,
        storage: &dyn Storage,
        threads: usize,
        done: Records,
        sink: impl Fn(&Record) -> Result<(), E> + Sync,
    ) -> Result<(), Error<E>> {
        let shared = Shared::new(storage, self.tasks.iter().filter_map(|task| task.timeline));
        let queue = Queue::new(&self.tasks);
        let failed = AtomicBool::new(false);
        let failure = Mutex::new(None);
        let known = Mutex::new(Known {
            records: done,
            seen: BTreeMap::new(),
        });
        let is_stopped = || storage.stopped() || self.stopped.now();
        let work = || {
            while !failed.load(Ordering::Relaxed) && !is_stopped() {
                let Some(task) = queue.take(&shared) else {
                    return;
                };
                let done = self
                    .one(task, &shared, &known)
                    .and_then(|record| match record {
                        Some(record) => sink(&record).map_err(Error::Sink),
                        None => Ok(()),
                    });
                if let Some(key) = task.timeline {
                    shared.release(key);
                }
                if let Err(error) = done {
                    failed.store(true, Ordering::Relaxed);
                    let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    failure.get_or_insert(error);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(self.tasks.len()).max(1) {
                scope.spawn(work);
            }
            work();
        });
        let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        let stopped = is_stopped().then(|| Error::Storage(experiment::Error::Stopped.to_string()));
        failure.or(stopped).map_or(Ok(()), Err)
    }

    /// Runs everything and returns the records, trimmed by the rule for stopping.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn collect(
        &self,
        storage: &dyn Storage,
        threads: usize,
    ) -> Result<Records, Error<std::convert::Infallible>> {
        let records = Mutex::new(Records::default());
        self.run(storage, threads, Records::default(), |record| {
            let mut records = records.lock().unwrap_or_else(PoisonError::into_inner);
            records.add(record.clone());
            Ok(())
        })?;
        let mut records = records.into_inner().unwrap_or_else(PoisonError::into_inner);
        records.trim(self.plan);
        Ok(records)
    }

    /// The record of a task; `None` if its cell has enough runs.
    fn one<E>(
        &self,
        task: &Task,
        shared: &Shared<'_>,
        known: &Mutex<Known>,
    ) -> Result<Option<Record>, Error<E>> {
        let stop = self.plan.stop();
        if let Some(stop) = stop {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let Known { records, seen } = &mut *known;
            let values = records.leading(task.cell, &stop.metric);
            if stop.look(seen.entry(task.cell).or_default(), &values) {
                return Ok(None);
            }
        }
        let record = match self.own {
            Some(own) => task.record_of(self.plan, own, shared, self.stopped),
            None => task.record(self.plan, shared, self.stopped),
        }?;
        if stop.is_some() {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            known.records.add(Record {
                params: serde_json::Map::new(),
                flows: Vec::new(),
                ..record.clone()
            });
        }
        Ok(Some(record))
    }
}

/// Numbers from `range` in chunks of at most `size`.
fn chunks(range: Range<u64>, size: u64) -> impl Iterator<Item = Range<u64>> {
    let starts = (range.start..range.end).step_by(usize::try_from(size).unwrap_or(usize::MAX));
    starts.map(move |start| start..range.end.min(start.saturating_add(size)))
}

#[cfg(test)]
mod tests;
