//! Maximum-likelihood decoding of the convolutional code (Viterbi, IEEE Trans. Inf. Theory, 1967).
//!
//! One decoder for two kinds of received values: `f32`, unquantised, and `i8`. A value is positive for a channel bit of 0,
//! negative for 1, and the more certain the farther it is from zero; 0 says nothing. Values ±1 make a hard-decision decoder.
//! Path metrics are sums of received values, which is maximum likelihood on a channel with white Gaussian noise.

use super::convolutional::{OUTPUTS, TAIL, channel_bits, pattern};
use crate::model::conv::Rate;

/// States of the encoder: the last 6 bits, the newest in the lowest place.
const STATES: usize = 64;
const HALF: usize = STATES / 2;

/// Steps after which metrics are reduced. With `i8`, metrics rise by at most 2 · 128 a step, and differ by at most
/// 2 · 6 · 256 between two states, so that `i16` holds them.
const REDUCE_EVERY: usize = 64;

/// A received value of a channel bit.
pub trait Soft: Copy + Default {
    /// Type of path metrics.
    type Metric: Metric;

    /// The value as a metric.
    fn metric(self) -> Self::Metric;
}

/// A path metric: a sum of received values. The path with the largest one is chosen.
pub trait Metric: Copy + PartialOrd + Default {
    /// The first metric of states in which no frame starts: below what 6 steps can make up for.
    const BEHIND: Self;
    /// 1.
    const ONE: Self;

    /// The sum.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// The difference.
    #[must_use]
    fn minus(self, other: Self) -> Self;

    /// The product.
    #[must_use]
    fn times(self, other: Self) -> Self;

    /// The larger one.
    #[must_use]
    fn larger(self, other: Self) -> Self;

    /// Whether this one is larger, as a number that [`Metric::decision`] reads. It is as wide as a metric, so that a loop
    /// over metrics becomes vector instructions.
    #[must_use]
    fn exceeds(self, other: Self) -> Self;

    /// 1 for yes, 0 for no.
    #[must_use]
    fn decision(self) -> u8;

    /// Metrics after a step with the received values of both channel bits. `decisions` gets those of even states, then those
    /// of odd ones.
    #[must_use]
    fn advance(
        metrics: &[Self; STATES],
        signs: &[[Self; HALF]; 2],
        received: [Self; 2],
        decisions: &mut [u8; STATES],
    ) -> [Self; STATES];
}

impl Metric for i16 {
    const BEHIND: Self = -4000;
    const ONE: Self = 1;

    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline]
    fn minus(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    #[inline]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    #[inline]
    fn larger(self, other: Self) -> Self {
        self.max(other)
    }

    #[inline]
    fn exceeds(self, other: Self) -> Self {
        Self::from(self > other)
    }

    #[inline]
    fn decision(self) -> u8 {
        self.to_le_bytes()[0]
    }

    #[inline]
    fn advance(
        metrics: &[Self; STATES],
        signs: &[[Self; HALF]; 2],
        received: [Self; 2],
        decisions: &mut [u8; STATES],
    ) -> [Self; STATES] {
        advance::<Self, 8>(metrics, signs, received, decisions)
    }
}

impl Metric for f32 {
    const BEHIND: Self = -1e6;
    const ONE: Self = 1.0;

    #[inline]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline]
    fn minus(self, other: Self) -> Self {
        self - other
    }

    #[inline]
    fn times(self, other: Self) -> Self {
        self * other
    }

    #[inline]
    fn larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    #[inline]
    fn exceeds(self, other: Self) -> Self {
        Self::from_bits(u32::from(self > other))
    }

    #[inline]
    fn decision(self) -> u8 {
        self.to_bits().to_le_bytes()[0]
    }

    #[inline]
    fn advance(
        metrics: &[Self; STATES],
        signs: &[[Self; HALF]; 2],
        received: [Self; 2],
        decisions: &mut [u8; STATES],
    ) -> [Self; STATES] {
        advance::<Self, 32>(metrics, signs, received, decisions)
    }
}

impl Soft for i8 {
    type Metric = i16;

    #[inline]
    fn metric(self) -> i16 {
        i16::from(self)
    }
}

impl Soft for f32 {
    type Metric = f32;

    #[inline]
    fn metric(self) -> f32 {
        self
    }
}

/// A decoder with its memory, for one kind of received values.
#[derive(Debug, Clone, Default)]
pub struct Viterbi<S: Soft> {
    /// Received values of each step, 0 where none was sent.
    steps: Vec<[S; 2]>,
    /// For each step and state after it, whether the path comes from the upper half of the states.
    decisions: Vec<[u8; STATES]>,
}

impl<S: Soft> Viterbi<S> {
    /// A decoder.
    #[must_use]
    pub fn new() -> Self {
        Self {
            steps: Vec::new(),
            decisions: Vec::new(),
        }
    }

    /// Decodes a frame of `bits` information bits from its received values, one for each channel bit. Appends the decoded bits
    /// to `information`, highest bit of a byte first, the last byte filled up with zeros.
    ///
    /// # Panics
    /// `received` has another number of values than [`channel_bits`] of the frame.
    pub fn decode(&mut self, rate: Rate, bits: usize, received: &[S], information: &mut Vec<u8>) {
        assert_eq!(
            received.len(),
            channel_bits(rate, bits),
            "received values of a frame of {bits} bits"
        );
        self.unpuncture(rate, bits + TAIL, received);
        self.forward();
        self.back(bits, information);
    }

    /// Puts zeros where the encoder has left bits out.
    fn unpuncture(&mut self, rate: Rate, steps: usize, received: &[S]) {
        self.steps.clear();
        if rate == Rate::Half {
            self.steps.extend_from_slice(received.as_chunks().0);
            return;
        }
        let mut received = received.iter().copied();
        let mut value = |is_sent: &bool| {
            let value = if *is_sent { received.next() } else { None };
            value.unwrap_or_default()
        };
        let pattern = pattern(rate).iter().cycle().take(steps);
        self.steps
            .extend(pattern.map(|[first, second]| [value(first), value(second)]));
    }

    /// Finds the best path into each state, step by step.
    fn forward(&mut self) {
        let signs = signs::<S::Metric>();
        let mut metrics = [S::Metric::BEHIND; STATES];
        metrics[0] = S::Metric::default();
        self.decisions.resize(self.steps.len(), [0; STATES]);
        let blocks = self.steps.chunks(REDUCE_EVERY);
        for (steps, decisions) in blocks.zip(self.decisions.chunks_mut(REDUCE_EVERY)) {
            for (step, decisions) in steps.iter().zip(decisions) {
                metrics = S::Metric::advance(&metrics, &signs, step.map(S::metric), decisions);
            }
            let least = metrics[0];
            metrics = metrics.map(|metric| metric.minus(least));
        }
    }

    /// Follows the best path back from the last state, which is that of the tail, and appends its bits.
    fn back(&self, bits: usize, information: &mut Vec<u8>) {
        let start = information.len();
        information.resize(start + bits.div_ceil(8), 0);
        let information = &mut information[start..];
        let mut state = 0;
        for (at, decisions) in self.decisions.iter().enumerate().rev() {
            if at < bits && state & 1 == 1 {
                information[at / 8] |= 0x80 >> (at % 8);
            }
            let from_upper = decisions[(state & 1) * HALF + state / 2];
            state = state / 2 + usize::from(from_upper) * HALF;
        }
    }
}

/// Signs of the two received values in the metric of a branch with information bit 0 from each lower state: 1 for a channel
/// bit of 0, else −1.
///
/// Both generators end and begin with a tap. So bit 1 has the opposite signs, as have branches from the state 32 above.
fn signs<M: Metric>() -> [[M; HALF]; 2] {
    [0, 1].map(|generator| {
        std::array::from_fn(|state| match OUTPUTS[2 * state][generator] {
            0 => M::ONE,
            _ => M::default().minus(M::ONE),
        })
    })
}

/// Metrics after a step. `decisions` gets those of even states, then those of odd ones.
#[inline]
fn advance<M: Metric, const LANES: usize>(
    metrics: &[M; STATES],
    signs: &[[M; HALF]; 2],
    [first, second]: [M; 2],
    decisions: &mut [u8; STATES],
) -> [M; STATES] {
    // Short loops over metrics of one width, which the vectoriser turns into instructions. Eight lanes of `i16` stay in
    // registers from the sums to the order of the next step.
    let mut after = [M::default(); STATES];
    for (part, after) in after.chunks_exact_mut(2 * LANES).enumerate() {
        let start = part * LANES;
        let (mut best, mut taken) = ([[M::default(); LANES]; 2], [[M::default(); LANES]; 2]);
        for lane in 0..LANES {
            let at = start + lane;
            let branch = signs[0][at].times(first).plus(signs[1][at].times(second));
            let (lower, upper) = (metrics[at], metrics[at + HALF]);
            let (lower_0, lower_1) = (lower.plus(branch), lower.minus(branch));
            let (upper_0, upper_1) = (upper.minus(branch), upper.plus(branch));
            best[0][lane] = lower_0.larger(upper_0);
            taken[0][lane] = upper_0.exceeds(lower_0);
            best[1][lane] = lower_1.larger(upper_1);
            taken[1][lane] = upper_1.exceeds(lower_1);
        }
        for lane in 0..LANES {
            decisions[start + lane] = taken[0][lane].decision();
            decisions[HALF + start + lane] = taken[1][lane].decision();
        }
        for lane in 0..LANES {
            after[2 * lane] = best[0][lane];
            after[2 * lane + 1] = best[1][lane];
        }
    }
    after
}

#[cfg(test)]
mod tests;
