//! Converts columns of numbers to slots, and checks every value.
//!
//! Integers are checked in chunks: one pass ORs words whose sign bit is set if a value is invalid. Only a chunk that
//! fails is converted row by row, to find the first invalid row and the reason. The slow path defines what is
//! valid; a property test compares the fast one with it.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use arrow_array::{Array as _, Float64Array, Int64Array, RecordBatch, UInt32Array};

use super::{NAMES, double};
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Position, Result, Slot, Span, Time};

/// Rows checked at a time; their words fit into the L1 cache.
const CHUNK: usize = 512;

/// The largest time, ns; also a mask of all bits of a time.
const MAX_NANOS: i64 = i64::MAX;

/// The columns of a batch, with types that [`super::projection`] accepts.
struct Table<'a> {
    tx_time: Times<'a>,
    decode_delay: Times<'a>,
    attempts: Option<&'a UInt32Array>,
}

enum Times<'a> {
    Integers(&'a Int64Array),
    Doubles(&'a Float64Array, Unit),
}

/// Appends the rows of `records` to `slots`, and to `attempts` if there is such a column.
///
/// # Errors
/// The first invalid row, with its number from 1. The rows before it were appended.
pub(super) fn append(
    records: &RecordBatch,
    unit: Option<Unit>,
    slots: &mut Vec<Slot>,
    attempts: &mut Vec<u32>,
) -> Result<()> {
    let times = |name| match records[name].as_primitive_opt::<Float64Type>() {
        Some(doubles) => Times::Doubles(doubles, unit.unwrap_or_default()),
        None => Times::Integers(records[name].as_primitive::<Int64Type>()),
    };
    let table = Table {
        tx_time: times(NAMES[0]),
        decode_delay: times(NAMES[1]),
        attempts: records
            .column_by_name(NAMES[2])
            .map(AsArray::as_primitive::<UInt32Type>),
    };
    let rows = records.num_rows();
    slots.reserve(rows);
    attempts.reserve(table.attempts.map_or(0, |_| rows));
    let mut previous = Time::ZERO;
    for from in (0..rows).step_by(CHUNK) {
        let to = (from + CHUNK).min(rows);
        if !table.append_chunk(from, to, previous, slots, attempts) {
            for row in from..to {
                let at = |kind| Error::at(kind, Position::of_row(row as u64 + 1));
                let (slot, count) = table.row(row, previous).map_err(at)?;
                attempts.extend(count);
                previous = slot.tx_time();
                slots.push(slot);
            }
        }
        previous = slots.last().map_or(previous, Slot::tx_time);
    }
    Ok(())
}

impl Table<'_> {
    /// A single row. The rules are checked in the same order as for text.
    fn row(&self, row: usize, previous: Time) -> Result<(Slot, Option<u32>), ErrorKind> {
        let nanos = self.tx_time.value(row, NAMES[0], double::nanos)?;
        let found = Time::from_nanos(nanos).unwrap_or(Time::MAX);
        if found < previous {
            return Err(ErrorKind::OutOfOrder { previous, found });
        }
        let nanos = self
            .decode_delay
            .value(row, NAMES[1], double::delay_nanos)?;
        let delay = Span::from_nanos(nanos).unwrap_or(Span::MAX);
        let sum = "tx_time + decode_delay";
        let slot = Slot::new(found, delay).ok_or(ErrorKind::SumTooLarge { sum })?;
        let count = match self.attempts {
            Some(counts) if counts.is_null(row) => return Err(ErrorKind::Null { field: NAMES[2] }),
            Some(counts) if counts.value(row) == 0 => {
                return Err(ErrorKind::format(
                    "attempts '0'",
                    "a whole number from 1 to 4294967295",
                ));
            }
            counts => counts.map(|counts| counts.value(row)),
        };
        Ok((slot, count))
    }

    /// Appends rows `from..to` if they are integers and all of them are valid; returns whether they are.
    fn append_chunk(
        &self,
        from: usize,
        to: usize,
        previous: Time,
        slots: &mut Vec<Slot>,
        attempts: &mut Vec<u32>,
    ) -> bool {
        let (Some(times), Some(delays)) = (self.tx_time.plain(), self.decode_delay.plain()) else {
            return false;
        };
        let (times, delays) = (&times[from..to], &delays[from..to]);
        let counts = self.attempts.map(|counts| &counts.values()[from..to]);
        let has_null = self.attempts.is_some_and(|counts| counts.null_count() > 0);
        if has_null
            || counts.is_some_and(|counts| counts.contains(&0))
            || !are_slots(previous.as_nanos().cast_signed(), times, delays)
        {
            return false;
        }
        attempts.extend_from_slice(counts.unwrap_or_default());
        slots.extend(
            times
                .iter()
                .zip(delays)
                .map(|(&time, &delay)| checked_slot(time, delay)),
        );
        true
    }
}

type FromDouble = fn(f64, Unit, &'static str) -> Result<u64, ErrorKind>;

impl Times<'_> {
    fn value(
        &self,
        row: usize,
        field: &'static str,
        from_double: FromDouble,
    ) -> Result<u64, ErrorKind> {
        match *self {
            Self::Doubles(array, unit) if array.is_valid(row) => {
                from_double(array.value(row), unit, field)
            }
            Self::Integers(array) if array.is_valid(row) => {
                let found = array.value(row);
                u64::try_from(found).map_err(|_| ErrorKind::Negative {
                    field,
                    found: found.to_string(),
                })
            }
            _ => Err(ErrorKind::Null { field }),
        }
    }

    /// The values of an integer column without nulls.
    fn plain(&self) -> Option<&[i64]> {
        match self {
            Self::Integers(array) if array.null_count() == 0 => Some(array.values()),
            _ => None,
        }
    }
}

/// Whether no value is negative, no time decreases, and no sum exceeds 2^63 − 1.
///
/// Each violation sets the highest bit of a word: the difference of two non-negative times has it set if the second
/// is earlier, the sum of two non-negative values if it exceeds 2^63 − 1.
fn are_slots(mut previous: i64, times: &[i64], delays: &[i64]) -> bool {
    let mut bad = 0;
    for (&time, &delay) in times.iter().zip(delays) {
        bad |= time | delay | time.wrapping_add(delay) | time.wrapping_sub(previous);
        previous = time;
    }
    bad >= 0
}

/// The slot of two values that [`are_slots`] accepted.
///
/// Their highest bit is clear. Masking it lets the compiler drop the checks.
fn checked_slot(time: i64, delay: i64) -> Slot {
    let time = Time::from_nanos((time & MAX_NANOS).cast_unsigned()).unwrap_or(Time::MAX);
    let delay = Span::from_nanos((delay & MAX_NANOS).cast_unsigned()).unwrap_or(Span::MAX);
    Slot::new(time, delay).unwrap_or(Slot::erased(time))
}
