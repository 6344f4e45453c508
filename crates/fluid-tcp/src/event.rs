//! The event queue: time first, then order of insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tmt_core::units::Time;

/// Events in the order in which they happen; what happens at the same instant keeps the order in
/// which it was scheduled.
#[derive(Debug)]
pub struct EventQueue<E> {
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

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            inserted: 0,
        }
    }
}

impl<E> EventQueue<E> {
    /// Schedules `event` at `at`.
    pub fn schedule(&mut self, at: Time, event: E) {
        self.heap.push(Reverse(Entry {
            at,
            sequence: self.inserted,
            event,
        }));
        self.inserted += 1;
    }

    /// The next event, unless it lies after `until`.
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, E)> {
        if self
            .heap
            .peek()
            .is_none_or(|Reverse(entry)| entry.at > until)
        {
            return None;
        }
        self.heap
            .pop()
            .map(|Reverse(entry)| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    #[test]
    fn time_orders_and_insertion_breaks_ties() {
        let mut queue = EventQueue::default();
        for (time, event) in [(5, 'c'), (1, 'a'), (5, 'd'), (3, 'b')] {
            queue.schedule(at(time), event);
        }
        let order: String = std::iter::from_fn(|| queue.pop_until(Time::MAX))
            .map(|(_, event)| event)
            .collect();
        assert_eq!(order, "abcd");
    }

    #[test]
    fn nothing_after_the_limit_is_handed_out() {
        let mut queue = EventQueue::default();
        queue.schedule(at(5), ());
        assert_eq!(queue.pop_until(at(4)), None);
        assert_eq!(queue.pop_until(at(5)), Some((at(5), ())));
    }
}
