//! Lengths of maximal runs: bursts of losses and the gaps between them.

use std::collections::BTreeMap;

/// Histogram of run lengths, length to count.
pub type RunLengths = BTreeMap<u64, u64>;

/// Keys counted in an array; larger ones are rare and have a map.
const SMALL: u64 = 1 << 10;

/// How often each key came, for keys of which nearly all are small.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    small: Vec<u64>,
    large: BTreeMap<u64, u64>,
}

impl Counts {
    /// Counts `key` another `times`.
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

    /// The keys that came, in order, and how often.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let small = (0..).zip(self.small.iter().copied());
        small
            .filter(|&(_, count)| count > 0)
            .chain(self.large.iter().map(|(&key, &count)| (key, count)))
    }
}

/// Counts maximal runs of two kinds of things that follow each other.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    /// Whether the last run so far is a burst.
    burst: bool,
    /// Its length; zero where there is none.
    length: u64,
    /// Lengths of the gaps before it, and of the bursts.
    ended: [Counts; 2],
}

impl Runs {
    /// Counts the next `count` things: part of a burst, or of a gap.
    pub fn push(&mut self, burst: bool, count: u64) {
        if burst != self.burst && self.length > 0 {
            self.ended[usize::from(self.burst)].add(self.length, 1);
            self.length = 0;
        }
        self.burst = burst;
        self.length += count;
    }

    /// Counts the next things, of which `is_burst` tells; `on_run` is given each of their runs.
    pub fn extend<'a, T>(
        &mut self,
        things: &'a [T],
        is_burst: impl Fn(&T) -> bool,
        mut on_run: impl FnMut(bool, &'a [T]),
    ) {
        for (burst, run) in alike(things, is_burst) {
            self.push(burst, run.len() as u64);
            on_run(burst, run);
        }
    }

    /// Whether the last thing was part of a burst; `None` before the first.
    #[must_use]
    pub fn ends_in_burst(&self) -> Option<bool> {
        (self.length > 0).then_some(self.burst)
    }

    /// Lengths of the bursts; the one at the end counts as far as it goes.
    #[must_use]
    pub fn bursts(&self) -> RunLengths {
        self.lengths(true)
    }

    /// Lengths of the gaps; the one at the end counts as far as it goes.
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

/// Cuts things into runs of one key, which is computed once per thing, unlike in `chunk_by`.
pub(crate) fn alike<T, K: PartialEq + Copy>(
    mut things: &[T],
    key: impl Fn(&T) -> K,
) -> impl Iterator<Item = (K, &[T])> {
    std::iter::from_fn(move || {
        let first = key(things.first()?);
        let end = things.iter().position(|thing| key(thing) != first);
        let (run, rest) = things.split_at(end.unwrap_or(things.len()));
        things = rest;
        Some((first, run))
    })
}

/// How many things are in runs of these lengths.
pub(crate) fn total(lengths: &RunLengths) -> u64 {
    lengths.iter().map(|(length, count)| length * count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn runs_at_both_ends_count() {
        let mut runs = Runs::default();
        for burst in [true, true, false, true, false, false, false] {
            runs.push(burst, 1);
        }
        assert_eq!(runs.bursts(), BTreeMap::from([(1, 1), (2, 1)]));
        assert_eq!(runs.gaps(), BTreeMap::from([(1, 1), (3, 1)]));
        assert_eq!(runs.ends_in_burst(), Some(false));
    }

    #[test]
    fn nothing_has_no_runs() {
        let mut runs = Runs::default();
        runs.extend(&[], |burst: &bool| *burst, |_, _| ());
        assert_eq!((runs.bursts(), runs.gaps()), Default::default());
        assert_eq!(runs.ends_in_burst(), None);
    }

    proptest! {
        #[test]
        fn runs_in_slices_are_the_runs_that_were_put_in(
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
        fn counts_are_those_of_a_map(keys in prop::collection::vec((prop_oneof![0u64..5, 1020u64..1030, any::<u64>()], 1u64..4), 0..40)) {
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
