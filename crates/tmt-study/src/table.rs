//! The results as a tidy table: one row a run and flow (docs/sweeps.md, Sec. 4).

use serde_json::{Map, Value};
use tmt_core::format::records::{self, Records as Table};
use tmt_core::types::Span;

use crate::plan::{Name, Plan, PlanError, Work};
use crate::record::{Fields, Record, Records, Run};

/// Schema of the table.
pub const SCHEMA: &str = "tmt.sweep/1";

/// Prefix of the columns of metrics of all flows together.
pub(crate) const TOTAL: &str = "total_";

/// Which rows a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// One per flow, as `tmt sweep` writes them.
    Flows,
    /// One of all flows together (`scope` is total), then one per flow (`scope` is flow): those of `tmt tcp --results`.
    Scopes,
}

/// The table of `records`, which must be trimmed. `version` names the program.
///
/// A row has, from left to right: the cell, what varies, run, seed, start, flow, length of the run, metrics of the flow, metrics of
/// all flows together (`total_…`), resolved parameters, values of the plan that are no parameter of the run, the reason if there
/// are no results, and the version.
///
/// # Errors
/// A value made of variables that its parameter refuses.
pub fn table(plan: &Plan, records: &Records, version: &str) -> Result<Table, PlanError> {
    rows(plan, records, version, Rows::Flows)
}

/// As [`table`], with these rows.
///
/// # Errors
/// As [`table`].
pub fn rows(plan: &Plan, records: &Records, version: &str, rows: Rows) -> Result<Table, PlanError> {
    let is_scoped = rows == Rows::Scopes;
    let mut table = Table::default();
    let mut cell = None;
    for record in records.iter() {
        if cell
            .as_ref()
            .is_none_or(|(known, _): &(usize, Settings)| *known != record.cell)
        {
            cell = Some((record.cell, Settings::of(plan, record.cell)?));
        }
        let Some((_, settings)) = &cell else { continue };
        if let Some(error) = common_error(records, record) {
            // One row for the whole cell, at its first record.
            if record.runs.first().is_some_and(|run| run.run == 0) {
                let run = Run {
                    error: Some(error.to_owned()),
                    ..Run::default()
                };
                add(&mut table, settings, record, &run, Scope::None, version);
            }
            continue;
        }
        for run in &record.runs {
            if is_scoped || run.flows.is_empty() {
                let scope = if is_scoped { Scope::Total } else { Scope::None };
                add(&mut table, settings, record, run, scope, version);
            }
            for flow in 0..run.flows.len() {
                let scope = Scope::Flow(flow, is_scoped);
                add(&mut table, settings, record, run, scope, version);
            }
        }
    }
    Ok(table)
}

/// The error that all runs of the cell of `record` have.
fn common_error<'a>(records: &Records, record: &'a Record) -> Option<&'a str> {
    let first = record.runs.first()?.error.as_deref()?;
    let all = records.of_cell(record.cell).flat_map(|record| &record.runs);
    let mut all = all.map(|run| run.error.as_deref());
    all.all(|error| error == Some(first)).then_some(first)
}

/// Values that the plan gives a cell, by column.
struct Settings {
    varying: Fields,
    fixed: Fields,
}

impl Settings {
    fn of(plan: &Plan, number: usize) -> Result<Self, PlanError> {
        let cell = plan.cell(number)?;
        let work = cell.work()?;
        let varying: Vec<&str> = plan.varying().collect();
        let mut settings = Self {
            varying: Map::new(),
            fixed: Map::new(),
        };
        for (name, kind, text) in cell.settings() {
            let (column, value) = match (kind, &work) {
                (Name::Parameter(parameter), Work::Runs { experiment, .. }) => {
                    if parameter.key == "seed" {
                        continue;
                    }
                    let column = parameter.column();
                    // A default that a coupled link moves elsewhere is still what was given.
                    let value = parameter.json(experiment);
                    (column, value.unwrap_or_else(|| scalar(&text)))
                }
                (Name::TraceDuration, _) => {
                    let length = cell.trace_duration()?.map(Span::as_nanos);
                    ("trace_duration_ns".to_owned(), Value::from(length))
                }
                _ => (name.replace('-', "_"), scalar(&text)),
            };
            let fields = if varying.contains(&name) {
                &mut settings.varying
            } else {
                &mut settings.fixed
            };
            fields.insert(column, value);
        }
        // A variable that the cell does not use has no value.
        for name in varying {
            if cell.text(name).is_none() {
                settings.varying.insert(name.replace('-', "_"), Value::Null);
            }
        }
        Ok(settings)
    }
}

/// A number if the text is one.
fn scalar(text: &str) -> Value {
    if let Ok(whole) = text.parse::<i64>() {
        return Value::from(whole);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Value::from(number),
        _ => Value::from(text),
    }
}

/// Whose results a row has.
#[derive(Debug, Clone, Copy)]
enum Scope {
    /// Those of a run without flows, or of none.
    None,
    /// All flows together, which the row says.
    Total,
    /// A flow, and whether the row says so.
    Flow(usize, bool),
}

impl Scope {
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Total => Some("total"),
            Self::Flow(_, true) => Some("flow"),
            Self::None | Self::Flow(_, false) => None,
        }
    }
}

/// Fields that all flows share; null where they differ.
fn in_common(flows: &[Fields]) -> Fields {
    let first = flows.first().into_iter().flatten();
    let common = first.map(|(name, value)| {
        let is_common = flows.iter().all(|flow| flow.get(name) == Some(value));
        let value = if is_common {
            value.clone()
        } else {
            Value::Null
        };
        (name.clone(), value)
    });
    common.collect()
}

fn add(
    table: &mut Table,
    settings: &Settings,
    record: &Record,
    run: &Run,
    scope: Scope,
    version: &str,
) {
    let flow = match scope {
        Scope::Flow(flow, _) => Some(flow),
        Scope::None | Scope::Total => None,
    };
    let mut row = Row::default();
    row.set("cell", record.cell);
    row.all(&settings.varying);
    // The one row of a cell that refuses its parameters is of no run.
    let is_run = run.error.is_none();
    row.set("run", is_run.then_some(run.run));
    // A closed form may have a seed of its own.
    if run.seed.is_some() || !record.params.contains_key("seed") {
        row.set("seed", run.seed);
    }
    row.set("offset_s", run.offset_s);
    if let Some(name) = scope.name() {
        row.set("scope", name);
    }
    row.set("flow", flow);
    row.set("duration_s", run.duration_s);
    match flow {
        Some(flow) => {
            row.all(&run.flows[flow]);
            for (name, value) in &run.total {
                row.set(&format!("{TOTAL}{name}"), value.clone());
            }
            if let Some(of_flow) = record.flows.get(flow) {
                row.all(of_flow);
            }
        }
        None if scope.name().is_some() && !run.flows.is_empty() => {
            // The columns of a flow, so that both have the same order.
            for name in run.flows.iter().flatten().map(|(name, _)| name) {
                row.set(name, run.total.get(name).cloned().unwrap_or_default());
            }
            for (name, value) in &run.total {
                row.set(&format!("{TOTAL}{name}"), value.clone());
            }
            row.all(&in_common(&record.flows));
        }
        None => row.all(&run.total),
    }
    row.all(&record.params);
    row.all(&settings.fixed);
    row.set("error", run.error.clone());
    row.set("version", version);
    if let Scope::Total = scope {
        // Metrics that flows do not have.
        row.all(&run.total);
    }
    table.row(row.cells());
}

/// A row under construction. The first value of a column stays.
#[derive(Default)]
struct Row(Map<String, Value>);

impl Row {
    fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.entry(name).or_insert(value.into());
    }

    fn all(&mut self, fields: &Fields) {
        for (name, value) in fields {
            self.set(name, value.clone());
        }
    }

    fn cells(&self) -> impl Iterator<Item = (&str, Option<records::Value>)> {
        records::cells(&self.0)
    }
}
