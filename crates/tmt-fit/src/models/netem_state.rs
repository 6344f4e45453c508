//! `netem-state`: the four states of netem's `loss state`, from the GI model (Salsano 2012).
//!
//! States: 1 received in a gap, 2 received in a burst period, 3 lost in a burst period, 4 lost alone. One step per packet;
//! entering 3 or 4 loses the packet. From 4 the next state is always 1. Which of 1 and 2 a received packet was, and which of
//! 3 and 4 a burst of one, does not show: all of them are hidden, and the likelihood sums over them.

use super::hidden::{Nested, Output, as_they_are};
use super::starts::{groups, share};
use super::{Data, Fitted, Model, NOT_IN_NS3, hidden, percent, simple_gilbert};
use crate::chain::{Chain, step};
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

/// Choices: 0 to go from state 1 to 3, 1 to go to 4 if not to 3; 2 to go from state 3 to 1, 3 to go to 2 if not to 1; 4 to
/// leave state 2.
pub(crate) static CHAIN: Chain<4> = Chain {
    choices: 5,
    steps: &[
        step(false, 0, 0, &[(0, false), (1, false)]),
        step(true, 0, 2, &[(0, true)]),
        step(true, 0, 3, &[(0, false), (1, true)]),
        step(false, 1, 1, &[(4, false)]),
        step(true, 1, 2, &[(4, true)]),
        step(false, 2, 0, &[(2, true)]),
        step(false, 2, 1, &[(2, false), (3, true)]),
        step(true, 2, 2, &[(2, false), (3, false)]),
        step(false, 3, 0, &[]),
    ],
};

/// The same with what is chosen second as the first: 0 to go from state 1 to 4, 1 to go to 3 if not to 4; 2 to go from state 3
/// to 2, 3 to go to 1 if not to 2.
static SECOND_FIRST: Chain<4> = Chain {
    choices: 5,
    steps: &[
        step(false, 0, 0, &[(0, false), (1, false)]),
        step(true, 0, 2, &[(0, false), (1, true)]),
        step(true, 0, 3, &[(0, true)]),
        step(false, 1, 1, &[(4, false)]),
        step(true, 1, 2, &[(4, true)]),
        step(false, 2, 0, &[(2, false), (3, true)]),
        step(false, 2, 1, &[(2, true)]),
        step(true, 2, 2, &[(2, false), (3, false)]),
        step(false, 3, 0, &[]),
    ],
};

/// The probabilities of [`SECOND_FIRST`] from those of [`CHAIN`].
fn second_first(theta: &[f64]) -> Vec<f64> {
    let turned = |first: f64, second: f64| {
        let second = (1.0 - first) * second;
        let first = if second < 1.0 {
            first / (1.0 - second)
        } else {
            0.0
        };
        [second, first.min(1.0)]
    };
    let [p14, p13] = turned(theta[0], theta[1]);
    let [p32, p31] = turned(theta[2], theta[3]);
    vec![p14, p13, p32, p31, theta[4]]
}

const fn second(name: &'static str, choice: usize) -> Output<4> {
    Output {
        other: Some((&SECOND_FIRST, second_first)),
        ..Output::of(name, choice)
    }
}

const OUTPUTS: [Output<4>; 5] = [
    Output::of("p13", 0),
    Output::of("p31", 2),
    second("p32", 2),
    Output::of("p23", 4),
    second("p14", 0),
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
        // The first of two ways on, and the second if it is not taken.
        let ways = |leave: f64, second: f64| {
            let first = leave * (1.0 - second);
            [first, leave * second / (1.0 - first)]
        };
        let [p13, p14] = ways(
            share(groups + alone, g.outside),
            share(alone, groups + alone),
        );
        let [p31, p32] = ways(share(groups + inner, lost), share(inner, groups + inner));
        vec![p13, p14, p31, p32, share(inner, g.inside - g.lost)]
    };
    let both = groups.iter().flat_map(|g| [start(g, 0.0), start(g, 0.5)]);
    both.collect()
}

fn fit(data: &Data<'_>) -> Fitted {
    // Bursts and gaps of one geometric length each: states 2 and 4 are not needed, and the likelihood is flat in their
    // probabilities.
    let simple = simple_gilbert::fit(&Data {
        ranges: false,
        ..*data
    });
    let [alpha, beta] = [0, 1].map(|k| simple.parameters[k].value);
    let theta = vec![1.0 - alpha, 0.0, 1.0 - beta, 0.0, 0.5];
    let nested = Nested {
        name: "the two states of simple-gilbert",
        ln_likelihood: CHAIN.ln_likelihood(data.coded, &theta),
        theta,
    };
    let starts = starts(data.sequence);
    hidden::fit(data, &CHAIN, &starts, &OUTPUTS, as_they_are, Some(&nested))
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
    use crate::sequence::Coded;
    use tmt_core::channel::SlotChannel;

    #[test]
    fn the_order_of_choices_does_not_change_the_process() {
        let theta = [0.1, 0.2, 0.3, 0.4, 0.5];
        let turned = second_first(&theta);
        let data = Coded::new(&Sequence::of((0..200_u32).map(|slot| slot * slot % 7 < 2)));
        let (one, other) = (CHAIN.matrices(&theta), SECOND_FIRST.matrices(&turned));
        for (one, other) in one
            .iter()
            .flatten()
            .flatten()
            .zip(other.iter().flatten().flatten())
        {
            assert!((one - other).abs() < 1e-15);
        }
        let (one, other) = (
            CHAIN.ln_likelihood(&data, &theta),
            SECOND_FIRST.ln_likelihood(&data, &turned),
        );
        assert!((one - other).abs() < 1e-9 * one.abs());
        assert!((OUTPUTS[2].chosen(&theta) - 0.7 * 0.4).abs() < 1e-15);
        assert!((OUTPUTS[4].chosen(&theta) - 0.9 * 0.2).abs() < 1e-15);
    }

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
