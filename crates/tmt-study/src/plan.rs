//! A plan: what varies, and the cells that follow from it.

mod cell;
mod error;
pub(crate) mod file;
mod names;
mod stop;

use std::collections::HashMap;
use std::fmt::Write as _;

pub use cell::{ASSUMED_DURATION, ASSUMED_RATE, Cell, Work};
pub(crate) use cell::{of_seed, of_slots, runs};
pub use error::PlanError;
use fluid_tcp::experiment::{Kind, Parameter};
pub(crate) use names::OWN_COLUMNS;
pub use names::{Name, models};
pub(crate) use stop::Seen;
pub use stop::{Stop, StopError};

use crate::values;

/// Largest number of cells of a plan.
pub const MAX_CELLS: usize = 10_000_000;

/// One value of an axis: the texts of a parameter, usually one. None leaves the parameter out.
pub type Choice = Vec<String>;

/// A name and the values that it takes; one value if it does not vary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Key of a parameter of a run or of a model, `model`, or a variable that other values name as `{name}`.
    pub name: String,
    /// Values, at least one.
    pub values: Vec<Choice>,
    /// Line and column of the plan that gives them, from 1; `None` for a flag.
    pub place: Option<(usize, usize)>,
}

impl Axis {
    /// Whether its values are files of traces.
    #[must_use]
    pub fn is_of_traces(&self) -> bool {
        Parameter::of(&self.name).is_some_and(Parameter::is_trace)
    }
}

/// A plan before its names and values are checked.
///
/// ```
/// use tmt_study::Draft;
///
/// let mut draft = Draft::parse("link = \"synthetic\"\nrate = \"2Mbps\"\nduration = \"10s\"\ncc = [\"reno\", \"cubic\"]\n")?;
/// draft.set("loss", "bernoulli:1e-4..1e-2:log:3")?; // as a flag gives it
/// let plan = draft.plan(&mut |_| Ok(None))?;
/// assert_eq!(plan.cells(), 6);
/// assert_eq!(plan.cell(5)?.text("loss"), Some("bernoulli:0.01".to_owned()));
/// assert!(Draft::parse("rtx = \"1s\"")?.plan(&mut |_| Ok(None)).unwrap_err().to_string().contains("rtt"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Draft {
    axes: Vec<Axis>,
    zipped: Vec<Vec<String>>,
    stop: Option<Stop>,
    /// Names that are variables although no value names them.
    labels: Vec<String>,
    keeps_all: bool,
}

impl Draft {
    /// Reads a plan in TOML: a key a name, whose value is fixed, a range, or an array of values. `zip` has arrays of names
    /// that vary together, `stop` the rule for stopping.
    ///
    /// # Errors
    /// Text that is not TOML, a duplicate key, or a value of the wrong type, with its place.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        file::parse(text)
    }

    /// Adds the values in `text`, a list with commas and ranges, as a flag gives it.
    ///
    /// # Errors
    /// A range that is none.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), PlanError> {
        let mut values = Vec::new();
        let split = values::split(text);
        if let Some(why) = values::nameless(&split) {
            return Err(PlanError::of(name, why));
        }
        for value in split {
            let expanded = names::expand(name, &value);
            let expanded = expanded.map_err(|why| PlanError::of(name, why))?;
            values.extend(expanded.into_iter().map(|text| vec![text]));
        }
        self.give(name, values, None);
        Ok(())
    }

    /// Gives `name` these values in place of those that it has. A parameter may be typed as its flag, with `-` for `_`.
    pub fn give(&mut self, name: &str, values: Vec<Choice>, place: Option<(usize, usize)>) {
        let name = names::key(name);
        let axis = Axis {
            name: name.to_owned(),
            values,
            place,
        };
        match self.axes.iter_mut().find(|known| known.name == name) {
            Some(known) => *known = axis,
            None => self.axes.push(axis),
        }
    }

    /// Lets these names vary together.
    pub fn zip(&mut self, names: impl IntoIterator<Item = impl AsRef<str>>) {
        let names = names.into_iter();
        let names = names.map(|name| names::key(name.as_ref()).to_owned());
        self.zipped.push(names.collect());
    }

    /// Takes `name` as a variable, if it is no parameter, although no other value names it: it labels the cells.
    pub(crate) fn label(&mut self, name: &str) {
        self.labels.push(name.to_owned());
    }

    /// The values of `name`; `None` if it has none.
    pub(crate) fn values(&self, name: &str) -> Option<&[Choice]> {
        let name = names::key(name);
        let axis = self.axes.iter().find(|axis| axis.name == name);
        axis.map(|axis| &axis.values[..])
    }

    /// Keeps only these values of an axis that varies with others, and of those what varies with them. Returns false, and changes
    /// nothing, if `name` is no such axis, or lacks one of the values.
    pub(crate) fn choose(&mut self, name: &str, values: &[Choice]) -> bool {
        let name = names::key(name);
        let Some(group) = self
            .zipped
            .iter()
            .find(|group| group.iter().any(|known| known == name))
        else {
            return false;
        };
        let Some(axis) = self.axes.iter().find(|axis| axis.name == name) else {
            return false;
        };
        if !values.iter().all(|value| axis.values.contains(value)) {
            return false;
        }
        let keeps: Vec<bool> = axis
            .values
            .iter()
            .map(|value| values.contains(value))
            .collect();
        for axis in self
            .axes
            .iter_mut()
            .filter(|axis| group.contains(&axis.name))
        {
            let mut keeps = keeps.iter();
            axis.values
                .retain(|_| keeps.next().is_none_or(|keeps| *keeps));
        }
        true
    }

    /// Keeps combinations apart that differ in unused variables: something beside the plan uses them.
    pub(crate) fn keep_all(&mut self) {
        self.keeps_all = true;
    }

    /// Sets the rule for stopping.
    pub fn stop(&mut self, stop: Stop) {
        self.stop = Some(stop);
    }

    /// The same plan, of no file: errors name no place.
    #[must_use]
    pub fn without_places(mut self) -> Self {
        for axis in &mut self.axes {
            axis.place = None;
        }
        self
    }

    /// The values of `other` replace those of this plan.
    pub fn override_with(&mut self, other: Self) {
        for Axis {
            name,
            values,
            place,
        } in other.axes
        {
            self.give(&name, values, place);
        }
        if !other.zipped.is_empty() {
            self.zipped = other.zipped;
        }
        self.stop = other.stop.or(self.stop.take());
        self.labels.extend(other.labels);
    }

    /// As [`Self::override_with`], but what `other` gives comes after all that it does not.
    pub(crate) fn replace_with(&mut self, other: Self) {
        let is_given = |axis: &Axis| other.axes.iter().any(|given| given.name == axis.name);
        self.axes.retain(|axis| !is_given(axis));
        self.override_with(other);
    }

    /// Checks names and values. `unnamed` returns a value that names files without them, `None` for any other value, or why
    /// it cannot.
    ///
    /// # Errors
    /// An unknown name, a value that its parameter refuses, or axes that cannot be combined.
    pub fn plan(
        self,
        unnamed: &mut dyn FnMut(&str) -> Result<Option<String>, String>,
    ) -> Result<Plan, PlanError> {
        let names = names::of(&self.axes, &self.labels)?;
        let mut without_files = HashMap::new();
        for (axis, name) in self.axes.iter().zip(&names) {
            for text in axis.values.iter().flatten() {
                if name.takes_files()
                    && let Some(read) = unnamed(text).map_err(|why| PlanError::at(axis, why))?
                {
                    without_files.insert(text.clone(), read);
                }
            }
        }
        let mut plan = Plan {
            dimensions: dimensions(&self.axes, &self.zipped)?,
            axes: self.axes,
            names,
            stop: self.stop,
            without_files,
            cells: 0,
            kept: None,
            optional: Vec::new(),
        };
        plan.cells = plan.count()?;
        plan.check_values()?;
        if !self.keeps_all {
            plan.keep_what_differs();
        }
        if plan.stop.is_some() {
            Stop::check(&plan)?;
        }
        Ok(plan)
    }
}

/// A plan whose names and values are checked. Cells are numbered from 0; the last axis varies fastest. Combinations that
/// differ only in variables that none of their values names are one cell, without these variables.
#[derive(Debug, Clone)]
pub struct Plan {
    axes: Vec<Axis>,
    names: Vec<Name>,
    /// Axes that vary together, by their numbers. The first dimension varies slowest.
    dimensions: Vec<Vec<usize>>,
    stop: Option<Stop>,
    /// Values that name files, with what stands for them.
    without_files: HashMap<String, String>,
    cells: usize,
    /// The combinations that are cells, if some are equal to others.
    kept: Option<Vec<usize>>,
    /// Variables that some combinations do not use.
    optional: Vec<Optional>,
}

/// A dimension of variables alone.
#[derive(Debug, Clone)]
struct Optional {
    axes: Vec<usize>,
    /// Axes with values that name one of them, and which values do.
    users: Vec<(usize, Vec<bool>)>,
}

impl Plan {
    /// Number of cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// All names with their values, also those that do not vary, in the order of the plan.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Names of the axes that vary.
    pub fn varying(&self) -> impl Iterator<Item = &str> {
        let varying = self.axes.iter().filter(|axis| axis.values.len() > 1);
        varying.map(|axis| axis.name.as_str())
    }

    /// Names of its variables.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        let axes = self.axes.iter().zip(&self.names);
        let variables = axes.filter(|(_, name)| **name == Name::Variable);
        variables.map(|(axis, _)| axis.name.as_str())
    }

    /// The rule for stopping, if there is one.
    #[must_use]
    pub fn stop(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// Whether the plan evaluates closed forms instead of running simulations.
    #[must_use]
    pub fn is_of_models(&self) -> bool {
        self.names.contains(&Name::Model)
    }

    /// Cell `number`, below [`Self::cells`].
    ///
    /// # Errors
    /// A value made of variables that its parameter refuses.
    pub fn cell(&self, number: usize) -> Result<Cell, PlanError> {
        cell::of(self, number)
    }

    /// A text that two plans share if and only if they have the same cells and rule.
    ///
    /// One line a name, which has its values as JSON.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        for axis in &self.axes {
            let values = axis.values.iter().map(|choice| {
                let read = |text: &String| self.without_files.get(text).unwrap_or(text).clone();
                choice.iter().map(read).collect::<Vec<_>>()
            });
            let values: Vec<Vec<String>> = values.collect();
            let _ = writeln!(text, "{} = {}", axis.name, serde_json::json!(values));
        }
        for dimension in self.dimensions.iter().filter(|axes| axes.len() > 1) {
            let names = dimension.iter().map(|axis| self.axes[*axis].name.as_str());
            let names: Vec<&str> = names.collect();
            let _ = writeln!(text, "zip = {}", serde_json::json!(names));
        }
        if self.kept.is_some() {
            let _ = writeln!(text, "cells = {}", self.cells);
        }
        if let Some(stop) = &self.stop {
            let _ = writeln!(text, "stop = \"{stop}\"");
        }
        text
    }

    /// The plan in TOML, with all its values. [`Draft::parse`] reads it to the same plan, without variables that no value names.
    ///
    /// ```
    /// use tmt_study::Draft;
    ///
    /// let plan = Draft::parse("loss = \"bernoulli:0.1..0.2:2\"\n")?.plan(&mut |_| Ok(None))?;
    /// assert_eq!(plan.to_file(), "loss = [[\"bernoulli:0.1\"], [\"bernoulli:0.2\"]]\n");
    /// # Ok::<(), tmt_study::PlanError>(())
    /// ```
    #[must_use]
    pub fn to_file(&self) -> String {
        file::write(self)
    }

    fn count(&self) -> Result<usize, PlanError> {
        let dimensions = self.dimensions.iter();
        let mut lengths = dimensions.map(|axes| self.axes[axes[0]].values.len());
        let cells = lengths.try_fold(1usize, usize::checked_mul);
        let cells = cells.filter(|cells| *cells <= MAX_CELLS);
        cells.ok_or_else(|| PlanError::whole(format!("found more than {MAX_CELLS} cells")))
    }

    /// Drops combinations that differ from another one only in variables that none of their values names.
    fn keep_what_differs(&mut self) {
        self.optional = self
            .dimensions
            .iter()
            .filter_map(|axes| self.optional(axes))
            .collect();
        if self.optional.is_empty() {
            return;
        }
        let is_kept = |number: &usize| {
            let picks = self.picks(*number);
            self.unused(&picks).all(|axis| picks[axis] == 0)
        };
        let kept: Vec<usize> = (0..self.cells).filter(is_kept).collect();
        if kept.len() < self.cells {
            self.cells = kept.len();
            self.kept = Some(kept);
        }
    }

    /// A dimension of variables that some combinations do not use.
    fn optional(&self, axes: &[usize]) -> Option<Optional> {
        if axes.iter().any(|axis| self.names[*axis] != Name::Variable) {
            return None;
        }
        let marks = axes
            .iter()
            .map(|axis| format!("{{{}}}", self.axes[*axis].name));
        let marks: Vec<String> = marks.collect();
        let is_naming = |choice: &Choice| {
            let mut texts = choice.iter();
            texts.any(|text| marks.iter().any(|mark| text.contains(mark)))
        };
        let mut users = Vec::new();
        for (place, (axis, name)) in self.axes.iter().zip(&self.names).enumerate() {
            if *name == Name::Variable {
                continue;
            }
            let naming: Vec<bool> = axis.values.iter().map(is_naming).collect();
            if !naming.contains(&false) {
                return None;
            }
            if naming.contains(&true) {
                users.push((place, naming));
            }
        }
        Some(Optional {
            axes: axes.to_vec(),
            users,
        })
    }

    /// The value of each axis in a combination, by their numbers.
    fn picks(&self, combination: usize) -> Vec<usize> {
        let mut picks = vec![0; self.axes.len()];
        let mut rest = combination;
        for dimension in self.dimensions.iter().rev() {
            let length = self.axes[dimension[0]].values.len();
            for axis in dimension {
                picks[*axis] = rest % length;
            }
            rest /= length;
        }
        picks
    }

    /// The variables that no value of a combination names, in dimensions that have nothing else.
    fn unused<'a>(&'a self, picks: &'a [usize]) -> impl Iterator<Item = usize> + 'a {
        let unused = self.optional.iter().filter(|optional| {
            let mut users = optional.users.iter();
            !users.any(|(axis, naming)| naming[picks[*axis]])
        });
        unused.flat_map(|optional| optional.axes.iter().copied())
    }

    /// Whether an axis is no variable, or one that a value names. Figures have others, for their labels and theories.
    fn is_named(&self, place: usize) -> bool {
        let mark = format!("{{{}}}", self.axes[place].name);
        let others = self.axes.iter().zip(&self.names);
        let mut others = others.filter(|(_, name)| **name != Name::Variable);
        self.names[place] != Name::Variable
            || others.any(|(axis, _)| {
                axis.values
                    .iter()
                    .flatten()
                    .any(|text| text.contains(&mark))
            })
    }

    /// Checks every value that has no variables, and every variable.
    fn check_values(&self) -> Result<(), PlanError> {
        for (axis, name) in self.axes.iter().zip(&self.names) {
            if axis.values.is_empty() {
                return Err(PlanError::at(axis, "found no value, expected at least one"));
            }
            for choice in &axis.values {
                let variable = choice.iter().any(|text| self.has_variables(text));
                let is_left_out = choice.is_empty() && matches!(name, Name::Parameter(_));
                if !variable && !is_left_out {
                    let texts = choice.iter().map(|text| self.without_files(text));
                    let texts: Vec<&str> = texts.collect();
                    name.check(&texts).map_err(|why| PlanError::at(axis, why))?;
                }
            }
        }
        Ok(())
    }

    fn without_files<'a>(&'a self, text: &'a str) -> &'a str {
        self.without_files.get(text).map_or(text, String::as_str)
    }

    fn has_variables(&self, text: &str) -> bool {
        let axes = self.axes.iter().zip(&self.names);
        let mut variables = axes.filter(|(_, name)| **name == Name::Variable);
        text.contains('{')
            && variables.any(|(axis, _)| text.contains(&format!("{{{}}}", axis.name)))
    }
}

/// The axes that vary together, in the order of their first.
fn dimensions(axes: &[Axis], zipped: &[Vec<String>]) -> Result<Vec<Vec<usize>>, PlanError> {
    let mut together: Vec<Option<usize>> = vec![None; axes.len()];
    for (group, names) in zipped.iter().enumerate() {
        let mut first: Option<&Axis> = None;
        for name in names {
            let Some(place) = axes.iter().position(|axis| axis.name == *name) else {
                return Err(PlanError::of(
                    "zip",
                    format!("found {name}, expected a name that this plan gives values"),
                ));
            };
            let axis = &axes[place];
            if together[place].replace(group).is_some() {
                return Err(PlanError::of("zip", format!("found {name} more than once")));
            }
            if let Some(first) = first
                && first.values.len() != axis.values.len()
            {
                return Err(PlanError::of(
                    "zip",
                    format!(
                        "found {} values of {} and {} of {name}, expected equal numbers",
                        first.values.len(),
                        first.name,
                        axis.values.len()
                    ),
                ));
            }
            first = first.or(Some(axis));
        }
        if names.len() < 2 {
            return Err(PlanError::of("zip", "found fewer than two names"));
        }
    }
    let mut dimensions: Vec<Vec<usize>> = Vec::new();
    for place in 0..axes.len() {
        let group = together[place];
        let known = dimensions
            .iter_mut()
            .find(|axes| group.is_some() && together[axes[0]] == group);
        match known {
            Some(axes) => axes.push(place),
            None => dimensions.push(vec![place]),
        }
    }
    Ok(dimensions)
}

/// Whether a value of this kind is a list of texts.
fn is_list(kind: Kind) -> bool {
    matches!(kind, Kind::List(_))
}

#[cfg(test)]
mod tests;
