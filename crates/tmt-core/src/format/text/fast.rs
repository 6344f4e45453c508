//! Fast path for common rows, one word at a time: `digits[.digits]`, separator, `digits[.digits]`, line end.
//!
//! Its speed comes from the similarity of consecutive rows: they share their whole seconds, often their delay, and
//! nearly always the lengths of their fields. So the bytes of a row are kept, and the next row is compared with them
//! before it is parsed. Any other row is left to the exact parser, which also makes the error messages: rows with
//! blanks, signs, exponents or more than nine decimals, rows out of order, rows whose fields have other lengths
//! than those before. The layout of the digits is learned from the rows that the exact parser accepts.

use super::LONGEST_LINE;
use super::alike::{self, Alike, End};
use super::layout::Layout;
use super::pattern::Pattern;
use super::swar::{Digits, first_half, mask};
use crate::format::batch::Rows;
use crate::format::columns::{ATTEMPTS, DECODE_DELAY, ERASED, TX_TIME};
use crate::format::unit::{POWERS_OF_TEN, Unit};
use crate::types::{NANOS_PER_SECOND, Slot, Span, Time};

/// Bytes examined at a time. No field ends after byte 63: a time takes at most 28 bytes with its separator, a delay
/// 27, and sixteen bytes are read from there.
const WINDOW: usize = 128;

/// A fixed number of digits, and how they are converted.
#[derive(Debug, Clone, Copy)]
struct DigitRun {
    length: usize,
    /// Mask of the first eight digits, and the shift that moves them to the end of a word, bits.
    mask: u64,
    shift: u32,
    /// Value of the last digit, ns.
    unit: u64,
}

impl DigitRun {
    const fn new(length: usize, unit: u64) -> Self {
        let mask = mask(length);
        Self {
            length,
            mask,
            shift: mask.leading_zeros(),
            unit,
        }
    }
}

/// Layout of a field in the row before.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// Text of the whole part with its point.
    pattern: Pattern,
    /// Value of the whole part, ns.
    nanos: u64,
    /// Digits of the whole part; 0 before the first field and if there are too many.
    whole: DigitRun,
    /// Decimals, at most 9; 0 without a point.
    decimals: DigitRun,
    /// The last whole part that did not match the pattern, ns.
    parsed: u64,
}

impl Shape {
    const UNKNOWN: Self = Self {
        pattern: Pattern::NEVER,
        nanos: 0,
        whole: DigitRun::new(0, 0),
        decimals: DigitRun::new(0, 0),
        parsed: 0,
    };

    /// Learns the layout of `field`, a number in a unit that is 10^`unit` ns.
    fn learn(&mut self, field: &[u8], unit: usize) {
        let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(field);
        let decimals = match &field[whole..] {
            [b'.', rest @ ..] => digits(rest),
            _ => 0,
        };
        let fits = whole <= 16 && whole + unit <= 19 && decimals <= unit;
        self.pattern = Pattern::NEVER;
        self.whole = DigitRun::new(if fits { whole } else { 0 }, POWERS_OF_TEN[unit]);
        self.decimals = DigitRun::new(decimals, POWERS_OF_TEN[unit.saturating_sub(decimals)]);
    }

    /// The number at `at`, ns, and its length, if it has the layout of the row before.
    #[expect(
        clippy::inline_always,
        reason = "in the innermost loop a call costs as much as a field; two callers"
    )]
    #[inline(always)]
    fn find(&mut self, window: &[u8; WINDOW], at: usize) -> Option<(u64, usize)> {
        let text = load(window, at);
        let (nanos, length) = if self.pattern.begins(text) {
            (self.nanos, self.pattern.length)
        } else {
            self.find_whole(window, at, text)?
        };
        let from = at + length;
        let run = &self.decimals;
        let digits = Digits::of(first_half(load(window, from)));
        if run.length == 9 {
            let last = window[(from + 8) & 127] ^ b'0';
            if !digits.are_digits(u64::MAX) || last > 9 {
                return None;
            }
            let fraction = digits.value() * 10 + u64::from(last);
            Some((nanos + fraction, length + 9))
        } else if run.length > 0 {
            if !digits.are_digits(run.mask) {
                return None;
            }
            let fraction = digits.shifted(run.shift).value() * run.unit;
            Some((nanos + fraction, length + run.length))
        } else {
            Some((nanos, length))
        }
    }

    /// Parses a whole part with as many digits as before, and its point.
    #[expect(clippy::inline_always, reason = "as `find`")]
    #[inline(always)]
    fn find_whole(&mut self, window: &[u8; WINDOW], at: usize, text: u128) -> Option<(u64, usize)> {
        let run = &self.whole;
        let digits = Digits::of(first_half(text));
        let value = if run.length > 8 {
            let rest = DigitRun::new(run.length - 8, 0);
            let low = Digits::of(first_half(text >> 64));
            if !digits.are_digits(u64::MAX) || !low.are_digits(rest.mask) {
                return None;
            }
            digits.value() * POWERS_OF_TEN[rest.length & 15] + low.shifted(rest.shift).value()
        } else {
            if run.length == 0 || !digits.are_digits(run.mask) {
                return None;
            }
            digits.shifted(run.shift).value()
        };
        let nanos = value * run.unit;
        if self.decimals.length == 0 {
            return Some((nanos, run.length));
        }
        if window[(at + run.length) & 127] != b'.' {
            return None;
        }
        let length = run.length + 1;
        // Only a repeated value is worth a pattern: milliseconds hardly repeat, seconds nearly always.
        if run.unit == NANOS_PER_SECOND && nanos == self.parsed {
            self.keep_whole(text, length);
        }
        self.parsed = nanos;
        Some((nanos, length))
    }

    /// Keeps the text of the last parsed whole part, with its point.
    #[cold]
    fn keep_whole(&mut self, text: u128, length: usize) {
        if length <= Pattern::LONGEST {
            self.pattern.keep(text, length);
            self.nanos = self.parsed;
        }
    }
}

/// The rest of a row after its first separator.
#[derive(Debug, Clone, Copy)]
struct Ending {
    pattern: Pattern,
    /// Decoding delay, ns.
    delay: u64,
    attempts: u32,
}

impl Ending {
    const NEVER: Self = Self {
        pattern: Pattern::NEVER,
        delay: 0,
        attempts: 0,
    };
}

/// Parser of common rows, with the layout of the rows before.
#[derive(Debug)]
pub(super) struct FastParser {
    separator: u8,
    /// Number of decimals of times and delays down to a nanosecond.
    decimals: [usize; 2],
    attempts: bool,
    time: Shape,
    delay: Shape,
    /// The last ending with a delay, and the last with an erasure.
    delivered: Ending,
    erased: Ending,
    /// The last delay that matched neither, ns.
    last: u64,
    /// Whether the last row ended with one of them.
    ended_as_before: bool,
}

impl FastParser {
    /// `None` unless the layout is time, delay and optionally attempts.
    pub(super) fn new(layout: Layout) -> Option<Self> {
        let at = layout.places.at;
        let attempts = at[ATTEMPTS];
        let usual = at[TX_TIME] == Some(0)
            && at[DECODE_DELAY] == Some(1)
            && at[ERASED].is_none()
            && attempts.is_none_or(|at| at == 2);
        usual.then(|| Self {
            separator: layout.separator,
            decimals: layout.units.map(Unit::decimals),
            attempts: attempts.is_some(),
            time: Shape::UNKNOWN,
            delay: Shape::UNKNOWN,
            delivered: Ending::NEVER,
            erased: Ending::NEVER,
            last: 0,
            ended_as_before: false,
        })
    }

    /// Learns the layout of a row that the exact parser accepted.
    pub(super) fn learn(&mut self, line: &[u8], slot: &Slot) {
        let mut fields = line.splitn(3, |byte| *byte == self.separator);
        self.time
            .learn(fields.next().unwrap_or(&[]), self.decimals[TX_TIME]);
        // An erasure does not show the layout of delays.
        if !slot.is_erased() {
            self.delay
                .learn(fields.next().unwrap_or(&[]), self.decimals[DECODE_DELAY]);
        }
    }

    /// Parses common rows of `text` from `at` on; returns where the first other line begins.
    pub(super) fn run(&mut self, text: &[u8], mut at: usize, rows: &mut Rows) -> usize {
        at = self.run_within(text, at, rows);
        let rest = &text[at..];
        if rest.len() < WINDOW {
            // Words would reach beyond the end of the text. Zeros are no part of a row.
            let mut end = [0; 2 * WINDOW];
            end[..rest.len()].copy_from_slice(rest);
            at += self.run_within(&end, 0, rows);
        }
        at
    }

    /// The same; leaves the last rows, those with less than a window of bytes from their first on.
    fn run_within(&mut self, text: &[u8], mut at: usize, rows: &mut Rows) -> usize {
        let Some(mut previous) = rows.slots.last().map(Slot::tx_time) else {
            return at;
        };
        // The end of a row is known only after it has been parsed. Assuming the length of the row before lets the
        // processor start the next row early.
        let (mut guess, mut kept) = (0, 0);
        loop {
            let length = loop {
                let Some((slot, attempts, length)) = self.parse_row(text, at) else {
                    return at;
                };
                let step = slot.tx_time().since(previous).as_nanos();
                if slot.tx_time() < previous {
                    return at;
                }
                previous = slot.tx_time();
                rows.slots.push(slot);
                if self.attempts {
                    rows.attempts.push(attempts);
                }
                // Two rows with known ends, and times that come in small steps, promise more of them.
                kept = if self.ended_as_before { kept + 1 } else { 0 };
                if kept >= 2
                    && let Some(alike) = self.alike(&text[at..], &slot, step)
                {
                    at += length;
                    (at, previous) = self.run_alike(&alike, text, at, previous, rows);
                    kept = 0;
                    break 0;
                }
                if length != guess {
                    break length;
                }
                at += guess;
            };
            at += length;
            guess = length;
        }
    }

    /// Rows like `slot`, whose row `text` begins with, if a dozen or more may follow at distances of `step`, ns.
    fn alike(&self, text: &[u8], slot: &Slot, step: u64) -> Option<Alike> {
        let (whole, decimals) = (&self.time.whole, &self.time.decimals);
        let (length, run, unit) = match decimals.length {
            0 => (whole.length, whole.length, whole.unit),
            decimals => (
                whole.length + 1 + decimals,
                decimals,
                self.time.decimals.unit,
            ),
        };
        let range = unit.saturating_mul(POWERS_OF_TEN[run.min(8)]);
        if step > range / 16 {
            return None;
        }
        let end = |like: &Ending| {
            let delay = Span::from_nanos(like.delay)?;
            let pattern = like.pattern.after(self.separator);
            Some(End { pattern, delay })
        };
        let ends = [end(&self.delivered)?, end(&self.erased)?];
        let row = u128::from_le_bytes(*text.first_chunk()?);
        Alike::new(row, slot.tx_time(), (length, run), unit, ends)
    }

    /// Parses rows that are `alike` from `at` on, with the last time before them; returns where they end, and their last time.
    fn run_alike(
        &self,
        alike: &Alike,
        text: &[u8],
        mut at: usize,
        mut previous: Time,
        rows: &mut Rows,
    ) -> (usize, Time) {
        let mut slots = [Slot::erased(Time::ZERO); alike::BLOCK];
        loop {
            let (taken, length, last) = alike.take(&text[at..], previous, &mut slots);
            let taken = &slots[..taken];
            rows.slots.extend_from_slice(taken);
            if self.attempts {
                let of = |slot: &Slot| {
                    let like = if slot.is_erased() {
                        &self.erased
                    } else {
                        &self.delivered
                    };
                    like.attempts
                };
                rows.attempts.extend(taken.iter().map(of));
            }
            (at, previous) = (at + length, last);
            if taken.len() < alike::BLOCK {
                return (at, previous);
            }
        }
    }

    /// The row at `at`, its attempts if they are read, and its length.
    #[inline]
    fn parse_row(&mut self, text: &[u8], at: usize) -> Option<(Slot, u32, usize)> {
        let text = text.get(at..)?;
        let window = text.first_chunk()?;
        let (time, length) = self.time.find(window, 0)?;
        if window[length & 127] != self.separator {
            return None;
        }
        let offset = length + 1;
        let ending = load(window, offset);
        for like in [&self.delivered, &self.erased] {
            if like.pattern.begins(ending) {
                let slot = Slot::new(Time::from_nanos(time)?, Span::from_nanos(like.delay)?)?;
                self.ended_as_before = true;
                return Some((slot, like.attempts, offset + like.pattern.length));
            }
        }
        self.ended_as_before = false;
        let is_zero = window[offset & 127] == b'0' && window[(offset + 1) & 127] != b'.';
        let (delay, length) = if is_zero {
            (0, 1)
        } else {
            self.delay.find(window, offset)?
        };
        let (attempts, end) = self.line_end(text, offset + length)?;
        // As for whole parts: only a repeated delay is worth a pattern.
        let length = end - offset;
        if length <= Pattern::LONGEST && (delay == 0 || delay == self.last) {
            let like = if delay == 0 {
                &mut self.erased
            } else {
                &mut self.delivered
            };
            like.pattern.keep(ending, length);
            like.delay = delay;
            like.attempts = attempts;
        }
        self.last = delay;
        let slot = Slot::new(Time::from_nanos(time)?, Span::from_nanos(delay)?)?;
        Some((slot, attempts, end))
    }

    /// The attempts after the delay that ends at `at`, if they are read, and the end of the row.
    #[inline]
    fn line_end(&self, text: &[u8], mut at: usize) -> Option<(u32, usize)> {
        let mut attempts = 0;
        if self.attempts {
            if *text.get(at)? != self.separator {
                return None;
            }
            at += 1;
            while let Some(digit @ b'0'..=b'9') = text.get(at)
                && attempts < 1_000_000
            {
                attempts = 10 * attempts + u32::from(digit - b'0');
                at += 1;
            }
            if attempts == 0 {
                return None;
            }
        }
        let end = match *text.get(at)? {
            b'\n' => at + 1,
            b'\r' if text.get(at + 1) == Some(&b'\n') => at + 2,
            byte if byte == self.separator => at + memchr::memchr(b'\n', &text[at..])? + 1,
            _ => return None,
        };
        (end <= LONGEST_LINE).then_some((attempts, end))
    }
}

/// The sixteen bytes at `at`, at most 63. The mask removes the bounds check.
#[inline]
fn load(window: &[u8; WINDOW], at: usize) -> u128 {
    let bytes = window[at & 63..].first_chunk();
    bytes.map_or(0, |bytes| u128::from_le_bytes(*bytes))
}
