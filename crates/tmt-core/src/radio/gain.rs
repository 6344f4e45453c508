//! Fading gain of a land-mobile channel: direct signal with shadowing, plus multipath (Loo), state by state.

use crate::math::num::{exp, floor_u64};
use crate::types::{Span, to_f64};

use super::STRETCH;
use super::environment::{Loo, Sequence};
use super::multipath::{Multipath, Wave};
use super::shadowing::Shadowing;
use super::states::{Sojourn, States};

/// Natural logarithm of the amplitude of 1 dB.
const AMPLITUDE: f64 = std::f64::consts::LN_10 / 20.0;

/// Parts of a land-mobile fade.
#[derive(Debug, Clone)]
pub(super) struct Model {
    /// Time between samples.
    pub(super) step: Span,
    /// Distance between samples, m.
    pub(super) step_m: f64,
    /// Samples in a period of the largest Doppler frequency.
    pub(super) samples_per_doppler: f64,
    /// Es/N0 of the unobstructed line of sight, a ratio.
    pub(super) es_n0: f64,
    pub(super) sequence: Sequence,
    /// Relative length of transitions.
    pub(super) cross_fade: f64,
    /// Distance over which the correlation of the shadowing falls to 1/e, m.
    pub(super) correlation_m: f64,
}

/// The gain of a running channel.
#[derive(Debug, Clone)]
pub(super) struct Gain {
    step_m: f64,
    es_n0: f64,
    states: States,
    shadowing: Shadowing,
    multipath: Multipath,
    /// Buffers of a stretch.
    shadow: Box<[f64; STRETCH]>,
    wave: Wave,
}

impl Gain {
    pub(super) fn new(model: &Model, seed: u64, lane: u32) -> Self {
        Self {
            step_m: model.step_m,
            es_n0: model.es_n0,
            states: States::new(model.sequence, model.cross_fade, seed, lane),
            shadowing: Shadowing::new(model.step_m, model.correlation_m, seed, lane),
            multipath: Multipath::new(model.samples_per_doppler, seed, lane),
            shadow: Box::new([0.0; STRETCH]),
            wave: Wave::new(),
        }
    }

    /// Es/N0 of the samples of stretch `number`, ratios.
    pub(super) fn stretch(&mut self, number: u64, es_n0: &mut [f64; STRETCH]) {
        self.shadowing.stretch(number, &mut self.shadow);
        self.multipath.stretch(number, &mut self.wave);
        let from = number * STRETCH as u64;
        let [start_m, end_m] = [from, from + STRETCH as u64].map(|sample| self.place_m(sample));
        let samples = Samples {
            from,
            step_m: self.step_m,
            unobstructed: self.es_n0,
            shadow: &self.shadow,
            wave: &self.wave,
        };
        self.states
            .within(start_m, end_m, |sojourn| samples.fill(sojourn, es_n0));
    }

    /// Calls `visit` with each sojourn that overlaps the samples `from` … `to` − 1, in order.
    pub(super) fn sojourns(&mut self, from: u64, to: u64, visit: impl FnMut(&Sojourn)) {
        let [from_m, to_m] = [from, to].map(|sample| self.place_m(sample));
        self.states.within(from_m, to_m, visit);
    }

    fn place_m(&self, sample: u64) -> f64 {
        to_f64(sample) * self.step_m
    }
}

/// A stretch whose shadowing and multipath are known.
struct Samples<'a> {
    from: u64,
    step_m: f64,
    unobstructed: f64,
    shadow: &'a [f64; STRETCH],
    wave: &'a Wave,
}

impl Samples<'_> {
    /// Computes the samples within a sojourn.
    fn fill(&self, sojourn: &Sojourn, out: &mut [f64; STRETCH]) {
        let begin = self.first_from(sojourn.start_m);
        let changed = self.first_from(sojourn.start_m + sojourn.transition_m);
        let end = self.first_from(sojourn.end_m);
        for at in begin..changed.min(end) {
            let place_m = to_f64(self.from + at as u64) * self.step_m;
            let part = (place_m - sojourn.start_m) / sojourn.transition_m;
            self.range(
                &between(&sojourn.before, &sojourn.loo, part),
                at..at + 1,
                out,
            );
        }
        self.range(&sojourn.loo, changed.min(end)..end, out);
    }

    /// The first sample of the stretch at `place_m` or after it; its length if absent.
    fn first_from(&self, place_m: f64) -> usize {
        let sample = floor_u64((place_m / self.step_m).ceil());
        let at = sample.saturating_sub(self.from).min(STRETCH as u64);
        usize::try_from(at).unwrap_or(STRETCH)
    }

    /// Computes samples with one triplet.
    fn range(&self, loo: &Loo, range: std::ops::Range<usize>, out: &mut [f64; STRETCH]) {
        let (mean, deviation) = (AMPLITUDE * loo.direct_db, AMPLITUDE * loo.shadowing_db);
        let multipath = exp(AMPLITUDE * loo.multipath_db);
        let shadow = &self.shadow[range.clone()];
        let re = &self.wave.re[range.clone()];
        let im = &self.wave.im[range.clone()];
        let of_multipath = AMPLITUDE * loo.multipath_shadowing_db;
        for (((out, z), re), im) in out[range].iter_mut().zip(shadow).zip(re).zip(im) {
            let multipath = if of_multipath > 0.0 {
                multipath * exp(of_multipath * z)
            } else {
                multipath
            };
            let re = exp(mean + deviation * z) + multipath * re;
            let im = multipath * im;
            *out = self.unobstructed * (re * re + im * im);
        }
    }
}

/// The triplet `part` of the way from one to the other.
fn between(before: &Loo, after: &Loo, part: f64) -> Loo {
    let mix = |before: f64, after: f64| before + (after - before) * part;
    Loo {
        direct_db: mix(before.direct_db, after.direct_db),
        shadowing_db: mix(before.shadowing_db, after.shadowing_db),
        multipath_db: mix(before.multipath_db, after.multipath_db),
        multipath_shadowing_db: mix(before.multipath_shadowing_db, after.multipath_shadowing_db),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::num::{cos, sin};

    /// Shadowing of 1.5 deviations, and multipath of unit power that is `angle` ahead of the direct signal.
    fn power(sojourn: &Sojourn, angle: f64) -> [f64; STRETCH] {
        let shadow = [1.5; STRETCH];
        let mut wave = Wave::new();
        wave.re.fill(cos(angle));
        wave.im.fill(sin(angle));
        let mut out = [f64::NAN; STRETCH];
        let samples = Samples {
            from: 0,
            step_m: 0.01,
            unobstructed: 4.0,
            shadow: &shadow,
            wave: &wave,
        };
        samples.fill(sojourn, &mut out);
        out
    }

    #[test]
    fn a_transition_goes_from_one_triplet_to_the_next_in_db() {
        let [before, loo] = [(-3.0, 1.0, -12.0), (-15.0, 5.0, -20.0)].map(
            |(direct_db, shadowing_db, multipath_db)| Loo {
                direct_db,
                shadowing_db,
                multipath_db,
                multipath_shadowing_db: 0.0,
            },
        );
        let mut sojourn = Sojourn::example(1.0, 8.0);
        (sojourn.before, sojourn.loo, sojourn.transition_m) = (before, loo, 2.0);
        let amplitude = |db: f64| exp(std::f64::consts::LN_10 * db / 20.0);
        for angle in [0.0, 1.0, 3.0] {
            let found = power(&sojourn, angle);
            // At the first sample the triplet before, half-way the mean of both, then the new one.
            for (at, direct_db, shadowing_db, multipath_db) in [
                (100, -3.0, 1.0, -12.0),
                (150, -6.0, 2.0, -14.0),
                (200, -9.0, 3.0, -16.0),
                (300, -15.0, 5.0, -20.0),
                (799, -15.0, 5.0, -20.0),
            ] {
                let direct = amplitude(direct_db + 1.5 * shadowing_db);
                let multipath = amplitude(multipath_db);
                // Two sides of a triangle and the angle between them.
                let expected = 4.0
                    * (direct * direct
                        + multipath * multipath
                        + 2.0 * direct * multipath * cos(angle));
                assert!(
                    (found[at] / expected - 1.0).abs() < 1e-9,
                    "{at} {angle} {} {expected}",
                    found[at]
                );
            }
            assert!(found[99].is_nan() && found[800].is_nan());
        }
    }

    /// Samples at 1.01, 1.02 … 1.99 m lie in a sojourn from 1.003 to 1.996 m.
    #[test]
    fn a_sojourn_has_the_samples_from_its_start_on_and_before_its_end() {
        let found = power(&Sojourn::example(1.003, 1.996), 0.0);
        for (at, power) in found.iter().enumerate() {
            assert_eq!(!power.is_nan(), (101..=199).contains(&at), "{at}");
        }
    }

    #[test]
    fn the_shadowing_has_the_correlation_distance_of_the_environment() {
        use crate::radio::LandMobile;
        use crate::radio::environment::FrameState;
        use crate::types::to_f64;

        // docs/channels.md, Sec. 2 and 3.
        for (environment, correlation_m) in [
            ("suburban", 1.7),
            ("open", 2.5),
            ("p681:urban,elevation=45deg", 1.7910),
        ] {
            let text = format!("es-n0=0dB,environment={environment}");
            let mut model = text.parse::<LandMobile>().unwrap().model().unwrap();
            // One state, and no multipath: the gain is the shadowing of 3 dB.
            let state = FrameState {
                loo: Loo {
                    direct_db: 0.0,
                    shadowing_db: 3.0,
                    multipath_db: -200.0,
                    multipath_shadowing_db: 0.0,
                },
                frame_m: 10.0,
                row: [0.4, 0.3, 0.3],
            };
            model.sequence = Sequence::Frames {
                states: [state; 3],
                transition_m: 0.0,
            };
            let mut gain = Gain::new(&model, 1, 0);
            let mut samples = [0.0; STRETCH];
            let mut squares = 0.0;
            for number in 0..100 {
                gain.stretch(number, &mut samples);
                for pair in samples.windows(2) {
                    let change = crate::radio::to_db(pair[1] / pair[0]) / 3.0;
                    squares += change * change;
                }
            }
            // Standard error 0.4 %.
            let found = squares / (100.0 * to_f64(STRETCH as u64 - 1));
            let expected = 2.0 - 2.0 * exp(-model.step_m / correlation_m);
            assert!(
                (found / expected - 1.0).abs() < 0.02,
                "{environment} {found} {expected}"
            );
        }
    }
}
