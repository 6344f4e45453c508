//! Confidence intervals for runs that are not independent.
//!
//! Runs at neighbouring offsets of one trace are correlated. So blocks of neighbours are drawn instead of single runs, by the
//! circular block bootstrap (Politis and Romano 1992). The length of a block and the widening of the interval are those of
//! [`tmt_core::stats::bootstrap`], except that a block has at least n/1000 runs, since more blocks cost time without improving
//! the interval.
//!
//! Runs that overlap share part of the trace. If that is the longest correlation, as far as blocks tell, the interval is that of
//! [`overlapping`].

use tmt_core::math::num::floor_u64;
use tmt_core::math::rng::{Stream, Uniform};
use tmt_core::stats::bootstrap::{block_length, widening};
use tmt_core::types::to_f64;

use self::overlapping::half_width;
use super::Estimate;

mod overlapping;

/// Number of resampled means.
const RESAMPLES: usize = 1_000;

/// Largest number of blocks in a resampled mean.
const MOST_BLOCKS: usize = 1_000;

/// Mean and interval of each column, whose values are in the order of the runs' starts.
///
/// `overlap` is the number of successive runs that share part of the trace, 1 if none do: see [`overlap`](super::overlap). Fewer
/// than two such groups give no interval. All columns use the same random numbers, those of `seed`. An empty column gives
/// `None`.
///
/// ```
/// use fluid_tcp::simulation::replications::bootstrap;
///
/// let times: Vec<f64> = (0..100).map(|run| f64::from(run % 10)).collect();
/// let estimates = bootstrap(&[&times, &[]], 1, 1);
/// let time = estimates[0].ok_or("no runs")?;
/// assert!((time.mean - 4.5).abs() < 1e-9 && time.block.is_some());
/// assert!(estimates[1].is_none());
/// # Ok::<(), &str>(())
/// ```
#[must_use]
pub fn bootstrap(columns: &[&[f64]], seed: u64, overlap: usize) -> Vec<Option<Estimate>> {
    let series = columns.iter().map(|values| Series::new(values, overlap));
    let mut series: Vec<Option<Series>> = series.collect();
    let most = series.iter().flatten().map(|series| series.blocks).max();
    let mut draws = vec![0.0; most.unwrap_or(0)];
    let mut uniform = Uniform::new(seed, Stream::Bootstrap);
    let mut index = 0;
    for _ in 0..RESAMPLES {
        for draw in &mut draws {
            *draw = uniform.at(index);
            index += 1;
        }
        for series in series.iter_mut().flatten() {
            series.resample(&draws);
        }
    }
    series
        .into_iter()
        .map(|series| series.map(Series::estimate))
        .collect()
}

/// Values of one metric, prepared for resampling.
struct Series {
    n: usize,
    mean: f64,
    /// Number of runs in a block.
    block: usize,
    /// Number of blocks in a mean.
    blocks: usize,
    /// Half-width of the interval of the mean, if it comes from how far runs overlap.
    by_overlap: Option<f64>,
    /// Prefix sums of the deviations from the mean, with the first block repeated at the end; empty if all values are
    /// equal.
    sums: Vec<f64>,
    resampled: Vec<f64>,
}

impl Series {
    fn new(values: &[f64], overlap: usize) -> Option<Self> {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / to_f64(n as u64);
        if n == 0 {
            return None;
        }
        let deviations: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let mut pairs = values.windows(2);
        let same = pairs.all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
        let natural = block_length(&deviations, MOST_BLOCKS);
        let block = if same { n } else { natural.max(overlap).min(n) };
        // Longer blocks see what overlapping does to the variance.
        let is_known = !same && (2..=n / 2).contains(&overlap) && natural <= overlap;
        let mut sums = Vec::new();
        if !same && !is_known {
            let mut sum = 0.0;
            sums.push(sum);
            for deviation in deviations.iter().chain(&deviations[..block]) {
                sum += deviation;
                sums.push(sum);
            }
        }
        Some(Self {
            n,
            mean,
            block,
            blocks: n.div_ceil(block),
            by_overlap: is_known.then(|| half_width(&deviations, overlap)),
            sums,
            resampled: Vec::new(),
        })
    }

    fn resample(&mut self, draws: &[f64]) {
        if self.sums.is_empty() {
            return;
        }
        let n = to_f64(self.n as u64);
        let mut missing = self.n;
        let mut sum = 0.0;
        for draw in &draws[..self.blocks] {
            let from = usize::try_from(floor_u64(draw * n))
                .unwrap_or(0)
                .min(self.n - 1);
            let length = self.block.min(missing);
            sum += self.sums[from + length] - self.sums[from];
            missing -= length;
        }
        self.resampled.push(sum / n);
    }

    fn estimate(mut self) -> Estimate {
        let (n, block) = (to_f64(self.n as u64), to_f64(self.block as u64));
        self.resampled.sort_by(f64::total_cmp);
        let tail = RESAMPLES / 40;
        let half = match (
            self.by_overlap,
            self.resampled.get(tail - 1),
            self.resampled.get(RESAMPLES - tail),
        ) {
            (Some(half), ..) => Some(half),
            (None, Some(low), Some(high)) => {
                let half = (high - low) / 2.0 * widening(n / block);
                Some(half).filter(|_| self.n >= 2 * self.block)
            }
            _ if self.n > 1 => Some(0.0),
            _ => None,
        };
        Estimate {
            mean: self.mean,
            ci95: half,
            runs: self.n,
            block: Some(self.block),
        }
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::math::num::cbrt;
    use tmt_core::math::rng::{Stream, Uniform};

    use super::*;
    use crate::simulation::replications::estimate;

    /// x_i = φ x_(i − 1) + e_i, e uniform.
    fn autoregressive(phi: f64, n: usize, seed: u64) -> Vec<f64> {
        let mut uniform = Uniform::new(seed, Stream::FlowStart);
        let mut value = 0.0;
        let all = (0..n as u64 + 100).map(|index| {
            value = phi * value + uniform.at(index) - 0.5;
            value
        });
        all.skip(100).collect()
    }

    /// Half-width of the bootstrap over Student's, mean of 20 series.
    fn ratio(phi: f64, n: usize) -> f64 {
        let ratios = (1..=20).map(|seed| {
            let values = autoregressive(phi, n, seed);
            let ours = bootstrap(&[&values], seed, 1)[0].unwrap();
            let student_t = estimate(&values).unwrap();
            assert!((ours.mean - student_t.mean).abs() < 1e-12);
            ours.ci95.unwrap() / student_t.ci95.unwrap()
        });
        ratios.sum::<f64>() / 20.0
    }

    #[test]
    fn for_independent_values_the_interval_is_that_of_student() {
        for n in [10, 200, 3_000] {
            let ratio = ratio(0.0, n);
            assert!((0.9..1.15).contains(&ratio), "{n}: {ratio}");
        }
    }

    #[test]
    fn for_correlated_values_the_interval_is_wider_by_the_known_factor() {
        // The variance of the mean of an AR(1) series is (1 + φ)/(1 − φ) that of independent values.
        for (phi, factor) in [(0.6, 2.0), (0.8, 3.0)] {
            let ratio = ratio(phi, 5_000);
            assert!(
                (0.85 * factor..1.1 * factor).contains(&ratio),
                "{phi}: {ratio}"
            );
        }
    }

    #[test]
    fn blocks_are_as_long_as_the_rule_says() {
        // G = 2σ²φ/(1 − φ)², Σ R = σ²(1 + φ)/(1 − φ): b³ = n · 3/2 · (2φ/(1 − φ²))².
        let (phi, n) = (0.6_f64, 20_000_usize);
        let values = autoregressive(phi, n, 3);
        let block = bootstrap(&[&values], 1, 1)[0].unwrap().block.unwrap();
        let slope = 2.0 * phi / (1.0 - phi * phi);
        let b3 = 20_000.0 * 1.5 * slope * slope;
        let exact = cbrt(b3);
        let got = to_f64(block as u64);
        assert!(
            (0.7 * exact..1.4 * exact).contains(&got),
            "{got} for {exact}"
        );
    }

    /// Each value is a mean over a stretch of a series, which moves by one from value to value, and a part of its own, `own` times as
    /// large.
    #[test]
    fn intervals_of_overlapping_runs_cover_the_mean() {
        let coverage = |n: usize, overlap: usize, taken: usize, own: f64| {
            let trials = 1000;
            let covered = (0..trials).filter(|trial| {
                let series = autoregressive(0.3, n + overlap, *trial);
                let mut noise = Uniform::new(*trial, Stream::TransferStart);
                let values = (0..n).map(|start| {
                    let shared = series[start..start + overlap].iter().sum::<f64>();
                    let shared = shared / to_f64(overlap as u64).sqrt();
                    shared + own * (noise.at(start as u64) - 0.5)
                });
                let values: Vec<f64> = values.collect();
                let estimate = bootstrap(&[&values], 1, taken)[0].unwrap();
                estimate.mean.abs() <= estimate.ci95.unwrap()
            });
            to_f64(covered.count() as u64) / to_f64(trials)
        };
        for own in [0.0, 0.5, 2.0] {
            for (n, overlap) in [(16, 2), (16, 5), (30, 5), (60, 20), (300, 30)] {
                let covered = coverage(n, overlap, overlap, own);
                assert!(
                    (0.91..=0.97).contains(&covered),
                    "{n} {overlap} {own}: {covered}"
                );
            }
        }
        let ignorant = coverage(16, 5, 1, 0.0);
        assert!(ignorant < 0.9, "{ignorant}");
    }

    #[test]
    fn runs_that_all_overlap_have_no_interval() {
        let values = autoregressive(0.0, 16, 1);
        assert_eq!(bootstrap(&[&values], 1, 9)[0].unwrap().ci95, None);
        assert_eq!(bootstrap(&[&values], 1, 99)[0].unwrap().ci95, None);
    }

    #[test]
    fn few_values_and_equal_ones() {
        assert!(bootstrap(&[&[]], 1, 1)[0].is_none());
        assert_eq!(bootstrap(&[&[3.0]], 1, 1)[0].unwrap().ci95, None);
        assert_eq!(bootstrap(&[&[3.0; 7]], 1, 1)[0].unwrap().ci95, Some(0.0));
        for n in 2..8 {
            let values: Vec<f64> = (0..n).map(f64::from).collect();
            let width = bootstrap(&[&values], 1, 1)[0].unwrap().ci95.unwrap();
            assert!(width.is_finite() && width > 0.0, "{n}: {width}");
        }
    }

    #[test]
    fn a_column_does_not_depend_on_the_others() {
        let (a, b) = (autoregressive(0.5, 300, 1), autoregressive(0.0, 70, 2));
        assert_eq!(bootstrap(&[&a, &b], 9, 1)[1], bootstrap(&[&b, &a], 9, 1)[0]);
        assert_ne!(bootstrap(&[&a], 9, 1), bootstrap(&[&a], 10, 1));
    }
}
