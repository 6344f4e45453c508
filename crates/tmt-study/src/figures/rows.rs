//! Rows of a figure: published, theory, ours, verdict.

use fluid_tcp::simulation::replications::Estimate;

use super::cells::{Found, Group, found, has, runs, value};
use super::judge::{Bound, Case, Role, Verdict};
use super::part::{Part, Quantity, TheoryOf};
use super::row::Row;
use super::rules::{self, Point};
use super::template;
use super::theory::Theory;
use crate::plan::{Plan, PlanError};
use crate::record::{Records, Run};

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
            rows.push(check.row(&groups, records));
        }
        Ok(rows)
    }

    /// The text of a row at `group`.
    fn label(&self, group: &Group, label: Option<&String>) -> Result<String, String> {
        if let Some(label) = label.or(self.label.as_ref()) {
            return template::fill(label, &|name| value(&group.cells[0], name));
        }
        let texts = group
            .key
            .iter()
            .map(|(name, text)| format!("{name}={text}"));
        Ok(texts.collect::<Vec<_>>().join(" "))
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
