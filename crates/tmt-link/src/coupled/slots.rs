//! Slots of a PHY trace, taken in order. Idle slots are skipped by binary search.

use tmt_core::types::{Slot, Span, Time};

use crate::timeline::{Cursor, Position, SlotTrace};

/// Slots that are decoded from the columns of a block at once: few enough for the first-level cache, and cheap if they
/// turn out to be idle.
const WINDOW: usize = 256;

/// Position in a PHY trace that only moves forward.
#[derive(Debug)]
pub(super) struct Slots {
    cursor: Cursor,
    /// Consecutive slots of the cursor's block, decoded from its columns.
    window: Vec<Slot>,
    /// Index of the next slot in `window`.
    at: usize,
}

impl Slots {
    /// Starts at the first slot of `trace`.
    pub(super) fn new(trace: SlotTrace) -> Self {
        Self {
            cursor: Cursor::new(trace.0),
            window: Vec::new(),
            at: 0,
        }
    }

    /// The same slots repeated with this period, in all rounds that begin by `end`.
    pub(super) fn looped(mut self, period: Span, end: Time) -> Self {
        if let Some(first) = self.cursor.timeline.first()
            && let Some(more) = end.since(first).as_nanos().checked_div(period.as_nanos())
        {
            (self.cursor.period, self.cursor.rounds) = (period, more + 1);
        }
        self
    }

    /// Transmission time of the next slot at or after `from`; `None` if the trace has ended. Does not move.
    pub(super) fn time_from(&mut self, from: Time) -> Option<Time> {
        if let Some(idle) = self.idle_until(from) {
            return Some(self.window[self.at + idle].tx_time());
        }
        let Position { round, number, row } = self.cursor.first_from(from)?;
        let ahead = self.cursor.round_offset(round)?;
        let block = self.cursor.fetch(number)?;
        block.tx_time(row).checked_add(ahead)
    }

    /// Skips to the next slot at or after `from`. Returns its number and a slice from it on: at least one slot, and
    /// `most` or more if the block has them. `None` if the trace has ended.
    pub(super) fn view(&mut self, from: Time, most: usize) -> Option<(u64, &[Slot])> {
        if let Some(idle) = self.idle_until(from) {
            self.advance(idle);
        } else {
            self.cursor.seek(from)?;
            self.window.clear();
            self.at = 0;
        }
        if self.window.len() - self.at < most {
            self.look_ahead(most)?;
        }
        Some((self.cursor.ordinal(), &self.window[self.at..]))
    }

    /// Takes the first `slots` of the slice that [`Self::view`] returned.
    pub(super) fn advance(&mut self, slots: usize) {
        self.at += slots;
        self.cursor.position.row += slots;
    }

    /// Number of slots sent up to `time`; `None` if the trace cannot be read.
    pub(super) fn sent_until(&self, time: Time) -> Option<u64> {
        self.cursor.sent_until(time)
    }

    /// Number of slots of the window before the next one at or after `from`; `None` if that is not in the window.
    fn idle_until(&self, from: Time) -> Option<usize> {
        let ahead = &self.window[self.at..];
        if ahead.first()?.tx_time() >= from {
            return Some(0);
        }
        let idle = ahead.partition_point(|slot| slot.tx_time() < from);
        (idle < ahead.len()).then_some(idle)
    }

    /// Makes the window begin at the cursor, with `most` slots or more as far as the block has them. `None` if it has
    /// none.
    fn look_ahead(&mut self, most: usize) -> Option<()> {
        let Position { round, number, row } = self.cursor.position;
        let rows = self.cursor.timeline.rows_in(number);
        let end = rows.min(row + most.max(WINDOW));
        if row + self.window.len() - self.at < end {
            let ahead = self.cursor.round_offset(round)?;
            let slots = self.cursor.fetch(number)?.slots(row..end);
            self.window.clear();
            self.at = 0;
            if round == 0 {
                self.window.extend(slots);
            } else {
                self.window
                    .extend(slots.map_while(|slot| later(&slot, ahead)));
            }
        }
        (!self.window.is_empty()).then_some(())
    }
}

/// The slot shifted by `by`.
fn later(slot: &Slot, by: Span) -> Option<Slot> {
    Slot::new(slot.tx_time().checked_add(by)?, slot.decode_delay())
}

#[cfg(test)]
mod tests {
    use tmt_core::types::Span;

    use super::*;
    use crate::timeline::Builder;

    #[test]
    fn looking_ahead_into_a_later_block_does_not_move() {
        let time = |nanos| Time::from_nanos(nanos).unwrap();
        let mut builder = Builder::default();
        for t in 0..100_000 {
            builder.push(time(t * 10), Span::from_nanos(1 + t).unwrap(), None);
        }
        let mut slots = Slots::new(builder.finish().into());
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
            let (number, seen) = slots.view(time((next * 10).min(999_990)), 1).unwrap();
            assert_eq!(number, next.min(99_999));
            assert_eq!(seen[0].tx_time(), time(number * 10));
            slots.advance(1);
            next += 1;
        }
        assert!(next > 99_999, "{next}");
        assert!(slots.view(Time::ZERO, 1).is_none());
    }
}
