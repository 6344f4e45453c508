//! Names that a plan can give values: parameters of a run, keys of a model, variables.

use fluid_tcp::experiment::{Experiment, Kind, PARAMETERS, Parameter};
pub use fluid_tcp::model::all as models;
use fluid_tcp::simulation::metrics::{Metrics, Total};
use tmt_core::model::{Domain, Model};
use tmt_core::named::suggestion;
use tmt_core::types::Span;

use super::{Axis, PlanError, is_list};
use crate::values;

/// Meaning of a name of a plan.
#[derive(Debug, Clone, Copy)]
pub enum Name {
    /// A parameter of a run.
    Parameter(&'static Parameter),
    /// The model that a plan of closed forms evaluates.
    Model,
    /// A key of a model.
    Key,
    /// Length of the slots that a channel generates, if runs are shorter.
    TraceDuration,
    /// A variable, which other values name as `{name}`.
    Variable,
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Parameter(one), Self::Parameter(other)) => one.key == other.key,
            (Self::Model, Self::Model)
            | (Self::Key, Self::Key)
            | (Self::TraceDuration, Self::TraceDuration)
            | (Self::Variable, Self::Variable) => true,
            _ => false,
        }
    }
}

impl Name {
    /// Whether the texts of its values may name files.
    pub(super) fn takes_files(&self) -> bool {
        matches!(self, Self::Parameter(parameter) if parameter.takes_files())
    }

    /// Checks a value.
    pub(super) fn check(&self, texts: &[&str]) -> Result<(), String> {
        match self {
            Self::Parameter(parameter) => Experiment::default()
                .set(parameter, texts)
                .map_err(|error| error.to_string()),
            Self::Model => match texts {
                [text] if models().any(|model| model.name == *text) => Ok(()),
                _ => Err(unknown_model(&texts.join(" "))),
            },
            Self::TraceDuration => match texts.concat().parse::<Span>() {
                Ok(_) => Ok(()),
                Err(error) => Err(error.to_string()),
            },
            Self::Key | Self::Variable if texts.is_empty() => {
                Err("found no value, expected one".to_owned())
            }
            // Keys are checked with their model.
            Self::Key | Self::Variable => Ok(()),
        }
    }
}

fn unknown_model(text: &str) -> String {
    let suggestion = suggestion(text, models().map(|model| model.name));
    format!("unknown model {text}{suggestion}; `tmt model --list` has all")
}

/// Parameters of `tmt tcp` that a plan cannot give, and what takes their place.
const OTHERWISE: [(&str, &str); 1] = [("compare_links", "use link = [\"timeline\", \"coupled\"]")];

/// The parameter of this name, typed as key or as flag.
pub(super) fn parameter(name: &str) -> Option<&'static Parameter> {
    Parameter::of(&name.replace('-', "_"))
}

/// `name` as axes have it: the key of a parameter, however it is typed.
pub(super) fn key(name: &str) -> &str {
    match parameter(name) {
        Some(parameter) => parameter.key,
        None if name.replace('-', "_") == TRACE_DURATION => TRACE_DURATION,
        None => name,
    }
}

/// Meanings of the names of `axes`. `labels` are variables although no value names them.
pub(super) fn of(axes: &[Axis], labels: &[String]) -> Result<Vec<Name>, PlanError> {
    let model = axes.iter().find(|axis| axis.name == MODEL);
    let names = axes.iter().map(|axis| name(axis, axes, labels, model));
    names.collect()
}

/// Columns of results that are no parameter of a run, nor a metric.
pub(crate) const OWN_COLUMNS: [&str; 9] = [
    "trace_duration_ns",
    "cell",
    "run",
    "seed",
    "offset_s",
    "flow",
    "duration_s",
    "error",
    "version",
];

/// Whether the results have a column of this name regardless of the plan.
fn is_column(name: &str) -> bool {
    let metrics = Metrics::ALL.iter().map(|metric| metric.name);
    let mut metrics = metrics.chain(Total::ALL.iter().map(|metric| metric.name));
    OWN_COLUMNS.contains(&name) || name.starts_with("total_") || metrics.any(|known| known == name)
}

/// Keys of a plan that are no axes.
const OF_PLANS: [&str; 3] = ["version", "zip", "stop"];

/// Name of the axis of models.
const MODEL: &str = "model";

/// Length of the slots that a channel generates; `duration` is then that of a run.
pub(super) const TRACE_DURATION: &str = "trace_duration";

fn name(
    axis: &Axis,
    axes: &[Axis],
    labels: &[String],
    model: Option<&Axis>,
) -> Result<Name, PlanError> {
    let known = axis.name.as_str();
    if known == MODEL {
        return Ok(Name::Model);
    }
    if known == TRACE_DURATION && model.is_none() {
        return Ok(Name::TraceDuration);
    }
    if OF_PLANS.contains(&known) {
        return Err(PlanError::at(
            axis,
            "is reserved in a plan; use another name",
        ));
    }
    if model.is_none()
        && let Some(parameter) = parameter(known)
    {
        return match OTHERWISE.iter().find(|(key, _)| *key == parameter.key) {
            Some((_, instead)) => Err(PlanError::at(
                axis,
                format!("is not available in a plan; {instead}"),
            )),
            None => Ok(Name::Parameter(parameter)),
        };
    }
    let mark = format!("{{{known}}}");
    let texts = axes.iter().flat_map(|axis| axis.values.iter().flatten());
    if texts.clone().any(|text| text.contains(&mark)) {
        return variable(axis);
    }
    let chosen = model.map(|axis| axis.values.iter().flatten());
    let chosen = chosen.into_iter().flatten();
    let chosen: Vec<&Model> = chosen
        .filter_map(|text| models().find(|model| model.name == *text))
        .collect();
    if chosen.iter().any(|model| model.key(known).is_ok()) {
        return Ok(Name::Key);
    }
    if labels.iter().any(|label| label == known) {
        return variable(axis);
    }
    let keys = chosen.iter().flat_map(|model| model.keys);
    let keys = keys.map(|key| key.name);
    let parameters = PARAMETERS.iter().map(|parameter| parameter.key);
    let parameters = parameters.filter(|_| model.is_none());
    let of_plans = [MODEL, TRACE_DURATION, "zip", "stop"];
    let all = parameters.chain(keys).chain(of_plans);
    let suggestion = suggestion(&known.replace('-', "_"), all);
    let expected = match model {
        None => "a parameter of `tmt tcp`, or a variable that a value names as {NAME}",
        Some(_) => "a key of the model, or a variable that a value names as {NAME}",
    };
    Err(PlanError {
        place: axis.place,
        name: None,
        message: format!("unknown axis {known}{suggestion}; expected {expected}"),
    })
}

/// The name of a variable, which must not be that of a column.
fn variable(axis: &Axis) -> Result<Name, PlanError> {
    if is_column(&axis.name.replace('-', "_")) {
        return Err(PlanError::at(
            axis,
            "found a column of the results, expected another name for a variable",
        ));
    }
    Ok(Name::Variable)
}

/// The values that `text` stands for under `name`. `FROM..TO` of whole numbers needs no count where numbers are expected.
pub(super) fn expand(name: &str, text: &str) -> Result<Vec<String>, String> {
    let kind = parameter(name).map(|parameter| parameter.kind);
    if kind.is_some_and(is_list) {
        return Ok(vec![text.to_owned()]);
    }
    let counts = models().flat_map(|model| model.keys).any(|key| {
        let is_whole = matches!(key.domain, Domain::Count(..));
        is_whole && key.answers_to(name)
    });
    let is_whole = match kind {
        Some(kind) => matches!(kind, Kind::Count(..)),
        None => counts || !models().any(|model| model.key(name).is_ok()),
    };
    match whole_steps(text).filter(|_| is_whole) {
        Some(values) => Ok(values),
        None => values::expand(text),
    }
}

/// All whole numbers of `FROM..TO`.
fn whole_steps(text: &str) -> Option<Vec<String>> {
    let (from, to) = text.split_once("..")?;
    let (from, to): (i64, i64) = (from.parse().ok()?, to.parse().ok()?);
    if usize::try_from(to.abs_diff(from)).ok()? >= values::MAX_VALUES {
        return None;
    }
    let texts = |numbers: &mut dyn Iterator<Item = i64>| numbers.map(|n| n.to_string()).collect();
    Some(if from <= to {
        texts(&mut (from..=to))
    } else {
        texts(&mut (to..=from).rev())
    })
}
