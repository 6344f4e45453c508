//! Objectives of the search.

use std::fmt;
use std::str::FromStr;

use super::evaluation::Sample;

/// Objective. Each is a number of a run, and its mean over the runs decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objective {
    /// Highest goodput of all flows together.
    Goodput,
    /// Shortest time until a transfer is complete, or mean page load time of an application.
    PageTime,
    /// Lowest 99 % quantile of the delay of packets.
    P99Delay,
    /// Most data LLDUs delivered per slot used.
    Efficiency,
}

impl Objective {
    /// All objectives, in the order of help.
    pub const ALL: [Self; 4] = [
        Self::Goodput,
        Self::PageTime,
        Self::P99Delay,
        Self::Efficiency,
    ];

    /// Name, as typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::PageTime => "page-time",
            Self::P99Delay => "p99-delay",
            Self::Efficiency => "efficiency",
        }
    }

    /// Name of the number, with its unit. `of_pages` if flows load pages.
    #[must_use]
    pub const fn metric(self, of_pages: bool) -> &'static str {
        match self {
            Self::PageTime if of_pages => "page_time_mean_s",
            Self::Goodput => "total_goodput_bps",
            Self::PageTime => "completion_time_s",
            Self::P99Delay => "delay_p99_s",
            Self::Efficiency => "efficiency",
        }
    }

    /// Whether more is better.
    #[must_use]
    pub const fn is_more_better(self) -> bool {
        matches!(self, Self::Goodput | Self::Efficiency)
    }

    /// The number of a run; `None` if it has none.
    #[must_use]
    pub fn of(self, sample: &Sample) -> Option<f64> {
        match self {
            Self::Goodput => sample.goodput_bps,
            Self::PageTime => sample.completion_time_s,
            Self::P99Delay => sample.delay_p99_s,
            Self::Efficiency => sample.efficiency,
        }
    }

    /// A number for which more is better.
    pub(super) fn score(self, value: f64) -> f64 {
        if self.is_more_better() { value } else { -value }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("found '{text}', expected one of {names}")
        })
    }
}
