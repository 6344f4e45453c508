//! A row of a figure.

use std::collections::BTreeSet;

use fluid_tcp::simulation::replications::Estimate;

use super::judge::{Bound, Verdict, deviation};

/// One quantity at one point.
#[derive(Debug, Clone)]
pub struct Row {
    /// Text of the point.
    pub label: String,
    /// Values of the axes that vary, by name.
    pub axes: Vec<(String, String)>,
    /// Subject of the simulation.
    pub subject: String,
    /// Name of the quantity.
    pub quantity: String,
    /// Quantity measured, as the entry names it.
    pub metric: String,
    /// Its unit; empty without one.
    pub unit: String,
    /// Value of the paper.
    pub published: Option<f64>,
    /// Value of a closed form.
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
    /// Verdict.
    pub verdict: Verdict,
    /// Why it is not judged, or why it differs.
    pub why: Option<String>,
    /// Where it is published, or the closed form.
    pub source: String,
}

impl Row {
    /// (ours − theory) / |theory|; without a theory, the same from the published value.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        let (ours, target) = self.ours.zip(self.theory.or(self.published))?;
        Some(deviation(ours.mean, target))
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
