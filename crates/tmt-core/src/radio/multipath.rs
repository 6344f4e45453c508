//! Multipath: a complex process of unit power with the spectrum of Clarke and Jakes, 1/sqrt(1 − (f/f_d)²).
//!
//! A segment is a sum of 32 sinusoids of equal power. Their angles of arrival divide the circle into equal sectors, one
//! random angle in each, so that the autocorrelation over all draws is exactly J0(2 pi f_d t); their phases are uniform. A
//! segment covers two stretches. In each stretch one segment fades out with the cosine and the next fades in with the sine of
//! the same angle, so that the mean power is 1 throughout. A stretch needs its two segments and nothing else.

use crate::math::num::{cos, sin, sincos};
use crate::math::rng::{Stream, Uniform};
use crate::types::to_f64;

use super::STRETCH;

/// Sinusoids of a segment.
const SINUSOIDS: u64 = 32;

/// Samples that are computed together; each sinusoid turns by as many steps at once.
const LANES: usize = 8;

/// The real and imaginary parts of a stretch.
#[derive(Debug, Clone)]
pub(super) struct Wave {
    pub(super) re: Box<[f64; STRETCH]>,
    pub(super) im: Box<[f64; STRETCH]>,
}

impl Wave {
    pub(super) fn new() -> Self {
        Self {
            re: Box::new([0.0; STRETCH]),
            im: Box::new([0.0; STRETCH]),
        }
    }

    fn clear(&mut self) {
        self.re.fill(0.0);
        self.im.fill(0.0);
    }

    /// Adds a sinusoid with phase `phase` at the first sample, that turns by `turn` per sample, both in radians.
    fn add(&mut self, phase: f64, turn: f64) {
        let (mut re, mut im) = ([0.0; LANES], [0.0; LANES]);
        let (mut at, step) = (unit(phase), unit(turn));
        for lane in 0..LANES {
            (re[lane], im[lane]) = at;
            at = rotated(at, step);
        }
        let step = unit(turn * to_f64(LANES as u64));
        let (res, _) = self.re.as_chunks_mut::<LANES>();
        let (ims, _) = self.im.as_chunks_mut::<LANES>();
        for (out_re, out_im) in res.iter_mut().zip(ims) {
            for lane in 0..LANES {
                out_re[lane] += re[lane];
                out_im[lane] += im[lane];
                (re[lane], im[lane]) = rotated((re[lane], im[lane]), step);
            }
        }
    }
}

/// cos and sin of an angle, rad.
fn unit(angle: f64) -> (f64, f64) {
    let (sin, cos) = sincos(angle);
    (cos, sin)
}

#[inline]
fn rotated((re, im): (f64, f64), (cos, sin): (f64, f64)) -> (f64, f64) {
    (re * cos - im * sin, re * sin + im * cos)
}

/// Running multipath under a seed.
#[derive(Debug, Clone)]
pub(super) struct Multipath {
    draws: Uniform,
    /// Largest turn of a sinusoid per sample, rad: 2 pi f_d times the step.
    turn: f64,
    /// The sine from 0 to a right angle, and at its end.
    fade: Vec<f64>,
    /// The segment that fades in.
    next: Wave,
}

impl Multipath {
    /// The process under `seed` with `samples_per_doppler` samples in a period of the largest Doppler frequency.
    pub(super) fn new(samples_per_doppler: f64, seed: u64, lane: u32) -> Self {
        let right_angle = std::f64::consts::FRAC_PI_2 / to_f64(STRETCH as u64);
        Self {
            draws: Uniform::on_lane(seed, Stream::RadioMultipath, lane),
            turn: std::f64::consts::TAU / samples_per_doppler,
            fade: (0..=STRETCH as u64)
                .map(|at| sin(to_f64(at) * right_angle))
                .collect(),
            next: Wave::new(),
        }
    }

    /// Samples of stretch `number`.
    pub(super) fn stretch(&mut self, number: u64, wave: &mut Wave) {
        let Self { draws, next, .. } = self;
        let mut segment = |number: u64, from: f64, wave: &mut Wave| {
            wave.clear();
            let first = 2 * SINUSOIDS * number;
            for sinusoid in 0..SINUSOIDS {
                let index = first + 2 * sinusoid;
                let sector = (to_f64(sinusoid) + draws.at(index)) / to_f64(SINUSOIDS);
                let turn = self.turn * cos(std::f64::consts::TAU * sector);
                let phase = std::f64::consts::TAU * draws.at(index + 1);
                wave.add(phase + turn * from, turn);
            }
        };
        segment(number, to_f64(STRETCH as u64), wave);
        segment(number + 1, 0.0, next);
        let amplitude = 1.0 / to_f64(SINUSOIDS).sqrt();
        for at in 0..STRETCH {
            let (old, new) = (
                amplitude * self.fade[STRETCH - at],
                amplitude * self.fade[at],
            );
            wave.re[at] = old * wave.re[at] + new * next.re[at];
            wave.im[at] = old * wave.im[at] + new * next.im[at];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::num::exp;

    /// Real and imaginary parts of `count` stretches.
    fn samples(per_doppler: f64, count: u64) -> Vec<(f64, f64)> {
        let mut multipath = Multipath::new(per_doppler, 1, 0);
        let mut wave = Wave::new();
        let mut all = Vec::new();
        for number in 0..count {
            multipath.stretch(number, &mut wave);
            all.extend(wave.re.iter().copied().zip(wave.im.iter().copied()));
        }
        all
    }

    /// Bessel function J0 as the mean of cos(x sin t) over t.
    fn j0(x: f64) -> f64 {
        let mean = (0..200).map(|at| cos(x * sin(std::f64::consts::TAU * f64::from(at) / 200.0)));
        mean.sum::<f64>() / 200.0
    }

    #[test]
    fn power_is_one_and_exponential_and_the_autocorrelation_is_j0() {
        let samples = samples(16.0, 600);
        let count = to_f64(samples.len() as u64);
        let power = |(re, im): &(f64, f64)| re * re + im * im;
        let mean = samples.iter().map(power).sum::<f64>() / count;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        for limit in [0.01, 0.1, 0.5, 1.0, 2.0, 4.0] {
            let below = samples
                .iter()
                .filter(|sample| power(sample) < limit)
                .count();
            let (found, expected) = (to_f64(below as u64) / count, 1.0 - exp(-limit));
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{limit} {found} {expected}"
            );
        }
        for lag in [1, 4, 8, 16, 40, 100, 300] {
            let pairs = samples.iter().zip(&samples[lag..]);
            let (mut re, mut im) = (0.0, 0.0);
            for ((a, b), (c, d)) in pairs {
                re += (a * c + b * d) / count;
                im += (b * c - a * d) / count;
            }
            let expected = j0(std::f64::consts::TAU * to_f64(lag as u64) / 16.0);
            assert!(
                (re - expected).abs() < 0.02 && im.abs() < 0.02,
                "{lag} {re} {im} {expected}"
            );
        }
    }

    #[test]
    fn the_borders_of_stretches_do_not_show() {
        let samples = samples(16.0, 400);
        let step = |at: usize| {
            let ((a, b), (c, d)) = (samples[at - 1], samples[at]);
            (a - c) * (a - c) + (b - d) * (b - d)
        };
        let borders = (1..400).map(|number| step(number * STRETCH)).sum::<f64>() / 399.0;
        // E|m(t + T) − m(t)|² = 2 − 2 J0(2 pi/16).
        let expected = 2.0 - 2.0 * j0(std::f64::consts::TAU / 16.0);
        assert!(
            (borders / expected - 1.0).abs() < 0.25,
            "{borders} {expected}"
        );
    }

    #[test]
    fn rotations_stay_on_the_sinusoid() {
        let mut wave = Wave::new();
        wave.add(0.3, 0.39);
        for at in [0, 7, 8, 1000, 1023] {
            let (re, im) = unit(0.3 + 0.39 * to_f64(at as u64));
            assert!((wave.re[at] - re).abs() < 1e-12 && (wave.im[at] - im).abs() < 1e-12);
        }
    }
}
