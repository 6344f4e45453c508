//! Short flows next to the long ones: their number, and their share of the link.

use tmt_core::math::num::{exp, ln, ln_gamma, log1p};
use tmt_core::math::rng::Stream;
use tmt_core::types::to_f64;

use super::super::Draws;

/// With this mean number of flows or more, their share is constant to 1e-4.
const STEADY: f64 = 1e8;

/// Flows of equal size that arrive as a Poisson process and stay in slow start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shorts {
    /// Mean share of the link that they need, in \[0, 0.9\].
    pub load: f64,
    /// Number of segments of a flow, S, 1 or more.
    pub size: f64,
    /// Initial window, W1, in segments, 1 or more.
    pub first: f64,
}

/// Largest share of the link for short flows, whatever their number.
const MOST: f64 = 0.95;

impl Shorts {
    /// Whether there are no short flows.
    pub const NONE: Self = Self {
        load: 0.0,
        size: 30.0,
        first: 10.0,
    };

    /// Round trips of a flow, whose window grows by 1 + 1/b in each: r = ln(1 + S/(b W1)) / ln(1 + 1/b); 1 if it fits
    /// into the initial window.
    #[must_use]
    pub fn rounds(&self, per_ack: f64) -> f64 {
        let growth = 1.0 / per_ack;
        (log1p(self.size * growth / self.first) / log1p(growth)).max(1.0)
    }

    /// Mean number of flows by Little's law: load · μ/S arrive per second and stay for r T.
    #[must_use]
    pub fn active(&self, bdp: f64, per_ack: f64) -> f64 {
        if self.load > 0.0 {
            self.load * bdp * self.rounds(per_ack) / self.size
        } else {
            0.0
        }
    }
}

/// The number of short flows and their share of the link, which change from epoch to epoch.
#[derive(Debug, Clone)]
pub(super) struct Population {
    draws: Draws,
    /// Smallest number of flows in the table.
    fewest: f64,
    /// Probability of at most that many flows, from `fewest`.
    probabilities: Vec<f64>,
    /// Share of the link per flow.
    each: f64,
    /// Length of an epoch, a flow's life, in 1/μ.
    life: f64,
    load: f64,
    share: f64,
    rest: f64,
    /// Sum of share times time.
    held: f64,
    time: f64,
}

impl Population {
    pub(super) fn new(shorts: &Shorts, bdp: f64, per_ack: f64, seed: u64, index: u64) -> Self {
        let mean = shorts.active(bdp, per_ack);
        let (fewest, probabilities) = poisson(mean);
        let mut population = Self {
            draws: Draws::of_test(seed, Stream::FluidShort, index),
            fewest,
            probabilities,
            // A flow has S/r segments in flight on average.
            each: shorts.size / shorts.rounds(per_ack) / bdp,
            life: shorts.rounds(per_ack) * bdp,
            load: shorts.load,
            share: 0.0,
            rest: f64::INFINITY,
            held: 0.0,
            time: 0.0,
        };
        if shorts.load > 0.0 {
            population.redraw();
        }
        population
    }

    /// Current share of the link of short flows.
    pub(super) fn share(&self) -> f64 {
        self.share
    }

    /// Remaining time of the epoch, in 1/μ.
    pub(super) fn rest(&self) -> f64 {
        self.rest
    }

    /// Advances the time, in 1/μ, and begins new epochs.
    pub(super) fn pass(&mut self, mut time: f64) {
        self.time += time;
        if time > 1000.0 * self.life + self.rest {
            // Over such a long time the share is its mean.
            self.held += self.load * time;
            time = 0.0;
            self.redraw();
        }
        while time >= self.rest {
            self.held += self.share * self.rest;
            time -= self.rest;
            self.redraw();
        }
        self.held += self.share * time;
        self.rest -= time;
    }

    /// Mean share since the last call.
    pub(super) fn take_mean(&mut self) -> f64 {
        let mean = if self.time > 0.0 {
            self.held / self.time
        } else {
            0.0
        };
        (self.held, self.time) = (0.0, 0.0);
        mean
    }

    fn redraw(&mut self) {
        let u = self.draws.next();
        let more = self.probabilities.partition_point(|chance| *chance <= u);
        let flows = self.fewest + to_f64(more.min(self.probabilities.len() - 1) as u64);
        self.share = (flows * self.each).min(MOST);
        self.rest = self.life;
    }
}

/// Cumulative Poisson probabilities, with the first number; those left out are below 1e-14.
fn poisson(mean: f64) -> (f64, Vec<f64>) {
    if mean > STEADY {
        return (mean, vec![1.0]);
    }
    let width = 8.0 * mean.sqrt() + 20.0;
    let fewest = (mean - width).max(0.0).floor();
    let most = (mean + width).ceil();
    let mut sum = 0.0;
    let mut probabilities = Vec::new();
    let mut flows = fewest;
    while flows <= most {
        sum += if mean > 0.0 {
            exp(flows * ln(mean) - mean - ln_gamma(flows + 1.0))
        } else {
            f64::from(u8::from(flows < 0.5))
        };
        probabilities.push(sum);
        flows += 1.0;
    }
    (fewest, probabilities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_poissons_law() {
        for mean in [0.3, 7.0, 150.0, 40_000.0] {
            let (fewest, probabilities) = poisson(mean);
            assert!((probabilities.last().unwrap() - 1.0).abs() < 1e-9, "{mean}");
            // Mean and variance are equal.
            let (mut first, mut second, mut last) = (0.0, 0.0, 0.0);
            for (more, sum) in probabilities.iter().enumerate() {
                let gap = fewest + to_f64(more as u64) - mean;
                first += gap * (sum - last);
                second += gap * gap * (sum - last);
                last = *sum;
            }
            assert!(
                first.abs() < 1e-6 * mean && (second / mean - 1.0).abs() < 1e-6,
                "{mean}"
            );
        }
    }

    #[test]
    fn a_flow_takes_the_round_trips_of_its_slow_start() {
        let shorts = |size, first| Shorts {
            load: 0.1,
            size,
            first,
        };
        // Windows of 10, 20 and 40 carry 70 segments; 10 fit into one; 4 · (1.5 + 1) + … with an ACK for two.
        assert!((shorts(70.0, 10.0).rounds(1.0) - 3.0).abs() < 1e-12);
        assert!((shorts(10.0, 10.0).rounds(1.0) - 1.0).abs() < 1e-12);
        assert!((shorts(3.0, 10.0).rounds(2.0) - 1.0).abs() < 1e-12);
        assert!((shorts(4.0 + 6.0 + 9.0, 4.0).rounds(2.0) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn their_mean_share_is_their_load() {
        let shorts = Shorts {
            load: 0.2,
            size: 15.0,
            first: 3.0,
        };
        let mut population = Population::new(&shorts, 200.0, 2.0, 1, 0);
        for _ in 0..20_000 {
            population.pass(777.0);
        }
        let mean = population.take_mean();
        assert!((mean - 0.2).abs() < 2e-3, "{mean}");
    }
}
