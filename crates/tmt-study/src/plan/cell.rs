//! A cell: one value for every name of a plan, and the work that follows from them.

use fluid_tcp::experiment::{Count, Experiment, LinkKind};
use tmt_core::model::{Arguments, Model};
use tmt_core::types::{BitRate, Span};

use super::names::{Name, TRACE_DURATION, models};
use super::{Axis, Choice, Plan, PlanError};

/// Rate of slots or packets if neither plan nor trace nor channel has one: that of the GEO link of the papers.
pub const ASSUMED_RATE: BitRate = BitRate(2_340_000);

/// Duration of a run if neither plan nor trace nor channel has one.
pub const ASSUMED_DURATION: Span = Span::from_secs(60);

/// One value for every name of a plan.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Number of the cell, from 0.
    pub number: usize,
    settings: Vec<(String, Name, Choice)>,
}

/// Work of a cell.
#[derive(Debug)]
pub enum Work {
    /// A closed form at one point.
    Model(&'static Model, Arguments),
    /// Runs of a simulation.
    Runs {
        /// Parameters of the runs; the number of seeds or starts is among them.
        experiment: Box<Experiment>,
        /// Length of the slots that its channel generates, if it is not that of a run.
        trace_duration: Option<Span>,
        /// Values that the plan leaves open and that are assumed, as sentences.
        assumed: Vec<String>,
    },
}

pub(super) fn of(plan: &Plan, number: usize) -> Result<Cell, PlanError> {
    if number >= plan.cells {
        return Err(PlanError::whole(format!(
            "found cell {number}, expected one of {}",
            plan.cells
        )));
    }
    let kept = plan.kept.as_ref();
    let picks = plan.picks(kept.map_or(number, |kept| kept[number]));
    let unused: Vec<usize> = kept.map_or_else(Vec::new, |_| plan.unused(&picks).collect());
    let pick = |place: usize| -> (&Axis, &Choice) {
        let axis = &plan.axes[place];
        (axis, &axis.values[picks[place]])
    };
    let variables: Vec<(String, &str)> = (0..plan.axes.len())
        .filter(|place| plan.names[*place] == Name::Variable)
        .filter_map(|place| {
            let (axis, choice) = pick(place);
            Some((format!("{{{}}}", axis.name), choice.first()?.as_str()))
        })
        .collect();
    let mut settings = Vec::with_capacity(plan.axes.len());
    for (place, name) in plan.names.iter().enumerate() {
        let (axis, choice) = pick(place);
        if unused.contains(&place) {
            continue;
        }
        let is_template =
            *name != Name::Variable && choice.iter().any(|text| plan.has_variables(text));
        let texts = choice.iter().map(|text| {
            let mut text = plan.without_files(text).to_owned();
            if is_template {
                for (mark, value) in &variables {
                    text = text.replace(mark, value);
                }
            }
            text
        });
        let texts: Choice = texts.collect();
        if is_template {
            let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
            name.check(&borrowed)
                .map_err(|why| PlanError::at(axis, format!("{why} (cell {number})")))?;
        }
        settings.push((axis.name.clone(), *name, texts));
    }
    Ok(Cell { number, settings })
}

impl Cell {
    /// The value of `name` as text; `None` if the plan does not give it, or it is a variable that the cell does not use.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        let mut settings = self.settings.iter();
        let found = settings.find(|(known, ..)| known == name);
        found.map(|(_, _, texts)| texts.join(" "))
    }

    /// All names with their values, in the order of the plan, but for variables that the others do not use.
    pub fn settings(&self) -> impl Iterator<Item = (&str, Name, String)> {
        let settings = self.settings.iter();
        settings.map(|(name, kind, texts)| (name.as_str(), *kind, texts.join(" ")))
    }

    /// Work of the cell.
    ///
    /// # Errors
    /// A key that its model does not have, or a value that it refuses.
    pub fn work(&self) -> Result<Work, PlanError> {
        if let Some(name) = self.text("model") {
            return self.model(&name);
        }
        let mut experiment = Experiment::default();
        for (name, kind, texts) in &self.settings {
            if let Name::Parameter(parameter) = kind
                && !texts.is_empty()
            {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let set = experiment.set(parameter, &texts);
                set.map_err(|why| PlanError::of(name, why.to_string()))?;
            }
        }
        let trace_duration = self.trace_duration()?;
        let assumed = assume(&mut experiment, trace_duration.is_some());
        let makes_slots = experiment.is_chain() && experiment.trace.is_none();
        if trace_duration.is_some() && !makes_slots {
            return Err(PlanError::of(
                TRACE_DURATION,
                "needs `scheme`, and `channel` or `loss`, which generate slots; elsewhere `duration` is the length of a run",
            ));
        }
        Ok(Work::Runs {
            experiment: Box::new(experiment),
            trace_duration,
            assumed,
        })
    }

    /// Length of the slots that a channel generates, if the plan gives it.
    pub(crate) fn trace_duration(&self) -> Result<Option<Span>, PlanError> {
        let text = self.text(TRACE_DURATION);
        let read = text.map(|text| text.parse::<Span>()).transpose();
        read.map_err(|error| PlanError::of(TRACE_DURATION, error.to_string()))
    }

    fn model(&self, name: &str) -> Result<Work, PlanError> {
        let model = models().find(|model| model.name == name);
        let model = model.ok_or_else(|| PlanError::of("model", format!("unknown model {name}")))?;
        let keys = self.settings.iter();
        let keys = keys.filter(|(_, kind, _)| *kind == Name::Key);
        let pairs =
            keys.filter_map(|(key, _, texts)| Some((key.as_str(), texts.first()?.as_str())));
        let arguments = model.arguments(pairs);
        let arguments = arguments.map_err(|error| PlanError::of("model", error.to_string()))?;
        Ok(Work::Model(model, arguments))
    }
}

/// Fills in what `tmt tcp` takes from the order of commands in a pipe, and the link if nothing describes it. `has_slots` if
/// the length of the slots is given. Returns what is assumed.
fn assume(experiment: &mut Experiment, has_slots: bool) -> Vec<String> {
    let mut assumed = Vec::new();
    if experiment.link.is_none() {
        let has_trace = experiment.scheme.is_some() || experiment.trace.is_some();
        experiment.link = Some(if has_trace {
            LinkKind::Timeline
        } else {
            LinkKind::Synthetic
        });
    }
    let coupled = experiment.link == Some(LinkKind::Coupled);
    if coupled && experiment.trace.is_none() && experiment.channel.is_none() {
        // On a coupled link losses are erasures of slots, as on a timeline.
        experiment.channel = experiment.loss.take();
    }
    if experiment.trace.is_some() {
        return assumed;
    }
    let of_channel = experiment
        .channel
        .as_ref()
        .and_then(|channel| channel.link());
    let knows_link = of_channel.is_some();
    if experiment.rate.is_none() && !knows_link {
        experiment.rate = Some(ASSUMED_RATE);
        assumed.push(format!("no `rate` in the plan: assuming {ASSUMED_RATE}"));
    }
    if experiment.duration.is_none() && !knows_link && !has_slots {
        experiment.duration = Some(ASSUMED_DURATION);
        assumed.push(format!(
            "no `duration` in the plan: assuming {ASSUMED_DURATION}"
        ));
    }
    assumed
}

/// The experiment whose slots, if they are generated, are those of a chain.
#[must_use]
pub(crate) fn of_slots(experiment: &Experiment, trace_duration: Option<Span>) -> Experiment {
    Experiment {
        duration: trace_duration.or(experiment.duration),
        ..experiment.clone()
    }
}

/// Number of runs of an experiment: its starts, or its seeds.
#[must_use]
pub(crate) fn runs(experiment: &Experiment) -> u64 {
    match experiment.offsets {
        Some(offsets) => offsets.count.into(),
        None => experiment.seeds().0,
    }
}

/// The experiment with the `run`-th of its seeds alone.
#[must_use]
pub(crate) fn of_seed(experiment: &Experiment, run: u64) -> Experiment {
    Experiment {
        seed: Some(Count(experiment.seed().0.saturating_add(run))),
        seeds: None,
        ..experiment.clone()
    }
}
