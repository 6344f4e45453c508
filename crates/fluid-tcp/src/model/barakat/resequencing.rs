//! Wait of packets for earlier ones with in-order delivery (Barakat 2004, Sec. 4.4.4).

use tmt_core::math::num::{exp, ln};

/// Euler's constant.
const GAMMA: f64 = 0.577_215_664_901_532_9;

/// Model of the wait for order that is added to the round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resequencing {
    /// No wait: packets are delivered as they arrive.
    Off,
    /// Proposition 1, first order in the load.
    FirstOrder,
    /// The mean of M/M/∞ at any load (B6).
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

/// Mean wait for order after M/M/∞: Ein(ρ) + (1 − e^−ρ)/ρ − 1, in units of 1/μ; `load` is ρ, 0 to infinity.
///
/// When a packet is sent, a Poisson number n of others with mean ρ is on the link. It waits H_n − n/(n+1) for them on
/// average. Summed over n, no term is negative. Above ρ = 40, e^−ρ is left out: less than 1 in 10^18 of the result.
#[must_use]
pub fn exact(load: f64) -> f64 {
    if load >= 40.0 {
        return ln(load) + GAMMA + 1.0 / load - 1.0;
    }
    poisson_mean(load, |n, harmonic| harmonic - n / (n + 1.0))
}

/// Ein(x) = ∫_0^x (1 − e^−t)/t dt = E1(x) + ln x + γ = E(H_n) over a Poisson n with mean `x`.
#[must_use]
pub fn ein(x: f64) -> f64 {
    if x >= 40.0 {
        return ln(x) + GAMMA;
    }
    poisson_mean(x, |_, harmonic| harmonic)
}

/// Mean of `f(n, H_n)` over a Poisson number n, for an f that is 0 at 0 and grows like ln n.
fn poisson_mean(mean: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
    let (mut n, mut weight, mut harmonic, mut sum) = (0.0, exp(-mean), 0.0, 0.0);
    loop {
        n += 1.0;
        weight *= mean / n;
        harmonic += 1.0 / n;
        let term = weight * f(n, harmonic);
        sum += term;
        // Beyond twice the mean, each term is less than 0.6 of the previous one.
        if n > 2.0 * mean && term <= 1e-18 * sum {
            return sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Numbers;
    use super::*;
    use crate::model::tests::{agree, prints};

    #[test]
    fn wait_for_order_after_a_queue_with_infinitely_many_servers() {
        // B6: M/M/∞ .0492 .4287 3.10 where proposition 1 has .0455 .25 .485.
        for (load, mminf, prop1, decimals) in [
            (0.1, 0.0492, 0.0455, 4),
            (1.0, 0.4287, 0.25, 4),
            (33.0, 3.10, 0.485, 2),
        ] {
            prints(exact(load), mminf, decimals);
            prints(
                first_order(load),
                prop1,
                if load > 2.0 { 3 } else { decimals },
            );
            let mut numbers = Numbers::new(3);
            let (mut now, mut latest, mut waited) = (0.0, 0.0f64, 0.0);
            let packets = 200_000;
            for _ in 0..packets {
                now += numbers.exponential(1.0 / load);
                let arrives = now + numbers.exponential(1.0);
                latest = latest.max(arrives);
                waited += latest - arrives;
            }
            agree(waited / f64::from(packets), exact(load), 0.02);
        }
    }

    #[test]
    fn the_entire_exponential_integral_is_its_integral() {
        // Simpson's rule on (1 − e^−t)/t.
        for x in [1e-9, 1e-3, 0.1, 1.0, 3.0, 10.0, 38.0, 39.999, 40.0, 55.0] {
            let steps = 20_000;
            let width = x / f64::from(steps);
            let f = |i: i32| {
                let t = f64::from(i) * width;
                if i == 0 {
                    1.0
                } else {
                    -tmt_core::math::num::expm1(-t) / t
                }
            };
            let sum: f64 = (1..steps)
                .map(|i| f(i) * if i % 2 == 1 { 4.0 } else { 2.0 })
                .sum();
            let integral = (f(0) + sum + f(steps)) * width / 3.0;
            agree(ein(x), integral, 1e-11);
            // The wait is that of B6.
            if x > 0.01 {
                let wait = integral - tmt_core::math::num::expm1(-x) / x - 1.0;
                agree(exact(x), wait, 1e-9);
            }
        }
        agree(exact(1e-12), 5e-13, 1e-11);
        assert!(exact(0.0).abs() < f64::MIN_POSITIVE);
        assert!(exact(f64::INFINITY).is_infinite());
        agree(first_order(f64::INFINITY), 0.5, 1e-15);
        assert!(first_order(0.0).abs() < f64::MIN_POSITIVE);
    }
}
