//! Converts doubles to nanoseconds: the exact value of the double times its unit, rounded half away from zero.
//!
//! It computes with integers on mantissa and exponent, because a product of doubles would be rounded itself.

use crate::format::unit::Unit;
use crate::types::{ErrorKind, Time};

const MANTISSA_BITS: u32 = 52;
/// Bias of the exponent field if the value is an integer mantissa × 2^exponent.
const EXPONENT_BIAS: i32 = 1023 + 52;

/// `value` in nanoseconds.
///
/// # Errors
/// NaN, infinity, a negative number, or more than 2^63 − 1 ns. Negative zero is zero.
pub(super) fn nanos(value: f64, unit: Unit, field: &'static str) -> Result<u64, ErrorKind> {
    let found = || format!("{value:?}");
    if !value.is_finite() {
        let found = found();
        return Err(ErrorKind::NotANumber { field, found });
    }
    if value < 0.0 {
        let found = found();
        return Err(ErrorKind::Negative { field, found });
    }
    scaled(value, unit.nanos()).ok_or_else(|| {
        let found = found();
        ErrorKind::TooLarge { field, found }
    })
}

/// As [`nanos`], for a delay: zero means erased, so a positive delay must not round to zero.
pub(super) fn delay_nanos(value: f64, unit: Unit, field: &'static str) -> Result<u64, ErrorKind> {
    match nanos(value, unit, field)? {
        0 if value > 0.0 => Err(ErrorKind::RoundsToZero {
            found: format!("{value:?}"),
        }),
        nanos => Ok(nanos),
    }
}

/// round(|value| · factor), halves up; `None` above 2^63 − 1.
fn scaled(value: f64, factor: u64) -> Option<u64> {
    let bits = value.to_bits();
    let fraction = bits & ((1 << MANTISSA_BITS) - 1);
    let field = i32::try_from((bits >> MANTISSA_BITS) & 0x7ff).ok()?;
    // A subnormal number has no hidden bit and the exponent of the smallest normal number.
    let mantissa = fraction | (u64::from(field > 0) << MANTISSA_BITS);
    let exponent = field.max(1) - EXPONENT_BIAS;
    // Below 2^53 · 2^30, so adding half a unit does not overflow 128 bits.
    let product = u128::from(mantissa) * u128::from(factor);
    let shift = exponent.unsigned_abs();
    let rounded = if exponent >= 0 {
        // A normal mantissa × 2^11 exceeds the range; zero is subnormal and does not get here.
        if shift > 10 {
            return None;
        }
        product << shift
    } else if shift > 100 {
        0
    } else {
        (product + (1 << (shift - 1))) >> shift
    };
    let nanos = u64::try_from(rounded).ok()?;
    Time::from_nanos(nanos).map(Time::as_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::decimal::Decimal;
    use proptest::prelude::*;

    const UNITS: [(Unit, i64); 4] = [
        (Unit::Seconds, 9),
        (Unit::Milliseconds, 6),
        (Unit::Microseconds, 3),
        (Unit::Nanoseconds, 0),
    ];

    /// By the decimal parser: the decimal expansion of a double has at most 1074 decimals.
    fn by_decimals(value: f64, shift: i64) -> Option<u64> {
        let text = format!("{value:.1074}");
        let number = Decimal::parse(text.as_bytes()).unwrap();
        number.scaled(1, shift).map(|scaled| scaled.value)
    }

    fn doubles() -> impl Strategy<Value = f64> {
        prop_oneof![
            // Any bits but the sign.
            (0..=u64::MAX >> 1).prop_map(f64::from_bits),
            // Exponents near the limits of the conversion.
            (0u64..1 << 52, 900u64..1100).prop_map(|(m, e)| f64::from_bits(e << 52 | m)),
            // Halves of a nanosecond and adjacent doubles.
            (0u64..1 << 40, -1i64..=1).prop_map(|(half, off)| {
                let value = crate::types::to_f64(half) / 2.0;
                f64::from_bits(value.to_bits().saturating_add_signed(off) & (u64::MAX >> 1))
            }),
            (0u64..1 << 50).prop_map(|nanos| crate::types::to_f64(nanos) / 1e9),
        ]
        .prop_filter("a number", |value| value.is_finite())
    }

    proptest! {
        #[test]
        fn a_double_equals_its_decimal_expansion(value in doubles()) {
            for (unit, shift) in UNITS {
                prop_assert_eq!(nanos(value, unit, "tx_time").ok(), by_decimals(value, shift), "{} {:?}", value, unit);
            }
        }
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        for (value, expected) in [(0.5, 1), (1.5, 2), (2.5, 3), (0.499_999_999_999_999_94, 0)] {
            assert_eq!(
                nanos(value, Unit::Nanoseconds, "tx_time").ok(),
                Some(expected)
            );
        }
        assert_eq!(nanos(0.1, Unit::Seconds, "tx_time").ok(), Some(100_000_000));
    }

    #[test]
    fn the_range_ends_at_the_last_double_below_it() {
        let last = f64::from_bits((9_223_372_036_854_775_808.0f64).to_bits() - 1);
        assert_eq!(
            nanos(last, Unit::Nanoseconds, "tx_time").ok(),
            Some((1 << 63) - 1024)
        );
        for value in [9_223_372_036_854_775_808.0, 1e300, f64::MAX] {
            for (unit, _) in UNITS {
                assert!(matches!(
                    nanos(value, unit, "tx_time"),
                    Err(ErrorKind::TooLarge { .. })
                ));
            }
        }
    }

    #[test]
    fn invalid_times_are_refused() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(
                nanos(value, Unit::Seconds, "tx_time"),
                Err(ErrorKind::NotANumber { .. })
            ));
        }
        for value in [-1.0, -f64::MIN_POSITIVE, -f64::from_bits(1)] {
            assert!(matches!(
                nanos(value, Unit::Seconds, "tx_time"),
                Err(ErrorKind::Negative { .. })
            ));
        }
        assert_eq!(nanos(-0.0, Unit::Seconds, "tx_time").ok(), Some(0));
        assert_eq!(
            delay_nanos(-0.0, Unit::Seconds, "decode_delay").ok(),
            Some(0)
        );
        for value in [f64::from_bits(1), 0.4e-9] {
            assert!(matches!(
                delay_nanos(value, Unit::Seconds, "decode_delay"),
                Err(ErrorKind::RoundsToZero { .. })
            ));
        }
    }
}
