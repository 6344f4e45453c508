//! Mutual information per coded bit at an Es/N0, and back.
//!
//! Stored is its complement, the equivocation 1 − I, in integers of 2^-32: sums over a window are then exact, regardless of
//! the order of the additions, and high Es/N0 keeps its resolution.

use std::sync::LazyLock;

use crate::math::normal::density;
use crate::math::num::{exp, floor_u64, log1p};
use crate::math::octave_table::OctaveTable;

mod constellation;

use super::{from_db, to_db};
use constellation::Constellation;

/// Modulation of the symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub enum Modulation {
    /// Four phases.
    #[display("QPSK")]
    Qpsk,
    /// Eight phases.
    #[display("8PSK")]
    Psk8,
    /// Two rings, 4 + 12.
    #[display("16APSK")]
    Apsk16,
    /// Three rings, 4 + 12 + 16.
    #[display("32APSK")]
    Apsk32,
}

/// An equivocation of 1 in stored units.
pub(super) const ONE: f64 = 4_294_967_296.0;

/// Es/N0 from 2^-14 (−42 dB) to 2^7 (21 dB), 256 points in an octave: linear interpolation is within 1e-6.
const LOWEST_EXPONENT: i32 = -14;
const OCTAVES: u32 = 21;
const BITS: u32 = 8;

/// Steps of the inverse, dB.
const STEP_DB: f64 = 0.05;

/// Equivocation of QPSK in stored units by Es/N0.
static QPSK: LazyLock<OctaveTable> =
    LazyLock::new(|| OctaveTable::new(LOWEST_EXPONENT, OCTAVES, BITS, |es_n0| ONE * qpsk(es_n0)));

/// Other modulations: from 2^-8 (−24 dB) to 2^11 (33 dB), 8 points in an octave, within 1e-3.
fn by_quadrature(modulation: Modulation) -> OctaveTable {
    let constellation = Constellation::new(modulation);
    OctaveTable::new(-8, 19, 3, |es_n0| ONE * constellation.equivocation(es_n0))
}

static PSK8: LazyLock<OctaveTable> = LazyLock::new(|| by_quadrature(Modulation::Psk8));
static APSK16: LazyLock<OctaveTable> = LazyLock::new(|| by_quadrature(Modulation::Apsk16));
static APSK32: LazyLock<OctaveTable> = LazyLock::new(|| by_quadrature(Modulation::Apsk32));

/// Equivocation of a QPSK bit at an Es/N0 (a ratio): E[log2(1 + e^-L)] with L ~ N(x²/2, x²), x = 2 sqrt(Es/N0).
///
/// By the trapezoidal rule, whose error falls exponentially with 1/step; the step follows the poles at L = ±i pi.
pub(super) fn qpsk(es_n0: f64) -> f64 {
    let x = 2.0 * es_n0.sqrt();
    let step = (1.0 / x).min(0.5);
    let half = (8.5 / step).ceil();
    let mut sum = 0.0;
    let mut node = -half;
    while node <= half {
        let n = node * step;
        let l = x * (0.5 * x + n);
        sum += density(n) * (log1p(exp(-l.abs())) + (-l).max(0.0));
        node += 1.0;
    }
    (sum * step * std::f64::consts::LOG2_E).min(1.0)
}

/// Equivocation by table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Equivocation(&'static OctaveTable);

impl Equivocation {
    pub(super) fn qpsk() -> Self {
        Self(&QPSK)
    }

    /// Equivocation of a modulation.
    pub(super) fn of(modulation: Modulation) -> Self {
        Self(match modulation {
            Modulation::Qpsk => &QPSK,
            Modulation::Psk8 => &PSK8,
            Modulation::Apsk16 => &APSK16,
            Modulation::Apsk32 => &APSK32,
        })
    }

    /// Equivocation at an Es/N0 (a ratio) in stored units.
    #[inline]
    pub(super) fn at(self, es_n0: f64) -> u32 {
        u32::try_from(floor_u64(self.0.at(es_n0))).unwrap_or(u32::MAX)
    }

    /// Equivocation at an Es/N0 (a ratio) as a share of 1.
    pub(super) fn share(self, es_n0: f64) -> f64 {
        self.0.at(es_n0) / ONE
    }

    /// Es/N0 in dB by equivocation (a share of 1); infinite where the table ends.
    pub(super) fn inverse(self) -> impl Fn(f64) -> f64 {
        let lowest = to_db(self.0.lowest());
        let mut points = Vec::new();
        let mut db = lowest;
        loop {
            let equivocation = self.share(from_db(db));
            points.push((equivocation, db));
            if equivocation <= 0.5 / ONE || db > 60.0 {
                break;
            }
            db += STEP_DB;
        }
        points.reverse();
        move |equivocation| {
            let after = points.partition_point(|(known, _)| *known <= equivocation);
            match (
                after.checked_sub(1).and_then(|at| points.get(at)),
                points.get(after),
            ) {
                (Some((low, low_db)), Some((high, high_db))) => {
                    low_db + (high_db - low_db) * (equivocation - low) / (high - low)
                }
                (None, _) => f64::INFINITY,
                (_, None) => f64::NEG_INFINITY,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qpsk_has_the_anchors() {
        for (db, information) in [
            (-10.0, 0.06874),
            (-5.0, 0.19773),
            (-2.0, 0.34888),
            (0.0, 0.48594),
            (1.0, 0.56279),
            (2.0, 0.64215),
            (3.0, 0.72066),
            (5.0, 0.85919),
            (7.0, 0.95068),
            (10.0, 0.99676),
        ] {
            let exact = 1.0 - qpsk(from_db(db));
            assert!((exact - information).abs() < 6e-6, "{db} {exact}");
        }
    }

    #[test]
    fn quadrature_over_the_plane_agrees_with_that_of_a_bit() {
        let constellation = Constellation::new(Modulation::Qpsk);
        for db in [-15.0, -5.0, 0.0, 5.0, 8.0, 11.0] {
            let (plane, bit) = (constellation.equivocation(from_db(db)), qpsk(from_db(db)));
            assert!((plane - bit).abs() < 1e-4, "{db} {plane} {bit}");
        }
    }

    #[test]
    fn more_points_need_more_es_n0_and_inverses_return() {
        // Capacities of equiprobable symbols: 8PSK has 2 bits at 5.8 dB, 16APSK 3 bits at 9.3 dB (published curves of
        // constellation-constrained capacity, read to 0.2 dB).
        let information =
            |modulation, db: f64| 1.0 - Equivocation::of(modulation).share(from_db(db));
        assert!((3.0 * information(Modulation::Psk8, 5.8) - 2.0).abs() < 0.06);
        assert!((4.0 * information(Modulation::Apsk16, 9.3) - 3.0).abs() < 0.08);
        let all = [
            Modulation::Qpsk,
            Modulation::Psk8,
            Modulation::Apsk16,
            Modulation::Apsk32,
        ];
        for db in [-5.0, 0.0, 5.0, 10.0, 14.0] {
            assert!(
                all.windows(2)
                    .all(|pair| information(pair[0], db) >= information(pair[1], db)),
                "{db}"
            );
        }
        for modulation in all {
            let table = Equivocation::of(modulation);
            let inverse = table.inverse();
            for tenth in -150..130 {
                let db = f64::from(tenth) / 10.0;
                let back = inverse(table.share(from_db(db)));
                assert!((back - db).abs() < 0.01, "{modulation} {db} {back}");
            }
        }
    }

    #[test]
    fn the_table_and_its_inverse_are_close() {
        let table = Equivocation::qpsk();
        let inverse = table.inverse();
        for tenth in -300..130 {
            let db = f64::from(tenth) / 10.0 + 0.013;
            let exact = qpsk(from_db(db));
            let stored = f64::from(table.at(from_db(db))) / ONE;
            assert!((stored - exact).abs() < 1e-6, "{db}");
            let back = inverse(exact);
            assert!((back - db).abs() < 2e-3, "{db} {back}");
        }
        assert_eq!((table.at(1e-9), table.at(1e9)), (table.at(1e-8), 0));
    }
}
