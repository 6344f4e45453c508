//! Numbers of text traces (docs/trace-format.md, Sec. 3), compared with a conversion that moves digits in a string.

use crate::reading::decode;
use proptest::prelude::*;
use test_support::cases;
use tmt_core::format::Unit;
use tmt_core::format::text::Options;

const LARGEST: u64 = i64::MAX as u64;

/// Digits of `text` × 10^`decimals`, rounded half away from zero, by moving the point in the string.
fn nanos_by_hand(text: &str, decimals: i64) -> String {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits: Vec<u8> = format!("{whole}{fraction}")
        .bytes()
        .map(|byte| byte - b'0')
        .collect();
    let mut point =
        i64::try_from(whole.len()).unwrap() + exponent.parse::<i64>().unwrap() + decimals;
    while point < 1 {
        digits.insert(0, 0);
        point += 1;
    }
    let point = usize::try_from(point).unwrap();
    while digits.len() <= point {
        digits.push(0);
    }
    let up = digits[point] >= 5;
    digits.truncate(point);
    if up {
        let mut at = digits.len();
        loop {
            if at == 0 {
                digits.insert(0, 1);
                break;
            }
            at -= 1;
            if digits[at] < 9 {
                digits[at] += 1;
                break;
            }
            digits[at] = 0;
        }
    }
    let text: String = digits
        .iter()
        .map(|digit| char::from(b'0' + digit))
        .collect();
    let text = text.trim_start_matches('0');
    if text.is_empty() {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Numbers at the edge cases of the conversion.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[0-9]{1,10}(\\.[0-9]{1,12})?",
        2 => "0{0,40}[0-9]{1,3}\\.[0-9]{1,40}",
        2 => "[0-9]{1,4}\\.[0-9]{0,8}[0-9]50{0,30}[0-9]",
        2 => "[0-9]{1,4}\\.[0-9]{8}49{0,40}",
        1 => "9{1,10}\\.9{1,14}",
        2 => "922337203[0-9]\\.85477580[67][0-9]{0,20}",
        2 => "92233720368547758(0[0-9]{1,2}|[0-9]{3})(\\.[0-9]{1,3})?",
        3 => "[0-9]{1,20}(\\.[0-9]{1,30})?[eE][+-]?[0-9]{1,2}",
        1 => "0\\.?0{1,30}[eE][+-]?[0-9]{1,3}",
    ]
    .prop_map(|text| {
        if text.ends_with('.') {
            text + "0"
        } else {
            text
        }
    })
}

const UNITS: [(Unit, i64); 4] = [
    (Unit::Seconds, 9),
    (Unit::Milliseconds, 6),
    (Unit::Microseconds, 3),
    (Unit::Nanoseconds, 0),
];

proptest! {
    #![proptest_config(cases(20_000))]

    #[test]
    fn numbers_equal_those_of_string_arithmetic(text in number(), unit in 0..UNITS.len(), minus in any::<bool>()) {
        let (unit, decimals) = UNITS[unit];
        let options = Options { unit: Some(unit), ..Options::default() };
        let digits = nanos_by_hand(&text, decimals);
        let largest = LARGEST.to_string();
        let fits = (digits.len(), &digits) <= (largest.len(), &largest);
        let zero = text.split(['e', 'E']).next().unwrap().bytes().all(|byte| matches!(byte, b'0' | b'.'));
        let text = if minus { format!("-{text}") } else { text };
        let expect = |rounds_to_zero: &'static str| match (minus && !zero, fits, digits == "0" && !zero) {
            (true, ..) => Err("Negative"),
            (_, false, _) => Err("TooLarge"),
            (_, _, true) if !rounds_to_zero.is_empty() => Err(rounds_to_zero),
            _ => Ok(digits.parse::<u64>().unwrap()),
        };
        for (row, rounds_to_zero) in [(format!("{text},0\n"), ""), (format!("0,{text}\n"), "RoundsToZero")] {
            let got = decode(row.as_bytes(), &[usize::MAX], options);
            let value = match got.end {
                Ok(_) => Ok(got.slots[0].0 + got.slots[0].1),
                Err(refusal) => Err(refusal.kind),
            };
            match (expect(rounds_to_zero), value) {
                (Ok(expected), Ok(value)) => prop_assert_eq!(value, expected, "{}", row),
                (Err(expected), Err(kind)) => prop_assert!(kind.starts_with(expected), "{}: {} not {}", row, kind, expected),
                (expected, value) => prop_assert!(false, "{}: {:?} instead of {:?}", row, value, expected),
            }
        }
    }
}

#[test]
fn the_string_arithmetic_gives_known_results() {
    for (text, decimals, nanos) in [
        ("0", 9, "0"),
        ("1.5", 9, "1500000000"),
        ("0.0000000005", 9, "1"),
        ("0.00000000049", 9, "0"),
        ("999.9995", 3, "1000000"),
        ("25e-1", 0, "3"),
        ("0.00125E+3", 0, "1"),
        ("1e-30", 9, "0"),
        ("9223372036.8547758075", 9, "9223372036854775808"),
    ] {
        assert_eq!(nanos_by_hand(text, decimals), nanos, "{text}");
    }
}
