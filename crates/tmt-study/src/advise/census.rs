//! Erasures of a channel as counted in its slots.

use tmt_core::types::to_f64;
use tmt_link::timeline::Trace;

/// Largest number of slots in the stretches that are kept.
const MOST: u64 = 1 << 24;

/// Stretches of a longer trace that are kept, evenly spaced.
const STRETCHES: u64 = 16;

/// Erasures of one or several traces of a channel: the same role as the Gilbert–Elliott channel of the closed forms
/// (docs/models.md, Sec. 2), but counted.
#[derive(Debug, Clone, Default)]
pub struct Census {
    slots: u64,
    erased: u64,
    /// Received slots with a successor, and those whose successor is received; the same for erased ones.
    stays: [(u64, u64); 2],
    /// Whether a slot is erased, in stretches without gaps.
    stretches: Vec<Vec<bool>>,
}

impl Census {
    /// Counts the slots of a further trace; `None` if it cannot be read.
    #[must_use]
    pub fn with(mut self, slots: &Trace) -> Option<Self> {
        let rows = slots.len();
        let length = (MOST / STRETCHES).min(rows.max(1));
        let kept = (rows / length).clamp(1, STRETCHES);
        let whole = rows <= MOST;
        let is_kept = |row: u64| whole || row % (rows / kept) < length;
        let (mut row, mut before, mut was_kept) = (0u64, None, false);
        for number in 0..slots.blocks() {
            let block = slots.block(number)?;
            for slot in block.slots(0..slots.rows_in(number)) {
                let erased = slot.is_erased();
                self.slots += 1;
                self.erased += u64::from(erased);
                if let Some(before) = before.replace(erased) {
                    let (all, same) = &mut self.stays[usize::from(before)];
                    *all += 1;
                    *same += u64::from(before == erased);
                }
                let keep = is_kept(row);
                if keep {
                    if !was_kept {
                        self.stretches.push(Vec::new());
                    }
                    if let Some(stretch) = self.stretches.last_mut() {
                        stretch.push(erased);
                    }
                }
                was_kept = keep;
                row += 1;
            }
        }
        Some(self)
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Share of slots that are erased; 0 without slots.
    #[must_use]
    pub fn erasure_ratio(&self) -> f64 {
        to_f64(self.erased) / to_f64(self.slots.max(1))
    }

    /// Share of received slots that a received one follows; `None` if absent.
    #[must_use]
    pub fn alpha(&self) -> Option<f64> {
        share(self.stays[0])
    }

    /// Share of erased slots that an erased one follows; `None` if absent.
    #[must_use]
    pub fn beta(&self) -> Option<f64> {
        share(self.stays[1])
    }

    /// P(m, N): shares of the places in the channel at which m of `units` slots that are `depth` apart are erased, m = 0 … N.
    /// `None` if no stretch is that long.
    #[must_use]
    pub fn law(&self, units: usize, depth: usize) -> Option<Vec<f64>> {
        let mut counts = vec![0u64; units + 1];
        let span = units.checked_mul(depth)?;
        for stretch in &self.stretches {
            for phase in 0..depth.min(stretch.len()) {
                let mut erased = 0;
                for place in (phase..stretch.len()).step_by(depth) {
                    erased += usize::from(stretch[place]);
                    if let Some(left) = place.checked_sub(span) {
                        erased -= usize::from(stretch[left]);
                    }
                    if place + depth >= span {
                        counts[erased] += 1;
                    }
                }
            }
        }
        let all: u64 = counts.iter().sum();
        (all > 0).then(|| {
            let counts = counts.into_iter();
            counts.map(|count| to_f64(count) / to_f64(all)).collect()
        })
    }
}

fn share((all, same): (u64, u64)) -> Option<f64> {
    (all > 0).then(|| to_f64(same) / to_f64(all))
}

#[cfg(test)]
mod tests {
    use tmt_core::types::{Slot, Span, Time};
    use tmt_link::timeline::Builder;

    use super::*;

    fn trace(erased: &[bool]) -> Trace {
        let mut builder = Builder::default();
        let mut time = Time::ZERO;
        for erased in erased {
            let delay = if *erased {
                Span::ZERO
            } else {
                Span::from_millis(1)
            };
            builder.slots(&[Slot::new(time, delay).unwrap()]);
            time = time.saturating_add(Span::from_millis(1));
        }
        builder.finish()
    }

    #[test]
    fn the_law_is_that_of_all_places() {
        let erased: Vec<bool> = (0u32..500)
            .map(|n| n.wrapping_mul(2_654_435_761) >> 30 == 0)
            .collect();
        let census = Census::default().with(&trace(&erased)).unwrap();
        for (units, depth) in [(1, 1), (4, 1), (3, 7), (12, 5)] {
            let law = census.law(units, depth).unwrap();
            let places = erased.len() - (units - 1) * depth;
            for (m, share) in law.iter().enumerate() {
                let hits = (0..places).filter(|place| {
                    let own = (0..units).filter(|unit| erased[place + unit * depth]);
                    own.count() == m
                });
                let direct = to_f64(hits.count() as u64) / to_f64(places as u64);
                assert!((share - direct).abs() < 1e-12, "{units} {depth} {m}");
            }
        }
        assert_eq!(census.law(501, 1), None);
    }

    #[test]
    fn stays_are_those_of_neighbours() {
        let census = Census::default()
            .with(&trace(&[false, false, true, true, true, false]))
            .unwrap();
        assert_eq!((census.slots(), census.erasure_ratio()), (6, 0.5));
        assert_eq!(
            (census.alpha(), census.beta()),
            (Some(0.5), Some(2.0 / 3.0))
        );
        let empty = Census::default();
        assert_eq!((empty.alpha(), empty.erasure_ratio()), (None, 0.0));
    }
}
