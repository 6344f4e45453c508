//! Types for times, sizes and rates, and the texts in which users write them (docs/trace-format.md, Sec. 10).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;

use crate::types::decimal::{Decimal, MAX};
use crate::types::suggestion::question;

/// Nanoseconds in a second.
pub const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A point in time: integer nanoseconds since the zero of the trace, at most 2^63 − 1.
///
/// ```
/// use tmt_core::{Span, Time};
///
/// let sent = Time::ZERO.saturating_add(Span::from_millis(250));
/// let arrived = Time::from_nanos(300_000_000).ok_or("past 2^63 - 1 ns")?;
/// assert_eq!(arrived.since(sent), Span::from_millis(50));
/// assert_eq!(sent.to_string(), "0.250000000 s");
/// assert_eq!(Time::MAX.checked_add(Span::from_secs(1)), None);
/// # Ok::<(), &str>(())
/// ```
#[derive(
    derive_more::Display,
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
)]
#[display("{}.{:09} s", _0 / NANOS_PER_SECOND, _0 % NANOS_PER_SECOND)]
pub struct Time(u64);

/// A length of time: integer nanoseconds, at most 2^63 − 1.
///
/// ```
/// use std::time::Duration;
/// use tmt_core::Span;
///
/// let rtt: Span = "36ms".parse()?;
/// assert_eq!(rtt, Span::try_from(Duration::from_millis(36))?);
/// assert_eq!(Duration::from(rtt.half()), Duration::from_millis(18));
/// assert_eq!(rtt.checked_mul(1000), Some(Span::from_secs(36)));
/// assert!(Span::try_from(Duration::MAX).is_err()); // past 2^63 - 1 ns
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Span(u64);

/// A size in bytes. As text it has a unit: `33B`, `100kB`.
#[derive(
    derive_more::Display, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default,
)]
#[display("{_0}B")]
pub struct Bytes(pub u64);

/// A rate in bits per second. As text it has a unit: `2.34Mbps`.
///
/// ```
/// use tmt_core::{BitRate, Bytes, Span, Time};
///
/// let (rate, lldu): (BitRate, Bytes) = ("2.34Mbps".parse()?, "33B".parse()?);
/// let sent = rate.time_of_bit(8 * u128::from(lldu.0)).ok_or("the rate is zero")?;
/// assert_eq!(sent.since(Time::ZERO).to_string(), "112.821us");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitRate(pub u64);

/// Implements what [`Time`] and [`Span`] have in common.
// Accessors are `#[inline]`, here and in `slot`: an incremental build does not inline functions of another crate by itself.
macro_rules! nanoseconds {
    ($time:ident) => {
        impl $time {
            /// Zero: 0 ns from the zero of a trace, or no time at all.
            pub const ZERO: Self = Self(0);
            /// The largest value, 2^63 − 1 ns.
            pub const MAX: Self = Self(MAX);

            /// This many nanoseconds; `None` above 2^63 − 1.
            #[must_use]
            #[inline]
            pub fn from_nanos(nanos: u64) -> Option<Self> {
                (nanos <= MAX).then_some(Self(nanos))
            }

            /// The value in nanoseconds.
            #[must_use]
            #[inline]
            pub const fn as_nanos(self) -> u64 {
                self.0
            }

            /// The sum with `span`; `None` above 2^63 − 1 ns.
            #[must_use]
            #[inline]
            pub fn checked_add(self, span: Span) -> Option<Self> {
                Self::from_nanos(self.0 + span.0)
            }

            /// The sum with `span`, at most 2^63 − 1 ns.
            #[must_use]
            #[inline]
            pub fn saturating_add(self, span: Span) -> Self {
                self.checked_add(span).unwrap_or(Self::MAX)
            }
        }
    };
}

nanoseconds!(Time);
nanoseconds!(Span);

impl Time {
    /// The time since `earlier`; zero if `earlier` is later than this.
    #[must_use]
    #[inline]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// The time `span` before this, at least zero.
    #[must_use]
    #[inline]
    pub const fn saturating_sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Span {
    /// 1 ns, the shortest span above zero.
    pub const NANOSECOND: Self = Self(1);

    /// A span of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u32) -> Self {
        Self(millis as u64 * 1_000_000)
    }

    /// A span of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u32) -> Self {
        Self(micros as u64 * 1_000)
    }

    /// A span of `secs` seconds.
    #[must_use]
    pub const fn from_secs(secs: u32) -> Self {
        Self(secs as u64 * NANOS_PER_SECOND)
    }

    /// Whether the span is 0 ns.
    #[must_use]
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The length in seconds, rounded to the nearest double.
    #[must_use]
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        // Of the same value, and converted in one step.
        #[expect(clippy::cast_precision_loss, reason = "as in `to_f64`")]
        let nanos = self.0.cast_signed() as f64;
        nanos / 1e9
    }

    /// The difference; zero if `other` is longer.
    #[must_use]
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The product with `factor`; `None` above 2^63 − 1 ns.
    #[must_use]
    pub fn checked_mul(self, factor: u64) -> Option<Self> {
        self.0.checked_mul(factor).and_then(Self::from_nanos)
    }

    /// Half the span, rounded down: the propagation delay of a link with this RTT.
    #[must_use]
    #[inline]
    pub const fn half(self) -> Self {
        Self(self.0 / 2)
    }
}

/// `value` as a double: exact up to 2^53, rounded to the nearest double above that.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "the one place where an integer becomes a double for reporting"
)]
#[inline]
pub const fn to_f64(value: u64) -> f64 {
    value as f64
}

impl BitRate {
    /// Time at which `bits` bits have been sent at this rate: round(`bits` · 10^9 / rate) ns, half up.
    ///
    /// `None` for a rate of zero or a time above 2^63 − 1 ns.
    #[must_use]
    pub fn time_of_bit(self, bits: u128) -> Option<Time> {
        let rate = u128::from(self.0);
        if rate == 0 {
            return None;
        }
        let nanos = bits
            .checked_mul(u128::from(NANOS_PER_SECOND))?
            .checked_add(rate / 2)?
            / rate;
        Time::from_nanos(u64::try_from(nanos).ok()?)
    }
}

/// A text that is not a quantity: what was found and what is accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found '{found}'{}, expected {expected}", self.did_you_mean())]
pub struct QuantityError {
    found: String,
    expected: &'static str,
    suggestion: Option<String>,
}

impl QuantityError {
    pub(crate) fn new(found: &str, expected: &'static str) -> Self {
        Self {
            found: found.to_owned(),
            expected,
            suggestion: None,
        }
    }

    /// Accepted values.
    #[must_use]
    pub const fn expected(&self) -> &'static str {
        self.expected
    }

    /// The question whether the number with a known unit is meant, in parentheses after a space; empty if the unit found
    /// resembles none.
    #[must_use]
    pub fn did_you_mean(&self) -> String {
        question(self.suggestion.as_deref())
    }
}

/// Name of a unit, its factor, and its power of ten.
type Unit = (&'static str, u64, i64);

const TIME_UNITS: [Unit; 7] = [
    ("ns", 1, 0),
    ("us", 1, 3),
    ("µs", 1, 3),
    ("ms", 1, 6),
    ("s", 1, 9),
    ("min", 60, 9),
    ("h", 3600, 9),
];
const RATE_UNITS: [Unit; 4] = [
    ("bps", 1, 0),
    ("kbps", 1, 3),
    ("Mbps", 1, 6),
    ("Gbps", 1, 9),
];
const SIZE_UNITS: [Unit; 7] = [
    ("B", 1, 0),
    ("kB", 1, 3),
    ("MB", 1, 6),
    ("GB", 1, 9),
    ("KiB", 1 << 10, 0),
    ("MiB", 1 << 20, 0),
    ("GiB", 1 << 30, 0),
];

fn parse_quantity(
    text: &str,
    units: &[Unit],
    expected: &'static str,
) -> Result<u64, QuantityError> {
    let number_ends = text
        .rfind(|c: char| c.is_ascii_digit() || c == '.')
        .map_or(0, |at| at + 1);
    let (number, typed) = text.split_at(number_ends);
    let unit = units.iter().find(|(name, ..)| *name == typed);
    let value = unit.and_then(|&(_, factor, shift)| Decimal::exactly(number, factor, shift));
    value.ok_or_else(|| {
        let read = |&&(_, factor, shift): &&Unit| Decimal::exactly(number, factor, shift).is_some();
        let meant = meant(typed, units).filter(|_| unit.is_none()).filter(read);
        QuantityError {
            suggestion: meant.map(|(name, ..)| format!("{number}{name}")),
            ..QuantityError::new(text, expected)
        }
    })
}

/// Other spellings of units, in lower case.
const SPELLINGS: [(&str, &str); 16] = [
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("msec", "ms"),
    ("millis", "ms"),
    ("usec", "us"),
    ("\u{3bc}s", "us"),
    ("nsec", "ns"),
    ("mins", "min"),
    ("minute", "min"),
    ("minutes", "min"),
    ("hour", "h"),
    ("hours", "h"),
    ("byte", "B"),
    ("bytes", "B"),
];

/// Ends of units of rates and sizes that say no more than `bps` and `B` do.
const RATE_ENDS: [&str; 6] = ["bits/s", "bit/s", "b/s", "bits", "bit", "bps"];

/// The unit of `units` that `typed` spells differently; `None` if no unit does, or if `typed` may also be a number of
/// bytes per second.
fn meant<'a>(typed: &str, units: &'a [Unit]) -> Option<&'a Unit> {
    // A rate in bytes per second needs a factor of 8.
    if typed.is_empty() || typed.ends_with("B/s") || typed.ends_with("Bps") {
        return None;
    }
    let lower = typed.to_lowercase();
    let known = |name: &str| units.iter().find(|(unit, ..)| unit.to_lowercase() == name);
    let spelt = SPELLINGS.iter().find(|(other, _)| *other == lower);
    let spelt = spelt.and_then(|(_, name)| units.iter().find(|(unit, ..)| unit == name));
    let bits = || {
        let prefix = RATE_ENDS.iter().find_map(|end| lower.strip_suffix(end))?;
        known(&format!("{prefix}bps"))
    };
    // The bare prefix: M is MB or Mbps.
    let prefixed = || known(&format!("{lower}b")).or_else(|| known(&format!("{lower}bps")));
    known(&lower).or(spelt).or_else(bits).or_else(prefixed)
}

/// Implements `FromStr` for a quantity with its unit.
macro_rules! read_with_unit {
    ($quantity:ident, $units:expr, $expected:literal) => {
        impl FromStr for $quantity {
            type Err = QuantityError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                parse_quantity(text, &$units, $expected).map(Self)
            }
        }
    };
}

read_with_unit!(
    Span,
    TIME_UNITS,
    "a duration in whole nanoseconds with its unit (ns, us, ms, s, min, h), such as 500ms"
);
read_with_unit!(
    BitRate,
    RATE_UNITS,
    "a rate in whole bits per second with its unit (bps, kbps, Mbps, Gbps), such as 2.34Mbps"
);
read_with_unit!(
    Bytes,
    SIZE_UNITS,
    "a size in whole bytes with its unit (B, kB = 1000 B, KiB = 1024 B, MB, MiB, GB, GiB), such as 33B"
);

impl TryFrom<Duration> for Span {
    type Error = QuantityError;

    /// Fails for a duration above 2^63 − 1 ns.
    fn try_from(duration: Duration) -> Result<Self, Self::Error> {
        let nanos = u64::try_from(duration.as_nanos()).ok();
        nanos.and_then(Self::from_nanos).ok_or_else(|| {
            QuantityError::new(
                &format!("{duration:?}"),
                "at most 9223372036.854775807 s (2^63 - 1 ns)",
            )
        })
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_nanos(span.0)
    }
}

/// Writes `value / size` exactly; `size` is a power of ten.
fn write_fraction(f: &mut fmt::Formatter<'_>, value: u64, size: u64) -> fmt::Result {
    write!(f, "{}", value / size)?;
    let rest = value % size;
    if rest != 0 {
        let width = size.ilog10() as usize;
        let digits = format!("{rest:0width$}");
        write!(f, ".{}", digits.trim_end_matches('0'))?;
    }
    Ok(())
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The largest unit in which the number is short and exact.
        let (unit, size) = match self.0 {
            nanos if nanos.is_multiple_of(NANOS_PER_SECOND) => ("s", NANOS_PER_SECOND),
            1_000_000.. => ("ms", 1_000_000),
            1_000.. => ("us", 1_000),
            _ => ("ns", 1),
        };
        write_fraction(f, self.0, size)?;
        f.write_str(unit)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = match self.0 {
            1_000_000.. => ("Mbps", 1_000_000),
            1_000.. => ("kbps", 1_000),
            _ => ("bps", 1),
        };
        write_fraction(f, self.0, size)?;
        f.write_str(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_with_any_unit() {
        for (text, nanos) in [
            ("500ms", 500_000_000),
            ("36us", 36_000),
            ("120ns", 120),
            ("0.5s", 500_000_000),
            ("1.5min", 90_000_000_000),
            ("0ms", 0),
            ("1e3ns", 1000),
        ] {
            assert_eq!(
                text.parse::<Span>().map(Span::as_nanos),
                Ok(nanos),
                "{text}"
            );
        }
    }

    #[test]
    fn a_bare_number_a_fraction_of_a_nanosecond_and_a_negative_are_refused() {
        for text in ["500", "0.5ns", "-1ms", "ms", "", "1 ms", "1MS", "1e30s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_distinguish_decimal_and_binary_units() {
        assert_eq!("100kB".parse(), Ok(Bytes(100_000)));
        assert_eq!("1KiB".parse(), Ok(Bytes(1024)));
        assert_eq!("1.5KiB".parse(), Ok(Bytes(1536)));
        assert!("33".parse::<Bytes>().is_err());
        assert!("1.3B".parse::<Bytes>().is_err());
    }

    #[test]
    fn rates_are_whole_bits_per_second() {
        assert_eq!("2.34Mbps".parse(), Ok(BitRate(2_340_000)));
        assert!("0.5bps".parse::<BitRate>().is_err());
        assert!("2.34".parse::<BitRate>().is_err());
    }

    #[test]
    fn another_spelling_of_a_unit_is_recognised() {
        fn asked<T: FromStr<Err = QuantityError>>(text: &str) -> String {
            let error = text.parse::<T>().err();
            error.and_then(|error| error.suggestion).unwrap_or_default()
        }
        for (text, meant) in [
            ("64KB", "64kB"),
            ("64kb", "64kB"),
            ("1mib", "1MiB"),
            ("64K", "64kB"),
            ("10bytes", "10B"),
            ("3Mbps", ""),
            ("64", ""),
        ] {
            assert_eq!(asked::<Bytes>(text), meant, "{text}");
        }
        for (text, meant) in [
            ("2.34Kbps", "2.34kbps"),
            ("5Mbit/s", "5Mbps"),
            ("5MBit/s", "5Mbps"),
            ("5Mb/s", "5Mbps"),
            ("5M", "5Mbps"),
            ("1Gbit", "1Gbps"),
            ("9bit/s", "9bps"),
            // Bytes per second would be eight times as fast.
            ("5MB/s", ""),
            ("5MBps", ""),
            ("5", ""),
            ("0.5Bps", ""),
        ] {
            assert_eq!(asked::<BitRate>(text), meant, "{text}");
        }
        for (text, meant) in [
            ("5MS", "5ms"),
            ("5sec", "5s"),
            ("5 ms", ""),
            ("2hours", "2h"),
            ("7\u{3bc}s", "7us"),
            ("-5MS", ""),
            ("0.5NS", ""),
        ] {
            assert_eq!(asked::<Span>(text), meant, "{text}");
        }
    }

    #[test]
    fn a_span_prints_so_that_it_reads_back() {
        for nanos in [
            0,
            1,
            999,
            1_000,
            1_001,
            500_000_000,
            1_500_000_000,
            2_000_000_000,
            35_500_000,
            MAX,
        ] {
            let span = Span(nanos);
            assert_eq!(span.to_string().parse(), Ok(span), "{span}");
        }
    }

    #[test]
    fn slot_times_of_a_constant_rate_round_to_the_nearest() {
        // docs/trace-format.md, Sec. 11: t_j = round(j · 8 · S · 10^9 / rate); 264 bits at 2.34 Mbps.
        let rate = BitRate(2_340_000);
        assert_eq!(rate.time_of_bit(264), Time::from_nanos(112_821));
        assert_eq!(rate.time_of_bit(2 * 264), Time::from_nanos(225_641));
        assert_eq!(BitRate(0).time_of_bit(1), None);
    }
}
