//! The usual rows, a word at a time: `digits[.digits]`, a separator, the same again, a line end.
//!
//! Neighbours are alike, and that is where the speed comes from: they share their whole seconds,
//! often their delay, and nearly always the lengths of their fields. So what a row looked like is
//! kept as bytes, and the next one is compared before it is parsed. Whatever is not plain (blanks,
//! signs, exponents, more decimals than nanoseconds have, a row out of order) is left to the slow
//! parser, which also finds the words for it.

use super::LONGEST_LINE;
use super::layout::{Layout, Separator};
use super::swar::{Digits, mask, word};
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
struct Run {
    length: usize,
    /// Mask of the first eight digits, and the bits by which they are moved to the end of a word.
    mask: u64,
    shift: u32,
    /// What one of them is worth, ns.
    unit: u64,
}

impl Run {
    fn new(length: usize, unit: u64) -> Self {
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
    /// Its digits, 0 before the first field and where they are too many.
    whole: Run,
    /// Its decimals, at most 9; 0 where there is no point.
    decimals: Run,
    /// The last whole part that was no copy of the one before, ns.
    parsed: u64,
}

impl Shape {
    fn unknown() -> Self {
        Self {
            pattern: Pattern::NEVER,
            nanos: 0,
            whole: Run::new(0, 0),
            decimals: Run::new(0, 0),
            parsed: 0,
        }
    }

    /// Remembers where the digits of a number stood that has so many decimals above a nanosecond.
    fn keep(&mut self, number: &Number, decimals: usize) {
        self.parsed = number.nanos - number.fraction;
        self.pattern = Pattern::NEVER;
        let fits = number.whole <= 16 && number.whole + decimals <= 19;
        self.whole = Run::new(if fits { number.whole } else { 0 }, POWERS_OF_TEN[decimals]);
        self.decimals = Run::new(number.decimals, POWERS_OF_TEN[decimals - number.decimals]);
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
            if !digits.fill(u64::MAX) || last > 9 {
                return None;
            }
            let fraction = digits.value() * 10 + u64::from(last);
            Some((nanos + fraction, length + 9))
        } else if run.length > 0 {
            if !digits.fill(run.mask) {
                return None;
            }
            let fraction = digits.moved(run.shift).value() * run.unit;
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
            let rest = Run::new(run.length - 8, 0);
            let behind = Digits::of(text[1]);
            if !digits.fill(u64::MAX) || !behind.fill(rest.mask) {
                return None;
            }
            digits.value() * POWERS_OF_TEN[rest.length & 15] + behind.moved(rest.shift).value()
        } else {
            if run.length == 0 || !digits.fill(run.mask) {
                return None;
            }
            digits.moved(run.shift).value()
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

/// The end of a row: all behind its first separator, or all behind its delay.
#[derive(Debug, Clone, Copy)]
struct Ending {
    pattern: Pattern,
    /// Nanoseconds, of no meaning behind the delay.
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

/// A plain number as it was found.
#[derive(Debug, Clone, Copy)]
struct Number {
    nanos: u64,
    /// Digits in front of the point.
    whole: usize,
    /// Digits behind it; 0 where there is no point.
    decimals: usize,
    /// The value of the digits behind the point, in nanoseconds.
    fraction: u64,
    length: usize,
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
    /// What was behind the last delay, the line end included.
    tail: Ending,
}

impl Fast {
    /// `None` where the layout is not time, delay and then perhaps attempts.
    pub(super) fn new(layout: Layout, unit: Unit, attempts_at: Option<usize>) -> Option<Self> {
        let usual = layout.tx_time == 0
            && layout.decode_delay == 1
            && attempts_at.is_none_or(|field| field == 2);
        usual.then(|| Self {
            separator: match layout.separator {
                Separator::Byte(separator) => separator,
                Separator::Spaces => b' ',
            },
            decimals: unit.decimals(),
            attempts: attempts_at.is_some(),
            time: Shape::unknown(),
            delay: Shape::unknown(),
            delivered: Ending::NEVER,
            erased: Ending::NEVER,
            last: 0,
            tail: Ending::NEVER,
        })
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
        let window = text.get(at..)?.first_chunk()?;
        let (time, offset) = match self.time.find(window, 0) {
            Some((time, length)) if window[length & 127] == self.separator => (time, length + 1),
            _ => self.any_time(text, at)?,
        };
        let ending = load_two(window, offset);
        let (delay, attempts, length) = if self.delivered.pattern.begins(ending) {
            let like = &self.delivered;
            (like.delay, like.attempts, like.pattern.length)
        } else if self.erased.pattern.begins(ending) {
            let like = &self.erased;
            (like.delay, like.attempts, like.pattern.length)
        } else {
            let (delay, attempts, length) = match self.ending_like_before(window, offset) {
                Some(found) => found,
                None => self.any_ending(text, at, offset)?,
            };
            // As with whole parts: a delay that differs in every row is not worth a note.
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
            (delay, attempts, length)
        };
        let slot = Slot::new(Time::from_nanos(time)?, Span::from_nanos(delay)?)?;
        Some((slot, attempts, offset + length))
    }

    /// A delay with its digits where they were, and behind it the same: delay, attempts, length.
    #[inline]
    fn ending_like_before(
        &mut self,
        window: &[u8; WINDOW],
        at: usize,
    ) -> Option<(u64, u32, usize)> {
        let (delay, length) = self.delay.find(window, at)?;
        let tail = &self.tail;
        tail.pattern
            .begins(load_two(window, at + length))
            .then_some((delay, tail.attempts, length + tail.pattern.length))
    }

    /// Any plain time, and where the delay begins.
    #[inline(never)]
    fn any_time(&mut self, text: &[u8], at: usize) -> Option<(u64, usize)> {
        let number = self.number(text, at)?;
        if text.get(at + number.length) != Some(&self.separator) {
            return None;
        }
        self.time.keep(&number, self.decimals);
        Some((number.nanos, number.length + 1))
    }

    /// Any plain rest of a row that begins `offset` behind `at`: delay, attempts, length.
    #[inline(never)]
    fn any_ending(&mut self, text: &[u8], at: usize, offset: usize) -> Option<(u64, u32, usize)> {
        let from = at + offset;
        let number = self.number(text, from)?;
        let (attempts, length) = self.line_end(text, from, number.length)?;
        if offset + length > LONGEST_LINE {
            return None;
        }
        // Erasures are told by their own pattern; their zero says nothing about delays.
        if number.nanos > 0 {
            self.delay.keep(&number, self.decimals);
        }
        let tail = length - number.length;
        if tail <= Pattern::LONGEST {
            let behind = from + number.length;
            let behind = [word(text, behind)?, word(text, behind + 8)?];
            self.tail.pattern.keep(behind, tail);
            self.tail.attempts = attempts;
        }
        Some((number.nanos, attempts, length))
    }

    /// What is behind a delay of `length` bytes: the attempts, and the length with all the rest.
    #[inline]
    fn line_end(&self, text: &[u8], from: usize, length: usize) -> Option<(u32, usize)> {
        let plain_end = |at: usize| match text.get(at)? {
            b'\n' => Some(at + 1 - from),
            b'\r' if text.get(at + 1) == Some(&b'\n') => Some(at + 2 - from),
            _ => None,
        };
        let at = from + length;
        if *text.get(at)? != self.separator {
            let length = plain_end(at).filter(|_| !self.attempts)?;
            return Some((0, length));
        }
        let mut at = at + 1;
        let mut attempts = 0;
        if self.attempts {
            let digits = Digits::of(word(text, at)?);
            let count = digits.count();
            if count > 7 {
                return None;
            }
            // Seven digits fit; no digit at all is a zero, which is none either.
            attempts = u32::try_from(digits.value_of(count))
                .ok()
                .filter(|&attempts| attempts > 0)?;
            at += count;
            if *text.get(at)? != self.separator {
                return Some((attempts, plain_end(at)?));
            }
        }
        let length = memchr::memchr(b'\n', &text[at..])?;
        Some((attempts, at + length + 1 - from))
    }

    /// The plain number at `at`, in nanoseconds; whatever is behind it is not looked at.
    #[inline]
    fn number(&self, text: &[u8], at: usize) -> Option<Number> {
        let mut value = 0;
        let mut whole = 0;
        let mut digits = Digits::of(word(text, at)?);
        let mut count = digits.count();
        while count == 8 && whole < 16 {
            value = value * 100_000_000 + digits.value();
            whole += 8;
            digits = Digits::of(word(text, at + whole)?);
            count = digits.count();
        }
        // 18 digits fit; more, or none, are not usual.
        if count > 2 && whole == 16 {
            return None;
        }
        value = value * POWERS_OF_TEN[count] + digits.value_of(count);
        whole += count;
        if whole == 0 {
            return None;
        }
        let nanos = value.checked_mul(POWERS_OF_TEN[self.decimals])?;
        if text.get(at + whole) != Some(&b'.') {
            return Some(Number {
                nanos,
                whole,
                decimals: 0,
                fraction: 0,
                length: whole,
            });
        }
        let digits = Digits::of(word(text, at + whole + 1)?);
        let count = digits.count();
        let (decimals, fraction) = if count == 8 {
            let last = text.get(at + whole + 9)? ^ b'0';
            if last > 9 {
                (8, digits.value())
            } else {
                (9, digits.value() * 10 + u64::from(last))
            }
        } else {
            (count, digits.value_of(count))
        };
        if decimals == 0 || decimals > self.decimals {
            return None;
        }
        let fraction = fraction * POWERS_OF_TEN[self.decimals - decimals];
        Some(Number {
            nanos: nanos.checked_add(fraction)?,
            whole,
            decimals,
            fraction,
            length: whole + 1 + decimals,
        })
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
