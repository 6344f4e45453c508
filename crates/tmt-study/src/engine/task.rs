//! A task: some runs of one cell, in the order in which what they share is used.

use std::collections::HashMap;
use std::ops::Range;

use fluid_tcp::experiment::{
    Error as ExperimentError, Experiment, Parameter, Plan as RunPlan, Storage,
};
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::Until;
use serde::Serialize;
use serde_json::{Map, Value};
use tmt_core::model::{Arguments, Model, ModelError};
use tmt_core::types::{Severity, Span, Stopped};

use super::chunks;
use super::shared::{Over, Refusal, Shared, SlotsKey, TimelineKey};
use super::{Error, OwnRun};
use crate::plan::{Plan, PlanError, Work, of_seed, of_slots, runs};
use crate::record::{Fields, Record, Run};

/// Most runs of a task.
const RUNS: u64 = 16;

/// Most runs of a task under a rule for stopping, which cannot use those that are in hand.
const RUNS_WITH_STOP: u64 = 4;

/// Parameters that decide the slots of a chain, its seed aside.
const OF_SLOTS: [&str; 10] = [
    "trace",
    "channel",
    "loss",
    "rate",
    "duration",
    "lldu",
    "unit",
    "columns",
    "allow_cut",
    "loop",
];

/// Parameters that decide the timeline on these slots.
const OF_TIMELINE: [&str; 3] = ["scheme", "rtt", "feedback_delay"];

/// Some runs of one cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Task {
    /// The timeline of a chain. First, so that tasks in order use each timeline, and its slots, one after another.
    pub(super) timeline: Option<TimelineKey>,
    pub(super) cell: usize,
    first: u64,
    pub(super) count: u64,
}

/// Numbers for texts.
#[derive(Default)]
struct Interned(HashMap<String, u32>);

impl Interned {
    fn number(&mut self, experiment: &Experiment, keys: &[&str]) -> u32 {
        let texts = keys.iter().map(|key| {
            let text = Parameter::of(key).and_then(|parameter| parameter.text(experiment));
            format!("{text:?}")
        });
        let text: String = texts.collect();
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(text).or_insert(next)
    }
}

/// All tasks of `plan` in order, and what it leaves open. With `of_own` runs nothing is shared.
pub(super) fn all(plan: &Plan, of_own: bool) -> Result<(Vec<Task>, Vec<String>), PlanError> {
    let (mut slots, mut timelines) = (Interned::default(), Interned::default());
    let (mut tasks, mut open): (Vec<Task>, Vec<String>) = (Vec::new(), Vec::new());
    let chunk = plan.stop().map_or(RUNS, |_| RUNS_WITH_STOP);
    for cell in 0..plan.cells() {
        let Work::Runs {
            experiment,
            trace_duration,
            assumed,
        } = plan.cell(cell)?.work()?
        else {
            tasks.push(Task {
                timeline: None,
                cell,
                first: 0,
                count: 1,
            });
            continue;
        };
        for text in assumed {
            if !open.contains(&text) {
                open.push(text);
            }
        }
        let all = 0..runs(&experiment);
        let chunk = if of_own { 1 } else { chunk };
        if of_own || !experiment.is_chain() {
            tasks.extend(chunks(all, chunk).map(|runs| Task::of(None, cell, &runs)));
            continue;
        }
        let random = experiment.chain_slots_are_random();
        let (of_slots, of_timeline) = (
            slots.number(&of_slots(&experiment, trace_duration), &OF_SLOTS),
            timelines.number(&experiment, &OF_TIMELINE),
        );
        let key = |seed| {
            Some(TimelineKey {
                slots: SlotsKey {
                    parameters: of_slots,
                    seed,
                },
                parameters: of_timeline,
            })
        };
        let seed = experiment.seed().0;
        if !random {
            tasks.extend(chunks(all, chunk).map(|runs| Task::of(key(None), cell, &runs)));
        } else if experiment.offsets.is_some() {
            tasks.extend(chunks(all, chunk).map(|runs| Task::of(key(Some(seed)), cell, &runs)));
        } else {
            tasks.extend(
                all.map(|run| Task::of(key(Some(seed.saturating_add(run))), cell, &(run..run + 1))),
            );
        }
    }
    tasks.sort_unstable();
    Ok((tasks, open))
}

impl Task {
    pub(super) fn of(timeline: Option<TimelineKey>, cell: usize, runs: &Range<u64>) -> Self {
        Self {
            timeline,
            cell,
            first: runs.start,
            count: runs.end - runs.start,
        }
    }

    /// Numbers of its runs.
    pub(super) fn runs(&self) -> Range<u64> {
        self.first..self.first + self.count
    }

    /// Runs it.
    pub(super) fn record<E>(
        &self,
        plan: &Plan,
        shared: &Shared<'_>,
        stopped: Stopped,
    ) -> Result<Record, Error<E>> {
        let work = plan.cell(self.cell).and_then(|cell| cell.work());
        let done = match work.map_err(Error::Plan)? {
            Work::Model(model, arguments) => return self.of_model(model, arguments, stopped),
            Work::Runs {
                experiment,
                trace_duration,
                ..
            } => self.of_runs(&experiment, trace_duration, shared),
        };
        done.or_else(|refusal| match refusal {
            Refusal {
                is_storage: true,
                message,
            } => Err(Error::Storage(message)),
            Refusal { message, .. } => Ok(self.refused(&message)),
        })
    }

    /// Runs `own` with each of its seeds, until `shared` says that the work shall end.
    pub(super) fn record_of<E>(
        &self,
        plan: &Plan,
        own: OwnRun,
        shared: &Shared<'_>,
        stopped: Stopped,
    ) -> Result<Record, Error<E>> {
        let work = plan.cell(self.cell).and_then(|cell| cell.work());
        let experiment = match work.map_err(Error::Plan)? {
            Work::Runs { experiment, .. } => experiment,
            Work::Model(model, arguments) => return self.of_model(model, arguments, stopped),
        };
        let runs = self.runs().map(|run| {
            let alone = of_seed(&experiment, run);
            let found = own(&alone, &|| shared.stopped());
            Run {
                run,
                seed: Some(alone.seed().0),
                error: found.as_ref().err().cloned(),
                total: found.unwrap_or_default(),
                ..Run::default()
            }
        });
        let runs = runs.collect();
        if shared.stopped() {
            return Err(stopped_error());
        }
        Ok(Record {
            cell: self.cell,
            runs,
            ..Record::default()
        })
    }

    /// The record of a cell that refuses its parameters.
    fn refused(&self, message: &str) -> Record {
        let run = |run| Run {
            run,
            error: Some(message.to_owned()),
            ..Run::default()
        };
        Record {
            cell: self.cell,
            runs: self.runs().map(run).collect(),
            ..Record::default()
        }
    }

    /// The record of a closed form, or of a measurement, which ends once `stopped`.
    fn of_model<E>(
        &self,
        model: &Model,
        arguments: Arguments,
        stopped: Stopped,
    ) -> Result<Record, Error<E>> {
        let mut params = Map::from_iter([("model".to_owned(), Value::from(model.name))]);
        params.extend(fields(&arguments));
        let mut record = Record {
            cell: self.cell,
            params,
            ..Record::default()
        };
        let mut run = Run::default();
        match model.evaluate(&arguments.stopped_when(stopped)) {
            Ok(outcome) => {
                run.total = fields(&outcome);
                record.warnings = outcome.remarks().to_vec();
            }
            Err(ModelError::Stopped) => return Err(stopped_error()),
            Err(error) => run.error = Some(error.to_string()),
        }
        record.runs.push(run);
        Ok(record)
    }

    fn of_runs(
        &self,
        experiment: &Experiment,
        trace_duration: Option<Span>,
        shared: &Shared<'_>,
    ) -> Result<Record, Refusal> {
        let Some(key) = self.timeline else {
            refuse_without_scheme(experiment)?;
            return self.of_plan(&experiment.resolve(shared)?, self.first, shared);
        };
        let own = match key.slots.seed {
            Some(_) if experiment.offsets.is_none() => &of_seed(experiment, self.first),
            _ => experiment,
        };
        let storage = Over {
            storage: shared,
            timeline: shared.timeline(key, &of_slots(own, trace_duration), own.seed().0)?,
        };
        let mut run = own.chain_run();
        if trace_duration.is_some() {
            run.duration = own.duration;
        }
        let plan = run.resolve(&storage)?;
        let is_alone = own.offsets.is_none() && key.slots.seed.is_some();
        self.of_plan(&plan, if is_alone { 0 } else { self.first }, shared)
    }

    /// The runs of `plan` from its run `from` on.
    fn of_plan(&self, plan: &RunPlan, from: u64, storage: &dyn Storage) -> Result<Record, Refusal> {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let mut reports: Vec<RunReport> = Vec::new();
        let mut runs = Vec::new();
        for (number, id) in self.runs().zip(plan.runs().into_iter().skip(from)) {
            let report = plan.run(id, &mut Until(|_| storage.stopped()))?;
            runs.push(Run {
                run: number,
                seed: Some(id.seed),
                offset_s: id.offset.map(|(_, start)| start.as_secs_f64()),
                duration_s: Some(report.duration_s),
                total: fields(&report.total),
                flows: report.flows.iter().map(fields).collect(),
                error: None,
            });
            reports.push(report);
        }
        let mut params = plan.params.clone();
        let flows = match params.remove("flows") {
            Some(Value::Array(flows)) => flows,
            _ => Vec::new(),
        };
        let flows = flows.into_iter().filter_map(|flow| match flow {
            Value::Object(fields) => Some(fields),
            _ => None,
        });
        let found = plan.findings(&reports.iter().collect::<Vec<_>>());
        let notes = plan.notes.iter().chain(&found);
        let warnings = notes.filter(|note| note.severity == Severity::Warning);
        Ok(Record {
            cell: self.cell,
            params,
            flows: flows.collect(),
            runs,
            warnings: warnings.map(|note| note.text.clone()).collect(),
        })
    }
}

/// The error of a cell that was stopped, which has no record.
fn stopped_error<E>() -> Error<E> {
    Error::Storage(ExperimentError::Stopped.to_string())
}

/// Refuses a channel for a timeline, which a scheme makes of it.
fn refuse_without_scheme(experiment: &Experiment) -> Result<(), Refusal> {
    if experiment.channel.is_some() && experiment.scheme.is_none() {
        return Err(Refusal {
            is_storage: false,
            message: "`channel` needs `scheme`, for example `none`, which sends every LLDU once"
                .to_owned(),
        });
    }
    Ok(())
}

/// A value's fields; empty if it has none.
fn fields(value: &impl Serialize) -> Fields {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}
