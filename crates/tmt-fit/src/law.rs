//! What a model says about sequences: lengths of runs, and correlation of losses.

use tmt_core::math::num;

use crate::matrix::{
    Matrix, Vector, dot, inverse, power, product, row_times, stationary, sum, times_column,
};

/// A stationary process of losses.
pub(crate) trait Law: std::fmt::Debug {
    /// Probabilities that a run has at least 1, 2, 3, … slots.
    fn tails(&self, lost: bool) -> Box<dyn Iterator<Item = f64> + '_>;

    /// Probability that a slot is lost.
    fn loss(&self) -> f64;

    /// Probabilities that both of two slots are lost that are 1, 2, … `most` apart.
    fn both_lost(&self, most: usize) -> Vec<f64>;

    /// For cells of run lengths with these first lengths: the sum over the cells of the variance of the count over what is
    /// expected, per run, for many runs. It is one less than the number of cells if runs are independent. `None` if the
    /// law has no such runs.
    fn spread(&self, _lost: bool, edges: &[u64]) -> Option<f64> {
        Some(tmt_core::types::to_f64(edges.len() as u64) - 1.0)
    }

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

/// The unit matrix less another.
fn less<const N: usize>(matrix: &Matrix<N>) -> Matrix<N> {
    std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j)) - matrix[i][j]))
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

    /// By the chain of the states in which runs begin: with the matrices of runs in cell c, K_c, of all runs, K, and its
    /// stationary distribution v, the count of c varies by p (1 − p) + 2 v K_c Z (K_c 1 − p 1) per run, where
    /// Z = (I − K + 1 v)^-1 (Kemeny and Snell 1960).
    fn spread(&self, lost: bool, edges: &[u64]) -> Option<f64> {
        let (own, other) = (&self.0[usize::from(lost)], &self.0[usize::from(!lost)]);
        // From the first slot of a run to that of the next run of its kind, whatever the lengths.
        let turn = product(&inverse(&less(own))?, other);
        let turn = product(&turn, &product(&inverse(&less(other))?, own));
        let at = |length: u64| {
            let power = power(own, length - 1);
            let scale = num::exp(power.ln_scale);
            product(
                &power.mantissa.map(|row| row.map(|value| value * scale)),
                &turn,
            )
        };
        let first = row_times(&row_times(&self.stationary(), other), own);
        let total: f64 = first.iter().sum();
        let start = first.map(|value| value / total);
        let all = at(1);
        let one = [1.0; N];
        let shifted: Matrix<N> = std::array::from_fn(|i| {
            std::array::from_fn(|j| f64::from(u8::from(i == j)) - all[i][j] + start[j])
        });
        let fundamental = inverse(&shifted)?;
        let mut spread = 0.0;
        for (place, edge) in edges.iter().enumerate() {
            let mut cell = at(*edge);
            if let Some(next) = edges.get(place + 1) {
                let next = at(*next);
                cell = std::array::from_fn(|i| std::array::from_fn(|j| cell[i][j] - next[i][j]));
            }
            let column = times_column(&cell, &one);
            let p = dot(&start, &column);
            let centred = column.map(|value| value - p);
            let later = dot(
                &row_times(&row_times(&start, &cell), &fundamental),
                &centred,
            );
            spread += 1.0 - p + 2.0 * later / p;
        }
        Some(spread).filter(|spread| spread.is_finite() && *spread > 0.0)
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
