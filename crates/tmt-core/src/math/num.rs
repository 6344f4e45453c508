//! The only transcendental functions of the workspace: pure Rust, so that results are equal on all platforms.

pub use libm::{
    cbrt, cos, erfc, exp, expm1, lgamma as ln_gamma, log as ln, log1p, log10, pow, sin, sincos,
};

/// `x` to the power `n`, by repeated squaring.
#[must_use]
pub fn powi(x: f64, n: u64) -> f64 {
    let (mut result, mut base, mut rest) = (1.0, x, n);
    while rest > 0 {
        if rest & 1 == 1 {
            result *= base;
        }
        base *= base;
        rest >>= 1;
    }
    result
}

/// Probability of at least one event in `n` trials of probability `x`: 1 − (1 − x)^n, without cancellation for small
/// `x`. `x` is in [0, 1].
#[must_use]
pub fn at_least_one(x: f64, n: f64) -> f64 {
    if n == 0.0 {
        return 0.0;
    }
    // For x = 1 the logarithm is −∞ and the result is 1.
    -expm1(n * log1p(-x))
}

/// `x` rounded down to an integer; 0 for negative numbers and NaN, `u64::MAX` above the range.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and gives 0 for NaN"
)]
#[inline]
pub fn floor_u64(x: f64) -> u64 {
    // A conversion to a signed number takes fewer instructions; 9e18 is below 2^63.
    if x < 9e18 {
        (x as i64).max(0) as u64
    } else {
        x as u64
    }
}

/// The number that a standard normal variable is below with probability `p`, within 10^-15; ±∞ for 1 and 0, NaN outside
/// (Wichura, algorithm AS 241, Applied Statistics 37(3), 1988, PPND16).
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    let ratio = |[above, below]: &[[f64; 8]; 2], at: f64| {
        let polynomial =
            |terms: &[f64; 8]| terms.iter().rev().fold(0.0, |sum, term| sum * at + term);
        polynomial(above) / polynomial(below)
    };
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&QUANTILE_MIDDLE, 0.180_625 - q * q);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-libm::log(tail)).sqrt();
    let magnitude = if r <= 5.0 {
        ratio(&QUANTILE_TAIL, r - 1.6)
    } else {
        ratio(&QUANTILE_FAR_TAIL, r - 5.0)
    };
    magnitude.copysign(q)
}

/// Numerator and denominator for p from 0.075 to 0.925.
const QUANTILE_MIDDLE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_6,
        1.331_416_678_917_843_8e2,
        1.971_590_950_306_551_3e3,
        1.373_169_376_550_946e4,
        4.592_195_393_154_987e4,
        6.726_577_092_700_87e4,
        3.343_057_558_358_813e4,
        2.509_080_928_730_122_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091e1,
        6.871_870_074_920_579e2,
        5.394_196_021_424_751e3,
        2.121_379_430_158_659_7e4,
        3.930_789_580_009_271e4,
        2.872_908_573_572_194_3e4,
        5.226_495_278_852_854e3,
    ],
];

/// The same for tails of at least exp(−25).
const QUANTILE_TAIL: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        2.417_807_251_774_506e-1,
        2.272_384_498_926_918_4e-2,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        6.897_673_349_851e-1,
        1.481_039_764_274_800_8e-1,
        1.519_866_656_361_645_7e-2,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];

/// The same for smaller tails.
const QUANTILE_FAR_TAIL: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        2.965_605_718_285_048_7e-1,
        2.653_218_952_657_612_4e-2,
        1.242_660_947_388_078_4e-3,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288e-7,
    ],
    [
        1.0,
        5.998_322_065_558_88e-1,
        1.369_298_809_227_358e-1,
        1.487_536_129_085_061_5e-2,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_one_keeps_precision_for_small_probabilities() {
        assert!((at_least_one(1e-18, 1000.0) / 1e-15 - 1.0).abs() < 1e-12);
        assert!((at_least_one(0.5, 2.0) - 0.75).abs() < 1e-15);
        for (x, n, expected) in [(0.0, 5.0, 0.0), (1.0, 5.0, 1.0), (1.0, 0.0, 0.0)] {
            assert!((at_least_one(x, n) - expected).abs() < f64::EPSILON);
        }
    }

    #[test]
    fn a_floor_saturates() {
        for (x, floor) in [
            (-1.5, 0),
            (-0.0, 0),
            (0.99, 0),
            (2.5, 2),
            (8.999_999e18, 8_999_999_000_000_000_000),
            (9e18, 9_000_000_000_000_000_000),
            (18_446_744_073_709_549_568.0, u64::MAX - 2047),
            (2e19, u64::MAX),
            (f64::INFINITY, u64::MAX),
            (f64::NEG_INFINITY, 0),
            (f64::NAN, 0),
        ] {
            assert_eq!(floor_u64(x), floor, "{x}");
        }
    }

    #[test]
    fn powi_agrees_with_pow() {
        for n in 0..200 {
            let (ours, theirs) = (powi(0.97, n), pow(0.97, crate::types::to_f64(n)));
            assert!((ours / theirs - 1.0).abs() < 1e-13);
        }
        assert!((powi(-0.5, 3) + 0.125).abs() < f64::EPSILON);
    }

    #[test]
    fn the_normal_quantile_inverts_the_tail() {
        // From the lower tail of 10^-300 to the upper end of the doubles below 1.
        for step in 1..3000 {
            let x = -37.0 + f64::from(step) * 0.0148;
            let p = 0.5 * erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
            let found = normal_quantile(p);
            // Near 1, p itself is known only within its last bit.
            let slope = exp(-0.5 * x * x) / (2.0 * std::f64::consts::PI).sqrt();
            let granted = 1e-13 * x.abs().max(1.0) + if x > 0.0 { 3e-16 / slope } else { 0.0 };
            assert!((found - x).abs() <= granted, "{x}: {found}");
        }
        // Abramowitz and Stegun, Table 26.5.
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
        assert!(normal_quantile(0.5).abs() < f64::EPSILON);
        assert!(normal_quantile(0.0).is_infinite() && normal_quantile(1.1).is_nan());
    }
}
