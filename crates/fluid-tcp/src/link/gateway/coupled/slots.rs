//! The slots of a PHY trace, taken in their order; idle ones are passed over by binary search. A trace can be gone
//! through more than once: then it is as if it were written out so often.

use std::sync::Arc;

use tmt_core::types::{Slot, Span, Time};

use crate::link::timeline::{Block, SlotTrace};

/// Slots that are made of a block's columns together: few enough to stay in a core's nearest cache, and not to be
/// much work where they are idle.
const WINDOW: usize = 256;

/// A place in a PHY trace that never goes back.
#[derive(Debug)]
pub(super) struct Slots {
    trace: Arc<SlotTrace>,
    /// From a round to the next, and how many there are.
    period: Span,
    rounds: u64,
    place: Place,
    /// The block of the place, and one further on where there has been a look at it; fetched when they are needed.
    blocks: [Option<(usize, Arc<Block>)>; 2],
    /// Slots of the block that follow each other; the place is in front of the one at `at`, whose number is `next`.
    window: Vec<Slot>,
    at: usize,
    next: u64,
}

/// The round, its block, and the row in it.
#[derive(Debug, Clone, Copy)]
struct Place {
    round: u64,
    number: usize,
    row: usize,
}

impl Slots {
    /// At the first slot of `trace` sent at or after `begin`; none where it cannot be read.
    pub(super) fn new(trace: Arc<SlotTrace>, begin: Time) -> Option<Self> {
        let number = trace.block_at(begin);
        let row = match trace.block(number) {
            Some(block) => block.sent_before(begin),
            None if number == trace.blocks() => 0,
            None => return None,
        };
        Some(Self {
            next: trace.front(number) + row as u64,
            trace,
            period: Span::ZERO,
            rounds: 1,
            place: Place {
                round: 0,
                number,
                row,
            },
            blocks: [None, None],
            window: Vec::new(),
            at: 0,
        })
    }

    /// The same slots again and again, each round so much later than the one before: as many rounds as begin by `end`.
    pub(super) fn looped(mut self, period: Span, end: Time) -> Self {
        if let Some(first) = self.trace.first()
            && let Some(more) = end.since(first).as_nanos().checked_div(period.as_nanos())
        {
            (self.period, self.rounds) = (period, more + 1);
        }
        self
    }

    /// When the next slot at or after `from` is sent; none where the trace has ended. Stays where it is.
    pub(super) fn time_from(&mut self, from: Time) -> Option<Time> {
        if !self.is_in_window(from) {
            let Place { round, number, row } = self.first_from(from)?;
            let ahead = self.ahead(round)?;
            return self.fetch(number)?.tx_time(row).checked_add(ahead);
        }
        let ahead = &self.window[self.at..];
        match ahead.first().map(Slot::tx_time) {
            Some(first) if first >= from => Some(first),
            _ => {
                let idle = ahead.partition_point(|slot| slot.tx_time() < from);
                ahead.get(idle).map(Slot::tx_time)
            }
        }
    }

    /// The next slots at or after `from`, at least one and as far as they stand together `most`, and the number of the
    /// first; none where the trace has ended. Those in front of them are passed over.
    pub(super) fn view(&mut self, from: Time, most: usize) -> Option<(u64, &[Slot])> {
        let ahead = &self.window[self.at..];
        if ahead.first().is_none_or(|slot| slot.tx_time() < from) {
            self.pass_over(from)?;
        }
        if self.window.len() - self.at < most {
            self.look_ahead(most)?;
        }
        Some((self.next, &self.window[self.at..]))
    }

    /// Takes the next slot at or after `from`, with its number; none where the trace has ended.
    pub(super) fn take(&mut self, from: Time) -> Option<(u64, Slot)> {
        let (number, slots) = self.view(from, 1)?;
        let slot = *slots.first()?;
        self.advance(1);
        Some((number, slot))
    }

    /// Takes the first `slots` of those seen by [`Self::view`].
    pub(super) fn advance(&mut self, slots: usize) {
        self.at += slots;
        self.next += slots as u64;
        self.place.row += slots;
    }

    /// Slots sent up to `time`; none where the trace cannot be read.
    pub(super) fn sent_until(&self, time: Time) -> Option<u64> {
        let begun = self
            .trace
            .first()
            .map_or(Span::ZERO, |first| time.since(first));
        let round = begun.as_nanos().checked_div(self.period.as_nanos());
        let round = round.unwrap_or(0).min(self.rounds - 1);
        let within = self.trace.sent_until(earlier(time, self.ahead(round)?))?;
        Some(round * self.trace.len() + within)
    }

    /// By how much the slots of a round are later than the trace says.
    fn ahead(&self, round: u64) -> Option<Span> {
        self.period.checked_mul(round)
    }

    /// Number of the next slot.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether the next slot at or after `from` is in the window.
    fn is_in_window(&self, from: Time) -> bool {
        let ahead = self.window[self.at..].last();
        ahead.is_some_and(|last| last.tx_time() >= from)
    }

    /// Goes to the next slot at or after `from`, with a window that begins there or reaches beyond it.
    fn pass_over(&mut self, from: Time) -> Option<()> {
        if self.is_in_window(from) {
            let idle = self.window[self.at..].partition_point(|slot| slot.tx_time() < from);
            self.advance(idle);
            return Some(());
        }
        self.place = self.first_from(from)?;
        let Place { round, number, row } = self.place;
        self.next = round * self.trace.len() + self.trace.front(number) + row as u64;
        self.window.clear();
        self.at = 0;
        self.look_ahead(1)
    }

    /// Makes the window begin at the place, with `most` slots or more as far as the block has them; none where it has
    /// none.
    fn look_ahead(&mut self, most: usize) -> Option<()> {
        let Place { round, number, row } = self.place;
        let end = self.trace.rows_of(number).min(row + most.max(WINDOW));
        if row + self.window.len() - self.at < end {
            let mut window = std::mem::take(&mut self.window);
            window.clear();
            let ahead = self.ahead(round)?;
            let slots = self.fetch(number)?.slots(row..end);
            if round == 0 {
                window.extend(slots);
            } else {
                window.extend(slots.map_while(|slot| later(&slot, ahead)));
            }
            self.window = window;
            self.at = 0;
        }
        (!self.window.is_empty()).then_some(())
    }

    /// The place of the next slot at or after `from`, whose block is then there.
    fn first_from(&mut self, from: Time) -> Option<Place> {
        let mut place = self.place;
        if place.row >= self.trace.rows_of(place.number) {
            place.number += 1;
            place.row = 0;
        }
        let mut from_here = earlier(from, self.ahead(place.round)?);
        let last = self.trace.last()?;
        if place.number >= self.trace.blocks() || from_here > last {
            // Behind the end of this round.
            let rounds = from_here.since(last).as_nanos();
            let rounds = rounds.div_ceil(self.period.as_nanos().max(1)).max(1);
            let round = place.round.checked_add(rounds)?;
            if round >= self.rounds {
                return None;
            }
            place = Place {
                round,
                number: 0,
                row: 0,
            };
            from_here = earlier(from, self.ahead(round)?);
        }
        let row = place.row;
        let block = self.fetch(place.number)?;
        if block.tx_time(row) >= from_here {
            return Some(place);
        }
        let number = self.trace.block_at(from_here);
        if number > place.number {
            place.number = number;
            place.row = 0;
        }
        let before = self.fetch(place.number)?.sent_before(from_here);
        place.row = place.row.max(before);
        Some(place)
    }

    fn fetch(&mut self, number: usize) -> Option<&Block> {
        let held = |block: &Option<(usize, _)>| block.as_ref().is_some_and(|held| held.0 == number);
        let at = if let Some(at) = self.blocks.iter().position(held) {
            at
        } else {
            // What is read again and again at the edge of two blocks would cost more than what is computed.
            let place = self.place.number;
            let of_place = self.blocks[0].as_ref().is_some_and(|held| held.0 == place);
            let at = usize::from(of_place);
            self.blocks[at] = Some((number, self.trace.block(number)?));
            at
        };
        self.blocks[at].as_ref().map(|(_, block)| &**block)
    }
}

/// `time` so much earlier, at zero at the earliest.
fn earlier(time: Time, by: Span) -> Time {
    Time::ZERO.saturating_add(time.since(Time::ZERO).saturating_sub(by))
}

/// The slot so much later.
fn later(slot: &Slot, by: Span) -> Option<Slot> {
    Slot::new(slot.tx_time().checked_add(by)?, slot.decode_delay())
}

#[cfg(test)]
mod tests {
    use tmt_core::types::Span;

    use super::*;
    use crate::link::timeline::Builder;

    #[test]
    fn a_look_into_a_later_block_moves_nothing() {
        let time = |nanos| Time::from_nanos(nanos).unwrap();
        let mut builder = Builder::default();
        for t in 0..100_000 {
            builder.push(time(t * 10), Span::from_nanos(1 + t).unwrap(), None);
        }
        let mut slots = Slots::new(Arc::new(builder.finish()), time(40)).unwrap();
        let mut next = 4;
        for step in (1..3000).cycle().step_by(7).take(2000) {
            // Into this block, a later one, the end.
            for far in [next * 10, next * 10 + 171_233, 999_985, 2_000_000] {
                let far = far.max(next * 10);
                let expected = (far <= 999_990).then(|| time(u64::div_ceil(far, 10) * 10));
                assert_eq!(slots.time_from(time(far)), expected);
            }
            let Some((number, seen)) = slots.view(time(next * 10 - 3), 300) else {
                break;
            };
            assert_eq!(number, next);
            for (number, slot) in (number..).zip(seen) {
                assert_eq!(slot.tx_time(), time(number * 10));
                assert_eq!(slot.decode_delay().as_nanos(), number + 1);
            }
            let taken = seen.len().min(step % 300);
            slots.advance(taken);
            next += taken as u64 + step as u64 % 61;
            let taken = slots.take(time((next * 10).min(999_990))).unwrap();
            assert_eq!(taken.0, next.min(99_999));
            next += 1;
        }
        assert!(next > 99_999, "{next}");
        assert!(slots.take(Time::ZERO).is_none());
    }
}
