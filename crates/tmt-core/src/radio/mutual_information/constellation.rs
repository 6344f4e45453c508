//! Equivocation of modulations with more than four points, by quadrature over the plane of the noise.
//!
//! Symbols are taken as a whole, not bit by bit as a decoder after a demapper does: the difference is small with the
//! mappings of DVB-S2. The radii of the rings are those of rate 3/4 for every rate.

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
        // A turn by a right angle changes nothing.
        let quadrant = self.points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0);
        let (mut sum, mut sent) = (0.0, 0.0);
        for point in quadrant {
            sent += 1.0;
            for row in -STEPS..=STEPS {
                for column in -STEPS..=STEPS {
                    let (u, v) = (STEP * f64::from(row), STEP * f64::from(column));
                    let weight = density(u) * density(v) * STEP * STEP;
                    let noise = (deviation * u, deviation * v);
                    sum += weight * self.doubt(*point, noise, es_n0);
                }
            }
        }
        let bits = f64::from(self.points.len().ilog2());
        (sum / sent / bits).clamp(0.0, 1.0)
    }

    /// Binary logarithm of the sum over the points.
    fn doubt(&self, (x, y): (f64, f64), (u, v): (f64, f64), es_n0: f64) -> f64 {
        let others = self.points.iter().map(|(other_x, other_y)| {
            let (dx, dy) = (x - other_x, y - other_y);
            exp(-es_n0 * (dx * dx + dy * dy + 2.0 * (dx * u + dy * v)))
        });
        ln(others.sum::<f64>()) * LOG2_E
    }
}
