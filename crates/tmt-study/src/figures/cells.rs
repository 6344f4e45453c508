//! Cells as rows name them: their labels, the choice of some, and what their runs have.

use std::collections::BTreeMap;

use fluid_tcp::simulation::replications::{Estimate, estimate};

use super::measure::Measure;
use crate::plan::{Cell, Name};
use crate::record::{Record, Records, Run};

/// Values by which cells are chosen: each name has one of its texts.
pub(super) type Filter = BTreeMap<String, Vec<String>>;

/// A cell as rows name it.
pub(super) struct Group {
    /// Texts of the axes that label it.
    pub(super) key: Vec<(String, String)>,
    /// Cells of the plan: more than one if each is a trace of its own.
    pub(super) cells: Vec<Cell>,
}

/// Whether `cell` has the values of `filter`.
pub(super) fn has(cell: &Cell, filter: &Filter) -> bool {
    filter.iter().all(|(name, texts)| {
        let found = cell.text(name);
        found.is_some_and(|found| texts.iter().any(|text| are_equal(&found, text)))
    })
}

/// Whether two texts are equal, or the same number.
fn are_equal(one: &str, other: &str) -> bool {
    let numbers = one.parse::<f64>().ok().zip(other.parse::<f64>().ok());
    one == other || numbers.is_some_and(|(one, other)| one.total_cmp(&other).is_eq())
}

/// The value of this name in `cell`.
pub(super) fn value(cell: &Cell, name: &str) -> Option<String> {
    let mut settings = cell.settings();
    let found = settings.find(|(known, kind, _)| *known == name && *kind != Name::Model);
    found.map(|(_, _, text)| text)
}

/// The runs of a group: values of a measure, and what stands in their way.
pub(super) struct Found {
    pub(super) ours: Option<Estimate>,
    /// Why there is no value, or what is missing.
    pub(super) remark: Option<String>,
}

/// The estimate of `measure` over the runs of `group`.
///
/// A cell with starts in a trace is one value, the mean over the starts. Any other run is a value of its own.
pub(super) fn found(group: &Group, records: &Records, measure: &Measure) -> Found {
    let mut values = Vec::new();
    let (mut lacking, mut all) = (0_usize, 0_usize);
    let mut refused = None;
    for cell in &group.cells {
        let has_starts = cell.text("offsets").is_some();
        let mut of_cell = Vec::new();
        for record in records.of_cell(cell.number) {
            for run in &record.runs {
                all += 1;
                refused = refused.or_else(|| run.error.clone());
                match measure.of(record, run) {
                    Some(value) => of_cell.push(value),
                    None => lacking += 1,
                }
            }
        }
        match estimate(&of_cell).filter(|_| has_starts) {
            Some(mean) => values.push(mean.mean),
            None => values.extend(of_cell),
        }
    }
    if let Some(why) = refused {
        let ours = None;
        let remark = Some(format!("refused: {why}"));
        return Found { ours, remark };
    }
    Found {
        ours: estimate(&values),
        remark: (lacking > 0).then(|| format!("{lacking} of {all} runs have no such value")),
    }
}

/// The runs of the cells of `group`.
pub(super) fn runs<'a>(group: &'a Group, records: &'a Records) -> Vec<&'a Run> {
    let cells = group.cells.iter();
    let records = cells.flat_map(|cell| records.of_cell(cell.number));
    records.flat_map(|record: &Record| &record.runs).collect()
}
