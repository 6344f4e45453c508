//! Counts of a measurement.

use super::estimate::Estimate;

/// Wrong bits and the bursts that they form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bits {
    /// Bits that were compared.
    pub bits: u64,
    /// Wrong ones.
    pub wrong: u64,
    /// Bursts of wrong bits.
    pub bursts: u64,
    /// Bits from the first to the last wrong one, summed over bursts.
    pub span: u64,
    /// Squares of the wrong bits per burst, summed.
    pub squares: u64,
}

impl Bits {
    /// Bit error rate. Its interval takes bursts as independent, not bits.
    #[must_use]
    pub fn rate(&self) -> Estimate {
        Estimate::in_groups(self.wrong, self.squares, self.bits)
    }

    /// Bursts per bit.
    #[must_use]
    pub fn burst_rate(&self) -> Estimate {
        Estimate::independent(self.bursts, self.bits)
    }

    /// Compares bytes, highest bit first. Wrong bits with at least `gap` right ones between them are in different bursts; a
    /// burst ends with the bytes.
    pub(super) fn compare(&mut self, sent: &[u8], received: &[u8], gap: usize) {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let (mut first, mut last, mut wrong) = (0, 0, 0_u64);
        let mut end = |first, last, wrong: u64| {
            if wrong > 0 {
                self.bursts += 1;
                self.wrong += wrong;
                self.squares += wrong * wrong;
                self.span += count(last - first) + 1;
            }
        };
        for (place, (sent, received)) in sent.iter().zip(received).enumerate() {
            let mut rest = sent ^ received;
            while rest != 0 {
                let bit = rest.leading_zeros() as usize;
                rest &= !(0x80 >> bit);
                let at = 8 * place + bit;
                if wrong == 0 || at - last > gap {
                    end(first, last, wrong);
                    (first, wrong) = (at, 0);
                }
                wrong += 1;
                last = at;
            }
        }
        end(first, last, wrong);
        self.bits += 8 * count(sent.len());
    }

    /// Adds the counts of other bits.
    pub(super) fn add(&mut self, other: &Self) {
        self.bits += other.bits;
        self.wrong += other.wrong;
        self.bursts += other.bursts;
        self.span += other.span;
        self.squares += other.squares;
    }
}

/// Result of a codeword, a block or a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It arrived as it was sent.
    Decoded,
    /// The decoder, or a checksum, reported an error.
    Failed,
    /// It arrived with errors that nothing reported.
    Undetected,
}

/// Outcomes of codewords, blocks or segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// All of them.
    pub all: u64,
    /// Those with [`Outcome::Failed`].
    pub failures: u64,
    /// Those with [`Outcome::Undetected`].
    pub undetected: u64,
}

impl Tally {
    /// Those with either kind of error.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.failures + self.undetected
    }

    /// Share of those with either kind of error. The interval takes them as independent.
    #[must_use]
    pub fn rate(&self) -> Estimate {
        Estimate::independent(self.failed(), self.all)
    }

    /// Share of those with undetected errors.
    #[must_use]
    pub fn undetected_rate(&self) -> Estimate {
        Estimate::independent(self.undetected, self.all)
    }

    pub(super) fn count(&mut self, outcome: Outcome) {
        self.all += 1;
        self.failures += u64::from(outcome == Outcome::Failed);
        self.undetected += u64::from(outcome == Outcome::Undetected);
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.all += other.all;
        self.failures += other.failures;
        self.undetected += other.undetected;
    }
}

/// Counts of chunks of a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Bits after the inner decoder, or hard decisions without one: information and parity of the outer code. Bursts are at
    /// least K − 1 = 6 right bits apart; without an inner code each wrong bit is one.
    pub decoded: Bits,
    /// Information bits after all decoders. With an outer code the wrong bits of a codeword are one burst.
    pub information: Bits,
    /// Codewords of the outer code; none without one.
    pub codewords: Tally,
    /// Symbols of the outer code as its decoder receives them: bytes of a Reed–Solomon code, whose errors nothing detects, or
    /// blocks of an erasure code, which fail if their checksum does. None without an outer code.
    pub symbols: Tally,
    /// Segments: consecutive bytes of information. One fails with a codeword that it has bytes in. Without an outer code a
    /// wrong segment has failed, as if a perfect checksum found it.
    pub segments: Tally,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.decoded.add(&other.decoded);
        self.information.add(&other.information);
        self.codewords.add(&other.codewords);
        self.symbols.add(&other.symbols);
        self.segments.add(&other.segments);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_as_many_right_bits_apart_as_the_gap_says() {
        // Wrong bits 1, 3, 10 and 16: 1, 6 and 5 right bits between them.
        let received = [0b0101_0000, 0b0010_0000, 0b1000_0000];
        let bursts = |gap| {
            let mut bits = Bits::default();
            bits.compare(&[0; 3], &received, gap);
            assert_eq!((bits.bits, bits.wrong), (24, 4));
            (bits.bursts, bits.span, bits.squares)
        };
        assert_eq!(bursts(6), (2, 3 + 7, 4 + 4));
        assert_eq!(bursts(7), (1, 16, 16));
        assert_eq!(bursts(5), (3, 3 + 1 + 1, 4 + 1 + 1));
        assert_eq!(bursts(0), (4, 4, 4));
        assert_eq!(bursts(usize::MAX), (1, 16, 16));
    }
}
