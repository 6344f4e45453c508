//! Es/N0 over time: the fading gain of a land-mobile channel, or a measured series.

use crate::types::{Span, Time};

use super::gain::{Gain, Model};
use super::series::Series;
use super::states::Sojourn;
use super::{STRETCH, to_db};

/// Source of Es/N0.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Published statistics.
    Model(Box<Model>),
    /// A measurement.
    Series(Series),
}

impl Source {
    /// Time between samples.
    pub(super) const fn step(&self) -> Span {
        match self {
            Self::Model(model) => model.step,
            Self::Series(series) => series.step(),
        }
    }

    /// A running fade under `seed`.
    pub(super) fn begin(&self, seed: u64, lane: u32) -> Fade {
        Fade {
            step: self.step(),
            kind: match self {
                Self::Model(model) => Kind::Model(Box::new(Gain::new(model, seed, lane))),
                Self::Series(series) => Kind::Series(series.clone()),
            },
        }
    }
}

/// Es/N0 of a running channel, sample by sample. Made by [`super::RadioChannel::fade`].
#[derive(Debug, Clone)]
pub struct Fade {
    step: Span,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Model(Box<Gain>),
    Series(Series),
}

impl Fade {
    /// Time between samples. Sample 0 is at time zero.
    #[must_use]
    pub const fn step(&self) -> Span {
        self.step
    }

    /// Es/N0 of the samples of stretch `number`, ratios: samples `number` · [`STRETCH`] and following.
    pub fn stretch(&mut self, number: u64, es_n0: &mut [f64; STRETCH]) {
        match &mut self.kind {
            Kind::Model(gain) => gain.stretch(number, es_n0),
            Kind::Series(series) => series.stretch(number, es_n0),
        }
    }

    /// Calls `visit` with each sojourn that overlaps the samples `from` … `to` − 1, in order; a series has none.
    pub fn sojourns(&mut self, from: u64, to: u64, visit: impl FnMut(&Sojourn)) {
        if let Kind::Model(gain) = &mut self.kind {
            gain.sojourns(from, to, visit);
        }
    }

    /// Time and Es/N0 in dB of each sample, from sample `first` on. It ends with time itself.
    pub fn over_time(mut self, first: u64) -> impl Iterator<Item = (Time, f64)> {
        let mut values = Box::new([0.0; STRETCH]);
        let mut held = None;
        let step = self.step.as_nanos();
        (first..).map_while(move |sample| {
            let time = sample.checked_mul(step).and_then(Time::from_nanos)?;
            let stretch = sample / STRETCH as u64;
            if held.replace(stretch) != Some(stretch) {
                self.stretch(stretch, &mut values);
            }
            let at = usize::try_from(sample % STRETCH as u64).unwrap_or_default();
            Some((time, to_db(values[at])))
        })
    }
}
