//! 95 % intervals of the statistics of one trace, by a circular block bootstrap of its slots (docs/metrics.md, Sec. 12).
//!
//! The slots of a trace depend on each other, so blocks of neighbouring ones are drawn (Politis and Romano 1992). Every
//! figure is a ratio of two sums over slots. So a resample needs the sums of its blocks only, which are differences of
//! prefix sums: its cost grows with the number of blocks, not with that of slots.
//!
//! Slots are summed in *cells* of 2^k, fewer than [`MOST_CELLS`]. Blocks are whole cells. A trace of up to 4095 slots has a cell
//! for each, and is resampled slot by slot.
//!
//! An interval is that of percentiles (Efron 1979; Davison 1997, Sec. 5.3), widened for few blocks by
//! [`widening`](crate::stats::bootstrap::widening). A studentised one needs a variance in each resample, which is 0 where few
//! bursts are drawn; percentiles stay within the range of the figure.
//!
//! A percentile of the delay is the inverse of a ratio: the share of delays up to it. The interval of this share is mapped
//! through the distribution of all delays (Woodruff 1952).

mod cells;
mod figures;

pub use figures::{FIGURES, Figure};

use rayon::prelude::*;

use crate::math::num::floor_u64;
use crate::math::rng::{Stream, Uniform};
use crate::stats::bootstrap::{block_length, widening};
use crate::stats::trace::TraceTally;
use crate::types::{Bytes, Slot, Span, to_f64};

use self::cells::Cells;
use self::figures::{Kind, Shares};

/// Largest number of cells.
pub const MOST_CELLS: usize = 1 << 12;

/// Largest number of blocks by the rule: more take time and do not improve the interval.
const MOST_BLOCKS: usize = 1_000;

/// Shares that the interval leaves below and above.
const TAIL: f64 = 0.025;

/// Least number of resamples: 2.5 % of them are one.
pub const LEAST_RESAMPLES: u32 = 39;

/// Settings of a bootstrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResampleSettings {
    /// Number of resamples, at least [`LEAST_RESAMPLES`].
    pub resamples: u32,
    /// Seed of the blocks.
    pub seed: u64,
    /// Length of the blocks; by the rule of each figure if `None`.
    pub block: Option<Span>,
}

/// The interval of a figure.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Interval {
    /// Value of the figure in the trace.
    pub estimate: f64,
    /// Lower end of the 95 % interval; `None` if resampling says nothing: what is counted is in every slot or in none, or is missing in
    /// a resample.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval; as for `low`.
    pub high: Option<f64>,
    /// Slots in a block.
    pub block_slots: u64,
    /// Mean length of a block, s.
    pub block_s: f64,
    /// Number of blocks in the trace, not rounded.
    pub blocks: f64,
}

/// The intervals of a trace.
#[derive(Debug, Clone)]
pub struct Resampled {
    /// Slots in a cell: blocks are multiples of it.
    pub cell_slots: u64,
    /// Each of [`FIGURES`]; `None` if the trace does not have it.
    pub intervals: Vec<(&'static Figure, Option<Interval>)>,
}

/// Sums the slots of a trace for a bootstrap, in memory that does not grow with the trace.
///
/// ```
/// use tmt_core::stats::{ResampleSettings, ResampleTally, TraceTally};
/// use tmt_core::{Slot, Span, Time};
///
/// let at = |row| Time::ZERO.saturating_add(Span::from_millis(row));
/// let slots: Vec<Slot> = (0..1000)
///     .filter_map(|row| if row * row % 7 == 2 { Some(Slot::erased(at(row))) } else { Slot::new(at(row), Span::from_millis(36)) })
///     .collect();
/// let (mut tally, mut cells) = (TraceTally::default(), ResampleTally::default());
/// tally.slots(&slots, &[]);
/// cells.slots(&slots);
/// let settings = ResampleSettings { resamples: 200, seed: 1, block: None };
/// let found = cells.finish(&tally, settings, None, None);
/// let loss = found.get("erasure_ratio").ok_or("no slots")?;
/// assert!(loss.low < Some(2.0 / 7.0) && Some(2.0 / 7.0) < loss.high);
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Default)]
pub struct ResampleTally {
    cells: Cells,
}

impl Resampled {
    /// The interval of the figure of this name; `None` if the trace does not have it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Interval> {
        let found = self
            .intervals
            .iter()
            .find(|(figure, _)| figure.name == name);
        found.and_then(|(_, interval)| *interval)
    }
}

impl ResampleTally {
    /// Adds the next slots, in order of time.
    pub fn slots(&mut self, slots: &[Slot]) {
        self.cells.add(slots);
    }

    /// Draws the resamples. `tally` has seen the same slots. `rtt` and `lldu` are those of the one-way delay and of the bit rate.
    ///
    /// The result does not depend on the number of threads.
    #[must_use]
    pub fn finish(
        self,
        tally: &TraceTally,
        settings: ResampleSettings,
        rtt: Option<Span>,
        lldu: Option<Bytes>,
    ) -> Resampled {
        let figures: Vec<&'static Figure> = FIGURES.iter().collect();
        self.intervals(&figures, tally, settings, rtt, lldu)
    }

    /// As [`ResampleTally::finish`], for these figures.
    fn intervals(
        self,
        figures: &[&'static Figure],
        tally: &TraceTally,
        settings: ResampleSettings,
        rtt: Option<Span>,
        lldu: Option<Bytes>,
    ) -> Resampled {
        let cells = self.cells.finish();
        let delays = Shares::new(tally.delays());
        let cell_slots = cells.first().map_or(1, |cell| cell.slots);
        let series: Vec<Option<(Series, bool)>> = figures
            .iter()
            .map(|figure| {
                let sums = figure.sums(&cells, &delays)?;
                Some((Series::new(&sums, &settings)?, figure.is_informative(&sums)))
            })
            .collect();
        let resamples = resample(&series, &settings);
        let of = |(place, figure): (usize, &'static Figure)| {
            let (series, is_informative) = series[place].as_ref()?;
            let ratios = resamples.iter().map(|ratios| ratios[place]).collect();
            let ends = series.interval(ratios).filter(|_| *is_informative);
            let (estimate, ends) = match figure.kind {
                Kind::Ratio => (series.ratio, ends),
                Kind::Percentile(percent) => {
                    let level = f64::from(percent) / 100.0;
                    let at = |share: f64| delays.value(share);
                    // A larger share of delays up to the percentile means that it is smaller.
                    let ends = ends.map(|(low, high)| {
                        let smaller = at(level - (high - series.ratio));
                        let larger = at(level + (series.ratio - low));
                        (smaller, larger)
                    });
                    (at(level), ends)
                }
            };
            let to = |value: f64| figure.shown(value, rtt, lldu);
            Some(Interval {
                estimate: to(estimate)?,
                low: ends.and_then(|(low, _)| to(low.max(figure.least))),
                high: ends.and_then(|(_, high)| to(high.min(figure.most))),
                block_slots: series.block as u64 * cell_slots,
                block_s: series.block_s,
                blocks: series.blocks,
            })
        };
        let intervals = figures.iter().copied().enumerate();
        Resampled {
            cell_slots,
            intervals: intervals
                .map(|(place, figure)| (figure, of((place, figure))))
                .collect(),
        }
    }
}

/// The ratio of each series in each resample. All series use the same random numbers.
fn resample(series: &[Option<(Series, bool)>], settings: &ResampleSettings) -> Vec<Vec<f64>> {
    let draws = series.iter().flatten().map(|(series, _)| series.draws());
    let most = draws.max().unwrap_or(0);
    (0..u64::from(settings.resamples))
        .into_par_iter()
        .map_init(
            || (Uniform::new(settings.seed, Stream::TraceBlock), Vec::new()),
            |(uniform, numbers), resample| {
                let from = resample * most as u64;
                numbers.clear();
                numbers.extend((0..most as u64).map(|draw| uniform.at(from + draw)));
                let ratio = |series: &Option<(Series, bool)>| {
                    series
                        .as_ref()
                        .map_or(f64::NAN, |(series, _)| series.resample(numbers))
                };
                series.iter().map(ratio).collect()
            },
        )
        .collect()
}

/// Two sums of a cell, whose ratio over all cells is a figure, and its length in time, s.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sums {
    over: f64,
    under: f64,
    seconds: f64,
}

/// A ratio of two sums, prepared for resampling.
struct Series {
    ratio: f64,
    /// Cells in a block, blocks of a resample (not rounded), and the mean length of a block, s.
    block: usize,
    blocks: f64,
    block_s: f64,
    cells: usize,
    /// Prefix sums of both, with the first block repeated at the end.
    over: Vec<f64>,
    under: Vec<f64>,
}

impl Series {
    /// `None` if the ratio has no denominator.
    fn new(sums: &[Sums], settings: &ResampleSettings) -> Option<Self> {
        let total = |of: fn(&Sums) -> f64| sums.iter().map(of).sum::<f64>();
        let (over, under, length) = (
            total(|sums| sums.over),
            total(|sums| sums.under),
            total(|sums| sums.seconds),
        );
        if under <= 0.0 {
            return None;
        }
        let ratio = over / under;
        let cells = sums.len();
        let count = to_f64(cells as u64);
        let most = (cells / 3).max(1);
        let block = match settings.block {
            Some(_) if length <= 0.0 => 1,
            Some(block) => {
                let wanted = floor_u64((block.as_secs_f64() / length * count).round());
                usize::try_from(wanted).unwrap_or(most).clamp(1, most)
            }
            None => {
                // To first order the ratio varies as the mean of these does.
                let deviations: Vec<f64> = sums
                    .iter()
                    .map(|sums| sums.over - ratio * sums.under)
                    .collect();
                block_length(&deviations, MOST_BLOCKS)
            }
        };
        let blocks = count / to_f64(block as u64);
        let prefix = |of: fn(&Sums) -> f64| {
            let mut sum = 0.0;
            let more = sums.iter().chain(&sums[..block]).map(|sums| {
                sum += of(sums);
                sum
            });
            std::iter::once(0.0).chain(more).collect::<Vec<f64>>()
        };
        Some(Self {
            ratio,
            block,
            blocks,
            block_s: length / blocks,
            cells,
            over: prefix(|sums| sums.over),
            under: prefix(|sums| sums.under),
        })
    }

    /// Number of blocks that a resample draws.
    fn draws(&self) -> usize {
        self.cells.div_ceil(self.block)
    }

    /// The ratio of the resample of these random numbers; infinite or NaN without a denominator.
    fn resample(&self, numbers: &[f64]) -> f64 {
        let cells = to_f64(self.cells as u64);
        let (mut over, mut under, mut missing) = (0.0, 0.0, self.cells);
        for number in &numbers[..self.draws()] {
            let start = usize::try_from(floor_u64(number * cells)).unwrap_or(0);
            let start = start.min(self.cells - 1);
            let end = start + self.block.min(missing);
            over += self.over[end] - self.over[start];
            under += self.under[end] - self.under[start];
            missing -= end - start;
        }
        over / under
    }

    /// Ends of the interval by the ratios of the resamples; `None` if there is one block only, or one has no denominator.
    fn interval(&self, mut ratios: Vec<f64>) -> Option<(f64, f64)> {
        if ratios.is_empty() || ratios.iter().any(|ratio| !ratio.is_finite()) {
            return None;
        }
        ratios.sort_by(f64::total_cmp);
        let wider = widening(self.blocks);
        let end = |share: f64| self.ratio + (order_statistic(&ratios, share) - self.ratio) * wider;
        let (low, high) = (end(TAIL), end(1.0 - TAIL));
        (low.is_finite() && high.is_finite()).then_some((low, high))
    }
}

/// The value at rank (n + 1) · `share`, between neighbours in proportion (Davison 1997, Sec. 2.4).
fn order_statistic(sorted: &[f64], share: f64) -> f64 {
    let rank = (to_f64(sorted.len() as u64 + 1) * share).max(1.0);
    let below = usize::try_from(floor_u64(rank))
        .unwrap_or(1)
        .min(sorted.len());
    let low = sorted[below - 1];
    let high = sorted[below.min(sorted.len() - 1)];
    low + (high - low) * (rank - to_f64(below as u64)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests;
