//! White Gaussian noise on BPSK.
//!
//! A channel bit of 0 is sent as +1, 1 as −1; noise of variance N0/(2 Ec) is added. Ec is the energy per channel bit. QPSK
//! with Gray labels is two such channels at the same Ec, so that all results hold for it too (docs/models.md, Sec. 4.1).
//!
//! Numbers depend on seed, point and chunk alone. They are drawn as cheaply as the receiver allows: all 32 bits of a word for
//! a quantised value, by a table of the values' probabilities; a number per wrong bit for hard decisions, as the distance from
//! one to the next; and a normal number for each unquantised value.

use crate::math::normal::{Normal, upper_tail};
use crate::math::num::{floor_u64, log1p};
use crate::math::rng::{Draws, Stream, Uniform};
use crate::model::conv::{ratio, uncoded_ber};
use crate::types::Stopped;

/// The largest quantised value. −128 is not used, so that the values are symmetric.
const FULL_SCALE: i8 = 127;

/// Standard deviations of the noise above the amplitude 1 that full scale stands for. Up to an Ec/N0 of 8 dB a step is then at
/// most 1/19 of the noise's deviation, so that rounding adds less than 0.03 % to the noise, and 0.13 % of the values of a bit
/// are cut, those that are most certain.
const HEADROOM: f64 = 3.0;

/// The channel at one ratio of signal to noise.
#[derive(Debug, Clone)]
pub struct Awgn {
    /// Standard deviation of the noise for the amplitude 1.
    deviation: f64,
    /// Probability of a wrong hard decision.
    wrong: f64,
    /// Quantised values per amplitude.
    scale: f64,
    levels: Box<[Column; COLUMNS]>,
}

/// A column of the table that draws quantised values: below the threshold one value, else the other (Walker's alias method).
#[derive(Debug, Clone, Copy, Default)]
struct Column {
    threshold: u32,
    below: i8,
    above: i8,
}

const COLUMNS: usize = 256;
/// Wrong bits after which it is asked whether to stop: some 100 µs.
const ASKED: usize = 1 << 12;
/// Parts of 2^−32 of probability in a column.
const PARTS: u64 = 1 << 24;

/// Random numbers of a chunk of a simulation, for one use.
#[derive(Debug)]
pub struct Numbers {
    uniform: Uniform,
    normal: Normal,
    draws: Draws,
    next: u64,
}

impl Numbers {
    /// The numbers of a `chunk`, below 2^32, of a `point` of a curve under `seed`.
    #[must_use]
    pub fn new(seed: u64, stream: Stream, point: u32, chunk: u64) -> Self {
        Self {
            uniform: Uniform::on_lane(seed, stream, point),
            normal: Normal::new(seed, stream, point),
            draws: Draws::default(),
            next: chunk << 32,
        }
    }

    /// The next number, uniform on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.next += 1;
        self.uniform.at(self.next - 1)
    }

    /// The next 512 random bytes.
    fn bytes(&mut self) -> &[u8; 512] {
        self.uniform.draw(self.next, &mut self.draws);
        self.next += 64;
        self.draws.bytes()
    }

    /// Fills `bytes` with random ones.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for bytes in bytes.chunks_mut(512) {
            bytes.copy_from_slice(&self.bytes()[..bytes.len()]);
        }
    }
}

impl Awgn {
    /// The channel at `ecn0_db`, the energy per channel bit over noise density, dB.
    #[must_use]
    pub fn new(ecn0_db: f64) -> Self {
        let deviation = (0.5 / ratio(ecn0_db)).sqrt();
        let scale = f64::from(FULL_SCALE) / (1.0 + HEADROOM * deviation);
        Self {
            deviation,
            wrong: uncoded_ber(ratio(ecn0_db)),
            scale,
            levels: columns(&weights(deviation, scale)),
        }
    }

    /// Unquantised values for the channel bits `sent`, appended to `received`.
    pub fn soft(&self, numbers: &mut Numbers, sent: &[u8], received: &mut Vec<f32>) {
        let mut noise = [0.0; 512];
        for sent in sent.chunks(noise.len()) {
            numbers.normal.fill(numbers.next, &mut noise);
            numbers.next += 512;
            let values = sent
                .iter()
                .zip(&noise)
                .map(|(bit, noise)| narrow(1.0 - 2.0 * f64::from(*bit) + self.deviation * noise));
            received.extend(values);
        }
    }

    /// Quantised values for the channel bits `sent`, appended to `received`. Each probability is exact to 2^−32.
    pub fn quantised(&self, numbers: &mut Numbers, sent: &[u8], received: &mut Vec<i8>) {
        for sent in sent.chunks(128) {
            let words = numbers.bytes().as_chunks::<4>().0.iter();
            let values = sent.iter().zip(words).map(|(bit, word)| {
                let [column, rest @ ..] = *word;
                let column = self.levels[usize::from(column)];
                let [a, b, c] = rest;
                let is_below = u32::from_le_bytes([a, b, c, 0]) < column.threshold;
                let value = if is_below { column.below } else { column.above };
                if *bit == 0 { value } else { -value }
            });
            received.extend(values);
        }
    }

    /// The quantised form of an unquantised value.
    #[must_use]
    pub fn quantise(&self, value: f32) -> i8 {
        let full_scale = f64::from(FULL_SCALE);
        let steps = (f64::from(value) * self.scale).clamp(-full_scale, full_scale);
        whole(steps)
    }

    /// Flips the bits of `bytes` that hard decisions get wrong.
    pub fn hard(&self, numbers: &mut Numbers, bytes: &mut [u8]) {
        self.hard_unless(numbers, bytes, Stopped::NEVER);
    }

    /// As [`Self::hard`], until `stopped`, which leaves the rest of the bits as they are.
    pub(super) fn hard_unless(&self, numbers: &mut Numbers, bytes: &mut [u8], stopped: Stopped) {
        let mut count = 0_usize;
        self.wrong_bits(numbers, 8 * bytes.len(), |bit| {
            bytes[bit / 8] ^= 0x80 >> (bit % 8);
            count += 1;
            !count.is_multiple_of(ASKED) || !stopped.now()
        });
    }

    /// Hard decisions as values ±1 for the channel bits `sent`, appended to `received`.
    pub fn decided(&self, numbers: &mut Numbers, sent: &[u8], received: &mut Vec<i8>) {
        let start = received.len();
        received.extend(sent.iter().map(|bit| if *bit == 0 { 1 } else { -1 }));
        let received = &mut received[start..];
        self.wrong_bits(numbers, received.len(), |bit| {
            received[bit] = -received[bit];
            true
        });
    }

    /// Calls `wrong` with each place below `bits` that is decided wrongly, until it says no. Distances between them are geometric.
    fn wrong_bits(&self, numbers: &mut Numbers, bits: usize, mut wrong: impl FnMut(usize) -> bool) {
        let right = log1p(-self.wrong);
        if right == 0.0 {
            return;
        }
        let mut at = 0;
        loop {
            let distance = floor_u64(log1p(-numbers.uniform()) / right);
            at = usize::try_from(distance).map_or(bits, |distance| distance.saturating_add(at));
            if at >= bits {
                return;
            }
            if !wrong(at) {
                return;
            }
            at += 1;
        }
    }
}

/// The nearest single-precision number.
#[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
fn narrow(x: f64) -> f32 {
    x as f32
}

/// The nearest whole number to one from −127 to 127.
#[expect(clippy::cast_possible_truncation, reason = "it is in the range")]
fn whole(x: f64) -> i8 {
    x.round() as i8
}

/// Probabilities of the values from −127 to 127 for the amplitude 1, in parts of 2^−32. The last weight is 0.
fn weights(deviation: f64, scale: f64) -> [u64; COLUMNS] {
    let above = |edge: f64| upper_tail((edge / scale - 1.0) / deviation);
    let mut weights = [0; COLUMNS];
    let mut left = 1.0;
    for (value, weight) in (-FULL_SCALE..=FULL_SCALE).zip(&mut weights) {
        let right = if value == FULL_SCALE {
            0.0
        } else {
            above(f64::from(value) + 0.5)
        };
        *weight = floor_u64((left - right) * 4_294_967_296.0 + 0.5);
        left = right;
    }
    // Rounding is made up for where it matters least.
    let missing = (1 << 32) - weights.iter().sum::<u64>().cast_signed();
    if let Some(largest) = weights.iter_mut().max() {
        *largest = largest.saturating_add_signed(missing);
    }
    weights
}

/// The table that draws values with these weights, whose sum is 2^32.
fn columns(weights: &[u64; COLUMNS]) -> Box<[Column; COLUMNS]> {
    let mut columns = Box::new([Column::default(); COLUMNS]);
    let values = (-FULL_SCALE..=FULL_SCALE).chain([0]);
    let mut rest: Vec<(usize, i8, u64)> = weights
        .iter()
        .zip(values)
        .enumerate()
        .map(|(place, (weight, value))| (place, value, *weight))
        .collect();
    let (mut small, mut large): (Vec<_>, Vec<_>) =
        rest.drain(..).partition(|(_, _, weight)| *weight < PARTS);
    while let Some((place, value, weight)) = small.pop() {
        // The weights of all that are left fill their columns, so that a small one leaves a large one.
        let Some((large_place, large_value, large_weight)) = large.pop() else {
            break;
        };
        columns[place] = Column {
            threshold: u32::try_from(weight).unwrap_or(u32::MAX),
            below: value,
            above: large_value,
        };
        let left = (large_place, large_value, large_weight + weight - PARTS);
        if left.2 < PARTS {
            small.push(left);
        } else {
            large.push(left);
        }
    }
    for (place, value, _) in large {
        columns[place] = Column {
            threshold: u32::MAX,
            below: value,
            above: value,
        };
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [f64; 5] = [-20.0, -1.0, 3.0, 8.0, 40.0];

    #[test]
    fn the_table_draws_each_value_with_its_weight() {
        for ecn0_db in POINTS {
            let channel = Awgn::new(ecn0_db);
            let weights = weights(channel.deviation, channel.scale);
            assert_eq!(weights.iter().sum::<u64>(), 1 << 32);
            let mut drawn = [0; COLUMNS];
            let place = |value: i8| usize::try_from(i16::from(value) + 127).unwrap();
            for column in channel.levels.iter() {
                // A full column has one value, so that its threshold may fall one short.
                drawn[place(column.below)] += u64::from(column.threshold.min(1 << 24));
                drawn[place(column.above)] += PARTS - u64::from(column.threshold.min(1 << 24));
            }
            assert_eq!(drawn, weights);
        }
    }

    #[test]
    fn quantised_values_have_the_probabilities_of_rounded_ones() {
        for ecn0_db in POINTS {
            let channel = Awgn::new(ecn0_db);
            let weights = weights(channel.deviation, channel.scale);
            let below = |value: usize| {
                let sum: u64 = weights[..value].iter().sum();
                crate::types::to_f64(sum) / 4_294_967_296.0
            };
            for value in 1..255_u8 {
                let edge = (f64::from(value) - 127.5) / channel.scale;
                let exact = 1.0 - upper_tail((edge - 1.0) / channel.deviation);
                assert!((below(usize::from(value)) - exact).abs() < 1e-7, "{value}");
            }
        }
    }

    /// Wrong signs among the values of `bits` bits, by each kind of receiver.
    #[test]
    fn every_receiver_decides_as_wrongly_as_the_formula_says() {
        let bits = 400_000;
        let sent: Vec<u8> = (0..bits).map(|bit| u8::from(bit % 3 == 0)).collect();
        for ecn0_db in [-1.0, 4.0] {
            let channel = Awgn::new(ecn0_db);
            let mut numbers = Numbers::new(3, Stream::CodingNoise, 0, 0);
            let (mut soft, mut quantised, mut decided) = (Vec::new(), Vec::new(), Vec::new());
            channel.soft(&mut numbers, &sent, &mut soft);
            channel.quantised(&mut numbers, &sent, &mut quantised);
            channel.decided(&mut numbers, &sent, &mut decided);
            let mut bytes = vec![0; bits / 8];
            channel.hard(&mut numbers, &mut bytes);
            // Half of the zeros are wrong.
            let wrong = |doubled: &mut dyn Iterator<Item = (f64, u8)>| {
                let doubled = doubled.map(|(value, bit)| {
                    if value == 0.0 {
                        1
                    } else {
                        2 * u64::from((value < 0.0) != (bit == 1))
                    }
                });
                doubled.sum::<u64>() / 2
            };
            let bit = || sent.iter().copied();
            for found in [
                wrong(&mut soft.iter().map(|value| f64::from(*value)).zip(bit())),
                wrong(&mut quantised.iter().map(|value| f64::from(*value)).zip(bit())),
                wrong(&mut decided.iter().map(|value| f64::from(*value)).zip(bit())),
                bytes.iter().map(|byte| u64::from(byte.count_ones())).sum(),
            ] {
                let expected = uncoded_ber(ratio(ecn0_db)) * crate::types::to_f64(bits as u64);
                let off = crate::types::to_f64(found) - expected;
                assert!(
                    off.abs() < 4.5 * expected.sqrt(),
                    "{ecn0_db}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn rounding_is_to_the_nearest_value() {
        let channel = Awgn::new(0.0);
        let steps = |steps: f64| channel.quantise(narrow(steps / channel.scale));
        for (found, expected) in [
            (steps(0.4), 0),
            (steps(-0.6), -1),
            (steps(126.6), 127),
            (steps(-500.0), -127),
        ] {
            assert_eq!(found, expected);
        }
    }
}
