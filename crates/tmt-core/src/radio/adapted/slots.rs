//! The slots of a running link, those that are lost as erased.

use std::sync::Arc;

use crate::math::octave_table::OctaveTable;
use crate::math::rng::{BATCH, Draws, Stream, Uniform};
use crate::types::{Slot, Time};

use super::decisions::Run;
use super::mode::{Mode, lldu_at_one_bit_per_s};
use super::{AdaptedLink, LANE, Shared};
use crate::radio::RadioChannel;
use crate::radio::mutual_information::Modulation;
use crate::radio::words::Samples;

/// Slots of a running link. Made by [`Adapted::begin`](super::Adapted::begin).
#[derive(Debug, Clone)]
pub struct AdaptedSlots {
    shared: Arc<Shared>,
    /// Equivocation over time for the modulations that were needed.
    samples: Vec<(Modulation, Samples)>,
    erasure: Uniform,
    draws: Draws,
}

impl AdaptedSlots {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let erasure = Uniform::on_lane(shared.seed, Stream::RadioErasure, LANE);
        Self {
            shared,
            samples: Vec::new(),
            erasure,
            draws: Draws::default(),
        }
    }

    /// Appends up to `len` slots from slot `from` on, those that are lost as erased; fewer if the trace ends before.
    ///
    /// Calls in any order give the same slots.
    pub fn piece(&mut self, from: u64, len: usize, out: &mut Vec<Slot>) {
        let shared = Arc::clone(&self.shared);
        let end = from.saturating_add(len as u64).min(shared.slots);
        let after = shared.runs.partition_point(|run| run.first <= from);
        let mut number = from;
        for index in after.saturating_sub(1)..shared.runs.len() {
            if number >= end {
                break;
            }
            let run = shared.runs[index];
            let next = shared.runs.get(index + 1);
            let until = next.map_or(shared.slots, |next| next.first).min(end);
            let mode = shared.modes.get(run.modcod);
            let channel = shared.channels.get(run.modcod).and_then(Option::as_ref);
            let Some((mode, channel)) = mode.zip(channel) else {
                break;
            };
            let begin = out.len();
            times(&shared.link, mode, run, number..until, out);
            self.erase(mode, channel, number, &mut out[begin..]);
            number = until;
        }
    }

    /// Erases those of `slots` that are lost with `mode`. They are numbered from `first` on.
    fn erase(&mut self, mode: &Mode, channel: &RadioChannel, first: u64, slots: &mut [Slot]) {
        let Shared { link, seed, .. } = *self.shared;
        let known = |(modulation, _): &(Modulation, Samples)| *modulation == mode.modulation;
        let place = self.samples.iter().position(known).unwrap_or_else(|| {
            let samples = channel.samples(seed, LANE);
            self.samples.push((mode.modulation, samples));
            self.samples.len() - 1
        });
        let (_, samples) = &mut self.samples[place];
        let rates: &OctaveTable = channel.rates();
        let mut lose = |slot: &mut Slot, draw: f64| {
            if draw < rates.at(samples.mean(slot.tx_time(), mode.window)) {
                *slot = Slot::erased(slot.tx_time());
            }
        };
        if link.every > 1 {
            // The numbers of the user's slots among those of the link.
            for (number, slot) in (first..).zip(slots) {
                lose(slot, self.erasure.at(number.saturating_mul(link.every)));
            }
            return;
        }
        for (batch, number) in slots.chunks_mut(BATCH).zip((first..).step_by(BATCH)) {
            self.erasure.draw(number, &mut self.draws);
            for (slot, draw) in batch.iter_mut().zip(self.draws.numbers()) {
                lose(slot, draw);
            }
        }
    }
}

/// Appends the received slots `numbers` of `run`.
fn times(
    link: &AdaptedLink,
    mode: &Mode,
    run: Run,
    numbers: std::ops::Range<u64>,
    out: &mut Vec<Slot>,
) {
    let rate = u128::from(mode.rate.0);
    let step = lldu_at_one_bit_per_s(*link);
    let mut place = u128::from(numbers.start - run.first) * step + rate / 2;
    let (mut nanos, mut rest) = (place / rate, place % rate);
    place = step;
    let (whole, part) = (place / rate, place % rate);
    out.extend(numbers.map(|_| {
        let start = u64::try_from(nanos).unwrap_or(u64::MAX);
        let time = Time::from_nanos(run.start.saturating_add(start)).unwrap_or(Time::MAX);
        nanos += whole;
        rest += part;
        if rest >= rate {
            (nanos, rest) = (nanos + 1, rest - rate);
        }
        Slot::new(time, mode.decode_delay).unwrap_or(Slot::erased(time))
    }));
}
