//! Random numbers that can be drawn in any order: ChaCha8 keyed by (seed, stream, index).
//!
//! The key is the seed; the stream says what the numbers are for, so that two uses never share
//! any; the index is a counter into the stream. The first 8 bytes of the key are the seed, little
//! endian, the rest the name below.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// What sets this project's numbers apart from those of others with the same seed.
const DOMAIN: &[u8; 24] = b"tmt counter-based rng 1\0";

/// What numbers are drawn for; part of the file format, never to be renumbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Stream {
    /// State of a two-state channel, one draw a unit.
    ChannelState = 1,
    /// Erasure of a unit, given the channel's state.
    ChannelErasure = 2,
    /// Start times of flows.
    FlowStart = 3,
}

/// Uniform numbers of one stream.
#[derive(Debug, Clone)]
pub struct Uniform {
    rng: ChaCha8Rng,
    /// Index of the number that comes next without a seek.
    next: u64,
}

impl Uniform {
    /// The numbers of `stream` under `seed`, from index 0 on.
    #[must_use]
    pub fn new(seed: u64, stream: Stream) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..].copy_from_slice(DOMAIN);
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(stream as u64);
        Self { rng, next: 0 }
    }

    /// The number at `index`, uniform on [0, 1) in steps of 2^-53; the same whatever was drawn before.
    pub fn at(&mut self, index: u64) -> f64 {
        if index != self.next {
            // Two 32-bit words a number.
            self.rng.set_word_pos(u128::from(index) * 2);
        }
        self.next = index + 1;
        unit_interval(self.rng.next_u64())
    }
}

/// The upper 53 bits as a number on [0, 1).
#[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
fn unit_interval(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    (bits >> 11) as f64 * STEP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_gives_the_same_numbers() {
        let mut forward = Uniform::new(7, Stream::ChannelState);
        let numbers: Vec<f64> = (0..100).map(|index| forward.at(index)).collect();
        let mut backward = Uniform::new(7, Stream::ChannelState);
        for index in (0..100u64).rev() {
            let number = numbers[usize::try_from(index).unwrap()];
            assert!(
                (backward.at(index) - number).abs() < f64::EPSILON,
                "{index}"
            );
        }
    }

    #[test]
    fn seeds_and_streams_differ() {
        let first = |seed, stream| Uniform::new(seed, stream).at(0).to_bits();
        let numbers = [
            first(1, Stream::ChannelState),
            first(2, Stream::ChannelState),
            first(1, Stream::ChannelErasure),
            first(1, Stream::FlowStart),
        ];
        for (at, number) in numbers.iter().enumerate() {
            assert!(!numbers[..at].contains(number));
        }
    }

    #[test]
    fn the_mean_is_a_half() {
        let mut uniform = Uniform::new(1, Stream::ChannelErasure);
        let mean = (0..100_000).map(|index| uniform.at(index)).sum::<f64>() / 1e5;
        // Standard error 1/sqrt(12 · 10^5) = 0.0009; five of them.
        assert!((mean - 0.5).abs() < 0.0046, "{mean}");
    }
}
