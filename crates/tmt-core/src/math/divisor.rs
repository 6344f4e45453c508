//! Division of integers by a number that stays the same, without a division.
//!
//! floor(2^64 / d) replaces 1/d. The product with n, in units of 2^64, is below n/d by less than one, so that the quotient
//! is at most one too small, which the remainder shows.

/// A divisor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Divisor {
    divisor: u64,
    /// floor((2^64 − 1) / divisor), at most 1 below 2^64 / divisor.
    inverse: u64,
}

impl Divisor {
    /// Division by `divisor`, or by 1 if that is 0.
    #[must_use]
    pub(crate) const fn new(divisor: u64) -> Self {
        let divisor = if divisor == 0 { 1 } else { divisor };
        Self {
            divisor,
            inverse: u64::MAX / divisor,
        }
    }

    /// Quotient and remainder of `number`.
    #[inline]
    pub(crate) fn divide(self, number: u64) -> (u64, u64) {
        let quotient = high(number, self.inverse);
        let rest = number - quotient * self.divisor;
        if rest >= self.divisor {
            (quotient + 1, rest - self.divisor)
        } else {
            (quotient, rest)
        }
    }
}

/// The upper 64 bits of a product.
#[inline]
const fn high(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Integers of every length in bits, and those at the ends of each length.
    fn magnitude() -> impl Strategy<Value = u64> {
        (0u32..64, any::<u64>(), 0u64..3).prop_map(|(bit, any, kind)| match kind {
            0 => 1 << bit,
            1 => u64::MAX >> bit,
            _ => any >> bit,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn it_divides(divisor in magnitude(), number in magnitude(), times: u64) {
            let divisor = divisor.max(1);
            let found = Divisor::new(divisor);
            let multiple = times % (u64::MAX / divisor).max(1) * divisor;
            for number in [number, multiple, multiple.saturating_sub(1), u64::MAX] {
                prop_assert_eq!(found.divide(number), (number / divisor, number % divisor));
            }
        }
    }
}
