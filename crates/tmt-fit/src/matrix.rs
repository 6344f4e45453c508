//! Small square matrices, and powers of them that neither vanish nor overflow.

use tmt_core::math::num;

/// A square matrix, by rows.
pub(crate) type Matrix<const N: usize> = [[f64; N]; N];

/// A row or a column.
pub(crate) type Vector<const N: usize> = [f64; N];

/// The product of two matrices.
pub(crate) fn product<const N: usize>(one: &Matrix<N>, other: &Matrix<N>) -> Matrix<N> {
    let mut result = [[0.0; N]; N];
    for (row, left) in result.iter_mut().zip(one) {
        for (factor, right) in left.iter().zip(other) {
            for (cell, value) in row.iter_mut().zip(right) {
                *cell += factor * value;
            }
        }
    }
    result
}

/// A row times a matrix.
pub(crate) fn row_times<const N: usize>(row: &Vector<N>, matrix: &Matrix<N>) -> Vector<N> {
    let mut result = [0.0; N];
    for (factor, line) in row.iter().zip(matrix) {
        for (cell, value) in result.iter_mut().zip(line) {
            *cell += factor * value;
        }
    }
    result
}

/// A matrix times a column.
pub(crate) fn times_column<const N: usize>(matrix: &Matrix<N>, column: &Vector<N>) -> Vector<N> {
    matrix.map(|row| dot(&row, column))
}

/// The sum of the products of the entries.
pub(crate) fn dot<const N: usize>(one: &Vector<N>, other: &Vector<N>) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// The sum of two matrices.
pub(crate) fn sum<const N: usize>(one: &Matrix<N>, other: &Matrix<N>) -> Matrix<N> {
    std::array::from_fn(|i| std::array::from_fn(|j| one[i][j] + other[i][j]))
}

/// The matrix with rows and columns exchanged.
pub(crate) fn transposed<const N: usize>(matrix: &Matrix<N>) -> Matrix<N> {
    std::array::from_fn(|i| std::array::from_fn(|j| matrix[j][i]))
}

/// The unit matrix.
pub(crate) fn unit<const N: usize>() -> Matrix<N> {
    std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))))
}

/// A matrix without negative entries, as mantissa times the exponential of a logarithm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scaled<const N: usize> {
    pub(crate) mantissa: Matrix<N>,
    pub(crate) ln_scale: f64,
}

/// Largest entry.
fn largest<const N: usize>(matrix: &Matrix<N>) -> f64 {
    matrix.iter().flatten().copied().fold(0.0, f64::max)
}

/// The matrix with every entry times `factor`.
fn scaled<const N: usize>(matrix: &Matrix<N>, factor: f64) -> Matrix<N> {
    matrix.map(|row| row.map(|value| value * factor))
}

/// `matrix` to the power `n`, by repeated squaring.
pub(crate) fn power<const N: usize>(matrix: &Matrix<N>, n: u64) -> Scaled<N> {
    let pair = power_with(matrix, &[[0.0; N]; N], n);
    Scaled {
        mantissa: pair.power,
        ln_scale: pair.ln_scale,
    }
}

/// A power of a matrix and a sum over the same power, with one scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<const N: usize> {
    power: Matrix<N>,
    pub(crate) sum: Matrix<N>,
    ln_scale: f64,
}

impl<const N: usize> Pair<N> {
    /// The product of the block matrices [[power, sum], [0, power]].
    fn times(&self, other: &Self) -> Self {
        let mut result = Self {
            power: product(&self.power, &other.power),
            sum: sum(
                &product(&self.power, &other.sum),
                &product(&self.sum, &other.power),
            ),
            ln_scale: self.ln_scale + other.ln_scale,
        };
        let most = largest(&result.power);
        if most > 0.0 && !(1e-30..1e30).contains(&most) {
            result.power = scaled(&result.power, 1.0 / most);
            result.sum = scaled(&result.sum, 1.0 / most);
            result.ln_scale += num::ln(most);
        }
        result
    }
}

/// The power B^n, and the sum of B^j · X · B^(n − 1 − j) over j from 0 to n − 1: the upper right block of the n-th power of
/// [[B, X], [0, B]] (Van Loan 1978). Both are less by the factor e^`ln_scale`.
pub(crate) fn power_with<const N: usize>(b: &Matrix<N>, x: &Matrix<N>, n: u64) -> Pair<N> {
    let mut result = Pair {
        power: unit(),
        sum: [[0.0; N]; N],
        ln_scale: 0.0,
    };
    let mut base = Pair {
        power: *b,
        sum: *x,
        ln_scale: 0.0,
    };
    let mut rest = n;
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.times(&base);
        }
        rest >>= 1;
        if rest > 0 {
            base = base.times(&base);
        }
    }
    result
}

/// The sum of [`power_with`] relative to the scale of `power`, which is the same power without the sum.
pub(crate) fn sum_in_scale<const N: usize>(pair: &Pair<N>, ln_scale: f64) -> Matrix<N> {
    scaled(&pair.sum, num::exp(pair.ln_scale - ln_scale))
}

/// The distribution that `matrix`, whose rows are distributions, leaves as it is: by elimination without subtractions
/// (Grassmann 1985), so that small probabilities keep their digits. `None` if it is not unique.
#[expect(clippy::needless_range_loop, reason = "rows and columns of one matrix")]
pub(crate) fn stationary<const N: usize>(matrix: &Matrix<N>) -> Option<Vector<N>> {
    let mut p = *matrix;
    for n in (1..N).rev() {
        let leaving: f64 = p[n][..n].iter().sum();
        if leaving <= 0.0 {
            // A state that never leaves to lower ones: it is the only one that lasts, or there is more than one.
            return stationary_by_order(matrix);
        }
        for i in 0..n {
            p[i][n] /= leaving;
        }
        for i in 0..n {
            for j in 0..n {
                p[i][j] += p[i][n] * p[n][j];
            }
        }
    }
    let mut result = [0.0; N];
    result[0] = 1.0;
    for n in 1..N {
        result[n] = (0..n).map(|i| result[i] * p[i][n]).sum();
    }
    let total: f64 = result.iter().sum();
    Some(result.map(|value| value / total))
}

/// The same where a state is never left to those before it: by powers of the matrix, averaged over its period.
fn stationary_by_order<const N: usize>(matrix: &Matrix<N>) -> Option<Vector<N>> {
    // The lazy chain has the same distribution and no period.
    let lazy: Matrix<N> = std::array::from_fn(|i| {
        std::array::from_fn(|j| 0.5 * matrix[i][j] + 0.5 * f64::from(u8::from(i == j)))
    });
    let mut limit = lazy;
    for _ in 0..80 {
        limit = product(&limit, &limit);
        limit = limit.map(|row| {
            let total: f64 = row.iter().sum();
            row.map(|value| value / total)
        });
    }
    let first = limit[0];
    let equal = |row: &Vector<N>| row.iter().zip(first).all(|(a, b)| (a - b).abs() < 1e-9);
    limit.iter().all(equal).then_some(first)
}

/// The inverse, by elimination with pivots; `None` for a singular matrix.
pub(crate) fn inverse<const N: usize>(matrix: &Matrix<N>) -> Option<Matrix<N>> {
    let (mut left, mut right) = (*matrix, unit());
    for k in 0..N {
        let pivot = (k..N).max_by(|i, j| left[*i][k].abs().total_cmp(&left[*j][k].abs()))?;
        left.swap(k, pivot);
        right.swap(k, pivot);
        let scale = left[k][k];
        if scale.abs() < 1e-14 {
            return None;
        }
        for j in 0..N {
            left[k][j] /= scale;
            right[k][j] /= scale;
        }
        for i in 0..N {
            let factor = left[i][k];
            if i != k && factor != 0.0 {
                for j in 0..N {
                    left[i][j] -= factor * left[k][j];
                    right[i][j] -= factor * right[k][j];
                }
            }
        }
    }
    Some(right)
}

/// A symmetric matrix of any size, by rows.
pub(crate) type Square = Vec<Vec<f64>>;

/// Eigenvalues, and eigenvectors as columns, of a symmetric matrix, by Jacobi's rotations.
#[expect(
    clippy::many_single_char_names,
    clippy::needless_range_loop,
    reason = "the symbols of the method, and two rows at a time"
)]
pub(crate) fn eigen(matrix: &Square) -> (Vec<f64>, Square) {
    let n = matrix.len();
    let mut a = matrix.clone();
    let mut v: Square = (0..n)
        .map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect())
        .collect();
    for _ in 0..60 {
        let off: f64 = (0..n)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| a[i][j] * a[i][j])
            .sum();
        let all: f64 = a.iter().flatten().map(|value| value * value).sum();
        if off <= 1e-32 * all {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q] == 0.0 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let t = if theta == 0.0 { 1.0 } else { t };
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for row in &mut a {
                    let (x, y) = (row[p], row[q]);
                    (row[p], row[q]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..n {
                    let (x, y) = (a[p][k], a[q][k]);
                    (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
                }
                for row in &mut v {
                    let (x, y) = (row[p], row[q]);
                    (row[p], row[q]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn powers_and_sums_equal_repeated_products(cells in prop::array::uniform9(0.0f64..1.0), n in 0u64..40) {
            let b: Matrix<3> = std::array::from_fn(|i| std::array::from_fn(|j| cells[3 * i + j]));
            let x: Matrix<3> = std::array::from_fn(|i| std::array::from_fn(|j| cells[(5 * i + 2 * j) % 9]));
            let (mut direct, mut total) = (unit(), [[0.0; 3]; 3]);
            for _ in 0..n {
                // S(n + 1) = B · S(n) + X · B^n.
                total = sum(&product(&b, &total), &product(&x, &direct));
                direct = product(&direct, &b);
            }
            let power = power(&b, n);
            let pair = power_with(&b, &x, n);
            let own = sum_in_scale(&pair, 0.0);
            for i in 0..3 {
                for j in 0..3 {
                    let p = power.mantissa[i][j] * num::exp(power.ln_scale);
                    prop_assert!((p - direct[i][j]).abs() <= 1e-9 * direct[i][j].abs());
                    prop_assert!((own[i][j] - total[i][j]).abs() <= 1e-9 * total[i][j].abs());
                }
            }
        }

        #[test]
        fn an_inverse_undoes(cells in prop::array::uniform9(-1.0f64..1.0)) {
            let matrix: Matrix<3> = std::array::from_fn(|i| std::array::from_fn(|j| cells[3 * i + j] + if i == j { 4.0 } else { 0.0 }));
            let found = product(&matrix, &inverse(&matrix).unwrap());
            for (row, expected) in found.iter().zip(unit::<3>()) {
                for (a, b) in row.iter().zip(expected) {
                    prop_assert!((a - b).abs() < 1e-12);
                }
            }
        }

        #[test]
        fn a_stationary_distribution_stays(cells in prop::array::uniform16(0.001f64..1.0)) {
            let rows: Matrix<4> = std::array::from_fn(|i| std::array::from_fn(|j| cells[4 * i + j]));
            let rows = rows.map(|row| row.map(|value| value / row.iter().sum::<f64>()));
            let found = stationary(&rows).unwrap();
            let next = row_times(&found, &rows);
            for (a, b) in found.iter().zip(next) {
                prop_assert!((a - b).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_power_of_a_million_does_not_vanish() {
        let found = power(&[[0.5, 0.1], [0.0, 0.2]], 1_000_000);
        assert!((found.ln_scale + num::ln(found.mantissa[0][0]) - 1e6 * num::ln(0.5)).abs() < 1e-3);
    }

    #[test]
    fn eigenvalues_of_a_known_matrix() {
        let (mut values, _) = eigen(&vec![
            vec![2.0, 1.0, 0.0],
            vec![1.0, 2.0, 0.0],
            vec![0.0, 0.0, 5.0],
        ]);
        values.sort_by(f64::total_cmp);
        for (found, expected) in values.iter().zip([1.0, 3.0, 5.0]) {
            assert!((found - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn a_state_that_is_never_left_takes_all() {
        let found = stationary(&[[0.9, 0.1], [0.0, 1.0]]).unwrap();
        assert!(found[1] > 1.0 - 1e-12);
        assert_eq!(stationary(&[[1.0, 0.0], [0.0, 1.0]]), None);
    }
}
