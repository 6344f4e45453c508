//! Parts of a circular block bootstrap (Politis and Romano 1992): how long blocks are, and how far few of them widen an interval.
//!
//! The length of a block follows Politis and White (2004) with the correction of Patton, Politis and White (2009): b = (2 G² /
//! D)^(1/3) n^(1/3), where G = Σ λ(k/M) |k| R(k), D = 4/3 (Σ λ(k/M) R(k))², λ is the flat-top window and M twice the lag after
//! which the correlogram is noise.

use statrs::distribution::{ContinuousCDF as _, Normal, StudentsT};

use crate::math::num::{cbrt, floor_u64, log10};
use crate::types::to_f64;

/// Factor by which a 95 % interval of `blocks` blocks is widened, t(k − 1)/z · √(k/(k − 1)) for k blocks, so that it is Student's
/// for few independent values. NaN for one block or less.
#[must_use]
pub fn widening(blocks: f64) -> f64 {
    let t = StudentsT::new(0.0, 1.0, blocks - 1.0).map_or(f64::NAN, |t| t.inverse_cdf(0.975));
    let z = Normal::standard().inverse_cdf(0.975);
    t / z * (blocks / (blocks - 1.0)).sqrt()
}

/// Number of values in a block for the mean of a series, given as deviations from its mean: from 1 to a third of the number of
/// values, and so long that there are at most `most_blocks` blocks. 1 for less than two values.
///
/// ```
/// use tmt_core::stats::bootstrap::block_length;
///
/// // Runs of 50 equal values need long blocks.
/// let runs: Vec<f64> = (0..5_000).map(|i| if i / 50 % 2 == 0 { 1.0 } else { -1.0 }).collect();
/// assert!(block_length(&runs, 5_000) > 20);
/// assert!(block_length(&runs, 10) >= 500); // at most 10 blocks
/// ```
#[must_use]
pub fn block_length(deviations: &[f64], most_blocks: usize) -> usize {
    let n = deviations.len();
    if n < 2 {
        return 1;
    }
    let size = to_f64(n as u64);
    // At least three blocks are needed; with two or three values each is a block.
    let (most, least) = ((n / 3).max(1), n.div_ceil(most_blocks.max(1)));
    // Number of consecutive lags that have to be noise.
    let quiet = usize::try_from(floor_u64(log10(size).sqrt().ceil()))
        .unwrap_or(5)
        .max(5);
    let root = usize::try_from(floor_u64(size.sqrt().ceil())).unwrap_or(n);
    let lags = (root + quiet).min(n - 1);
    let covariance: Vec<f64> = (0..=lags)
        .map(|lag| {
            let pairs = deviations.iter().zip(&deviations[lag..]);
            pairs.map(|(a, b)| a * b).sum::<f64>() / size
        })
        .collect();
    let noise = 2.0 * (log10(size) / size).sqrt() * covariance[0];
    let is_noise = |lag: usize| covariance.get(lag).is_none_or(|value| value.abs() < noise);
    let last = (0..=root).find(|last| (last + 1..=last + quiet).all(is_noise));
    let window = (2 * last.unwrap_or(root)).clamp(1, lags.max(1));
    let (mut slope, mut spectrum) = (0.0, covariance[0]);
    for (lag, value) in covariance.iter().enumerate().take(window + 1).skip(1) {
        let lag = to_f64(lag as u64);
        let share = lag / to_f64(window as u64);
        let weight = (2.0 * (1.0 - share)).min(1.0);
        // Both signs of the lag.
        slope += 2.0 * weight * lag * value;
        spectrum += 2.0 * weight * value;
    }
    let ratio = 2.0 * slope * slope / (4.0 / 3.0 * spectrum * spectrum);
    let length = if ratio.is_finite() {
        cbrt(ratio * size).ceil()
    } else {
        1.0
    };
    usize::try_from(floor_u64(length))
        .unwrap_or(most)
        .clamp(least.min(most), most)
}
