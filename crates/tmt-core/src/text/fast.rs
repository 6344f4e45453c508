//! The usual rows, a word at a time: `digits[.digits]`, a separator, the same again, a line end.
//!
//! Neighbours are alike, and that is where the speed comes from: they share their whole seconds,
//! often their delay, and nearly always the lengths of their fields. So what a row looked like is
//! kept as bytes, and the next one is compared before it is parsed. Whatever is not plain (blanks,
//! signs, exponents, more decimals than nanoseconds have, a row out of order) is left to the slow
//! parser, which also finds the words for it.

use super::field::{POWERS_OF_TEN, Unit};
use super::layout::{Layout, Separator};
use super::parser::LONGEST_LINE;
use super::rows::Rows;
use super::swar::{Digits, mask, word};
use crate::slot::Slot;
use crate::units::{Span, Time};

/// Bytes looked at as one: more than the words that are read of a row in this module's loop.
const WINDOW: usize = 64;

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

/// The whole part of the time before, its point included, and how many decimals were behind it.
#[derive(Debug, Clone, Copy)]
struct WholePart {
    pattern: Pattern,
    nanos: u64,
    /// Decimals, 1 to 9.
    decimals: usize,
    /// Mask of the first eight of them, the shift that moves them to a word's end, and their unit in ns.
    mask: u64,
    shift: u32,
    unit: u64,
}

/// All of a row behind its first separator, the line end included.
#[derive(Debug, Clone, Copy)]
struct Ending {
    pattern: Pattern,
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
    whole: WholePart,
    /// The last ending that was a delay, and the last that was an erasure.
    delivered: Ending,
    erased: Ending,
}

impl Fast {
    /// `None` where the layout is not time, delay and then perhaps attempts.
    pub(super) fn new(layout: Layout, unit: Unit, attempts_at: Option<usize>) -> Option<Self> {
        let usual = layout.tx_time == 0
            && layout.decode_delay == 1
            && attempts_at.is_none_or(|field| field == 2);
        usual.then_some(Self {
            separator: match layout.separator {
                Separator::Byte(separator) => separator,
                Separator::Spaces => b' ',
            },
            decimals: unit.decimals(),
            attempts: attempts_at.is_some(),
            whole: WholePart {
                pattern: Pattern::NEVER,
                nanos: 0,
                decimals: 1,
                mask: 0,
                shift: 0,
                unit: 0,
            },
            delivered: Ending::NEVER,
            erased: Ending::NEVER,
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
        let (time, offset) = match self.time_like_before(window) {
            Some(found) => found,
            None => self.time(text, at)?,
        };
        let ending = load_two(window, offset);
        let (delay, attempts, length) = if self.delivered.pattern.begins(ending) {
            let like = &self.delivered;
            (like.delay, like.attempts, like.pattern.length)
        } else if self.erased.pattern.begins(ending) {
            let like = &self.erased;
            (like.delay, like.attempts, like.pattern.length)
        } else {
            self.ending(text, at, offset, ending)?
        };
        let slot = Slot::new(Time::from_nanos(time)?, Span::from_nanos(delay)?)?;
        Some((slot, attempts, offset + length))
    }

    /// A time that differs from the one before behind the point only, and where the delay begins.
    #[inline]
    fn time_like_before(&self, window: &[u8; WINDOW]) -> Option<(u64, usize)> {
        let like = &self.whole;
        if !like.pattern.begins(load_two(window, 0)) {
            return None;
        }
        let from = like.pattern.length & 31;
        let digits = Digits::of(load(window, from));
        if like.decimals == 9 {
            let last = window[from + 8] ^ b'0';
            if !digits.fill(u64::MAX) || last > 9 || window[from + 9] != self.separator {
                return None;
            }
            let fraction = digits.value() * 10 + u64::from(last);
            Some((like.nanos + fraction, from + 10))
        } else {
            let decimals = like.decimals & 15;
            if !digits.fill(like.mask) || window[from + decimals] != self.separator {
                return None;
            }
            let fraction = digits.moved(like.shift).value() * like.unit;
            Some((like.nanos + fraction, from + decimals + 1))
        }
    }

    /// Any plain time, and where the delay begins.
    fn time(&mut self, text: &[u8], at: usize) -> Option<(u64, usize)> {
        let number = self.number(text, at)?;
        let behind = number.length + 1;
        if text.get(at + number.length) != Some(&self.separator) {
            return None;
        }
        let length = number.whole + 1;
        if number.decimals > 0 && length <= Pattern::LONGEST {
            let like = &mut self.whole;
            like.pattern
                .keep([word(text, at)?, word(text, at + 8)?], length);
            like.nanos = number.nanos - number.fraction;
            like.decimals = number.decimals;
            like.mask = mask(number.decimals);
            like.shift = mask(number.decimals).leading_zeros();
            like.unit = POWERS_OF_TEN[self.decimals - number.decimals];
        }
        Some((number.nanos, behind))
    }

    /// Any plain rest of a row that begins at `at`, `offset` behind it: delay, attempts, length.
    fn ending(
        &mut self,
        text: &[u8],
        at: usize,
        offset: usize,
        bytes: [u64; 2],
    ) -> Option<(u64, u32, usize)> {
        let from = at + offset;
        let number = self.number(text, from)?;
        let (attempts, length) = self.line_end(text, from, number.length)?;
        if offset + length > LONGEST_LINE {
            return None;
        }
        if length <= Pattern::LONGEST {
            let like = if number.nanos == 0 {
                &mut self.erased
            } else {
                &mut self.delivered
            };
            like.pattern.keep(bytes, length);
            like.delay = number.nanos;
            like.attempts = attempts;
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

/// The eight bytes at `at`, at most 31: the bound is what spares a check.
#[inline]
fn load(window: &[u8; WINDOW], at: usize) -> u64 {
    load_two(window, at)[0]
}

/// The sixteen bytes at `at`, at most 31.
#[inline]
fn load_two(window: &[u8; WINDOW], at: usize) -> [u64; 2] {
    let at = at & 31;
    [at, at + 8].map(|at| {
        window[at..]
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    })
}
