//! Figures: points at which a closed form is compared with a simulation (`figures.toml`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use fluid_tcp::simulation::replications::estimate;
use serde::{Deserialize, Serialize, Serializer};
use tmt_core::types::Span;

use super::rules::{self, Bound};
use super::run::{self, Measured, Runs};
use super::scheme_run;
use super::theory::Theory;
use super::values::Values;
use crate::exit::{Failure, Outcome};

/// Content of `figures.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureFile {
    values: Values,
    family: Vec<Family>,
}

/// Figures with the same runs and rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    /// Parameter file of `tmt tcp`; `None` for a scheme run without TCP.
    run: Option<String>,
    #[serde(default)]
    values: Values,
    /// Values that each variant of a point changes.
    #[serde(default)]
    ways: BTreeMap<String, Values>,
    /// Rows of each point.
    rows: Vec<Values>,
    figures: Vec<Figure>,
}

/// A figure or table. Serialised as in `--list`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    /// Name on the command line: paper and figure.
    #[serde(rename = "figure")]
    pub(super) name: String,
    /// Names of further figures with the same points.
    #[serde(default, skip_serializing)]
    also: Vec<String>,
    /// Description of the comparison.
    pub(super) about: String,
    /// Largest deviation without `--tolerance`, as a share of the theory.
    #[serde(rename(serialize = "tolerance_percent"), serialize_with = "as_percent")]
    pub(super) tolerance: f64,
    /// Duration of a run without `--duration`, s.
    pub(super) duration_s: f64,
    /// Shortest meaningful run, s.
    #[serde(skip_serializing)]
    shortest_s: f64,
    #[serde(default, skip_serializing)]
    values: Values,
    /// Axes. The last varies fastest.
    #[serde(skip_serializing)]
    over: Vec<BTreeMap<String, Vec<toml::Value>>>,
}

/// A share in percent, free of the rounding of the product.
pub(super) fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde passes it")]
fn as_percent<S: Serializer>(share: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(percent(*share))
}

static FIGURE_FILE: LazyLock<Result<FigureFile, toml::de::Error>> =
    LazyLock::new(|| toml::from_str(include_str!("figures.toml")));

/// All figures, in the order of the papers.
pub(super) fn figures() -> impl Iterator<Item = &'static Figure> {
    let families = FIGURE_FILE.iter().flat_map(|file| &file.family);
    families.flat_map(|family| &family.figures)
}

impl Figure {
    /// All its names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name)
            .chain(&self.also)
            .map(String::as_str)
    }

    /// Duration of its runs: `wanted`, else its own.
    pub(super) fn duration(&self, wanted: Option<Span>) -> Outcome<Span> {
        let span = |seconds: f64| format!("{seconds}s").parse().map_err(Failure::failed);
        let shortest = span(self.shortest_s)?;
        match wanted {
            Some(duration) if duration < shortest => Err(Failure::usage(format!(
                "--duration {duration} is too short for {}: expected at least {shortest}",
                self.name
            ))),
            Some(duration) => Ok(duration),
            None => span(self.duration_s),
        }
    }

    /// Runs the figure and returns all its rows.
    pub(super) fn compare(&self, runs: &Runs) -> Outcome<Vec<Comparison>> {
        let file = FIGURE_FILE.as_ref().map_err(Failure::failed)?;
        let is_of = |family: &&Family| family.figures.iter().any(|figure| figure.name == self.name);
        let mut comparisons = Vec::new();
        for family in file.family.iter().filter(is_of) {
            for point in self.points(&file.values, family) {
                let measured = match &family.run {
                    Some(parameters) => run::experiment(&point.filled_in(parameters)?, runs),
                    None => scheme_run::runs(&point, runs),
                }?;
                for row in &family.rows {
                    comparisons.extend(Comparison::new(&point.with(row), &measured)?);
                }
            }
        }
        Ok(comparisons)
    }

    /// The values of its points.
    fn points(&self, defaults: &Values, family: &Family) -> Vec<Values> {
        let mut points = vec![Values::default()];
        for axis in &self.over {
            let turns = axis.values().map(Vec::len).min().unwrap_or(0);
            let turned = points.iter().flat_map(|point| {
                (0..turns).map(|turn| {
                    let mut point = point.clone();
                    point.put(axis.iter().map(|(key, values)| (key, &values[turn])));
                    point
                })
            });
            points = turned.collect();
        }
        let whole = points.iter().map(|point| {
            let way = point.text("way").ok().and_then(|way| family.ways.get(&way));
            let over = [Some(&family.values), way, Some(&self.values), Some(point)];
            over.into_iter()
                .flatten()
                .fold(defaults.clone(), |values, over| values.with(over))
        });
        whole.collect()
    }
}

/// A row: one quantity at one point.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Comparison {
    /// Position on the axis of the figure.
    pub(super) at: String,
    /// Scheme or flows simulated.
    pub(super) subject: String,
    /// Quantity, with its unit.
    pub(super) quantity: String,
    /// Short name of the model.
    pub(super) by: String,
    /// Arguments of `tmt model`.
    pub(super) model: String,
    /// Result of the model.
    pub(super) theory: f64,
    /// Mean over the runs.
    pub(super) simulated: f64,
    /// Half-width of its 95 % interval.
    pub(super) ci95: Option<f64>,
    /// Value to compare the theory with: check values for Kuhn 2015, printed for Celandroni 2006.
    pub(super) reference: Option<f64>,
    /// Factor on the tolerance.
    pub(super) allowed: f64,
    /// Set if the model is a bound: deviations to one side are allowed.
    pub(super) bound: Option<Bound>,
    /// Reason not to judge the row: an assumption of the model that does not hold here.
    pub(super) outside_assumptions: Option<&'static str>,
}

impl Comparison {
    /// Compares a row with the runs; `None` if its model has no such result.
    fn new(row: &Values, runs: &[Measured]) -> Outcome<Option<Self>> {
        let theory = Theory::ask(&row.text("model")?)?;
        let Ok(expected) = theory.result(&row.text("result")?) else {
            return Ok(None);
        };
        let (measured, unit) = (row.text("measured")?, row.number("unit")?);
        let values = runs
            .iter()
            .map(|run| Some(run.get(measured.as_str())? / unit));
        let values: Option<Vec<f64>> = values.collect();
        let simulated = values.and_then(|values| estimate(&values));
        let simulated =
            simulated.ok_or_else(|| Failure::failed(format!("found no {measured} in a run")))?;
        let scale = row.number("scale")?;
        let (bound, outside_assumptions) = rules::apply(row, &theory, simulated.mean, runs)?;
        Ok(Some(Self {
            at: row.text("at")?,
            subject: row.text("subject")?,
            quantity: row.text("quantity")?,
            by: row.text("by")?,
            theory: expected,
            simulated: scale * simulated.mean,
            ci95: simulated.ci95.map(|half| scale * half),
            reference: row
                .number("reference")
                .ok()
                .filter(|value| value.is_finite()),
            allowed: row.number("allowed")?,
            bound,
            outside_assumptions,
            model: theory.asked,
        }))
    }

    /// (simulated − theory) / theory; 0 if both are 0.
    pub(super) fn deviation(&self) -> f64 {
        let off = self.simulated - self.theory;
        if off.abs() <= f64::MIN_POSITIVE {
            0.0
        } else {
            off / self.theory.abs()
        }
    }

    /// Whether theory and simulation differ by more than the tolerance plus the interval.
    pub(super) fn is_off(&self, tolerance: f64) -> bool {
        let allowed = tolerance * self.allowed * self.theory.abs() + self.ci95.unwrap_or(0.0);
        // NaN counts as off.
        let off = self.simulated - self.theory;
        let near = match self.bound {
            None => off.abs() <= allowed,
            Some(Bound::Upper) => off <= allowed,
            Some(Bound::Lower) => off >= -allowed,
        };
        self.outside_assumptions.is_none() && !near
    }
}

#[cfg(test)]
mod tests {
    use fluid_tcp::experiment::ParameterFile;

    use super::*;
    use crate::cmd::model::models;

    #[test]
    fn every_figure_is_complete() {
        let file = FIGURE_FILE.as_ref().unwrap();
        for (family, figure) in file.family.iter().flat_map(|family| {
            let figures = family.figures.iter();
            figures.map(move |figure| (family, figure))
        }) {
            let name = &figure.name;
            for axis in &figure.over {
                let turns = axis.values().next().map_or(0, Vec::len);
                assert!(axis.values().all(|values| values.len() == turns), "{name}");
            }
            for point in figure.points(&file.values, family) {
                if let Ok(way) = point.text("way") {
                    assert!(family.ways.contains_key(&way), "{name}: {way}");
                }
                if let Some(parameters) = &family.run {
                    let parameters = point.filled_in(parameters).unwrap();
                    let file = ParameterFile::parse(&parameters);
                    assert!(file.is_ok(), "{name}: {parameters}");
                }
                for row in &family.rows {
                    let row = point.with(row);
                    for key in [
                        "at", "subject", "quantity", "by", "result", "measured", "rule",
                    ] {
                        row.text(key).unwrap();
                    }
                    let model = row.text("model").unwrap();
                    let name = model.split(' ').next().unwrap();
                    let model = models().find(|model| model.name == name);
                    assert!(model.is_some() || name == "-", "{name}");
                }
            }
        }
    }

    fn row(theory: f64, simulated: f64, ci95: f64) -> Comparison {
        Comparison {
            at: String::new(),
            subject: String::new(),
            quantity: String::new(),
            by: String::new(),
            model: String::new(),
            theory,
            simulated,
            ci95: Some(ci95),
            reference: None,
            allowed: 1.0,
            bound: None,
            outside_assumptions: None,
        }
    }

    #[test]
    fn rows_on_the_allowed_side_of_a_bound_are_not_off() {
        let bound = |bound, simulated| Comparison {
            bound: Some(bound),
            ..row(1.0, simulated, 0.0)
        };
        for (side, within, beyond) in [(Bound::Upper, 0.1, 1.1), (Bound::Lower, 7.0, 0.9)] {
            assert!(!bound(side, within).is_off(0.0));
            assert!(bound(side, beyond).is_off(0.05));
            assert!(!bound(side, beyond).is_off(0.11));
            assert!(bound(side, f64::NAN).is_off(0.05));
        }
    }

    #[test]
    fn rows_beyond_tolerance_plus_interval_are_off() {
        assert!(!row(1.0, 1.02, 0.0).is_off(0.021));
        assert!(row(1.0, 1.02, 0.0).is_off(0.019));
        assert!(!row(1.0, 1.02, 0.002).is_off(0.019));
        assert!(!row(-1.0, -1.02, 0.0).is_off(0.021));
        assert!(row(1.0, f64::NAN, 0.0).is_off(1.0));
        let excused = Comparison {
            outside_assumptions: Some("reason"),
            ..row(1.0, 2.0, 0.0)
        };
        assert!(!excused.is_off(0.0));
    }
}
