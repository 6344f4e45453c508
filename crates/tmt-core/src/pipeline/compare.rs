//! Compares two traces row by row, regardless of their forms.
//!
//! Both are read at the same time. Only the trace whose rows are used up reads on, so that no more than a batch of the other
//! one waits, however different the sizes of their batches are.

use crate::format::{Rows, TraceReader};
use crate::types::{Error, Result, Slot, Span};

/// One side of a row that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// Line of the row in its file, from 1; 0 if its format has no lines.
    pub line: u64,
    /// The slot, or the LLDU as a slot.
    pub slot: Slot,
    /// Attempts of the LLDU; `None` without the column.
    pub attempts: Option<u32>,
}

/// The first row that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstDifference {
    /// Its number in both traces, from 0.
    pub row: u64,
    /// The row of each trace; `None` past its end.
    pub sides: [Option<Side>; 2],
}

/// Comparison of two traces row by row: row n of one with row n of the other.
///
/// Rows are equal if their transmission times, decoding delays and attempts are, to the nanosecond. Attempts are compared
/// where both traces have the column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compared {
    /// Rows of each trace.
    pub rows: [u64; 2],
    /// Rows in which the traces differ, those past the end of the shorter one included.
    pub differing: u64,
    /// Rows that differ in the transmission time.
    pub times: u64,
    /// Rows that both have received, with different decoding delays.
    pub delays: u64,
    /// Rows that differ in the attempts.
    pub attempts: u64,
    /// Rows that only the first, or only the second trace has erased.
    pub erased_only: [u64; 2],
    /// Largest difference of the transmission times of a row.
    pub largest_time: Span,
    /// Largest difference of the decoding delays of a row that both have received.
    pub largest_delay: Span,
    /// Whether each trace has the column `attempts`.
    pub has_attempts: [bool; 2],
    /// The first row that differs.
    pub first: Option<FirstDifference>,
}

/// A trace with the rows that wait to be compared.
struct Source<'s, 'r, F> {
    reader: &'s mut TraceReader<'r>,
    take: F,
    rows: Rows,
    /// Rows of `rows` that have been compared.
    next: usize,
    ended: bool,
    has_attempts: bool,
}

impl<F: FnMut(&Rows)> Source<'_, '_, F> {
    /// Reads on if no row waits.
    fn fill(&mut self) -> Result<()> {
        while !self.ended && self.next == self.rows.slots.len() {
            self.next = 0;
            if self.reader.next_rows(&mut self.rows)? {
                self.has_attempts |= !self.rows.attempts.is_empty();
                (self.take)(&self.rows);
            } else {
                self.rows.clear();
                self.ended = true;
            }
        }
        Ok(())
    }

    /// Number of rows that wait.
    fn waiting(&self) -> usize {
        self.rows.slots.len() - self.next
    }

    /// The first `count` rows that wait: slots, and attempts if there are any.
    fn first(&self, count: usize) -> (&[Slot], &[u32]) {
        let range = self.next..self.next + count;
        let attempts = self.rows.attempts.get(range.clone()).unwrap_or_default();
        (&self.rows.slots[range], attempts)
    }

    /// The row that waits at this place.
    fn side(&self, at: usize) -> Option<Side> {
        let index = self.next + at;
        Some(Side {
            slot: *self.rows.slots.get(index)?,
            line: self.rows.line(index),
            attempts: self.rows.attempts.get(index).copied(),
        })
    }
}

impl Compared {
    /// Whether the rows of both traces are equal, and both or none have the column `attempts`.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.differing == 0 && self.has_attempts[0] == self.has_attempts[1]
    }

    /// Compares rows of the same number; returns the place of the first that differs.
    fn add(
        &mut self,
        (a, a_tries): (&[Slot], &[u32]),
        (b, b_tries): (&[Slot], &[u32]),
    ) -> Option<usize> {
        let mut first = None;
        if a == b && (a_tries.is_empty() || b_tries.is_empty() || a_tries == b_tries) {
            return first;
        }
        for (at, (a, b)) in a.iter().zip(b).enumerate() {
            let tries = a_tries.get(at).zip(b_tries.get(at));
            let differs_in_attempts = tries.is_some_and(|(a, b)| a != b);
            if a == b && !differs_in_attempts {
                continue;
            }
            first = first.or(Some(at));
            self.differing += 1;
            self.attempts += u64::from(differs_in_attempts);
            let apart = a
                .tx_time()
                .since(b.tx_time())
                .max(b.tx_time().since(a.tx_time()));
            self.times += u64::from(!apart.is_zero());
            self.largest_time = self.largest_time.max(apart);
            match (a.is_erased(), b.is_erased()) {
                (true, false) => self.erased_only[0] += 1,
                (false, true) => self.erased_only[1] += 1,
                _ => {
                    let (a, b) = (a.decode_delay().as_nanos(), b.decode_delay().as_nanos());
                    self.delays += u64::from(a != b);
                    let apart = Span::from_nanos(a.abs_diff(b)).unwrap_or(Span::MAX);
                    self.largest_delay = self.largest_delay.max(apart);
                }
            }
        }
        first
    }
}

/// Compares two traces. `take` gets the rows of each, in order, for statistics.
///
/// # Errors
/// The first invalid row of one of the traces, with the index of the trace.
///
/// ```
/// use tmt_core::format::{Options, TraceReader};
/// use tmt_core::pipeline::compare;
///
/// let open = |text: &'static str| TraceReader::new(text.as_bytes(), Options::default());
/// let mut traces = [open("0.1,0.036\n0.2,0.036\n")?, open("tx_time,decode_delay\n0.1,0.036\n0.2,0\n0.3,0.036\n")?];
/// let compared = compare(&mut traces, [|_: &_| {}, |_: &_| {}]).map_err(|(_, error)| error)?;
/// assert_eq!((compared.rows, compared.differing), ([2, 3], 2));
/// let first = compared.first.ok_or("equal")?;
/// assert_eq!((first.row, first.sides.map(|side| side.map(|side| side.line))), (1, [Some(2), Some(3)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare<F: FnMut(&Rows) + Send>(
    readers: &mut [TraceReader<'_>; 2],
    take: [F; 2],
) -> Result<Compared, (usize, Error)> {
    let mut compared = Compared::default();
    let [a, b] = readers;
    let [take_a, take_b] = take;
    let mut a = source(a, take_a);
    let mut b = source(b, take_b);
    loop {
        let (of_a, of_b) = rayon::join(|| a.fill(), || b.fill());
        of_a.map_err(|error| (0, error))?;
        of_b.map_err(|error| (1, error))?;
        let (waiting_a, waiting_b) = (a.waiting(), b.waiting());
        let both = waiting_a.min(waiting_b);
        // Past the end of one trace, all rows of the other differ.
        let (step, found) = if both > 0 {
            (both, compared.add(a.first(both), b.first(both)))
        } else {
            let rest = waiting_a.max(waiting_b);
            compared.differing += rest as u64;
            (rest, (rest > 0).then_some(0))
        };
        if step == 0 {
            break;
        }
        if let (None, Some(at)) = (compared.first, found) {
            let row = compared.rows[0].max(compared.rows[1]) + at as u64;
            let sides = [a.side(at), b.side(at)];
            compared.first = Some(FirstDifference { row, sides });
        }
        compared.rows[0] += a.pass(step);
        compared.rows[1] += b.pass(step);
    }
    compared.has_attempts = [a.has_attempts, b.has_attempts];
    Ok(compared)
}

fn source<'s, 'r, F>(reader: &'s mut TraceReader<'r>, take: F) -> Source<'s, 'r, F> {
    Source {
        reader,
        take,
        rows: Rows::default(),
        next: 0,
        ended: false,
        has_attempts: false,
    }
}

impl<F> Source<'_, '_, F> {
    /// Passes up to `step` rows; returns their number.
    fn pass(&mut self, step: usize) -> u64 {
        let step = step.min(self.rows.slots.len() - self.next);
        self.next += step;
        step as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::text::encode;
    use crate::format::{Form, Options, TraceWriter};
    use crate::types::{EndLine, Fate, Lldu, Metadata, Time};

    type Row = (u64, u64, u32);

    fn lldus(rows: &[Row]) -> Vec<Lldu> {
        let lldu = |&(t, d, attempts): &Row| Lldu {
            tx_time: Time::from_nanos(t).unwrap(),
            decode_delay: Span::from_nanos(d).unwrap(),
            attempts,
            fate: if d == 0 { Fate::Lost } else { Fate::Delivered },
        };
        rows.iter().map(lldu).collect()
    }

    /// A timeline, or its first two columns, as text.
    fn text(rows: &[Row], with_attempts: bool) -> Vec<u8> {
        let mut out = Vec::new();
        if with_attempts {
            encode::timeline_header(&mut out);
            encode::lldus(&lldus(rows), &mut out);
        } else {
            encode::trace_header(&mut out);
            for lldu in lldus(rows) {
                encode::slot(
                    &Slot::new(lldu.tx_time, lldu.decode_delay).unwrap(),
                    &mut out,
                );
            }
        }
        out
    }

    fn open(text: &[u8]) -> TraceReader<'_> {
        let options = Options {
            attempts: true,
            ..Options::default()
        };
        TraceReader::new(text, options).unwrap()
    }

    fn compared(a: &[u8], b: &[u8]) -> Compared {
        compare(&mut [open(a), open(b)], [|_: &_| {}, |_: &_| {}]).unwrap()
    }

    /// Rows with times that never fall. Few values, so that equal rows are frequent.
    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let row = (0u64..2, prop_oneof![Just(0u64), Just(4), Just(9)], 1u32..3);
        prop::collection::vec(row, 1..12).prop_map(|rows| {
            let mut t = 0;
            let add = |(step, d, attempts)| {
                t += step;
                (t, d, attempts)
            };
            rows.into_iter().map(add).collect()
        })
    }

    proptest! {
        #[test]
        fn what_is_counted_is_what_a_comparison_in_memory_counts(a in rows(), b in rows(), attempts: bool) {
            let found = compared(&text(&a, attempts), &text(&b, true));
            let differs = |at: &usize| match (a.get(*at), b.get(*at)) {
                (Some(a), Some(b)) => (a.0, a.1) != (b.0, b.1) || attempts && a.2 != b.2,
                _ => true,
            };
            let places: Vec<usize> = (0..a.len().max(b.len())).filter(differs).collect();
            prop_assert_eq!(found.rows, [a.len() as u64, b.len() as u64]);
            prop_assert_eq!(found.differing, places.len() as u64);
            prop_assert_eq!(found.is_equal(), places.is_empty() && attempts);
            let first = found.first.map(|first| first.row);
            prop_assert_eq!(first, places.first().map(|at| *at as u64));
            if let Some(first) = found.first {
                let at = places[0];
                for (rows, side) in [&a, &b].into_iter().zip(first.sides) {
                    let got = side.map(|side| (side.slot.tx_time().as_nanos(), side.slot.decode_delay().as_nanos(), side.line));
                    prop_assert_eq!(got, rows.get(at).map(|row| (row.0, row.1, at as u64 + 2)));
                }
            }
            let pairs: Vec<(Row, Row)> = a.iter().copied().zip(b.iter().copied()).collect();
            let count = |holds: fn(&Row, &Row) -> bool| pairs.iter().filter(|(a, b)| holds(a, b)).count() as u64;
            prop_assert_eq!(found.times, count(|a, b| a.0 != b.0));
            prop_assert_eq!(found.delays, count(|a, b| a.1 != b.1 && a.1 > 0 && b.1 > 0));
            prop_assert_eq!(found.erased_only, [count(|a, b| a.1 == 0 && b.1 > 0), count(|a, b| a.1 > 0 && b.1 == 0)]);
            let largest = pairs.iter().map(|(a, b)| a.0.abs_diff(b.0)).max().unwrap_or(0);
            prop_assert_eq!(found.largest_time.as_nanos(), largest);
            // Who is first makes no difference.
            let other = compared(&text(&b, true), &text(&a, attempts));
            prop_assert_eq!((other.differing, other.times, other.delays), (found.differing, found.times, found.delays));
        }
    }

    /// Batches of different sizes in both traces: rows wait, and the numbers of rows and lines stay right.
    #[test]
    fn a_difference_far_behind_is_found_between_forms_with_batches_of_their_own() {
        let n = 300_000_u64;
        let mut rows: Vec<Row> = (0..n).map(|row| (row * 1000, 7, 1)).collect();
        let whole = text(&rows, true);
        rows[250_000].1 = 8;
        rows.pop();
        let form = Form::from_file_name("x.arrow").unwrap().unwrap();
        let mut binary = TraceWriter::new(Vec::new(), form, &Metadata::new()).unwrap();
        binary.write(&lldus(&rows)).unwrap();
        let end = EndLine {
            rows: n - 1,
            slots: n - 1,
            usable_until: Time::ZERO,
        };
        let other = binary.finish(&end).unwrap();
        let found = compared(&whole, &other);
        assert_eq!(
            (found.rows, found.differing, found.delays),
            ([n, n - 1], 2, 1)
        );
        let first = found.first.unwrap();
        assert_eq!(
            (first.row, first.sides[0].unwrap().line),
            (250_000, 250_002)
        );
    }

    #[test]
    fn the_trace_with_an_invalid_row_is_named() {
        let rows: Vec<Row> = (0..100_000).map(|row| (row * 1000, 7, 1)).collect();
        let good = text(&rows, true);
        let bad = [&good[..], b"0.2,x,1\n"].concat();
        for (index, [a, b]) in [[&bad, &good], [&good, &bad]].into_iter().enumerate() {
            let failed = compare(&mut [open(a), open(b)], [|_: &_| {}, |_: &_| {}]);
            let (at, error) = failed.unwrap_err();
            assert_eq!((at, error.position().unwrap().line), (index, 100_002));
        }
    }
}
