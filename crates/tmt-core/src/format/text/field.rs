//! Converts a field of a row from decimal text to integer nanoseconds.

use crate::format::unit::Unit;
use crate::types::ErrorKind;
use crate::types::decimal::Decimal;

/// Value of a field in nanoseconds, rounded half away from zero.
pub(crate) fn nanos(text: &[u8], unit: Unit, field: &'static str) -> Result<u64, ErrorKind> {
    let Some(number) = Decimal::parse(text) else {
        let found = shown(text);
        return Err(ErrorKind::NotANumber { field, found });
    };
    if number.is_negative() {
        let found = shown(text);
        return Err(ErrorKind::Negative { field, found });
    }
    let scaled = number.scaled(1, unit as i64);
    scaled.map(|scaled| scaled.value).ok_or_else(|| {
        let found = shown(text);
        ErrorKind::TooLarge { field, found }
    })
}

/// As [`nanos`], for a delay: zero means erased, so a positive delay must not round to zero.
pub(super) fn delay_nanos(text: &[u8], unit: Unit) -> Result<u64, ErrorKind> {
    match nanos(text, unit, "decode_delay")? {
        0 if !Decimal::parse(text).is_some_and(|number| number.is_zero()) => {
            Err(ErrorKind::RoundsToZero { found: shown(text) })
        }
        nanos => Ok(nanos),
    }
}

/// Input text for a message: at most 60 characters, control characters replaced.
pub(crate) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 60;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * LONGEST)]);
    let mut shown: String = text
        .chars()
        .take(LONGEST)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().count() > LONGEST {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_positive_delay_that_rounds_to_zero_is_refused_and_zero_is_not() {
        assert!(matches!(
            delay_nanos(b"0.0000000004", Unit::Seconds),
            Err(ErrorKind::RoundsToZero { .. })
        ));
        assert_eq!(delay_nanos(b"0.0000000005", Unit::Seconds).unwrap(), 1);
        for zero in ["0", "-0", "0.000000000", "0e5", "-0.0"] {
            assert_eq!(
                delay_nanos(zero.as_bytes(), Unit::Seconds).unwrap(),
                0,
                "{zero}"
            );
        }
    }

    #[test]
    fn units_scale() {
        assert_eq!(
            nanos(b"1.5", Unit::Milliseconds, "tx_time").unwrap(),
            1_500_000
        );
        assert_eq!(nanos(b"1.5", Unit::Microseconds, "tx_time").unwrap(), 1_500);
        assert_eq!(nanos(b"1.5", Unit::Nanoseconds, "tx_time").unwrap(), 2);
    }

    #[test]
    fn shown_text_is_short_and_has_no_control_characters() {
        assert_eq!(shown(b"a\x1b[31mb\0"), "a\u{fffd}[31mb\u{fffd}");
        assert_eq!(shown(&[b'x'; 1000]).chars().count(), 61);
    }
}
