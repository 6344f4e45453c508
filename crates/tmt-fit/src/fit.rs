//! Fits of one model or of all, with everything that is reported about them.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use tmt_core::math::num;
use tmt_core::types::{Stopped, to_f64};

use crate::goodness::{Measured, RunTest, Scale, test_runs};
use crate::models::{Data, Fitted, MODELS, Model, Parameter};
use crate::search::Stop;
use crate::sequence::{Coded, Sequence};

/// Settings of a fit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// When a search ends.
    pub stop: Stop,
    /// Mean time between two slots, s, if it is known.
    pub interval_s: Option<f64>,
    /// Time between two slots for which parameters are wanted, too, s.
    pub at_interval_s: Option<f64>,
    /// Leaves out the errors and ranges of models with hidden states, which take most of the time of a fit, and the searches
    /// that begin where a range finds a larger likelihood: for a choice of the model alone.
    pub without_ranges: bool,
    /// Whether the fits shall end early, which they then do without a result; asked at every likelihood.
    pub stopped: Stopped,
}

/// A model fitted to a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fit {
    /// Name of the model.
    pub model: &'static str,
    /// Natural logarithm of the likelihood.
    pub log_likelihood: f64,
    /// Number of free parameters.
    pub free_parameters: u64,
    /// Akaike's criterion, 2 k − 2 ln L.
    pub aic: f64,
    /// Bayesian criterion of Schwarz, k ln n − 2 ln L, n slots.
    pub bic: f64,
    /// Whether the search has reached a maximum.
    pub converged: bool,
    /// Steps of EM; null for a closed form.
    pub em_steps: Option<u32>,
    /// Steps of Newton's method; null for a closed form.
    pub newton_steps: Option<u32>,
    /// Parameters: `name`; `name_se`, its standard error, and `name_low` and `name_high`, the range that fits nearly as well,
    /// or null.
    #[serde(serialize_with = "flat")]
    pub parameters: Vec<Parameter>,
    /// Why parameters have no standard error.
    pub without_error: Vec<Reason>,
    /// Mean sojourns in the states.
    pub sojourns: Vec<Sojourn>,
    /// Why there are no rates in continuous time; null if there are.
    pub no_rates: Option<String>,
    /// Lengths of bursts.
    pub bursts: RunTest,
    /// Lengths of gaps.
    pub gaps: RunTest,
    /// Losses over several time scales.
    pub scales: Vec<Scale>,
    /// The process at the interval of the trace.
    pub process: Texts,
    /// The same at another interval; null if none was asked for.
    pub at_interval: Option<AtInterval>,
}

/// Why a parameter has no standard error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// Why.
    pub reason: String,
}

/// A mean sojourn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sojourn {
    /// The state.
    pub state: &'static str,
    /// Mean length in slots of the trace; null for a state that is never left.
    pub mean_slots: Option<f64>,
    /// The same in seconds; null if the interval is unknown as well.
    pub mean_s: Option<f64>,
    /// Rate of leaving it in continuous time, 1/s; null if absent.
    pub rate_per_s: Option<f64>,
}

/// A fitted process as other programs take it; null where they cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Texts {
    /// For `--channel` of `tmt`.
    pub channel: Option<String>,
    /// The arguments after `netem loss` of `tc`.
    pub netem: Option<String>,
    /// The error model of ns-3, as its object factory reads it.
    pub ns3: Option<String>,
    /// Why one of them is missing.
    pub missing: Vec<String>,
}

/// The same process for slots at another interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtInterval {
    /// Time between two slots, s.
    pub interval_s: f64,
    /// Parameters at that interval; null if there are none.
    #[serde(serialize_with = "flat_values")]
    pub parameters: Option<Vec<(&'static str, f64)>>,
    /// Why there are none.
    pub reason: Option<String>,
    /// The process at that interval; null if absent.
    pub process: Option<Texts>,
}

fn flat<S: Serializer>(parameters: &[Parameter], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(4 * parameters.len()))?;
    for one in parameters {
        map.serialize_entry(one.name, &one.value)?;
        let error = one.error.as_ref().ok();
        for (of, value) in [
            ("se", error.map(|error| error.standard)),
            ("low", error.map(|error| error.low)),
            ("high", error.map(|error| error.high)),
        ] {
            map.serialize_entry(&format!("{}_{of}", one.name), &value)?;
        }
    }
    map.end()
}

#[expect(clippy::ref_option, reason = "as serde passes it")]
fn flat_values<S: Serializer>(
    values: &Option<Vec<(&'static str, f64)>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match values {
        Some(values) => serializer.collect_map(values.iter().copied()),
        None => serializer.serialize_none(),
    }
}

/// The model of this name.
#[must_use]
pub fn model(name: &str) -> Option<&'static Model> {
    MODELS.iter().copied().find(|model| model.name == name)
}

/// Fits `models` to `sequence`; the fit of smallest BIC is the first. A sequence without a lost slot, or without a received
/// one, has a fit of the Bernoulli model only, regardless of what was asked for; an empty one has none. Nor are there any once
/// [`Options::stopped`] has said so.
#[must_use]
pub fn fit(sequence: &Sequence, models: &[&'static Model], options: &Options) -> Vec<Fit> {
    let (slots, lost) = (sequence.slots(), sequence.lost());
    if slots == 0 {
        return Vec::new();
    }
    let coded = Coded {
        stopped: options.stopped,
        ..Coded::new(sequence)
    };
    let data = Data {
        sequence,
        coded: &coded,
        stop: options.stop,
        ranges: !options.without_ranges,
    };
    let one_kind = lost == 0 || lost == slots;
    let only: &[&'static Model] = &[&crate::models::bernoulli::MODEL];
    let models = if one_kind { only } else { models };
    let measured = Measured::of(sequence);
    let fits = models.iter().map(|model| {
        let fitted = (model.fit)(&data);
        (!coded.stopped.now()).then(|| report(model, &fitted, &data, &measured, options))
    });
    let mut fits: Vec<Fit> = fits.collect::<Option<_>>().unwrap_or_default();
    fits.sort_by(|one, other| one.bic.total_cmp(&other.bic));
    fits
}

/// Fits all models; the one of smallest BIC is the first.
#[must_use]
pub fn fit_all(sequence: &Sequence, options: &Options) -> Vec<Fit> {
    fit(sequence, MODELS, options)
}

fn report(
    model: &'static Model,
    fitted: &Fitted,
    data: &Data<'_>,
    measured: &Measured,
    options: &Options,
) -> Fit {
    let values = fitted.values();
    let k = to_f64(fitted.free);
    let deviance = -2.0 * fitted.ln_likelihood;
    let law = fitted.law.as_ref();
    let reasons = fitted.parameters.iter().filter_map(|one| {
        let reason = one.error.clone().err()?;
        Some(Reason {
            parameter: one.name,
            reason,
        })
    });
    let rates = (model.rates)(&values);
    let sojourns = (model.sojourns)(&values).into_iter().map(|(state, slots)| {
        let slots = Some(slots).filter(|slots| slots.is_finite());
        let rate = rates.as_ref().ok();
        let rate = rate.and_then(|rates| rates.iter().find(|(name, _)| *name == state));
        Sojourn {
            state,
            mean_slots: slots,
            mean_s: slots.zip(options.interval_s).map(|(slots, s)| slots * s),
            rate_per_s: rate.zip(options.interval_s).map(|((_, rate), s)| rate / s),
        }
    });
    Fit {
        model: model.name,
        log_likelihood: fitted.ln_likelihood,
        free_parameters: fitted.free,
        aic: 2.0 * k + deviance,
        bic: k * num::ln(data.coded.slots) + deviance,
        converged: fitted.converged,
        em_steps: fitted.steps.map(|steps| steps.0),
        newton_steps: fitted.steps.map(|steps| steps.1),
        without_error: reasons.collect(),
        sojourns: sojourns.collect(),
        no_rates: rates.err(),
        bursts: test_runs(law, &fitted.near, data.sequence, true),
        gaps: test_runs(law, &fitted.near, data.sequence, false),
        scales: measured.beside(law),
        process: texts(model, fitted, &values),
        at_interval: options
            .at_interval_s
            .map(|interval| at_interval(model, fitted, &values, interval, options)),
        parameters: fitted.parameters.clone(),
    }
}

fn texts(model: &Model, fitted: &Fitted, values: &[f64]) -> Texts {
    let mut missing = Vec::new();
    let mut text = |of: &str, text: Result<String, String>| match text {
        Ok(text) => Some(text),
        Err(why) => {
            missing.push(format!("{of}: {why}"));
            None
        }
    };
    Texts {
        channel: text("tmt", (model.process)(fitted, values)),
        netem: text("netem", (model.netem)(values)),
        ns3: text("ns-3", (model.ns3)(values)),
        missing,
    }
}

fn at_interval(
    model: &Model,
    fitted: &Fitted,
    values: &[f64],
    interval_s: f64,
    options: &Options,
) -> AtInterval {
    let own = options.interval_s.filter(|own| *own > 0.0);
    let own = own.ok_or_else(|| "the time between the slots of the trace is unknown".to_owned());
    let values = own.and_then(|own| (model.at)(values, interval_s / own));
    let (values, reason) = match values {
        Ok(values) => (Some(values), None),
        Err(why) => (None, Some(why)),
    };
    AtInterval {
        interval_s,
        process: values.as_ref().map(|values| texts(model, fitted, values)),
        parameters: values.map(|values| model.parameters.iter().copied().zip(values).collect()),
        reason,
    }
}

/// Upper bound, at a confidence of 95 %, of the probability of an event that did not occur in `trials` trials: 1 − 0.05^(1/n),
/// the exact form of the rule of three, 3/n.
#[must_use]
pub fn never_seen_bound(trials: u64) -> f64 {
    -num::expm1(num::ln(0.05) / to_f64(trials))
}

#[cfg(test)]
mod netem;
#[cfg(test)]
mod tests;
