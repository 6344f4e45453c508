//! The standard normal distribution: tails, quantiles, and draws from uniform numbers.

use std::sync::LazyLock;

use super::num::{erfc, exp, ln};
use super::octave_table::OctaveTable;
use super::rng::{BATCH, Draws, Stream, Uniform};

/// Q(x), the probability of a value above `x`.
#[must_use]
pub fn upper_tail(x: f64) -> f64 {
    0.5 * erfc(x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Density at `x`.
#[must_use]
pub fn density(x: f64) -> f64 {
    const AT_ZERO: f64 = 0.398_942_280_401_432_7;
    AT_ZERO * exp(-0.5 * x * x)
}

/// The value above which lies the probability `p`, the inverse of [`upper_tail`]: −∞ for 1, ∞ for 0.
///
/// The first estimate is Abramowitz and Stegun, 26.2.23 (error below 4.5e-4); three steps of Halley's method make it
/// exact to rounding.
#[must_use]
pub fn upper_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -upper_quantile(1.0 - p);
    }
    if p <= 0.0 {
        return f64::INFINITY;
    }
    let t = (-2.0 * ln(p)).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let mut x = t - above / below;
    for _ in 0..3 {
        let step = (upper_tail(x) - p) / density(x);
        x += step / (1.0 - 0.5 * step * x);
    }
    x
}

/// Quantiles by table, within 2e-5, for draws that count in large numbers only.
static QUANTILES: LazyLock<OctaveTable> =
    LazyLock::new(|| OctaveTable::new(LOWEST_EXPONENT, OCTAVES, 6, upper_quantile));

/// Tails from 2^-54, half a step of the uniform numbers, to 1/2.
const LOWEST_EXPONENT: i32 = -54;
const OCTAVES: u32 = 53;

/// Half a step of the uniform numbers.
const HALF_STEP: f64 = 1.0 / 18_014_398_509_481_984.0;

/// Normally distributed numbers of one stream, each by inversion of the uniform number at the same index.
#[derive(Debug, Clone)]
pub struct Normal {
    uniform: Uniform,
    draws: Draws,
    quantiles: &'static OctaveTable,
}

impl Normal {
    /// The numbers of `stream` under `seed`, on a lane as in [`Uniform::on_lane`].
    #[must_use]
    pub fn new(seed: u64, stream: Stream, lane: u32) -> Self {
        Self {
            uniform: Uniform::on_lane(seed, stream, lane),
            draws: Draws::default(),
            quantiles: &QUANTILES,
        }
    }

    /// The number at `index`, independent of what was drawn before.
    pub fn at(&mut self, index: u64) -> f64 {
        of_uniform(self.quantiles, self.uniform.at(index))
    }

    /// The numbers from index `from` on, as many as `numbers` holds.
    pub fn fill(&mut self, from: u64, numbers: &mut [f64]) {
        for (batch, index) in numbers.chunks_mut(BATCH).zip((from..).step_by(BATCH)) {
            self.uniform.draw(index, &mut self.draws);
            for (number, uniform) in batch.iter_mut().zip(self.draws.numbers()) {
                *number = of_uniform(self.quantiles, uniform);
            }
        }
    }
}

/// The normal number of a uniform one, from the middle of its step so that it is finite.
fn of_uniform(quantiles: &OctaveTable, uniform: f64) -> f64 {
    // Without a jump: which half it is cannot be predicted.
    let tail = if uniform < 0.5 {
        uniform + HALF_STEP
    } else {
        1.0 - uniform - HALF_STEP
    };
    quantiles.at(tail).copysign(uniform - 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_tail_agrees_with_published_tables() {
        // Abramowitz and Stegun, table 26.1: Q(1), Q(2), and Q(10) of table 26.2.
        for (x, q) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_9),
            (2.0, 0.022_750_131_9),
            (10.0, 7.619_853e-24),
        ] {
            assert!((upper_tail(x) / q - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn quantiles_invert_tails() {
        for p in [1e-300, 1e-17, 1e-9, 0.001, 0.025, 0.3, 0.5, 0.7, 0.999] {
            let back = upper_tail(upper_quantile(p));
            assert!((back / p - 1.0).abs() < 1e-11, "{p} {back}");
        }
        assert!((upper_quantile(0.025) - 1.959_963_984_540_054).abs() < 1e-14);
        assert!(upper_quantile(0.0).is_infinite() && upper_quantile(1.0).is_infinite());
    }

    #[test]
    fn the_table_is_close_to_the_quantiles() {
        let mut uniform = Uniform::new(1, Stream::FlowStart);
        for index in 0..20_000 {
            // Uniform in the exponent, so that the far tails are tried as well.
            let u = uniform.at(2 * index) * exp(-36.0 * uniform.at(2 * index + 1));
            for u in [u, 1.0 - u].map(|u| u.min(1.0f64.next_down())) {
                let exact = if u < 0.5 {
                    -upper_quantile(u + HALF_STEP)
                } else {
                    upper_quantile(1.0 - u - HALF_STEP)
                };
                assert!((of_uniform(&QUANTILES, u) - exact).abs() < 4e-5, "{u}");
            }
        }
    }

    #[test]
    fn numbers_have_the_moments_of_the_distribution_and_do_not_depend_on_order() {
        let mut normal = Normal::new(3, Stream::FlowStart, 0);
        let mut numbers = vec![0.0; 100_000];
        normal.fill(0, &mut numbers);
        for index in [99_999, 0, 64, 70] {
            let place = usize::try_from(index).unwrap();
            assert!(normal.at(index).to_bits() == numbers[place].to_bits());
        }
        let mut later = vec![0.0; 100];
        normal.fill(77, &mut later);
        assert_eq!(later[..], numbers[77..177]);
        let moment = |power: i32| {
            let powers = numbers
                .iter()
                .map(|number| (0..power).fold(1.0, |p, _| p * number));
            powers.sum::<f64>() / 1e5
        };
        // Standard errors 0.0032, 0.0045, 0.012 and 0.031; five of them.
        for (power, expected, error) in [
            (1, 0.0, 0.016),
            (2, 1.0, 0.023),
            (3, 0.0, 0.06),
            (4, 3.0, 0.16),
        ] {
            assert!(
                (moment(power) - expected).abs() < error,
                "{power} {}",
                moment(power)
            );
        }
    }
}
