//! States of the channel over distance: one sojourn after the other, each from its own random numbers.

use crate::math::normal::{upper_quantile, upper_tail};
use crate::math::num::{exp, floor_u64, ln, log1p};
use crate::math::rng::{Stream, Uniform};
use crate::types::to_f64;

use super::environment::{EventState, ExponentialState, FrameState, Loo, Sequence};

/// Random numbers per sojourn: next state, length, mean of the direct signal; and, of the first one, how much of it has
/// passed at distance 0.
const DRAWS: u64 = 4;

/// Sojourns per checkpoint.
const KEPT: u64 = 256;

/// A stretch of the way in one state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sojourn {
    number: u64,
    /// Where it begins, m.
    pub start_m: f64,
    /// Where it ends, m; ∞ if the state is never left.
    pub end_m: f64,
    /// Number of the state, from 0 for the least shadowed one.
    pub state: usize,
    /// Distribution of the signal.
    pub loo: Loo,
    /// Distribution before the sojourn, from which the triplet changes linearly …
    pub before: Loo,
    /// … over this distance from `start_m` on, m.
    pub transition_m: f64,
}

#[cfg(test)]
impl Sojourn {
    /// A stretch from `start_m` to `end_m`, for tests that set the rest.
    pub(super) const fn example(start_m: f64, end_m: f64) -> Self {
        let loo = Loo {
            direct_db: 0.0,
            shadowing_db: 0.0,
            multipath_db: 0.0,
            multipath_shadowing_db: 0.0,
        };
        Self {
            number: 1,
            start_m,
            end_m,
            state: 0,
            loo,
            before: loo,
            transition_m: 0.0,
        }
    }
}

/// The sequence of sojourns under a seed.
#[derive(Debug, Clone)]
pub(super) struct States {
    sequence: Sequence,
    draws: Uniform,
    /// Relative length of transitions.
    cross_fade: f64,
    place: Sojourn,
    /// Every [`KEPT`]th sojourn, so that going back is cheap.
    kept: Vec<Sojourn>,
}

impl States {
    /// The sequence under `seed`, stationary at distance 0, with the random numbers of `lane`.
    pub(super) fn new(sequence: Sequence, cross_fade: f64, seed: u64, lane: u32) -> Self {
        let mut draws = Uniform::on_lane(seed, Stream::RadioState, lane);
        let at = [0, 1, 2, 3].map(|index| draws.at(index));
        let (state, end_m) = match &sequence {
            Sequence::Frames { states, .. } => first_frames(states, at),
            Sequence::Events { states, .. } => first_event(states, at),
            Sequence::Exponential { states } => first_exponential(states, at),
        };
        let loo = triplet(&sequence, state, at[2]);
        let place = Sojourn {
            number: 0,
            start_m: 0.0,
            end_m,
            state,
            loo,
            before: loo,
            transition_m: 0.0,
        };
        Self {
            sequence,
            draws,
            cross_fade,
            place,
            kept: vec![place],
        }
    }

    /// Calls `visit` with each sojourn that overlaps [`from_m`, `to_m`), in order.
    ///
    /// Windows may be requested in any order. The time taken is in proportion to the distance from the previous window.
    pub(super) fn within(&mut self, from_m: f64, to_m: f64, mut visit: impl FnMut(&Sojourn)) {
        if from_m < self.place.start_m {
            let before = self.kept.partition_point(|kept| kept.start_m <= from_m);
            // The first sojourn starts at zero, so there always is one.
            if let Some(kept) = before.checked_sub(1).and_then(|at| self.kept.get(at)) {
                self.place = *kept;
            }
        }
        while self.place.end_m <= from_m {
            self.go_on();
        }
        visit(&self.place);
        while self.place.end_m < to_m {
            self.go_on();
            visit(&self.place);
        }
    }

    fn go_on(&mut self) {
        let before = self.place;
        let number = before.number + 1;
        let first = DRAWS * number;
        let [next, length, direct] = [0, 1, 2].map(|index| self.draws.at(first + index));
        let (state, length_m) = match &self.sequence {
            Sequence::Frames { states, .. } => {
                let state = successor(states, before.state, next);
                (
                    state,
                    to_f64(frames(states, state, length)) * states[state].frame_m,
                )
            }
            Sequence::Events { states, .. } => {
                let state = 1 - before.state;
                (state, states[state].length(length))
            }
            Sequence::Exponential { states } => {
                let state = 1 - before.state;
                (state, states[state].length(length))
            }
        };
        let loo = triplet(&self.sequence, state, direct);
        let transition_m = match self.sequence {
            Sequence::Frames { transition_m, .. } => transition_m,
            Sequence::Events {
                transition: [slope, offset],
                ..
            } => slope * (loo.direct_db - before.loo.direct_db).abs() + offset,
            Sequence::Exponential { .. } => 0.0,
        };
        self.place = Sojourn {
            number,
            start_m: before.end_m,
            end_m: before.end_m + length_m,
            state,
            loo,
            before: before.loo,
            transition_m: (transition_m.max(0.0) * self.cross_fade).min(length_m),
        };
        if number == KEPT * self.kept.len() as u64 {
            self.kept.push(self.place);
        }
    }
}

/// Number of frames of a sojourn in `state`, geometric, at least one, by inversion.
fn frames(states: &[FrameState; 3], state: usize, draw: f64) -> u64 {
    floor_u64(log1p(-draw) / ln(states[state].row[state])).saturating_add(1)
}

/// The state after a sojourn in `state`, another one.
fn successor(states: &[FrameState; 3], state: usize, draw: f64) -> usize {
    let others = match state {
        0 => [1, 2],
        1 => [0, 2],
        _ => [0, 1],
    };
    let [one, other] = others.map(|next| states[state].row[next]);
    others[usize::from(draw * (one + other) >= one)]
}

/// State at distance 0 and distance to its end. The process is stationary: a state is met by its share of the distance, and
/// uniformly within its frame.
fn first_frames(states: &[FrameState; 3], [state, length, _, passed]: [f64; 4]) -> (usize, f64) {
    let shares = shares_of_frames(states);
    let state = match state {
        draw if draw < shares[0] => 0,
        draw if draw < shares[0] + shares[1] => 1,
        _ => 2,
    };
    let more = to_f64(frames(states, state, length) - 1);
    (state, (1.0 - passed + more) * states[state].frame_m)
}

/// State at distance 0 and distance to its end. A long sojourn is met more often than a short one: the length has the
/// density x f(x), which is log-normal as well, with a logarithmic mean larger by the variance.
fn first_event(states: &[EventState; 2], [state, length, _, passed]: [f64; 4]) -> (usize, f64) {
    let state = usize::from(state < bad_share(states.map(|state| state.mean_length_m())));
    let mut met = states[state];
    let [mean, deviation] = met.length_ln_m;
    met.length_ln_m[0] = mean + deviation * deviation;
    (state, met.length(length) * (1.0 - passed))
}

/// State at distance 0 and distance to its end, which is as long as a whole sojourn: an exponential length has no memory.
fn first_exponential(
    states: &[ExponentialState; 2],
    [state, length, ..]: [f64; 4],
) -> (usize, f64) {
    let state = usize::from(state < bad_share(states.map(|state| state.mean_m)));
    (state, states[state].length(length))
}

/// Distribution of the signal in `state`; the draw chooses M_A if it is not constant.
fn triplet(sequence: &Sequence, state: usize, draw: f64) -> Loo {
    match sequence {
        Sequence::Frames { states, .. } => states[state].loo,
        Sequence::Events { states, .. } => states[state].loo(draw),
        Sequence::Exponential { states } => states[state].loo,
    }
}

/// Share of the distance in each state of the three-state model.
fn shares_of_frames(states: &[FrameState; 3]) -> [f64; 3] {
    // The stationary distribution of the steps by the Markov chain tree theorem, weighted with the length of a step.
    let p = |from: usize, to: usize| states[from].row[to];
    let steps = [
        p(1, 0) * p(2, 0) + p(1, 0) * p(2, 1) + p(1, 2) * p(2, 0),
        p(0, 1) * p(2, 1) + p(0, 1) * p(2, 0) + p(0, 2) * p(2, 1),
        p(0, 2) * p(1, 2) + p(0, 2) * p(1, 0) + p(0, 1) * p(1, 2),
    ];
    let lengths = [0, 1, 2].map(|state| steps[state] * states[state].frame_m);
    let sum: f64 = lengths.iter().sum();
    lengths.map(|length| length / sum)
}

/// Share of the distance in the bad one of two states with these mean lengths.
fn bad_share([good_m, bad_m]: [f64; 2]) -> f64 {
    bad_m / (good_m + bad_m)
}

impl Sequence {
    /// Share of the distance in each state; a two-state model has no third.
    #[must_use]
    pub fn shares(&self) -> [f64; 3] {
        if let Self::Frames { states, .. } = self {
            return shares_of_frames(states);
        }
        let [good_m, bad_m, _] = self.mean_sojourns_m();
        let bad = bad_share([good_m, bad_m]);
        [1.0 - bad, bad, 0.0]
    }

    /// Mean length of a sojourn in each state, m; 0 for a state that does not exist or is never entered.
    #[must_use]
    pub fn mean_sojourns_m(&self) -> [f64; 3] {
        match self {
            Self::Frames { states, .. } => {
                [0, 1, 2].map(|state| states[state].frame_m / (1.0 - states[state].row[state]))
            }
            Self::Events {
                states: [good, bad],
                ..
            } => [good.mean_length_m(), bad.mean_length_m(), 0.0],
            Self::Exponential {
                states: [good, bad],
            } => [good.mean_m, bad.mean_m, 0.0],
        }
    }

    /// The sequence in which the deepest state is entered `factor` times as often as published; 1 changes nothing.
    ///
    /// Three states: the probabilities of entering the third are multiplied by `factor`, the other two of the row keep their
    /// proportion. Two states: good sojourns are longer by 1/`factor`. Sojourns in the deepest state keep their lengths.
    /// `None` if a probability would be above 1 or `factor` is not a number from 0 on; and for two states if it is 0, as good
    /// sojourns would never end.
    #[must_use]
    pub fn with_deep_shadow(mut self, factor: f64) -> Option<Self> {
        if !(0.0..=f64::MAX).contains(&factor) {
            return None;
        }
        #[expect(clippy::float_cmp, reason = "the published numbers stay as they are")]
        let unchanged = factor == 1.0;
        match &mut self {
            _ if unchanged => {}
            Self::Frames {
                states: [first, second, _],
                ..
            } => {
                for state in [first, second] {
                    let [one, other, deep] = state.row;
                    let rest = (1.0 - factor * deep) / (1.0 - deep);
                    if rest < 0.0 {
                        return None;
                    }
                    state.row = [one * rest, other * rest, factor * deep];
                }
            }
            Self::Events { .. } | Self::Exponential { .. } if factor <= 0.0 => return None,
            Self::Events {
                states: [good, _], ..
            } => {
                good.length_ln_m[0] -= ln(factor);
                good.shortest_m /= factor;
            }
            Self::Exponential { states: [good, _] } => good.mean_m /= factor,
        }
        Some(self)
    }
}

impl ExponentialState {
    /// Length for a uniform draw, m.
    fn length(&self, draw: f64) -> f64 {
        -self.mean_m * log1p(-draw)
    }
}

impl EventState {
    /// Length for a uniform draw, m: log-normal, given that it is at least the shortest one, by inversion.
    fn length(&self, draw: f64) -> f64 {
        let [mean, deviation] = self.length_ln_m;
        let longer = upper_tail((ln(self.shortest_m) - mean) / deviation);
        let length = exp(mean + deviation * upper_quantile(longer * (1.0 - draw)));
        length.max(self.shortest_m)
    }

    /// Mean of the truncated log-normal distribution, m.
    fn mean_length_m(&self) -> f64 {
        let [mean, deviation] = self.length_ln_m;
        let least = (ln(self.shortest_m) - mean) / deviation;
        exp(mean + deviation * deviation / 2.0) * upper_tail(least - deviation) / upper_tail(least)
    }

    /// Distribution of the signal for a uniform draw of M_A, a normal variable between its quantiles.
    fn loo(&self, draw: f64) -> Loo {
        let [mean, deviation] = self.direct_db;
        let [low, high] = self.quantiles;
        let direct_db = mean - deviation * upper_quantile(low + (high - low) * draw);
        let line = |[slope, offset]: [f64; 2]| slope * direct_db + offset;
        Loo {
            direct_db,
            shadowing_db: line(self.shadowing).max(0.0),
            multipath_db: line(self.multipath),
            multipath_shadowing_db: 0.0,
        }
    }
}

#[cfg(test)]
mod tests;
