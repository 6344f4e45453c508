//! Which words a radio channel loses.
//!
//! A word is sent over a window: from the start of its slot over the interleaver, or over its own time on air if that is
//! longer. Its equivocation is the mean over the window, with the samples joined by straight lines. The Es/N0 of the same
//! equivocation without fading is the effective one; the error curve gives the probability that the word is lost, and a
//! uniform number at the number of the slot decides (docs/channels.md, Sec. 5).

use std::sync::{Arc, OnceLock};

use crate::math::divisor::Divisor;
use crate::math::normal::upper_tail;
use crate::math::octave_table::OctaveTable;
use crate::math::rng::{BATCH, Draws, Stream, Uniform};
use crate::types::{Slot, Span, Time, to_f64};

use super::fade::{Fade, Source};
use super::mutual_information::{Equivocation, ONE};
use super::series::Series;
use super::{ErrorCurve, LandMobile, RadioError, STRETCH, from_db};

/// Error rates by equivocation, from 2^-32 to 1, 1024 points in an octave.
const OCTAVES: u32 = 32;
const BITS: u32 = 10;

/// A rate below this is 0: the smallest step of the uniform numbers is 1e-16.
const NEVER: f64 = 1e-15;

/// A radio channel: the statistics of its fading, and what is lost at which Es/N0. Shared by all who run it.
#[derive(Debug, Clone)]
pub struct RadioChannel(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    parameters: LandMobile,
    source: Source,
    /// Factor of Es/N0.
    gain: f64,
    equivocation: Equivocation,
    /// Error rate by mean equivocation in stored units, computed by the first use: a text is parsed far more often than its
    /// channel runs.
    rates: OnceLock<OctaveTable>,
}

impl Shared {
    fn rates(&self) -> &OctaveTable {
        self.rates.get_or_init(|| {
            let rate = widened(&self.parameters.code, self.parameters.word_variation_db);
            let es_n0_db = self.equivocation.inverse();
            OctaveTable::new(0, OCTAVES, BITS, |stored| {
                let p = rate(es_n0_db(stored / ONE));
                if p < NEVER { 0.0 } else { p }
            })
        })
    }
}

impl RadioChannel {
    /// The channel with these parameters.
    ///
    /// # Errors
    /// A parameter is outside its range, or the error curve is not known for every Es/N0 that the channel reaches.
    pub fn new(parameters: &LandMobile) -> Result<Self, RadioError> {
        let model = parameters.model()?;
        Ok(Self::with_source(
            Source::Model(Box::new(model)),
            parameters,
        ))
    }

    /// The channel with a measured fade in place of the model; of `parameters` only code, interleaver, implementation loss and
    /// variation are used.
    ///
    /// # Errors
    /// A parameter is outside its range, or the error curve is not known for every Es/N0 of the series.
    pub fn of_series(series: Series, parameters: &LandMobile) -> Result<Self, RadioError> {
        parameters.check_ranges()?;
        let (low, high) = series.range_db();
        let loss = parameters.implementation_loss_db;
        parameters.code.covers(low - loss, high - loss)?;
        Ok(Self::with_source(Source::Series(series), parameters))
    }

    fn with_source(source: Source, parameters: &LandMobile) -> Self {
        Self(Arc::new(Shared {
            parameters: parameters.clone(),
            source,
            gain: from_db(-parameters.implementation_loss_db),
            equivocation: Equivocation::of(parameters.code.modulation()),
            rates: OnceLock::new(),
        }))
    }

    /// Parameters of the channel. With a measured fade those of the model mean nothing.
    #[must_use]
    pub fn parameters(&self) -> &LandMobile {
        &self.0.parameters
    }

    /// Time between samples of the fading.
    #[must_use]
    pub fn step(&self) -> Span {
        self.0.source.step()
    }

    /// Es/N0 over time under `seed`, implementation loss not subtracted. Channels on different `lane`s are independent.
    #[must_use]
    pub fn fade(&self, seed: u64, lane: u32) -> Fade {
        self.0.source.begin(seed, lane)
    }

    /// Equivocation over time under `seed`.
    pub(super) fn samples(&self, seed: u64, lane: u32) -> Samples {
        Samples::new(self.fade(seed, lane), self.0.equivocation, self.0.gain)
    }

    /// Error rate by mean equivocation in stored units.
    pub(super) fn rates(&self) -> &OctaveTable {
        self.0.rates()
    }

    /// The channel under `seed`, before its first word. Channels on different `lane`s are independent.
    #[must_use]
    pub fn begin(&self, seed: u64, lane: u32) -> Words {
        Words {
            samples: self.samples(seed, lane),
            shared: Arc::clone(&self.0),
            erasure: Uniform::on_lane(seed, Stream::RadioErasure, lane),
            draws: Draws::default(),
        }
    }
}

/// The error rate over Es/N0 in dB, if that of each word varies by `variation_db` rms around the mean.
///
/// A falling curve is a sum of small steps, and a step that varies is a normal distribution, so the expectation is a sum of
/// tails. It is tabulated.
fn widened(curve: &ErrorCurve, variation_db: f64) -> Box<dyn Fn(f64) -> f64 + '_> {
    const LOWEST_DB: f64 = -42.0;
    const HIGHEST_DB: f64 = 60.0;
    const STEP_DB: f64 = 0.01;
    if variation_db <= 0.0 {
        return Box::new(|db| curve.rate(db));
    }
    let grid = |step: f64| {
        let db = move |at: u32| LOWEST_DB + step * f64::from(at);
        (0u32..).map(db).take_while(|db| *db <= HIGHEST_DB)
    };
    let mut steps = Vec::new();
    for db in grid(STEP_DB) {
        let height = curve.rate(db) - curve.rate(db + STEP_DB);
        if height > 1e-13 {
            steps.push((db + STEP_DB / 2.0, height));
        }
    }
    let above = curve.rate(HIGHEST_DB);
    let rate = |db: f64| {
        let parts = steps
            .iter()
            .map(|(at, height)| height * upper_tail((db - at) / variation_db));
        above + parts.sum::<f64>()
    };
    let step = (variation_db / 16.0).clamp(STEP_DB, 0.05);
    let first = steps.first().map_or(0.0, |(db, _)| db - 9.0 * variation_db);
    let last = steps.last().map_or(0.0, |(db, _)| db + 9.0 * variation_db);
    let rates: Vec<f64> = grid(step)
        .skip_while(|db| *db < first)
        .take_while(|db| *db <= last)
        .map(rate)
        .collect();
    let start = grid(step).find(|db| *db >= first).unwrap_or(first);
    let below = curve.rate(LOWEST_DB);
    Box::new(move |db| {
        let place = (db - start) / step;
        if place < 0.0 {
            return below;
        }
        let at = place.floor();
        let index = usize::try_from(crate::math::num::floor_u64(at)).unwrap_or(usize::MAX);
        match rates.get(index..).and_then(|rest| rest.first_chunk()) {
            Some([left, right]) => left + (right - left) * (place - at),
            None => above,
        }
    })
}

/// A running radio channel. Made by [`RadioChannel::begin`].
#[derive(Debug, Clone)]
pub struct Words {
    shared: Arc<Shared>,
    samples: Samples,
    erasure: Uniform,
    draws: Draws,
}

impl Words {
    /// Erases those slots that the channel erases. They are numbered from `first` on, and each is on air for `on_air` from
    /// its start. Slots that are erased already remain so.
    ///
    /// Calls in any order give the same erasures. The time taken is in proportion to the time that the slots span, or, if they
    /// are far apart, to their number.
    pub fn erase(&mut self, first: u64, on_air: Span, slots: &mut [Slot]) {
        self.erase_every(1, first, on_air, slots);
    }

    /// The same for slots that are every `every`-th only: numbers `every` · `first`, `every` · (`first` + 1), …
    pub fn erase_every(&mut self, every: u64, first: u64, on_air: Span, slots: &mut [Slot]) {
        let window = on_air.max(self.shared.parameters.interleaver);
        let rates = self.shared.rates();
        // As many slots as have their numbers in one batch of draws.
        let every = every.max(1);
        let step = usize::try_from(every).unwrap_or(usize::MAX);
        let batch = (BATCH - 1) / step + 1;
        for (slots, number) in slots.chunks_mut(batch).zip((first..).step_by(batch)) {
            let mut drawn = false;
            for (at, slot) in slots.iter_mut().enumerate() {
                let mean = self.samples.mean(slot.tx_time(), window);
                let rate = rates.at(mean);
                // Most words are lost for certain, or certainly not: nothing needs to be drawn for them.
                if rate <= 0.0 {
                    continue;
                }
                if rate < 1.0 && !drawn {
                    self.erasure
                        .draw(number.saturating_mul(every), &mut self.draws);
                    drawn = true;
                }
                if rate >= 1.0 || self.draws.number(at * step) < rate {
                    *slot = Slot::erased(slot.tx_time());
                }
            }
        }
    }

    /// Probability that a word is lost that is sent at `from` and on air for `on_air`.
    pub fn error_rate(&mut self, from: Time, on_air: Span) -> f64 {
        let mean = self
            .samples
            .mean(from, on_air.max(self.shared.parameters.interleaver));
        self.shared.rates().at(mean)
    }
}

/// Stretches of samples held at most, unless a window needs more.
const HELD: usize = 64;

/// Equivocation over time: the samples around the last window.
#[derive(Debug, Clone)]
pub(super) struct Samples {
    fade: Fade,
    equivocation: Equivocation,
    /// Factor of Es/N0.
    gain: f64,
    /// Time between samples, ns.
    step: Divisor,
    step_ns: f64,
    /// 1/2 over the time between samples, 1/ns.
    half_per_step: f64,
    buffer: Box<[f64; STRETCH]>,
    /// Number of the first sample held.
    first: u64,
    /// Number of the sample after the last one held.
    end: u64,
    values: Vec<u32>,
    /// Sum of the values before each one.
    sums: Vec<u64>,
}

impl Samples {
    fn new(fade: Fade, equivocation: Equivocation, gain: f64) -> Self {
        let step = fade.step().as_nanos().max(1);
        Self {
            fade,
            equivocation,
            gain,
            step: Divisor::new(step),
            step_ns: to_f64(step),
            half_per_step: 0.5 / to_f64(step),
            buffer: Box::new([0.0; STRETCH]),
            first: 0,
            end: 0,
            values: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Mean equivocation over `window` from `from` on, in stored units.
    pub(super) fn mean(&mut self, from: Time, window: Span) -> f64 {
        let from = from.as_nanos();
        let window = window.as_nanos().max(1);
        let to = from.saturating_add(window);
        let ((k1, after_k1), (k2, after_k2)) = (self.step.divide(from), self.step.divide(to));
        if k1 < self.first || k2 + 1 >= self.end {
            self.hold(k1, k2 + 1);
        }
        let one = self.piece(k1, after_k1);
        let other = self.piece(k2, after_k2);
        // Twice the sum over whole steps is an integer: it does not depend on where the sums begin.
        let sum = (other.sum - one.sum) * 2 + u64::from(other.value) - u64::from(one.value);
        let area = to_f64(sum) * (0.5 * self.step_ns) + (other.area - one.area);
        area / to_f64(window)
    }

    /// Sums up to the time `rest` ns after sample `sample`.
    fn piece(&self, sample: u64, rest: u64) -> Piece {
        let at = usize::try_from(sample - self.first).unwrap_or(usize::MAX);
        let (value, next) = match self.values.get(at..).and_then(|rest| rest.first_chunk()) {
            Some([value, next]) => (*value, *next),
            None => (0, 0),
        };
        let rest = to_f64(rest);
        let slope = (f64::from(next) - f64::from(value)) * self.half_per_step;
        Piece {
            sum: self.sums.get(at).copied().unwrap_or_default(),
            value,
            area: rest * (f64::from(value) + slope * rest),
        }
    }

    /// Holds the samples `from` … `to`.
    fn hold(&mut self, from: u64, to: u64) {
        let stretch = STRETCH as u64;
        let begin = from / stretch * stretch;
        if begin < self.first || begin > self.end {
            self.values.clear();
            self.sums.clear();
            (self.first, self.end) = (begin, begin);
        } else if self.values.len() >= HELD * STRETCH {
            let passed = usize::try_from(begin - self.first).unwrap_or(0);
            self.values.drain(..passed);
            self.sums.drain(..passed);
            self.first = begin;
        }
        while self.end <= to {
            self.fade.stretch(self.end / stretch, &mut self.buffer);
            let mut sum = match (self.sums.last(), self.values.last()) {
                (Some(sum), Some(value)) => sum + u64::from(*value),
                _ => 0,
            };
            let (equivocation, gain) = (self.equivocation, self.gain);
            let held = self.values.len();
            let values = self
                .buffer
                .iter()
                .map(|es_n0| equivocation.at(es_n0 * gain));
            self.values.extend(values);
            self.sums.extend(self.values[held..].iter().map(|value| {
                let before = sum;
                sum += u64::from(*value);
                before
            }));
            self.end += stretch;
        }
    }
}

/// Equivocation before a time.
struct Piece {
    /// Sum of the samples before the last one.
    sum: u64,
    /// The last sample.
    value: u32,
    /// Integral from the last sample on, ns.
    area: f64,
}
