//! A histogram whose buckets are never wider than a thousandth of the values in them.
//!
//! Values below 2^11 have a bucket each. Above, every doubling of the value is cut into 2^10 buckets of
//! equal width: the layout of an HDR histogram of three significant digits.

/// Buckets to a doubling.
const STEPS: u32 = 10;

/// Counts of values by bucket; as long as the largest value met asks for, at most 55,296 buckets.
#[derive(Debug, Clone, Default)]
pub(super) struct Buckets {
    counts: Vec<u64>,
}

/// The bucket of a value: its highest 11 bits, and how many there are below them.
#[expect(
    clippy::cast_possible_truncation,
    reason = "below 2^11, and so on every platform"
)]
const fn bucket(value: u64) -> usize {
    let below = (u64::BITS - 1 - STEPS) - (value | ((2 << STEPS) - 1)).leading_zeros();
    ((below as usize) << STEPS) + (value >> below) as usize
}

/// The value in the middle of a bucket.
const fn middle(bucket: usize) -> u64 {
    let below = (bucket >> STEPS).saturating_sub(1);
    let lowest = ((bucket - (below << STEPS)) as u64) << below;
    lowest + ((1 << below) >> 1)
}

impl Buckets {
    /// Counts a value so many times.
    pub(super) fn add(&mut self, value: u64, times: u64) {
        let bucket = bucket(value);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += times;
        } else {
            self.grow(bucket);
            self.counts[bucket] += times;
        }
    }

    #[cold]
    fn grow(&mut self, bucket: usize) {
        self.counts.resize(bucket + 1, 0);
    }

    /// Counts what `other` has.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    /// The middle of the bucket that holds the value of this rank, the first being 1.
    pub(super) fn nearest(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        let holds = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        holds.map(middle)
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
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
        fn ranks_are_those_of_an_hdr_histogram(
            values in prop::collection::vec((value(), 1u64..5), 1..60), split in 0usize..60,
        ) {
            let mut theirs = Histogram::<u64>::new_with_bounds(1, i64::MAX.unsigned_abs(), 3).unwrap();
            let (mut buckets, mut behind) = (Buckets::default(), Buckets::default());
            for (at, &(value, times)) in values.iter().enumerate() {
                theirs.saturating_record_n(value, times);
                let part = if at < split { &mut buckets } else { &mut behind };
                part.add(value, times);
            }
            buckets.merge(&behind);
            for rank in 1..=theirs.len() {
                let mut below = 0;
                let step = theirs.iter_recorded().find(|step| {
                    below += step.count_since_last_iteration();
                    below >= rank
                });
                let expected = theirs.median_equivalent(step.unwrap().value_iterated_to());
                prop_assert_eq!(buckets.nearest(rank), Some(expected));
            }
            prop_assert_eq!(buckets.nearest(theirs.len() + 1), None);
        }

        #[test]
        fn the_middle_of_a_bucket_is_within_a_thousandth(value in value()) {
            prop_assert!(middle(bucket(value)).abs_diff(value) <= value / 1000);
        }
    }

    #[test]
    fn the_largest_value_has_the_last_bucket() {
        assert_eq!(bucket(i64::MAX.unsigned_abs()) + 1, 55_296);
    }
}
