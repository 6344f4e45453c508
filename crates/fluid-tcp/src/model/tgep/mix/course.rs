//! Tests of the extended fluid: bursts of losses, other cuts, short flows.

use tmt_core::math::num::log1p;
use tmt_core::math::rng::Stream;

use super::super::Draws;
use super::super::interval::Course;
use super::super::law::{Cycle, Law};
use super::super::windows::Windows;
use super::cubic::{Cubic, Link};
use super::shorts::Population;
use super::{Control, Mix};

/// Lengths of bursts.
#[derive(Debug, Clone)]
struct Bursts {
    mean: f64,
    draws: Draws,
}

impl Bursts {
    fn new(mix: &Mix, index: u64) -> Self {
        Self {
            mean: mix.burst,
            draws: Draws::of_test(mix.base.seed, Stream::FluidBurst, index),
        }
    }

    /// Length of a burst: geometric from 1, without a draw if all bursts are single losses.
    fn length(&mut self) -> f64 {
        if self.mean <= 1.0 {
            return 1.0;
        }
        let u = self.draws.next();
        1.0 + (log1p(-u) / log1p(-1.0 / self.mean)).floor()
    }
}

/// A test whose windows grow like those of Reno.
#[derive(Debug, Clone)]
pub(super) struct Fluid {
    law: Law,
    control: Control,
    windows: Windows,
    losses: Draws,
    victims: Draws,
    bursts: Bursts,
    shorts: Population,
    /// Connections that a burst has hit.
    hit: Vec<usize>,
    /// Segments lost at random since the start.
    #[cfg(test)]
    pub(super) lost: f64,
}

/// Work that stands for a cycle which is too costly to draw.
const ENDLESS: f64 = 1e7;

/// Number of round trips of a burst that are simulated individually.
const ROUNDS: f64 = 64.0;

/// Round trips of a burst of `length` losses. `cut` cuts the windows that are hit in a round trip and returns the number
/// of losses in it, given the number that remain.
fn rounds(length: f64, mut cut: impl FnMut(f64) -> f64) -> f64 {
    let (mut rest, mut rounds) = (length, 0.0);
    while rest > 0.0 {
        if rounds >= ROUNDS {
            // The windows are minimal: from here, one segment is lost per round trip.
            return rounds + rest;
        }
        rest -= cut(rest);
        rounds += 1.0;
    }
    rounds
}

impl Fluid {
    pub(super) fn new(mix: &Mix, law: Law, index: u64) -> Self {
        let seed = mix.base.seed;
        Self {
            law,
            control: mix.control,
            windows: Windows::new(law.count(), law.most / 2.0),
            losses: Draws::of_test(seed, Stream::FluidLoss, index),
            victims: Draws::of_test(seed, Stream::FluidVictim, index),
            bursts: Bursts::new(mix, index),
            shorts: Population::new(&mix.shorts, law.bdp, law.per_ack, seed, index),
            hit: Vec::new(),
            #[cfg(test)]
            lost: 0.0,
        }
    }

    /// The link without the share of the short flows, and that remaining share.
    fn view(&self) -> (Law, f64) {
        let left = 1.0 - self.shorts.share();
        let law = Law {
            bdp: self.law.bdp * left,
            most: self.law.most * left,
            ..self.law
        };
        (law, left)
    }

    /// Factor of a window at a loss: one half, or with Westwood the one that keeps the link full without a queue.
    fn left(&self, bdp: f64) -> f64 {
        match self.control {
            Control::Westwood => (bdp / self.windows.total()).min(1.0),
            _ => 0.5,
        }
    }

    /// Cuts every connection that a burst hits, once per round trip, and returns the time that it costs.
    fn burst(&mut self, bdp: f64, work: &mut f64) -> f64 {
        let length = self.bursts.length();
        #[cfg(test)]
        {
            self.lost += length;
        }
        let (many, single) = (self.law.connections > 1.0, self.bursts.mean <= 1.0);
        let rounds = rounds(length, |rest| {
            let now = rest.min(self.windows.total().max(1.0)).ceil().min(rest);
            let left = self.left(bdp);
            if many {
                self.choose(now);
                for place in 0..self.hit.len() {
                    self.windows.cut(self.hit[place], left);
                }
            } else {
                self.windows.cut(0, left);
            }
            // A single loss is part of its cycle.
            *work += match many {
                _ if single => 0.0,
                true => now.min(64.0 * self.law.connections),
                false => 0.1,
            };
            now
        });
        self.law.burst(length, rounds)
    }

    /// The connections to which this many lost segments belong, each once.
    fn choose(&mut self, segments: f64) {
        self.hit.clear();
        if segments > 64.0 * self.law.connections {
            self.hit.extend(0..self.law.count());
            return;
        }
        for _ in 0..tmt_core::math::num::floor_u64(segments) {
            let u = self.victims.next();
            self.hit.push(self.windows.choose(u));
        }
        self.hit.sort_unstable();
        self.hit.dedup();
    }

    /// Mean share of the short flows since the last call.
    pub(super) fn short_share(&mut self) -> f64 {
        self.shorts.take_mean()
    }
}

impl Course for Fluid {
    fn next(&mut self) -> Cycle {
        let u = self.losses.next();
        let mut free = self.law.free(u);
        let mut whole = Cycle {
            segments: 0.0,
            time: 0.0,
            congested: false,
            work: 0.0,
        };
        loop {
            if whole.work > ENDLESS {
                // Too many lives of short flows in a cycle: reported as work.
                return whole;
            }
            let (law, left) = self.view();
            let rest = self.shorts.rest();
            // Until the end of the epoch of the short flows.
            let here = law.within(self.windows.total(), rest * left);
            let ended = free <= here;
            let piece = law.run(&mut self.windows, free.min(here));
            whole.segments += piece.segments;
            whole.work += 1.0;
            let time = piece.time / left;
            if piece.congested {
                let left = self.left(law.bdp);
                self.windows.cut_all(left);
                let cost = law.connections;
                self.shorts.pass(time + cost);
                whole.time += time + cost;
                whole.congested = true;
                return whole;
            }
            free -= piece.segments;
            if ended {
                let cost = self.burst(law.bdp, &mut whole.work);
                self.shorts.pass(time + cost);
                whole.time += time + cost;
                return whole;
            }
            // The epoch is over, regardless of rounding.
            self.shorts.pass(rest);
            whole.time += rest;
        }
    }

    fn begin(&mut self) {
        self.windows.forget();
        self.shorts.take_mean();
    }

    fn sent(&mut self) -> &[f64] {
        self.windows.sent()
    }
}

/// A test with one CUBIC connection.
#[derive(Debug, Clone)]
pub(super) struct Single {
    law: Law,
    link: Link,
    cubic: Cubic,
    losses: Draws,
    bursts: Bursts,
    sent: [f64; 1],
}

impl Single {
    pub(super) fn new(mix: &Mix, law: Law, index: u64) -> Self {
        let link = Link {
            mu: mix.base.link.mu,
            bdp: law.bdp,
            most: law.most,
        };
        Self {
            law,
            link,
            cubic: Cubic::new(&link),
            losses: Draws::of_test(mix.base.seed, Stream::FluidLoss, index),
            bursts: Bursts::new(mix, index),
            sent: [0.0],
        }
    }
}

impl Course for Single {
    fn next(&mut self) -> Cycle {
        let free = if self.law.loss > 0.0 {
            self.law.free(self.losses.next())
        } else {
            f64::INFINITY
        };
        let mut cycle = self.cubic.run(&self.link, free);
        self.sent[0] += cycle.segments;
        if cycle.congested {
            self.cubic.cut();
            cycle.time += 1.0;
            return cycle;
        }
        let length = self.bursts.length();
        let rounds = rounds(length, |_| {
            let hit = self.cubic.window().max(1.0).ceil();
            self.cubic.cut();
            hit
        });
        cycle.work += 0.3 * rounds.min(ROUNDS);
        cycle.time += self.law.burst(length, rounds);
        cycle
    }

    fn begin(&mut self) {
        self.sent = [0.0];
    }

    fn sent(&mut self) -> &[f64] {
        &self.sent
    }
}
