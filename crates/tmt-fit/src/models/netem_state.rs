//! `netem-state`: the four states of netem's `loss state`, from the GI model (Salsano 2012).
//!
//! States: 1 received in a gap, 2 received in a burst period, 3 lost in a burst period, 4 lost alone. One step per packet;
//! entering 3 or 4 loses the packet. From 4 the next state is always 1. Which of 1 and 2 a received packet was, and which of
//! 3 and 4 a burst of one, does not show: all of them are hidden, and the likelihood sums over them.

use super::hidden::{Output, as_they_are};
use super::starts::{groups, share};
use super::{Data, Fitted, Model, NOT_IN_NS3, hidden, percent};
use crate::chain::{Chain, Step};
use crate::sequence::Sequence;

pub(crate) static MODEL: Model = Model {
    name: "netem-state",
    about: "The four states of netem's `loss state`",
    parameters: &["p13", "p31", "p32", "p23", "p14"],
    fit,
    process: |_, values| Ok(process(values)),
    netem: |values| {
        let values: Vec<String> = values.iter().copied().map(percent).collect();
        Ok(format!("state {}", values.join(" ")))
    },
    ns3: |_| Err(NOT_IN_NS3.to_owned()),
    sojourns: |values| {
        let [p13, p31, p32, p23, p14] = all(values);
        vec![
            ("1", 1.0 / (p13 + p14)),
            ("2", 1.0 / p23),
            ("3", 1.0 / (p31 + p32)),
            ("4", 1.0),
        ]
    },
    rates: |_| Err(NO_GENERATOR.to_owned()),
    at: |_, _| Err(NO_GENERATOR.to_owned()),
};

const NO_GENERATOR: &str = "state 4 lasts for exactly one packet, so no process in continuous time gives these probabilities";

/// Choices: 0 to leave state 1, 1 to go from it to 4 rather than 3, 2 to leave state 3, 3 to go from it to 2 rather than 1,
/// 4 to leave state 2.
pub(crate) static CHAIN: Chain<4> = Chain {
    choices: 5,
    steps: &[
        Step {
            lost: false,
            from: 0,
            to: 0,
            choices: &[(0, false)],
        },
        Step {
            lost: true,
            from: 0,
            to: 2,
            choices: &[(0, true), (1, false)],
        },
        Step {
            lost: true,
            from: 0,
            to: 3,
            choices: &[(0, true), (1, true)],
        },
        Step {
            lost: false,
            from: 1,
            to: 1,
            choices: &[(4, false)],
        },
        Step {
            lost: true,
            from: 1,
            to: 2,
            choices: &[(4, true)],
        },
        Step {
            lost: false,
            from: 2,
            to: 0,
            choices: &[(2, true), (3, false)],
        },
        Step {
            lost: false,
            from: 2,
            to: 1,
            choices: &[(2, true), (3, true)],
        },
        Step {
            lost: true,
            from: 2,
            to: 2,
            choices: &[(2, false)],
        },
        Step {
            lost: false,
            from: 3,
            to: 0,
            choices: &[],
        },
    ],
};

const OUTPUTS: [Output; 5] = [
    Output {
        name: "p13",
        of: |t| t[0] * (1.0 - t[1]),
        needs: &[0, 1],
    },
    Output {
        name: "p31",
        of: |t| t[2] * (1.0 - t[3]),
        needs: &[2, 3],
    },
    Output {
        name: "p32",
        of: |t| t[2] * t[3],
        needs: &[2, 3],
    },
    Output {
        name: "p23",
        of: |t| t[4],
        needs: &[4],
    },
    Output {
        name: "p14",
        of: |t| t[0] * t[1],
        needs: &[0, 1],
    },
];

fn all(values: &[f64]) -> [f64; 5] {
    std::array::from_fn(|k| values[k])
}

fn starts(sequence: &Sequence) -> Vec<Vec<f64>> {
    let groups = groups(sequence);
    let start = |g: &super::starts::Groups, own: f64| {
        // Lone losses in state 4, or some of them in state 3.
        let alone = (1.0 - own) * g.alone;
        let (groups, lost) = (g.count + own * g.alone, g.lost + own * g.alone);
        let inner = g.bursts - g.count;
        vec![
            share(groups + alone, g.outside),
            share(alone, groups + alone),
            share(groups + inner, lost),
            share(inner, groups + inner),
            share(inner, g.inside - g.lost),
        ]
    };
    let both = groups.iter().flat_map(|g| [start(g, 0.0), start(g, 0.5)]);
    both.collect()
}

fn fit(data: &Data<'_>) -> Fitted {
    hidden::fit(data, &CHAIN, &starts(data.sequence), &OUTPUTS, as_they_are)
}

/// The same states as a `markov` process, without those that are never reached.
fn process(values: &[f64]) -> String {
    let [p13, p31, p32, p23, p14] = all(values);
    let rows = [
        ("s1", 0, [1.0 - p13 - p14, 0.0, p13, p14]),
        ("s2", 0, [0.0, 1.0 - p23, p23, 0.0]),
        ("s3", 1, [p31, p32, 1.0 - p31 - p32, 0.0]),
        ("s4", 1, [1.0, 0.0, 0.0, 0.0]),
    ];
    let mut reached = [true, false, false, false];
    for _ in 0..rows.len() {
        for (from, (.., next)) in rows.iter().enumerate() {
            for (to, p) in next.iter().enumerate() {
                reached[to] |= reached[from] && *p > 0.0;
            }
        }
    }
    let kept = |at: &usize| reached[*at];
    let states: Vec<usize> = (0..rows.len()).filter(kept).collect();
    let names: Vec<&str> = states.iter().map(|at| rows[*at].0).collect();
    let mut text = format!("markov:{{state,erasure,{}", names.join(","));
    for at in &states {
        let (name, lost, next) = &rows[*at];
        let next: Vec<String> = states
            .iter()
            .map(|to| next[*to].max(0.0).to_string())
            .collect();
        text += &format!(";{name},{lost},{}", next.join(","));
    }
    text + "}"
}

#[cfg(test)]
mod tests {
    use super::*;
    use tmt_core::channel::SlotChannel;

    #[test]
    fn states_that_are_never_reached_are_left_out() {
        for (values, states) in [
            ([0.01, 0.25, 0.05, 0.5, 0.001], 4),
            ([0.01, 0.25, 0.05, 0.5, 0.0], 3),
            ([0.01, 0.25, 0.0, 0.5, 0.0], 2),
            ([0.0, 0.25, 0.05, 0.5, 0.01], 2),
        ] {
            let text = process(&values);
            assert!(text.parse::<SlotChannel>().is_ok(), "{text}");
            assert_eq!(text.matches(';').count(), states, "{text}");
        }
    }
}
