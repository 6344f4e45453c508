//! Reed–Solomon blocks after a Viterbi decoder without an interleaver (Celandroni 2006, Sec. III.B; docs/models.md,
//! Sec. 4.3).

use crate::math::num::floor_u64;
use crate::types::to_f64;

/// Constraint length K of the convolutional codes, bits.
const CONSTRAINT: usize = 7;

/// Largest number of symbols of a block without an interleaver: the time grows with its square.
pub const LONGEST: u64 = 1025;

/// Bits in bursts: runs of wrong bits and gaps of right ones in turn, both geometric.
///
/// All bits of a burst are wrong, as in the appendix of the paper. A gap has at least `least` bits, because a decoder
/// that has left the right path needs K − 1 right bits to be back on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bursts {
    /// Probability that a burst goes on: 1 − 1/ebL.
    on: f64,
    /// Probability that a gap of `least` bits or more ends with the next bit, `p_d`.
    end: f64,
    /// Shortest gap, bits; 1 or more.
    least: usize,
}

/// A share of each state: wrong, then right for 1, 2, … bits; the last state has all longer gaps, too.
type Law = Vec<f64>;

impl Bursts {
    /// Bursts after a Viterbi decoder with the bit error rate `ber`, in (0, 1), and bursts of `length` = ebL bits, 1 or
    /// more.
    ///
    /// Bursts begin every ebL/p bits on average (C8), so that gaps have (1 − p) ebL/p bits on average, K − 1 or more (C9).
    pub(super) fn decoded(ber: f64, length: f64) -> Self {
        Self::with_gap(ber, length, CONSTRAINT - 1)
    }

    fn with_gap(ber: f64, length: f64, least: usize) -> Self {
        let length = length.max(1.0);
        let mean = (1.0 - ber) * length / ber;
        // p_d = 1/(mean − K + 2); at most 1 where gaps of `least` bits are already too long for `ber`.
        let end = 1.0 / (mean - to_f64(least as u64) + 1.0).max(1.0);
        Self {
            on: 1.0 - 1.0 / length,
            end,
            least,
        }
    }

    /// The shares of all states at any time.
    fn stationary(&self) -> Law {
        let length = 1.0 / (1.0 - self.on);
        let mut law = vec![1.0; self.least + 1];
        law[0] = length;
        // A gap is in its last state until it ends.
        law[self.least] = 1.0 / self.end;
        let all: f64 = law.iter().sum();
        law.iter().map(|share| share / all).collect()
    }

    /// A bit further. The result is the shares of a right bit by state, and that of a wrong one.
    fn bit(&self, law: &[f64]) -> Law {
        let last = self.least;
        let mut next = vec![0.0; last + 1];
        next[0] = law[0] * self.on + law[last] * self.end;
        next[1] = law[0] * (1.0 - self.on);
        next[2..=last].copy_from_slice(&law[1..last]);
        next[last] += law[last] * (1.0 - self.end);
        next
    }

    /// A symbol of `m` bits further from each state: the shares of the states after a right and after a wrong symbol.
    fn symbol(&self, m: u64) -> Vec<(Law, Law)> {
        let states = 0..=self.least;
        let from = |state: usize| {
            let mut right = vec![0.0; self.least + 1];
            let mut wrong = right.clone();
            right[state] = 1.0;
            for _ in 0..m {
                wrong = self.bit(&wrong);
                right = self.bit(&right);
                // One wrong bit makes a wrong symbol. No difference is taken, so that small shares keep their digits.
                wrong[0] += std::mem::take(&mut right[0]);
            }
            (right, wrong)
        };
        states.map(from).collect()
    }

    /// Probability of more than `most` wrong symbols of `m` bits in a block of `n` symbols that begins at any time.
    pub(super) fn tail(&self, n: u64, m: f64, most: u64) -> f64 {
        if most >= n {
            return 0.0;
        }
        let steps = self.symbol(floor_u64(m));
        // Shares by number of wrong symbols so far, up to `most`.
        let mut counts: Vec<Law> = vec![self.stationary()];
        let mut failed = 0.0;
        for _ in 0..n {
            let is_full = counts.len() as u64 > most;
            let mut before = vec![0.0; self.least + 1];
            for law in &mut counts {
                let mut next = std::mem::replace(&mut before, vec![0.0; self.least + 1]);
                for (share, (right, wrong)) in law.iter().zip(&steps) {
                    for (state, (right, wrong)) in right.iter().zip(wrong).enumerate() {
                        next[state] += share * right;
                        before[state] += share * wrong;
                    }
                }
                *law = next;
            }
            // `before` now has the blocks with one more wrong symbol than any had.
            if is_full {
                failed += before.iter().sum::<f64>();
            } else {
                counts.push(before);
            }
        }
        failed.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rng::Uniform;
    use crate::model::tail::binomial_tail;

    #[test]
    fn bursts_that_are_independent_bits_give_the_binomial_law() {
        // Runs and gaps of independent bits are geometric from one bit on: ebL = 1/(1 − p), gaps of 1/p.
        for ber in [1e-6, 1e-3, 0.05, 0.4] {
            for (n, m, most) in [(255, 8.0, 16), (63, 6.0, 0), (40, 1.0, 7), (9, 3.0, 8)] {
                let found = Bursts::with_gap(ber, 1.0 / (1.0 - ber), 1).tail(n, m, most);
                let symbol = crate::math::num::at_least_one(ber, m);
                let exact = binomial_tail(n, symbol, most);
                assert!(
                    (found - exact).abs() <= 1e-10 * exact,
                    "{ber} {n}: {found} {exact}"
                );
            }
        }
    }

    #[test]
    fn the_shares_of_states_are_stationary_and_give_the_bit_error_rate() {
        for (ber, length) in [(1e-5, 4.0), (1e-2, 7.5), (0.3, 16.0)] {
            let bursts = Bursts::decoded(ber, length);
            let law = bursts.stationary();
            for (before, after) in law.iter().zip(bursts.bit(&law)) {
                assert!((before - after).abs() < 1e-14);
            }
            assert!((law[0] / ber - 1.0).abs() < 1e-12);
        }
    }

    /// Draws numbers that are geometric from 1 on.
    struct Geometric(Uniform, u64);

    impl Geometric {
        fn draw(&mut self, mean: f64) -> u64 {
            let mut count = 0;
            loop {
                (self.1, count) = (self.1 + 1, count + 1);
                if self.0.at(self.1) < 1.0 / mean {
                    return count;
                }
            }
        }
    }

    #[test]
    fn blocks_drawn_bit_by_bit_fail_as_often() {
        let (ber, length) = (0.03, 6.0);
        let mut drawn = Geometric(Uniform::named(7, "bursts", 0), 0);
        let gap = (1.0 - ber) * length / ber;
        // Bits of the paper's generator, with C8 and C9.
        let mut bits: Vec<bool> = Vec::new();
        while bits.len() < 31 * 5 * 200_000 {
            let wrong = drawn.draw(length);
            bits.extend((0..wrong).map(|_| true));
            let right = 5 + drawn.draw(gap - 5.0);
            bits.extend((0..right).map(|_| false));
        }
        let blocks = bits.chunks_exact(31 * 5);
        let all = to_f64(blocks.len() as u64);
        let failed = blocks.filter(|block| {
            let symbols = block.chunks(5).filter(|symbol| symbol.contains(&true));
            symbols.count() > 3
        });
        let share = to_f64(failed.count() as u64) / all;
        let exact = Bursts::decoded(ber, length).tail(31, 5.0, 3);
        // Four standard errors; neighbouring blocks are hardly correlated.
        let slack = 4.0 * (exact * (1.0 - exact) / all).sqrt();
        assert!((share - exact).abs() < slack, "{share} {exact} {slack}");
    }
}
