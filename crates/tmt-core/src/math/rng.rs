//! Counter-based random numbers, which can be drawn in any order: ChaCha8 keyed by seed, stream and index.
//!
//! The stream identifies the use of the numbers, so that two uses never share any. The index is the position in the
//! stream. One kind of process that is used twice in a run, such as a fading link and a fading return path, draws from two
//! lanes of its streams. The first 8 bytes of the key are the seed, little endian; the other 24 are a constant. See docs/simulator.md,
//! Sec. 9.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// Separates the numbers of this project from those of others with the same seed.
const DOMAIN: &[u8; 24] = b"tmt counter-based rng 1\0";

/// Use of random numbers. The discriminants are part of the results for a seed and must never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Stream {
    /// State of a two-state channel, one draw per unit.
    ChannelState = 1,
    /// Erasure of a unit, given the state of the channel.
    ChannelErasure = 2,
    /// Start times of flows.
    FlowStart = 3,
    /// Segments up to the next loss of the fluid model of TCP, one draw per cycle.
    FluidLoss = 4,
    /// The connection that a loss of the fluid model hits, one draw per cycle.
    FluidVictim = 5,
    // 6 and 7 were of a model that is no longer here.
    /// Starts of transfers within a trace, one draw per start.
    TransferStart = 16,
    /// Blocks of a bootstrap over transfers, one draw per block.
    Bootstrap = 17,
    /// State of the return path's two-state channel, one draw per ACK.
    ReturnState = 18,
    /// Loss of an acknowledgement on the return path.
    ReturnErasure = 19,
    /// Loss of a link's feedback, one draw per attempt of a codeword.
    FeedbackErasure = 20,
    /// State of the process that loses feedback, if it has two states.
    FeedbackState = 21,
    /// A fading channel: its first state, then the length of each state, one draw per state.
    Fading = 24,
    /// States of a Markov or semi-Markov channel: 2 k + 1 the state of sojourn k, 2 k + 2 its length. Of the first sojourn, 0 is
    /// the state, 1 the length, and 2 how much of it is left.
    Sojourn = 25,
    /// Start of an outage within its jitter, one draw per outage.
    OutageStart = 26,
    /// States of a radio channel: four draws per sojourn.
    RadioState = 32,
    /// Shadowing of a radio channel, one draw per sample.
    RadioShadowing = 33,
    /// Multipath of a radio channel: angle and phase of each sinusoid of a segment.
    RadioMultipath = 34,
    /// Error of a word on a radio channel, one draw per unit.
    RadioErasure = 35,
    /// A reconfigured link: delay and disturbance of a period, two draws per period.
    Reconfiguration = 40,
    /// A reconfigured link: delay for a time within a period, one draw each.
    ReconfigurationDelay = 41,
    /// A reconfigured link: erasure of a unit while disturbed, one draw per unit.
    ReconfigurationErasure = 42,
    /// Events that are uniform over the period of a grid, one draw per event; lane 0 for steps, 1 for outages.
    GridPhase = 60,
    /// Blocks of a bootstrap over a trace, one draw per block.
    TraceBlock = 61,
    /// Orders of the blocks of a trace in a test against drift, a draw per exchange.
    BlockOrder = 70,
    /// Noise on the channel bits of a code, as many draws as the receiver needs.
    CodingNoise = 80,
    /// Information bits of a code, 64 for each draw.
    CodingData = 81,
    /// Permutations of an ideal interleaver, a draw per exchange.
    CodingOrder = 82,
    /// Packets that are lost of a number that is only known per interval, one draw per packet.
    SpreadLosses = 56,
}

/// Number of values in [`Draws`], and of bits in the masks made from them.
pub const BATCH: usize = 64;

/// Uniformly distributed numbers of one stream.
///
/// ```
/// use tmt_core::math::rng::{Stream, Uniform};
///
/// let mut numbers = Uniform::new(7, Stream::FlowStart);
/// let (first, thousandth) = (numbers.at(0), numbers.at(1000));
/// // A number depends on seed, stream and index alone.
/// assert_eq!(Uniform::new(7, Stream::FlowStart).at(1000).to_bits(), thousandth.to_bits());
/// assert!((0.0..1.0).contains(&first));
/// ```
#[derive(Debug, Clone)]
pub struct Uniform {
    rng: ChaCha8Rng,
    /// Index of the number that the generator returns next without a seek.
    next: u64,
}

impl Uniform {
    /// The numbers of `stream` under `seed`, positioned at index 0.
    #[must_use]
    pub fn new(seed: u64, stream: Stream) -> Self {
        Self::on_lane(seed, stream, 0)
    }

    /// The numbers of `stream` on `lane` under `seed`, positioned at index 0. Lanes share no numbers; lane 0 is that of
    /// [`Uniform::new`].
    #[must_use]
    pub fn on_lane(seed: u64, stream: Stream, lane: u32) -> Self {
        Self::on_stream(seed, u64::from(lane) << 32 | stream as u64)
    }

    fn on_stream(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..].copy_from_slice(DOMAIN);
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(stream);
        Self { rng, next: 0 }
    }

    /// The numbers of the stream that a registry entry calls `name`, such as a queue that drops at random, on `lane` under
    /// `seed`. They are apart from those of every [`Stream`].
    #[must_use]
    pub fn named(seed: u64, name: &str, lane: u32) -> Self {
        // FNV-1a, 64 bits, over the name and the lane. The upper bit is that of no lane of a stream.
        let bytes = name.bytes().chain([0]).chain(lane.to_le_bytes());
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self::on_stream(seed, 1 << 63 | hash)
    }

    /// The number at `index`, uniform on [0, 1) in steps of 2^-53, independent of what was drawn before.
    pub fn at(&mut self, index: u64) -> f64 {
        self.seek(index);
        self.next = index.wrapping_add(1);
        unit_interval(self.rng.next_u64())
    }

    /// Draws the numbers at `from` … `from` + 63. They equal those of [`Uniform::at`] and are drawn several times as fast.
    pub fn draw(&mut self, from: u64, draws: &mut Draws) {
        self.seek(from);
        self.next = from.wrapping_add(BATCH as u64);
        self.rng.fill_bytes(&mut draws.0);
    }

    fn seek(&mut self, index: u64) {
        if index != self.next {
            // Two 32-bit words per number.
            self.rng.set_word_pos(u128::from(index) * 2);
        }
    }
}

/// 64 consecutive numbers of a stream, as the generator returns them.
#[derive(Debug, Clone)]
pub struct Draws([u8; 8 * BATCH]);

impl Draws {
    /// Mask of the numbers below `limit`: bit i is that of the number at `from` + i.
    #[must_use]
    pub fn below(&self, limit: Limit) -> u64 {
        match limit {
            Limit::Never => 0,
            Limit::Always => u64::MAX,
            Limit::Below(limit) => {
                let (numbers, _) = self.0.as_chunks::<8>();
                // In reverse order, so that the carry of a comparison is shifted straight into the mask.
                numbers.iter().rev().fold(0, |mask, number| {
                    mask << 1 | u64::from(u64::from_le_bytes(*number) < limit)
                })
            }
        }
    }

    /// The number at `from` + `at`, as [`Uniform::at`] returns it; 1 if `at` is 64 or more.
    #[must_use]
    pub fn number(&self, at: usize) -> f64 {
        let (numbers, _) = self.0.as_chunks::<8>();
        numbers
            .get(at)
            .map_or(1.0, |number| unit_interval(u64::from_le_bytes(*number)))
    }

    /// The random bytes that the numbers are made of, each bit a fair one.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 8 * BATCH] {
        &self.0
    }

    /// All numbers, in order.
    pub fn numbers(&self) -> impl Iterator<Item = f64> {
        let (numbers, _) = self.0.as_chunks::<8>();
        numbers
            .iter()
            .map(|number| unit_interval(u64::from_le_bytes(*number)))
    }
}

impl Default for Draws {
    /// A buffer into which nothing has been drawn yet.
    fn default() -> Self {
        Self([0; 8 * BATCH])
    }
}

/// A probability as the integer with which draws are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// No number of [0, 1) is below it: a probability of 0.
    Never,
    /// Raw 64-bit values below this one have the outcome. Its lower 11 bits are zero.
    Below(u64),
    /// Every number of [0, 1) is below it: a probability of 1.
    Always,
}

impl Limit {
    /// The limit whose comparison has the result of `number < p` for each number of [`Uniform::at`].
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an integer from 1 to 2^53 − 1"
    )]
    pub fn new(p: f64) -> Self {
        if p >= 1.0 {
            Self::Always
        } else if p > 0.0 {
            // A number is k · 2^-53, so it is below p if and only if k is below p · 2^53 rounded up;
            // the product is exact, since only its exponent differs from that of p.
            Self::Below(((p * NUMBERS).ceil() as u64) << UNUSED)
        } else {
            Self::Never
        }
    }

    /// Whether the outcome does not depend on a draw.
    #[must_use]
    pub const fn is_certain(self) -> bool {
        !matches!(self, Self::Below(_))
    }
}

/// Number of different values on [0, 1), 2^53.
const NUMBERS: f64 = 9_007_199_254_740_992.0;

/// Lower bits of a draw that are not part of its value.
const UNUSED: u32 = 11;

/// The upper 53 bits of a draw as a number on [0, 1).
#[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
fn unit_interval(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / NUMBERS;
    (bits >> UNUSED) as f64 * STEP
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Probabilities, with the awkward ones often: the ends, their neighbours, multiples of 2^-53.
    fn probability() -> impl Strategy<Value = f64> {
        prop_oneof![
            0.0..=1.0,
            Just(0.0),
            Just(1.0),
            Just(f64::MIN_POSITIVE),
            Just(1.0f64.next_down()),
            (0u64..1 << 53).prop_map(|k| unit_interval(k << UNUSED)),
        ]
    }

    proptest! {
        #[test]
        fn a_batch_holds_the_numbers_drawn_one_by_one(
            seed: u64,
            starts in prop::collection::vec(0u64..1000, 1..4),
            p in probability(),
        ) {
            let mut batches = Uniform::new(seed, Stream::ChannelState);
            let mut draws = Draws::default();
            for from in starts {
                batches.draw(from, &mut draws);
                let mut one_by_one = Uniform::new(seed, Stream::ChannelState);
                let expected = (0..64).fold(0, |mask, bit| {
                    mask | u64::from(one_by_one.at(from + bit) < p) << bit
                });
                prop_assert_eq!(draws.below(Limit::new(p)), expected);
                // Single draws continue after the batch.
                prop_assert_eq!(batches.at(from + 64).to_bits(), one_by_one.at(from + 64).to_bits());
            }
        }

        #[test]
        fn a_limit_compares_as_the_probability_does(
            k in prop_oneof![0u64..20, 0u64..1 << 53, (1u64 << 53) - 20..1 << 53],
            nudge in 0..3,
            near in -2i64..=2,
            unused in 0u64..1 << UNUSED,
        ) {
            // Rounding could misplace only the numbers next to p.
            let number = unit_interval(k << UNUSED);
            let p = match nudge {
                0 => number,
                1 => number.next_up(),
                _ => number.next_down(),
            };
            let bits = k.saturating_add_signed(near).min((1 << 53) - 1) << UNUSED | unused;
            let below = match Limit::new(p) {
                Limit::Never => false,
                Limit::Below(limit) => bits < limit,
                Limit::Always => true,
            };
            prop_assert_eq!(below, unit_interval(bits) < p);
        }
    }

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
            Uniform::on_lane(1, Stream::FlowStart, 1).at(0).to_bits(),
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
