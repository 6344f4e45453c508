//! Observations of an application. Metrics follow from it.

use tmt_core::types::{Bytes, Span, to_f64};

/// Mean of any number of values, also of none.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    /// The mean of one value.
    #[must_use]
    pub const fn of(value: f64) -> Self {
        Self {
            sum: value,
            count: 1,
        }
    }

    /// The mean; `None` without a value.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / to_f64(self.count))
    }

    /// The mean of the values of both.
    fn and(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            count: self.count + other.count,
        }
    }
}

/// How long each of many things took: requests, pages or transfers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Times {
    /// Number of those that began within the run.
    pub begun: u64,
    /// Times of those that are complete.
    pub complete: Vec<Span>,
}

impl Times {
    fn and(mut self, other: &Self) -> Self {
        self.begun += other.begun;
        self.complete.extend(&other.complete);
        self
    }
}

/// Observations of an application until the end of a run. Of several flows, sums and means over those that have a value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Payload that it supplied; `None` if that follows the network, as in a bulk transfer.
    pub offered: Option<Bytes>,
    /// Interarrival jitter at the end, and its largest value (RFC 3550, Sec. 6.4.1), s. Of several flows, the largest of
    /// the latter.
    pub jitter_s: Mean,
    /// See [`Self::jitter_s`].
    pub jitter_max_s: Option<f64>,
    /// The listener's side of a call; `None` if it is none.
    pub voice: Option<Heard>,
    /// Times from a request to the last byte of its answer; `None` if it makes no requests.
    pub responses: Option<Times>,
    /// Times from the request of a page to the last byte of its last object; `None` if it loads no pages.
    pub pages: Option<Times>,
    /// Times of the transfers of a load of many; `None` if it is no such load.
    pub transfers: Option<Times>,
}

/// Quality and losses of a call at its listener.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Heard {
    /// Rating by the E-model, and mean opinion score (ITU-T G.107).
    pub rating: Mean,
    /// See [`Self::rating`].
    pub mos: Mean,
    /// Delay from mouth to ear, s.
    pub delay_s: Mean,
    /// Mean length of the bursts of missing datagrams, over that of random ones.
    pub burst_ratio: Mean,
    /// Datagrams to play until the end of the run.
    pub due: u64,
    /// Those of them that arrived too late.
    pub late: u64,
    /// Those of them that were not played: late, or never there.
    pub missing: u64,
}

impl Outcome {
    /// The observations of both.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        let sum = |one: Bytes, other: Bytes| Bytes(one.0.saturating_add(other.0));
        self.offered = either(self.offered, other.offered, sum);
        self.jitter_s = self.jitter_s.and(other.jitter_s);
        self.jitter_max_s = either(self.jitter_max_s, other.jitter_max_s, f64::max);
        self.voice = either(self.voice, other.voice, Heard::and);
        let both = |one: Option<Times>, other: &Option<Times>| match (one, other) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or_else(|| other.clone()),
        };
        self.responses = both(self.responses, &other.responses);
        self.pages = both(self.pages, &other.pages);
        self.transfers = both(self.transfers, &other.transfers);
        self
    }
}

impl Heard {
    fn and(self, other: Self) -> Self {
        Self {
            rating: self.rating.and(other.rating),
            mos: self.mos.and(other.mos),
            delay_s: self.delay_s.and(other.delay_s),
            burst_ratio: self.burst_ratio.and(other.burst_ratio),
            due: self.due + other.due,
            late: self.late + other.late,
            missing: self.missing + other.missing,
        }
    }
}

/// The value of either, or of both.
fn either<T>(one: Option<T>, other: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}
