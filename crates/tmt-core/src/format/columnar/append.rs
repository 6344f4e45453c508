//! Converts columns of numbers to slots, and checks every value.
//!
//! Integers in nanoseconds are checked in chunks: one pass ORs words whose sign bit is set if a value is invalid. Only a
//! chunk that fails, and columns of other types, are converted row by row. This slow path defines what is valid; a
//! property test compares the fast one with it.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, UInt64Array,
};
use arrow_schema::{DataType, TimeUnit};

use super::double;
use super::layout::{Layout, Quantity};
use crate::format::columns::{ATTEMPTS, DECODE_DELAY, ERASED, NAMES, TX_TIME};
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Position, Result, Slot, Span, Time};

/// Rows checked at a time; their words fit into the L1 cache.
const CHUNK: usize = 512;

/// The largest time, ns; also a mask of all bits of a time.
const MAX_NANOS: i64 = i64::MAX;

/// The columns of a batch.
struct Table {
    /// `None`: the rows get their times when their numbers are known.
    tx_time: Option<Times>,
    /// `None`: every received slot has the delay of the layout.
    decode_delay: Option<Times>,
    attempts: Option<Integers>,
    erased: Option<Flags>,
    /// Delay of a received slot without a column of delays, ns.
    delay: u64,
    null_is_erased: bool,
}

/// Integers of any width.
enum Integers {
    Signed(Int64Array),
    /// Only of 64 bits.
    Unsigned(UInt64Array),
}

enum Times {
    /// Integers of a unit, counted from a zero.
    Integers(Integers, Unit, i64),
    Doubles(Float64Array, Unit),
}

enum Flags {
    Booleans(BooleanArray),
    Integers(Integers),
    Doubles(Float64Array),
}

/// Appends the rows of `records` to `slots`, and to `attempts` if there is such a column. Timestamps count from `zero`.
/// Returns the number of rows without a delay.
///
/// # Errors
/// The first invalid row, with its number from 1. The rows before it were appended.
pub(super) fn append(
    records: &RecordBatch,
    layout: &Layout,
    zero: i64,
    slots: &mut Vec<Slot>,
    attempts: &mut Vec<u32>,
) -> Result<u64> {
    let table = Table::of(records, layout, zero);
    let rows = records.num_rows();
    slots.reserve(rows);
    attempts.reserve(table.attempts.as_ref().map_or(0, |_| rows));
    let mut previous = Time::ZERO;
    let mut missing = 0;
    let mut received = [0; CHUNK];
    for from in (0..rows).step_by(CHUNK) {
        let to = (from + CHUNK).min(rows);
        let words = table.words(from..to, &mut received);
        if let Some(words) = words.filter(|words| words.are_valid(previous)) {
            words.append(slots, attempts);
        } else {
            for row in from..to {
                let at = |kind| Error::at(kind, Position::of_row(row as u64 + 1));
                let count = table.attempts(row).map_err(at);
                let (slot, is_missing) = table.slot(row, previous).map_err(at)?;
                attempts.extend(count?);
                missing += u64::from(is_missing);
                previous = slot.tx_time();
                slots.push(slot);
            }
        }
        previous = slots.last().map_or(previous, Slot::tx_time);
    }
    Ok(missing)
}

/// The times of the first and last row, if all rows are integers in nanoseconds without attempts and valid, so that [`each`] can
/// convert them. There is at least one row.
pub(super) fn check(records: &RecordBatch, layout: &Layout, zero: i64) -> Option<(Time, Time)> {
    let table = Table::of(records, layout, zero);
    let rows = records.num_rows();
    let mut previous = Time::ZERO;
    let mut received = [0; CHUNK];
    let mut ends = None;
    for from in (0..rows).step_by(CHUNK) {
        let words = table.words(from..rows.min(from + CHUNK), &mut received)?;
        if table.attempts.is_some() || !words.are_valid(previous) {
            return None;
        }
        let time = |time: &i64| checked_slot(*time, 0).tx_time();
        let (first, last) = (words.times.first()?, words.times.last()?);
        previous = time(last);
        ends = Some((ends.map_or(time(first), |(first, _)| first), previous));
    }
    ends
}

/// Passes the slots of `rows`, which [`check`] accepted, to `take` in order.
pub(super) fn each(
    records: &RecordBatch,
    layout: &Layout,
    rows: Range<usize>,
    take: &mut dyn FnMut(&[Slot]),
) {
    // Columns of other widths are converted as a whole.
    let records = records.slice(rows.start, rows.len());
    let table = Table::of(&records, layout, 0);
    let mut slots = Vec::with_capacity(rows.len().min(CHUNK));
    let mut received = [0; CHUNK];
    for from in (0..rows.len()).step_by(CHUNK) {
        slots.clear();
        if let Some(words) = table.words(from..rows.len().min(from + CHUNK), &mut received) {
            words.append(&mut slots, &mut Vec::new());
        }
        take(&slots);
    }
}

/// The timestamp of the first row; 0 if times are no timestamps, or if it is null, which is refused later.
pub(super) fn first_timestamp(records: &RecordBatch, layout: &Layout) -> i64 {
    let Some(Quantity::Timestamps(_)) = layout.quantities[TX_TIME] else {
        return 0;
    };
    match column(records, layout, TX_TIME).map(integers) {
        Some(Integers::Signed(times)) if !times.is_empty() && times.is_valid(0) => times.value(0),
        _ => 0,
    }
}

/// A column that is read. A schema that changed between batches lacks it.
fn column<'a>(records: &'a RecordBatch, layout: &Layout, column: usize) -> Option<&'a ArrayRef> {
    records.column_by_name(layout.names[column].as_ref()?)
}

/// The integers of a column whose type is an integer, a duration or a timestamp.
fn integers(array: &ArrayRef) -> Integers {
    macro_rules! widened {
        ($type:ty) => {
            Integers::Signed(array.as_primitive::<$type>().unary(i64::from))
        };
    }
    macro_rules! same {
        ($type:ty) => {
            Integers::Signed(array.as_primitive::<$type>().reinterpret_cast())
        };
    }
    match array.data_type() {
        DataType::UInt64 => Integers::Unsigned(array.as_primitive::<UInt64Type>().clone()),
        DataType::Int8 => widened!(Int8Type),
        DataType::Int16 => widened!(Int16Type),
        DataType::Int32 => widened!(Int32Type),
        DataType::UInt8 => widened!(UInt8Type),
        DataType::UInt16 => widened!(UInt16Type),
        DataType::UInt32 => widened!(UInt32Type),
        DataType::Duration(TimeUnit::Second) => same!(DurationSecondType),
        DataType::Duration(TimeUnit::Millisecond) => same!(DurationMillisecondType),
        DataType::Duration(TimeUnit::Microsecond) => same!(DurationMicrosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => same!(DurationNanosecondType),
        DataType::Timestamp(TimeUnit::Second, _) => same!(TimestampSecondType),
        DataType::Timestamp(TimeUnit::Millisecond, _) => same!(TimestampMillisecondType),
        DataType::Timestamp(TimeUnit::Microsecond, _) => same!(TimestampMicrosecondType),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => same!(TimestampNanosecondType),
        _ => Integers::Signed(array.as_primitive::<Int64Type>().clone()),
    }
}

impl Table {
    fn of(records: &RecordBatch, layout: &Layout, zero: i64) -> Self {
        let times = |index: usize| {
            let array = column(records, layout, index)?;
            Some(match layout.quantities[index]? {
                Quantity::Doubles(unit) => {
                    Times::Doubles(array.as_primitive::<Float64Type>().clone(), unit)
                }
                Quantity::Integers(unit) => Times::Integers(integers(array), unit, 0),
                Quantity::Timestamps(unit) => Times::Integers(integers(array), unit, zero),
            })
        };
        Self {
            tx_time: times(TX_TIME),
            decode_delay: times(DECODE_DELAY),
            attempts: column(records, layout, ATTEMPTS).map(integers),
            erased: column(records, layout, ERASED).map(|array| match array.data_type() {
                DataType::Boolean => Flags::Booleans(array.as_boolean().clone()),
                DataType::Float64 => Flags::Doubles(array.as_primitive::<Float64Type>().clone()),
                _ => Flags::Integers(integers(array)),
            }),
            delay: layout.places.delay.as_nanos(),
            null_is_erased: layout.null_is_erased,
        }
    }

    /// A single slot, and whether its delay is missing. The rules are checked in the same order as for text.
    fn slot(&self, row: usize, previous: Time) -> Result<(Slot, bool), ErrorKind> {
        let nanos = match &self.tx_time {
            None => 0,
            Some(times) => times
                .value(row, NAMES[TX_TIME], double::nanos)?
                .ok_or_else(|| times.no_value(row, NAMES[TX_TIME]))?,
        };
        let found = Time::from_nanos(nanos).unwrap_or(Time::MAX);
        if found < previous {
            return Err(ErrorKind::OutOfOrder { previous, found });
        }
        let erased = self
            .erased
            .as_ref()
            .map(|flags| flags.value(row))
            .transpose()?;
        let (nanos, is_missing) = match &self.decode_delay {
            // The delay of an erased slot has no meaning.
            _ if erased == Some(true) => (0, false),
            None => (self.delay, false),
            Some(delays) => match delays.value(row, NAMES[DECODE_DELAY], double::delay_nanos)? {
                // Zero means erased, but this row says that it was received.
                Some(nanos) => (nanos, nanos == 0 && erased.is_some()),
                None => (
                    0,
                    erased.is_some() || !self.null_is_erased || delays.is_nan(row),
                ),
            },
        };
        let delay = Span::from_nanos(nanos).unwrap_or(Span::MAX);
        let sum = "tx_time + decode_delay";
        let slot = Slot::new(found, delay).ok_or(ErrorKind::SumTooLarge { sum })?;
        Ok((slot, is_missing))
    }

    /// The attempts of a row, if the column is read.
    fn attempts(&self, row: usize) -> Result<Option<u32>, ErrorKind> {
        let Some(counts) = &self.attempts else {
            return Ok(None);
        };
        let field = NAMES[ATTEMPTS];
        let count = counts.value(row).ok_or(ErrorKind::Null { field })?;
        let fits = u32::try_from(count).ok().filter(|&count| count > 0);
        fits.map(Some).ok_or_else(|| {
            ErrorKind::format(
                format!("{field} '{count}'"),
                "a whole number from 1 to 4294967295",
            )
        })
    }

    /// The values of `rows` if all columns are integers, and times are in nanoseconds. `received` has room for their delays.
    fn words<'a>(
        &'a self,
        rows: Range<usize>,
        received: &'a mut [i64; CHUNK],
    ) -> Option<Words<'a>> {
        let times = self.tx_time.as_ref()?.nanos()?;
        let delays = self.decode_delay.as_ref()?.nanos()?;
        if times.null_count() > 0
            || self.erased.is_some()
            || (delays.null_count() > 0 && !self.null_is_erased)
        {
            return None;
        }
        let counts = match &self.attempts {
            None => &[],
            Some(Integers::Signed(counts)) if counts.null_count() == 0 => {
                &counts.values()[rows.clone()]
            }
            Some(_) => return None,
        };
        Some(Words {
            times: &times.values()[rows.clone()],
            delays: received_delays(delays, rows, received),
            counts,
        })
    }
}

/// Values of some rows: times and delays in ns, and attempts if there are any.
struct Words<'a> {
    times: &'a [i64],
    delays: &'a [i64],
    counts: &'a [i64],
}

impl Words<'_> {
    /// Whether all rows are valid after a row at `previous`.
    fn are_valid(&self, previous: Time) -> bool {
        are_counts(self.counts)
            && are_slots(previous.as_nanos().cast_signed(), self.times, self.delays)
    }

    /// Appends the rows, which are valid.
    fn append(&self, slots: &mut Vec<Slot>, attempts: &mut Vec<u32>) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "`are_counts` checked that they fit"
        )]
        let count = |&count: &i64| count.cast_unsigned() as u32;
        attempts.extend(self.counts.iter().map(count));
        let values = self.times.iter().zip(self.delays);
        slots.extend(values.map(|(&time, &delay)| checked_slot(time, delay)));
    }
}

/// Delays of `rows`, with 0 for nulls, whose values have no meaning.
fn received_delays<'a>(
    delays: &'a Int64Array,
    rows: Range<usize>,
    received: &'a mut [i64; CHUNK],
) -> &'a [i64] {
    let values = &delays.values()[rows.clone()];
    let Some(valid) = delays.nulls().filter(|nulls| nulls.null_count() > 0) else {
        return values;
    };
    let valid = valid.inner().slice(rows.start, rows.len());
    if valid.count_set_bits() == rows.len() {
        return values;
    }
    let words = valid.bit_chunks().iter_padded();
    for (word, (received, values)) in words.zip(received.chunks_mut(64).zip(values.chunks(64))) {
        if word == u64::MAX {
            received[..values.len()].copy_from_slice(values);
            continue;
        }
        for (bit, (received, value)) in received.iter_mut().zip(values).enumerate() {
            let mask = (word >> bit & 1).cast_signed().wrapping_neg();
            *received = value & mask;
        }
    }
    &received[..rows.len()]
}

impl Integers {
    /// The value of a row; `None` if it is null.
    fn value(&self, row: usize) -> Option<i128> {
        match self {
            Self::Signed(array) => array.is_valid(row).then(|| array.value(row).into()),
            Self::Unsigned(array) => array.is_valid(row).then(|| array.value(row).into()),
        }
    }
}

type FromDouble = fn(f64, Unit, &'static str) -> Result<u64, ErrorKind>;

impl Times {
    /// The value of a row, ns; `None` if it is null or NaN.
    fn value(
        &self,
        row: usize,
        field: &'static str,
        from_double: FromDouble,
    ) -> Result<Option<u64>, ErrorKind> {
        match self {
            Self::Doubles(array, unit) => {
                let value = array.is_valid(row).then(|| array.value(row));
                let value = value.filter(|value| !value.is_nan());
                value
                    .map(|value| from_double(value, *unit, field))
                    .transpose()
            }
            Self::Integers(array, unit, zero) => {
                let Some(value) = array.value(row) else {
                    return Ok(None);
                };
                let found = value - i128::from(*zero);
                if found < 0 && *zero != 0 {
                    return Err(ErrorKind::format(
                        format!(
                            "{field} '{value}', a timestamp before that of the first row ({zero})"
                        ),
                        "times that do not decrease",
                    ));
                }
                let found_text = || found.to_string();
                if found < 0 {
                    let found = found_text();
                    return Err(ErrorKind::Negative { field, found });
                }
                let nanos = u64::try_from(found * i128::from(unit.nanos()));
                let nanos = nanos
                    .ok()
                    .filter(|&nanos| nanos <= MAX_NANOS.unsigned_abs());
                nanos.map(Some).ok_or_else(|| {
                    let found = found_text();
                    ErrorKind::TooLarge { field, found }
                })
            }
        }
    }

    /// The refusal of a null or NaN.
    fn no_value(&self, row: usize, field: &'static str) -> ErrorKind {
        if self.is_nan(row) {
            let found = f64::NAN.to_string();
            return ErrorKind::NotANumber { field, found };
        }
        ErrorKind::Null { field }
    }

    /// Whether the value of a row without one is NaN, not null.
    fn is_nan(&self, row: usize) -> bool {
        matches!(self, Self::Doubles(array, _) if array.is_valid(row))
    }

    /// The values of a column of nanoseconds from zero.
    fn nanos(&self) -> Option<&Int64Array> {
        match self {
            Self::Integers(Integers::Signed(array), Unit::Nanoseconds, 0) => Some(array),
            _ => None,
        }
    }
}

impl Flags {
    /// Whether a slot is erased.
    fn value(&self, row: usize) -> Result<bool, ErrorKind> {
        let field = NAMES[ERASED];
        let wrong = |found: &dyn std::fmt::Display| {
            ErrorKind::format(format!("{field} '{found}'"), "0 or 1, or false or true")
        };
        let null = ErrorKind::Null { field };
        match self {
            Self::Booleans(array) => array.is_valid(row).then(|| array.value(row)).ok_or(null),
            Self::Integers(array) => match array.value(row) {
                None => Err(null),
                Some(0) => Ok(false),
                Some(1) => Ok(true),
                Some(other) => Err(wrong(&other)),
            },
            Self::Doubles(array) if array.is_null(row) => Err(null),
            Self::Doubles(array) => match array.value(row) {
                0.0 => Ok(false),
                1.0 => Ok(true),
                other => Err(wrong(&other)),
            },
        }
    }
}

/// Whether all attempts are from 1 to 2^32 − 1. Both differences have the highest bit clear then.
fn are_counts(counts: &[i64]) -> bool {
    let mut bad = 0;
    for &count in counts {
        bad |= count.wrapping_sub(1) | i64::from(u32::MAX).wrapping_sub(count);
    }
    bad >= 0
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
    Slot::unchecked(time, delay)
}
