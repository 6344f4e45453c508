//! `gilbert`: two states, of which only the bad one loses slots, each with the same probability (Gilbert 1960).

use super::hidden::{Output, as_they_are};
use super::simple_gilbert::PERSISTENCE;
use super::{Data, Fitted, Model, NOT_IN_NS3, hidden, two_state};
use crate::chain::{Chain, Step};

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
        Step {
            lost: false,
            from: 0,
            to: 0,
            choices: &[(0, false)],
        },
        Step {
            lost: false,
            from: 0,
            to: 1,
            choices: &[(0, true), (2, false)],
        },
        Step {
            lost: true,
            from: 0,
            to: 1,
            choices: &[(0, true), (2, true)],
        },
        Step {
            lost: false,
            from: 1,
            to: 0,
            choices: &[(1, true)],
        },
        Step {
            lost: false,
            from: 1,
            to: 1,
            choices: &[(1, false), (2, false)],
        },
        Step {
            lost: true,
            from: 1,
            to: 1,
            choices: &[(1, false), (2, true)],
        },
    ],
};

const PB: Output = Output {
    name: "pb",
    of: |theta| theta[2],
    needs: &[2],
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
    hidden::fit(data, &CHAIN, &starts, &[alpha, beta, PB], as_they_are)
}
