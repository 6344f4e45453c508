//! Columns of numbers to slots, every value checked.
//!
//! Some hundred rows at a time: the columns are laid out as plain words, one pass over them ORs
//! together what would be a sign bit if something were wrong, and slots are made of what passed.
//! Only rows that did not pass are taken one by one, to say which is the first and why; that path
//! says what is right, and a property holds the other against it.

use super::{NAMES, Number, double};
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Position, Result, Slot, Span, Time};

/// Rows checked at a time: their words stay in the first-level cache.
const CHUNK: usize = 512;

/// The largest time there is, and all bits of any.
const MAX_NANOS: u64 = Time::MAX.as_nanos();

/// A column of times, by the form in which its format hands it over.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Times<'a> {
    /// Words in little-endian order.
    Bytes(&'a [[u8; 8]]),
    /// int64, or doubles bit by bit.
    Integers(&'a [i64]),
}

/// A column of times and what is known about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column<'a> {
    pub(crate) times: Times<'a>,
    pub(crate) number: Number,
    /// Row of the first null, if there is one.
    pub(crate) null: Option<usize>,
}

/// A column of attempts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts<'a> {
    pub(crate) values: CountValues<'a>,
    /// Row of the first null, if there is one.
    pub(crate) null: Option<usize>,
}

/// Attempts, by the form in which their format hands them over.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CountValues<'a> {
    /// Words in little-endian order.
    Bytes(&'a [[u8; 4]]),
    /// uint32.
    Integers(&'a [u32]),
}

/// Appends `rows` rows to `slots`, and to `attempts` where there is such a column.
///
/// The caller sees to it that every column holds so many rows.
///
/// # Errors
/// The first row that cannot be, with its number, counted from 1; the rows in front of it were appended.
pub(crate) fn append(
    [tx_time, decode_delay]: [&Column<'_>; 2],
    counts: Option<&Counts<'_>>,
    rows: usize,
    slots: &mut Vec<Slot>,
    attempts: &mut Vec<u32>,
) -> Result<()> {
    let table = Table {
        tx_time,
        decode_delay,
        counts,
    };
    slots.reserve(rows);
    if counts.is_some() {
        attempts.reserve(rows);
    }
    let nulls = [
        tx_time.null,
        decode_delay.null,
        counts.and_then(|counts| counts.null),
    ];
    let without_null = nulls.into_iter().flatten().min().unwrap_or(rows).min(rows);
    let mut block = Block::default();
    let mut from = 0;
    while from < rows {
        let to = (from + CHUNK).min(rows);
        if to > without_null || !block.append(&table, from, to, slots, attempts) {
            table.append_slowly(from, to, block.previous, slots, attempts)?;
            // It has found the row, or has taken all of them: either way it has the last word.
            block.previous = slots.last().map_or(0, |slot| slot.tx_time().as_nanos());
        }
        from = to;
    }
    Ok(())
}

struct Table<'a> {
    tx_time: &'a Column<'a>,
    decode_delay: &'a Column<'a>,
    counts: Option<&'a Counts<'a>>,
}

impl Table<'_> {
    /// One row after the other, each rule in the order in which text is checked.
    fn append_slowly(
        &self,
        from: usize,
        to: usize,
        mut previous: u64,
        slots: &mut Vec<Slot>,
        attempts: &mut Vec<u32>,
    ) -> Result<()> {
        for row in from..to {
            let at = |kind| Error::at(kind, Position::of_row(row as u64 + 1));
            let slot = self.slot(row, previous).map_err(at)?;
            if let Some(counts) = self.counts {
                attempts.push(counts.value(row).map_err(at)?);
            }
            previous = slot.tx_time().as_nanos();
            slots.push(slot);
        }
        Ok(())
    }

    fn slot(&self, row: usize, previous: u64) -> Result<Slot, ErrorKind> {
        let nanos = self.tx_time.value(row, NAMES[0], double::nanos)?;
        let tx_time = Time::from_nanos(nanos).unwrap_or(Time::MAX);
        if nanos < previous {
            return Err(ErrorKind::OutOfOrder {
                previous: Time::from_nanos(previous).unwrap_or(Time::MAX),
                found: tx_time,
            });
        }
        let nanos = self
            .decode_delay
            .value(row, NAMES[1], double::delay_nanos)?;
        let delay = Span::from_nanos(nanos).unwrap_or(Span::MAX);
        Slot::new(tx_time, delay).ok_or(ErrorKind::SumTooLarge {
            sum: "tx_time + decode_delay",
        })
    }
}

type FromDouble = fn(f64, Unit, &'static str) -> Result<u64, ErrorKind>;

impl Column<'_> {
    fn value(
        &self,
        row: usize,
        field: &'static str,
        from_double: FromDouble,
    ) -> Result<u64, ErrorKind> {
        if self.null == Some(row) {
            return Err(ErrorKind::Null { field });
        }
        let word = self.times.word(row);
        match self.number {
            Number::Double(unit) => from_double(f64::from_bits(word), unit, field),
            Number::Integer => {
                let signed = word.cast_signed();
                u64::try_from(signed).map_err(|_| ErrorKind::Negative {
                    field,
                    found: signed.to_string(),
                })
            }
        }
    }

    /// Lays rows `from..` out as nanoseconds; false where a double is none.
    fn fill(&self, from: usize, out: &mut [u64], from_double: FromDouble) -> bool {
        match self.times {
            Times::Bytes(words) => {
                for (out, word) in out.iter_mut().zip(&words[from..]) {
                    *out = u64::from_le_bytes(*word);
                }
            }
            Times::Integers(values) => {
                for (out, value) in out.iter_mut().zip(&values[from..]) {
                    *out = value.cast_unsigned();
                }
            }
        }
        if let Number::Double(unit) = self.number {
            for out in out {
                match from_double(f64::from_bits(*out), unit, "") {
                    Ok(nanos) => *out = nanos,
                    Err(_) => return false,
                }
            }
        }
        true
    }
}

impl Times<'_> {
    fn word(&self, row: usize) -> u64 {
        match self {
            Self::Bytes(words) => u64::from_le_bytes(words[row]),
            Self::Integers(values) => values[row].cast_unsigned(),
        }
    }
}

impl Counts<'_> {
    fn value(&self, row: usize) -> Result<u32, ErrorKind> {
        if self.null == Some(row) {
            return Err(ErrorKind::Null { field: NAMES[2] });
        }
        let value = match self.values {
            CountValues::Bytes(words) => u32::from_le_bytes(words[row]),
            CountValues::Integers(values) => values[row],
        };
        if value == 0 {
            return Err(ErrorKind::format(
                "attempts '0'",
                "a whole number from 1 to 4294967295",
            ));
        }
        Ok(value)
    }

    /// Appends rows `from..to`; false where one of them is zero, and then they stay as they were.
    fn append(&self, from: usize, to: usize, out: &mut Vec<u32>) -> bool {
        let before = out.len();
        match self.values {
            CountValues::Bytes(words) => {
                out.extend(words[from..to].iter().map(|word| u32::from_le_bytes(*word)));
            }
            CountValues::Integers(values) => out.extend_from_slice(&values[from..to]),
        }
        let are_counts = !out[before..].contains(&0);
        if !are_counts {
            out.truncate(before);
        }
        are_counts
    }
}

/// Rows laid out as plain words.
struct Block {
    tx_time: [u64; CHUNK],
    decode_delay: [u64; CHUNK],
    /// Time of the row in front.
    previous: u64,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            tx_time: [0; CHUNK],
            decode_delay: [0; CHUNK],
            previous: 0,
        }
    }
}

impl Block {
    /// Appends rows `from..to` if all of them are right; whether they are.
    fn append(
        &mut self,
        table: &Table<'_>,
        from: usize,
        to: usize,
        slots: &mut Vec<Slot>,
        attempts: &mut Vec<u32>,
    ) -> bool {
        let times = &mut self.tx_time[..to - from];
        let delays = &mut self.decode_delay[..to - from];
        if !table.tx_time.fill(from, times, double::nanos)
            || !table.decode_delay.fill(from, delays, double::delay_nanos)
            || !are_slots(self.previous, times, delays)
        {
            return false;
        }
        if let Some(counts) = table.counts
            && !counts.append(from, to, attempts)
        {
            return false;
        }
        slots.extend(
            times
                .iter()
                .zip(delays.iter())
                .map(|(&time, &delay)| checked_slot(time, delay)),
        );
        self.previous = times[times.len() - 1];
        true
    }
}

/// Whether no value is negative as an int64, no time goes back, and no sum leaves the range.
///
/// Each of them would be a word with its highest bit set: a difference of two times that are not
/// negative has it where the second is earlier, a sum of two where it is past 2^63 − 1.
fn are_slots(previous: u64, times: &[u64], delays: &[u64]) -> bool {
    let mut bad = times
        .first()
        .map_or(0, |first| first.wrapping_sub(previous));
    for (time, next) in times.iter().zip(times.get(1..).unwrap_or_default()) {
        bad |= next.wrapping_sub(*time);
    }
    for (time, delay) in times.iter().zip(delays) {
        bad |= time | delay | time.wrapping_add(*delay);
    }
    bad >> 63 == 0
}

/// The slot of two values that [`are_slots`] let pass.
///
/// They have no highest bit; taking it away says so to the compiler, which then drops the checks.
fn checked_slot(time: u64, delay: u64) -> Slot {
    let time = Time::from_nanos(time & MAX_NANOS).unwrap_or(Time::MAX);
    let delay = Span::from_nanos(delay & MAX_NANOS).unwrap_or(Span::MAX);
    Slot::new(time, delay).unwrap_or(Slot::erased(time))
}
