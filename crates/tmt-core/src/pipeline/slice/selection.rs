//! Which rows of a trace are kept, and where they are moved to.

use std::iter::StepBy;
use std::ops::Range;

use crate::types::{Slot, Span, Time};

/// Which rows of a trace are kept: those that meet all conditions. Rows count from 0 in the trace that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// Every how many rows one is kept, at least 1: row i is kept if i mod `every` is `offset`.
    pub every: u64,
    /// Which of them, below `every`.
    pub offset: u64,
    /// Only rows sent at this time or later.
    pub from: Time,
    /// Only rows sent before this time, if given.
    pub until: Option<Time>,
    /// Only this row and later ones.
    pub first_row: u64,
    /// Only rows before this one, if given.
    pub end_row: Option<u64>,
}

impl Default for Selection {
    /// Keeps all rows.
    fn default() -> Self {
        Self {
            every: 1,
            offset: 0,
            from: Time::ZERO,
            until: None,
            first_row: 0,
            end_row: None,
        }
    }
}

impl Selection {
    /// Indices of the kept ones of `slots`, which begin with row `row` of the trace.
    pub(super) fn kept(&self, row: u64, slots: &[Slot]) -> StepBy<Range<usize>> {
        let index = |wanted: u64| {
            let skipped = usize::try_from(wanted.saturating_sub(row));
            skipped.unwrap_or(usize::MAX).min(slots.len())
        };
        let sent_before = |time: Time| slots.partition_point(|slot| slot.tx_time() < time);
        let every = self.every.max(1);
        let mut begin = index(self.first_row).max(sent_before(self.from));
        let end = index(self.end_row.unwrap_or(u64::MAX));
        let end = end.min(self.until.map_or(slots.len(), sent_before));
        let phase = (row % every + begin as u64 % every) % every;
        let skipped = (self.offset % every + every - phase) % every;
        begin = begin.saturating_add(usize::try_from(skipped).unwrap_or(usize::MAX));
        (begin..end.max(begin)).step_by(usize::try_from(every).unwrap_or(usize::MAX))
    }
}

/// Where the rows of a trace are moved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// Later by this span.
    Later(Span),
    /// Earlier by this span.
    Earlier(Span),
    /// So that the first kept row is sent at this time.
    FirstAt(Time),
    /// So that the first kept row is sent this long after the last row so far. Rows that are so already, to 1 ns, stay
    /// where they are: slot times are rounded to whole ns.
    After(Span),
}

impl Default for Move {
    /// Times stay as they are.
    fn default() -> Self {
        Self::Later(Span::ZERO)
    }
}

impl Move {
    /// The change of times, where the first kept row is sent at `first` and the last row before it at `last`.
    pub(super) fn delta(self, first: Time, last: Option<Time>) -> Delta {
        let nanos = |time: Time| i128::from(time.as_nanos());
        let span = |span: Span| i128::from(span.as_nanos());
        Delta(match (self, last) {
            (Self::Later(by), _) => span(by),
            (Self::Earlier(by), _) => -span(by),
            (Self::FirstAt(time), _) => nanos(time) - nanos(first),
            (Self::After(_), None) => 0,
            (Self::After(gap), Some(last)) => match nanos(last) + span(gap) - nanos(first) {
                -1..=1 => 0,
                delta => delta,
            },
        })
    }
}

/// A change of times, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Delta(i128);

impl Delta {
    /// The changed time. If it is below 0, the span by which it is earlier; if it is too large, `None`.
    pub(super) fn applied(self, time: Time) -> Result<Time, Option<Span>> {
        let changed = i128::from(time.as_nanos()) + self.0;
        let time = u64::try_from(changed).ok().and_then(Time::from_nanos);
        time.ok_or_else(|| {
            let by = u64::try_from(-self.0).ok().and_then(Span::from_nanos);
            by.filter(|_| changed < 0)
        })
    }

    /// The changed time, at least 0 and at most 2^63 − 1 ns.
    pub(super) fn clamped(self, time: Time) -> Time {
        self.applied(time).unwrap_or_else(|below| {
            if below.is_some() {
                Time::ZERO
            } else {
                Time::MAX
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    proptest! {
        /// Against the definition, row by row, with the trace in pieces of any size.
        #[test]
        fn a_row_is_kept_if_it_meets_every_condition(
            steps in proptest::collection::vec(0u64..4, 1..200),
            piece in 1usize..50,
            every in 1u64..12,
            offset in 0u64..12,
            from in 0u64..300,
            until in proptest::option::of(0u64..300),
            first_row in 0u64..150,
            end_row in proptest::option::of(0u64..250),
        ) {
            let offset = offset % every;
            let mut now = 0;
            let slots: Vec<Slot> = steps
                .iter()
                .map(|step| {
                    now += step;
                    Slot::erased(at(now))
                })
                .collect();
            let selection = Selection {
                every,
                offset,
                from: at(from),
                until: until.map(at),
                first_row,
                end_row,
            };
            let mut found = Vec::new();
            for (number, slots) in slots.chunks(piece).enumerate() {
                let row = (number * piece) as u64;
                found.extend(selection.kept(row, slots).map(|index| row + index as u64));
            }
            let expected: Vec<u64> = (0u64..)
                .zip(&slots)
                .filter(|(row, slot)| {
                    let time = slot.tx_time().as_nanos();
                    row % every == offset
                        && time >= from
                        && until.is_none_or(|until| time < until)
                        && *row >= first_row
                        && end_row.is_none_or(|end| *row < end)
                })
                .map(|(row, _)| row)
                .collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn a_change_of_times_is_undone_by_its_opposite(
            time in 0..=Time::MAX.as_nanos(),
            by in 0..=Span::MAX.as_nanos(),
        ) {
            let (time, by) = (at(time), Span::from_nanos(by).unwrap());
            match Move::Later(by).delta(time, None).applied(time) {
                Ok(later) => {
                    prop_assert_eq!(later.since(time), by);
                    prop_assert_eq!(Move::Earlier(by).delta(later, None).applied(later), Ok(time));
                }
                Err(below) => {
                    prop_assert_eq!(below, None);
                    prop_assert!(time.checked_add(by).is_none());
                }
            }
            if time.as_nanos() < by.as_nanos() {
                prop_assert_eq!(Move::Earlier(by).delta(time, None).applied(time), Err(Some(by)));
            }
        }
    }

    #[test]
    fn a_trace_that_follows_already_stays_where_it_is() {
        let gap = Span::from_nanos(100).unwrap();
        let first = |first| {
            Move::After(gap)
                .delta(at(first), Some(at(1000)))
                .applied(at(first))
        };
        for (time, moved) in [
            (1099, 1099),
            (1100, 1100),
            (1101, 1101),
            (1102, 1100),
            (0, 1100),
        ] {
            assert_eq!(first(time), Ok(at(moved)), "{time}");
        }
    }
}
