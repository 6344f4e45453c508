//! `gilbert-elliott`: two states with a loss probability each (Elliott 1963).

use super::hidden::Output;
use super::simple_gilbert::PERSISTENCE;
use super::{Data, Fitted, Model, NOT_IN_NS3, hidden, two_state};
use crate::chain::{Chain, step};

pub(crate) static MODEL: Model = Model {
    name: "gilbert-elliott",
    about: "Two states: the good one loses with probability pg, the bad one with pb",
    parameters: &["alpha", "beta", "pg", "pb"],
    fit,
    process: |_, values| two_state::process(all(values)),
    netem: |values| Ok(two_state::gemodel(all(values))),
    ns3: |_| Err(NOT_IN_NS3.to_owned()),
    sojourns: |values| two_state::sojourns(all(values)),
    rates: |values| two_state::rates(all(values)),
    at: |values, ratio| two_state::at(all(values), ratio).map(Vec::from),
};

/// Choices: to leave the good state, to leave the bad state, to lose in the good state, to lose in the bad state.
pub(crate) static CHAIN: Chain<2> = Chain {
    choices: 4,
    steps: &[
        step(false, 0, 0, &[(0, false), (2, false)]),
        step(true, 0, 0, &[(0, false), (2, true)]),
        step(false, 0, 1, &[(0, true), (3, false)]),
        step(true, 0, 1, &[(0, true), (3, true)]),
        step(false, 1, 0, &[(1, true), (2, false)]),
        step(true, 1, 0, &[(1, true), (2, true)]),
        step(false, 1, 1, &[(1, false), (3, false)]),
        step(true, 1, 1, &[(1, false), (3, true)]),
    ],
};

fn all(values: &[f64]) -> [f64; 4] {
    [values[0], values[1], values[2], values[3]]
}

/// The bad state is the one that loses more.
fn order(theta: &[f64]) -> Option<Vec<f64>> {
    (theta[2] > theta[3]).then(|| vec![theta[1], theta[0], theta[3], theta[2]])
}

fn fit(data: &Data<'_>) -> Fitted {
    let [alpha, beta] = PERSISTENCE;
    let outputs = [alpha, beta, Output::of("pg", 2), Output::of("pb", 3)];
    let starts = two_state::starts(data.sequence);
    hidden::fit(data, &CHAIN, &starts, &outputs, order, None)
}
