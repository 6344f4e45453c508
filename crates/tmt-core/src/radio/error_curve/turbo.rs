//! Turbo codes of LTE and 3GPP2, QPSK: decoded by simulation (max-log-MAP with extrinsic values scaled by 0.75, at most 8
//! iterations), with their fits and, where these are off by more than a few hundredths of a decade, the simulated points (docs/channels.md, Sec. 6).

use super::{Code, Modulation, Shape};

const fn code(
    name: &'static str,
    rate: f64,
    t: f64,
    s: f64,
    join_db: f64,
    tail: &'static [(f64, f64)],
) -> Code {
    Code {
        name,
        efficiency_bit_per_symbol: 2.0 * rate,
        modulation: Modulation::Qpsk,
        shape: Shape::Fit {
            t,
            s,
            join_db,
            tail,
        },
    }
}

#[rustfmt::skip]
pub(super) static CODES: &[Code] = &[
    code("turbo:264-1/3", 1.0 / 3.0, -1.472, 0.452, 0.0, &[(0.5, 1.67e-5)]),
    code("turbo:264-1/3-log-map", 1.0 / 3.0, -1.572, 0.463, 0.0, &[]),
    code("turbo:264-1/2", 0.5, 0.907, 0.483, 2.5, &[(3.0, 1.67e-5)]),
    code("turbo:264-3/4", 0.75, 3.842, 0.707, 2.5, &[(3.0, 0.967), (3.5, 0.816), (4.0, 0.503), (4.5, 0.201), (5.0, 4.821e-2), (5.5, 6.948e-3), (6.0, 1.001e-3), (6.5, 1.60e-4)]),
    code("turbo:288-1/3", 1.0 / 3.0, -1.473, 0.439, 0.0, &[]),
    code("turbo:6144-1/3", 1.0 / 3.0, -1.454, 0.095, 0.0, &[]),
    code("turbo:6144-1/2", 0.5, 0.926, 0.106, 0.0, &[]),
    code("turbo:12282-1/3", 1.0 / 3.0, -1.447, 0.066, 0.0, &[]),
    code("turbo:12282-1/2", 0.5, 0.952, 0.074, 0.0, &[]),
];
