//! Equivocation of modulations with more than four points, by quadrature over the plane of the noise.
//!
//! Symbols are taken as a whole, not bit by bit as a decoder after a demapper does: the difference is small with the
//! mappings of DVB-S2. The radii of the rings are those of rate 3/4 for every rate.
//!
//! Turns by a right angle and the reflection that swaps both axes change neither a constellation nor the nodes of the noise, so
//! one point stands for all that they move it to. Each exponential is a product of one of either axis.

use std::f64::consts::{LOG2_E, TAU};

use crate::math::normal::density;
use crate::math::num::{exp, ln, sincos};

use super::Modulation;

/// Rings of points: number, radius, and angle of the first one as a share of the spacing.
type Ring = (u32, f64, f64);

/// Step of the trapezoidal rule in standard deviations of the noise, and number of steps to each side.
const STEP: f64 = 0.5;
const STEPS: i32 = 10;

/// A set of points of unit mean power.
#[derive(Debug, Clone)]
pub(super) struct Constellation {
    points: Vec<(f64, f64)>,
}

impl Constellation {
    pub(super) fn new(modulation: Modulation) -> Self {
        let rings: &[Ring] = match modulation {
            Modulation::Qpsk => &[(4, 1.0, 0.5)],
            Modulation::Psk8 => &[(8, 1.0, 0.5)],
            Modulation::Apsk16 => &[(4, 1.0, 0.5), (12, 2.85, 0.5)],
            Modulation::Apsk32 => &[(4, 1.0, 0.5), (12, 2.84, 0.5), (16, 5.27, 0.5)],
        };
        let count: u32 = rings.iter().map(|(count, ..)| count).sum();
        let power: f64 = rings
            .iter()
            .map(|(count, radius, _)| f64::from(*count) * radius * radius)
            .sum();
        let scale = (f64::from(count) / power).sqrt();
        let point = |&(count, radius, offset): &Ring| {
            (0..count).map(move |at| {
                let (sin, cos) = sincos(TAU * (f64::from(at) + offset) / f64::from(count));
                (scale * radius * cos, scale * radius * sin)
            })
        };
        Self {
            points: rings.iter().flat_map(point).collect(),
        }
    }

    /// Equivocation per bit at an Es/N0 (a ratio): E[log2 of the sum over all points of exp((|n|² − |d + n|²)/N0)], d the
    /// distance from the point sent.
    pub(super) fn equivocation(&self, es_n0: f64) -> f64 {
        // The noise has the variance N0/2 in each dimension, and N0 = 1/(Es/N0).
        let deviation = (0.5 / es_n0).sqrt();
        let nodes: Vec<f64> = (-STEPS..=STEPS).map(|at| STEP * f64::from(at)).collect();
        let weights: Vec<f64> = nodes.iter().map(|node| STEP * density(*node)).collect();
        let mut sum = 0.0;
        for (point, alike) in self.representatives() {
            // By node, then by point: exp(−(d² + 2 d n)/N0) of one axis.
            let factors = |axis: fn(&(f64, f64)) -> f64| -> Vec<Vec<f64>> {
                let factor = |node: f64| {
                    let noise = deviation * node;
                    let distances = self.points.iter().map(|other| axis(&point) - axis(other));
                    distances
                        .map(|d| exp(-es_n0 * (d * d + 2.0 * d * noise)))
                        .collect()
                };
                nodes.iter().map(|node| factor(*node)).collect()
            };
            let (across, along) = (factors(|point| point.0), factors(|point| point.1));
            for (one, across) in weights.iter().zip(&across) {
                for (other, along) in weights.iter().zip(&along) {
                    let weight = alike * one * other;
                    let others = across.iter().zip(along).map(|(x, y)| x * y);
                    sum += weight * ln(others.sum::<f64>()) * LOG2_E;
                }
            }
        }
        let count = f64::from(u32::try_from(self.points.len()).unwrap_or(u32::MAX));
        let bits = f64::from(self.points.len().ilog2());
        (sum / count / bits).clamp(0.0, 1.0)
    }

    /// One point of each set of points that are alike, and their number: from the axis up to the diagonal.
    fn representatives(&self) -> impl Iterator<Item = ((f64, f64), f64)> {
        self.points.iter().filter_map(|&(x, y)| {
            let is_edge = is_near(y, 0.0) || is_near(x, y);
            let is_within = x > 0.0 && 0.0 < y && y < x;
            if is_edge && x > 0.0 {
                Some(((x, y), 4.0))
            } else {
                is_within.then_some(((x, y), 8.0))
            }
        })
    }
}

/// Whether two coordinates differ by rounding only.
fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: every point, every node, every exponential by itself.
    fn by_definition(constellation: &Constellation, es_n0: f64) -> f64 {
        let deviation = (0.5 / es_n0).sqrt();
        let mut sum = 0.0;
        for (x, y) in &constellation.points {
            for row in -STEPS..=STEPS {
                for column in -STEPS..=STEPS {
                    let (u, v) = (STEP * f64::from(row), STEP * f64::from(column));
                    let others = constellation.points.iter().map(|(other_x, other_y)| {
                        let (dx, dy) = (x - other_x, y - other_y);
                        let along = dx * deviation * u + dy * deviation * v;
                        exp(-es_n0 * (dx * dx + dy * dy + 2.0 * along))
                    });
                    let doubt = ln(others.sum::<f64>()) * LOG2_E;
                    sum += density(u) * density(v) * STEP * STEP * doubt;
                }
            }
        }
        let count = f64::from(u32::try_from(constellation.points.len()).unwrap());
        sum / count / f64::from(constellation.points.len().ilog2())
    }

    #[test]
    fn one_point_of_each_orbit_gives_the_value_of_all_points() {
        for (modulation, orbits) in [
            (Modulation::Qpsk, 1),
            (Modulation::Psk8, 1),
            (Modulation::Apsk16, 3),
            (Modulation::Apsk32, 5),
        ] {
            let constellation = Constellation::new(modulation);
            assert_eq!(constellation.representatives().count(), orbits);
            for es_n0 in [0.01, 0.5, 3.0, 12.0, 60.0, 1000.0] {
                let found = constellation.equivocation(es_n0);
                let expected = by_definition(&constellation, es_n0);
                assert!((found - expected).abs() < 1e-12, "{modulation} {es_n0}");
            }
        }
    }
}
