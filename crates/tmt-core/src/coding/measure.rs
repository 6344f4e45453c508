//! Error rates of a code, measured by Monte-Carlo simulation.
//!
//! Chunks run on the threads of rayon. The rule for stopping is applied in the order of their numbers, so that the result does
//! not depend on the number of threads.

use rayon::prelude::*;

use super::counts::{Counts, Outcome, Tally};
use super::simulation::{Link, Simulation};
use super::spec::CodeSpec;
use crate::math::num::log10;
use crate::model::ModelError;
use crate::types::named::ParseError;
use crate::types::{Stopped, to_f64};

/// Errors that the rule for stopping counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Event {
    /// Segments with an error.
    #[default]
    Segments,
    /// Outer codewords with an error.
    Codewords,
    /// Bursts after the inner decoder.
    Bursts,
}

crate::keywords!(Event { Segments => "segments", Codewords => "codewords", Bursts => "bursts" });

/// A link, and how long it is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The link.
    pub link: Link,
    /// Errors that are counted for stopping.
    pub event: Event,
    /// Errors after which the measurement stops, at the end of a chunk: 100 for an interval of ±20 %.
    pub events: u64,
    /// Information bits after which it stops in any case, at the end of a chunk.
    pub most_bits: u64,
    /// Whether it shall end without a result, asked at every word and frame.
    pub stopped: Stopped,
}

impl Settings {
    /// At an Ec/N0 in dB: until 100 segments have errors, or 10^8 bits.
    #[must_use]
    pub fn at(ecn0_db: f64) -> Self {
        Self {
            link: Link::at(ecn0_db),
            event: Event::default(),
            events: 100,
            most_bits: 100_000_000,
            stopped: Stopped::NEVER,
        }
    }
}

/// Why there is no measurement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// The code or its link.
    #[error(transparent)]
    Refused(#[from] ParseError),
    /// [`Settings::stopped`] has said so.
    #[error("stopped before its end")]
    Stopped,
}

impl From<MeasureError> for ModelError {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Refused(refused) => Self::refused(refused.to_string()),
            MeasureError::Stopped => Self::Stopped,
        }
    }
}

/// Result of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, derive_more::Deref)]
pub struct Measurement {
    /// Counts over all chunks up to the stop.
    #[deref]
    pub counts: Counts,
    /// Chunks up to the stop.
    pub chunks: u64,
    /// Whether the bound on bits ended it, with fewer errors than asked for.
    pub is_bounded: bool,
}

/// Measures `spec` until the rule for stopping holds. At least one chunk is simulated.
///
/// # Errors
/// As [`Simulation::new`], and [`Settings::stopped`].
pub fn measure(spec: &CodeSpec, settings: &Settings) -> Result<Measurement, MeasureError> {
    let simulation = Simulation::new(spec, &settings.link)?;
    let mut counts = Counts::default();
    let mut chunks = 0;
    loop {
        let at_once = u64::try_from(rayon::current_num_threads()).unwrap_or(1) * 2;
        let found = (chunks..chunks + at_once)
            .into_par_iter()
            .map(|number| Some(simulation.chunk_unless(number, settings.stopped)?.0));
        let found: Option<Vec<Counts>> = found.collect();
        let found = found.ok_or(MeasureError::Stopped)?;
        for chunk in &found {
            counts.add(chunk);
            chunks += 1;
            let events = match settings.event {
                Event::Segments => counts.segments.failed(),
                Event::Codewords => counts.codewords.failed(),
                Event::Bursts => counts.decoded.bursts,
            };
            let is_bounded = events < settings.events;
            if !is_bounded || counts.information.bits >= settings.most_bits {
                return Ok(Measurement {
                    counts,
                    chunks,
                    is_bounded,
                });
            }
        }
    }
}

/// A point of an error curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Energy per symbol of QPSK over noise density, dB.
    pub es_n0_db: f64,
    /// Outcomes of the words: codewords of the outer code, or segments without one.
    pub words: Tally,
    /// Whether the bound on bits ended the measurement, with fewer lost words than asked for.
    pub is_bounded: bool,
    /// Word error rate: where measured rates rise with Es/N0, by chance, that of these points together.
    pub rate: f64,
}

/// Measures the word error rate of `spec` at rising values of Es/N0 for QPSK with Gray labels, whose two bits share the energy of a
/// symbol. `settings` says how, but for Ec/N0 and the errors that stop it, which are those of words. `each` is called with each
/// point once it is measured.
///
/// # Errors
/// As [`measure`], or values that do not rise.
pub fn curve(
    spec: &CodeSpec,
    settings: &Settings,
    es_n0_db: &[f64],
    each: impl Fn(&CurvePoint),
) -> Result<Vec<CurvePoint>, MeasureError> {
    if !es_n0_db.is_sorted_by(|one, next| one < next) {
        let found = format!("Es/N0 {es_n0_db:?} dB");
        return Err(ParseError::mismatch(found, "rising values").into());
    }
    let has_outer = spec.outer.is_some();
    let bits_db = 10.0 * log10(2.0);
    let mut points: Vec<CurvePoint> = Vec::new();
    for &es_n0_db in es_n0_db {
        let mut settings = *settings;
        settings.link.ecn0_db = es_n0_db - bits_db;
        settings.event = if has_outer {
            Event::Codewords
        } else {
            Event::Segments
        };
        let found = measure(spec, &settings)?;
        let words = if has_outer {
            found.codewords
        } else {
            found.segments
        };
        let point = CurvePoint {
            es_n0_db,
            words,
            is_bounded: found.is_bounded,
            rate: words.rate().value,
        };
        each(&point);
        points.push(point);
    }
    pool(&mut points);
    Ok(points)
}

/// Gives neighbours whose rates rise their common one: the rates that do not rise and fit best (pool adjacent violators).
fn pool(points: &mut [CurvePoint]) {
    // Stretches of points: failed words, all words, number of points.
    let mut stretches: Vec<(u64, u64, usize)> = Vec::new();
    for point in &*points {
        let mut last = (point.words.failed(), point.words.all, 1);
        while let Some(&(failed, all, number)) = stretches.last()
            && u128::from(failed) * u128::from(last.1) < u128::from(last.0) * u128::from(all)
        {
            stretches.pop();
            last = (failed + last.0, all + last.1, number + last.2);
        }
        stretches.push(last);
    }
    let rates = stretches.iter().flat_map(|&(failed, all, number)| {
        std::iter::repeat_n(to_f64(failed) / to_f64(all), number)
    });
    for (point, rate) in points.iter_mut().zip(rates) {
        point.rate = rate;
    }
}

/// The outcomes of the first `count` codewords of the outer code over `link`, or of segments without an outer code. They are
/// simulated when they are asked for, a chunk at a time.
///
/// # Errors
/// As [`Simulation::new`].
pub fn outcomes(
    spec: &CodeSpec,
    link: &Link,
    count: usize,
) -> Result<impl Iterator<Item = Outcome> + use<>, ParseError> {
    let simulation = Simulation::new(spec, link)?;
    Ok((0..)
        .flat_map(move |chunk| simulation.chunk(chunk).1)
        .take(count))
}

#[cfg(test)]
mod tests;
