//! `gilbert`: two states; only the bad one loses slots, each with the same probability (Gilbert 1960).

use super::hidden::{Output, as_they_are};
use super::simple_gilbert::PERSISTENCE;
use super::{Data, Fitted, Model, NOT_IN_NS3, hidden, two_state};
use crate::chain::{Chain, step};

pub(crate) static MODEL: Model = Model {
    name: "gilbert",
    about: "Two states: the good one loses nothing, the bad one with probability pb",
    parameters: &["alpha", "beta", "pb"],
    fit,
    process: |_, values| two_state::process(all(values)),
    netem: |values| Ok(two_state::gemodel(all(values))),
    ns3: |_| Err(NOT_IN_NS3.to_owned()),
    sojourns: |values| two_state::sojourns(all(values)),
    rates: |values| two_state::rates(all(values)),
    at: |values, ratio| {
        let [alpha, beta, _, pb] = two_state::at(all(values), ratio)?;
        Ok(vec![alpha, beta, pb])
    },
};

/// Choices: to leave the good state, to leave the bad state, to lose in the bad state.
static CHAIN: Chain<2> = Chain {
    choices: 3,
    steps: &[
        step(false, 0, 0, &[(0, false)]),
        step(false, 0, 1, &[(0, true), (2, false)]),
        step(true, 0, 1, &[(0, true), (2, true)]),
        step(false, 1, 0, &[(1, true)]),
        step(false, 1, 1, &[(1, false), (2, false)]),
        step(true, 1, 1, &[(1, false), (2, true)]),
    ],
};

fn all(values: &[f64]) -> [f64; 4] {
    [values[0], values[1], 0.0, values[2]]
}

fn fit(data: &Data<'_>) -> Fitted {
    let starts = two_state::starts(data.sequence);
    let starts: Vec<Vec<f64>> = starts
        .iter()
        .map(|start| vec![start[0], start[1], start[3]])
        .collect();
    let [alpha, beta] = PERSISTENCE;
    let outputs = [alpha, beta, Output::of("pb", 2)];
    hidden::fit(data, &CHAIN, &starts, &outputs, as_they_are, None)
}
