//! Events of a run, ordered by time and then by insertion.
//!
//! Every kind of event has a [`Line`] of its own: its events are as large as they need to be, and no larger. Most kinds
//! are scheduled in the order of their times: deliveries over one propagation delay, ACKs over another. Those need no
//! sorting, so a line is a FIFO. Events that are out of order in their line go to a heap beside it. A [`Schedule`] knows
//! the first event of each line.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tmt_core::types::Time;

/// Place of an event in the order of all events: time, then sequence number.
type Key = u128;

/// Larger than the key of any event.
const NONE: Key = Key::MAX;

/// Number of lines in which most events are. The first event of the other lines is searched only when one of them
/// changes.
const BUSY: usize = 2;

/// Order of the events of several lines, and of those at the same time. Lines 0 and 1 are the fastest.
#[derive(Debug)]
pub struct Schedule<const LINES: usize> {
    /// Key of the first event of each line.
    first: [Key; LINES],
    /// First event of the lines that are not busy: its key, and the number of its line.
    calm: (Key, usize),
    inserted: u64,
}

/// Events of one kind, in the order of their times. Events at the same time keep the order in which they were scheduled.
#[derive(Debug)]
pub struct Line<E> {
    /// Events that came in order.
    ordered: VecDeque<Entry<E>>,
    /// All other events.
    unordered: BinaryHeap<Reverse<Entry<E>>>,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    sequence: u64,
    event: E,
}

impl<E> Entry<E> {
    fn key(&self) -> Key {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.sequence)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl<E> Default for Line<E> {
    fn default() -> Self {
        Self {
            ordered: VecDeque::new(),
            unordered: BinaryHeap::new(),
        }
    }
}

impl<E> Line<E> {
    /// Whether no event is scheduled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ordered.is_empty() && self.unordered.is_empty()
    }

    #[inline]
    fn push(&mut self, entry: Entry<E>) {
        match self.ordered.back() {
            Some(last) if last.at > entry.at => self.push_out_of_order(entry),
            _ => self.ordered.push_back(entry),
        }
    }

    #[inline(never)]
    fn push_out_of_order(&mut self, entry: Entry<E>) {
        self.unordered.push(Reverse(entry));
    }

    /// Removes the event with this key, which is the first. Returns it, and the key of the next one.
    #[inline]
    fn pop(&mut self, key: Key) -> (Option<E>, Key) {
        if self.unordered.is_empty() {
            let entry = self.ordered.pop_front();
            let next = self.ordered.front().map_or(NONE, Entry::key);
            return (entry.map(|entry| entry.event), next);
        }
        self.pop_of_both(key)
    }

    #[inline(never)]
    fn pop_of_both(&mut self, key: Key) -> (Option<E>, Key) {
        let entry = match self.ordered.pop_front_if(|entry| entry.key() == key) {
            Some(entry) => Some(entry),
            None => self.unordered.pop().map(|Reverse(entry)| entry),
        };
        let ordered = self.ordered.front().map_or(NONE, Entry::key);
        let unordered = self.unordered.peek();
        let next = unordered.map_or(NONE, |Reverse(entry)| entry.key());
        (entry.map(|entry| entry.event), ordered.min(next))
    }
}

impl<const LINES: usize> Default for Schedule<LINES> {
    fn default() -> Self {
        Self {
            first: [NONE; LINES],
            calm: (NONE, BUSY),
            inserted: 0,
        }
    }
}

impl<const LINES: usize> Schedule<LINES> {
    /// Schedules `event` at `at` in `line`, which is always that of this `number`, after all events that are already
    /// scheduled for that time.
    ///
    /// # Panics
    ///
    /// Panics if there are not more than `number` lines.
    #[expect(
        clippy::inline_always,
        reason = "avoids a copy of the event, which is some 5 % of the time of a run"
    )]
    #[inline(always)]
    pub fn schedule<E>(&mut self, number: usize, line: &mut Line<E>, at: Time, event: E) {
        let entry = Entry {
            at,
            sequence: self.inserted,
            event,
        };
        self.inserted += 1;
        let key = entry.key();
        line.push(entry);
        if key < self.first[number] {
            self.first[number] = key;
            if number >= BUSY && key < self.calm.0 {
                self.calm = (key, number);
            }
        }
    }

    /// Time of the first event and number of its line; `None` if there is none until `until`.
    #[inline]
    #[must_use]
    pub fn first(&self, until: Time) -> Option<(Time, usize)> {
        let (mut first, mut number) = self.calm;
        for (at, key) in self.first.iter().take(BUSY).enumerate() {
            if *key < first {
                (first, number) = (*key, at);
            }
        }
        if first >> 64 > u128::from(until.as_nanos()) {
            return None;
        }
        let at = u64::try_from(first >> 64).ok().and_then(Time::from_nanos);
        Some((at?, number))
    }

    /// Removes and returns the first event of `line`, which is that of this `number`.
    ///
    /// # Panics
    ///
    /// Panics if there are not more than `number` lines.
    #[inline]
    pub fn take<E>(&mut self, number: usize, line: &mut Line<E>) -> Option<E> {
        let event;
        (event, self.first[number]) = line.pop(self.first[number]);
        if number >= BUSY {
            self.calm = self.first_calm();
        }
        event
    }

    fn first_calm(&self) -> (Key, usize) {
        let calm = (BUSY..).zip(self.first.iter().skip(BUSY));
        let (number, key) = calm.min_by_key(|(_, key)| **key).unwrap_or((BUSY, &NONE));
        (*key, number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    #[test]
    fn events_are_ordered_by_time_then_by_insertion() {
        let mut schedule = Schedule::<2>::default();
        let mut lines = [Line::default(), Line::default()];
        for (time, (line, event)) in [
            (5, (0, 'c')),
            (1, (1, 'a')),
            (5, (1, 'd')),
            (3, (0, 'b')),
            (5, (1, 'e')),
        ] {
            schedule.schedule(line, &mut lines[line], at(time), event);
        }
        let order: String = std::iter::from_fn(|| {
            let (_, line) = schedule.first(Time::MAX)?;
            schedule.take(line, &mut lines[line])
        })
        .collect();
        assert_eq!(order, "abcde");
        assert!(lines.iter().all(Line::is_empty));
    }

    #[test]
    fn no_event_after_the_limit_is_first() {
        let (mut schedule, mut line) = (Schedule::<1>::default(), Line::default());
        assert_eq!(schedule.first(Time::MAX), None);
        schedule.schedule(0, &mut line, at(5), 'x');
        assert_eq!(schedule.first(at(4)), None);
        assert_eq!(schedule.first(at(5)), Some((at(5), 0)));
        assert_eq!(schedule.take(0, &mut line), Some('x'));
        assert_eq!(schedule.take(0, &mut line), None);
        assert_eq!(schedule.first(Time::MAX), None);
    }

    proptest! {
        /// Compares with sorting a list, with insertions between removals.
        #[test]
        fn the_order_is_that_of_a_sorted_list(steps in prop::collection::vec((0u64..20, 0usize..5, any::<bool>()), 1..200)) {
            let mut schedule = Schedule::<5>::default();
            let mut lines: [Line<usize>; 5] = std::array::from_fn(|_| Line::default());
            let mut list: Vec<(u64, usize, usize)> = Vec::new();
            let take = |schedule: &mut Schedule<5>, lines: &mut [Line<usize>; 5]| {
                let (time, line) = schedule.first(Time::MAX)?;
                Some((time.as_nanos(), schedule.take(line, &mut lines[line])?, line))
            };
            for (number, (time, line, pops)) in steps.into_iter().enumerate() {
                schedule.schedule(line, &mut lines[line], at(time), number);
                list.push((time, number, line));
                if pops {
                    list.sort_unstable();
                    let first = list.remove(0);
                    prop_assert_eq!(take(&mut schedule, &mut lines), Some(first));
                }
            }
            list.sort_unstable();
            for first in list {
                prop_assert_eq!(take(&mut schedule, &mut lines), Some(first));
            }
            prop_assert_eq!(take(&mut schedule, &mut lines), None);
            prop_assert!(lines.iter().all(Line::is_empty));
        }
    }
}
