//! Unit of the numbers of a trace (docs/trace-format.md, Sec. 3).

use std::str::FromStr;

use crate::types::QuantityError;

/// Unit of the numbers of a text trace, or of double columns in a binary format. Output is always in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Seconds, `s`. The default for text.
    #[default]
    Seconds = 9,
    /// Milliseconds, `ms`.
    Milliseconds = 6,
    /// Microseconds, `us`.
    Microseconds = 3,
    /// Nanoseconds, `ns`.
    Nanoseconds = 0,
}

impl Unit {
    /// Number of decimals down to a nanosecond.
    pub(crate) const fn decimals(self) -> usize {
        self as usize
    }

    /// Nanoseconds per unit.
    pub(crate) const fn nanos(self) -> u64 {
        POWERS_OF_TEN[self.decimals()]
    }

    /// Name of the unit on the command line: `s`, `ms`, `us` or `ns`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
            Self::Nanoseconds => "ns",
        }
    }
}

impl FromStr for Unit {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [
            Self::Seconds,
            Self::Milliseconds,
            Self::Microseconds,
            Self::Nanoseconds,
        ]
        .into_iter()
        .find(|unit| unit.name() == text)
        .ok_or_else(|| QuantityError::new(text, "one of s, ms, us, ns"))
    }
}

/// 10^0 to 10^9.
pub(crate) const POWERS_OF_TEN: [u64; 10] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
];
