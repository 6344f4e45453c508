//! A test of TGEP: cycles with their draws, and the losses that end them (docs/models.md, Sec. 6.3).

use tmt_core::math::rng::{Stream, Uniform};

use super::law::{Cycle, Law};
use super::windows::Windows;

/// Number of draws of a stream that are reserved for one test.
const SHARE: u64 = 1 << 40;

/// Sequence of random numbers of a stream.
#[derive(Debug, Clone)]
struct Draws {
    numbers: Uniform,
    next: u64,
}

impl Draws {
    /// The part of a stream that is reserved for a test.
    fn of_test(seed: u64, stream: Stream, index: u64) -> Self {
        Self {
            numbers: Uniform::new(seed, stream),
            next: index * SHARE,
        }
    }

    fn next(&mut self) -> f64 {
        self.next += 1;
        self.numbers.at(self.next - 1)
    }
}

/// A running test.
#[derive(Debug, Clone)]
pub(super) struct Course {
    law: Law,
    windows: Windows,
    losses: Draws,
    victims: Draws,
}

impl Course {
    /// Test number `index`, from 0, of those with this seed.
    pub(super) fn new(law: Law, seed: u64, index: u64) -> Self {
        Self {
            law,
            windows: Windows::new(law.count(), law.most / 2.0),
            losses: Draws::of_test(seed, Stream::FluidLoss, index),
            victims: Draws::of_test(seed, Stream::FluidVictim, index),
        }
    }

    /// Runs the next cycle.
    pub(super) fn next(&mut self) -> Cycle {
        let free = self.law.free(self.losses.next());
        let mut cycle = self.law.run(&mut self.windows, free);
        if cycle.congested {
            self.windows.cut_all(0.5);
            cycle.time += self.law.connections;
        } else {
            let many = self.law.connections > 1.0;
            let victim = many.then(|| self.windows.choose(self.victims.next()));
            self.windows.cut(victim.unwrap_or(0), 0.5);
            cycle.time += self.law.resend;
        }
        cycle
    }

    /// Ends the warm-up: segments sent until now do not count.
    pub(super) fn begin(&mut self) {
        self.windows.forget();
    }

    /// Segments that each connection has sent since the warm-up.
    pub(super) fn sent(&mut self) -> &[f64] {
        self.windows.sent()
    }
}
