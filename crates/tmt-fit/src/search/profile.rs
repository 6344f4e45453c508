//! Ranges of parameters by the profile likelihood: how far a parameter can be moved, all others following, until the
//! likelihood has fallen as it does two standard errors from the maximum of a normal likelihood.
//!
//! A normal approximation says nothing of a probability at the end of its range, and little of one whose event was seen a few
//! times only.

use super::{Information, Place, Stop};
use crate::chain::{Chain, shifted};
use crate::matrix::Square;
use crate::sequence::Coded;

/// Twice the fall of the log-likelihood at the ends of a range: two standard errors, squared.
const DEPTH: f64 = 4.0;

/// Accuracy to which this fall is met.
const TOLERANCE: f64 = 0.1;

/// Twice the log-likelihood by which a profile may exceed its maximum: what a search leaves.
const EXCESS: f64 = 1e-2;

/// Most steps of Newton's method for a place of the profile, which begin near it.
const STEPS: u32 = 15;

/// Values of a probability that fit nearly as well as the best one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Range {
    /// The range around the most likely `value`, from `fall`, which is twice the fall of the log-likelihood at another
    /// value. `first` is a first guess of its width: a difference of logits, or of odds if `value` is 0 or 1.
    pub(crate) fn of(value: f64, first: f64, fall: &mut dyn FnMut(f64) -> f64) -> Self {
        let mut side = |up: bool| {
            let end = if up { 1.0 } else { 0.0 };
            let at_end = value <= 0.0 || value >= 1.0;
            if at_end && up == (value >= 1.0) {
                return value;
            }
            let sign = if up { 1.0 } else { -1.0 };
            let moved = |by: f64| {
                if at_end {
                    (value - by / (1.0 + by)).abs()
                } else {
                    shifted(value, sign * by)
                }
            };
            edge(end, at_end, first, &moved, fall)
        };
        Self {
            low: side(false),
            high: side(true),
        }
    }
}

/// Where on one side the likelihood has fallen by [`DEPTH`]: there `moved` takes a shift to a value, from the most likely one
/// for 0 towards `end`.
fn edge(
    end: f64,
    at_end: bool,
    first: f64,
    moved: &dyn Fn(f64) -> f64,
    fall: &mut dyn FnMut(f64) -> f64,
) -> f64 {
    /// Shift beyond which the end itself is tried: a factor of 150 in odds.
    const FAR: f64 = 5.0;
    // A measure that grows about linearly: the fall at the end of a range, its root inside.
    let measure = |fall: f64| if at_end { fall } else { fall.max(0.0).sqrt() };
    let wanted = measure(DEPTH);
    let (mut inner, mut by) = ((0.0, 0.0), first);
    let mut has_tried_end = false;
    let mut outer = loop {
        if !has_tried_end && (!at_end && by > FAR || at_end && by > 0.5) {
            has_tried_end = true;
            if fall(end) < DEPTH {
                return end;
            }
        }
        let found = measure(fall(moved(by)));
        if found >= wanted {
            break (by, found);
        }
        inner = (by, found);
        // At most a factor of e^2 at a time, so that the parameters that follow are found from those before.
        let next = by * (wanted / found.max(1e-9)).clamp(1.25, 4.0);
        by = if at_end { next } else { next.min(by + 2.0) };
        if by > 1e3 {
            return end;
        }
    };
    for round in 0..12 {
        if outer.1 <= measure(DEPTH + TOLERANCE) || outer.0 - inner.0 < 1e-3 * outer.0 {
            break;
        }
        let share = (wanted - inner.1) / (outer.1 - inner.1);
        let halves = round % 3 == 2 || !outer.1.is_finite();
        let share = if halves { 0.5 } else { share.clamp(0.02, 0.98) };
        let by = inner.0 + (outer.0 - inner.0) * share;
        let found = measure(fall(moved(by)));
        if found >= measure(DEPTH - TOLERANCE) && found <= measure(DEPTH + TOLERANCE) {
            return moved(by);
        }
        if found >= wanted {
            outer = (by, found);
        } else {
            inner = (by, found);
        }
    }
    moved(outer.0)
}

/// The profile of one choice of a chain.
pub(crate) struct Profile<'a, const N: usize> {
    chain: &'a Chain<N>,
    coded: &'a Coded,
    choice: usize,
    stop: Stop,
    /// Its most likely probability, and the expected number of times that it was made.
    value: f64,
    exposure: f64,
    /// The largest log-likelihood.
    most: f64,
    /// Where profiles have been found.
    found: Vec<Vec<f64>>,
    /// The information by the other choices at the maximum.
    known: Option<Information>,
    /// A place above the maximum.
    pub(crate) above: Option<Vec<f64>>,
}

impl<'a, const N: usize> Profile<'a, N> {
    /// The profile of a choice from the place of largest likelihood, with the information there if it is known.
    pub(crate) fn new(
        place: &Place<'a, N>,
        choice: usize,
        information: Option<(&[usize], &Square)>,
        stop: Stop,
    ) -> Self {
        let known = information.map(|(of, cells)| {
            let free = place.free();
            let kept = (0..of.len()).filter(|i| of[*i] != choice && free.contains(&of[*i]));
            let kept: Vec<usize> = kept.collect();
            let row = |i: &usize| kept.iter().map(|j| cells[*i][*j]).collect();
            (
                kept.iter().map(|i| of[*i]).collect(),
                kept.iter().map(row).collect(),
            )
        });
        Self {
            chain: place.chain,
            coded: place.coded,
            choice,
            stop: Stop {
                newton_steps: stop.newton_steps.min(STEPS),
                ..stop
            },
            value: place.theta[choice],
            exposure: place.now.yes[choice] + place.now.no[choice],
            most: place.now.ln_likelihood,
            found: vec![place.theta.clone()],
            known,
            above: None,
        }
    }

    /// The range of the choice; `error` is the standard error of its logit, if there is one.
    pub(crate) fn range(&mut self, error: Option<f64>) -> Range {
        let first = if self.value <= 0.0 || self.value >= 1.0 {
            // Of independent cases without an event, DEPTH / 2 events are as unlikely as two standard errors.
            (0.5 * DEPTH / self.exposure.max(1e-300)).min(0.5)
        } else {
            (2.0 * error.unwrap_or(0.5)).min(2.0)
        };
        Range::of(self.value, first, &mut |p| self.fall(p))
    }

    /// Twice the fall of the log-likelihood if the choice has the probability `p`, and the others follow.
    fn fall(&mut self, p: f64) -> f64 {
        let distance = |theta: &&Vec<f64>| (theta[self.choice] - p).abs();
        let nearest = self
            .found
            .iter()
            .min_by(|one, other| distance(one).total_cmp(&distance(other)));
        let mut theta = nearest.cloned().unwrap_or_default();
        theta[self.choice] = p;
        let mut place = Place::new(self.chain, self.coded, theta);
        if !place.now.ln_likelihood.is_finite() {
            return f64::INFINITY;
        }
        place.held = Some(self.choice);
        place.climb(self.stop, self.known.clone());
        let fall = 2.0 * (self.most - place.now.ln_likelihood);
        if fall < -EXCESS && self.above.is_none() {
            self.above = Some(place.theta.clone());
        }
        self.found.push(place.theta);
        fall
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tmt_core::math::num;

    /// Twice the fall of a binomial log-likelihood.
    fn binomial(events: f64, n: f64) -> impl Fn(f64) -> f64 {
        let ln = |x: f64, p: f64| if x > 0.0 { x * num::ln(p) } else { 0.0 };
        let at = move |p: f64| ln(events, p) + ln(n - events, 1.0 - p);
        move |p| 2.0 * (at(events / n) - at(p))
    }

    #[test]
    fn ranges_of_a_share_are_where_its_likelihood_has_fallen() {
        for (events, n) in [
            (1.0, 1000.0),
            (3.0, 40.0),
            (39.0, 40.0),
            (500.0, 1000.0),
            (5.0, 1e7),
        ] {
            let fall = binomial(events, n);
            for first in [1e-3, 0.5, 2.0] {
                let range = Range::of(events / n, first, &mut |p| fall(p));
                for end in [range.low, range.high] {
                    assert!(
                        (fall(end) - DEPTH).abs() < 2.0 * TOLERANCE,
                        "{events} {n} {first} {range:?} {}",
                        fall(end)
                    );
                }
                assert!(range.low < events / n && events / n < range.high);
            }
        }
        // Many cases are nearly normal.
        let range = Range::of(0.5, 0.1, &mut |p| binomial(5e5, 1e6)(p));
        assert!(((range.high - 0.5) / 0.001 - 1.0).abs() < 0.03);
    }

    #[test]
    fn without_an_event_the_range_ends_where_two_were_expected() {
        for (events, value) in [(0.0, 0.0), (1e4, 1.0)] {
            let fall = binomial(events, 1e4);
            for first in [1e-6, 1e-3, 0.5] {
                let range = Range::of(value, first, &mut |p| fall(p));
                let far = range.high - range.low;
                assert!((far / 2e-4 - 1.0).abs() < 0.05, "{range:?}");
            }
        }
    }

    #[test]
    fn what_the_likelihood_does_not_know_has_the_whole_range() {
        for value in [0.0, 0.3, 1.0] {
            let range = Range::of(value, 0.1, &mut |_| 0.1);
            assert_eq!((range.low, range.high), (0.0, 1.0));
        }
    }
}
