//! A histogram whose buckets are as narrow as their number allows.

use crate::types::Span;

/// Bits after the leading one that determine the bucket of a value in [`super::Distribution::default`]: 1024 buckets per octave.
pub(in crate::stats) const BITS: u32 = 10;

/// Counts of values by bucket, from the first to the last bucket in use.
///
/// The number of a bucket consists of exponent and leading bits of its values, like a floating-point number. Values below
/// 2^(bits + 1) have a bucket each. If the values need more buckets than allowed, neighbouring buckets are merged in
/// pairs, which halves the precision.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    most: usize,
    pub(super) bits: u32,
    zeros: u64,
    /// Number of the first bucket.
    first: u64,
    pub(super) counts: Vec<u64>,
}

/// Bits of the mantissa of an `f64`, and the exponent that stands for 2^0.
const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
const ONE: u64 = 1.0f64.to_bits() >> MANTISSA;

/// Bucket of a value: its exponent, followed by the `bits` bits after the leading one. That of zero is above all others.
#[inline]
pub(in crate::stats) fn bucket(nanos: u64, bits: u32) -> u64 {
    if nanos >> f64::MANTISSA_DIGITS != 0 {
        // Would be rounded. The lowest bits decide nothing.
        return bucket(nanos >> BITS, bits) + (u64::from(BITS) << bits);
    }
    leading(nanos, bits).wrapping_sub(ONE << bits)
}

/// Exponent of a value below 2^53 as an `f64` has it, followed by the `bits` bits after the leading one.
#[inline]
fn leading(nanos: u64, bits: u32) -> u64 {
    // Exact. A signed number is converted in one instruction.
    #[expect(clippy::cast_precision_loss, reason = "has at most 53 bits")]
    let float = nanos.cast_signed() as f64;
    float.to_bits() >> (MANTISSA - bits)
}

/// Middle of a bucket, ns.
fn middle(bucket: u64, bits: u32) -> u64 {
    let exponent = u32::try_from(bucket >> bits).unwrap_or(u32::MAX);
    let shifted = (1 << bits) + (bucket & ((1 << bits) - 1));
    if exponent > bits {
        (shifted << (exponent - bits)) + (1 << (exponent - bits - 1))
    } else {
        shifted >> (bits - exponent)
    }
}

impl Histogram {
    /// An empty histogram of at most `most` buckets, with `bits` bits of a value after the leading one.
    pub(super) fn within(most: usize, bits: u32) -> Self {
        Self {
            most,
            bits,
            ..Self::default()
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.zeros + self.counts.iter().sum::<u64>()
    }

    /// Counts a value `times` times.
    pub(super) fn add(&mut self, nanos: u64, times: u64) {
        if nanos == 0 {
            self.zeros += times;
            return;
        }
        let at = bucket(nanos, self.bits).wrapping_sub(self.first);
        let place = usize::try_from(at).unwrap_or(usize::MAX);
        match self.counts.get_mut(place) {
            Some(count) => *count += times,
            None => self.widen(nanos, times),
        }
    }

    /// Counts several values, at most `largest`. Most are in the present buckets.
    pub(super) fn add_all(&mut self, spans: &[Span], largest: u64) {
        if largest >> f64::MANTISSA_DIGITS != 0 {
            return spans.iter().for_each(|span| self.add(span.as_nanos(), 1));
        }
        let mut rest = spans;
        while let Some(place) = self.add_present(rest) {
            self.add(rest[place].as_nanos(), 1);
            rest = &rest[place + 1..];
        }
    }

    /// Counts values below 2^53 up to the first that is zero or outside of the present buckets, and returns its place.
    fn add_present(&mut self, spans: &[Span]) -> Option<usize> {
        let (bits, first) = (self.bits, self.first.wrapping_add(ONE << self.bits));
        let counts = &mut self.counts[..];
        spans.iter().position(|span| {
            let at = leading(span.as_nanos(), bits).wrapping_sub(first);
            let count = usize::try_from(at).ok().and_then(|at| counts.get_mut(at));
            count.map(|count| *count += 1).is_none()
        })
    }

    /// Counts a value outside of the present buckets.
    #[cold]
    fn widen(&mut self, nanos: u64, times: u64) {
        loop {
            let at = bucket(nanos, self.bits);
            if self.counts.is_empty() {
                self.first = at;
            }
            let last = (self.first + self.counts.len() as u64).saturating_sub(1);
            let (first, last) = (self.first.min(at), last.max(at));
            let needed = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
            if needed <= self.most {
                let front = usize::try_from(self.first - first).unwrap_or(0);
                self.counts.splice(..0, std::iter::repeat_n(0, front));
                self.counts.resize(needed, 0);
                self.first = first;
                self.counts[usize::try_from(at - first).unwrap_or(0)] += times;
                return;
            }
            self.halve();
        }
    }

    /// Merges neighbouring buckets in pairs.
    fn halve(&mut self) {
        let (first, odd) = (self.first >> 1, self.first & 1 == 1);
        let mut counts = Vec::with_capacity(self.counts.len() / 2 + 1);
        let mut rest = &self.counts[..];
        if odd && let Some((alone, others)) = rest.split_first() {
            counts.push(*alone);
            rest = others;
        }
        counts.extend(rest.chunks(2).map(|pair| pair.iter().sum::<u64>()));
        (self.first, self.counts) = (first, counts);
        self.bits -= 1;
    }

    /// Middles of the buckets in use, not below `min` and not above `max`, with their counts.
    pub(super) fn counts(&self, min: u64, max: u64) -> Vec<(u64, u64)> {
        let buckets = (self.first..).zip(&self.counts);
        let middles = buckets.map(|(at, count)| (middle(at, self.bits).clamp(min, max), *count));
        let all = std::iter::once((0, self.zeros)).chain(middles);
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// Middle of the bucket that contains the value of this rank, counted from 1.
    pub(super) fn nearest(&self, rank: u64) -> Option<u64> {
        let mut below = self.zeros;
        if below >= rank {
            return Some(0);
        }
        for (at, count) in (self.first..).zip(&self.counts) {
            below += count;
            if below >= rank {
                return Some(middle(at, self.bits));
            }
        }
        None
    }
}
