//! The statistics of a trace as rows of a table, alone or beside those of another trace.

use std::collections::BTreeMap;

use tmt_core::format::text::encode;
use tmt_core::stats::distribution::Quantiles;
use tmt_core::stats::runs::RunLengths;
use tmt_core::stats::{TraceStats, ratio};

use crate::table::{SHOWN_ATTEMPTS, later, number};

/// One figure of a table: its name with its unit, and its value.
pub(crate) type Figure = (String, Value);

/// A value as a table shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    /// A count; `None` if there is nothing to count.
    Count(Option<u64>),
    /// A time in ns, shown in seconds as in a trace.
    Time(u64),
    /// A number with this many decimals.
    Real(Option<f64>, usize),
}

impl Value {
    /// The value; a dash if absent.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Count(count) => count.map_or_else(|| "-".to_owned(), |count| count.to_string()),
            Self::Time(nanos) => seconds(nanos),
            Self::Real(value, decimals) => number(value, decimals),
        }
    }

    /// `self` − `from` with its sign, 0 without one; a dash if one of both is missing.
    pub(crate) fn difference(self, from: Self) -> String {
        let signed = |is_less: bool, text: String| {
            let is_zero = text.bytes().all(|byte| !matches!(byte, b'1'..=b'9'));
            let sign = match (is_zero, is_less) {
                (true, _) => "",
                (false, true) => "-",
                (false, false) => "+",
            };
            format!("{sign}{text}")
        };
        match (self, from) {
            (Self::Count(Some(to)), Self::Count(Some(from))) => {
                signed(to < from, to.abs_diff(from).to_string())
            }
            (Self::Time(to), Self::Time(from)) => signed(to < from, seconds(to.abs_diff(from))),
            (Self::Real(Some(to), decimals), Self::Real(Some(from), _)) => {
                signed(to < from, format!("{:.decimals$}", (to - from).abs()))
            }
            _ => "-".to_owned(),
        }
    }
}

/// The statistics in the order of the table. `folds` says whether delays that are all equal have one row.
pub(crate) fn figures(stats: &TraceStats, folds: bool) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut row = |name: &str, value| figures.push((name.to_owned(), value));
    let real = Value::Real;
    let count = |count| Value::Count(Some(count));
    let millis = |seconds: Option<f64>| real(seconds.map(|seconds| seconds * 1e3), 3);
    row("slots", count(stats.slots));
    row("first slot s", Value::Time(stats.first_ns));
    row("last slot s", Value::Time(stats.last_ns));
    let micros = stats.slot_period_s.map(|seconds| seconds * 1e6);
    row("slot period, mean us", real(micros, 3));
    let longest = millis(Some(stats.longest_slot_period_s));
    row("slot period, max ms", longest);
    row("slots per second", real(stats.slots_per_s, 3));
    row("rate bps", real(stats.rate_bps, 0));
    if let Some(rates) = &stats.rates {
        for (which, rate) in rates.named() {
            let name = format!("rate over {} s, {which} bps", rates.window_s);
            row(&name, real(Some(rate), 0));
        }
    }
    row("slots erased", count(stats.slots_erased));
    row("erasure ratio", real(stats.erasure_ratio, 6));
    row("P(received after received), alpha", real(stats.alpha, 6));
    row("P(erased after erased), beta", real(stats.beta, 6));
    for (name, lengths) in [("burst", &stats.bursts), ("gap", &stats.gaps)] {
        row(&format!("{name}s"), count(lengths.values().sum()));
        let mean = real(mean_length(lengths), 3);
        row(&format!("{name} length, mean"), mean);
        let longest = lengths.keys().last().copied();
        row(&format!("{name} length, longest"), Value::Count(longest));
    }
    let delays = [
        ("decoding delay", Some(stats.decode_delay_s)),
        ("one-way delay", stats.delay_s),
    ];
    for (name, delay) in delays {
        let Some(delay) = delay else { continue };
        if folds && delay.min.is_some() && delay.min == delay.max {
            row(
                &format!("{name} of all ms"),
                real(delay.min.map(|delay| delay * 1e3), 6),
            );
            continue;
        }
        for (which, quantile) in Quantiles::ALL {
            row(&format!("{name} {which} ms"), millis(quantile(&delay)));
        }
    }
    for (attempts, received) in stats.attempts.range(..=SHOWN_ATTEMPTS) {
        let name = format!("received in attempt {attempts}");
        row(&name, count(*received));
    }
    let later = later(&stats.attempts);
    if later > 0 {
        row("received in later attempts", count(later));
    }
    figures
}

/// The statistics of two traces side by side: every figure that one of them has, in the order of the first.
pub(crate) fn side_by_side(a: &TraceStats, b: &TraceStats) -> Vec<(String, [Option<Value>; 2])> {
    let mut of_b: BTreeMap<String, Value> = figures(b, false).into_iter().collect();
    let mut rows: Vec<(String, [Option<Value>; 2])> = figures(a, false)
        .into_iter()
        .map(|(name, a)| {
            let b = of_b.remove(&name);
            (name, [Some(a), b])
        })
        .collect();
    let rest = figures(b, false)
        .into_iter()
        .filter(|(name, _)| of_b.contains_key(name));
    rows.extend(rest.map(|(name, b)| (name, [None, Some(b)])));
    rows
}

/// A time in seconds as in a trace.
pub(crate) fn seconds(nanos: u64) -> String {
    let mut text = Vec::new();
    encode::seconds(nanos, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Mean of run lengths.
fn mean_length(lengths: &RunLengths) -> Option<f64> {
    ratio(
        lengths.iter().map(|(length, count)| length * count).sum(),
        lengths.values().sum(),
    )
}

#[cfg(test)]
mod tests {
    use super::Value::{Count, Real, Time};

    #[test]
    fn differences_have_a_sign_unless_they_round_to_zero() {
        for (to, from, text) in [
            (Count(Some(3)), Count(Some(5)), "-2"),
            (Count(Some(5)), Count(Some(3)), "+2"),
            (
                Count(Some(u64::MAX)),
                Count(Some(0)),
                "+18446744073709551615",
            ),
            (Count(None), Count(Some(3)), "-"),
            (Time(1), Time(3), "-0.000000002"),
            (Time(7), Time(7), "0.000000000"),
            (Real(Some(0.5), 3), Real(Some(0.25), 3), "+0.250"),
            (Real(Some(0.25), 3), Real(Some(0.250_01), 3), "0.000"),
            (Real(None, 3), Real(Some(1.0), 3), "-"),
        ] {
            assert_eq!(to.difference(from), text);
        }
    }
}
