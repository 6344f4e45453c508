//! How late packets left: the time at which they were handed over, less the time at which the link delivered them.

use tmt_core::stats::distribution::Distribution;
use tmt_core::types::Span;

/// Values up to which all are exact, and buckets above it (within 0.1 %).
const EXACT: usize = 1 << 16;
const BUCKETS: usize = 1 << 14;

/// Lateness of the packets of one direction.
///
/// ```
/// use tmt_core::Span;
/// use tmt_replay::Lateness;
///
/// let mut lateness = Lateness::default();
/// (1..=1000).for_each(|micros| lateness.push(Span::from_micros(micros)));
/// assert_eq!(lateness.per_mille(500), Some(Span::from_micros(500)));
/// assert_eq!(lateness.per_mille(999), Some(Span::from_micros(999)));
/// assert_eq!(lateness.max(), Some(Span::from_micros(1000)));
/// ```
#[derive(Debug, Clone)]
pub struct Lateness(Distribution);

impl Default for Lateness {
    fn default() -> Self {
        Self(Distribution::within(EXACT, BUCKETS))
    }
}

impl Lateness {
    /// Counts a packet that left this late.
    pub fn push(&mut self, late: Span) {
        self.0.push(late);
    }

    /// The smallest lateness that at least this many of 1000 packets do not exceed; `None` without packets.
    #[must_use]
    pub fn per_mille(&self, share: u64) -> Option<Span> {
        let rank = (self.0.count() * share).div_ceil(1000).max(1);
        let mut counts = self.0.counts();
        counts.sort_unstable();
        let mut seen = 0;
        let found = counts.into_iter().find(|(_, times)| {
            seen += times;
            seen >= rank
        });
        found.map(|(late, _)| late)
    }

    /// The largest; `None` without packets.
    #[must_use]
    pub fn max(&self) -> Option<Span> {
        self.0.max()
    }
}
