//! `gilbert-elliott`: two states with a loss probability each (Elliott 1963).

use super::gilbert::NOT_IN_NS3;
use super::hidden::Output;
use super::simple_gilbert::PERSISTENCE;
use super::starts::{groups, share};
use super::{Data, Fitted, Model, hidden, two_state};
use crate::chain::{Chain, Step};
use crate::sequence::Sequence;

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
        Step {
            lost: false,
            from: 0,
            to: 0,
            choices: &[(0, false), (2, false)],
        },
        Step {
            lost: true,
            from: 0,
            to: 0,
            choices: &[(0, false), (2, true)],
        },
        Step {
            lost: false,
            from: 0,
            to: 1,
            choices: &[(0, true), (3, false)],
        },
        Step {
            lost: true,
            from: 0,
            to: 1,
            choices: &[(0, true), (3, true)],
        },
        Step {
            lost: false,
            from: 1,
            to: 0,
            choices: &[(1, true), (2, false)],
        },
        Step {
            lost: true,
            from: 1,
            to: 0,
            choices: &[(1, true), (2, true)],
        },
        Step {
            lost: false,
            from: 1,
            to: 1,
            choices: &[(1, false), (3, false)],
        },
        Step {
            lost: true,
            from: 1,
            to: 1,
            choices: &[(1, false), (3, true)],
        },
    ],
};

const LOSS: [Output; 2] = [
    Output {
        name: "pg",
        of: |theta| theta[2],
        needs: &[2],
    },
    Output {
        name: "pb",
        of: |theta| theta[3],
        needs: &[3],
    },
];

fn all(values: &[f64]) -> [f64; 4] {
    [values[0], values[1], values[2], values[3]]
}

/// Where searches begin, for each way to group the losses: lone losses in the good state, or in bad states of their own.
pub(crate) fn starts(sequence: &Sequence) -> Vec<Vec<f64>> {
    let start = |g: &super::starts::Groups, own: f64| {
        let (bad, groups) = (g.inside + own * g.alone, g.count + own * g.alone);
        let good = g.outside - own * g.alone;
        vec![
            share(groups, good),
            share(groups, bad),
            share((1.0 - own) * g.alone, good),
            share(g.lost + own * g.alone, bad),
        ]
    };
    let groups = groups(sequence);
    let both = groups.iter().flat_map(|g| [start(g, 0.0), start(g, 1.0)]);
    both.collect()
}

/// The bad state is the one that loses more.
fn order(theta: &[f64]) -> Option<Vec<f64>> {
    (theta[2] > theta[3]).then(|| vec![theta[1], theta[0], theta[3], theta[2]])
}

fn fit(data: &Data<'_>) -> Fitted {
    let [alpha, beta] = PERSISTENCE;
    let [pg, pb] = LOSS;
    let starts = starts(data.sequence);
    hidden::fit(data, &CHAIN, &starts, &[alpha, beta, pg, pb], order)
}
