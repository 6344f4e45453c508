//! Rows of a figure: published, theory, ours, verdict.

use std::collections::BTreeSet;

use fluid_tcp::simulation::replications::{Estimate, estimate};

use super::judge::{Bound, Case, Role, Verdict, deviation};
use super::measure::Measure;
use super::part::{Group, Part, Quantity, TheoryOf, has, value};
use super::rules::{self, Point};
use super::template;
use super::theory::Theory;
use crate::plan::{Plan, PlanError};
use crate::record::{Record, Records, Run};

/// One quantity at one point.
#[derive(Debug, Clone)]
pub struct Row {
    /// Text of the point.
    pub label: String,
    /// Values of the axes that vary, by name.
    pub axes: Vec<(String, String)>,
    /// What is simulated.
    pub subject: String,
    /// Name of the quantity.
    pub quantity: String,
    /// What is measured, as the entry names it.
    pub metric: String,
    /// Its unit; empty without one.
    pub unit: String,
    /// What the paper has.
    pub published: Option<f64>,
    /// What a closed form gives.
    pub theory: Option<f64>,
    /// Short name of the closed form.
    pub by: String,
    /// Its arguments, as `tmt model` takes them.
    pub model: String,
    /// Mean over the runs, with its interval.
    pub ours: Option<Estimate>,
    /// Largest deviation as a share, the factor `allowed` not included.
    pub tolerance: Option<f64>,
    /// Factor on the tolerance.
    pub allowed: f64,
    /// Set if the closed form is a bound.
    pub bound: Option<Bound>,
    /// What follows.
    pub verdict: Verdict,
    /// Why it is not judged, or why it differs.
    pub why: Option<String>,
    /// Where it is published, or the closed form.
    pub source: String,
}

impl Row {
    /// (ours − theory) / |theory|, or of what is published if there is no theory.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        let (ours, target) = self.ours.zip(self.theory.or(self.published))?;
        Some(deviation(ours.mean, target))
    }
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
fn runs<'a>(group: &'a Group, records: &'a Records) -> Vec<&'a Run> {
    let cells = group.cells.iter();
    let records = cells.flat_map(|cell| records.of_cell(cell.number));
    records.flat_map(|record: &Record| &record.runs).collect()
}

impl Part {
    /// The rows of `records`, results of `plan`, which [`Self::changed`] gave. `tolerance` replaces those of the entry.
    ///
    /// # Errors
    /// A text that names a value that the plan does not have, or a closed form that refuses its arguments.
    pub fn rows(
        &self,
        plan: &Plan,
        records: &Records,
        tolerance: Option<f64>,
    ) -> Result<Vec<Row>, PlanError> {
        let mut rows = Vec::new();
        let groups = self.groups(plan)?;
        for group in &groups {
            for quantity in &self.quantities {
                let cell = &group.cells[0];
                if has(cell, &quantity.only) {
                    let row = self.row(group, quantity, records, tolerance);
                    rows.extend(row.map_err(PlanError::whole)?);
                }
            }
        }
        for check in &self.checks {
            rows.push(check.row(&groups, records).map_err(PlanError::whole)?);
        }
        Ok(rows)
    }

    /// The text of a row at `group`.
    fn label(&self, group: &Group, label: Option<&String>) -> Result<String, String> {
        match label.or(self.label.as_ref()) {
            Some(label) => template::fill(label, &|name| value(&group.cells[0], name)),
            None => {
                let texts = group
                    .key
                    .iter()
                    .map(|(name, text)| format!("{name}={text}"));
                Ok(texts.collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// One row; `None` if its closed form has no such result.
    fn row(
        &self,
        group: &Group,
        quantity: &Quantity,
        records: &Records,
        tolerance: Option<f64>,
    ) -> Result<Option<Row>, String> {
        let cell = &group.cells[0];
        let of_cell = |name: &str| value(cell, name);
        let Found { ours, remark } = found(group, records, &quantity.measure);
        let runs = runs(group, records);
        let simulated = ours.map_or(f64::NAN, |ours| ours.mean / quantity.divisor);
        let theory = match &quantity.theory {
            Some(theory) => match Judged::of(theory, &of_cell, &runs, simulated)? {
                Some(judged) => Some(judged),
                None => return Ok(None),
            },
            None => None,
        };
        let scaled = |value: f64| quantity.scale * (value / quantity.divisor);
        let ours = ours.map(|ours| Estimate {
            mean: scaled(ours.mean),
            ci95: ours.ci95.map(scaled),
            ..ours
        });
        let key = self.key(group);
        let published = quantity.published.get(&key).copied();
        let known = quantity.known.get(&key).copied();
        let is_fitted = quantity.fitted.iter().any(|filter| has(cell, filter));
        let allowed = theory.as_ref().map_or(1.0, |theory| theory.allowed);
        let bound = theory.as_ref().and_then(|theory| theory.bound);
        let excuse = theory.as_ref().and_then(|theory| theory.excuse);
        let tolerance = tolerance
            .filter(|_| theory.is_some())
            .or(quantity.tolerance);
        let case = Case {
            ours,
            target: theory.as_ref().map(|theory| theory.value).or(published),
            tolerance: tolerance.map(|tolerance| tolerance * allowed),
            bound,
            known,
            role: if is_fitted {
                Role::Fitted
            } else {
                quantity.role
            },
            is_excused: excuse.is_some(),
        };
        let verdict = case.verdict();
        let explains = matches!(
            verdict,
            Verdict::Deviates | Verdict::Contradicted | Verdict::Bounded
        );
        let why = quantity.why.clone().filter(|_| explains && known.is_some());
        let source = match &theory {
            Some(theory) if published.is_none() => theory.by.clone(),
            _ => quantity.source.clone(),
        };
        Ok(Some(Row {
            label: self.label(group, quantity.label.as_ref())?,
            axes: group.key.clone(),
            subject: template::fill(&self.subject, &of_cell)?,
            quantity: template::fill(&quantity.name, &of_cell)?,
            metric: quantity.metric.clone(),
            unit: quantity.unit.clone(),
            published,
            theory: theory.as_ref().map(|theory| theory.value),
            by: theory
                .as_ref()
                .map(|theory| theory.by.clone())
                .unwrap_or_default(),
            model: theory.map(|theory| theory.asked).unwrap_or_default(),
            ours,
            tolerance,
            allowed,
            bound,
            verdict,
            why: excuse.map(str::to_owned).or(why).or(remark),
            source,
        }))
    }
}

/// A closed form at a cell.
struct Judged {
    value: f64,
    by: String,
    asked: String,
    allowed: f64,
    bound: Option<Bound>,
    excuse: Option<&'static str>,
}

impl Judged {
    /// `None` if the closed form has no such result.
    fn of(
        of: &TheoryOf,
        value: &dyn Fn(&str) -> Option<String>,
        runs: &[&Run],
        simulated: f64,
    ) -> Result<Option<Self>, String> {
        let theory = Theory::ask(&template::fill(&of.model, value)?)?;
        let Some(result) = theory.result(&template::fill(&of.result, value)?) else {
            return Ok(None);
        };
        let allowed = template::fill(&of.allowed, value)?;
        let number = allowed.parse();
        let allowed =
            number.map_err(|_| format!("allowed: found '{allowed}', expected a number"))?;
        let point = Point { value, runs };
        let (bound, excuse) = rules::apply(of.rule.as_deref(), &point, &theory, simulated)?;
        Ok(Some(Self {
            value: result,
            by: template::fill(&of.by, value)?,
            asked: theory.asked,
            allowed,
            bound,
            excuse,
        }))
    }
}

/// Reasons of rows, each once, in their order.
pub fn reasons<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<(Verdict, &'a str)> {
    let mut known = BTreeSet::new();
    let all = rows
        .into_iter()
        .filter_map(|row| Some((row.verdict, row.why.as_deref()?)));
    all.filter(|reason| known.insert(*reason)).collect()
}
