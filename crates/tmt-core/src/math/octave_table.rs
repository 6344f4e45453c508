//! A function of a positive number as a table whose points divide each octave into equal parts.
//!
//! The place in the table is the exponent and the upper bits of the mantissa, so that looking a value up takes neither a
//! logarithm nor a search. The resolution is relative: a part of 2^-bits of the number.

use super::num::pow;
use crate::types::to_f64;

/// Bits of the mantissa of a double.
const MANTISSA: u32 = 52;

/// A tabulated function, linear between its points and constant outside them.
#[derive(Debug, Clone)]
pub struct OctaveTable {
    /// Bits of the lowest number.
    lowest: u64,
    /// Bits of a number below those that choose the point.
    shift: u32,
    values: Vec<f64>,
}

impl OctaveTable {
    /// The values of `function` from 2^`exponent` over `octaves` octaves, 2^`bits` parts each.
    #[must_use]
    pub fn new(
        exponent: i32,
        octaves: u32,
        bits: u32,
        mut function: impl FnMut(f64) -> f64,
    ) -> Self {
        let lowest = pow(2.0, f64::from(exponent)).to_bits();
        let shift = MANTISSA - bits;
        let number = |point: u64| f64::from_bits(lowest + (point << shift));
        let points = u64::from(octaves) << bits;
        Self {
            lowest,
            shift,
            values: (0..=points).map(|point| function(number(point))).collect(),
        }
    }

    /// The lowest number of the table.
    #[must_use]
    pub fn lowest(&self) -> f64 {
        f64::from_bits(self.lowest)
    }

    /// The value at `x`, at least zero; outside the table, the value at its nearer end.
    #[must_use]
    #[inline]
    pub fn at(&self, x: f64) -> f64 {
        let offset = x.to_bits().saturating_sub(self.lowest);
        let point = usize::try_from(offset >> self.shift).unwrap_or(usize::MAX);
        if let Some([left, right]) = self.values.get(point..).and_then(|rest| rest.first_chunk()) {
            let part = offset & ((1 << self.shift) - 1);
            let scale = f64::from_bits((1023 - u64::from(self.shift)) << MANTISSA);
            left + (right - left) * (to_f64(part) * scale)
        } else {
            self.values.last().copied().unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_function_is_exact_and_the_ends_are_held() {
        let table = OctaveTable::new(-3, 5, 4, |x| 3.0 * x + 1.0);
        for x in [0.125, 0.126, 0.3, 0.999, 1.0, 2.75, 3.999, 4.0] {
            assert!((table.at(x) - (3.0 * x + 1.0)).abs() < 1e-12, "{x}");
        }
        for (x, end) in [(0.0, 1.375), (0.124, 1.375), (4.001, 13.0), (1e300, 13.0)] {
            assert!((table.at(x) - end).abs() < 1e-12, "{x}");
        }
    }
}
