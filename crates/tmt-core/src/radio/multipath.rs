//! Multipath: a complex process of unit power with the spectrum of Clarke and Jakes, 1/sqrt(1 − (f/f_d)²).
//!
//! A segment is a sum of 32 sinusoids of equal power, whose angles of arrival and phases are independent and uniform: the
//! autocorrelation over all draws is exactly J0(2 pi f_d t), and the power varies like that of a normal process but for 1/32.
//! A segment covers two stretches. In each stretch one segment fades out with the cosine and the next fades in with the sine
//! of the same angle, so that the mean power is 1 throughout. A stretch needs its two segments and nothing else.
//!
//! Nothing is faster than f_d, so the sum is computed at a few points in a period, and the samples between them by a windowed
//! sinc. That is within 1e-4 of the amplitude of each sinusoid.

use crate::math::num::{cos, exp, sin, sincos};
use crate::math::rng::{Stream, Uniform};
use crate::types::to_f64;

use super::STRETCH;

/// Sinusoids of a segment.
const SINUSOIDS: u64 = 32;

/// Sinusoids that are added together: as many as registers hold.
const GROUP: usize = 2;

/// Points that are computed together; each sinusoid turns by as many steps at once.
const LANES: usize = 4;

/// Fewest points in a period of the largest Doppler frequency between which samples are interpolated.
const POINTS_PER_DOPPLER: f64 = 4.0;

/// Most samples per point.
const MOST_PER_POINT: usize = 16;

/// Points that a sample between them is made of, and the shape of the window over them: the least error at 4 points a period.
const TAPS: usize = 12;
const WINDOW: f64 = 9.25;

/// Points before a stretch that its samples need. They and those behind it come from the same two segments.
const BEFORE: usize = TAPS / 2 - 1;

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
}

/// A sinusoid of a segment.
#[derive(Debug, Clone, Copy)]
struct Sinusoid {
    /// Phase at the first point, rad.
    phase: f64,
    /// Turn per point, rad.
    turn: f64,
}

/// The real and imaginary parts of a segment at the points of a stretch.
#[derive(Debug, Clone)]
struct Points {
    re: Vec<f64>,
    im: Vec<f64>,
}

impl Points {
    /// Zeros: as many points as a stretch with `per_point` samples a point needs, rounded up to whole lanes.
    fn new(per_point: usize) -> Self {
        let points = (STRETCH / per_point + TAPS).next_multiple_of(LANES);
        Self {
            re: vec![0.0; points],
            im: vec![0.0; points],
        }
    }

    fn clear(&mut self) {
        self.re.fill(0.0);
        self.im.fill(0.0);
    }

    /// Adds sinusoids of amplitude 1.
    fn add(&mut self, sinusoids: [Sinusoid; GROUP]) {
        let (mut re, mut im) = ([[0.0; LANES]; GROUP], [[0.0; LANES]; GROUP]);
        let (mut cos, mut sin) = (re, im);
        for (which, Sinusoid { phase, turn }) in sinusoids.into_iter().enumerate() {
            let (mut at, one) = (unit(phase), unit(turn));
            let mut step = (1.0, 0.0);
            for lane in 0..LANES {
                (re[which][lane], im[which][lane]) = at;
                at = rotated(at, one);
                step = rotated(step, one);
            }
            (cos[which], sin[which]) = ([step.0; LANES], [step.1; LANES]);
        }
        let (res, _) = self.re.as_chunks_mut();
        let (ims, _) = self.im.as_chunks_mut();
        for (out_re, out_im) in res.iter_mut().zip(ims) {
            for which in 0..GROUP {
                let (a, b, cos, sin) = (re[which], im[which], cos[which], sin[which]);
                *out_re = plus(*out_re, a);
                *out_im = plus(*out_im, b);
                re[which] = minus(times(a, cos), times(b, sin));
                im[which] = plus(times(a, sin), times(b, cos));
            }
        }
    }

    /// Fades this segment out and `next` in.
    fn cross_fade(&mut self, next: &Self, fade: &[(f64, f64)]) {
        let mix = |old: &mut [f64], new: &[f64]| {
            for ((old, new), (falling, rising)) in old.iter_mut().zip(new).zip(fade) {
                *old = falling * *old + rising * new;
            }
        };
        mix(&mut self.re, &next.re);
        mix(&mut self.im, &next.im);
    }
}

/// cos and sin of an angle, rad.
fn unit(angle: f64) -> (f64, f64) {
    let (sin, cos) = sincos(angle);
    (cos, sin)
}

fn rotated((re, im): (f64, f64), (cos, sin): (f64, f64)) -> (f64, f64) {
    (re * cos - im * sin, re * sin + im * cos)
}

/// Values that are computed together.
type Lanes = [f64; LANES];

#[inline]
fn plus(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] + b[lane])
}

#[inline]
fn minus(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] - b[lane])
}

#[inline]
fn times(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|lane| a[lane] * b[lane])
}

/// Running multipath under a seed.
#[derive(Debug, Clone)]
pub(super) struct Multipath {
    draws: Uniform,
    /// Largest turn of a sinusoid per sample, rad: 2 pi f_d times the step.
    turn: f64,
    /// Amplitudes of the segment that fades out and of the one that fades in, by point.
    fade: Vec<(f64, f64)>,
    /// Weights of the points around a sample, by its place between points; none at a point.
    weights: Vec<[f64; TAPS]>,
    now: Points,
    next: Points,
}

impl Multipath {
    /// The process under `seed` with `samples_per_doppler` samples in a period of the largest Doppler frequency.
    pub(super) fn new(samples_per_doppler: f64, seed: u64, lane: u32) -> Self {
        let mut per_point = 1;
        while per_point < MOST_PER_POINT
            && samples_per_doppler >= to_f64(2 * per_point as u64) * POINTS_PER_DOPPLER
        {
            per_point *= 2;
        }
        let points = Points::new(per_point);
        let amplitude = 1.0 / to_f64(SINUSOIDS).sqrt();
        let fade = |point: usize| {
            let points = to_f64(point as u64) - to_f64(BEFORE as u64);
            let part = points * to_f64(per_point as u64) / to_f64(STRETCH as u64);
            let (rising, falling) = sincos(part * std::f64::consts::FRAC_PI_2);
            (amplitude * falling, amplitude * rising)
        };
        Self {
            draws: Uniform::on_lane(seed, Stream::RadioMultipath, lane),
            turn: std::f64::consts::TAU / samples_per_doppler,
            fade: (0..points.re.len()).map(fade).collect(),
            weights: (1..per_point)
                .map(|at| weights(to_f64(at as u64) / to_f64(per_point as u64)))
                .collect(),
            now: points.clone(),
            next: points,
        }
    }

    /// Samples of stretch `number`.
    pub(super) fn stretch(&mut self, number: u64, wave: &mut Wave) {
        let per_point = self.weights.len() + 1;
        let turn = self.turn * to_f64(per_point as u64);
        let points = STRETCH / per_point;
        // The segment that begins with stretch `number` is there at `from` points.
        let Self {
            draws, now, next, ..
        } = self;
        let mut segment = |number: u64, from: f64, out: &mut Points| {
            out.clear();
            let first = 2 * SINUSOIDS * number;
            for group in (0..SINUSOIDS).step_by(GROUP) {
                out.add(std::array::from_fn(|which| {
                    let index = first + 2 * (group + which as u64);
                    let turn = turn * cos(std::f64::consts::TAU * draws.at(index));
                    let phase = std::f64::consts::TAU * draws.at(index + 1);
                    Sinusoid {
                        phase: phase + turn * (from - to_f64(BEFORE as u64)),
                        turn,
                    }
                }));
            }
        };
        segment(number, to_f64(points as u64), now);
        segment(number + 1, 0.0, next);
        now.cross_fade(next, &self.fade);
        interpolate(&now.re, &self.weights, &mut wave.re);
        interpolate(&now.im, &self.weights, &mut wave.im);
    }
}

/// Weights of the points −5 … 6 for a sample at `place` between the points 0 and 1: sinc, with a window that falls as
/// exp(β (sqrt(1 − x²) − 1)) (Barnett 2019).
fn weights(place: f64) -> [f64; TAPS] {
    std::array::from_fn(|tap| {
        let distance = place + to_f64(BEFORE as u64) - to_f64(tap as u64);
        let part = distance / to_f64(TAPS as u64 / 2);
        let angle = std::f64::consts::PI * distance;
        sin(angle) / angle * exp(WINDOW * ((1.0 - part * part).sqrt() - 1.0))
    })
}

/// The samples of a stretch from its points.
fn interpolate(points: &[f64], weights: &[[f64; TAPS]], samples: &mut [f64; STRETCH]) {
    let per_point = weights.len() + 1;
    let windows = points.windows(TAPS);
    for (samples, window) in samples.chunks_exact_mut(per_point).zip(windows) {
        samples[0] = window[BEFORE];
        for (sample, weights) in samples[1..].iter_mut().zip(weights) {
            let (points, _) = window.as_chunks();
            let (weights, _) = weights.as_chunks();
            let products = points.iter().zip(weights).map(|(p, w)| times(*p, *w));
            let sums: Lanes = products.fold([0.0; LANES], plus);
            *sample = sums.iter().sum();
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
    fn power_over_a_window_varies_as_that_of_a_normal_process() {
        // 70 samples are 36 ms at 60 km/h and 2.2 GHz. The variance of the mean power of a normal process over T is
        // 2/T times the integral of (1 − t/T) J0(2 pi f_d t)², here as a sum over samples.
        const WINDOW: usize = 70;
        let samples = samples(16.0, 4000);
        let means = samples.chunks_exact(WINDOW).map(|window| {
            let power = window.iter().map(|(re, im)| re * re + im * im);
            power.sum::<f64>() / to_f64(WINDOW as u64)
        });
        let (mut squares, mut count) = (0.0, 0.0);
        for mean in means {
            squares += (mean - 1.0) * (mean - 1.0);
            count += 1.0;
        }
        let found = squares / count;
        let width = to_f64(WINDOW as u64);
        let expected = (0..WINDOW as u64).map(|lag| {
            let r = j0(std::f64::consts::TAU * to_f64(lag) / 16.0);
            let pairs = if lag == 0 { 1.0 } else { 2.0 };
            pairs * (1.0 - to_f64(lag) / width) * r * r / width
        });
        let ratio = found / expected.sum::<f64>();
        // A segment of 32 sinusoids lacks 1/32, two in equal parts 1/64. Standard error 1 %.
        assert!((ratio - 0.977).abs() < 0.04, "{ratio}");
    }

    #[test]
    fn samples_are_the_sinusoids_of_two_segments() {
        for per_doppler in [10.0, 16.0, 17.3, 100.0, 1000.0] {
            let mut multipath = Multipath::new(per_doppler, 3, 1);
            let mut wave = Wave::new();
            for number in [0, 5] {
                multipath.stretch(number, &mut wave);
                for at in [0, 1, 2, 3, 9, 510, 513, 1022, 1023] {
                    let (mut re, mut im) = (0.0, 0.0);
                    for (segment, later) in [(number, 1024.0), (number + 1, 0.0)] {
                        let angle = std::f64::consts::FRAC_PI_2 * to_f64(at as u64) / 1024.0;
                        let amplitude = if later > 0.0 { cos(angle) } else { sin(angle) };
                        for sinusoid in 0..32 {
                            let index = 64 * segment + 2 * sinusoid;
                            let mut draw = |at| std::f64::consts::TAU * multipath.draws.at(at);
                            let turn = std::f64::consts::TAU / per_doppler * cos(draw(index));
                            let phase = draw(index + 1) + turn * (later + to_f64(at as u64));
                            re += amplitude * cos(phase) / 32_f64.sqrt();
                            im += amplitude * sin(phase) / 32_f64.sqrt();
                        }
                    }
                    let (found_re, found_im) = (wave.re[at], wave.im[at]);
                    assert!(
                        (found_re - re).abs() < 4e-4 && (found_im - im).abs() < 4e-4,
                        "{per_doppler} {number} {at}: {found_re} {re}, {found_im} {im}"
                    );
                }
            }
        }
    }

    #[test]
    fn samples_between_points_are_within_1e_4_of_each_sinusoid() {
        for per_point in [2, 4, 16] {
            let weights: Vec<_> = (1..per_point)
                .map(|at| weights(to_f64(at) / to_f64(per_point)))
                .collect();
            for step in 0..=100 {
                // Up to the largest Doppler frequency, at the fewest points in a period.
                let turn = std::f64::consts::TAU / POINTS_PER_DOPPLER * f64::from(step) / 100.0;
                for (place, weights) in weights.iter().enumerate() {
                    let (mut re, mut im) = (0.0, 0.0);
                    for (tap, weight) in weights.iter().enumerate() {
                        let (cos, sin) = unit(turn * (to_f64(tap as u64) - to_f64(BEFORE as u64)));
                        (re, im) = (re + weight * cos, im + weight * sin);
                    }
                    let part = to_f64(place as u64 + 1) / to_f64(per_point);
                    let (cos, sin) = unit(turn * part);
                    let error = ((re - cos) * (re - cos) + (im - sin) * (im - sin)).sqrt();
                    assert!(error < 1e-4, "{per_point} {place} {turn} {error}");
                }
            }
        }
    }
}
