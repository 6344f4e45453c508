//! Event queue, ordered by time and then by insertion.
//!
//! Most kinds of events are scheduled in the order of their times: deliveries over one propagation delay, ACKs over
//! another. Each such kind has a lane, a FIFO that needs no sorting. Events that are out of order in their lane, and
//! kinds without a lane, go to a heap. With hundreds of packets in flight this halves the time of a run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tmt_core::types::Time;

/// Events that may have a lane.
pub trait HasLane {
    /// Number of the event's lane, from 0; `None` if its kind has no order. A number that the queue does not have counts
    /// as `None`.
    fn lane(&self) -> Option<usize>;
}

/// Queue of events in the order of their times. Events at the same time keep the order in which they were scheduled.
#[derive(Debug)]
pub struct EventQueue<E, const LANES: usize> {
    /// Events of each lane, in order.
    lanes: [VecDeque<Entry<E>>; LANES],
    /// All other events.
    heap: BinaryHeap<Reverse<Entry<E>>>,
    inserted: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    sequence: u64,
    event: E,
}

impl<E> Entry<E> {
    /// Time and sequence number as one number.
    fn key(&self) -> u128 {
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

impl<E, const LANES: usize> Default for EventQueue<E, LANES> {
    fn default() -> Self {
        Self {
            lanes: std::array::from_fn(|_| VecDeque::new()),
            heap: BinaryHeap::new(),
            inserted: 0,
        }
    }
}

impl<E: HasLane, const LANES: usize> EventQueue<E, LANES> {
    /// Schedules `event` at `at`, after all events that are already scheduled for that time.
    #[expect(
        clippy::inline_always,
        reason = "avoids a copy of the event, which is 12 % of the time of a run"
    )]
    #[inline(always)]
    pub fn schedule(&mut self, at: Time, event: E) {
        let lane = event.lane().and_then(|lane| self.lanes.get_mut(lane));
        let entry = Entry {
            at,
            sequence: self.inserted,
            event,
        };
        self.inserted += 1;
        match lane {
            Some(lane) if lane.back().is_none_or(|last| last.at <= at) => lane.push_back(entry),
            _ => self.heap.push(Reverse(entry)),
        }
    }

    /// Removes and returns the next event, unless it is after `until`.
    #[expect(
        clippy::inline_always,
        reason = "has one caller, which then reads the event in place"
    )]
    #[inline(always)]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, E)> {
        // Larger than any key.
        let mut first = u128::MAX;
        let mut next = None;
        if let Some(Reverse(entry)) = self.heap.peek() {
            first = entry.key();
        }
        for lane in &mut self.lanes {
            if let Some(entry) = lane.front()
                && entry.key() < first
            {
                first = entry.key();
                next = Some(lane);
            }
        }
        if first >> 64 > u128::from(until.as_nanos()) {
            return None;
        }
        let entry = match next {
            Some(lane) => lane.pop_front(),
            None => self.heap.pop().map(|Reverse(entry)| entry),
        };
        entry.map(|entry| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    impl HasLane for (usize, char) {
        fn lane(&self) -> Option<usize> {
            Some(self.0)
        }
    }

    #[test]
    fn events_are_ordered_by_time_then_by_insertion() {
        let mut queue = EventQueue::<_, 2>::default();
        for (time, event) in [
            (5, (0, 'c')),
            (1, (1, 'a')),
            (5, (2, 'd')),
            (3, (0, 'b')),
            (5, (1, 'e')),
        ] {
            queue.schedule(at(time), event);
        }
        let order: String = std::iter::from_fn(|| queue.pop_until(Time::MAX))
            .map(|(_, (_, event))| event)
            .collect();
        assert_eq!(order, "abcde");
    }

    #[test]
    fn no_event_after_the_limit_is_returned() {
        let mut queue = EventQueue::<_, 2>::default();
        queue.schedule(at(5), (0, 'x'));
        assert_eq!(queue.pop_until(at(4)), None);
        assert_eq!(queue.pop_until(at(5)), Some((at(5), (0, 'x'))));
    }

    proptest! {
        /// Compares with sorting a list, with insertions between removals.
        #[test]
        fn the_order_is_that_of_a_sorted_list(steps in prop::collection::vec((0u64..20, 0usize..3, any::<bool>()), 1..200)) {
            let mut queue = EventQueue::<_, 2>::default();
            let mut list: Vec<(u64, usize, usize)> = Vec::new();
            for (number, (time, kind, pops)) in steps.into_iter().enumerate() {
                queue.schedule(at(time), (kind, 'x'));
                list.push((time, number, kind));
                if pops {
                    list.sort_unstable();
                    let (time, _, kind) = list.remove(0);
                    prop_assert_eq!(queue.pop_until(Time::MAX), Some((at(time), (kind, 'x'))));
                }
            }
            list.sort_unstable();
            for (time, _, kind) in list {
                prop_assert_eq!(queue.pop_until(Time::MAX), Some((at(time), (kind, 'x'))));
            }
            prop_assert_eq!(queue.pop_until(Time::MAX), None);
        }
    }
}
