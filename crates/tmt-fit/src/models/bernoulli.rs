//! `bernoulli`: each slot is lost independently with the same probability.

use tmt_core::channel::ChannelSpec;
use tmt_core::math::num;

use super::{Data, Error, Fitted, Model, Parameter, percent};
use crate::chain::shifted;
use crate::law::{ChainLaw, Law, Nearby, SHIFT};
use crate::search::profile::Range;

pub(crate) static MODEL: Model = Model {
    name: "bernoulli",
    about: "Independent losses",
    parameters: &["p"],
    fit,
    process: |_, values| Ok(ChannelSpec::Bernoulli { p: values[0] }.to_string()),
    netem: |values| Ok(format!("random {}", percent(values[0]))),
    ns3: |values| {
        Ok(format!(
            "ns3::RateErrorModel[ErrorUnit=ERROR_UNIT_PACKET|ErrorRate={}]",
            values[0]
        ))
    },
    sojourns: |_| Vec::new(),
    rates: |_| Err("losses have no memory, so there are no states to leave".to_owned()),
    at: |values, _| Ok(values.to_vec()),
};

/// x ln y, 0 for x = 0.
fn times_ln(x: f64, y: f64) -> f64 {
    if x > 0.0 { x * num::ln(y) } else { 0.0 }
}

/// The largest log-likelihood of independent losses.
pub(super) fn ln_likelihood(data: &Data<'_>) -> f64 {
    let (slots, lost) = data.totals();
    let p = lost / slots;
    times_ln(lost, p) + times_ln(slots - lost, 1.0 - p)
}

fn law(p: f64) -> Box<dyn Law> {
    Box::new(ChainLaw([[[1.0 - p]], [[p]]]))
}

fn fit(data: &Data<'_>) -> Fitted {
    let (slots, lost) = data.totals();
    let p = lost / slots;
    let at = |p: f64| times_ln(lost, p) + times_ln(slots - lost, 1.0 - p);
    let logit = (1.0 / lost + 1.0 / (slots - lost)).sqrt();
    let error = Error::of(p, Some(logit), || {
        let first = if logit.is_finite() {
            logit
        } else {
            1.0 / slots
        };
        Range::of(p, first, &mut |moved| 2.0 * (at(p) - at(moved)))
    });
    Fitted {
        ln_likelihood: ln_likelihood(data),
        free: 1,
        parameters: vec![Parameter {
            name: "p",
            value: p,
            error,
        }],
        law: law(p),
        near: Nearby {
            laws: vec![law(shifted(p, SHIFT))],
            covariance: vec![vec![logit * logit]],
        },
        converged: true,
        steps: None,
    }
}
