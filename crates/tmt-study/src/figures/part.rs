//! A part of a figure: one experiment and what is looked at.

use std::collections::BTreeMap;

use tmt_core::types::Span;

use super::cells::{Filter, Group};
use super::check::Check;
use super::judge::Role;
use super::measure::Measure;
use super::own::Own;
use super::template;
use crate::engine::Sweep;
use crate::plan::{Draft, Plan, PlanError, models};

/// Reads values that name files, as in [`Draft::plan`].
pub(super) type Unnamed<'a> = &'a mut dyn FnMut(&str) -> Result<Option<String>, String>;

/// One experiment of a figure.
#[derive(Debug, Clone)]
pub struct Part {
    /// The plan as the entry has it.
    pub(super) draft: Draft,
    /// The same, checked.
    pub(super) plan: Plan,
    /// Text of a row, in which `{name}` is a value of the plan; `None`: the values of all axes.
    pub(super) label: Option<String>,
    /// Subject of the simulation, in the same form.
    pub(super) subject: String,
    pub(super) own: Option<Own>,
    /// Names under which `tmt validate` knows the part; none if it does not.
    pub(super) validate: Vec<String>,
    /// Description for `tmt validate`.
    pub(super) about: String,
    /// Shortest meaningful run.
    pub(super) shortest: Span,
    pub(super) quantities: Vec<Quantity>,
    pub(super) checks: Vec<Check>,
}

/// A quantity of every cell: a metric, and its targets.
#[derive(Debug, Clone)]
pub(super) struct Quantity {
    pub(super) name: String,
    /// Text of the row in place of that of the part.
    pub(super) label: Option<String>,
    /// Text of the measure.
    pub(super) metric: String,
    pub(super) measure: Measure,
    pub(super) unit: String,
    /// Factor and divisor of the measure.
    pub(super) scale: f64,
    pub(super) divisor: f64,
    /// Where it is published.
    pub(super) source: String,
    /// Cells that have it; empty: all.
    pub(super) only: Filter,
    /// By label of a cell.
    pub(super) published: Values,
    /// Expected value where it is not the compared one, and why.
    pub(super) known: Values,
    pub(super) why: Option<String>,
    /// Largest deviation as a share; `None`: not judged.
    pub(super) tolerance: Option<f64>,
    pub(super) role: Role,
    /// Cells that a fit has seen.
    pub(super) fitted: Vec<Filter>,
    pub(super) theory: Option<TheoryOf>,
}

/// A closed form at every cell.
#[derive(Debug, Clone)]
pub(super) struct TheoryOf {
    /// Arguments of `tmt model`, in which `{name}` is a value of the plan.
    pub(super) model: String,
    pub(super) result: String,
    pub(super) by: String,
    /// Assumptions that must hold.
    pub(super) rule: Option<String>,
    /// Factor on the tolerance: a number, or a value of the plan.
    pub(super) allowed: String,
}

/// Values by the texts of the varying axes of a cell.
pub(super) type Values = BTreeMap<Vec<String>, f64>;

/// Changes by a user.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Names of the plan, and their values as a flag gives them.
    pub set: Vec<(String, String)>,
    /// Runs of a cell, or traces if a run has starts in one.
    pub seeds: Option<u32>,
    /// Length of a run.
    pub duration: Option<Span>,
}

impl Part {
    /// Names under which `tmt validate` knows it.
    pub fn validate_names(&self) -> impl Iterator<Item = &str> {
        self.validate.iter().map(String::as_str)
    }

    /// Description for `tmt validate`.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The plan as the entry has it.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Shortest meaningful run.
    #[must_use]
    pub fn shortest(&self) -> Span {
        self.shortest
    }

    /// The largest tolerance of its quantities, as a share.
    #[must_use]
    pub fn tolerance(&self) -> Option<f64> {
        let all = self
            .quantities
            .iter()
            .filter_map(|quantity| quantity.tolerance);
        all.reduce(f64::max)
    }

    /// Published values by quantity in the order of the entry: one value a cell, in the order of its cells.
    #[must_use]
    pub fn published(&self) -> Vec<(&str, Vec<Option<f64>>)> {
        let keys: Vec<Vec<String>> = match self.groups(&self.plan) {
            Ok(groups) => groups.iter().map(|group| self.key(group)).collect(),
            Err(_) => Vec::new(),
        };
        let of = |quantity: &Quantity| {
            keys.iter()
                .map(|key| quantity.published.get(key).copied())
                .collect()
        };
        let quantities = self.quantities.iter();
        quantities
            .map(|quantity| (quantity.name.as_str(), of(quantity)))
            .collect()
    }

    /// Whether `name` can be changed here: a name of the plan, a parameter of its runs, or a key of its models.
    #[must_use]
    pub fn takes(&self, name: &str) -> bool {
        let key = name.replace('-', "_");
        if self.draft.values(name).is_some() {
            return true;
        }
        if !self.plan.is_of_models() {
            let is_parameter = fluid_tcp::experiment::Parameter::of(&key).is_some();
            let is_read = self.own.is_none_or(|own| own.reads(&key) || key == "seeds");
            return is_parameter && is_read;
        }
        let chosen = self
            .draft
            .values("model")
            .unwrap_or_default()
            .iter()
            .flatten();
        let mut chosen = chosen.filter_map(|text| models().find(|model| model.name == *text));
        chosen.any(|model| model.key(name).is_ok())
    }

    /// The plan with what is changed of it. A name that the part does not take is left out.
    ///
    /// # Errors
    /// A value that its parameter refuses.
    pub fn changed(&self, changes: &Changes, unnamed: Unnamed<'_>) -> Result<Plan, PlanError> {
        let mut draft = self.draft.clone();
        // A setting may replace the only value that names a variable, whose labels stay.
        for name in self.plan.variables() {
            draft.label(name);
        }
        for (name, text) in &changes.set {
            if !self.takes(name) {
                continue;
            }
            let mut given = Draft::default();
            given.set(name, text)?;
            let values = given.values(name).unwrap_or_default();
            if !draft.choose(name, values) {
                draft.give(name, values.to_vec(), None);
            }
        }
        if let Some(duration) = changes.duration.filter(|_| !self.plan.is_of_models()) {
            draft.give("duration", vec![vec![duration.to_string()]], None);
        }
        if let Some(seeds) = changes.seeds.filter(|_| !self.plan.is_of_models()) {
            self.give_seeds(&mut draft, seeds);
        }
        draft.plan(unnamed)
    }

    /// Gives `draft` this many seeds. Runs from starts in a trace have a trace per seed.
    fn give_seeds(&self, draft: &mut Draft, seeds: u32) {
        if draft.values("offsets").is_none() {
            draft.give("seeds", vec![vec![seeds.to_string()]], None);
            return;
        }
        let first = self.plan.cell(0).ok().and_then(|cell| cell.text(SEED));
        let first: u64 = first.and_then(|text| text.parse().ok()).unwrap_or(1);
        let all = first..first.saturating_add(seeds.into());
        draft.give(SEED, all.map(|seed| vec![seed.to_string()]).collect(), None);
    }

    /// The work of `plan`, which [`Self::changed`] gave.
    ///
    /// # Errors
    /// A value made of variables that its parameter refuses.
    pub fn sweep<'a>(&self, plan: &'a Plan) -> Result<Sweep<'a>, PlanError> {
        match self.own {
            Some(own) => Sweep::of_own(plan, own.run),
            None => Sweep::new(plan),
        }
    }

    /// Axes that label cells of `plan`: those that vary in the entry, then those that a user lets vary. Seeds are runs.
    pub(super) fn labels(&self, plan: &Plan) -> Vec<String> {
        let own = self.plan.varying();
        let new = plan.varying().filter(|name| !own_has(&self.plan, name));
        let all = own.chain(new).filter(|name| *name != SEED);
        all.map(str::to_owned).collect()
    }

    /// The cells of `plan` as rows name them, in order.
    pub(super) fn groups(&self, plan: &Plan) -> Result<Vec<Group>, PlanError> {
        let labels = self.labels(plan);
        let mut groups: Vec<Group> = Vec::new();
        for number in 0..plan.cells() {
            let cell = plan.cell(number)?;
            let key = labels.iter().map(|name| {
                let text = cell.text(name).unwrap_or_default();
                (name.clone(), text)
            });
            let key: Vec<(String, String)> = key.collect();
            match groups.iter_mut().find(|group| group.key == key) {
                Some(group) => group.cells.push(cell),
                None => groups.push(Group {
                    key,
                    cells: vec![cell],
                }),
            }
        }
        Ok(groups)
    }

    /// The key of a group among the cells of the entry.
    pub(super) fn key(&self, group: &Group) -> Vec<String> {
        let own = self.plan.varying().filter(|name| *name != SEED);
        let text = |name: &str| {
            let found = group.key.iter().find(|(known, _)| known == name);
            found.map(|(_, text)| text.clone()).unwrap_or_default()
        };
        own.map(text).collect()
    }
}

/// The axis of traces with starts.
const SEED: &str = "seed";

fn own_has(plan: &Plan, name: &str) -> bool {
    plan.varying().any(|own| own == name)
}

/// Names of a plan that these texts fill in, which are variables even if no value of the plan names them.
pub(super) fn named<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let names = texts.into_iter().flat_map(template::names);
    names.map(str::to_owned).collect()
}

/// Names that a filter or rule needs of a plan are variables, too, unless they are parameters.
pub(super) fn label_all(draft: &mut Draft, names: impl IntoIterator<Item = String>) {
    for name in names {
        draft.label(&name);
    }
}
