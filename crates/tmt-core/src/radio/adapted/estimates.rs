//! Es/N0 as a link knows it when it chooses a MODCOD.

use std::collections::VecDeque;

use crate::types::{Span, to_f64};

use crate::radio::{Fade, STRETCH, to_db};

/// Es/N0 by time, as the link measures it.
pub(super) struct Estimates {
    fade: Fade,
    loss_db: f64,
    /// Time between samples, ns.
    step: u64,
    /// Time over which samples are averaged, ns.
    average: u64,
    /// Number of the first stretch held.
    first: u64,
    held: VecDeque<f64>,
    buffer: Box<[f64; STRETCH]>,
}

impl Estimates {
    pub(super) fn new(fade: Fade, loss_db: f64, average: Span) -> Self {
        Self {
            step: fade.step().as_nanos().max(1),
            average: average.as_nanos(),
            fade,
            loss_db,
            first: 0,
            held: VecDeque::new(),
            buffer: Box::new([0.0; STRETCH]),
        }
    }

    /// Mean of the samples of the last `average` until `time`, at least of the last sample, dB. Times do not decrease.
    pub(super) fn at(&mut self, time: u64) -> f64 {
        let last = time / self.step;
        let earlier = time.checked_sub(self.average);
        let begin = earlier.map_or(0, |time| time / self.step + 1).min(last);
        let stretch = STRETCH as u64;
        while self.first < begin / stretch && !self.held.is_empty() {
            self.held.drain(..STRETCH);
            self.first += 1;
        }
        if self.held.is_empty() {
            self.first = begin / stretch;
        }
        while self.first + self.held.len() as u64 / stretch <= last / stretch {
            let next = self.first + self.held.len() as u64 / stretch;
            self.fade.stretch(next, &mut self.buffer);
            self.held.extend(self.buffer.iter());
        }
        let place =
            |sample: u64| usize::try_from(sample - self.first * stretch).unwrap_or(usize::MAX);
        let samples = self.held.range(place(begin)..=place(last));
        let mean = samples.sum::<f64>() / to_f64(last - begin + 1);
        to_db(mean) - self.loss_db
    }
}
