//! The event queue: time first, then order of insertion.
//!
//! Nearly all events come in the order of their times, kind by kind: deliveries over one propagation, acknowledgements
//! over another. Each such kind has a lane of its own that needs no sorting; what comes out of order in its lane goes
//! to a heap, as do kinds without a lane. On a link with hundreds of packets in flight this halves the time of a run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tmt_core::units::Time;

/// Events some of which come in order.
pub trait Kinds {
    /// Lanes there are.
    const LANES: usize;

    /// The lane, below [`Self::LANES`]; none for events in any order.
    fn lane(&self) -> Option<usize>;
}

/// Events in the order in which they happen; what happens at the same instant keeps the order in
/// which it was scheduled.
#[derive(Debug)]
pub struct EventQueue<E> {
    /// By lane, in the order of their keys.
    lanes: Vec<VecDeque<Entry<E>>>,
    /// What came out of order.
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
    fn key(&self) -> (Time, u64) {
        (self.at, self.sequence)
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

impl<E: Kinds> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            lanes: (0..E::LANES).map(|_| VecDeque::new()).collect(),
            heap: BinaryHeap::new(),
            inserted: 0,
        }
    }
}

/// Where the next event is.
enum Next {
    Lane(usize),
    Heap,
}

impl<E: Kinds> EventQueue<E> {
    /// Schedules `event` at `at`.
    pub fn schedule(&mut self, at: Time, event: E) {
        let lane = event.lane();
        let entry = Entry {
            at,
            sequence: self.inserted,
            event,
        };
        self.inserted += 1;
        if let Some(lane) = lane.map(|lane| &mut self.lanes[lane])
            && lane.back().is_none_or(|last| last.at <= at)
        {
            lane.push_back(entry);
        } else {
            self.heap.push(Reverse(entry));
        }
    }

    /// The next event, unless it lies after `until`.
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, E)> {
        let mut next = Next::Heap;
        let mut first = self.heap.peek().map(|Reverse(entry)| entry.key());
        for (index, lane) in self.lanes.iter().enumerate() {
            if let Some(key) = lane.front().map(Entry::key)
                && first.is_none_or(|first| key < first)
            {
                next = Next::Lane(index);
                first = Some(key);
            }
        }
        if first.is_none_or(|(at, _)| at > until) {
            return None;
        }
        let entry = match next {
            Next::Lane(index) => self.lanes[index].pop_front(),
            Next::Heap => self.heap.pop().map(|Reverse(entry)| entry),
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

    impl Kinds for (usize, char) {
        const LANES: usize = 2;

        fn lane(&self) -> Option<usize> {
            Some(self.0).filter(|lane| *lane < Self::LANES)
        }
    }

    #[test]
    fn time_orders_and_insertion_breaks_ties() {
        let mut queue = EventQueue::default();
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
    fn nothing_after_the_limit_is_handed_out() {
        let mut queue = EventQueue::default();
        queue.schedule(at(5), (0, 'x'));
        assert_eq!(queue.pop_until(at(4)), None);
        assert_eq!(queue.pop_until(at(5)), Some((at(5), (0, 'x'))));
    }

    proptest! {
        /// Against sorting, whatever is scheduled between two events.
        #[test]
        fn the_order_is_that_of_a_sorted_list(steps in prop::collection::vec((0u64..20, 0usize..3, any::<bool>()), 1..200)) {
            let mut queue = EventQueue::default();
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
