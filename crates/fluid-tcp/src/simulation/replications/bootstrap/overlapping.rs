//! Interval of the mean of runs that overlap, a quadratic form in their values.
//!
//! The value of a run is taken as a part that the trace determines, whose correlation falls evenly to zero over the runs that
//! share slots and one more, since the channel is correlated beyond a run, and a part of its own: where TCP starts in another place, it loses other packets. The mean squares of the values
//! and of their steps from run to run give the variances of the two parts. The degrees of freedom are those of Satterthwaite
//! (1946) without own parts, the fewest: how large these are is itself an estimate.

use tmt_core::types::to_f64;

use super::super::student_t;

/// Correlations of `n` runs by their distance, which fall evenly to zero over `overlap` runs.
struct Shared {
    n: f64,
    /// Sum of all n² correlations.
    sum: f64,
    /// Sum of their squares.
    squares: f64,
    /// Sum over runs of the square of the sum of a run's correlations.
    rows: f64,
}

impl Shared {
    fn new(n: usize, overlap: usize) -> Self {
        let at = |lag: usize| 1.0 - to_f64(lag as u64) / to_f64(overlap as u64);
        // At each place: the sum of the correlations of a run with that many runs on one side of it.
        let mut side = vec![0.0; n];
        let mut squares = to_f64(n as u64);
        for lag in 1..n {
            let near = if lag < overlap { at(lag) } else { 0.0 };
            side[lag] = side[lag - 1] + near;
            squares += 2.0 * near * near * to_f64((n - lag) as u64);
        }
        let rows = side
            .iter()
            .zip(side.iter().rev())
            .map(|(left, right)| 1.0 + left + right);
        let (sum, rows) = rows.fold((0.0, 0.0), |(sum, squares), row| {
            (sum + row, squares + row * row)
        });
        Self {
            n: to_f64(n as u64),
            sum,
            squares,
            rows,
        }
    }

    /// Expected sum of the squared deviations from the mean for runs of variance 1.
    fn expected(&self) -> f64 {
        self.n - self.sum / self.n
    }

    /// Degrees of freedom of that sum, by its variance for normal values.
    fn freedom(&self) -> f64 {
        let mean = self.sum / self.n;
        let variance = self.squares - 2.0 * self.rows / self.n + mean * mean;
        self.expected() * self.expected() / variance
    }
}

/// Half-width of the 95 % interval of the mean of runs with these `deviations` from it. Each run shares part of the trace with the
/// next ones, `overlap` in all with itself: from 2 to half of the runs.
pub(super) fn half_width(deviations: &[f64], overlap: usize) -> f64 {
    let reach = if overlap > 1 { overlap + 1 } else { 1 };
    let shared = Shared::new(deviations.len(), reach);
    let n = shared.n;
    let squares: f64 = deviations.iter().map(|value| value * value).sum();
    let steps = deviations.windows(2).map(|pair| pair[1] - pair[0]);
    let step = steps.map(|step| step * step).sum::<f64>() / (2.0 * (n - 1.0));
    // squares = trace · expected + own · (n − 1), step = trace / reach + own, in the mean.
    let near = 1.0 / to_f64(reach as u64);
    let trace = (squares - step * (n - 1.0)) / (shared.expected() - near * (n - 1.0));
    let trace = trace.max(0.0);
    let own = (step - near * trace).max(0.0);
    let share = own / (own + trace);
    // The mean squares decide the scale, and the steps only the share of each part.
    let correlated = (1.0 - share) * shared.sum + share * n;
    let variance = squares / (n - correlated / n) * correlated / (n * n);
    student_t(shared.freedom()) * variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_matrix() {
        let (n, overlap) = (9_usize, 4_usize);
        let correlation = |a: usize, b: usize| {
            (1.0 - to_f64(a.abs_diff(b) as u64) / to_f64(overlap as u64)).max(0.0)
        };
        let centre = |a: usize, b: usize| f64::from(u8::from(a == b)) - 1.0 / 9.0;
        let product = |a: usize, b: usize| {
            (0..n)
                .map(|k| centre(a, k) * correlation(k, b))
                .sum::<f64>()
        };
        let trace: f64 = (0..n).map(|a| product(a, a)).sum();
        let square: f64 = (0..n)
            .flat_map(|a| (0..n).map(move |b| (a, b)))
            .map(|(a, b)| product(a, b) * product(b, a))
            .sum();
        let shared = Shared::new(n, overlap);
        assert!((shared.expected() - trace).abs() < 1e-12);
        assert!((shared.freedom() - trace * trace / square).abs() < 1e-9);
    }

    #[test]
    fn runs_that_share_nothing_have_the_interval_of_student() {
        let values = [3.0, -1.0, 4.0, -2.0, -5.0, 1.0];
        let squares: f64 = values.iter().map(|value| value * value).sum();
        let student = student_t(5.0) * (squares / 5.0 / 6.0).sqrt();
        assert!((half_width(&values, 1) - student).abs() < 1e-12);
    }
}
