//! Erases the slots that touch given intervals of time.

use super::Use;
use crate::math::rng::{BATCH, Draws, Limit, Stream, Uniform};
use crate::types::{Slot, Span, Time};

/// The draws that decide which slots of an interval are erased: one per slot, by its number.
#[derive(Debug, Clone)]
pub(super) struct Intervals {
    erasures: Emission,
    /// Highest erasure probability of each slot of a call.
    levels: Vec<f64>,
}

impl Intervals {
    pub(super) fn new(seed: u64, used: Use) -> Self {
        Self {
            erasures: Emission::new(seed, used),
            levels: Vec::new(),
        }
    }

    /// Erases slots, numbered from `first`, that touch one of `intervals`: start, end and erasure probability of each, in
    /// order, the end excluded. A slot that touches several has the highest of their probabilities. Intervals that end
    /// before the slots are skipped, and those after them are not asked for.
    pub(super) fn erase(
        &mut self,
        first: u64,
        on_air: Span,
        slots: &mut [Slot],
        intervals: impl Iterator<Item = (Time, Time, f64)>,
    ) {
        let Some(last) = slots.last() else {
            return;
        };
        // An instant takes the first nanosecond after it.
        let on_air = on_air.max(Span::NANOSECOND);
        let to = last.tx_time().saturating_add(on_air);
        self.levels.clear();
        self.levels.resize(slots.len(), 0.0);
        let mut from = 0;
        for (start, end, p) in intervals {
            if start >= to {
                break;
            }
            let ended = |slot: &Slot| slot.tx_time().saturating_add(on_air) <= start;
            from += slots[from..].partition_point(ended);
            // An interval without length is none.
            if p > 0.0 && start < end {
                let touched = slots[from..].partition_point(|slot| slot.tx_time() < end);
                for level in &mut self.levels[from..from + touched] {
                    *level = p.max(*level);
                }
            }
        }
        let mut from = 0;
        for run in self
            .levels
            .chunk_by(|one, other| one.to_bits() == other.to_bits())
        {
            let slots = &mut slots[from..from + run.len()];
            self.erasures.erase(first + from as u64, run[0], slots);
            from += run.len();
        }
    }
}

/// Erasures of units whose probability is known, one draw per unit.
#[derive(Debug, Clone)]
pub(super) struct Emission {
    numbers: Uniform,
    draws: Draws,
    /// The batch of aligned numbers that is drawn.
    batch: Option<u64>,
}

impl Emission {
    pub(super) fn new(seed: u64, used: Use) -> Self {
        Self {
            numbers: used.numbers(seed, Stream::ChannelErasure),
            draws: Draws::default(),
            batch: None,
        }
    }

    /// Erases each of `slots`, units from `first` on, with probability `p`.
    pub(super) fn erase(&mut self, first: u64, p: f64, slots: &mut [Slot]) {
        let limit = Limit::new(p);
        match limit {
            Limit::Never => {}
            Limit::Always => slots.iter_mut().for_each(erase),
            Limit::Below(_) => {
                let (mut unit, mut rest) = (first, slots);
                while !rest.is_empty() {
                    let within = unit % BATCH as u64;
                    let left = BATCH - usize::try_from(within).unwrap_or(0);
                    let (now, later) = rest.split_at_mut(left.min(rest.len()));
                    let mask = self.below(unit / BATCH as u64, limit) >> within;
                    for (at, slot) in now.iter_mut().enumerate() {
                        if mask >> at & 1 == 1 {
                            erase(slot);
                        }
                    }
                    unit += now.len() as u64;
                    rest = later;
                }
            }
        }
    }

    /// Mask of the units of batch `batch` whose number is below `limit`.
    fn below(&mut self, batch: u64, limit: Limit) -> u64 {
        if self.batch != Some(batch) {
            self.numbers.draw(batch * BATCH as u64, &mut self.draws);
            self.batch = Some(batch);
        }
        self.draws.below(limit)
    }
}

fn erase(slot: &mut Slot) {
    *slot = Slot::erased(slot.tx_time());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// By the definition, slot by slot: the highest probability of the intervals that share a nanosecond with the slot, and
        /// the number of the slot.
        #[test]
        fn a_slot_has_the_highest_probability_of_the_intervals_that_it_touches(
            seed: u64,
            first in 0u64..200,
            steps in prop::collection::vec(0u64..6, 1..150),
            on_air in 0u64..12,
            intervals in prop::collection::vec(
                (0u64..8, 0u64..8, prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]),
                0..60,
            ),
        ) {
            let at = |nanos| Time::from_nanos(nanos).unwrap();
            let mut now = 0;
            let mut next = |step: u64| {
                now += step;
                at(now)
            };
            let intervals: Vec<(Time, Time, f64)> = intervals
                .into_iter()
                .map(|(gap, length, p)| (next(gap), next(length), p))
                .collect();
            let mut now = 0;
            let slot = |step: u64| {
                now += step;
                Slot::new(at(now), Span::NANOSECOND).unwrap()
            };
            let mut slots: Vec<Slot> = steps.into_iter().map(slot).collect();
            let on_air = Span::from_nanos(on_air).unwrap();
            let mut running = Intervals::new(seed, Use::Forward);
            running.erase(first, on_air, &mut slots, intervals.iter().copied());
            let mut numbers = Use::Forward.numbers(seed, Stream::ChannelErasure);
            for (number, slot) in (first..).zip(slots) {
                let begin = slot.tx_time();
                let end = begin.saturating_add(on_air.max(Span::NANOSECOND));
                let touched = intervals
                    .iter()
                    .filter(|(from, to, _)| from < to && *from < end && begin < *to);
                let p = touched.map(|(_, _, p)| *p).fold(0.0, f64::max);
                prop_assert_eq!(slot.is_erased(), numbers.at(number) < p, "{} {}", number, p);
            }
        }
    }
}
