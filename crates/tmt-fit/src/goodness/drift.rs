//! Whether the loss ratio is the same throughout: a test against drift and level shifts that bursts do not set off.
//!
//! The slots are cut into a few blocks of equal length. Without drift, the losses of blocks that are much longer than
//! bursts and sojourns are nearly independent of each other, so that any order of the blocks is as likely. The test counts the orders
//! that look as much like a drift as the order of the trace (a permutation test, Fisher 1935): exact for independent
//! blocks, regardless of the distribution of their losses.
//!
//! Two statistics look for two kinds of change. The sum of squared deviations up to each bound between blocks, weighted as
//! Anderson and Darling (1952) do, has half of its weight on a linear trend. The largest contrast of an interval of blocks
//! with the others is that of a level that comes and goes. The p-value is that of the smaller of their two p-values, among all
//! orders (Westfall and Young 1993), so that looking twice costs no false alarms.

use serde::Serialize;
use tmt_core::math::num;
use tmt_core::math::rng::{Stream, Uniform};
use tmt_core::types::to_f64;

use crate::sequence::{Segment, Sequence};

/// Loss ratios over the trace, and how likely such differences are without drift.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Drift {
    /// Loss ratios of blocks of equal length, in order; empty without a test.
    pub block_loss_ratios: Vec<f64>,
    /// Slots of a block; null without a test.
    pub block_slots: Option<u64>,
    /// Correlation of the losses of neighbouring cells, each a 256th of the trace, within a 16th of it; null with too few
    /// bursts or slots for it.
    pub cell_correlation: Option<f64>,
    /// Probability of blocks that differ as much or more without drift; null without a test.
    pub p_value: Option<f64>,
}

/// Cells for the correlation.
const CELLS: usize = 256;

/// Number of blocks, and of stretches of cells for the correlation.
const BLOCKS: usize = 16;

/// Correlation of cells from which blocks are not independent enough, and fewer are taken.
const CORRELATED: f64 = 0.2;

/// Blocks then.
const FEWER_BLOCKS: usize = 8;

/// Fewest bursts for a test.
const FEWEST_BURSTS: u64 = 20;

/// Orders of the blocks that are drawn.
const ORDERS: u64 = 1999;

impl Drift {
    /// Of a sequence, whose segments count as joined.
    #[must_use]
    pub fn of(sequence: &Sequence) -> Self {
        let cell_slots = sequence.slots() / CELLS as u64;
        if cell_slots == 0 || sequence.burst_count() < FEWEST_BURSTS {
            return Self::default();
        }
        let cells = losses(sequence, cell_slots);
        let correlation = correlation(&cells);
        let blocks = if correlation > CORRELATED {
            FEWER_BLOCKS
        } else {
            BLOCKS
        };
        let joined = CELLS / blocks;
        let slots = cell_slots * joined as u64;
        let blocks: Vec<f64> = cells
            .chunks(joined)
            .map(|cells| cells.iter().sum())
            .collect();
        Self {
            block_loss_ratios: blocks.iter().map(|lost| lost / to_f64(slots)).collect(),
            block_slots: Some(slots),
            cell_correlation: Some(correlation),
            p_value: Some(p_value(&blocks)),
        }
    }
}

/// Losses in each of the [`CELLS`] of this many slots.
fn losses(sequence: &Sequence, cell_slots: u64) -> Vec<f64> {
    let mut cells = vec![0.0; CELLS];
    let mut at = 0;
    for (lost, length) in sequence.segments.iter().flat_map(Segment::iter) {
        let (mut from, end) = (at, (at + length).min(cell_slots * CELLS as u64));
        at += length;
        while lost && from < end {
            let cell = from / cell_slots;
            let to = end.min((cell + 1) * cell_slots);
            cells[usize::try_from(cell).unwrap_or(usize::MAX)] += to_f64(to - from);
            from = to;
        }
    }
    cells
}

/// Mean correlation of neighbouring cells over the stretches. The mean of a stretch is its own, so that a drift does not
/// count, and a shift counts in one stretch only.
fn correlation(cells: &[f64]) -> f64 {
    let (mut sum, mut stretches) = (0.0, 0.0);
    for stretch in cells.chunks(CELLS / BLOCKS) {
        let mean = stretch.iter().sum::<f64>() / to_f64(stretch.len() as u64);
        let squares: f64 = stretch.iter().map(|x| (x - mean) * (x - mean)).sum();
        if squares > 0.0 {
            let pairs = stretch
                .windows(2)
                .map(|two| (two[0] - mean) * (two[1] - mean));
            sum += pairs.sum::<f64>() / squares;
            stretches += 1.0;
        }
    }
    if stretches > 0.0 {
        sum / stretches
    } else {
        0.0
    }
}

/// The statistics of blocks: the sum over the bounds between them of (deviation from the mean up to there)² / (blocks before ·
/// blocks after), and the largest such term of an interval of two blocks and more, with two of them outside. A single block
/// differs as much in any order.
fn statistics(blocks: &[f64], mean: f64) -> [f64; 2] {
    let n = blocks.len();
    let mut sums = vec![0.0; n + 1];
    for (k, block) in blocks.iter().enumerate() {
        sums[k + 1] = sums[k] + block - mean;
    }
    let term = |from: usize, to: usize| {
        let (sum, inside) = (sums[to] - sums[from], to - from);
        sum * sum / to_f64((inside * (n - inside)) as u64)
    };
    let trend = (1..n).map(|to| term(0, to)).sum();
    let intervals = (0..n).flat_map(|from| (from + 2..=n).map(move |to| (from, to)));
    let inner = intervals.filter(|(from, to)| to - from + 2 <= n);
    let level = inner.map(|(from, to)| term(from, to)).fold(0.0, f64::max);
    [trend, level]
}

/// Share of the orders of the blocks, with the order as it is, that differ as much.
fn p_value(blocks: &[f64]) -> f64 {
    let mean = blocks.iter().sum::<f64>() / to_f64(blocks.len() as u64);
    let mut order = blocks.to_vec();
    let mut uniform = Uniform::new(1, Stream::BlockOrder);
    let mut draw = 0;
    let mut all = vec![statistics(blocks, mean)];
    for _ in 0..ORDERS {
        for last in (1..order.len()).rev() {
            let other = num::floor_u64(uniform.at(draw) * to_f64(last as u64 + 1));
            order.swap(last, usize::try_from(other).unwrap_or(last).min(last));
            draw += 1;
        }
        all.push(statistics(&order, mean));
    }
    // For each order, how many have a statistic as large, of the one that fewer have.
    let ranks = [0, 1].map(|which| {
        let mut sorted: Vec<f64> = all.iter().map(|both| both[which]).collect();
        sorted.sort_by(f64::total_cmp);
        // Sums in another order differ in their last digits.
        let below = |value: f64| sorted.partition_point(|other| *other < value * (1.0 - 1e-9));
        all.iter()
            .map(|both| sorted.len() - below(both[which]))
            .collect::<Vec<usize>>()
    });
    let least: Vec<usize> = ranks[0]
        .iter()
        .zip(&ranks[1])
        .map(|(a, b)| *a.min(b))
        .collect();
    let as_rare = least.iter().filter(|rank| **rank <= least[0]).count();
    to_f64(as_rare as u64) / to_f64(least.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    use proptest::prelude::*;
    use test_support::{depth, report, seed};

    /// A generator of its own, quick enough for 10^10 slots: SplitMix64.
    struct Random(u64);

    impl Random {
        fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            to_f64((z ^ (z >> 31)) >> 11) / to_f64(1 << 53)
        }

        /// Trials up to the first success.
        fn trials(&mut self, p: f64) -> u64 {
            if p >= 1.0 {
                return 1;
            }
            num::floor_u64((num::log1p(-self.uniform()) / num::log1p(-p)).min(1e15)) + 1
        }

        /// From `low` to `high`, uniform in the logarithm.
        fn scale(&mut self, low: f64, high: f64) -> f64 {
            num::exp(num::ln(low) + self.uniform() * num::ln(high / low))
        }
    }

    /// A Gilbert–Elliott process.
    #[derive(Debug, Clone, Copy)]
    struct Process {
        good_slots: f64,
        bad_slots: f64,
        pg: f64,
        pb: f64,
    }

    impl Process {
        /// Slots over which the correlation of the states falls to 1/e.
        fn correlation_slots(&self) -> f64 {
            -1.0 / num::log1p(-1.0 / self.good_slots - 1.0 / self.bad_slots)
        }

        fn bursts(&self) -> f64 {
            let good = self.pg * (1.0 - self.pg) * self.good_slots;
            let bad = self.pb * (1.0 - self.pb) * self.bad_slots + self.pb;
            (good + bad) / (self.good_slots + self.bad_slots)
        }

        /// A trace of the stationary process whose mean good sojourn at share u of the trace is `good_slots`/`factor(u)`.
        fn trace(&self, slots: u64, random: &mut Random, factor: impl Fn(f64) -> f64) -> Sequence {
            let mut segment = Segment::default();
            let (mut at, mut bad) = (
                0,
                random.uniform() * (self.good_slots + self.bad_slots) < self.bad_slots,
            );
            while at < slots {
                let mean = if bad {
                    self.bad_slots
                } else {
                    self.good_slots / factor(to_f64(at) / to_f64(slots))
                };
                let p = if bad { self.pb } else { self.pg };
                let end = slots.min(at + random.trials(1.0 / mean));
                while at < end {
                    let received = if p > 0.0 {
                        random.trials(p) - 1
                    } else {
                        end - at
                    };
                    segment.push(false, received.min(end - at));
                    at = end.min(at + received);
                    if at < end {
                        segment.push(true, 1);
                        at += 1;
                    }
                }
                bad = !bad;
            }
            Sequence::from(segment)
        }
    }

    /// Any process of at least 40 bursts and so many correlation times in a trace.
    fn stationary(slots: u64, times: &Range<f64>, random: &mut Random) -> Process {
        loop {
            let half = |random: &mut Random| random.uniform() < 0.5;
            let process = Process {
                good_slots: random.scale(4.0, 30_000.0),
                bad_slots: random.scale(1.01, 3_000.0),
                pg: if half(random) {
                    0.0
                } else {
                    random.scale(1e-4, 1e-2)
                },
                pb: if half(random) {
                    1.0
                } else {
                    0.1 + 0.9 * random.uniform()
                },
            };
            let correlation_times = to_f64(slots) / process.correlation_slots().max(1.0);
            if process.bursts() * to_f64(slots) >= 40.0 && times.contains(&correlation_times) {
                return process;
            }
        }
    }

    /// Shares of tests below 5 and 1 %, and tests that there were.
    fn rejected(traces: impl Iterator<Item = Sequence>) -> ([f64; 2], u32) {
        let (mut below, mut tests) = ([0.0; 2], 0_u32);
        for p in traces.filter_map(|trace| Drift::of(&trace).p_value) {
            tests += 1;
            for (below, level) in below.iter_mut().zip([0.05, 0.01]) {
                *below += f64::from(u8::from(p <= level));
            }
        }
        (below.map(|count| count / f64::from(tests)), tests)
    }

    /// 5 % of stationary traces are rejected, regardless of their bursts: among all sets, and among those of long bursts.
    #[test]
    fn stationary_traces_are_rejected_as_often_as_said() {
        let mut random = Random(depth(1, seed()));
        let (sets, traces) = depth((40, 25), (250, 100));
        let kinds = [
            ("all", 1.0, 100.0..f64::INFINITY),
            ("bad for 100 slots and more", 100.0, 100.0..f64::INFINITY),
            ("50 to 100 correlation times", 1.0, 50.0..100.0),
            ("25 to 50 correlation times", 1.0, 25.0..50.0),
        ];
        // How fast it gets worse beyond the limit is for docs/fit.md.
        for (name, long, times) in kinds.into_iter().take(depth(2, 4)) {
            let mut worst: f64 = 0.0;
            let mut sum = [0.0; 2];
            let mut all = 0.0;
            for _ in 0..sets {
                let slots =
                    num::floor_u64(random.scale(1e4, if times.start < 100.0 { 4e4 } else { 3e5 }));
                let process = loop {
                    let process = stationary(slots, &times, &mut random);
                    if process.bad_slots >= long {
                        break process;
                    }
                };
                let (shares, tests) =
                    rejected((0..traces).map(|_| process.trace(slots, &mut random, |_| 1.0)));
                worst = worst.max(shares[0]);
                for (sum, share) in sum.iter_mut().zip(shares) {
                    *sum += if tests > 0 {
                        share * f64::from(tests)
                    } else {
                        0.0
                    };
                }
                all += f64::from(tests);
            }
            let [five, one] = sum.map(|sum| sum / all);
            report(&format!(
                "{name}: {five:.4} at 5 %, {one:.4} at 1 %, {worst:.3} of a set at most, of {all}"
            ));
            if times.start < 100.0 {
                assert!(five < 0.13, "{name}: {five}");
                continue;
            }
            assert!((0.035..=0.065).contains(&five), "{name}: {five}");
            assert!((0.004..=0.02).contains(&one), "{name}: {one}");
            assert!(worst < depth(0.41, 0.2), "{name}: {worst}");
        }
    }

    /// Losses from 0.8 to 1.2 % over 10^6 slots, in bursts of up to 8 slots.
    #[test]
    fn drifts_and_shifts_are_found() {
        let mut random = Random(depth(2, seed()));
        let traces = depth(50, 1000);
        let mut power = |mean_burst: f64, factor: fn(f64) -> f64| {
            let process = Process {
                good_slots: mean_burst * 99.0,
                bad_slots: mean_burst,
                pg: 0.0,
                pb: 1.0,
            };
            let (shares, tests) =
                rejected((0..traces).map(|_| process.trace(1_000_000, &mut random, factor)));
            assert_eq!(tests, traces);
            report(&format!("bursts of {mean_burst}: {:.3}", shares[0]));
            shares[0]
        };
        for mean_burst in [1.01, 2.0, 4.0, 5.0] {
            assert!(power(mean_burst, |u| 0.8 + 0.4 * u) >= 0.8);
        }
        power(8.0, |u| 0.8 + 0.4 * u);
        // A step up for a quarter of the trace, and one in its middle part only.
        assert!(power(4.0, |u| if u < 0.25 { 1.4 } else { 1.0 }) >= 0.8);
        assert!(power(4.0, |u| if (0.4..0.7).contains(&u) { 1.5 } else { 1.0 }) >= 0.8);
    }

    #[test]
    fn without_bursts_there_is_no_test() {
        for few in [vec![false; 10_000], vec![true; 300], vec![]] {
            assert_eq!(Drift::of(&Sequence::of(few.into_iter())), Drift::default());
        }
    }

    /// All 720 orders of six blocks.
    #[test]
    fn orders_that_are_drawn_stand_for_all_orders() {
        fn orders(left: &mut Vec<f64>, taken: &mut Vec<f64>, each: &mut dyn FnMut(&[f64])) {
            if left.is_empty() {
                each(taken);
            }
            for at in 0..left.len() {
                taken.push(left.remove(at));
                orders(left, taken, each);
                left.insert(at, taken.pop().unwrap());
            }
        }
        for blocks in [
            [1.0, 2.0, 4.0, 3.0, 5.0, 9.0],
            [5.0, 1.0, 2.0, 8.0, 3.0, 4.0],
            [0.0, 0.0, 0.0, 7.0, 0.0, 0.0],
        ] {
            // Of each interval: the difference of the means inside and outside, squared, times what it weighs.
            let contrast = |blocks: &[f64], from: usize, to: usize| {
                let inside: f64 = blocks[from..to].iter().sum();
                let outside: f64 = blocks.iter().sum::<f64>() - inside;
                let m = to_f64((to - from) as u64);
                let apart = inside / m - outside / (6.0 - m);
                apart * apart * m * (6.0 - m)
            };
            let trend = |blocks: &[f64]| (1..6).map(|to| contrast(blocks, 0, to)).sum::<f64>();
            let level = |blocks: &[f64]| {
                let pairs = [
                    (0, 2),
                    (1, 3),
                    (2, 4),
                    (3, 5),
                    (4, 6),
                    (0, 3),
                    (1, 4),
                    (2, 5),
                    (0, 4),
                    (1, 5),
                ];
                pairs
                    .map(|(from, to)| contrast(blocks, from, to))
                    .into_iter()
                    .fold(0.0, f64::max)
            };
            let mut all = Vec::new();
            orders(&mut blocks.to_vec(), &mut Vec::new(), &mut |order| {
                all.push([trend(order), level(order)]);
            });
            let share = |of: &[f64; 2]| {
                let count = |which: usize| {
                    all.iter()
                        .filter(|one| one[which] >= of[which] - 1e-9)
                        .count()
                };
                count(0).min(count(1))
            };
            let own = share(&[trend(&blocks), level(&blocks)]);
            let as_large = to_f64(all.iter().filter(|one| share(one) <= own).count() as u64);
            let all = to_f64(all.len() as u64);
            assert!(
                (p_value(&blocks) - as_large / all).abs() < 0.02,
                "{blocks:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn cells_have_the_losses_of_their_slots(slots in prop::collection::vec(any::<bool>(), 600..1200), cut in 0_usize..600) {
            let (one, other) = slots.split_at(cut);
            let segments = [one, other].map(|slots| Sequence::of(slots.iter().copied()).segments).concat();
            let each = slots.len() / CELLS;
            let counted: Vec<f64> = slots.chunks_exact(each).take(CELLS)
                .map(|cell| to_f64(cell.iter().filter(|lost| **lost).count() as u64)).collect();
            prop_assert_eq!(losses(&Sequence { segments }, each as u64), counted);
        }
    }
}
