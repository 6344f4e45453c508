//! Hidden Markov chains: their likelihood over runs, and the expected number of each of their choices.
//!
//! A step of a chain changes the state and shows whether a slot is lost. Steps with equal outcome within a run are powers of
//! one matrix, so a run costs one product of a vector and a matrix, regardless of its length. The state before the first slot of
//! a segment has the stationary distribution.

use tmt_core::math::num;

use crate::matrix::{
    Matrix, Scaled, Vector, dot, power, power_with, row_times, stationary, sum, sum_in_scale,
    times_column, transposed,
};
use crate::sequence::Coded;

/// A step that a chain can take: with the product of the probabilities of its choices.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) lost: bool,
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Numbers of the choices, and whether each falls out as yes.
    pub(crate) choices: &'static [(usize, bool)],
}

/// A step to a lost or a received slot.
pub(crate) const fn step(
    lost: bool,
    from: usize,
    to: usize,
    choices: &'static [(usize, bool)],
) -> Step {
    Step {
        lost,
        from,
        to,
        choices,
    }
}

/// A family of chains of `N` states, whose parameters are the probabilities of independent choices.
#[derive(Debug)]
pub(crate) struct Chain<const N: usize> {
    /// Number of choices.
    pub(crate) choices: usize,
    /// At most one step for each outcome and pair of states.
    pub(crate) steps: &'static [Step],
}

/// A log-likelihood with what EM and gradients need.
#[derive(Debug, Clone)]
pub(crate) struct Evaluation<const N: usize> {
    /// Natural logarithm of the likelihood; −∞ if the sequence is impossible.
    pub(crate) ln_likelihood: f64,
    /// Expected number of times that each choice fell out as yes.
    pub(crate) yes: Vec<f64>,
    /// The same as no.
    pub(crate) no: Vec<f64>,
    /// Expected number of segments by the state before their first slot.
    pub(crate) first: Vector<N>,
}

/// Below this, a vector is brought back to a sum of 1.
const SMALL: f64 = 1e-100;

/// Runs between two stored vectors.
const BLOCK: usize = 512;

impl<const N: usize> Chain<N> {
    /// The matrices of the steps to received and to lost slots.
    pub(crate) fn matrices(&self, theta: &[f64]) -> [Matrix<N>; 2] {
        let mut matrices = [[[0.0; N]; N]; 2];
        for step in self.steps {
            let choices = step.choices.iter();
            let p = choices.map(|(k, yes)| if *yes { theta[*k] } else { 1.0 - theta[*k] });
            matrices[usize::from(step.lost)][step.from][step.to] = p.product();
        }
        matrices
    }

    /// The distribution of the state before a slot; `None` if it is not unique.
    pub(crate) fn stationary(&self, theta: &[f64]) -> Option<Vector<N>> {
        let [received, lost] = self.matrices(theta);
        stationary(&sum(&received, &lost))
    }

    /// The powers for all kinds of runs.
    fn powers(&self, coded: &Coded, theta: &[f64]) -> Vec<Scaled<N>> {
        let matrices = self.matrices(theta);
        let kinds = coded.kinds.iter();
        kinds
            .map(|(lost, length)| power(&matrices[usize::from(*lost)], *length))
            .collect()
    }

    /// The log-likelihood of a sequence.
    pub(crate) fn ln_likelihood(&self, coded: &Coded, theta: &[f64]) -> f64 {
        let start = self.stationary(theta).filter(|_| !coded.stopped.now());
        let Some(start) = start else {
            return f64::NEG_INFINITY;
        };
        let powers = self.powers(coded, theta);
        let mut total = scales(coded, &powers);
        for segment in &coded.segments {
            let mut row = start;
            for kind in segment {
                row = row_times(&row, &powers[*kind as usize].mantissa);
                total += rescale(&mut row);
            }
            total += num::ln(row.iter().sum());
        }
        finite(total)
    }

    /// The log-likelihood with expected counts: a pass forward and a pass backward.
    pub(crate) fn evaluate(&self, coded: &Coded, theta: &[f64]) -> Evaluation<N> {
        let mut result = Evaluation {
            ln_likelihood: f64::NEG_INFINITY,
            yes: vec![0.0; self.choices],
            no: vec![0.0; self.choices],
            first: [0.0; N],
        };
        let start = self.stationary(theta).filter(|_| !coded.stopped.now());
        let Some(start) = start else {
            return result;
        };
        let matrices = self.matrices(theta);
        let powers = self.powers(coded, theta);
        let mut total = scales(coded, &powers);
        let mut weights = vec![[[0.0; N]; N]; powers.len()];
        let (mut stored, mut rows) = (Vec::new(), Vec::with_capacity(BLOCK));
        for segment in &coded.segments {
            let mut row = start;
            stored.clear();
            for block in segment.chunks(BLOCK) {
                stored.push(row);
                for kind in block {
                    row = row_times(&row, &powers[*kind as usize].mantissa);
                    total += rescale(&mut row);
                }
            }
            total += num::ln(row.iter().sum());
            if !total.is_finite() {
                return result;
            }
            let mut column = [1.0; N];
            for (block, stored) in segment.chunks(BLOCK).zip(&stored).rev() {
                // The rows of this block again, which are cheaper to compute than to store.
                rows.clear();
                let mut row = *stored;
                for kind in block {
                    rows.push(row);
                    row = row_times(&row, &powers[*kind as usize].mantissa);
                    rescale(&mut row);
                }
                for (kind, row) in block.iter().zip(&rows).rev() {
                    let kind = *kind as usize;
                    let next = times_column(&powers[kind].mantissa, &column);
                    let scale = 1.0 / dot(row, &next);
                    for (line, left) in weights[kind].iter_mut().zip(row) {
                        for (cell, right) in line.iter_mut().zip(&column) {
                            *cell += left * scale * right;
                        }
                    }
                    column = next;
                    rescale(&mut column);
                }
            }
            let scale = 1.0 / dot(&start, &column);
            for (i, first) in result.first.iter_mut().enumerate() {
                *first += start[i] * column[i] * scale;
            }
        }
        result.ln_likelihood = finite(total);
        let turned = [transposed(&matrices[0]), transposed(&matrices[1])];
        let mut visits = [[[0.0; N]; N]; 2];
        for (kind, (lost, length)) in coded.kinds.iter().enumerate() {
            let side = usize::from(*lost);
            let pair = power_with(&turned[side], &weights[kind], *length);
            visits[side] = sum(&visits[side], &sum_in_scale(&pair, powers[kind].ln_scale));
        }
        for step in self.steps {
            let side = usize::from(step.lost);
            let times = visits[side][step.from][step.to] * matrices[side][step.from][step.to];
            for (k, yes) in step.choices {
                let count = if *yes {
                    &mut result.yes
                } else {
                    &mut result.no
                };
                count[*k] += times;
            }
        }
        result
    }

    /// The derivative of the log-likelihood by the logit of each choice (Fisher's identity).
    pub(crate) fn gradient(&self, theta: &[f64], evaluation: &Evaluation<N>) -> Vec<f64> {
        /// Step of the derivative of the stationary distribution, which is smooth and known without error.
        const H: f64 = 1e-5;
        let derivative = |k: usize| {
            let direct = evaluation.yes[k] * (1.0 - theta[k]) - evaluation.no[k] * theta[k];
            let mut moved = theta.to_vec();
            let mut at = |shift: f64| {
                moved[k] = shifted(theta[k], shift);
                let start = self.stationary(&moved).unwrap_or([0.0; N]);
                let terms = evaluation.first.iter().zip(start);
                let terms = terms.filter(|(first, p)| **first > 0.0 && *p > 0.0);
                terms.map(|(first, p)| first * num::ln(p)).sum::<f64>()
            };
            if theta[k] > 0.0 && theta[k] < 1.0 {
                direct + (at(H) - at(-H)) / (2.0 * H)
            } else {
                0.0
            }
        };
        (0..self.choices).map(derivative).collect()
    }
}

/// A probability with `shift` added to its logit.
pub(crate) fn shifted(p: f64, shift: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return p;
    }
    let factor = num::exp(shift);
    p * factor / (1.0 - p + p * factor)
}

/// Contribution of the scales of the powers to the logarithm.
fn scales<const N: usize>(coded: &Coded, powers: &[Scaled<N>]) -> f64 {
    let kinds = coded.counts.iter().zip(powers);
    kinds.map(|(count, power)| count * power.ln_scale).sum()
}

/// Brings a vector that has become small back to a sum of 1; returns the logarithm of the sum before.
fn rescale<const N: usize>(vector: &mut Vector<N>) -> f64 {
    let sum: f64 = vector.iter().sum();
    if sum >= SMALL {
        return 0.0;
    }
    for value in vector.iter_mut() {
        *value /= sum;
    }
    num::ln(sum)
}

/// −∞ for what is not a number.
fn finite(value: f64) -> f64 {
    if value.is_nan() {
        f64::NEG_INFINITY
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::gilbert_elliott::CHAIN as PAIR;
    use crate::models::netem_state::CHAIN as FOUR;
    use crate::sequence::Sequence;
    use proptest::prelude::*;

    fn coded(slots: &[bool]) -> Coded {
        Coded::new(&Sequence::of(slots.iter().copied()))
    }

    /// The likelihood as the sum over all paths of hidden states.
    fn over_paths<const N: usize>(chain: &Chain<N>, slots: &[bool], theta: &[f64]) -> f64 {
        let matrices = chain.matrices(theta);
        let start = chain.stationary(theta).unwrap();
        let paths = N.pow(u32::try_from(slots.len()).unwrap() + 1);
        let mut total = 0.0;
        for path in 0..paths {
            let states: Vec<usize> = (0..=slots.len())
                .scan(path, |rest, _| {
                    let state = *rest % N;
                    *rest /= N;
                    Some(state)
                })
                .collect();
            let mut p = start[states[0]];
            for (pair, lost) in states.windows(2).zip(slots) {
                p *= matrices[usize::from(*lost)][pair[0]][pair[1]];
            }
            total += p;
        }
        total
    }

    /// The forward algorithm slot by slot, each vector divided by its sum.
    fn slot_by_slot<const N: usize>(chain: &Chain<N>, slots: &[bool], theta: &[f64]) -> f64 {
        let matrices = chain.matrices(theta);
        let mut row = chain.stationary(theta).unwrap();
        let mut total = 0.0;
        for lost in slots {
            let mut next = [0.0; N];
            for (i, from) in row.iter().enumerate() {
                for (j, to) in next.iter_mut().enumerate() {
                    *to += from * matrices[usize::from(*lost)][i][j];
                }
            }
            let sum: f64 = next.iter().sum();
            total += num::ln(sum);
            row = next.map(|value| value / sum);
        }
        total
    }

    proptest! {
        #[test]
        fn the_likelihood_is_the_sum_over_all_hidden_paths(
            slots in prop::collection::vec(any::<bool>(), 1..8),
            theta in prop::array::uniform5(0.01f64..0.99),
        ) {
            let data = coded(&slots);
            let pair = PAIR.ln_likelihood(&data, &theta[..4]);
            prop_assert!((pair - num::ln(over_paths(&PAIR, &slots, &theta[..4]))).abs() < 1e-9);
            let four = FOUR.ln_likelihood(&data, &theta);
            prop_assert!((four - num::ln(over_paths(&FOUR, &slots, &theta))).abs() < 1e-9);
        }

        #[test]
        fn the_likelihood_is_that_of_the_forward_algorithm_slot_by_slot(
            runs in prop::collection::vec(1usize..3000, 1..30),
            theta in prop::array::uniform5(0.0005f64..0.9995),
        ) {
            let slots: Vec<bool> = runs.iter().enumerate()
                .flat_map(|(at, length)| std::iter::repeat_n(at % 2 == 0, *length)).collect();
            let data = coded(&slots);
            for (one, other) in [
                (PAIR.ln_likelihood(&data, &theta[..4]), slot_by_slot(&PAIR, &slots, &theta[..4])),
                (FOUR.ln_likelihood(&data, &theta), slot_by_slot(&FOUR, &slots, &theta)),
                (PAIR.evaluate(&data, &theta[..4]).ln_likelihood, slot_by_slot(&PAIR, &slots, &theta[..4])),
            ] {
                prop_assert!((one - other).abs() <= 1e-10 * other.abs(), "{} {}", one, other);
            }
        }

        #[test]
        fn the_gradient_is_the_difference_of_likelihoods(
            slots in prop::collection::vec(any::<bool>(), 1..60),
            more in prop::collection::vec(any::<bool>(), 1..60),
            theta in prop::array::uniform5(0.05f64..0.95),
        ) {
            let mut sequence = Sequence::of(slots.into_iter());
            sequence.segments.extend(Sequence::of(more.into_iter()).segments);
            let data = Coded::new(&sequence);
            let found = FOUR.gradient(&theta, &FOUR.evaluate(&data, &theta));
            for (k, found) in found.iter().enumerate() {
                let at = |shift: f64| {
                    let mut moved = theta;
                    moved[k] = shifted(theta[k], shift);
                    FOUR.ln_likelihood(&data, &moved)
                };
                let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
                prop_assert!((found - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{} {}", found, expected);
            }
        }
    }

    #[test]
    fn a_sequence_that_cannot_be_has_no_likelihood() {
        let data = coded(&[true, false]);
        let never_lost = [0.1, 0.1, 0.0, 0.0];
        assert_eq!(PAIR.ln_likelihood(&data, &never_lost), f64::NEG_INFINITY);
        assert_eq!(
            PAIR.evaluate(&data, &never_lost).ln_likelihood,
            f64::NEG_INFINITY
        );
    }
}
