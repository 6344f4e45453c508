//! Sets of packet numbers as disjoint ranges: packets that a receiver holds out of order, packets that are SACKed.

use std::collections::VecDeque;

/// Number of ranges for which a set that has any makes room.
const FIRST: usize = 16;

/// Disjoint, non-adjacent ranges [start, end).
///
/// There are few ranges at a time, most changes are at the ends, and every ACK searches them, so a sorted deque is
/// faster than a tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct RangeSet {
    /// In ascending order.
    ranges: VecDeque<(u64, u64)>,
}

impl RangeSet {
    /// Index of the first range that ends above `number`.
    ///
    /// Searches from the back by steps that double: most queries are for ranges near the back, which then take a few
    /// steps however many ranges there are.
    fn index(&self, number: u64) -> usize {
        let (mut above, mut step) = (self.ranges.len(), 1);
        while let Some(at) = above.checked_sub(step)
            && self.ranges[at].1 > number
        {
            above = at;
            step *= 2;
        }
        // The first range that ends above `number` lies in the last step or is `above`.
        let below = above.saturating_sub(step);
        let mut range = (below, above);
        while range.0 < range.1 {
            let middle = usize::midpoint(range.0, range.1);
            if self.ranges[middle].1 <= number {
                range.0 = middle + 1;
            } else {
                range.1 = middle;
            }
        }
        range.0
    }

    /// The range that holds `number`.
    #[inline]
    pub(crate) fn range_of(&self, number: u64) -> Option<(u64, u64)> {
        // Most queries are for a packet that has just arrived, which is in the last range or after it.
        let last = *self.ranges.back()?;
        if number >= last.0 {
            return Some(last).filter(|(_, end)| number < *end);
        }
        let found = self.ranges.get(self.index(number)).copied();
        found.filter(|(start, _)| *start <= number)
    }

    /// Whether `number` is in the set.
    pub(crate) fn contains(&self, number: u64) -> bool {
        self.range_of(number).is_some()
    }

    /// Adds a number that is not in the set. Returns the range that now holds it, and whether an existing range grew
    /// (rather than a new range appearing or two ranges merging).
    pub(crate) fn add(&mut self, number: u64) -> ((u64, u64), bool) {
        if let Some((start, end)) = self.ranges.back_mut()
            && *end == number
        {
            *end += 1;
            return ((*start, *end), true);
        }
        let before = self.ranges.len();
        self.insert(number, number + 1, |_| {});
        let range = self.range_of(number).unwrap_or((number, number + 1));
        (range, self.ranges.len() == before)
    }

    /// Adds [start, end) and calls `added` for each number that was not in the set.
    pub(crate) fn insert(&mut self, start: u64, end: u64, mut added: impl FnMut(u64)) {
        if start >= end {
            return;
        }
        // Most insertions extend the last range or come after it.
        let last = self.ranges.back_mut();
        if last.as_ref().is_none_or(|(_, last)| *last < start) {
            (start..end).for_each(added);
            if self.ranges.capacity() == 0 {
                // In place of growing by few at a time: where there is a gap, there are more.
                self.ranges.reserve(FIRST);
            }
            self.ranges.push_back((start, end));
            return;
        }
        if let Some((_, last)) = last.filter(|(first, _)| *first <= start) {
            (*last..end).for_each(added);
            *last = end.max(*last);
            return;
        }
        // SACK blocks repeat, so this check must be cheap.
        if self.range_of(start).is_some_and(|(_, known)| known >= end) {
            return;
        }
        // Merge ranges that overlap or touch [start, end).
        let from = start.checked_sub(1).map_or(0, |number| self.index(number));
        let (mut first, mut last, mut next, mut to) = (start, end, start, from);
        while let Some(&(s, e)) = self.ranges.get(to)
            && s <= end
        {
            (next..s.min(end)).for_each(&mut added);
            next = next.max(e);
            first = first.min(s);
            last = last.max(e);
            to += 1;
        }
        (next..end).for_each(&mut added);
        if to == from {
            self.ranges.insert(from, (first, last));
        } else {
            self.ranges[from] = (first, last);
            self.ranges.drain(from + 1..to);
        }
    }

    /// Removes all numbers below `limit`.
    pub(crate) fn remove_below(&mut self, limit: u64) {
        while let Some(range) = self.ranges.front_mut()
            && range.0 < limit
        {
            if range.1 > limit {
                range.0 = limit;
                return;
            }
            self.ranges.pop_front();
        }
    }

    /// Returns the `n`-th highest number of the set, counted from 1.
    #[inline]
    pub(crate) fn nth_highest(&self, n: u64) -> Option<u64> {
        // Most are in the last range.
        match self.ranges.back() {
            Some((start, end)) if n <= end - start => Some(end - n),
            last => last.and_then(|_| self.nth_highest_of_any(n)),
        }
    }

    #[inline(never)]
    fn nth_highest_of_any(&self, n: u64) -> Option<u64> {
        let mut left = n;
        for (start, end) in self.ranges.iter().rev() {
            let length = end - start;
            if left <= length {
                return Some(end - left);
            }
            left -= length;
        }
        None
    }

    /// The last range.
    #[inline]
    pub(crate) fn last(&self) -> Option<(u64, u64)> {
        self.ranges.back().copied()
    }

    /// Adds the number after the last range, if there is one.
    #[inline]
    pub(crate) fn extend_last(&mut self) {
        if let Some((_, end)) = self.ranges.back_mut() {
            *end += 1;
        }
    }

    /// Whether the set is empty.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the highest number of the set.
    pub(crate) fn highest(&self) -> Option<u64> {
        self.nth_highest(1)
    }

    /// Removes the lowest range if it begins at `start`, and returns its end.
    pub(crate) fn take_first_if(&mut self, start: u64) -> Option<u64> {
        let (_, end) = self.ranges.pop_front_if(|range| range.0 == start)?;
        Some(end)
    }

    /// Returns all numbers of the set in ascending order.
    #[cfg(test)]
    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.ranges
            .iter()
            .flat_map(|(start, end)| *start..*end)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_behaves_like_a_set_of_numbers(inserts in proptest::collection::vec((0u64..60, 0u64..12), 1..40), limit in 0u64..70) {
            let mut ranges = RangeSet::default();
            let mut plain = BTreeSet::new();
            for (start, length) in inserts {
                let mut added = BTreeSet::new();
                ranges.insert(start, start + length, |number| assert!(added.insert(number)));
                let expected: BTreeSet<u64> = (start..start + length).filter(|n| plain.insert(*n)).collect();
                prop_assert_eq!(added, expected);
            }
            prop_assert_eq!(ranges.numbers(), plain.iter().copied().collect::<Vec<_>>());
            // Touching ranges are merged.
            prop_assert!(ranges.ranges.iter().zip(ranges.ranges.iter().skip(1)).all(|((_, e), (s, _))| e < s));
            for n in 1..=plain.len() as u64 + 1 {
                let expected = plain.iter().rev().nth(usize::try_from(n).unwrap() - 1).copied();
                prop_assert_eq!(ranges.nth_highest(n), expected);
            }
            ranges.remove_below(limit);
            plain.retain(|n| *n >= limit);
            prop_assert_eq!(ranges.numbers(), plain.into_iter().collect::<Vec<_>>());
        }
    }
}
