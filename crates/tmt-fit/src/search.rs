//! The parameters of largest likelihood: Baum–Welch, then Newton's method. Neither ever lowers the likelihood.
//!
//! EM needs hundreds of steps where states are hard to tell apart, so after a few of them Newton's method takes over. Its
//! gradient comes from the same expected counts (Fisher's identity), its Hessian from differences of gradients. A step that
//! lowers the likelihood is not taken.

pub(crate) mod profile;

use rayon::prelude::*;

use crate::chain::{Chain, Evaluation, shifted};
use crate::matrix::{Square, eigen};
use crate::sequence::Coded;

/// When a search ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// Largest relative change of the log-likelihood in the last step.
    pub relative_change: f64,
    /// Most steps of EM before Newton's method.
    pub em_steps: u32,
    /// Most steps of Newton's method.
    pub newton_steps: u32,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            relative_change: 1e-8,
            em_steps: 25,
            newton_steps: 60,
        }
    }
}

/// Where a search has ended.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) theta: Vec<f64>,
    pub(crate) ln_likelihood: f64,
    /// Choices whose probability is free; the others are 0 or 1.
    pub(crate) free: Vec<usize>,
    /// Observed information: the negative Hessian by the logits of the free choices.
    pub(crate) information: Square,
    pub(crate) converged: bool,
    pub(crate) em_steps: u32,
    pub(crate) newton_steps: u32,
}

impl Found {
    /// A later search, with the steps of this one.
    pub(crate) fn then(&self, later: Self) -> Self {
        Self {
            em_steps: self.em_steps + later.em_steps,
            newton_steps: self.newton_steps + later.newton_steps,
            ..later
        }
    }
}

/// A likelihood with its place.
pub(crate) struct Place<'a, const N: usize> {
    pub(crate) chain: &'a Chain<N>,
    pub(crate) coded: &'a Coded,
    pub(crate) theta: Vec<f64>,
    pub(crate) now: Evaluation<N>,
    /// A choice whose probability stays as it is.
    pub(crate) held: Option<usize>,
}

/// The negative Hessian by the logits of choices, which come first.
pub(crate) type Information = (Vec<usize>, Square);

/// Course of Newton's method.
pub(crate) struct Climb {
    newton_steps: u32,
    em_steps: u32,
    converged: bool,
    /// The information that served last.
    information: Option<Information>,
}

/// Where a choice is expected to fall out in one way less often than this, the end of its range is tried.
const RARE: f64 = 1.0;

/// Newton's decrement, twice the gain in log-likelihood that the next step promises, below which a search has converged:
/// the estimate is within a hundredth of its standard error.
const DECREMENT: f64 = 1e-4;

/// A share below this is 0: products with a denormal number lose their digits, and the distribution of the states with them.
const NEVER: f64 = 1e-300;

/// One step of EM: each choice gets the share with which it is expected to fall out.
pub(crate) fn em_step<const N: usize>(theta: &[f64], now: &Evaluation<N>) -> Vec<f64> {
    let counts = now.yes.iter().zip(&now.no).zip(theta);
    let step = |((yes, no), before): ((&f64, &f64), &f64)| {
        let all = yes + no;
        let share = if all > 0.0 { yes / all } else { *before };
        if share < NEVER { 0.0 } else { share }
    };
    counts.map(step).collect()
}

impl<'a, const N: usize> Place<'a, N> {
    pub(crate) fn new(chain: &'a Chain<N>, coded: &'a Coded, theta: Vec<f64>) -> Self {
        Self {
            now: chain.evaluate(coded, &theta),
            chain,
            coded,
            theta,
            held: None,
        }
    }

    /// Goes to `theta` unless the likelihood is lower there.
    fn go(&mut self, theta: Vec<f64>) -> bool {
        let there = self.chain.evaluate(self.coded, &theta);
        let goes = there.ln_likelihood >= self.now.ln_likelihood;
        if goes {
            self.theta = theta;
            self.now = there;
        }
        goes
    }

    /// Choices whose probability can be changed a little.
    pub(crate) fn free(&self) -> Vec<usize> {
        let inside = |k: &usize| self.theta[*k] > 0.0 && self.theta[*k] < 1.0;
        let changed = (0..self.chain.choices).filter(|k| self.held != Some(*k));
        changed.filter(inside).collect()
    }

    /// Moves choices that hardly fall out in one way to the end of their range, if that is at least as likely.
    fn go_to_ends(&mut self) {
        for k in self.free() {
            let (yes, no) = (self.now.yes[k], self.now.no[k]);
            let end = match (yes < RARE, no < RARE) {
                (true, false) => 0.0,
                (false, true) => 1.0,
                _ => continue,
            };
            let mut theta = self.theta.clone();
            theta[k] = end;
            if self.chain.ln_likelihood(self.coded, &theta) >= self.now.ln_likelihood {
                self.go(theta);
            }
        }
    }

    /// Moves choices at the end of their range back inside, if that is more likely; whether one was moved.
    fn leave_ends(&mut self) -> bool {
        let mut moved = false;
        for k in 0..self.chain.choices {
            let end = self.theta[k];
            if end > 0.0 && end < 1.0 || self.held == Some(k) {
                continue;
            }
            let exposure = (self.now.yes[k] + self.now.no[k]).max(2.0);
            for events in [0.1, 0.5] {
                let mut theta = self.theta.clone();
                theta[k] = (end - events / exposure).abs();
                let there = self.chain.ln_likelihood(self.coded, &theta);
                let margin = 1e-11 * there.abs();
                if there > self.now.ln_likelihood + margin && self.go(theta) {
                    moved = true;
                    break;
                }
            }
        }
        moved
    }

    /// The negative Hessian by the logits of `free`, from differences of gradients: by how much a gradient falls at a small
    /// distance. The error of that distance is far less than a standard error is known by.
    fn information(&self, free: &[usize]) -> Square {
        /// Change of a logit.
        const H: f64 = 1e-4;
        let here = self.chain.gradient(&self.theta, &self.now);
        // Each is independent of the others, and so is the result of how many run at a time.
        let rows = free.par_iter().map(|k| {
            let mut theta = self.theta.clone();
            theta[*k] = shifted(theta[*k], H);
            let there = self.chain.evaluate(self.coded, &theta);
            let there = self.chain.gradient(&theta, &there);
            let cells = free.iter().map(|j| (here[*j] - there[*j]) / H);
            cells.collect::<Vec<f64>>()
        });
        let rows: Square = rows.collect();
        let n = free.len();
        let cell = |i: usize, j: usize| 0.5 * (rows[i][j] + rows[j][i]);
        (0..n)
            .map(|i| (0..n).map(|j| cell(i, j)).collect())
            .collect()
    }

    /// The observed information by the logits of all choices. One at the end of its range is moved inside by half an event
    /// first: what it might be adds to the errors of the others.
    fn information_with_ends(&self) -> (Vec<usize>, Square) {
        let mut theta = self.theta.clone();
        for (k, p) in theta.iter_mut().enumerate() {
            let exposure = self.now.yes[k] + self.now.no[k];
            if (*p <= 0.0 || *p >= 1.0) && exposure > 0.0 {
                *p = (*p - (0.5 / exposure).min(0.25)).abs();
            }
        }
        let moved = Place::new(self.chain, self.coded, theta);
        let all = moved.free();
        // Where the likelihood falls inside, its slope is no curvature.
        let slopes = self.chain.gradient(&moved.theta, &moved.now);
        let mut information = moved.information(&all);
        for (i, k) in all.iter().enumerate() {
            let at_end = self.theta[*k] <= 0.0 || self.theta[*k] >= 1.0;
            if at_end {
                let sign = if self.theta[*k] <= 0.0 { 1.0 } else { -1.0 };
                information[i][i] += sign * slopes[*k];
            }
        }
        // One without curvature there says nothing about the others.
        let kept = |i: &usize| {
            information[*i][*i] > 0.0 || self.theta[all[*i]] * (1.0 - self.theta[all[*i]]) > 0.0
        };
        let kept: Vec<usize> = (0..all.len()).filter(kept).collect();
        let row = |i: &usize| kept.iter().map(|j| information[*i][*j]).collect();
        let reduced = kept.iter().map(row).collect();
        (kept.iter().map(|i| all[*i]).collect(), reduced)
    }

    /// Twice the gain of the log-likelihood that Newton's method promises from here.
    fn promise(&self, free: &[usize], information: &Square) -> f64 {
        let gradient = self.chain.gradient(&self.theta, &self.now);
        let (values, vectors) = eigen(information);
        let largest = values.iter().copied().fold(1e-300, f64::max);
        let along = (0..free.len()).map(|e| {
            let terms = free.iter().zip(&vectors);
            let slope: f64 = terms.map(|(k, row)| gradient[*k] * row[e]).sum();
            slope * slope / values[e].max(1e-9 * largest)
        });
        along.sum()
    }

    /// A step of Newton's method that is held back by `damping`; whether it was taken, and what it promised.
    fn newton(&mut self, free: &[usize], information: &Square, damping: &mut f64) -> (bool, f64) {
        let gradient = self.chain.gradient(&self.theta, &self.now);
        let (values, vectors) = eigen(information);
        let largest = values.iter().copied().fold(1e-300, f64::max);
        // The gradient along each eigenvector.
        let along: Vec<f64> = (0..free.len())
            .map(|e| {
                let terms = free.iter().zip(&vectors);
                terms.map(|(k, row)| gradient[*k] * row[e]).sum()
            })
            .collect();
        let promise = values.iter().zip(&along);
        let promise: f64 = promise
            .map(|(value, slope)| slope * slope / value.max(1e-9 * largest))
            .sum();
        for _ in 0..8 {
            let mut step: Vec<f64> = vectors
                .iter()
                .map(|row| {
                    let terms = row.iter().zip(values.iter().zip(&along));
                    terms
                        .map(|(part, (value, slope))| {
                            // Where the surface bends upward, the slope alone is followed.
                            part * slope / (value.abs().max(1e-9 * largest) + *damping)
                        })
                        .sum()
                })
                .collect();
            let longest = step.iter().copied().map(f64::abs).fold(0.0, f64::max);
            if longest > 2.0 {
                for part in &mut step {
                    *part *= 2.0 / longest;
                }
            }
            let mut theta = self.theta.clone();
            for (k, part) in free.iter().zip(step) {
                theta[*k] = shifted(theta[*k], part);
            }
            if self.go(theta) {
                *damping *= 0.1;
                return (true, promise);
            }
            *damping = (*damping * 10.0).max(1e-3 * largest);
        }
        (false, promise)
    }

    /// Newton's method until it has converged. The information is computed for as many steps as it serves: `known` for the
    /// first, and as long as a step takes away most of what the one before it promised.
    pub(crate) fn climb(&mut self, stop: Stop, known: Option<Information>) -> Climb {
        /// Share of the promise that may be left for the same information to serve again.
        const LEFT: f64 = 0.1;
        /// Steps in a row that hardly change the likelihood after which nothing more is expected: it is flat in some
        /// direction.
        const IDLE: u32 = 8;
        let mut known = known;
        let mut damping = 0.0;
        let mut climb = Climb {
            newton_steps: 0,
            em_steps: 0,
            converged: false,
            information: None,
        };
        let mut idle = 0;
        while climb.newton_steps < stop.newton_steps {
            self.go_to_ends();
            let free = self.free();
            if free.is_empty() {
                climb.converged = true;
                break;
            }
            let before = self.now.ln_likelihood;
            climb.newton_steps += 1;
            let information = match known.take().or_else(|| climb.information.take()) {
                Some((of, information)) if of == free => information,
                _ => self.information(&free),
            };
            let (taken, promise) = self.newton(&free, &information, &mut damping);
            let change = self.now.ln_likelihood - before;
            let is_flat = change <= stop.relative_change * self.now.ln_likelihood.abs();
            // The Hessian of the place before tells well enough what is left.
            let left = self.promise(&free, &information);
            let serves_again = taken && left < LEFT * promise;
            let is_there = promise.min(left) < DECREMENT;
            if serves_again || is_there {
                climb.information = Some((free, information));
            }
            idle = if is_flat { idle + 1 } else { 0 };
            if is_flat && (is_there || !taken || idle == IDLE) {
                if self.leave_ends() {
                    (damping, idle) = (0.0, 0);
                    continue;
                }
                climb.converged = is_there;
                if is_there || idle >= IDLE {
                    break;
                }
                let steps = em(self, stop, 5);
                climb.em_steps += steps;
                if steps == 0 {
                    break;
                }
            }
        }
        climb
    }
}

/// Runs of the pilot search.
const PILOT: usize = 200_000;

/// The most likely parameters found from the most promising of `starts`, which must not be empty. A long sequence is searched
/// from the result for its start.
pub(crate) fn search<const N: usize>(
    chain: &Chain<N>,
    coded: &Coded,
    starts: &[Vec<f64>],
    stop: Stop,
) -> Found {
    if coded.runs() <= 2 * PILOT {
        let (mut place, em_steps) = promising(chain, coded, starts, stop);
        let climb = place.climb(stop, None);
        return finish(place, &climb, em_steps);
    }
    let begin = coded.begin(PILOT);
    let (mut pilot, em_steps) = promising(chain, &begin, starts, stop);
    let first = pilot.climb(stop, None);
    // A choice that the start has at an end of its range may be rare only.
    let inside = |p: &f64| p.clamp(1e-7, 1.0 - 1e-7);
    let mut place = Place::new(chain, coded, pilot.theta.iter().map(inside).collect());
    let steps = em(&mut place, stop, 1);
    // Of independent slots, more have more information, in proportion.
    let more = coded.slots / begin.slots;
    let known = first.information.map(|(of, cells)| {
        let times = |row: Vec<f64>| row.into_iter().map(|cell| more * cell).collect();
        (of, cells.into_iter().map(times).collect())
    });
    let mut climb = place.climb(stop, known);
    climb.newton_steps += first.newton_steps;
    finish(place, &climb, em_steps + first.em_steps + steps)
}

/// Where Newton's method leads from `theta`, without EM or a pilot: never below it.
pub(crate) fn climb_from<const N: usize>(
    chain: &Chain<N>,
    coded: &Coded,
    theta: Vec<f64>,
    stop: Stop,
) -> Found {
    let mut place = Place::new(chain, coded, theta);
    let climb = place.climb(stop, None);
    finish(place, &climb, 0)
}

/// Result of a search, with the information there.
fn finish<const N: usize>(place: Place<'_, N>, climb: &Climb, em_steps: u32) -> Found {
    let (free, information) = place.information_with_ends();
    Found {
        free,
        information,
        theta: place.theta,
        ln_likelihood: place.now.ln_likelihood,
        converged: climb.converged,
        em_steps: em_steps + climb.em_steps,
        newton_steps: climb.newton_steps,
    }
}

/// Where EM leads from the most promising of `starts`, and the number of its steps.
fn promising<'a, const N: usize>(
    chain: &'a Chain<N>,
    coded: &'a Coded,
    starts: &[Vec<f64>],
    stop: Stop,
) -> (Place<'a, N>, u32) {
    /// Starts from which EM is run.
    const TRIED: usize = 3;
    /// Steps of EM by which they are compared.
    const TRIAL: u32 = 10;
    let likelihoods = starts.par_iter();
    let likelihoods = likelihoods.map(|theta| (chain.ln_likelihood(coded, theta), theta));
    let mut ranked: Vec<(f64, &Vec<f64>)> = likelihoods.collect();
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
    ranked.dedup_by(|one, other| (one.0 - other.0).abs() < 1e-6);
    ranked.truncate(TRIED);
    let trial = if ranked.len() > 1 { TRIAL } else { 0 };
    let places = ranked.par_iter().map(|(_, start)| {
        let mut place = Place::new(chain, coded, (*start).clone());
        let steps = em(&mut place, stop, trial);
        (place, steps)
    });
    let places: Vec<(Place<'_, N>, u32)> = places.collect();
    let mut em_steps = places.iter().map(|(_, steps)| steps).sum();
    // The first of equal ones.
    let best = places
        .into_iter()
        .rev()
        .max_by(|(one, _), (other, _)| one.now.ln_likelihood.total_cmp(&other.now.ln_likelihood));
    let Some((mut place, _)) = best else {
        unreachable!("a search has a start");
    };
    em_steps += em(&mut place, stop, stop.em_steps);
    (place, em_steps)
}

/// Up to `most` steps of EM; how many were taken.
fn em<const N: usize>(place: &mut Place<'_, N>, stop: Stop, most: u32) -> u32 {
    for step in 0..most {
        let before = place.now.ln_likelihood;
        let mut next = em_step(&place.theta, &place.now);
        if let Some(k) = place.held {
            next[k] = place.theta[k];
        }
        if !place.go(next) {
            return step;
        }
        let change = place.now.ln_likelihood - before;
        if change <= stop.relative_change * before.abs() {
            return step + 1;
        }
    }
    most
}
