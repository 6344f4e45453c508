//! Text and data of any content as HTML; numbers with their units.

use tmt_plot::picture::Unit;

/// Text in HTML, between tags and in attributes.
#[must_use]
pub fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Directions of writing, and what HTML cannot hold.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => safe.push('\u{fffd}'),
            '\n' | '\t' => safe.push(c),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// JSON for a script element of HTML: no text of it can end the element or begin a comment.
#[must_use]
pub fn json(value: &serde_json::Value) -> String {
    let mut safe = String::new();
    for c in value.to_string().chars() {
        match c {
            '<'
            | '>'
            | '&'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                safe.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// A number with four significant digits, without an exponent where it can be.
#[must_use]
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value != 0.0 && !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    // At least the whole digits: 12345 stays, 1.23456 becomes 1.235.
    let rounded = rounded(value, 4);
    if value.abs() >= 1e3 {
        return format!("{value:.0}");
    }
    rounded.to_string()
}

/// A number with `digits` significant digits.
#[must_use]
pub fn rounded(value: f64, digits: usize) -> f64 {
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    text.parse().unwrap_or(value)
}

/// A value in `unit`, with the prefix that fits.
#[must_use]
pub fn with_unit(value: f64, unit: Unit) -> String {
    let (size, name) = unit.shown(value.abs());
    joined(&number(value / size), name)
}

/// A value and its half-width, with the prefix that fits the value. Two digits of the half-width count, and as many of the value.
#[must_use]
pub fn with_half(value: f64, half: Option<f64>, unit: Unit) -> String {
    let (size, name) = unit.shown(value.abs().max(half.unwrap_or(0.0)));
    let value = value / size;
    let Some(half) = half.map(|half| half / size) else {
        return joined(&number(value), name);
    };
    if !value.is_finite() || !half.is_finite() || half <= value.abs() * 1e-9 {
        return joined(
            &format!(
                "{} ± {}",
                number(value),
                if half.is_finite() { "0" } else { "–" }
            ),
            name,
        );
    }
    // Decimals by which the half-width has two digits.
    let exponent = format!("{half:e}");
    let exponent: i32 = exponent
        .split_once('e')
        .and_then(|(_, e)| e.parse().ok())
        .unwrap_or(0);
    let text = match usize::try_from(1 - exponent).unwrap_or(0) {
        digits if digits > 6 => format!("{} ± {}", number(value), number(half)),
        digits => format!("{value:.digits$} ± {half:.digits$}"),
    };
    joined(&text, name)
}

fn joined(number: &str, unit: &str) -> String {
    if unit.is_empty() {
        return number.to_owned();
    }
    format!("{number} {unit}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_have_four_digits_and_units_a_prefix() {
        assert_eq!(number(1.234_567), "1.235");
        assert_eq!(number(123_456.0), "123456");
        assert_eq!(number(0.0), "0");
        assert_eq!(number(1e-7), "1.000e-7");
        assert_eq!(number(f64::NAN), "–");
        assert_eq!(
            with_half(1.5e6, Some(23_456.0), Unit::BitsPerSecond),
            "1.500 ± 0.023 Mbps"
        );
        assert_eq!(
            with_half(50.89e3, Some(32.4e3), Unit::BitsPerSecond),
            "51 ± 32 kbps"
        );
        assert_eq!(with_half(1.0, Some(1e-15), Unit::None), "1 ± 0");
        assert_eq!(with_half(0.0, Some(0.0), Unit::None), "0 ± 0");
        assert_eq!(with_unit(0.25, Unit::Seconds), "250 ms");
    }

    proptest! {
        #![proptest_config(test_support::cases(400))]
        #[test]
        fn no_text_leaves_its_place(text in "(<|>|&|\"|'|/|!|-|script|\u{2028}|\u{2029}|\\PC){0,20}") {
            let data = json(&json!([&text]));
            let is_safe = !data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']);
            prop_assert!(is_safe);
            let back: serde_json::Value = serde_json::from_str(&data).unwrap();
            prop_assert_eq!(back, json!([&text]));
            let is_safe = !html(&text).contains(['<', '>', '"', '\'']);
            prop_assert!(is_safe);
        }
    }
}
