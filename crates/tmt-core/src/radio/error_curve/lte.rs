//! QPSK code blocks of LTE over mutual information, as in `lte-mi-error-model.cc` of ns-3, the only source. They are 0.3 to
//! 0.7 dB more pessimistic than the curves of `turbo` (docs/channels.md, Sec. 6).

use super::{Code, Modulation, Shape};

const fn block(name: &'static str, rate: f64, b: f64, c: f64) -> Code {
    Code {
        name,
        efficiency_bit_per_symbol: 2.0 * rate,
        modulation: Modulation::Qpsk,
        shape: Shape::Information { b, c },
    }
}

#[rustfmt::skip]
#[expect(clippy::approx_constant, reason = "a published number that happens to resemble pi/8")]
pub(super) static CODES: &[Code] = &[
    block("lte:256-0.08", 0.08, 0.1304, 0.0123),
    block("lte:256-0.10", 0.10, 0.1584, 0.0149),
    block("lte:256-0.11", 0.11, 0.1735, 0.0163),
    block("lte:256-0.15", 0.15, 0.2265, 0.0212),
    block("lte:256-0.19", 0.19, 0.2782, 0.0252),
    block("lte:256-0.24", 0.24, 0.3340, 0.0298),
    block("lte:256-0.30", 0.30, 0.3927, 0.0304),
    block("lte:256-0.37", 0.37, 0.4785, 0.0341),
    block("lte:256-0.44", 0.44, 0.5566, 0.0382),
    block("lte:512-0.08", 0.08, 0.1257, 0.0085),
    block("lte:512-0.10", 0.10, 0.1528, 0.0106),
    block("lte:512-0.11", 0.11, 0.1667, 0.0109),
    block("lte:512-0.15", 0.15, 0.2188, 0.0140),
    block("lte:512-0.19", 0.19, 0.2680, 0.0178),
    block("lte:512-0.24", 0.24, 0.3229, 0.0217),
    block("lte:512-0.30", 0.30, 0.3818, 0.0219),
    block("lte:512-0.37", 0.37, 0.4607, 0.0249),
    block("lte:512-0.44", 0.44, 0.5373, 0.0270),
    block("lte:512-0.51", 0.51, 0.6081, 0.0292),
    block("lte:6144-0.08", 0.08, 0.1207, 0.0025),
    block("lte:6144-0.10", 0.10, 0.1474, 0.0032),
    block("lte:6144-0.11", 0.11, 0.1612, 0.0032),
    block("lte:6144-0.15", 0.15, 0.2111, 0.0042),
    block("lte:6144-0.19", 0.19, 0.2605, 0.0054),
    block("lte:6144-0.24", 0.24, 0.3153, 0.0059),
    block("lte:6144-0.30", 0.30, 0.3726, 0.0064),
    block("lte:6144-0.37", 0.37, 0.4439, 0.0073),
    block("lte:6144-0.44", 0.44, 0.5193, 0.0081),
    block("lte:6144-0.51", 0.51, 0.5882, 0.0076),
];
