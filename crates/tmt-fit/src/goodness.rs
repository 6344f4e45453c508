//! How well a model describes a trace: lengths of bursts and gaps, and losses over several time scales.

pub mod drift;

use serde::Serialize;
use statrs::distribution::{ChiSquared, ContinuousCDF as _};
use tmt_core::stats::runs::RunLengths;
use tmt_core::types::to_f64;

use crate::law::{Law, Nearby, SHIFT};
use crate::sequence::{Segment, Sequence, block_variance};

/// Pearson's test of run lengths.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunTest {
    /// Runs that are compared: those that begin and end within a segment.
    pub runs: u64,
    /// Mean of their lengths, slots; null without runs.
    pub mean_slots: Option<f64>,
    /// Mean length of the model, slots; null if it has no such runs.
    pub model_mean_slots: Option<f64>,
    /// Cells of the test; 0 if there are too few runs for one.
    pub cells: u64,
    /// Sum of squared differences over what is expected, times what brings its mean to `degrees_of_freedom`; null without a
    /// test.
    pub chi_square: Option<f64>,
    /// Degrees of freedom of the chi-square distribution with the mean and the variance that the sum has if the model holds,
    /// with its parameters estimated from the trace; null without a test.
    pub degrees_of_freedom: Option<f64>,
    /// Probability of a larger sum if the model holds; null without a test.
    pub p_value: Option<f64>,
}

/// Fewest runs for a test.
const FEWEST_RUNS: u64 = 20;

/// A test needs this many whole runs for each that is cut.
const MOST_CUT: u64 = 10;

/// Fewest runs that a cell expects.
const EXPECTED: f64 = 5.0;

/// Most cells.
const CELLS: f64 = 30.0;

/// Compares run lengths with a fitted law.
pub(crate) fn test_runs(law: &dyn Law, near: &Nearby, sequence: &Sequence, lost: bool) -> RunTest {
    let whole = sequence.whole_lengths(lost);
    let runs: u64 = whole.values().sum();
    let slots: u64 = whole.iter().map(|(length, count)| length * count).sum();
    let mut test = RunTest {
        runs,
        mean_slots: tmt_core::stats::ratio(slots, runs),
        model_mean_slots: known(mean_run(law, lost)),
        cells: 0,
        chi_square: None,
        degrees_of_freedom: None,
        p_value: None,
    };
    // A law that consists of the lengths of the trace has them in any case.
    // Cut runs are long ones, so without many of them the rest is not as the model says.
    let all = if lost {
        sequence.bursts()
    } else {
        sequence.gaps()
    };
    let cut = all.values().sum::<u64>() - runs;
    if runs < FEWEST_RUNS || cut * MOST_CUT > runs || law.lengths().is_some() {
        return test;
    }
    let (chi_square, edges) = pearson(law, &whole, lost, to_f64(runs));
    let cells = edges.len() as u64;
    test.cells = cells;
    if cells < 2 {
        return test;
    }
    let Some((mean, variance)) = moments(law, near, lost, &edges, to_f64(runs)) else {
        return test;
    };
    // The chi-square with the same mean and variance (Satterthwaite 1946).
    let freedom = 2.0 * mean * mean / variance;
    let chi_square = chi_square * freedom / mean;
    test.chi_square = Some(chi_square);
    test.degrees_of_freedom = Some(freedom);
    test.p_value = ChiSquared::new(freedom).ok().map(|law| law.sf(chi_square));
    test
}

/// Mean and variance of Pearson's statistic in cells with these first lengths if the law holds: of a sum of squared normal
/// numbers, 1 and 2 times the sums of the first and second powers of the eigenvalues of their covariance. That is the one of
/// the counts, in which lengths of neighbouring runs depend on each other through the states (Rao and Scott 1981), less
/// that part of it to which parameters of largest likelihood adapt (Pierce 1982).
fn moments(
    law: &dyn Law,
    near: &Nearby,
    lost: bool,
    edges: &[u64],
    runs: f64,
) -> Option<(f64, f64)> {
    let cells = law.cells(lost, edges);
    let mut covariance = law.covariance(lost, edges)?;
    let moved: Vec<Vec<f64>> = near.laws.iter().map(|law| law.cells(lost, edges)).collect();
    let slope = |k: usize, cell: usize| (moved[k][cell] - cells[cell]) / SHIFT;
    for (c, row) in covariance.iter_mut().enumerate() {
        for (d, cell) in row.iter_mut().enumerate() {
            for (k, row) in near.covariance.iter().enumerate() {
                for (l, of_logits) in row.iter().enumerate() {
                    *cell -= runs * slope(k, c) * of_logits * slope(l, d);
                }
            }
            *cell /= (cells[c] * cells[d]).sqrt();
        }
    }
    let mean: f64 = (0..cells.len()).map(|c| covariance[c][c]).sum();
    let squares: f64 = covariance.iter().flatten().map(|cell| cell * cell).sum();
    Some((mean, 2.0 * squares)).filter(|(mean, squares)| *mean > 0.0 && squares.is_finite())
}

/// A number, but neither NaN nor infinite.
fn known(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

/// Mean length of a run: slots of its kind over the number of runs, which is that of changes.
fn mean_run(law: &dyn Law, lost: bool) -> f64 {
    let p = law.loss();
    let both = law.both_lost(1).first().copied().unwrap_or(f64::NAN);
    (if lost { p } else { 1.0 - p }) / (p - both)
}

/// The statistic, and the cells, each of neighbouring lengths: the first length of each.
fn pearson(law: &dyn Law, counts: &RunLengths, lost: bool, runs: f64) -> (f64, Vec<u64>) {
    /// Longest length that is looked at.
    const LONGEST: u64 = 1 << 27;
    let least = EXPECTED.max(runs / CELLS);
    let (mut statistic, mut edges) = (0.0, Vec::new());
    let (mut from, mut above) = (1_u64, 1.0);
    let observed = |from: u64, to: Option<u64>| {
        let range = match to {
            Some(to) => counts.range(from..to),
            None => counts.range(from..),
        };
        to_f64(range.map(|(_, count)| count).sum())
    };
    let mut end = |from: u64, expected: f64, observed: f64| {
        if expected > 0.0 {
            statistic += (observed - expected) * (observed - expected) / expected;
            edges.push(from);
        }
    };
    // The tail of length 2 ends the cell of length 1, and so on.
    for (tail, length) in law.tails(lost).skip(1).zip(2_u64..=LONGEST) {
        if runs * tail < least {
            // The rest would be too small for a cell of its own.
            break;
        }
        let expected = runs * (above - tail);
        if expected >= least {
            end(from, expected, observed(from, Some(length)));
            (from, above) = (length, tail);
        }
    }
    end(from, runs * above, observed(from, None));
    (statistic, edges)
}

/// Losses at one time scale.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scale {
    /// Length of a block, and distance of two slots.
    pub slots: u64,
    /// Correlation of the losses of slots this far apart; null where there are none.
    pub autocorrelation: Option<f64>,
    /// The same of the model; null if it loses nothing or all.
    pub model_autocorrelation: Option<f64>,
    /// Number of whole blocks.
    pub blocks: u64,
    /// Variance of the number of losses in a block over that of independent losses; null below two blocks.
    pub dispersion: Option<f64>,
    /// Standard error of the dispersion if blocks were normal and independent; null as well.
    pub dispersion_se: Option<f64>,
    /// The dispersion of the model; null as the correlation.
    pub model_dispersion: Option<f64>,
}

/// Lengths of blocks, slots.
pub const SCALES: [u64; 4] = [1, 10, 100, 1000];

/// Losses of a trace at each scale.
#[derive(Debug, Clone)]
pub(crate) struct Measured(Vec<(Option<f64>, u64, Option<f64>)>);

impl Measured {
    pub(crate) fn of(sequence: &Sequence) -> Self {
        let p = to_f64(sequence.lost()) / to_f64(sequence.slots());
        let scale = |scale: u64| {
            let (both, pairs) = sequence.segments.iter().fold((0, 0), |(both, pairs), one| {
                let (more, all) = both_lost(one, scale);
                (both + more, pairs + all)
            });
            let independent = p * (1.0 - p);
            let correlation = (pairs > 0 && independent > 0.0)
                .then(|| (to_f64(both) / to_f64(pairs) - p * p) / independent);
            let (blocks, variance) = block_variance(sequence, scale);
            let dispersion = variance.filter(|_| independent > 0.0);
            let dispersion = dispersion.map(|v| v / (to_f64(scale) * independent));
            (correlation, blocks, dispersion)
        };
        Self(SCALES.into_iter().map(scale).collect())
    }

    /// The same with what a model says.
    pub(crate) fn beside(&self, law: &dyn Law) -> Vec<Scale> {
        let most = SCALES.iter().max().copied().unwrap_or(1);
        let most = usize::try_from(most).unwrap_or(1);
        let p = law.loss();
        let independent = p * (1.0 - p);
        let covariance: Vec<f64> = law
            .both_lost(most)
            .iter()
            .map(|both| both - p * p)
            .collect();
        let measured = SCALES.iter().zip(&self.0);
        let scale = measured.map(|(scale, (autocorrelation, blocks, dispersion))| {
            let m = to_f64(*scale);
            let pairs = (1..*scale).zip(&covariance);
            let pairs: f64 = pairs.map(|(k, c)| (m - to_f64(k)) * c).sum();
            let at = usize::try_from(*scale).unwrap_or(1) - 1;
            let blocks = *blocks;
            Scale {
                slots: *scale,
                autocorrelation: *autocorrelation,
                model_autocorrelation: known(covariance[at] / independent),
                blocks,
                dispersion: *dispersion,
                dispersion_se: dispersion.map(|d| d * (2.0 / to_f64(blocks - 1)).sqrt()),
                model_dispersion: known(1.0 + 2.0 * pairs / (m * independent)),
            }
        });
        scale.collect()
    }
}

/// Pairs of slots `apart` from each other: the number with both lost, and of all.
fn both_lost(segment: &Segment, apart: u64) -> (u64, u64) {
    let mut bursts = Vec::new();
    let mut at = 0;
    for (lost, length) in segment.iter() {
        if lost {
            bursts.push((at, at + length));
        }
        at += length;
    }
    let (mut both, mut other) = (0, 0);
    for (from, to) in &bursts {
        let (from, to) = (from + apart, to + apart);
        while bursts.get(other).is_some_and(|burst| burst.1 <= from) {
            other += 1;
        }
        for burst in bursts[other..].iter().take_while(|burst| burst.0 < to) {
            both += to.min(burst.1) - from.max(burst.0);
        }
    }
    (both, at.saturating_sub(apart))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::models::{Data, MODELS};
    use crate::sequence::Coded;
    use proptest::prelude::*;
    use tmt_core::channel::Channel;

    proptest! {
        #[test]
        fn scales_equal_counting_slot_by_slot(slots in prop::collection::vec(prop::bool::weighted(0.3), 2..300), scale in 1u64..20) {
            let sequence = Sequence::of(slots.iter().copied());
            let apart = usize::try_from(scale).unwrap();
            let both = slots.windows(apart + 1).filter(|w| w[0] && w[apart]).count() as u64;
            let pairs = slots.len().saturating_sub(apart) as u64;
            prop_assert_eq!(both_lost(&sequence.segments[0], scale), (both, pairs));
            let counts: Vec<f64> = slots.chunks_exact(apart)
                .map(|block| to_f64(block.iter().filter(|lost| **lost).count() as u64)).collect();
            let n = to_f64(counts.len() as u64);
            let mean = counts.iter().sum::<f64>() / n;
            let variance = counts.iter().map(|c| (c - mean) * (c - mean)).sum::<f64>() / (n - 1.0);
            let (blocks, found) = block_variance(&sequence, scale);
            prop_assert_eq!(blocks, counts.len() as u64);
            if let Some(found) = found {
                prop_assert!((found - variance).abs() < 1e-9);
            }
        }
    }

    /// Means of the law itself, by a long run of the process that each model prints.
    #[test]
    fn the_law_of_each_model_is_that_of_its_process() {
        let mut channel = Channel::new(
            "gilbert-elliott:alpha=0.95,beta=0.8,pg=0.01,pb=0.7"
                .parse()
                .unwrap(),
            3,
        );
        let trace = Sequence::of((0..4000).map(|_| channel.erases()));
        let coded = Coded::new(&trace);
        for model in MODELS {
            let data = Data {
                sequence: &trace,
                coded: &coded,
                stop: Options::default().stop,
                ranges: true,
            };
            let fitted = (model.fit)(&data);
            let text = (model.process)(&fitted, &fitted.values()).unwrap();
            let process: tmt_core::channel::SlotChannel = text.parse().unwrap();
            let mut losses =
                tmt_core::channel::Losses::new(&process, 7, tmt_core::channel::Use::Forward);
            let at = tmt_core::Time::ZERO;
            let long = Sequence::of((0..400_000).map(|_| losses.loses(at, tmt_core::Span::ZERO)));
            for (scale, limit) in Measured::of(&long)
                .beside(fitted.law.as_ref())
                .iter()
                .zip([0.02, 0.02, 0.02, 0.02])
            {
                let off = scale.autocorrelation.unwrap() - scale.model_autocorrelation.unwrap();
                assert!(off.abs() < limit, "{}: {scale:?}", model.name);
                let off = scale.dispersion.unwrap() / scale.model_dispersion.unwrap();
                let wide =
                    6.0 * scale.dispersion_se.unwrap() / scale.model_dispersion.unwrap() + 0.04;
                assert!((off - 1.0).abs() < wide, "{}: {scale:?}", model.name);
            }
            for lost in [false, true] {
                let test = test_runs(fitted.law.as_ref(), &Nearby::default(), &long, lost);
                assert!(
                    test.p_value.is_none_or(|p| p > 1e-4),
                    "{}: {test:?}",
                    model.name
                );
                assert_eq!(test.p_value.is_none(), model.name == "semi-markov");
                assert!(
                    (test.mean_slots.unwrap() / test.model_mean_slots.unwrap() - 1.0).abs() < 0.03,
                    "{test:?}"
                );
            }
        }
    }

    /// Under the true parameters, p-values are uniform, although lengths of neighbouring runs depend on each other.
    #[test]
    fn the_test_of_runs_keeps_its_level() {
        let theta = [0.002, 0.01, 0.05, 0.5];
        let law = crate::law::ChainLaw(crate::models::gilbert_elliott::CHAIN.matrices(&theta));
        let spec = "gilbert-elliott:alpha=0.998,beta=0.99,pg=0.05,pb=0.5";
        let mut below = [0; 2];
        for seed in 1..=100 {
            let mut channel = Channel::new(spec.parse().unwrap(), seed);
            let trace = Sequence::of((0..30_000).map(|_| channel.erases()));
            for (lost, below) in [false, true].into_iter().zip(&mut below) {
                let test = test_runs(&law, &Nearby::default(), &trace, lost);
                *below += u32::from(test.p_value.unwrap() < 0.1);
            }
        }
        // 10 of 100 are expected; a corrected mean is not quite chi-square.
        assert!(
            below.iter().all(|count| (2..=25).contains(count)),
            "{below:?}"
        );
    }
}
