//! Fast path for many LLDUs: powers, by squaring, of the step as a 2 × 2 matrix of polynomials in the number of erasures.
//!
//! All terms are positive, so that small probabilities keep their precision.

use super::{Chain, Measure, NOTHING};

/// Polynomials in the number of erasures, truncated at the largest count needed, by (state before, state after).
struct MatrixPower([[Vec<f64>; 2]; 2]);

/// Whether `advance` by `lldus` with counts up to `most` is faster than single steps.
pub(super) fn is_cheaper(lldus: usize, most: usize) -> bool {
    let doublings = (usize::BITS - lldus.leading_zeros()) as usize;
    lldus > doublings.saturating_mul(most + 2)
}

/// The measure after `lldus` more LLDUs.
pub(super) fn advance(measure: &Measure, lldus: usize) -> Measure {
    let places = measure.weights.len() - 1;
    let weights = &measure.weights[1..];
    let mut now = [0, 1].map(|state| {
        weights
            .iter()
            .map(|weight| weight[state])
            .collect::<Vec<_>>()
    });
    let mut power = MatrixPower::step(&measure.chain, places);
    let mut rest = lldus;
    while rest > 0 {
        if rest & 1 == 1 {
            now = power.apply([&now[0], &now[1]], places);
        }
        rest >>= 1;
        if rest > 0 {
            power = power.squared(places);
        }
    }
    let mut after = Measure::new(measure.chain, places - 1, [0.0; 2]);
    let [good, bad] = now;
    for (weight, now) in after.weights[1..].iter_mut().zip(good.into_iter().zip(bad)) {
        *weight = now.into();
    }
    after.live = places + 1;
    after.forget_nothing();
    after
}

impl MatrixPower {
    /// The matrix of one LLDU.
    fn step(chain: &Chain, places: usize) -> Self {
        let entry = |erased: f64, go: f64| {
            let mut polynomial = vec![(1.0 - erased) * go, erased * go];
            polynomial.resize(places.max(2), 0.0);
            polynomial.truncate(places);
            polynomial
        };
        Self([
            [entry(chain.pg, chain.alpha), entry(chain.pg, chain.to_bad)],
            [entry(chain.pb, chain.to_good), entry(chain.pb, chain.beta)],
        ])
    }

    /// Applies the matrix to the weights of the two states.
    fn apply(&self, [good, bad]: [&[f64]; 2], places: usize) -> [Vec<f64>; 2] {
        [0, 1].map(|then| {
            let mut sum = vec![0.0; places];
            add_product(good, &self.0[0][then], &mut sum);
            add_product(bad, &self.0[1][then], &mut sum);
            sum
        })
    }

    /// The matrix of twice as many LLDUs.
    fn squared(&self, places: usize) -> Self {
        Self([0, 1].map(|now| {
            let [to_good, to_bad] = &self.0[now];
            self.apply([to_good, to_bad], places)
        }))
    }
}

/// Adds the product of two polynomials to `sum`, cut at its length.
fn add_product(a: &[f64], b: &[f64], sum: &mut [f64]) {
    for (i, a) in a.iter().enumerate().filter(|(_, a)| **a > NOTHING) {
        for (sum, b) in sum[i..].iter_mut().zip(b) {
            *sum += a * b;
        }
    }
}
