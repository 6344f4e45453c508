//! Bytes that a row is compared with, in one word of 128 bits.

use super::swar::{first_half, mask};

/// Up to sixteen bytes to compare with. The first is the lowest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern {
    text: u128,
    mask: u128,
    pub(super) length: usize,
}

impl Pattern {
    /// A pattern that matches nothing.
    pub(super) const NEVER: Self = Self {
        text: 1,
        mask: 0,
        length: 0,
    };

    /// Length of the longest pattern, bytes.
    pub(super) const LONGEST: usize = 16;

    /// The first `length` bytes of `text`, at most 16.
    pub(super) fn of(text: u128, length: usize) -> Self {
        let mut pattern = Self::NEVER;
        pattern.keep(text, length);
        pattern
    }

    /// Keeps the first `length` bytes of `text`, at most 16.
    #[inline]
    pub(super) fn keep(&mut self, text: u128, length: usize) {
        if length != self.length {
            self.length = length;
            self.mask = u128::from(mask(length)) | u128::from(mask(length.saturating_sub(8))) << 64;
        }
        self.text = text & self.mask;
    }

    /// The same after the byte `first`; one that matches nothing if that is too long.
    pub(super) fn after(&self, first: u8) -> Self {
        if self.length == 0 || self.length == Self::LONGEST {
            return Self::NEVER;
        }
        Self::of(self.text << 8 | u128::from(first), self.length + 1)
    }

    #[inline]
    pub(super) fn begins(&self, text: u128) -> bool {
        text & self.mask == self.text
    }

    /// The same for a pattern of at most eight bytes.
    #[inline]
    pub(super) fn begins_word(&self, text: u64) -> bool {
        text & first_half(self.mask) == first_half(self.text)
    }
}
