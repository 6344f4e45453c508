//! Exact conversion of decimal text to scaled integers: the simple reference parser.
//!
//! Every number that a user writes (a field of a trace, `--rtt 500ms`, `--rate 2.34Mbps`) is read here or by a fast path
//! that is tested against this one. There is no floating point: `0.1` seconds is exactly 100 000 000 ns.

use std::num::IntErrorKind;

/// Largest value of any quantity of this crate, 2^63 − 1.
pub(crate) const MAX: u64 = i64::MAX as u64;

/// From this mantissa on no further digit is added; further digits only determine whether the number is exact.
///
/// 27 digits times the largest factor used (2^30, for GiB) stay below 2^127.
const ENOUGH: u128 = 10u128.pow(26);

/// A decimal number as written: ± mantissa × 10^exponent, and whether non-zero digits were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    mantissa: u128,
    exponent: i64,
    inexact: bool,
}

/// A [`Decimal`] converted to an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scaled {
    /// The value, rounded half away from zero.
    pub(crate) value: u64,
    /// Whether no rounding took place.
    pub(crate) exact: bool,
}

impl Decimal {
    /// Reads `[+-]digits[.digits][e[+-]digits]`; `None` if `text` is anything else.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let negative = text.starts_with('-');
        let text = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let decimals = i64::try_from(fraction.len()).ok()?;
        let mut number = Self {
            negative,
            mantissa: 0,
            exponent: exponent.saturating_sub(decimals),
            inexact: false,
        };
        for byte in whole.bytes().chain(fraction.bytes()) {
            let digit = u128::from(byte).wrapping_sub(u128::from(b'0'));
            if digit > 9 {
                return None;
            }
            if number.mantissa < ENOUGH {
                number.mantissa = number.mantissa * 10 + digit;
            } else {
                number.inexact |= digit != 0;
                number.exponent = number.exponent.saturating_add(1);
            }
        }
        (whole.len() + fraction.len() > 0).then_some(number)
    }

    /// `text` × `factor` × 10^`shift`; `None` if that is negative, not an integer, or above 2^63 − 1.
    pub(crate) fn exactly(text: &str, factor: u64, shift: i64) -> Option<u64> {
        let number = Self::parse(text.as_bytes()).filter(|number| !number.is_negative())?;
        let scaled = number.scaled(factor, shift).filter(|scaled| scaled.exact);
        scaled.map(|scaled| scaled.value)
    }

    /// Whether the number is below zero, which `-0` is not.
    pub(crate) fn is_negative(&self) -> bool {
        self.negative && !self.is_zero()
    }

    /// Whether the number is zero, however it was written.
    pub(crate) fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// The absolute value × `factor` × 10^`shift`, rounded; `None` above 2^63 − 1.
    pub(crate) fn scaled(&self, factor: u64, shift: i64) -> Option<Scaled> {
        let mantissa = self.mantissa * u128::from(factor);
        if mantissa == 0 {
            return Some(Scaled {
                value: 0,
                exact: true,
            });
        }
        let exponent = self.exponent.saturating_add(shift);
        let (value, exact) = if exponent >= 0 {
            let power = 10u128.checked_pow(u32::try_from(exponent).ok()?)?;
            (mantissa.checked_mul(power)?, !self.inexact)
        } else {
            match u32::try_from(exponent.unsigned_abs())
                .ok()
                .and_then(|k| 10u128.checked_pow(k))
            {
                Some(power) => {
                    let rest = mantissa % power;
                    let value = mantissa / power + u128::from(rest >= power - rest);
                    (value, rest == 0 && !self.inexact)
                }
                // The mantissa is below 10^37, so it is less than half of the divisor.
                None => (0, false),
            }
        };
        let value = u64::try_from(value).ok().filter(|&value| value <= MAX)?;
        Some(Scaled { value, exact })
    }
}

/// Reads `[+-]digits`; values beyond 64 bits saturate.
fn parse_exponent(text: &str) -> Option<i64> {
    match text.parse::<i64>() {
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Some(i64::MAX),
        Err(error) if *error.kind() == IntErrorKind::NegOverflow => Some(i64::MIN),
        exponent => exponent.ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> Option<Scaled> {
        Decimal::parse(text.as_bytes())?.scaled(1, 9)
    }

    #[test]
    fn plain_and_exponent_forms_agree() {
        for text in [
            "0.036",
            "36e-3",
            "3.6E-2",
            ".036",
            "+0.0360",
            "36000000e-9",
            "0.00036e2",
        ] {
            assert_eq!(
                nanos(text),
                Some(Scaled {
                    value: 36_000_000,
                    exact: true
                }),
                "{text}"
            );
        }
    }

    #[test]
    fn more_decimals_round_half_away_from_zero() {
        assert_eq!(
            nanos("0.0000000005"),
            Some(Scaled {
                value: 1,
                exact: false
            })
        );
        assert_eq!(
            nanos("0.00000000049999999999999999999999999999999"),
            Some(Scaled {
                value: 0,
                exact: false
            })
        );
        assert_eq!(
            nanos("1.0000000015"),
            Some(Scaled {
                value: 1_000_000_002,
                exact: false
            })
        );
    }

    #[test]
    fn the_largest_value_is_accepted_and_the_next_refused() {
        assert_eq!(
            nanos("9223372036.854775807"),
            Some(Scaled {
                value: MAX,
                exact: true
            })
        );
        assert_eq!(nanos("9223372036.854775808"), None);
        assert_eq!(nanos("1e400"), None);
        assert_eq!(
            nanos("1e-400"),
            Some(Scaled {
                value: 0,
                exact: false
            })
        );
        assert_eq!(
            nanos("0e999999999999999999999"),
            Some(Scaled {
                value: 0,
                exact: true
            })
        );
    }

    #[test]
    fn leading_zeros_and_long_tails_cost_no_precision() {
        let text = format!("{}1.5{}", "0".repeat(100), "0".repeat(100));
        assert_eq!(
            nanos(&text),
            Some(Scaled {
                value: 1_500_000_000,
                exact: true
            })
        );
    }

    #[test]
    fn minus_zero_is_zero_and_a_tiny_negative_is_negative() {
        assert!(!Decimal::parse(b"-0.000").unwrap().is_negative());
        assert!(Decimal::parse(b"-1e-30").unwrap().is_negative());
    }

    #[test]
    fn anything_else_is_not_a_number() {
        for text in [
            "", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "nan", "inf", "1_0", " 1", "1 ",
        ] {
            assert_eq!(Decimal::parse(text.as_bytes()), None, "{text:?}");
        }
    }
}
