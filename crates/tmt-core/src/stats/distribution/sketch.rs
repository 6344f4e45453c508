//! Order statistics in as much memory as a caller has, however many values there are and however far they spread.

use super::{Precision, Quantiles, seconds_of};
use crate::types::Span;

/// Bits of a value behind its first that tell its bucket, at best: 512 buckets an octave, values within 0.1 %.
const BITS: u32 = 9;

/// Fewest buckets that can hold every span: one an octave.
const LEAST_BUCKETS: usize = 64;

/// Collects spans: exact up to a number of values, then in a histogram of at most so many buckets.
///
/// A bucket's number is its values' exponent and first bits, as those of a floating-point number. When the values
/// spread over more buckets than there may be, every two neighbours become one, and the precision halves.
#[derive(Debug, Clone)]
pub struct Sketch {
    exact_up_to: usize,
    most: usize,
    exact: Vec<u64>,
    histogram: Option<Histogram>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

#[derive(Debug, Clone)]
struct Histogram {
    bits: u32,
    zeros: u64,
    /// Number of the first bucket.
    first: u64,
    counts: Vec<u64>,
}

impl Sketch {
    /// Nothing collected; `exact_up_to` values are kept one by one, then there are up to `buckets` buckets, or 64.
    #[must_use]
    pub fn new(exact_up_to: usize, buckets: usize) -> Self {
        Self {
            exact_up_to,
            most: buckets.max(LEAST_BUCKETS),
            exact: Vec::new(),
            histogram: None,
            count: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// Collects `span`.
    pub fn push(&mut self, span: Span) {
        let nanos = span.as_nanos();
        self.count += 1;
        self.sum += u128::from(nanos);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
        match &mut self.histogram {
            Some(histogram) => histogram.add(nanos, self.most),
            None if self.exact.len() < self.exact_up_to => self.exact.push(nanos),
            None => self.start_histogram(nanos),
        }
    }

    #[cold]
    fn start_histogram(&mut self, nanos: u64) {
        let mut histogram = Histogram {
            bits: BITS,
            zeros: 0,
            first: 0,
            counts: Vec::new(),
        };
        for nanos in std::mem::take(&mut self.exact).into_iter().chain([nanos]) {
            histogram.add(nanos, self.most);
        }
        self.histogram = Some(histogram);
    }

    /// Values collected.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How far the percentiles may be off.
    #[must_use]
    pub fn precision(&self) -> Precision {
        match &self.histogram {
            None => Precision::Exact,
            Some(histogram) => Precision::Bits(histogram.bits),
        }
    }

    /// All order statistics, in seconds; percentiles by nearest rank.
    #[must_use]
    pub fn quantiles(&self) -> Quantiles {
        let [p50, p85, p95, p99] = self.percentiles([50, 85, 95, 99]).map(seconds_of);
        let known = |nanos| seconds_of((self.count > 0).then_some(nanos));
        let mean = (self.sum + u128::from(self.count / 2)).checked_div(self.count.into());
        Quantiles {
            min: known(self.min),
            mean: seconds_of(mean.and_then(|mean| u64::try_from(mean).ok())),
            p50,
            p85,
            p95,
            p99,
            max: known(self.max),
        }
    }

    /// The `percent`-th percentiles by nearest rank, ns, `percents` going up.
    fn percentiles<const N: usize>(&self, percents: [u64; N]) -> [Option<u64>; N] {
        let mut sorted = self.exact.clone();
        sorted.sort_unstable();
        percents.map(|percent| {
            let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100);
            let rank = u64::try_from(rank).ok()?.max(1);
            match &self.histogram {
                None => sorted.get(usize::try_from(rank - 1).ok()?).copied(),
                Some(histogram) => Some(histogram.nearest(rank)?.clamp(self.min, self.max)),
            }
        })
    }
}

/// The bucket of a value above zero: its exponent, then its first `bits` bits behind the leading one.
fn bucket(nanos: u64, bits: u32) -> u64 {
    let exponent = nanos.ilog2();
    let shifted = if exponent >= bits {
        nanos >> (exponent - bits)
    } else {
        nanos << (bits - exponent)
    };
    // The leading one adds to the exponent: each octave has 2^bits buckets.
    (u64::from(exponent) << bits) + shifted - (1 << bits)
}

/// The middle of a bucket.
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
    fn add(&mut self, nanos: u64, most: usize) {
        if nanos == 0 {
            self.zeros += 1;
            return;
        }
        let at = bucket(nanos, self.bits).wrapping_sub(self.first);
        let place = usize::try_from(at).unwrap_or(usize::MAX);
        match self.counts.get_mut(place) {
            Some(count) => *count += 1,
            None => self.widen(nanos, most),
        }
    }

    /// Counts a value outside of the buckets there are.
    #[cold]
    fn widen(&mut self, nanos: u64, most: usize) {
        loop {
            let at = bucket(nanos, self.bits);
            if self.counts.is_empty() {
                self.first = at;
            }
            let last = (self.first + self.counts.len() as u64).saturating_sub(1);
            let (first, last) = (self.first.min(at), last.max(at));
            let needed = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
            if needed <= most {
                let front = usize::try_from(self.first - first).unwrap_or(0);
                self.counts.splice(..0, std::iter::repeat_n(0, front));
                self.counts.resize(needed, 0);
                self.first = first;
                self.counts[usize::try_from(at - first).unwrap_or(0)] += 1;
                return;
            }
            self.halve();
        }
    }

    /// Makes every two neighbours one bucket.
    fn halve(&mut self) {
        let (first, odd) = (self.first >> 1, self.first & 1 == 1);
        let mut counts = Vec::with_capacity(self.counts.len() / 2 + 1);
        let mut rest = &self.counts[..];
        if odd && let Some((alone, behind)) = rest.split_first() {
            counts.push(*alone);
            rest = behind;
        }
        counts.extend(rest.chunks(2).map(|pair| pair.iter().sum::<u64>()));
        (self.first, self.counts) = (first, counts);
        self.bits -= 1;
    }

    /// The middle of the bucket that holds the value of this rank, the first being 1.
    fn nearest(&self, rank: u64) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64], exact_up_to: usize, buckets: usize) -> Sketch {
        let mut sketch = Sketch::new(exact_up_to, buckets);
        for nanos in values {
            sketch.push(Span::from_nanos(*nanos).unwrap());
        }
        sketch
    }

    fn value() -> impl Strategy<Value = u64> {
        prop_oneof![
            1 => 0u64..4,
            2 => (0u32..63, 0u64..3).prop_map(|(bit, more)| (1u64 << bit).saturating_sub(1) + more),
            3 => 250_000_000u64..900_000_000,
            1 => 0..=i64::MAX.unsigned_abs(),
        ]
        .prop_map(|value| value.min(i64::MAX.unsigned_abs()))
    }

    proptest! {
        /// Against sorting: every percentile is as near as the sketch says, in no more buckets than it may have.
        #[test]
        fn percentiles_are_as_near_as_is_said(
            values in prop::collection::vec(value(), 1..200),
            exact_up_to in 0usize..100, buckets in prop_oneof![Just(0usize), 64usize..5_000, Just(1 << 15)],
        ) {
            let sketch = of(&values, exact_up_to, buckets);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let off = match sketch.precision() {
                Precision::Exact => { prop_assert!(values.len() <= exact_up_to); 0 }
                Precision::Bits(bits) => { prop_assert!(values.len() > exact_up_to && bits <= BITS); 2u64 << bits }
                Precision::Histogram => unreachable!(),
            };
            if let Some(histogram) = &sketch.histogram {
                prop_assert!(histogram.counts.len() <= buckets.max(LEAST_BUCKETS));
            }
            let percents = [1, 50, 85, 99, 100];
            for (percent, got) in percents.into_iter().zip(sketch.percentiles(percents)) {
                let exact = sorted[(values.len() * usize::try_from(percent).unwrap()).div_ceil(100) - 1];
                let most = exact.checked_div(off).unwrap_or(0);
                prop_assert!(got.unwrap().abs_diff(exact) <= most, "p{percent}: {got:?} for {exact}, within {most}");
            }
            let mean = values.iter().map(|n| u128::from(*n)).sum::<u128>();
            prop_assert_eq!((sketch.sum, sketch.min, sketch.max), (mean, sorted[0], *sorted.last().unwrap()));
        }
    }

    #[test]
    fn as_many_buckets_as_there_are_octaves_are_fine_enough_for_a_thousandth() {
        let sketch = of(
            &[1, u64::from(u32::MAX), i64::MAX.unsigned_abs()],
            0,
            1 << 15,
        );
        assert_eq!(sketch.precision(), Precision::Bits(BITS));
        // A narrow spread stays fine in few of them, too.
        let near: Vec<u64> = (0..1000).map(|k| 500_000_000 + k * 50_000).collect();
        assert_eq!(of(&near, 0, 128).precision(), Precision::Bits(BITS));
    }

    #[test]
    fn nothing_collected_gives_nothing() {
        let quantiles = Sketch::new(10, 64).quantiles();
        assert_eq!(
            (quantiles.min, quantiles.mean, quantiles.p99),
            (None, None, None)
        );
    }
}
