//! The event queue: time first, then order of insertion.
//!
//! Nearly all events come in the order of their times, kind by kind: deliveries over one propagation, acknowledgements
//! over another. Each such kind has a lane of its own that needs no sorting; what comes out of order in its lane goes
//! to a heap, as do kinds without a lane. On a link with hundreds of packets in flight this halves the time of a run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tmt_core::types::Time;

/// Events some of which come in order.
pub trait HasLane {
    /// The lane; none for events in any order, or a lane that the queue does not have.
    fn lane(&self) -> Option<usize>;
}

/// Events in the order in which they happen; what happens at the same instant keeps the order in
/// which it was scheduled.
#[derive(Debug)]
pub struct EventQueue<E, const LANES: usize> {
    /// By lane, in the order of their keys.
    lanes: [VecDeque<Entry<E>>; LANES],
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
    /// Time, then sequence, as one number.
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
    /// Schedules `event` at `at`.
    #[expect(
        clippy::inline_always,
        reason = "an event is made where it lies, not copied there: an eighth of a run"
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

    /// The next event, unless it lies after `until`.
    #[expect(
        clippy::inline_always,
        reason = "called in one place, which reads the event where it lies"
    )]
    #[inline(always)]
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, E)> {
        // No event has this key: its time would be past all times.
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
    fn time_orders_and_insertion_breaks_ties() {
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
    fn nothing_after_the_limit_is_handed_out() {
        let mut queue = EventQueue::<_, 2>::default();
        queue.schedule(at(5), (0, 'x'));
        assert_eq!(queue.pop_until(at(4)), None);
        assert_eq!(queue.pop_until(at(5)), Some((at(5), (0, 'x'))));
    }

    proptest! {
        /// Against sorting, whatever is scheduled between two events.
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
