//! What a figure is: points at which a closed form and a simulation answer the same question.

use fluid_tcp::simulation::replications::{Estimate, estimate};
use rayon::prelude::*;
use serde::Serialize;
use tmt_core::model::Model;
use tmt_core::types::Span;

use crate::cmd::model::models;
use crate::exit::{Failure, Outcome};

/// A figure or table.
#[derive(Debug)]
pub(super) struct Figure {
    /// Name at the interface: paper and figure.
    pub(super) name: &'static str,
    /// Names of further figures that it is.
    pub(super) also: &'static [&'static str],
    /// What is compared.
    pub(super) about: &'static str,
    /// Largest deviation when `--tolerance` is left out, as a share of the theory.
    pub(super) tolerance: f64,
    /// Length of a run when `--duration` is left out.
    pub(super) duration: Span,
    /// Shortest run that means anything.
    pub(super) shortest: Span,
    /// All its rows.
    pub(super) compare: fn(&Runs) -> Outcome<Vec<Comparison>>,
}

/// What the figures of a paper have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) tolerance: f64,
    /// Length of a run when `--duration` is left out, and the shortest that means anything, s.
    pub(super) seconds: (u32, u32),
}

impl Figure {
    pub(super) const fn new(
        name: &'static str,
        about: &'static str,
        scale: Scale,
        compare: fn(&Runs) -> Outcome<Vec<Comparison>>,
    ) -> Self {
        Self {
            name,
            also: &[],
            about,
            tolerance: scale.tolerance,
            duration: Span::from_secs(scale.seconds.0),
            shortest: Span::from_secs(scale.seconds.1),
            compare,
        }
    }

    /// The same under further names.
    pub(super) const fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }

    /// All its names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.also.iter().copied())
    }
}

/// How much is simulated.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs {
    /// Runs of each point, seeds from 1 on.
    pub(super) seeds: u64,
    /// Time that each covers.
    pub(super) duration: Span,
}

impl Runs {
    /// What `run` makes of each seed, in their order.
    pub(super) fn each<T: Send>(
        &self,
        run: impl Fn(u64) -> Outcome<T> + Sync + Send,
    ) -> Outcome<Vec<T>> {
        let seeds: Vec<u64> = (1..=self.seeds).collect();
        seeds.into_par_iter().map(run).collect()
    }
}

/// A point for every pair of values, the inner ones first.
pub(super) fn cross<A: Copy, B: Copy, T>(
    outer: &[A],
    inner: &[B],
    point: impl Fn(A, B) -> T,
) -> Vec<T> {
    let pairs = outer.iter().flat_map(|a| inner.iter().map(|b| (*a, *b)));
    pairs.map(|(a, b)| point(a, b)).collect()
}

/// Which side of a model the simulation may be on, however far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bound {
    /// Below it.
    Upper,
    /// Above it.
    Lower,
}

/// A row: one quantity at one point.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Comparison {
    /// Where on the figure's axis.
    pub(super) at: String,
    /// What was simulated.
    pub(super) subject: String,
    /// Which quantity, with its unit.
    pub(super) quantity: &'static str,
    /// The model in short.
    pub(super) by: &'static str,
    /// The same as `tmt model` takes it.
    pub(super) model: String,
    /// Its result.
    pub(super) theory: f64,
    /// Mean over the runs.
    pub(super) simulated: f64,
    /// Half-width of its 95 % interval.
    pub(super) ci95: Option<f64>,
    /// A figure to compare the theory with: the contract's for papers/000, the printed one for papers/003.
    pub(super) reference: Option<f64>,
    /// How many times the tolerance is allowed.
    pub(super) allowed: f64,
    /// Whether the model is a bound, beyond which the simulation may go to one side.
    pub(super) bound: Option<Bound>,
    /// Why the row is not judged: an assumption of the model that does not hold here.
    pub(super) outside_assumptions: Option<&'static str>,
}

impl Comparison {
    /// A result of a model beside the mean of the runs, judged on both sides with no reference.
    pub(super) fn new(
        at: String,
        subject: String,
        quantity: &'static str,
        by: &'static str,
        (theory, result): (&Theory, &str),
        simulated: Estimate,
    ) -> Outcome<Self> {
        Ok(Self {
            at,
            subject,
            quantity,
            by,
            model: theory.asked.clone(),
            theory: theory.result(result)?,
            simulated: simulated.mean,
            ci95: simulated.ci95,
            reference: None,
            allowed: 1.0,
            bound: None,
            outside_assumptions: None,
        })
    }

    /// (simulated − theory) / theory; 0 where both are 0.
    pub(super) fn deviation(&self) -> f64 {
        let off = self.simulated - self.theory;
        if off.abs() <= f64::MIN_POSITIVE {
            0.0
        } else {
            off / self.theory.abs()
        }
    }

    /// Whether theory and simulation are farther apart than the tolerance and the interval together.
    pub(super) fn is_off(&self, tolerance: f64) -> bool {
        let allowed = tolerance * self.allowed * self.theory.abs() + self.ci95.unwrap_or(0.0);
        // Whatever is no number is off.
        let off = self.simulated - self.theory;
        let near = match self.bound {
            None => off.abs() <= allowed,
            Some(Bound::Upper) => off <= allowed,
            Some(Bound::Lower) => off >= -allowed,
        };
        self.outside_assumptions.is_none() && !near
    }
}

/// A model's answer, with the text of its question.
pub(super) struct Theory {
    asked: String,
    answer: tmt_core::model::Outcome,
}

impl Theory {
    /// Asks the model `name` with `key=value` pairs parted by blanks.
    pub(super) fn ask(name: &str, pairs: &str) -> Outcome<Self> {
        let model: Option<&Model> = models().find(|model| model.name == name);
        let model = model.ok_or_else(|| Failure::failed(format!("there is no model {name}")))?;
        let split = pairs
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='));
        let answer = model
            .arguments(split)
            .and_then(|arguments| model.evaluate(&arguments))
            .map_err(|error| Failure::failed(format!("{name} {pairs}: {error}")))?;
        Ok(Self {
            asked: format!("{name} {pairs}"),
            answer,
        })
    }

    /// One of its results.
    pub(super) fn result(&self, name: &str) -> Outcome<f64> {
        self.answer
            .get(name)
            .ok_or_else(|| Failure::failed(format!("{}: no {name}", self.asked)))
    }
}

/// The mean of the runs' values with its interval.
pub(super) fn mean(values: &[f64]) -> Outcome<Estimate> {
    estimate(values).ok_or_else(|| Failure::failed("no run has a value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(theory: f64, simulated: f64, ci95: f64) -> Comparison {
        Comparison {
            at: String::new(),
            subject: String::new(),
            quantity: "eta",
            by: "fec",
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
    fn on_its_side_of_a_bound_no_row_is_off() {
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
    fn a_row_is_off_beyond_tolerance_and_interval_together() {
        assert!(!row(1.0, 1.02, 0.0).is_off(0.021));
        assert!(row(1.0, 1.02, 0.0).is_off(0.019));
        assert!(!row(1.0, 1.02, 0.002).is_off(0.019));
        assert!(!row(-1.0, -1.02, 0.0).is_off(0.021));
        assert!(row(1.0, f64::NAN, 0.0).is_off(1.0));
        let excused = Comparison {
            outside_assumptions: Some("why"),
            ..row(1.0, 2.0, 0.0)
        };
        assert!(!excused.is_off(0.0));
    }
}
