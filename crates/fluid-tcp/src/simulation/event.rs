//! Events of a run, ordered by time and then by insertion. Those of one line may be scheduled before the time at which they are
//! inserted ([`Schedule::schedule_ahead`]).
//!
//! Every kind of event has a [`Line`] of its own: its events are as large as they need to be, and no larger. Most kinds
//! are scheduled in the order of their times: deliveries over one propagation delay, ACKs over another. Those need no
//! sorting, so a line is a FIFO. Events that are out of order in their line go to a heap beside it. A [`Schedule`] knows
//! the first event of each line.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use tmt_core::types::{Span, Time};

/// Place of an event in the order of all events: by time, then by sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Key {
    at: Time,
    sequence: u64,
}

/// Larger than the key of any event.
const NONE: Key = Key {
    at: Time::MAX,
    sequence: u64::MAX,
};

impl Key {
    /// Whether the event comes before another. Times are rarely equal.
    #[inline]
    fn precedes(self, other: Self) -> bool {
        self.at < other.at || self.at == other.at && self.sequence < other.sequence
    }

    /// A number that orders as the key does.
    #[inline]
    fn order(self) -> u128 {
        u128::from(self.at.as_nanos()) << 64 | u128::from(self.sequence)
    }
}

/// Smallest number of slots of a line that has any.
const LEAST_SLOTS: usize = 16;

/// Number of lines in which most events are. The first event of the other lines is searched only when one of them
/// changes.
const BUSY: usize = 2;

/// Number of the line with events that may be scheduled ahead.
pub const AHEAD: usize = 1;

/// Order of the events of several lines, and of those at the same time. Lines 0 and 1 are the fastest.
#[derive(Debug)]
pub struct Schedule<const LINES: usize> {
    /// Key of the first event of each line.
    first: [Key; LINES],
    /// First event of the lines that are not busy: its key, and the number of its line.
    other: (Key, usize),
    inserted: u64,
    /// Time from the insertion of an event of line [`AHEAD`] to the event; `None` if none is scheduled ahead.
    lead: Option<Span>,
    moment: Moment,
}

/// Where an event is inserted: what orders it among those at its time while events of line [`AHEAD`] are scheduled ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Moment {
    now: Time,
    /// Sequence number of the event that inserts it.
    parent: u64,
}

/// Distance of ranks, which come before all else in a sequence number: 0 for events that are inserted before the events of line
/// [`AHEAD`] at the same time, 2 for those that are inserted after them.
const RANK: u64 = 1 << 62;

/// Bits of a sequence number of rank 1 for the rank of the event that inserts this one, and below them for its number.
const PARENT: u32 = 60;

/// Sequence number of an event that is inserted at the time of those of line [`AHEAD`]: in the order of what inserts them.
#[inline]
fn inserted_by(parent: u64) -> u64 {
    let number = parent & ((1 << PARENT) - 1);
    RANK | (parent / RANK) << PARENT | number
}

impl Moment {
    /// The moment of events that are inserted by one at `now` with this sequence number.
    #[must_use]
    pub fn of(now: Time, parent: u64) -> Self {
        Self { now, parent }
    }

    /// Rank, from 0 to 2, of an event at `at` that is inserted now.
    #[inline]
    fn rank(self, at: u64, lead: Span) -> u64 {
        // Times and spans are below 2^63 ns.
        let with = self.now.as_nanos() + lead.as_nanos();
        u64::from(at <= with) + u64::from(at < with)
    }

    /// Sequence number of an event of line `line`, the `inserted`-th.
    #[inline]
    fn sequence(self, line: usize, at: Time, lead: Span, inserted: u64) -> u64 {
        let at = at.as_nanos();
        if line == AHEAD {
            return if at > self.now.as_nanos() + lead.as_nanos() {
                // By the event that would have inserted it.
                let cause = at - lead.as_nanos();
                RANK | self.rank(cause, lead) << PARENT | inserted
            } else {
                inserted_by(self.parent)
            };
        }
        match self.rank(at, lead) {
            1 => inserted_by(self.parent),
            rank => RANK * rank + inserted,
        }
    }
}

/// Events of one kind, in the order of their times. Events at the same time keep the order in which they were scheduled.
#[derive(Debug, Default)]
pub struct Line<E> {
    /// Events that came in order: a ring of a power of two of slots, with `len` from `head` on in use. Events are written and
    /// read in their slots, since most are so large that a copy costs as much as all the rest.
    slots: Vec<Entry<E>>,
    head: usize,
    len: usize,
    /// Time of the last of them.
    last: Time,
    /// All other events: their keys, with their places in `pool`, where they lie still. The last one that was taken keeps its
    /// place until the next is.
    unordered: BinaryHeap<Late>,
    pool: Vec<E>,
    free: Vec<usize>,
    taken: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry<E> {
    key: Key,
    event: E,
}

/// Key of an event that is out of order, and its place. The largest comes first.
#[derive(Debug, Clone, Copy)]
struct Late {
    key: Key,
    place: usize,
}

impl Ord for Late {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.order().cmp(&self.key.order())
    }
}

impl PartialOrd for Late {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // Said for the heap, whose steps would else go through a comparison of three outcomes.
    #[inline]
    fn le(&self, other: &Self) -> bool {
        other.key.order() <= self.key.order()
    }
}

impl Eq for Late {}

impl PartialEq for Late {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<E> Line<E> {
    /// Whether no event is scheduled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0 && self.unordered.is_empty()
    }

    /// First of the events that came in order.
    fn first_ordered(&self) -> Option<&Entry<E>> {
        let first = self.head & self.slots.len().wrapping_sub(1);
        self.slots.get(first).filter(|_| self.len > 0)
    }

    fn key_of_first(&self) -> Key {
        let ordered = self.first_ordered().map_or(NONE, |entry| entry.key);
        let unordered = self.unordered.peek();
        ordered.min(unordered.map_or(NONE, |late| late.key))
    }

    /// Removes the first event, which has this key. Returns it in its slot, and the key of the next one.
    #[inline]
    fn take(&mut self, key: Key) -> (&E, Key) {
        if !self.unordered.is_empty() {
            return self.take_of_both(key);
        }
        let mask = self.slots.len().wrapping_sub(1);
        let head = self.head;
        self.head = head.wrapping_add(1);
        self.len -= 1;
        let next = if self.len > 0 {
            self.slots[self.head & mask].key
        } else {
            NONE
        };
        (&self.slots[head & mask].event, next)
    }

    #[inline(never)]
    fn take_of_both(&mut self, key: Key) -> (&E, Key) {
        if self.first_ordered().is_some_and(|entry| entry.key == key) {
            let slot = self.head & (self.slots.len() - 1);
            self.len -= 1;
            self.head = self.head.wrapping_add(1);
            return (&self.slots[slot].event, self.key_of_first());
        }
        if let Some(Late { place, .. }) = self.unordered.pop() {
            self.free.push(std::mem::replace(&mut self.taken, place));
        }
        (&self.pool[self.taken], self.key_of_first())
    }
}

impl<E: Copy + Default> Line<E> {
    /// Adds an event. Returns its place, which holds another one, and whether it may be the first.
    #[expect(
        clippy::inline_always,
        reason = "avoids a copy of the event, which is some 5 % of the time of a run"
    )]
    #[inline(always)]
    fn push(&mut self, key: Key) -> (&mut E, bool) {
        if key.at < self.last && self.len > 0 {
            return (self.place(key), true);
        }
        if self.len == self.slots.len() {
            self.grow();
        }
        let place = self.head.wrapping_add(self.len) & (self.slots.len() - 1);
        self.len += 1;
        self.last = key.at;
        let slot = &mut self.slots[place];
        slot.key = key;
        (&mut slot.event, self.len == 1)
    }

    /// A place for an event that is out of order.
    #[inline(never)]
    fn place(&mut self, key: Key) -> &mut E {
        if self.pool.is_empty() {
            // That of the last one that was taken.
            self.pool.push(E::default());
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.pool.push(E::default());
            self.pool.len() - 1
        });
        self.unordered.push(Late { key, place });
        &mut self.pool[place]
    }

    /// Doubles the number of slots when all are in use.
    #[cold]
    fn grow(&mut self) {
        let slots = self.slots.len();
        if slots > 0 {
            self.slots.rotate_left(self.head & (slots - 1));
        }
        self.head = 0;
        let more = (2 * slots).max(LEAST_SLOTS);
        self.slots.resize_with(more, Entry::default);
    }
}

impl<const LINES: usize> Default for Schedule<LINES> {
    fn default() -> Self {
        Self {
            first: [NONE; LINES],
            other: (NONE, BUSY),
            inserted: 0,
            lead: None,
            moment: Moment::default(),
        }
    }
}

impl<const LINES: usize> Schedule<LINES> {
    /// From now on, events of line [`AHEAD`] may be scheduled ahead, each as if it were inserted a time of `lead` before it.
    /// Events of line 0 that are scheduled from now on must not be taken.
    pub fn schedule_ahead(&mut self, lead: Span) {
        self.lead = Some(lead);
    }

    /// Sets the time at which events are inserted. By which event, [`Self::take`] says.
    #[inline]
    pub fn set_now(&mut self, now: Time) {
        self.moment.now = now;
    }

    /// Where an event of line 0 at `at` would insert others, if it were inserted now.
    #[must_use]
    pub fn moment_at(&self, at: Time) -> Moment {
        let rank = |lead| self.moment.rank(at.as_nanos(), lead);
        Moment::of(at, RANK * self.lead.map_or(0, rank) + self.inserted)
    }

    /// Sequence number of the next event if it is one at `at` of the line of this number.
    #[inline]
    #[must_use]
    pub fn sequence(&self, number: usize, at: Time) -> u64 {
        match self.lead {
            Some(lead) if number > 0 => self.moment.sequence(number, at, lead, self.inserted),
            _ => self.inserted,
        }
    }

    /// Where events are inserted.
    #[must_use]
    pub fn moment(&self) -> Moment {
        self.moment
    }

    /// Sets where events are inserted.
    pub fn set_moment(&mut self, moment: Moment) {
        self.moment = moment;
    }

    /// Schedules an event at `at` in `line`, which is always that of this `number`, after all events that are already
    /// scheduled for that time. Returns its place, which holds another event, or the default, until the caller writes it.
    ///
    /// # Panics
    ///
    /// Panics if there are not more than `number` lines.
    #[expect(clippy::inline_always, reason = "as above")]
    #[inline(always)]
    #[must_use = "the place holds another event until it is written"]
    pub fn schedule<'a, E: Copy + Default>(
        &mut self,
        number: usize,
        line: &'a mut Line<E>,
        at: Time,
    ) -> &'a mut E {
        let sequence = self.sequence(number, at);
        self.inserted += 1;
        let key = Key { at, sequence };
        let (event, may_be_first) = line.push(key);
        if may_be_first && key.precedes(self.first[number]) {
            self.first[number] = key;
            if number >= BUSY && key.precedes(self.other.0) {
                self.other = (key, number);
            }
        }
        event
    }

    /// Leaves the numbers below this one in the order of events to others ([`Self::schedule_as`]).
    pub fn reserve(&mut self, sequence: u64) {
        self.inserted = self.inserted.max(sequence);
    }

    /// As [`Self::schedule`], with a number that was reserved in the order of events at one time.
    pub fn schedule_as<E: Copy + Default>(
        &mut self,
        (number, sequence): (usize, u64),
        line: &mut Line<E>,
        at: Time,
        event: E,
    ) {
        let key = Key { at, sequence };
        *line.place(key) = event;
        if key.precedes(self.first[number]) {
            self.first[number] = key;
            if number >= BUSY && key.precedes(self.other.0) {
                self.other = (key, number);
            }
        }
    }

    /// Time of the first event, at most `until`, if it is of line [`AHEAD`] and no other line has one then.
    ///
    /// # Panics
    ///
    /// Panics if there is no such line.
    #[inline]
    #[must_use]
    pub fn first_if_ahead(&self, until: Time) -> Option<Time> {
        let others = self.first[0].at.min(self.other.0.at);
        let at = self.first[AHEAD].at;
        (at < others && at <= until).then_some(at)
    }

    /// Time of the first event and number of its line; `None` if nothing comes before `until`.
    #[inline]
    #[must_use]
    pub fn first(&self, until: Time) -> Option<(Time, usize)> {
        let mut first = (self.first[0], 0);
        if LINES > 1 && self.first[1].at <= first.0.at && self.first[1].precedes(first.0) {
            first = (self.first[1], 1);
        }
        if self.other.0.at <= first.0.at && self.other.0.precedes(first.0) {
            first = self.other;
        }
        let (key, number) = first;
        (key.at <= until && key.sequence != NONE.sequence).then_some((key.at, number))
    }

    /// Time of the first event of the line of this number; `None` if it has none.
    ///
    /// # Panics
    ///
    /// Panics if there are not more than `number` lines.
    #[must_use]
    pub fn first_of(&self, number: usize) -> Option<Time> {
        let key = self.first[number];
        (key.sequence != NONE.sequence).then_some(key.at)
    }

    /// Removes the first event of `line`, which is that of this `number` and has events. Returns it in its slot.
    ///
    /// # Panics
    ///
    /// Panics if there are not more than `number` lines, or no events.
    #[inline]
    pub fn take<'a, E>(&mut self, number: usize, line: &'a mut Line<E>) -> &'a E {
        self.moment.parent = self.first[number].sequence;
        let (event, next) = line.take(self.first[number]);
        self.first[number] = next;
        if number >= BUSY {
            self.other = self.first_other();
        }
        event
    }

    fn first_other(&self) -> (Key, usize) {
        let mut first = (NONE, BUSY);
        for (number, key) in self.first.iter().enumerate().skip(BUSY) {
            if key.precedes(first.0) {
                first = (*key, number);
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    fn take<E: Copy, const N: usize>(
        schedule: &mut Schedule<N>,
        number: usize,
        line: &mut Line<E>,
    ) -> Option<E> {
        let some = !line.is_empty();
        some.then(|| *schedule.take(number, line))
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
            *schedule.schedule(line, &mut lines[line], at(time)) = event;
        }
        let order: String = std::iter::from_fn(|| {
            let (_, line) = schedule.first(Time::MAX)?;
            take(&mut schedule, line, &mut lines[line])
        })
        .collect();
        assert_eq!(order, "abcde");
        assert!(lines.iter().all(Line::is_empty));
    }

    #[test]
    fn no_event_after_the_limit_is_first() {
        let (mut schedule, mut line) = (Schedule::<1>::default(), Line::default());
        assert_eq!(schedule.first(Time::MAX), None);
        *schedule.schedule(0, &mut line, at(5)) = 'x';
        assert_eq!(schedule.first(at(4)), None);
        assert_eq!(schedule.first(at(5)), Some((at(5), 0)));
        assert_eq!(take(&mut schedule, 0, &mut line), Some('x'));
        assert_eq!(take(&mut schedule, 0, &mut line), None);
        assert_eq!(schedule.first(Time::MAX), None);
    }

    #[test]
    fn events_with_reserved_numbers_come_before_the_rest() {
        let (mut schedule, mut line) = (Schedule::<3>::default(), Line::default());
        schedule.reserve(3);
        *schedule.schedule(2, &mut line, at(5)) = 'd';
        for (sequence, event) in [(2, 'c'), (0, 'a'), (1, 'b')] {
            schedule.schedule_as((2, sequence), &mut line, at(5), event);
        }
        *schedule.schedule(2, &mut line, at(5)) = 'e';
        let order: String = std::iter::from_fn(|| {
            schedule.first(Time::MAX)?;
            take(&mut schedule, 2, &mut line)
        })
        .collect();
        assert_eq!(order, "abcde");
    }

    proptest! {
        /// Events of one line are scheduled before the times at which they would be inserted, which are all different. Their
        /// order is that of a list with those times.
        #[test]
        fn events_that_are_scheduled_ahead_come_where_they_would_have_come(
            steps in prop::collection::vec((1u64..4, 0u64..12, 0u64..20), 1..200),
            lead in 0u64..12,
        ) {
            let mut schedule = Schedule::<3>::default();
            let mut lines: [Line<u64>; 3] = Default::default();
            let mut list = Vec::new();
            let (mut now, mut ahead) = (1, 2);
            for (pause, delay, early) in steps {
                // Those of the line have even times, and others odd ones.
                now += 2 * pause;
                schedule.set_now(at(now));
                if list.is_empty() {
                    schedule.schedule_ahead(Span::from_nanos(lead).unwrap());
                }
                *schedule.schedule(2, &mut lines[2], at(now + delay)) = now;
                list.push((now + delay, now));
                while ahead < now + early {
                    ahead = (ahead + 2).max(now + 1);
                    let arrives = ahead + lead;
                    *schedule.schedule(AHEAD, &mut lines[AHEAD], at(arrives)) = ahead;
                    list.push((arrives, ahead));
                }
            }
            list.sort_unstable();
            for (number, &(time, inserted)) in list.iter().enumerate() {
                let is_ahead = |(at, by): &(u64, u64)| *at != time || by % 2 == 0;
                let is_surely_ahead = list[number..].iter().all(is_ahead);
                prop_assert_eq!(schedule.first_if_ahead(at(time)), is_surely_ahead.then_some(at(time)));
                prop_assert_eq!(schedule.first_if_ahead(at(time - 1)), None);
                let first = schedule.first(Time::MAX).map(|(time, line)| (time.as_nanos(), line));
                let (found, line) = first.unwrap();
                let event = take(&mut schedule, line, &mut lines[line]);
                prop_assert_eq!((found, event), (time, Some(inserted)));
            }
        }

        /// Compares with sorting a list, with insertions between removals. Times grow, so that most events are in order
        /// and the rings grow while they are in use.
        #[test]
        fn the_order_is_that_of_a_sorted_list(
            steps in prop::collection::vec((0u64..6, 0usize..5, 0u8..3), 1..600),
            growth in 0usize..3,
        ) {
            let mut schedule = Schedule::<5>::default();
            let mut lines: [Line<usize>; 5] = std::array::from_fn(|_| Line::default());
            let mut list: Vec<(u64, usize, usize)> = Vec::new();
            let take_first = |schedule: &mut Schedule<5>, lines: &mut [Line<usize>; 5]| {
                let (time, line) = schedule.first(Time::MAX)?;
                Some((time.as_nanos(), take(schedule, line, &mut lines[line])?, line))
            };
            for (number, (late, line, pops)) in steps.into_iter().enumerate() {
                let time = (number * growth) as u64 + late;
                // Three in four events are in one of two lines.
                let line = if line > 2 { 2 } else { line };
                *schedule.schedule(line, &mut lines[line], at(time)) = number;
                list.push((time, number, line));
                if pops == 0 {
                    list.sort_unstable();
                    let first = list.remove(0);
                    prop_assert_eq!(take_first(&mut schedule, &mut lines), Some(first));
                }
            }
            list.sort_unstable();
            for first in list {
                prop_assert_eq!(take_first(&mut schedule, &mut lines), Some(first));
            }
            prop_assert_eq!(take_first(&mut schedule, &mut lines), None);
            prop_assert!(lines.iter().all(Line::is_empty));
        }
    }
}
