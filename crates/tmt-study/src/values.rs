//! Lists and ranges in the text of a value: `arq,in-order,harq:10/12`, `bernoulli:1e-4..1e-2:log:5`, `1Mbps..5Mbps:5`.

use tmt_core::math::num::pow;
use tmt_core::named::split as split_parts;
use tmt_core::types::to_f64;

/// Largest number of values of one axis.
pub const MAX_VALUES: usize = 1_000_000;

/// Splits a list at its commas. A comma begins a new value unless an option of the value before it follows: `key=value`
/// or `in-order`.
///
/// ```
/// use tmt_study::values::split;
///
/// assert_eq!(split("arq,in-order,harq:10/12,rounds=3"), ["arq,in-order", "harq:10/12,rounds=3"]);
/// assert_eq!(split("newreno,cubic:beta=0.8"), ["newreno", "cubic:beta=0.8"]);
/// assert_eq!(split("bbr,cubic(beta=0.8,c=0.4)"), ["bbr", "cubic(beta=0.8,c=0.4)"]);
/// ```
#[must_use]
pub fn split(text: &str) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for part in split_parts(text) {
        match values.last_mut() {
            Some(before) if is_option(part) => {
                before.push(',');
                before.push_str(part);
            }
            _ => values.push(part.to_owned()),
        }
    }
    values
}

/// Why a number after a value with a name is no value of its own, as in `bernoulli:1e-5,1e-4`.
pub(crate) fn nameless(values: &[String]) -> Option<String> {
    values.windows(2).find_map(|pair| {
        let (name, first) = pair[0].split_once(':')?;
        let is_named = name.starts_with(|c: char| c.is_ascii_alphabetic());
        let number: f64 = pair[1].parse().ok()?;
        let from: f64 = first.parse().ok().filter(|_| is_named)?;
        let spacing = if from > 0.0 && number > 0.0 { "log" } else { "lin" };
        Some(format!(
            "found '{1}' after '{0}', expected '{name}:{1}', or a range such as {0}..{1}:{spacing}:2",
            pair[0], pair[1]
        ))
    })
}

/// Whether `part` is an option of the value before it.
fn is_option(part: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let key = part.split_once('=').map(|(key, _)| key);
    part == "in-order" || key.is_some_and(|key| !key.is_empty() && key.chars().all(is_word))
}

/// The values that `text` stands for: every combination of the ranges in it, the last range varying fastest. A text without a
/// range stands for itself.
///
/// A range is `FROM..TO:COUNT`, `FROM..TO:lin:COUNT` or `FROM..TO:log:COUNT`, both ends included; with a unit, both ends
/// have the same or only the last has one.
///
/// ```
/// use tmt_study::values::expand;
///
/// assert_eq!(expand("bernoulli:1e-4..1e-2:log:3")?, ["bernoulli:0.0001", "bernoulli:0.001", "bernoulli:0.01"]);
/// assert_eq!(expand("1..3Mbps:3")?, ["1Mbps", "2Mbps", "3Mbps"]);
/// assert_eq!(expand("0s..5s")?, ["0s..5s"]); // no count, so no range
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// A range without distinct values, or beyond [`MAX_VALUES`]; the message has found and expected.
pub fn expand(text: &str) -> Result<Vec<String>, String> {
    let Some(range) = Range::find(text)? else {
        return Ok(vec![text.to_owned()]);
    };
    let tails = expand(range.after)?;
    let numbers = range.numbers();
    if numbers.len().saturating_mul(tails.len()) > MAX_VALUES {
        return Err(format!(
            "found '{text}', expected at most {MAX_VALUES} values"
        ));
    }
    let mut values = Vec::with_capacity(numbers.len() * tails.len());
    for number in numbers {
        for tail in &tails {
            values.push(format!("{}{number}{}{tail}", range.before, range.unit));
        }
    }
    Ok(values)
}

/// A range within a text.
struct Range<'a> {
    before: &'a str,
    from: f64,
    to: f64,
    unit: &'a str,
    logarithmic: bool,
    count: usize,
    after: &'a str,
}

impl<'a> Range<'a> {
    /// The first range in `text`; `None` if absent.
    fn find(text: &'a str) -> Result<Option<Self>, String> {
        let mut at = 0;
        while let Some(dots) = text[at..].find("..").map(|dots| at + dots) {
            at = dots + 2;
            let Some((before, from, first_unit)) = ending(&text[..dots]) else {
                continue;
            };
            let Some((to, unit, rest)) = beginning(&text[at..]) else {
                continue;
            };
            let Some(rest) = rest.strip_prefix(':') else {
                continue;
            };
            let (logarithmic, rest) = match (rest.strip_prefix("log:"), rest.strip_prefix("lin:")) {
                (Some(rest), _) => (true, rest),
                (None, Some(rest)) => (false, rest),
                (None, None) => (false, rest),
            };
            let digits = rest.find(|c: char| !c.is_ascii_digit());
            let (count, after) = rest.split_at(digits.unwrap_or(rest.len()));
            if count.is_empty() {
                continue;
            }
            let refuse = |expected: &str| {
                let range = &text[before.len()..text.len() - after.len()];
                Err(format!("found the range '{range}', expected {expected}"))
            };
            if !first_unit.is_empty() && first_unit != unit {
                return refuse("the same unit at both ends");
            }
            let count = count.parse().ok();
            let Some(count) = count.filter(|count| (2..=MAX_VALUES).contains(count)) else {
                return refuse(&format!("2 to {MAX_VALUES} values"));
            };
            if logarithmic && !(from > 0.0 && to > 0.0) {
                return refuse("a logarithmic range above 0");
            }
            if from.to_bits() == to.to_bits() {
                return refuse("two different ends");
            }
            return Ok(Some(Self {
                before,
                from,
                to,
                unit,
                logarithmic,
                count,
                after,
            }));
        }
        Ok(None)
    }

    fn numbers(&self) -> Vec<String> {
        spaced(self.from, self.to, self.logarithmic, self.count)
            .into_iter()
            .map(|number| number.to_string())
            .collect()
    }
}

/// `count` points from `from` to `to`, both ends exact.
#[must_use]
pub fn spaced(from: f64, to: f64, logarithmic: bool, count: usize) -> Vec<f64> {
    let last = count.saturating_sub(1);
    let share = |i: usize| to_f64(i as u64) / to_f64(last as u64);
    let between = |i: usize| {
        if logarithmic {
            from * pow(to / from, share(i))
        } else {
            // One division, so that decimal steps stay decimal: 0.1..0.5 has 0.3, not 0.30000000000000004.
            let (i, last) = (to_f64(i as u64), to_f64(last as u64));
            (from * (last - i) + to * i) / last
        }
    };
    let point = |i| match i {
        0 => from,
        i if i == last => to,
        i => tidy(between(i)),
    };
    (0..count).map(point).collect()
}

/// `number` with 15 significant digits, which takes away what rounding left: 0.0010000000000000002 is 0.001.
fn tidy(number: f64) -> f64 {
    format!("{number:.14e}").parse().unwrap_or(number)
}

/// Text before, number and unit at the end of `text`.
fn ending(text: &str) -> Option<(&str, f64, &str)> {
    let is_unit = |c: char| c.is_ascii_alphabetic() || c == '%';
    let bare = text.trim_end_matches(is_unit);
    let unit = &text[bare.len()..];
    // The longest number at the end.
    let begin = bare.find(|c: char| c.is_ascii_digit() || "+-.".contains(c))?;
    let mut starts = bare[begin..].char_indices().map(|(at, _)| begin + at);
    let found = starts.find_map(|at| Some((at, number(&bare[at..])?)));
    found.map(|(at, number)| (&text[..at], number, unit))
}

/// Number, unit, and the text after, at the beginning of `text`.
fn beginning(text: &str) -> Option<(f64, &str, &str)> {
    let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let most = text.find(|c| !is_part(c)).unwrap_or(text.len());
    let end = (1..=most)
        .rev()
        .find(|end| number(&text[..*end]).is_some())?;
    let rest = &text[end..];
    let unit = rest.find(|c: char| !c.is_ascii_alphabetic() && c != '%');
    let (unit, rest) = rest.split_at(unit.unwrap_or(rest.len()));
    Some((number(&text[..end])?, unit, rest))
}

/// `text` as a finite decimal number.
fn number(text: &str) -> Option<f64> {
    let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let is_bare = text.chars().all(is_part) && text.ends_with(|c: char| c.is_ascii_digit());
    let number = is_bare.then(|| text.parse::<f64>().ok()).flatten();
    number.filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn commas_begin_values_unless_an_option_follows() {
        for (text, expected) in [
            (
                "arq,in-order,harq:10/12",
                vec!["arq,in-order", "harq:10/12"],
            ),
            ("arq,arq,in-order", vec!["arq", "arq,in-order"]),
            (
                "gilbert-elliott:alpha=0.999,beta=0.9,bernoulli:0.01",
                vec!["gilbert-elliott:alpha=0.999,beta=0.9", "bernoulli:0.01"],
            ),
            (
                "harq:10/12,extra=1,rounds=2,in-order,none",
                vec!["harq:10/12,extra=1,rounds=2,in-order", "none"],
            ),
            ("cc=cubic,start=5s", vec!["cc=cubic,start=5s"]),
            ("1,2,3", vec!["1", "2", "3"]),
            (
                "scenario:starlink,es-n0=5dB",
                vec!["scenario:starlink,es-n0=5dB"],
            ),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn ranges_stand_for_their_values() {
        for (text, expected) in [
            (
                "1e-4..1e-2:log:5",
                "0.0001 0.000316227766016838 0.001 0.00316227766016838 0.01",
            ),
            ("0.1..0.5:5", "0.1 0.2 0.3 0.4 0.5"),
            (
                "harq:10/11..15:lin:5",
                "harq:10/11 harq:10/12 harq:10/13 harq:10/14 harq:10/15",
            ),
            ("1Mbps..4Mbps:4", "1Mbps 2Mbps 3Mbps 4Mbps"),
            ("-2dB..2dB:3", "-2dB 0dB 2dB"),
            (
                "scenario:x,es-n0=5..8dB:4,seed=1",
                "scenario:x,es-n0=5dB,seed=1 scenario:x,es-n0=6dB,seed=1 scenario:x,es-n0=7dB,seed=1 scenario:x,es-n0=8dB,seed=1",
            ),
            (
                "ge:alpha=0.9..0.99:2,beta=0.1..0.2:2",
                "ge:alpha=0.9,beta=0.1 ge:alpha=0.9,beta=0.2 ge:alpha=0.99,beta=0.1 ge:alpha=0.99,beta=0.2",
            ),
            ("500ms..100ms:2", "500ms 100ms"),
            ("0s..5s", "0s..5s"),
            ("../trace.csv", "../trace.csv"),
            ("../a:b/3..c", "../a:b/3..c"),
            ("a..b:3", "a..b:3"),
        ] {
            assert_eq!(expand(text).unwrap().join(" "), expected, "{text}");
        }
    }

    #[test]
    fn ranges_that_are_none_are_refused() {
        for (text, word) in [
            ("1..2:1", "2 to 1000000 values"),
            ("1..2:99999999", "2 to 1000000 values"),
            ("0..1:log:5", "above 0"),
            ("1ms..2s:5", "the same unit"),
            ("3..3:2", "different ends"),
            ("a=1..2:5000,b=1..2:5000", "at most"),
        ] {
            let error = expand(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn joined_values_are_split_again(parts in prop::collection::vec("[a-z]{1,5}(:[a-z]{1,3}=[0-9]{1,3})?(,[a-z]{1,3}=[0-9]{1,3}){0,2}(,in-order)?", 1..6)) {
            prop_assert_eq!(split(&parts.join(",")), parts);
        }

        #[test]
        fn linear_ranges_of_whole_steps_are_whole(from in -1000i32..1000, step in 1i32..50, count in 2usize..40) {
            let to = from + step * i32::try_from(count - 1).unwrap();
            let values = expand(&format!("{from}..{to}:{count}")).unwrap();
            let expected: Vec<String> = (0..count).map(|i| (from + step * i32::try_from(i).unwrap()).to_string()).collect();
            prop_assert_eq!(values, expected);
        }
    }
}
