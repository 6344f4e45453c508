//! The usual rows, a word at a time: `digits[.digits]`, a separator, the same again, a line end.
//!
//! Neighbours are alike, and that is where the speed comes from: they share their whole seconds,
//! often their delay, and nearly always the lengths of their fields. So what a row looked like is
//! kept as bytes, and the next one is compared before it is parsed. Whatever is not plain (blanks,
//! signs, exponents, more decimals than nanoseconds have, a row out of order) or has other lengths than
//! the row before is left to the exact parser, which also finds the words for it; from its rows is learned
//! where digits stand.

use super::LONGEST_LINE;
use super::layout::Layout;
use super::swar::{Digits, mask};
use crate::format::batch::Rows;
use crate::format::unit::{POWERS_OF_TEN, Unit};
use crate::types::{NANOS_PER_SECOND, Slot, Span, Time};

/// Bytes looked at as one. No field's end is looked for behind byte 63: a time takes at most 28 bytes
/// and its separator, a delay 27, and sixteen more are read from there.
const WINDOW: usize = 128;

/// Up to sixteen bytes to be found again.
#[derive(Debug, Clone, Copy)]
struct Pattern {
    text: [u64; 2],
    mask: [u64; 2],
    length: usize,
}

impl Pattern {
    /// What nothing is equal to.
    const NEVER: Self = Self {
        text: [1; 2],
        mask: [0; 2],
        length: 0,
    };

    /// Longest pattern, bytes.
    const LONGEST: usize = 16;

    /// Keeps the first `length` bytes of `text`, at most 16.
    #[inline]
    fn keep(&mut self, text: [u64; 2], length: usize) {
        if length != self.length {
            self.length = length;
            self.mask = [mask(length), mask(length.saturating_sub(8))];
        }
        self.text = [text[0] & self.mask[0], text[1] & self.mask[1]];
    }

    #[inline]
    fn begins(&self, text: [u64; 2]) -> bool {
        ((text[0] & self.mask[0]) ^ self.text[0]) | ((text[1] & self.mask[1]) ^ self.text[1]) == 0
    }
}

/// So many digits, and how they are made a number.
#[derive(Debug, Clone, Copy)]
struct DigitRun {
    length: usize,
    /// Mask of the first eight digits, and the bits by which they are moved to the end of a word.
    mask: u64,
    shift: u32,
    /// What one of them is worth, ns.
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

/// What a field looked like in the row before.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// The text of the whole part with its point.
    pattern: Pattern,
    /// Its value, ns.
    nanos: u64,
    /// Its digits, 0 before the first field and where they are too many for this.
    whole: DigitRun,
    /// Its decimals, at most 9; 0 where there is no point.
    decimals: DigitRun,
    /// The last whole part that was no copy of the one before, ns.
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

    /// Remembers where the digits of `field` stand, a number of a unit with so many decimals above a nanosecond.
    fn learn(&mut self, field: &[u8], unit: usize) {
        let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(field);
        let decimals = match &field[whole..] {
            [b'.', behind @ ..] => digits(behind),
            _ => 0,
        };
        let fits = whole <= 16 && whole + unit <= 19 && decimals <= unit;
        self.pattern = Pattern::NEVER;
        self.whole = DigitRun::new(if fits { whole } else { 0 }, POWERS_OF_TEN[unit]);
        self.decimals = DigitRun::new(decimals, POWERS_OF_TEN[unit.saturating_sub(decimals)]);
    }

    /// The number at `at` and its length, if its digits stand where they stood in the row before.
    #[expect(
        clippy::inline_always,
        reason = "two callers in the innermost loop, where a call costs as much as a field"
    )]
    #[inline(always)]
    fn find(&mut self, window: &[u8; WINDOW], at: usize) -> Option<(u64, usize)> {
        let text = load_two(window, at);
        let (nanos, length) = if self.pattern.begins(text) {
            (self.nanos, self.pattern.length)
        } else {
            self.find_whole(window, at, text)?
        };
        let from = at + length;
        let run = &self.decimals;
        let digits = Digits::of(load_two(window, from)[0]);
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

    /// Another whole part with as many digits as before, its point included.
    #[expect(clippy::inline_always, reason = "as `find`")]
    #[inline(always)]
    fn find_whole(
        &mut self,
        window: &[u8; WINDOW],
        at: usize,
        text: [u64; 2],
    ) -> Option<(u64, usize)> {
        let run = &self.whole;
        let digits = Digits::of(text[0]);
        let value = if run.length > 8 {
            let rest = DigitRun::new(run.length - 8, 0);
            let behind = Digits::of(text[1]);
            if !digits.are_digits(u64::MAX) || !behind.are_digits(rest.mask) {
                return None;
            }
            digits.value() * POWERS_OF_TEN[rest.length & 15] + behind.shifted(rest.shift).value()
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
        // Only what came twice will come again: milliseconds never do, and seconds nearly always.
        if run.unit == NANOS_PER_SECOND && nanos == self.parsed {
            self.keep_whole(text, length);
        }
        self.parsed = nanos;
        Some((nanos, length))
    }

    /// Remembers the text of the whole part parsed last, its point included.
    #[cold]
    fn keep_whole(&mut self, text: [u64; 2], length: usize) {
        if length <= Pattern::LONGEST {
            self.pattern.keep(text, length);
            self.nanos = self.parsed;
        }
    }
}

/// The end of a row: all behind its first separator.
#[derive(Debug, Clone, Copy)]
struct Ending {
    pattern: Pattern,
    /// Nanoseconds.
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

/// The parser of usual rows, with what it remembers of the rows before.
#[derive(Debug)]
pub(super) struct Fast {
    separator: u8,
    /// Decimals that are whole nanoseconds.
    decimals: usize,
    attempts: bool,
    time: Shape,
    delay: Shape,
    /// The last ending that was a delay, and the last that was an erasure.
    delivered: Ending,
    erased: Ending,
    /// The last delay that was no copy of either, ns.
    last: u64,
}

impl Fast {
    /// `None` where the layout is not time, delay and then perhaps attempts.
    pub(super) fn new(layout: Layout, unit: Unit) -> Option<Self> {
        let attempts = layout.places[2];
        let usual = layout.places[..2] == [Some(0), Some(1)] && attempts.is_none_or(|at| at == 2);
        usual.then(|| Self {
            separator: layout.separator,
            decimals: unit.decimals(),
            attempts: attempts.is_some(),
            time: Shape::UNKNOWN,
            delay: Shape::UNKNOWN,
            delivered: Ending::NEVER,
            erased: Ending::NEVER,
            last: 0,
        })
    }

    /// Looks how the numbers of a row are written that was parsed otherwise.
    pub(super) fn learn(&mut self, line: &[u8], slot: &Slot) {
        let mut fields = line.splitn(3, |byte| *byte == self.separator);
        self.time.learn(fields.next().unwrap_or(&[]), self.decimals);
        // The zero of an erasure says nothing about delays.
        if !slot.is_erased() {
            self.delay
                .learn(fields.next().unwrap_or(&[]), self.decimals);
        }
    }

    /// Takes usual rows of `text` from `at` on, and says where the first other line begins.
    ///
    /// The last rows of a text are never usual: words would reach beyond its end.
    pub(super) fn run(&mut self, text: &[u8], mut at: usize, rows: &mut Rows) -> usize {
        let Some(mut previous) = rows.slots.last().map(Slot::tx_time) else {
            return at;
        };
        // Where a row ends is known only when it has been parsed, but it can be guessed: with the
        // length as it was, the next row is begun before this one is done.
        let mut guess = 0;
        loop {
            let length = loop {
                let Some((slot, attempts, length)) = self.row(text, at) else {
                    return at;
                };
                if slot.tx_time() < previous {
                    return at;
                }
                previous = slot.tx_time();
                rows.slots.push(slot);
                if self.attempts {
                    rows.attempts.push(attempts);
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

    /// The row at `at`, its attempts where they are read, and its length.
    #[inline]
    fn row(&mut self, text: &[u8], at: usize) -> Option<(Slot, u32, usize)> {
        let text = text.get(at..)?;
        let window = text.first_chunk()?;
        let (time, length) = self.time.find(window, 0)?;
        if window[length & 127] != self.separator {
            return None;
        }
        let offset = length + 1;
        let ending = load_two(window, offset);
        for like in [&self.delivered, &self.erased] {
            if like.pattern.begins(ending) {
                let slot = Slot::new(Time::from_nanos(time)?, Span::from_nanos(like.delay)?)?;
                return Some((slot, like.attempts, offset + like.pattern.length));
            }
        }
        let is_zero = window[offset & 127] == b'0' && window[(offset + 1) & 127] != b'.';
        let (delay, length) = if is_zero {
            (0, 1)
        } else {
            self.delay.find(window, offset)?
        };
        let (attempts, end) = self.line_end(text, offset + length)?;
        // As with whole parts: a delay that differs in every row is not worth a note.
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

    /// The attempts behind the delay that ends at `at`, where they are read, and the end of the row.
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

/// The sixteen bytes at `at`, at most 63: the bound is what spares a check.
#[inline]
fn load_two(window: &[u8; WINDOW], at: usize) -> [u64; 2] {
    let at = at & 63;
    [at, at + 8].map(|at| {
        window[at..]
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    })
}
