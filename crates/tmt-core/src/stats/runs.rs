//! Lengths of maximal runs: bursts of erasures or losses, and the gaps between them.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

/// Histogram of run lengths: number of runs by length.
pub type RunLengths = BTreeMap<u64, u64>;

/// A value of a histogram, in JSON.
#[derive(Serialize)]
struct Bar<'a, K> {
    value: &'a K,
    count: u64,
}

/// Serializes a histogram as an array of `{"value": …, "count": …}` in ascending order of the values.
///
/// # Errors
/// Those of the serializer.
pub fn serialize_histogram<K: Serialize, S: Serializer>(
    counts: &BTreeMap<K, u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let bars = counts.iter();
    serializer.collect_seq(bars.map(|(value, &count)| Bar { value, count }))
}

/// Keys below this are counted in an array, larger ones in a map.
const SMALL: u64 = 1 << 10;

/// Counts by key, for keys that are mostly small.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    small: Vec<u64>,
    large: BTreeMap<u64, u64>,
}

impl Counts {
    /// Adds `times` to the count of `key`.
    pub(crate) fn add(&mut self, key: u64, times: u64) {
        match usize::try_from(key) {
            Ok(place) if key < SMALL => {
                if place >= self.small.len() {
                    self.small.resize(place + 1, 0);
                }
                self.small[place] += times;
            }
            _ => *self.large.entry(key).or_insert(0) += times,
        }
    }

    /// Keys with a count above 0, in ascending order, with their counts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let small = (0..).zip(self.small.iter().copied());
        small
            .filter(|&(_, count)| count > 0)
            .chain(self.large.iter().map(|(&key, &count)| (key, count)))
    }
}

/// Counts maximal runs in a sequence of items of two kinds: bursts and gaps.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    /// Whether the current run is a burst.
    burst: bool,
    /// Length of the current run; 0 before the first item.
    length: u64,
    /// Lengths of completed gaps, and of completed bursts.
    ended: [Counts; 2],
}

impl Runs {
    /// Adds `count` items to a burst or to a gap.
    pub fn push(&mut self, burst: bool, count: u64) {
        if burst != self.burst && self.length > 0 {
            self.ended[usize::from(self.burst)].add(self.length, 1);
            self.length = 0;
        }
        self.burst = burst;
        self.length += count;
    }

    /// Adds items, whose kind `is_burst` returns; calls `on_run` for each run within `items`.
    pub fn extend<'a, T>(
        &mut self,
        items: &'a [T],
        is_burst: impl Fn(&T) -> bool,
        mut on_run: impl FnMut(bool, &'a [T]),
    ) {
        for (burst, run) in equal_runs(items, is_burst) {
            self.push(burst, run.len() as u64);
            on_run(burst, run);
        }
    }

    /// Whether the last item belongs to a burst; `None` before the first item.
    #[must_use]
    pub fn ends_in_burst(&self) -> Option<bool> {
        (self.length > 0).then_some(self.burst)
    }

    /// Histogram of burst lengths, with an unfinished burst at the end included.
    #[must_use]
    pub fn bursts(&self) -> RunLengths {
        self.lengths(true)
    }

    /// Histogram of gap lengths, with an unfinished gap at the end included.
    #[must_use]
    pub fn gaps(&self) -> RunLengths {
        self.lengths(false)
    }

    fn lengths(&self, bursts: bool) -> RunLengths {
        let mut lengths: RunLengths = self.ended[usize::from(bursts)].iter().collect();
        if self.length > 0 && self.burst == bursts {
            *lengths.entry(self.length).or_insert(0) += 1;
        }
        lengths
    }
}

/// Items compared at a time in a run that is longer than this.
const STRIDE: usize = 8;

/// Length of the run of items with the key of the first one, which is `first`.
fn run_length<T, K: PartialEq + Copy>(items: &[T], first: K, key: impl Fn(&T) -> K) -> usize {
    // Short runs end within the first items. In long ones a branch for several items at once is quicker.
    let (short, rest) = items.split_at(items.len().min(STRIDE));
    if let Some(end) = short.iter().position(|item| key(item) != first) {
        return end;
    }
    let strides = rest.chunks_exact(STRIDE);
    let same = |items: &[T]| {
        items
            .iter()
            .fold(true, |same, item| same & (key(item) == first))
    };
    let whole = short.len() + STRIDE * strides.take_while(|items| same(items)).count();
    let end = items[whole..].iter().position(|item| key(item) != first);
    end.map_or(items.len(), |end| whole + end)
}

/// Splits items into runs of equal keys. A key is computed once per item, unlike in `chunk_by`.
pub(crate) fn equal_runs<T, K: PartialEq + Copy>(
    mut items: &[T],
    key: impl Fn(&T) -> K,
) -> impl Iterator<Item = (K, &[T])> {
    std::iter::from_fn(move || {
        let first = key(items.first()?);
        let (run, rest) = items.split_at(run_length(items, first, &key));
        items = rest;
        Some((first, run))
    })
}

/// Total number of items in runs of these lengths.
pub(crate) fn total(lengths: &RunLengths) -> u64 {
    lengths.iter().map(|(length, count)| length * count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_at_both_ends_are_counted() {
        let mut runs = Runs::default();
        for burst in [true, true, false, true, false, false, false] {
            runs.push(burst, 1);
        }
        assert_eq!(runs.bursts(), BTreeMap::from([(1, 1), (2, 1)]));
        assert_eq!(runs.gaps(), BTreeMap::from([(1, 1), (3, 1)]));
        assert_eq!(runs.ends_in_burst(), Some(false));
    }

    #[test]
    fn an_empty_sequence_has_no_runs() {
        let mut runs = Runs::default();
        runs.extend(&[], |burst: &bool| *burst, |_, _| ());
        assert_eq!((runs.bursts(), runs.gaps()), Default::default());
        assert_eq!(runs.ends_in_burst(), None);
    }

    proptest! {
        #[test]
        fn slicing_does_not_change_the_runs(
            lengths in prop::collection::vec(prop_oneof![8 => 1usize..20, 1 => 1000usize..1050, 1 => 3000usize..4000], 0..20),
            burst_first in any::<bool>(), slice in 1usize..3000,
        ) {
            let (mut flags, mut expected) = (Vec::new(), [RunLengths::new(), RunLengths::new()]);
            let mut burst = burst_first;
            for &length in &lengths {
                flags.extend(std::iter::repeat_n(burst, length));
                *expected[usize::from(burst)].entry(length as u64).or_insert(0) += 1;
                burst = !burst;
            }
            let (mut runs, mut seen) = (Runs::default(), Vec::new());
            for slice in flags.chunks(slice) {
                runs.extend(slice, |burst| *burst, |burst, run| {
                    assert!(run.iter().all(|each| *each == burst));
                    seen.extend_from_slice(run);
                });
            }
            prop_assert_eq!([runs.gaps(), runs.bursts()], expected);
            prop_assert_eq!(runs.ends_in_burst(), flags.last().copied());
            prop_assert_eq!(seen, flags);
        }

        #[test]
        fn counts_agree_with_a_map(keys in prop::collection::vec((prop_oneof![0u64..5, 1020u64..1030, any::<u64>()], 1u64..4), 0..40)) {
            let (mut counts, mut map) = (Counts::default(), BTreeMap::new());
            for &(key, times) in &keys {
                counts.add(key, times);
                *map.entry(key).or_insert(0) += times;
            }
            prop_assert_eq!(counts.iter().collect::<BTreeMap<_, _>>(), map.clone());
            prop_assert!(counts.iter().eq(map));
        }
    }
}
