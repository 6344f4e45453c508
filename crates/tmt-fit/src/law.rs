//! What a model says about sequences: lengths of runs, and correlation of losses.

use crate::matrix::{Matrix, Vector, dot, row_times, stationary, sum, times_column};

/// A stationary process of losses.
pub(crate) trait Law: std::fmt::Debug {
    /// Probabilities that a run has at least 1, 2, 3, … slots.
    fn tails(&self, lost: bool) -> Box<dyn Iterator<Item = f64> + '_>;

    /// Probability that a slot is lost.
    fn loss(&self) -> f64;

    /// Probabilities that both of two slots are lost that are 1, 2, … `most` apart.
    fn both_lost(&self, most: usize) -> Vec<f64>;

    /// Histograms of the lengths of gaps and of bursts, if the law consists of them.
    fn lengths(&self) -> Option<[String; 2]> {
        None
    }
}

/// The law of a hidden Markov chain: matrices of the steps to received and to lost slots.
#[derive(Debug)]
pub(crate) struct ChainLaw<const N: usize>(pub(crate) [Matrix<N>; 2]);

impl<const N: usize> ChainLaw<N> {
    fn stationary(&self) -> Vector<N> {
        stationary(&sum(&self.0[0], &self.0[1])).unwrap_or([f64::NAN; N])
    }
}

impl<const N: usize> Law for ChainLaw<N> {
    fn tails(&self, lost: bool) -> Box<dyn Iterator<Item = f64> + '_> {
        let (own, other) = (&self.0[usize::from(lost)], &self.0[usize::from(!lost)]);
        let first = row_times(&row_times(&self.stationary(), other), own);
        let total: f64 = first.iter().sum();
        let first = first.map(|value| value / total);
        let rows = std::iter::successors(Some(first), |row| Some(row_times(row, own)));
        Box::new(rows.map(|row| row.iter().sum()))
    }

    fn loss(&self) -> f64 {
        row_times(&self.stationary(), &self.0[1]).iter().sum()
    }

    fn both_lost(&self, most: usize) -> Vec<f64> {
        let step = sum(&self.0[0], &self.0[1]);
        let last = times_column(&self.0[1], &[1.0; N]);
        let first = row_times(&self.stationary(), &self.0[1]);
        let rows = std::iter::successors(Some(first), |row| Some(row_times(row, &step)));
        rows.take(most).map(|row| dot(&row, &last)).collect()
    }
}
