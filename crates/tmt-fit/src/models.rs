//! The models: one file each, and a line in [`MODELS`].

use tmt_core::types::to_f64;

use crate::law::{Law, Nearby};
use crate::search::Stop;
use crate::search::profile::Range;
use crate::sequence::{Coded, Sequence};

pub(crate) mod bernoulli;
pub(crate) mod gilbert;
pub(crate) mod gilbert_elliott;
pub(crate) mod hidden;
pub(crate) mod netem_state;
pub(crate) mod semi_markov;
pub(crate) mod simple_gilbert;
pub(crate) mod starts;
pub(crate) mod two_state;

/// All models, the simplest first. A new one is a file and a line here.
pub static MODELS: &[&Model] = &[
    &bernoulli::MODEL,
    &simple_gilbert::MODEL,
    &gilbert::MODEL,
    &gilbert_elliott::MODEL,
    &netem_state::MODEL,
    &semi_markov::MODEL,
];

/// Rates of leaving states, by their names; why there are none.
pub(crate) type Rates = Result<Vec<(&'static str, f64)>, String>;

/// A model of losses.
#[derive(Debug)]
pub struct Model {
    /// Name by which it is selected.
    pub name: &'static str,
    /// Description, one line.
    pub about: &'static str,
    /// Names of the parameters, in the order of their values.
    pub parameters: &'static [&'static str],
    pub(crate) fit: fn(&Data<'_>) -> Fitted,
    /// The text of the process for `--channel` of `tmt`; or why not.
    pub(crate) process: fn(&Fitted, &[f64]) -> Result<String, String>,
    /// The arguments after `loss` in netem; or why not.
    pub(crate) netem: fn(&[f64]) -> Result<String, String>,
    /// The error model of ns-3 with its attributes; or why not.
    pub(crate) ns3: fn(&[f64]) -> Result<String, String>,
    /// Mean sojourns in its states, slots.
    pub(crate) sojourns: fn(&[f64]) -> Vec<(&'static str, f64)>,
    /// Rates of leaving the two states, times the time between two slots; why there are none.
    pub(crate) rates: fn(&[f64]) -> Rates,
    /// The parameters for slots that are `ratio` times as far apart; why there are none.
    pub(crate) at: fn(&[f64], f64) -> Result<Vec<f64>, String>,
}

/// Data of a fit.
#[derive(Debug)]
pub(crate) struct Data<'a> {
    pub(crate) sequence: &'a Sequence,
    pub(crate) coded: &'a Coded,
    pub(crate) stop: Stop,
    /// Whether errors of parameters are found by their likelihood.
    pub(crate) ranges: bool,
}

impl Data<'_> {
    /// Slots, and lost slots.
    pub(crate) fn totals(&self) -> (f64, f64) {
        (self.coded.slots, to_f64(self.sequence.lost()))
    }
}

/// A parameter that was estimated.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name.
    pub name: &'static str,
    /// Value of largest likelihood.
    pub value: f64,
    /// How far it may be off; why that is unknown.
    pub error: Result<Error, String>,
}

/// How far a parameter may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Error {
    /// Standard error; half of the larger distance to an end of the range where the likelihood is not nearly normal.
    pub standard: f64,
    /// The values whose likelihood is within a factor of e^-2 of the largest one, as those within two standard errors are.
    pub low: f64,
    /// The end of these values.
    pub high: f64,
}

impl Error {
    /// Largest standard error of a logit for which the likelihood is nearly normal.
    const NORMAL: f64 = 0.1;

    /// Of a likelihood that is nearly normal.
    pub(crate) fn normal(value: f64, standard: f64) -> Self {
        Self {
            standard,
            low: value - 2.0 * standard,
            high: value + 2.0 * standard,
        }
    }

    /// Of a probability whose logit has the standard error `logit`, if it has one; by `range` if that is large.
    ///
    /// # Errors
    /// Nothing is known of the probability.
    pub(crate) fn of(
        value: f64,
        logit: Option<f64>,
        range: impl FnOnce() -> Range,
    ) -> Result<Self, String> {
        if let Some(logit) = logit.filter(|logit| *logit <= Self::NORMAL) {
            return Ok(Self::normal(value, logit * value * (1.0 - value)));
        }
        let Range { low, high } = range();
        if low <= 0.0 && high >= 1.0 {
            return Err("not determined: any other value fits as well".to_owned());
        }
        Ok(Self {
            standard: 0.5 * (high - value).max(value - low),
            low,
            high,
        })
    }
}

/// Fit of a model to data.
#[derive(Debug)]
pub(crate) struct Fitted {
    pub(crate) ln_likelihood: f64,
    /// Number of free parameters.
    pub(crate) free: u64,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) law: Box<dyn Law>,
    pub(crate) near: Nearby,
    pub(crate) converged: bool,
    /// Steps of EM and of Newton's method; `None` for a closed form.
    pub(crate) steps: Option<(u32, u32)>,
}

impl Fitted {
    pub(crate) fn values(&self) -> Vec<f64> {
        self.parameters.iter().map(|one| one.value).collect()
    }
}

/// Why ns-3 has no such model.
const NOT_IN_NS3: &str = "ns-3 has no error model with hidden states; give it the losses as a list";

/// A probability in percent, as `tc` reads it.
pub(crate) fn percent(p: f64) -> String {
    let text = format!("{:.7}", 100.0 * p);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}%")
}
