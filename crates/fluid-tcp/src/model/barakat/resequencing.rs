//! What packets wait for those in front of them, where order is kept (§4.4.4).

use tmt_core::num::{exp, ln};

/// Euler's constant.
const GAMMA: f64 = 0.577_215_664_901_532_9;

/// What waiting for order adds to the round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resequencing {
    /// Nothing: packets are handed on as they come.
    Off,
    /// Proposition 1, first order in the load.
    FirstOrder,
    /// The mean of M/M/∞ at any load (erratum B6).
    Exact,
}

impl Resequencing {
    /// Mean wait at `load` = λ/μ, in units of 1/μ.
    #[must_use]
    pub fn delay(self, load: f64) -> f64 {
        match self {
            Self::Off => 0.0,
            Self::FirstOrder => first_order(load),
            Self::Exact => exact(load),
        }
    }
}

/// Proposition 1: ½ ρ/(1 + ρ), in units of 1/μ; `load` is ρ, 0 to infinity.
#[must_use]
pub fn first_order(load: f64) -> f64 {
    0.5 / (1.0 + 1.0 / load)
}

/// Mean wait for order behind M/M/∞: Ein(ρ) + (1 − e^−ρ)/ρ − 1, in units of 1/μ; `load` is ρ, 0 to infinity.
///
/// A packet finds a Poisson number n of others on the way, with mean ρ, and waits H_n − n/(n+1) on average for them.
/// Summed so, no term is negative. Past 40 less than 1 in 10^18 is missing when e^−ρ is left out.
#[must_use]
pub fn exact(load: f64) -> f64 {
    if load >= 40.0 {
        return ln(load) + GAMMA + 1.0 / load - 1.0;
    }
    poisson_mean(load, |n, harmonic| harmonic - n / (n + 1.0))
}

/// Ein(x) = ∫_0^x (1 − e^−t)/t dt = E1(x) + ln x + γ = E[H_n] over a Poisson n with mean `x`.
#[must_use]
pub fn ein(x: f64) -> f64 {
    if x >= 40.0 {
        return ln(x) + GAMMA;
    }
    poisson_mean(x, |_, harmonic| harmonic)
}

/// The mean of `f(n, H_n)` over a Poisson n with this mean, for an f that is 0 at 0 and grows like ln n.
fn poisson_mean(mean: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
    let (mut n, mut weight, mut harmonic, mut sum) = (0.0, exp(-mean), 0.0, 0.0);
    loop {
        n += 1.0;
        weight *= mean / n;
        harmonic += 1.0 / n;
        let term = weight * f(n, harmonic);
        sum += term;
        // Past twice the mean, each term is less than 0.6 of the one before it.
        if n > 2.0 * mean && term <= 1e-18 * sum {
            return sum;
        }
    }
}
