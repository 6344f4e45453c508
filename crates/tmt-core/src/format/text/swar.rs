//! SIMD within a register: eight characters of a number in one 64-bit word.
//!
//! The first character is the lowest byte, on every platform.

/// Eight characters `0`.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// A mask of the lowest `length` bytes of a word; all eight if `length` is 8 or more.
#[inline]
pub(super) const fn mask(length: usize) -> u64 {
    if length >= 8 {
        u64::MAX
    } else {
        (1 << (8 * length)) - 1
    }
}

/// The first eight of sixteen bytes.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the other half is left out"
)]
#[inline]
pub(super) const fn first_half(text: u128) -> u64 {
    text as u64
}

/// Eight characters, each XORed with `0`: a digit becomes its value, 0 to 9.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digits(u64);

impl Digits {
    #[inline]
    pub(super) const fn of(word: u64) -> Self {
        Self(word ^ ZEROS)
    }

    /// The top bit of the first byte that is not a digit is set. The bytes after it have no meaning, because a sum may
    /// carry into them.
    #[inline]
    const fn non_digit_mask(self) -> u64 {
        (self.0.wrapping_add(0x7676_7676_7676_7676) | self.0) & 0x8080_8080_8080_8080
    }

    /// Whether the characters selected by `mask` (see [`mask()`]) are digits.
    #[inline]
    pub(super) const fn are_digits(self, mask: u64) -> bool {
        self.non_digit_mask() & mask == 0
    }

    /// The digits shifted after `bits / 8` leading zeros; those shifted out are dropped.
    #[inline]
    pub(super) const fn shifted(self, bits: u32) -> Self {
        Self(self.0.wrapping_shl(bits))
    }

    /// The value of all eight digits as a decimal number.
    #[inline]
    pub(super) const fn value(self) -> u64 {
        // Neighbours become pairs, pairs become fours, fours become eight digits.
        let pairs = (self.0.wrapping_mul(10 * (1 << 8) + 1) >> 8) & 0x00ff_00ff_00ff_00ff;
        let fours = (pairs.wrapping_mul(100 * (1 << 16) + 1) >> 16) & 0x0000_ffff_0000_ffff;
        fours.wrapping_mul(10_000 * (1 << 32) + 1) >> 32
    }
}

/// The two digits of every number below 100, the first in the lower byte. 128 entries, so that an index of seven bits
/// needs no check.
const PAIRS: [u16; 128] = {
    let mut pairs = [0; 128];
    let mut pair = 0;
    while pair < 100 {
        pairs[pair as usize] = 0x3030 + pair / 10 + ((pair % 10) << 8);
        pair += 1;
    }
    pairs
};

/// The nine digits of `value`, which is below 10^9: the first eight, and the last.
#[inline]
pub(super) fn nine_digits(value: u64) -> ([u8; 8], u8) {
    // value / 10^7 in fixed point with 57 fractional bits, rounded up. Seven digits later the error is still below
    // 10^7 * 10^9 / 2^57, so no digit changes. This takes five multiplications instead of a division per digit.
    const POINT: u32 = 57;
    const SCALE: u64 = (1 << POINT) / 10_000_000 + 1;
    const BEHIND: u64 = (1 << POINT) - 1;
    let mut rest = value.wrapping_mul(SCALE);
    let mut digits = 0;
    for place in [0, 16, 32, 48] {
        digits |= u64::from(PAIRS[(rest >> POINT) as usize]) << place;
        let factor = if place < 48 { 100 } else { 10 };
        rest = (rest & BEHIND).wrapping_mul(factor);
    }
    (digits.to_le_bytes(), b'0' + (rest >> POINT) as u8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_word_has_the_value_of_its_characters(bytes in prop_oneof![
            prop::array::uniform8(any::<u8>()),
            prop::array::uniform8(b'0'..=b'9'),
            prop::array::uniform8(b'-'..=b'<'),
        ]) {
            let digits = Digits::of(u64::from_le_bytes(bytes));
            let count = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let value = |length: usize| bytes[..length].iter().fold(0, |value, byte| 10 * value + u64::from(byte - b'0'));
            for length in 0..=8 {
                prop_assert_eq!(digits.are_digits(mask(length)), length <= count);
            }
            for length in 1..=count {
                let shifted = digits.shifted(mask(length).leading_zeros());
                prop_assert_eq!(shifted.value(), value(length));
            }
        }
    }

    fn nine(value: u64) -> Vec<u8> {
        let (eight, last) = nine_digits(value);
        [&eight[..], &[last]].concat()
    }

    proptest! {
        #[test]
        fn nine_digits_equal_those_of_the_standard_library(value in 0u64..1_000_000_000) {
            prop_assert_eq!(nine(value), format!("{value:09}").into_bytes());
        }
    }

    #[test]
    fn every_digit_may_be_followed_by_nines_and_by_zeros() {
        // Where an error of the fixed-point value would show first.
        for power in 0..=9 {
            let unit = 10u64.pow(power);
            for times in 0..1_000_000_000u64.div_ceil(unit).min(20_000) {
                for value in [
                    times * unit,
                    (times * unit).saturating_sub(1),
                    1_000_000_000 - times * unit,
                ] {
                    if value < 1_000_000_000 {
                        assert_eq!(nine(value), format!("{value:09}").into_bytes());
                    }
                }
            }
        }
    }
}
