//! The innermost loop of the fast path: rows that differ from the row before in the last digits of their time alone.
//!
//! Nothing is guessed. A row is taken only if each of its bytes is that of the row before or one of the last digits of the
//! time, and only these digits are converted.

use super::pattern::Pattern;
use super::swar::{Digits, mask};
use crate::format::unit::POWERS_OF_TEN;
use crate::types::{Slot, Span, Time};

/// Slots taken at a time.
pub(super) const BLOCK: usize = 64;

/// Bytes examined at a time: sixteen from the end of the first digits, which is at most byte 24.
pub(super) const WINDOW: usize = 64;

/// Digits at the end of a time that are converted in one word.
const TAIL: usize = 8;

/// The end of a row from the separator after its time on, and the delay that it says.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) pattern: Pattern,
    pub(super) delay: Span,
}

/// The rows that are like a given one: the same bytes up to the last digits of the time, then digits, then one of two ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alike {
    prefix: Pattern,
    /// Value of a time whose last digits are zeros, ns.
    base: u64,
    /// Place of the separator after the time.
    separator: usize,
    /// Shift that moves the digits to the end of a word, bits.
    shift: u32,
    /// Value of the last digit, ns.
    unit: u64,
    ends: [End; 2],
}

impl Alike {
    /// Rows like the one that begins with `row`: its time, in ns, has `digits` bytes. The last `run` of them are digits, the last
    /// with a value of `unit` ns.
    ///
    /// `None` if the bytes before are too many for a pattern, or if times like these and their delays may exceed 2^63 − 1 ns.
    pub(super) fn new(
        row: u128,
        time: Time,
        (length, run): (usize, usize),
        unit: u64,
        ends: [End; 2],
    ) -> Option<Self> {
        let tail = run.min(TAIL);
        let (before, range) = (length - tail, unit * POWERS_OF_TEN[tail]);
        if tail == 0 || before > Pattern::LONGEST {
            return None;
        }
        let base = time.as_nanos() - time.as_nanos() % range;
        let latest = Time::from_nanos(base.checked_add(range)?)?;
        for end in &ends {
            latest.checked_add(end.delay)?;
        }
        Some(Self {
            prefix: Pattern::of(row, before),
            base,
            separator: length,
            shift: mask(tail).leading_zeros(),
            unit,
            ends,
        })
    }

    /// Takes rows from the start of `text` into `slots`; none of them may be before `previous`. Returns their number, their
    /// length in bytes, and the time of the last.
    pub(super) fn take(
        &self,
        text: &[u8],
        previous: Time,
        slots: &mut [Slot; BLOCK],
    ) -> (usize, usize, Time) {
        let [received, erased] = &self.ends;
        let (mut rest, mut last, mut taken) = (text, previous.as_nanos(), 0);
        let digits_at = self.prefix.length & 31;
        let is_short = self.prefix.length <= 8;
        let separator = self.separator & 31;
        for place in slots.iter_mut() {
            let Some(window) = rest.first_chunk::<WINDOW>() else {
                break;
            };
            let digits = Digits::of(word(window, digits_at)).shifted(self.shift);
            let begins = if is_short {
                self.prefix.begins_word(word(window, 0))
            } else {
                self.prefix.begins(double_word(window, 0))
            };
            if !begins || !digits.are_digits(u64::MAX) {
                break;
            }
            let end = double_word(window, separator);
            let end = if received.pattern.begins(end) {
                received
            } else if erased.pattern.begins(end) {
                erased
            } else {
                break;
            };
            let nanos = self.base + digits.value() * self.unit;
            let slot = Time::from_nanos(nanos).and_then(|time| Slot::new(time, end.delay));
            let Some(slot) = slot.filter(|_| nanos >= last) else {
                break;
            };
            last = nanos;
            *place = slot;
            taken += 1;
            rest = &rest[(separator + end.pattern.length) & (WINDOW - 1)..];
        }
        let last = Time::from_nanos(last).unwrap_or(previous);
        (taken, text.len() - rest.len(), last)
    }
}

/// The eight bytes at `at`, at most 31.
#[inline]
fn word(window: &[u8; WINDOW], at: usize) -> u64 {
    let bytes = window[at..].first_chunk();
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The sixteen bytes at `at`, at most 31.
#[inline]
fn double_word(window: &[u8; WINDOW], at: usize) -> u128 {
    let bytes = window[at..].first_chunk();
    bytes.map_or(0, |bytes| u128::from_le_bytes(*bytes))
}
