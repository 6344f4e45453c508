//! Shadowing: a normal process of unit variance whose correlation falls exponentially with distance.
//!
//! A stretch of it comes without its predecessors. Samples that are at least 37 correlation lengths apart are drawn
//! independently (their correlation of e^-37 is below the resolution of a double). The sample in the middle between two
//! known ones is normal with the mean c (a + b) and the variance s², where r = exp(−h/correlation) for half their distance h,
//! c = r/(1 + r²), s² = (1 − r²)/(1 + r²): the process is Markov, so this holds regardless of what is beyond. Halving goes on down to
//! single samples. The normal number of a sample is that at its index.

use crate::math::normal::Normal;
use crate::math::num::{exp, expm1};
use crate::math::rng::Stream;
use crate::types::to_f64;

use super::STRETCH;

/// Correlation lengths between samples that are drawn independently.
const INDEPENDENT: f64 = 37.0;

/// Weights of a sample in the middle: of the sum of its neighbours, and of its own normal number.
#[derive(Debug, Clone, Copy)]
struct Middle {
    mean: f64,
    deviation: f64,
}

/// Running shadowing under a seed.
#[derive(Debug, Clone)]
pub(super) struct Shadowing {
    normal: Normal,
    /// Binary logarithm of the distance between samples that are drawn independently.
    levels: u32,
    /// By the binary logarithm of the distance to the neighbours.
    middles: Vec<Middle>,
    numbers: Vec<f64>,
}

impl Shadowing {
    /// The process under `seed` whose samples are `step_m` apart and whose correlation falls to 1/e over `correlation_m`.
    pub(super) fn new(step_m: f64, correlation_m: f64, seed: u64, lane: u32) -> Self {
        let mut levels = STRETCH.ilog2();
        while to_f64(1 << levels) * step_m < INDEPENDENT * correlation_m && levels < 62 {
            levels += 1;
        }
        let middle = |level: u32| {
            let way = to_f64(1 << level) * step_m / correlation_m;
            let square = exp(-2.0 * way);
            Middle {
                mean: exp(-way) / (1.0 + square),
                deviation: (-expm1(-2.0 * way) / (1.0 + square)).sqrt(),
            }
        };
        Self {
            normal: Normal::new(seed, Stream::RadioShadowing, lane),
            levels,
            middles: (0..levels).map(middle).collect(),
            numbers: vec![0.0; STRETCH],
        }
    }

    /// Samples of stretch `number`.
    pub(super) fn stretch(&mut self, number: u64, samples: &mut [f64; STRETCH]) {
        let from = number * STRETCH as u64;
        let (first, last) = self.ends(from);
        self.normal.fill(from, &mut self.numbers);
        samples[0] = first;
        for level in (0..STRETCH.ilog2()).rev() {
            let Middle { mean, deviation } = self.middles[level as usize];
            let half = 1 << level;
            let mut left = samples[0];
            for at in (half..STRETCH).step_by(2 * half) {
                let right = samples.get(at + half).copied().unwrap_or(last);
                samples[at] = mean * (left + right) + deviation * self.numbers[at];
                left = right;
            }
        }
    }

    /// The samples at `from`, the start of a stretch, and at the start of the next one.
    fn ends(&mut self, from: u64) -> (f64, f64) {
        let span = 1 << self.levels;
        let mut at = from / span * span;
        let (mut left, mut right) = (self.normal.at(at), self.normal.at(at + span));
        for level in (STRETCH.ilog2()..self.levels).rev() {
            let Middle { mean, deviation } = self.middles[level as usize];
            let half = 1 << level;
            let middle = mean * (left + right) + deviation * self.normal.at(at + half);
            if from >= at + half {
                at += half;
                left = middle;
            } else {
                right = middle;
            }
        }
        (left, right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of `count` stretches.
    fn samples(shadowing: &mut Shadowing, count: u64) -> Vec<f64> {
        let mut stretch = [0.0; STRETCH];
        (0..count)
            .flat_map(|number| {
                shadowing.stretch(number, &mut stretch);
                stretch
            })
            .collect()
    }

    #[test]
    fn variance_is_one_and_correlation_falls_exponentially() {
        // 8.5 mm between samples, as at 16 in a wavelength of 2.2 GHz.
        let (step_m, correlation_m) = (0.0085, 1.7);
        let samples = samples(&mut Shadowing::new(step_m, correlation_m, 1, 0), 1000);
        let correlation = |lag: usize| {
            let pairs = samples.iter().zip(&samples[lag..]);
            pairs.map(|(one, other)| one * other).sum::<f64>()
                / to_f64((samples.len() - lag) as u64)
        };
        // 8700 m are 2600 independent values (the correlation squared integrates to half a length each side): 0.028.
        for lag in [0, 1, 7, 64, 200, 400, 1024, 3000] {
            let expected = exp(-to_f64(lag as u64) * step_m / correlation_m);
            let found = correlation(lag);
            assert!((found - expected).abs() < 0.1, "{lag} {found} {expected}");
        }
        // Neighbours differ by little, so that their correlation is known much better.
        let squares = samples
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0]));
        let expected = -2.0 * expm1(-step_m / correlation_m);
        let found = squares.sum::<f64>() / 1_024_000.0;
        assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    }

    #[test]
    fn the_borders_of_stretches_do_not_show() {
        let (step_m, correlation_m) = (0.0085, 1.7);
        let samples = samples(&mut Shadowing::new(step_m, correlation_m, 2, 0), 2000);
        let borders = (1..2000).map(|number| number * STRETCH);
        let squares =
            borders.map(|at| (samples[at] - samples[at - 1]) * (samples[at] - samples[at - 1]));
        let found = squares.sum::<f64>() / 1999.0;
        let expected = -2.0 * expm1(-step_m / correlation_m);
        // Standard error 3 %.
        assert!((found / expected - 1.0).abs() < 0.16, "{found} {expected}");
    }

    #[test]
    fn stretches_come_in_any_order() {
        for correlation_m in [0.001, 1.7, 1e4] {
            let all = samples(&mut Shadowing::new(0.0085, correlation_m, 3, 1), 40);
            let mut shadowing = Shadowing::new(0.0085, correlation_m, 3, 1);
            let mut stretch = [0.0; STRETCH];
            for number in [39, 0, 7, 8, 31, 32] {
                shadowing.stretch(number as u64, &mut stretch);
                assert_eq!(stretch[..], all[number * STRETCH..(number + 1) * STRETCH]);
            }
        }
    }
}
