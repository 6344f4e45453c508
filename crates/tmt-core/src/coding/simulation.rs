//! A code over a noisy channel, in chunks that do not depend on each other.

use super::awgn::{Awgn, Numbers};
use super::convolutional::{K, encode};
use super::counts::{Counts, Outcome};
use super::erasure::ErasureCode;
use super::reed_solomon::ReedSolomon;
use super::spec::{CodeSpec, Interleaver, Outer};
use super::viterbi::{Soft, Viterbi};
use crate::math::num::floor_u64;
use crate::math::rng::Stream;
use crate::model::conv::Rate;
use crate::types::named::ParseError;
use crate::types::{Stopped, to_f64};

/// Values that the inner decoder gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decision {
    /// Quantised to 8 bits: the fastest, and within 0.01 dB of unquantised values.
    #[default]
    Quantised,
    /// Single-precision numbers.
    Unquantised,
    /// One bit each.
    Hard,
}

crate::keywords!(Decision { Quantised => "quantised", Unquantised => "unquantised", Hard => "hard" });

/// The channel, the receiver, and the layout of what is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Energy per channel bit over noise density Ec/N0, dB. The tail of a frame is not counted.
    pub ecn0_db: f64,
    /// Values that the inner decoder gets; of no effect without an inner code.
    pub decision: Decision,
    /// Order in which symbols of outer codewords are sent; of no effect without an outer code.
    pub interleaver: Interleaver,
    /// Bytes of a segment; `None` for those of [`CodeSpec::segment_bytes`]. Segments follow each other in a chunk; what is left
    /// at its end is in none.
    pub segment_bytes: Option<usize>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of the point of a curve: points share no random numbers.
    pub point: u32,
}

impl Link {
    /// A link at `ecn0_db`, dB, with defaults for all else.
    #[must_use]
    pub fn at(ecn0_db: f64) -> Self {
        Self {
            ecn0_db,
            decision: Decision::default(),
            interleaver: Interleaver::None,
            segment_bytes: None,
            seed: 1,
            point: 0,
        }
    }
}

/// Bytes of information in a chunk, about: many times the longest burst, and few enough for many chunks at a time.
const CHUNK: usize = 1 << 13;

/// The same with an ideal interleaver: a codeword is then a small part of the chunk.
const IDEAL_CHUNK: usize = 1 << 17;

/// Longest frame of the inner code, bytes. The better bits next to its ends are less than one in 500.
const FRAME: usize = 1 << 12;

/// Largest chunk on the channel, bytes: what memory bears on each thread, and random numbers of a chunk last for.
const LARGEST_CHUNK: usize = 1 << 26;

/// Largest segment, bytes.
const LONGEST_SEGMENT: usize = 1 << 20;

/// A code over a link.
#[derive(Debug, Clone)]
pub struct Simulation {
    link: Link,
    channel: Awgn,
    inner: Option<Rate>,
    outer: OuterCode,
    segment: usize,
    /// Codewords in a chunk, or segments without an outer code.
    words: usize,
}

/// The outer code, ready for use.
#[derive(Debug, Clone)]
enum OuterCode {
    /// None: a word is a segment of this many bytes.
    None(usize),
    ReedSolomon(ReedSolomon),
    Erasure(ErasureCode, usize),
}

impl OuterCode {
    /// Information bytes of a word.
    fn data_bytes(&self) -> usize {
        match self {
            Self::None(bytes) | Self::Erasure(_, bytes) => *bytes,
            Self::ReedSolomon(code) => code.k(),
        }
    }

    /// Bytes of a word on the channel.
    fn word_bytes(&self) -> usize {
        match self {
            Self::None(bytes) => *bytes,
            Self::ReedSolomon(code) => code.n(),
            Self::Erasure(code, _) => code.n() * code.block_bytes(),
        }
    }

    /// Bytes of a unit of the interleaver.
    fn unit_bytes(&self) -> usize {
        match self {
            Self::None(_) | Self::ReedSolomon(_) => 1,
            Self::Erasure(code, _) => code.block_bytes(),
        }
    }

    /// The codeword of `data`, appended to `coded`.
    fn encode(&self, data: &[u8], coded: &mut Vec<u8>) {
        match self {
            Self::None(_) => coded.extend_from_slice(data),
            Self::ReedSolomon(code) => {
                let start = coded.len();
                coded.extend_from_slice(data);
                coded.resize(start + code.n(), 0);
                code.encode(&mut coded[start..]);
            }
            Self::Erasure(code, _) => coded.extend(code.encode(data)),
        }
    }

    /// The data of a received codeword, appended to `decoded`, and whether the decoder took it for one.
    fn decode(&self, word: &mut [u8], decoded: &mut Vec<u8>) -> bool {
        let start = decoded.len();
        match self {
            Self::None(_) => {
                decoded.extend_from_slice(word);
                true
            }
            Self::ReedSolomon(code) => {
                let is_decoded = code.decode(word, &[]).is_ok();
                decoded.extend_from_slice(&word[..code.k()]);
                is_decoded
            }
            Self::Erasure(code, bytes) => {
                decoded.resize(start + bytes, 0);
                code.decode(word, &mut decoded[start..]).is_ok()
            }
        }
    }
}

impl Simulation {
    /// The simulation of `spec` over `link`.
    ///
    /// # Errors
    /// Numbers of `spec` that its text would not be accepted with, an Ec/N0 that is not a number from −100 to 100 dB, a segment
    /// of 0 or more than 2^20 bytes, an interleaver of depth 0 or above 1024, or codewords at a time of more than 64 MiB.
    pub fn new(spec: &CodeSpec, link: &Link) -> Result<Self, ParseError> {
        let spec = spec.checked()?;
        let segment = link.segment_bytes.unwrap_or(spec.segment_bytes());
        if !(1..=LONGEST_SEGMENT).contains(&segment) {
            let found = format!("segments of {segment} bytes");
            let expected = format!("1 to {LONGEST_SEGMENT} bytes");
            return Err(ParseError::mismatch(found, expected));
        }
        if !(-100.0..=100.0).contains(&link.ecn0_db) {
            let found = format!("an Ec/N0 of {} dB", link.ecn0_db);
            return Err(ParseError::mismatch(found, "-100 to 100 dB"));
        }
        let outer = match spec.outer {
            None => OuterCode::None(segment),
            Some(Outer::ReedSolomon { n, k }) => OuterCode::ReedSolomon(ReedSolomon::new(n, k)?),
            Some(Outer::Erasure { k, n, bytes }) => {
                OuterCode::Erasure(ErasureCode::new(n, k, bytes)?, k * bytes)
            }
        };
        let (depth, least) = match link.interleaver {
            // The same check as for its text.
            Interleaver::Block(_) => match link.interleaver.to_string().parse()? {
                Interleaver::Block(depth) => (depth, CHUNK),
                _ => (1, CHUNK),
            },
            Interleaver::Ideal if spec.outer.is_some() => (1, IDEAL_CHUNK),
            Interleaver::Ideal | Interleaver::None => (1, CHUNK),
        };
        let data = outer.data_bytes();
        let words = least.max(segment).div_ceil(data).next_multiple_of(depth);
        // Whole segments, unless they are long multiples.
        let whole = depth * segment / greatest_common_divisor(segment, data);
        let words = if whole <= words {
            words.next_multiple_of(whole)
        } else {
            words
        };
        let coded = words.saturating_mul(outer.word_bytes());
        if coded > LARGEST_CHUNK {
            let found = format!(
                "{words} codewords of {} bytes at a time",
                outer.word_bytes()
            );
            let expected = format!(
                "{LARGEST_CHUNK} bytes in all at most: a smaller depth or shorter segments"
            );
            return Err(ParseError::mismatch(found, expected));
        }
        Ok(Self {
            link: *link,
            channel: Awgn::new(link.ecn0_db),
            inner: spec.inner,
            outer,
            segment,
            words,
        })
    }

    /// The same with other random numbers: those of `point` under `seed`.
    #[must_use]
    pub fn under(&self, seed: u64, point: u32) -> Self {
        let link = Link {
            seed,
            point,
            ..self.link
        };
        Self {
            link,
            ..self.clone()
        }
    }

    /// Number of outcomes of a chunk.
    #[must_use]
    pub const fn outcomes_per_chunk(&self) -> u64 {
        self.words as u64
    }

    /// Simulates chunk `number`, below 2^32: its counts, and the outcomes of its codewords in their order, or of its segments
    /// without an outer code.
    #[must_use]
    pub fn chunk(&self, number: u64) -> (Counts, Vec<Outcome>) {
        self.chunk_unless(number, Stopped::NEVER)
            .unwrap_or_default()
    }

    /// As [`Self::chunk`], or `None` once `stopped`, which is asked for each word and each frame: a chunk may be of 64 MiB.
    pub(super) fn chunk_unless(
        &self,
        number: u64,
        stopped: Stopped,
    ) -> Option<(Counts, Vec<Outcome>)> {
        let goes_on = || (!stopped.now()).then_some(());
        let numbers = |stream| Numbers::new(self.link.seed, stream, self.link.point, number);
        let data_bytes = self.outer.data_bytes();
        let mut data = vec![0; self.words * data_bytes];
        numbers(Stream::CodingData).fill(&mut data);
        let mut coded = Vec::new();
        for data in data.chunks(data_bytes) {
            goes_on()?;
            self.outer.encode(data, &mut coded);
        }
        let order = self.order(coded.len(), &mut numbers(Stream::CodingOrder));
        let unit = self.outer.unit_bytes();
        let sent = match &order {
            Some(order) => {
                let units = order
                    .iter()
                    .flat_map(|place| &coded[place * unit..][..unit]);
                units.copied().collect()
            }
            None => coded.clone(),
        };

        let mut counts = Counts::default();
        let mut received = self.transmit(&sent, &mut numbers(Stream::CodingNoise), stopped)?;
        let gap = if self.inner.is_some() { K - 1 } else { 0 };
        for (sent, received) in sent.chunks(FRAME).zip(received.chunks(FRAME)) {
            goes_on()?;
            counts.decoded.compare(sent, received, gap);
        }
        if let Some(order) = &order {
            let mut sorted = vec![0; received.len()];
            for (place, received) in order.iter().zip(received.chunks(unit)) {
                sorted[place * unit..][..unit].copy_from_slice(received);
            }
            received = sorted;
        }
        let outcomes = self.decode(&data, &coded, received, &mut counts, stopped)?;
        Some((counts, outcomes))
    }

    /// Decodes the outer code and counts; `None` once `stopped`.
    fn decode(
        &self,
        data: &[u8],
        coded: &[u8],
        mut received: Vec<u8>,
        counts: &mut Counts,
        stopped: Stopped,
    ) -> Option<Vec<Outcome>> {
        let data_bytes = self.outer.data_bytes();
        let (word_bytes, unit) = (self.outer.word_bytes(), self.outer.unit_bytes());
        let mut decoded = Vec::with_capacity(data.len());
        let mut outcomes = Vec::with_capacity(self.words);
        let words = coded.chunks(word_bytes).zip(data.chunks(data_bytes));
        for (word, (coded, data)) in received.chunks_mut(word_bytes).zip(words) {
            if stopped.now() {
                return None;
            }
            let is_coded = !matches!(self.outer, OuterCode::None(_));
            if is_coded {
                let symbols = word.chunks(unit).zip(coded.chunks(unit));
                for (received, sent) in symbols {
                    let is_intact = unit == 1 || ErasureCode::is_intact(received);
                    counts.symbols.count(outcome(is_intact, received == sent));
                }
            }
            let start = decoded.len();
            let is_decoded = self.outer.decode(word, &mut decoded);
            let decoded = &decoded[start..];
            let is_right = decoded == data;
            if is_coded {
                let outcome = outcome(is_decoded, is_right);
                counts.codewords.count(outcome);
                outcomes.push(outcome);
                counts.information.compare(data, decoded, usize::MAX);
            } else {
                outcomes.push(outcome(is_right, is_right));
            }
        }
        if matches!(self.outer, OuterCode::None(_)) {
            counts.information = counts.decoded;
        }
        let segments = data.chunks_exact(self.segment);
        for (number, (sent, received)) in segments.zip(decoded.chunks(self.segment)).enumerate() {
            let first = number * self.segment;
            let words = first / data_bytes..(first + self.segment).div_ceil(data_bytes);
            let is_decoded = !outcomes[words].contains(&Outcome::Failed);
            counts.segments.count(outcome(is_decoded, sent == received));
        }
        Some(outcomes)
    }

    /// The bytes that the inner decoder, or the receiver without one, makes of the bytes `sent`; `None` once `stopped`.
    fn transmit(&self, sent: &[u8], numbers: &mut Numbers, stopped: Stopped) -> Option<Vec<u8>> {
        let channel = &self.channel;
        let Some(rate) = self.inner else {
            let mut received = sent.to_vec();
            channel.hard_unless(numbers, &mut received, stopped);
            return (!stopped.now()).then_some(received);
        };
        match self.link.decision {
            Decision::Quantised => through(rate, sent, stopped, |sent, received: &mut Vec<i8>| {
                channel.quantised(numbers, sent, received);
            }),
            Decision::Hard => through(rate, sent, stopped, |sent, received: &mut Vec<i8>| {
                channel.decided(numbers, sent, received);
            }),
            Decision::Unquantised => {
                through(rate, sent, stopped, |sent, received: &mut Vec<f32>| {
                    channel.soft(numbers, sent, received);
                })
            }
        }
    }

    /// For each unit that is sent, its place in the codewords; `None` for the same order.
    fn order(&self, bytes: usize, numbers: &mut Numbers) -> Option<Vec<usize>> {
        if matches!(self.outer, OuterCode::None(_)) {
            return None;
        }
        let units = bytes / self.outer.unit_bytes();
        match self.link.interleaver {
            Interleaver::None | Interleaver::Block(1) => None,
            Interleaver::Block(depth) => {
                let length = units / self.words;
                let group = depth * length;
                let place = |sent: usize| {
                    let (column, row) = (sent % group / depth, sent % depth);
                    sent / group * group + row * length + column
                };
                Some((0..units).map(place).collect())
            }
            Interleaver::Ideal => {
                let mut order: Vec<usize> = (0..units).collect();
                for end in (1..units).rev() {
                    let choices = to_f64(u64::try_from(end).unwrap_or(u64::MAX)) + 1.0;
                    let chosen = floor_u64(numbers.uniform() * choices);
                    order.swap(end, usize::try_from(chosen).unwrap_or(end));
                }
                Some(order)
            }
        }
    }
}

/// Sends bytes in frames of the inner code; `None` once `stopped`.
fn through<S: Soft>(
    rate: Rate,
    sent: &[u8],
    stopped: Stopped,
    mut channel: impl FnMut(&[u8], &mut Vec<S>),
) -> Option<Vec<u8>> {
    let mut decoder = Viterbi::new();
    let (mut bits, mut values) = (Vec::new(), Vec::new());
    let mut decoded = Vec::with_capacity(sent.len());
    for frame in sent.chunks(FRAME) {
        if stopped.now() {
            return None;
        }
        bits.clear();
        values.clear();
        encode(rate, frame, &mut bits);
        channel(&bits, &mut values);
        decoder.decode(rate, 8 * frame.len(), &values, &mut decoded);
    }
    Some(decoded)
}

/// The outcome of a word, given whether the receiver takes it as right, and whether it is.
fn outcome(is_accepted: bool, is_right: bool) -> Outcome {
    match (is_accepted, is_right) {
        (false, _) => Outcome::Failed,
        (true, true) => Outcome::Decoded,
        (true, false) => Outcome::Undetected,
    }
}

/// The greatest common divisor.
fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}
