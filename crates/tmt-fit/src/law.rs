//! Laws of sequences under a model: lengths of runs, and correlation of losses.

use tmt_core::math::num;

use crate::matrix::{
    Matrix, Square, Vector, dot, inverse, power, product, row_times, stationary, sum, times_column,
};

/// A stationary process of losses.
pub(crate) trait Law: std::fmt::Debug {
    /// Probabilities that a run has at least 1, 2, 3, … slots.
    fn tails(&self, lost: bool) -> Box<dyn Iterator<Item = f64> + '_>;

    /// Probability that a slot is lost.
    fn loss(&self) -> f64;

    /// Probabilities that both of two slots are lost that are 1, 2, … `most` apart.
    fn both_lost(&self, most: usize) -> Vec<f64>;

    /// Probabilities of the cells of run lengths with these first lengths, from 1 on.
    fn cells(&self, lost: bool, edges: &[u64]) -> Vec<f64> {
        let mut tails = (1_u64..).zip(self.tails(lost));
        let tail = |edge: &u64| {
            tails
                .find(|(length, _)| length == edge)
                .map_or(0.0, |one| one.1)
        };
        let mut cells: Vec<f64> = edges.iter().map(tail).collect();
        for c in 1..cells.len() {
            cells[c - 1] -= cells[c];
        }
        cells
    }

    /// Covariance of the counts of these cells over the number of runs, for many runs; of independent ones by default.
    /// `None` if the law has no such runs.
    fn covariance(&self, lost: bool, edges: &[u64]) -> Option<Square> {
        let cells = self.cells(lost, edges);
        let row = |c: usize| {
            let cell = |d: usize| cells[c] * (f64::from(u8::from(c == d)) - cells[d]);
            (0..cells.len()).map(cell).collect()
        };
        Some((0..cells.len()).map(row).collect())
    }

    /// Histograms of the lengths of gaps and of bursts, if the law consists of them.
    fn lengths(&self) -> Option<[String; 2]> {
        None
    }
}

/// Laws near the one that was fitted, from which follows how far the estimate adapts to the lengths of the trace.
#[derive(Debug, Default)]
pub(crate) struct Nearby {
    /// For each free parameter the law with its logit larger by [`SHIFT`].
    pub(crate) laws: Vec<Box<dyn Law>>,
    /// Covariance of the estimates of these logits.
    pub(crate) covariance: Square,
}

/// Change of a logit for a derivative.
pub(crate) const SHIFT: f64 = 1e-4;

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
    /// stationary distribution v, the counts of c and d covary by p_c ([c = d] − p_d) + v K_c Z (K_d 1 − p_d 1) +
    /// v K_d Z (K_c 1 − p_c 1) per run, where Z = (I − K + 1 v)^-1 (Kemeny and Snell 1960).
    fn covariance(&self, lost: bool, edges: &[u64]) -> Option<Square> {
        let (own, other) = (&self.0[usize::from(lost)], &self.0[usize::from(!lost)]);
        // From the first slot of a run to that of the next run of its kind, regardless of the lengths.
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
        let of_cell = |(place, edge): (usize, &u64)| {
            let mut cell = at(*edge);
            if let Some(next) = edges.get(place + 1) {
                let next = at(*next);
                cell = std::array::from_fn(|i| std::array::from_fn(|j| cell[i][j] - next[i][j]));
            }
            let column = times_column(&cell, &one);
            let p = dot(&start, &column);
            let after = row_times(&row_times(&start, &cell), &fundamental);
            (p, after, column.map(|value| value - p))
        };
        let cells: Vec<_> = edges.iter().enumerate().map(of_cell).collect();
        let row = |(c, (p, after, centred)): (usize, &(f64, Vector<N>, Vector<N>))| {
            let cell = |(d, (q, later, other)): (usize, &(f64, Vector<N>, Vector<N>))| {
                let own = f64::from(u8::from(c == d)) * p - p * q;
                own + dot(after, other) + dot(later, centred)
            };
            cells.iter().enumerate().map(cell).collect::<Vec<f64>>()
        };
        let covariance: Square = cells.iter().enumerate().map(row).collect();
        let is_known = covariance.iter().flatten().all(|cell| cell.is_finite());
        is_known.then_some(covariance)
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
