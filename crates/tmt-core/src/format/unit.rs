//! The unit in which the numbers of a trace are.

use std::str::FromStr;

use crate::types::QuantityError;

/// The unit of a text's numbers, or of doubles in a binary format; output is always in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// Seconds.
    #[default]
    Seconds = 9,
    /// Milliseconds.
    Milliseconds = 6,
    /// Microseconds.
    Microseconds = 3,
    /// Nanoseconds.
    Nanoseconds = 0,
}

impl Unit {
    /// Decimals that are whole nanoseconds.
    pub(crate) const fn decimals(self) -> usize {
        self as usize
    }

    /// Nanoseconds of one.
    pub(crate) const fn nanos(self) -> u64 {
        POWERS_OF_TEN[self.decimals()]
    }

    /// The unit's name, as a user types it.
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
