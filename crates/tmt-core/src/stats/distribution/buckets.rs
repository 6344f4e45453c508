//! A histogram whose buckets are never wider than a thousandth of the values in them.

use hdrhistogram::Histogram;

use crate::types::Span;

/// Significant digits: values within 0.1 %.
const DIGITS: u8 = 3;

/// Counts of values by bucket: 0.4 MB, whatever the number of values.
#[derive(Debug, Clone)]
pub(super) struct Buckets(Histogram<u64>);

impl Buckets {
    /// No values yet; none where there is no memory for them.
    pub(super) fn new() -> Option<Self> {
        // Both bounds and the digits are within what the constructor takes.
        Histogram::new_with_bounds(1, Span::MAX.as_nanos(), DIGITS)
            .ok()
            .map(Self)
    }

    /// Counts a value so many times.
    pub(super) fn add(&mut self, value: u64, times: u64) {
        self.0.saturating_record_n(value, times);
    }

    /// Counts what `other` has.
    pub(super) fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so that nothing can be out of range.
        let _ = self.0.add(&other.0);
    }

    /// The middle of the bucket that holds the value of this rank, the first being 1.
    pub(super) fn nearest(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        let holds = self.0.iter_recorded().find(|step| {
            below += step.count_since_last_iteration();
            below >= rank
        });
        holds.map(|step| self.0.median_equivalent(step.value_iterated_to()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = u64> {
        prop_oneof![
            0u64..5_000,
            (0u32..63, 0u64..3).prop_map(|(bit, more)| (1u64 << bit).saturating_sub(1) + more),
            0..=i64::MAX.unsigned_abs(),
        ]
        .prop_map(|value| value.min(i64::MAX.unsigned_abs()))
    }

    proptest! {
        #[test]
        fn every_rank_is_within_a_thousandth(
            values in prop::collection::vec((value(), 1u64..5), 1..60), split in 0usize..60,
        ) {
            let (mut buckets, mut behind) = (Buckets::new().unwrap(), Buckets::new().unwrap());
            let mut sorted = Vec::new();
            for (at, &(value, times)) in values.iter().enumerate() {
                let part = if at < split { &mut buckets } else { &mut behind };
                part.add(value, times);
                sorted.extend((0..times).map(|_| value));
            }
            buckets.merge(&behind);
            sorted.sort_unstable();
            for (&value, rank) in sorted.iter().zip(1..) {
                let nearest = buckets.nearest(rank).unwrap();
                prop_assert!(nearest.abs_diff(value) <= value / 1000, "{nearest} for {value}");
            }
            prop_assert_eq!(buckets.nearest(sorted.len() as u64 + 1), None);
        }
    }
}
