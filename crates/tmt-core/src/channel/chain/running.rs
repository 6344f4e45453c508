//! A running process of states: its sojourns, and what they erase.

use std::sync::Arc;

use super::{Base, Chain};
use crate::channel::interval::{Emission, Intervals};
use crate::channel::{Erasing, Use};
use crate::math::rng::{Stream, Uniform};
use crate::types::{Slot, Span, Time};

/// Number of sojourns per checkpoint.
const KEPT: u64 = 1024;

/// A stay in a state.
#[derive(Debug, Clone, Copy)]
struct Sojourn {
    /// Number from 0 on.
    number: u64,
    state: usize,
    /// First unit or nanosecond.
    start: u64,
    /// The one after the last; `u64::MAX` for no end.
    end: u64,
}

/// A running process.
#[derive(Debug, Clone)]
pub(super) struct Running {
    sojourns: Sojourns,
    erasures: Emission,
    intervals: Intervals,
}

/// The sojourns of a process, which can be asked for in any order.
#[derive(Debug, Clone)]
struct Sojourns {
    chain: Arc<Chain>,
    draws: Uniform,
    place: Sojourn,
    /// The one at which the last call began: the next call mostly begins there or later, though the last read on.
    begun: Sojourn,
    /// Checkpoints, every [`KEPT`] sojourns, so that going back is cheap.
    kept: Vec<Sojourn>,
}

impl Running {
    pub(super) fn new(chain: Arc<Chain>, seed: u64, used: Use) -> Self {
        Self {
            sojourns: Sojourns::new(chain, seed, used),
            erasures: Emission::new(seed, used),
            intervals: Intervals::new(seed, used),
        }
    }
}

impl Sojourns {
    fn new(chain: Arc<Chain>, seed: u64, used: Use) -> Self {
        let mut draws = used.numbers(seed, Stream::Sojourn);
        let [u, length, place] = [0, 1, 2].map(|index| draws.at(index));
        let (state, length) = if let Some(state) = chain.start {
            (state, chain.states[state].length.at(length))
        } else {
            let state = pick(&chain.shares, u);
            (state, chain.states[state].length.left(length, place))
        };
        let first = Sojourn {
            number: 0,
            state,
            start: 0,
            end: length,
        };
        Self {
            chain,
            draws,
            place: first,
            begun: first,
            kept: vec![first],
        }
    }

    fn go_on(&mut self) {
        let Sojourn {
            number, state, end, ..
        } = self.place;
        let number = number + 1;
        let index = 2 * number + 1;
        let state = pick(&self.chain.states[state].next, self.draws.at(index));
        let length = self.chain.states[state].length.at(self.draws.at(index + 1));
        self.place = Sojourn {
            number,
            state,
            start: end,
            end: end.saturating_add(length),
        };
        if number == KEPT * self.kept.len() as u64 {
            self.kept.push(self.place);
        }
    }

    /// Goes to the sojourn that position `at` lies in.
    fn seek(&mut self, at: u64) {
        if (self.begun.start..self.place.start).contains(&at) {
            self.place = self.begun;
        } else if at < self.place.start {
            let before = self.kept.partition_point(|kept| kept.start <= at);
            // The first sojourn starts at zero, so there always is one.
            if let Some(kept) = before.checked_sub(1).and_then(|at| self.kept.get(at)) {
                self.place = *kept;
            }
        }
        while self.place.end <= at {
            self.go_on();
        }
    }

    /// The sojourns from the one at position `at` on, each with its erasure probability.
    fn from(&mut self, mut at: u64) -> impl Iterator<Item = (Sojourn, f64)> {
        if at < u64::MAX {
            self.seek(at);
            self.begun = self.place;
        }
        std::iter::from_fn(move || {
            if at == u64::MAX {
                return None;
            }
            self.seek(at);
            at = self.place.end;
            Some((self.place, self.chain.states[self.place.state].erasure))
        })
    }
}

/// The entry at which the sum of `weights`, which add up to one, exceeds `u`.
fn pick(weights: &[f64], u: f64) -> usize {
    let mut sum = 0.0;
    let found = weights.iter().position(|weight| {
        sum += weight;
        u < sum
    });
    // The sum may be rounded to less than one: then it is the last that is possible.
    found
        .or_else(|| weights.iter().rposition(|weight| *weight > 0.0))
        .unwrap_or(0)
}

impl Erasing for Running {
    fn erase(&mut self, first: u64, on_air: Span, slots: &mut [Slot]) {
        let Some(begin) = slots.first() else {
            return;
        };
        let base = self.sojourns.chain.base;
        if base == Base::Time {
            let time = |nanos| Time::from_nanos(nanos).unwrap_or(Time::MAX);
            let sojourns = self.sojourns.from(begin.tx_time().as_nanos());
            let states = sojourns.map(|(at, p)| (time(at.start), time(at.end), p));
            self.intervals.erase(first, on_air, slots, states);
            return;
        }
        let (mut unit, mut rest) = (first, slots);
        for (sojourn, p) in self.sojourns.from(first) {
            let units = usize::try_from(sojourn.end - unit).unwrap_or(usize::MAX);
            let (now, later) = rest.split_at_mut(units.min(rest.len()));
            self.erasures.erase(unit, p, now);
            unit += now.len() as u64;
            rest = later;
            if rest.is_empty() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Rows, STATIONARY};
    use super::*;

    /// Windows that begin at or after the one before are served without a checkpoint, though they overlap.
    #[test]
    fn windows_in_order_never_go_back_to_a_checkpoint() {
        let text = "semi-markov:{state,erasure,sojourn,a,b;a,0,exponential mean=1ms,0,1;b,1,fixed 300us,1,0}";
        let (_, parameters) = text.split_once(":{").unwrap();
        let rows = parameters.strip_suffix('}').unwrap();
        let states = Rows::of(rows).and_then(|rows| rows.states(true)).unwrap();
        let chain = Arc::new(Chain::new(states, STATIONARY).unwrap());
        let mut given = Sojourns::new(Arc::clone(&chain), 1, Use::Forward);
        given.kept.clear();
        let mut other = Sojourns::new(chain, 1, Use::Forward);
        for at in (0..5000).map(|at| at * 100_000) {
            let numbers = |sojourns: &mut Sojourns| {
                let until = sojourns
                    .from(at)
                    .take_while(|(sojourn, _)| sojourn.start < at + 1_000_000);
                until.map(|(sojourn, _)| sojourn.number).collect::<Vec<_>>()
            };
            let expected = numbers(&mut other);
            assert_eq!(numbers(&mut given), expected);
            other.seek(0);
        }
    }

    /// Positions in any order, over more sojourns than lie between checkpoints, against one pass.
    #[test]
    fn going_back_over_many_sojourns_finds_the_same_ones() {
        for (text, per_sojourn) in [
            (
                "state,erasure,sojourn,a,b;a,0,geometric mean=3,0,1;b,1,histogram 1:1 2:3,1,0",
                2,
            ),
            (
                "state,erasure,sojourn,a,b;a,0,exponential mean=2us,0,1;b,1,fixed 1us,1,0",
                1000,
            ),
        ] {
            let states = Rows::of(text).and_then(|rows| rows.states(true)).unwrap();
            let chain = Arc::new(Chain::new(states, STATIONARY).unwrap());
            let end = 6 * KEPT * per_sojourn;
            let mut pass = Sojourns::new(Arc::clone(&chain), 3, Use::Forward);
            let all: Vec<Sojourn> = pass
                .from(0)
                .map(|(sojourn, _)| sojourn)
                .take_while(|sojourn| sojourn.start < end)
                .collect();
            assert!(all.len() as u64 > 2 * KEPT, "{}", all.len());
            let mut given = Sojourns::new(chain, 3, Use::Forward);
            // 0.618 of the way each time: early and late positions in turn.
            for at in (0..400).map(|step| step * (end * 618 / 1000) % end) {
                let (found, _) = given.from(at).next().unwrap();
                let expected = all
                    .iter()
                    .find(|sojourn| (sojourn.start..sojourn.end).contains(&at))
                    .unwrap();
                assert_eq!(
                    (found.number, found.state, found.start, found.end),
                    (
                        expected.number,
                        expected.state,
                        expected.start,
                        expected.end
                    )
                );
            }
        }
    }
}
