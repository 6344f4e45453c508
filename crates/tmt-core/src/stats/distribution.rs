//! Order statistics of spans in bounded memory: exact for few values, by a histogram for many.

mod histogram;

use serde::{Serialize, Serializer};

use self::histogram::Histogram;
pub(super) use self::histogram::{BITS, bucket};
use crate::stats::runs::equal_runs;
use crate::types::Span;

/// Number of values up to which [`Distribution::default`] is exact.
pub const EXACT_UP_TO: usize = 1_000_000;

/// [`BITS`] at best in [`Distribution::within`]: 512 buckets per octave, values within 0.1 %.
const BITS_WITHIN: u32 = 9;

/// Smallest number of buckets that covers every span: one per octave.
const LEAST_BUCKETS: usize = 64;

/// Collects spans and computes their order statistics, exactly up to a number of values and from a histogram above it.
///
/// ```
/// use tmt_core::Span;
/// use tmt_core::stats::distribution::Distribution;
///
/// let mut delays = Distribution::default();
/// for millis in 1..=100 {
///     delays.push(Span::from_millis(millis));
/// }
/// assert_eq!(delays.percentiles([50, 99]), [Some(Span::from_millis(50)), Some(Span::from_millis(99))]);
/// ```
#[derive(Debug, Clone)]
pub struct Distribution {
    exact_up_to: u64,
    /// Single values, and repeated values with their counts, while the distribution is exact.
    singles: Vec<Span>,
    repeated: Vec<(u64, u64)>,
    /// Whether values are in the histogram.
    coarse: bool,
    histogram: Histogram,
    /// Number of values while the distribution is exact.
    exact: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// Spans to add to one distribution or several: their extremes and sum are computed once.
#[derive(Debug, Clone)]
pub struct Batch {
    spans: Vec<Span>,
    min: u64,
    max: u64,
    sum: u128,
}

impl From<Vec<Span>> for Batch {
    fn from(spans: Vec<Span>) -> Self {
        let (mut min, mut max, mut sum) = (u64::MAX, 0, 0);
        for nanos in spans.iter().map(|span| span.as_nanos()) {
            min = min.min(nanos);
            max = max.max(nanos);
            sum += u128::from(nanos);
        }
        Self {
            spans,
            min,
            max,
            sum,
        }
    }
}

impl Batch {
    /// The spans.
    #[must_use]
    pub fn into_spans(self) -> Vec<Span> {
        self.spans
    }
}

/// Order statistics and mean of a [`Distribution`], in seconds; all are `null` if it is empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles {
    /// Smallest value collected.
    pub min: Option<f64>,
    /// Mean, rounded to nanoseconds.
    pub mean: Option<f64>,
    /// Median by nearest rank.
    pub p50: Option<f64>,
    /// 85th percentile by nearest rank.
    pub p85: Option<f64>,
    /// 95th percentile by nearest rank.
    pub p95: Option<f64>,
    /// 99th percentile by nearest rank.
    pub p99: Option<f64>,
    /// Largest value collected.
    pub max: Option<f64>,
}

/// Accessor of one of the [`Quantiles`].
type Quantile = fn(&Quantiles) -> Option<f64>;

impl Quantiles {
    /// Every statistic by name, in order.
    pub const ALL: [(&'static str, Quantile); 7] = [
        ("min", |of| of.min),
        ("mean", |of| of.mean),
        ("p50", |of| of.p50),
        ("p85", |of| of.p85),
        ("p95", |of| of.p95),
        ("p99", |of| of.p99),
        ("max", |of| of.max),
    ];

    /// Serializes the statistics of `what` as `what_min_s` … `what_max_s`, for a flattened field.
    pub(crate) fn serialize_named<S: Serializer>(
        of: Option<&Self>,
        what: &str,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let entries = Self::ALL.iter().map(|(name, quantile)| {
            let value = of.and_then(quantile);
            (format!("{what}_{name}_s"), value)
        });
        serializer.collect_map(entries)
    }
}

/// Precision of the percentiles of a [`Distribution`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// The percentiles are exact.
    Exact,
    /// The relative error is at most 2^-(n + 1), for n bits per bucket.
    Bits(u32),
}

impl Precision {
    /// The text in reports, such as `within 0.1 %`.
    #[must_use]
    pub fn text(self) -> String {
        const PERCENT: [&str; 10] = [
            "50", "25", "13", "6.3", "3.2", "1.6", "0.8", "0.4", "0.2", "0.1",
        ];
        match self {
            Self::Exact => "exact".to_owned(),
            Self::Bits(bits) => format!("within {} %", PERCENT[bits.min(9) as usize]),
        }
    }
}

impl Serialize for Precision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text().serialize(serializer)
    }
}

/// Number of values up to which sorting all takes less than selecting the percentiles one by one.
const FEW: usize = 128;

impl Default for Distribution {
    /// A distribution that is exact up to [`EXACT_UP_TO`] values, and within 0.1 % above.
    fn default() -> Self {
        Self::new(EXACT_UP_TO, BITS, usize::MAX)
    }
}

impl Distribution {
    fn new(exact_up_to: usize, bits: u32, most: usize) -> Self {
        Self {
            exact_up_to: exact_up_to as u64,
            singles: Vec::new(),
            repeated: Vec::new(),
            histogram: Histogram::within(most, bits),
            coarse: false,
            exact: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
        }
    }

    /// A distribution that is exact up to `exact_up_to` values, and above uses at most `buckets` buckets, but at least 64.
    #[must_use]
    pub fn within(exact_up_to: usize, buckets: usize) -> Self {
        Self::new(exact_up_to, BITS_WITHIN, buckets.max(LEAST_BUCKETS))
    }

    /// Adds one span to the statistics.
    #[inline]
    pub fn push(&mut self, span: Span) {
        self.push_repeated(span.as_nanos(), 1);
    }

    /// Adds several spans: the same as [`Self::push`] with each.
    pub fn push_all(&mut self, batch: &Batch) {
        if self.coarse {
            self.histogram.add_all(&batch.spans, batch.max);
        } else if self.has_room(batch) {
            self.exact += batch.spans.len() as u64;
            self.make_room(batch.spans.len());
            self.singles.extend_from_slice(&batch.spans);
        } else {
            return batch.spans.iter().for_each(|span| self.push(*span));
        }
        self.note(batch);
    }

    /// As [`Self::push_all`]; without a copy if these spans are the first and the distribution stays exact.
    pub fn take_all(&mut self, batch: Batch) {
        if self.count() > 0 || !self.has_room(&batch) {
            return self.push_all(&batch);
        }
        self.note(&batch);
        self.exact = batch.spans.len() as u64;
        self.singles = batch.spans;
    }

    /// Whether the distribution stays exact with these spans.
    fn has_room(&self, batch: &Batch) -> bool {
        self.exact_up_to.saturating_sub(self.exact) >= batch.spans.len() as u64
    }

    /// Makes room for four times the values, so that a third of them are moved as it grows, not all: pages that are never
    /// written take no memory.
    fn make_room(&mut self, more: usize) {
        let held = self.singles.len();
        if self.singles.capacity() - held < more {
            let most = usize::try_from(self.exact_up_to).unwrap_or(usize::MAX);
            let wanted = (4 * (held + more)).min(most).max(held + more);
            self.singles.reserve_exact(wanted - held);
        }
    }

    fn note(&mut self, batch: &Batch) {
        self.min = self.min.min(batch.min);
        self.max = self.max.max(batch.max);
        self.sum += batch.sum;
    }

    /// Adds one span per item. Runs of equal spans are cheap.
    pub fn extend<T>(&mut self, items: &[T], span: impl Fn(&T) -> Span) {
        for (value, run) in equal_runs(items, span) {
            self.push_repeated(value.as_nanos(), run.len() as u64);
        }
    }

    /// Adds a value `times` times, at least once.
    #[inline]
    pub(super) fn push_repeated(&mut self, nanos: u64, times: u64) {
        if nanos < self.min {
            self.min = nanos;
        }
        if nanos > self.max {
            self.max = nanos;
        }
        self.sum += u128::from(nanos) * u128::from(times);
        if self.coarse {
            self.histogram.add(nanos, times);
        } else {
            self.push_exact(nanos, times);
        }
    }

    #[inline]
    fn push_exact(&mut self, nanos: u64, times: u64) {
        self.exact += times;
        if self.exact > self.exact_up_to {
            self.switch_to_histogram();
            self.histogram.add(nanos, times);
        } else if times == 1 {
            self.singles.extend(Span::from_nanos(nanos));
        } else {
            match self.repeated.last_mut() {
                Some((value, so_far)) if *value == nanos => *so_far += times,
                _ => self.repeated.push((nanos, times)),
            }
        }
    }

    /// Moves all single values into the histogram.
    #[cold]
    fn switch_to_histogram(&mut self) {
        self.coarse = true;
        let singles = std::mem::take(&mut self.singles);
        self.histogram.add_all(&singles, self.max);
        for (value, times) in std::mem::take(&mut self.repeated) {
            self.histogram.add(value, times);
        }
    }

    /// Number of values collected.
    #[must_use]
    pub fn count(&self) -> u64 {
        if self.coarse {
            self.histogram.count()
        } else {
            self.exact
        }
    }

    /// Precision of the percentiles of a [`Distribution`].
    #[must_use]
    pub fn precision(&self) -> Precision {
        if self.coarse {
            Precision::Bits(self.histogram.bits)
        } else {
            Precision::Exact
        }
    }

    /// Smallest value collected.
    #[must_use]
    pub fn min(&self) -> Option<Span> {
        Span::from_nanos(self.min).filter(|_| self.min <= self.max)
    }

    /// Largest value collected.
    #[must_use]
    pub fn max(&self) -> Option<Span> {
        Span::from_nanos(self.max).filter(|_| self.min <= self.max)
    }

    /// Mean, rounded half up to nanoseconds; `None` if the distribution is empty.
    #[must_use]
    pub fn mean(&self) -> Option<Span> {
        let count = u128::from(self.count());
        let mean = (self.sum + count / 2).checked_div(count)?;
        Span::from_nanos(u64::try_from(mean).ok()?)
    }

    /// The `percent`-th percentiles by nearest rank: the ⌈percent · n / 100⌉-th smallest values.
    #[must_use]
    pub fn percentiles<const N: usize>(&self, percents: [u64; N]) -> [Option<Span>; N] {
        self.percentiles_among(&mut self.singles.clone(), percents)
    }

    /// The percentiles, with the single values in `singles`, whose order changes.
    fn percentiles_among<const N: usize>(
        &self,
        singles: &mut [Span],
        percents: [u64; N],
    ) -> [Option<Span>; N] {
        let count = self.count();
        if count == 0 {
            return [None; N];
        }
        let ranks = percents.map(|percent| {
            let rank = (u128::from(count) * u128::from(percent)).div_ceil(100);
            u64::try_from(rank).unwrap_or(u64::MAX).clamp(1, count)
        });
        match self.precision() {
            Precision::Exact => self.exact_ranks(singles, ranks),
            Precision::Bits(_) => ranks.map(|rank| {
                let value = self.histogram.nearest(rank)?;
                Span::from_nanos(value.clamp(self.min, self.max))
            }),
        }
    }

    /// The values of these ranks while the distribution is exact.
    fn exact_ranks<const N: usize>(
        &self,
        singles: &mut [Span],
        ranks: [u64; N],
    ) -> [Option<Span>; N] {
        if self.repeated.is_empty() && singles.len() <= FEW {
            singles.sort_unstable();
            let place = |rank| usize::try_from(rank - 1).ok();
            return ranks.map(|rank| place(rank).and_then(|place| singles.get(place).copied()));
        }
        let repeated = Cumulated::of(&self.repeated);
        // Each selection leaves larger values to its right, so that a higher rank searches fewer values.
        let (mut below, mut before) = (0, 0);
        ranks.map(|rank| {
            if rank < before {
                below = 0;
            }
            before = rank;
            repeated.select(singles, &mut below, rank)
        })
    }

    /// Values in ascending order with their counts. Above the exact limit, the middles of the buckets within minimum and
    /// maximum, which have the precision of the percentiles.
    #[must_use]
    pub fn counts(&self) -> Vec<(Span, u64)> {
        let mut values = match self.precision() {
            Precision::Exact => {
                let singles = self.singles.iter().map(|value| (value.as_nanos(), 1));
                let mut values: Vec<_> = singles.chain(self.repeated.iter().copied()).collect();
                values.sort_unstable();
                values
            }
            Precision::Bits(_) => self.histogram.counts(self.min, self.max),
        };
        values.dedup_by(|next, kept| {
            let is_equal = next.0 == kept.0;
            kept.1 += if is_equal { next.1 } else { 0 };
            is_equal
        });
        let spans = values.into_iter();
        spans
            .filter_map(|(value, count)| Some((Span::from_nanos(value)?, count)))
            .collect()
    }

    /// All statistics in seconds, each increased by `offset`.
    #[must_use]
    pub fn quantiles(&self, offset: Span) -> Quantiles {
        self.quantiles_among(&mut self.singles.clone(), offset)
    }

    /// The same of a distribution that is not needed afterwards, without a copy of its values.
    #[must_use]
    pub fn into_quantiles(mut self, offset: Span) -> Quantiles {
        let mut singles = std::mem::take(&mut self.singles);
        self.quantiles_among(&mut singles, offset)
    }

    fn quantiles_among(&self, singles: &mut [Span], offset: Span) -> Quantiles {
        let seconds =
            |span: Option<Span>| span.map(|span| span.saturating_add(offset).as_secs_f64());
        let percentiles = self.percentiles_among(singles, [50, 85, 95, 99]);
        let [p50, p85, p95, p99] = percentiles.map(seconds);
        Quantiles {
            min: seconds(self.min()),
            mean: seconds(self.mean()),
            p50,
            p85,
            p95,
            p99,
            max: seconds(self.max()),
        }
    }
}

/// Repeated values in ascending order, with the number of values up to each.
struct Cumulated(Vec<(Span, u64)>);

impl Cumulated {
    fn of(repeated: &[(u64, u64)]) -> Self {
        let spans = repeated.iter();
        let mut values: Vec<_> = spans
            .filter_map(|&(value, times)| Some((Span::from_nanos(value)?, times)))
            .collect();
        values.sort_unstable();
        let mut total = 0;
        for (_, count) in &mut values {
            total += *count;
            *count = total;
        }
        Self(values)
    }

    /// Number of repeated values for which `is_below` is true, as it is for all smaller ones.
    fn count(&self, is_below: impl Fn(Span) -> bool) -> u64 {
        let end = self.0.partition_point(|&(value, _)| is_below(value));
        self.0[..end].last().map_or(0, |&(_, count)| count)
    }

    /// The value of this rank, from 1, among the repeated ones and `singles`, whose first `below` are smaller; it sorts them in
    /// part.
    fn select(&self, singles: &mut [Span], below: &mut usize, rank: u64) -> Option<Span> {
        let (mut from, mut to) = (*below, singles.len());
        while from < to {
            // Without repeated values it is known which one is looked for.
            let place = if self.0.is_empty() {
                usize::try_from(rank).ok()?.checked_sub(1)?
            } else {
                from.midpoint(to)
            };
            let (_, pivot, _) = singles.get_mut(from..to)?.select_nth_unstable(place - from);
            let (pivot, before) = (*pivot, place as u64);
            if rank <= before + self.count(|value| value < pivot) {
                to = place;
            } else if rank <= before + 1 + self.count(|value| value <= pivot) {
                *below = place;
                return Some(pivot);
            } else {
                from = place + 1;
            }
        }
        *below = from;
        let behind = self
            .0
            .partition_point(|&(_, count)| from as u64 + count < rank);
        self.0.get(behind).map(|&(value, _)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut distribution = Distribution::default();
        values
            .into_iter()
            .for_each(|nanos| distribution.push(Span::from_nanos(nanos).unwrap()));
        distribution
    }

    proptest! {
        /// By the position of the leading one.
        #[test]
        fn a_bucket_is_an_exponent_and_leading_bits(
            nanos in (0u32..63, 1u64..1 << 63).prop_map(|(shift, nanos)| (nanos >> shift).max(1)),
            bits in 0..=BITS,
        ) {
            for nanos in [nanos, nanos.next_power_of_two() - 1].map(|nanos| nanos.clamp(1, u64::MAX >> 1)) {
                let exponent = nanos.ilog2();
                let mantissa = (u128::from(nanos) << bits >> exponent) - (1 << bits);
                prop_assert_eq!(u128::from(bucket(nanos, bits)), (u128::from(exponent) << bits) + mantissa);
            }
            prop_assert!(bucket(0, bits) > bucket(u64::MAX >> 1, bits));
        }
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let [p50, p85, p100] = of([15, 20, 35, 40, 50]).percentiles([50, 85, 100]);
        assert_eq!(
            (p50, p85, p100),
            (
                Span::from_nanos(35),
                Span::from_nanos(50),
                Span::from_nanos(50)
            )
        );
    }

    #[test]
    fn the_mean_rounds_half_up() {
        assert_eq!(of([1, 2]).mean(), Span::from_nanos(2));
        assert_eq!(of([1, 1, 2]).mean(), Span::from_nanos(1));
    }

    #[test]
    fn an_empty_distribution_has_no_statistics() {
        let nothing = Distribution::default();
        assert_eq!(nothing.quantiles(Span::from_millis(1)).min, None);
        assert_eq!(nothing.mean(), None);
        assert_eq!(nothing.percentiles([50]), [None]);
    }

    #[test]
    fn above_the_exact_limit_values_are_within_a_thousandth() {
        let count = EXACT_UP_TO as u64 + 500_000;
        // Values from 250 ms on, 1 µs apart, so that the percentiles are known.
        let value = |rank: u64| 250_000_000 + (rank - 1) * 1_000;
        let distribution = of((1..=count).map(value));
        assert_eq!(distribution.precision(), Precision::Bits(BITS));
        for (percent, got) in [50, 85, 95, 99]
            .into_iter()
            .zip(distribution.percentiles([50, 85, 95, 99]))
        {
            let (exact, got) = (
                value((count * percent).div_ceil(100)),
                got.unwrap().as_nanos(),
            );
            assert!(
                got.abs_diff(exact) * 1000 <= exact,
                "p{percent}: {got} for {exact}"
            );
        }
        assert_eq!(distribution.max().unwrap().as_nanos(), value(count));
        assert_eq!(
            distribution.mean().unwrap().as_nanos(),
            u64::midpoint(value(1), value(count))
        );
    }

    proptest! {
        #[test]
        fn slicing_does_not_change_the_distribution(
            values in prop::collection::vec((prop_oneof![0u64..4, 1_000_000u64..1_000_100, any::<u32>().prop_map(u64::from)], 1usize..5), 0..60),
            slice in 1usize..50, percents in prop::array::uniform4(0u64..=100),
        ) {
            let mut sorted: Vec<u64> = values.iter().flat_map(|&(value, times)| std::iter::repeat_n(value, times)).collect();
            let mut distribution = Distribution::default();
            for slice in sorted.chunks(slice) {
                distribution.extend(slice, |nanos| Span::from_nanos(*nanos).unwrap());
            }
            let one_by_one = of(sorted.iter().copied());
            sorted.sort_unstable();
            let count = sorted.len();
            let sum: u128 = sorted.iter().map(|&nanos| u128::from(nanos)).sum();
            for got in [&distribution, &one_by_one] {
                prop_assert_eq!((got.count(), got.sum, got.precision()), (count as u64, sum, Precision::Exact));
                prop_assert_eq!((got.min(), got.max()), (sorted.first().and_then(|n| Span::from_nanos(*n)), sorted.last().and_then(|n| Span::from_nanos(*n))));
                // Nearest rank, for percentiles in any order.
                let expected = percents.map(|percent| {
                    let rank = (usize::try_from(percent).unwrap() * count).div_ceil(100).max(1);
                    sorted.get(rank - 1).and_then(|nanos| Span::from_nanos(*nanos))
                });
                prop_assert_eq!(got.percentiles(percents), expected);
            }
            prop_assert_eq!(distribution.quantiles(Span::ZERO), distribution.into_quantiles(Span::ZERO));
            prop_assert_eq!(one_by_one.quantiles(Span::ZERO), one_by_one.into_quantiles(Span::ZERO));
        }
    }

    #[test]
    fn the_limit_counts_values_and_not_their_runs() {
        let limit = vec![7u64; EXACT_UP_TO];
        let span = |nanos: &u64| Span::from_nanos(*nanos).unwrap();
        let mut distribution = Distribution::default();
        distribution.extend(&limit, span);
        assert_eq!(distribution.precision(), Precision::Exact);
        distribution.extend(&[8], span);
        assert_eq!(distribution.precision(), Precision::Bits(BITS));
        assert_eq!(
            (distribution.count(), distribution.max()),
            (EXACT_UP_TO as u64 + 1, Span::from_nanos(8))
        );
        assert_eq!(distribution.percentiles([50, 99]), [Span::from_nanos(7); 2]);
    }

    fn within(values: &[u64], exact_up_to: usize, buckets: usize) -> Distribution {
        let mut sketch = Distribution::within(exact_up_to, buckets);
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
        /// Compared with sorting: percentiles have the stated precision, and the limit of buckets holds.
        #[test]
        fn percentiles_have_the_stated_precision(
            values in prop::collection::vec(value(), 1..200),
            exact_up_to in 0usize..100, buckets in prop_oneof![Just(0usize), 64usize..5_000, Just(1 << 15)],
        ) {
            let sketch = within(&values, exact_up_to, buckets);
            let mut in_lots = Distribution::within(exact_up_to, buckets);
            for (number, lot) in values.chunks(7).enumerate() {
                let spans: Vec<Span> = lot.iter().filter_map(|nanos| Span::from_nanos(*nanos)).collect();
                let batch = Batch::from(spans);
                if number % 2 == 0 { in_lots.take_all(batch) } else { in_lots.push_all(&batch) }
            }
            prop_assert_eq!(format!("{in_lots:?}"), format!("{sketch:?}"));
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let off = match sketch.precision() {
                Precision::Exact => { prop_assert!(values.len() <= exact_up_to); 0 }
                Precision::Bits(bits) => { prop_assert!(values.len() > exact_up_to && bits <= BITS_WITHIN); 2u64 << bits }
            };
            prop_assert!(sketch.histogram.counts.len() <= buckets.max(LEAST_BUCKETS));
            let percents = [1, 50, 85, 99, 100];
            for (percent, got) in percents.into_iter().zip(sketch.percentiles(percents)) {
                let exact = sorted[(values.len() * usize::try_from(percent).unwrap()).div_ceil(100) - 1];
                let most = exact.checked_div(off).unwrap_or(0);
                let got = got.map(Span::as_nanos);
                prop_assert!(got.unwrap().abs_diff(exact) <= most, "p{percent}: {got:?} for {exact}, within {most}");
            }
            // All values, in order, each within the precision.
            let counts = sketch.counts();
            prop_assert!(counts.is_sorted_by(|one, next| one.0 < next.0));
            let listed = counts.iter().flat_map(|(value, count)| {
                std::iter::repeat_n(value.as_nanos(), usize::try_from(*count).unwrap())
            });
            let listed: Vec<u64> = listed.collect();
            prop_assert_eq!(listed.len(), sorted.len());
            for (got, exact) in listed.iter().zip(&sorted) {
                let most = exact.checked_div(off).unwrap_or(0);
                prop_assert!(got.abs_diff(*exact) <= most, "{} for {}, within {}", got, exact, most);
            }
            let mean = values.iter().map(|n| u128::from(*n)).sum::<u128>();
            prop_assert_eq!((sketch.sum, sketch.min, sketch.max), (mean, sorted[0], *sorted.last().unwrap()));
        }
    }

    #[test]
    fn the_precision_is_a_thousandth_if_the_buckets_suffice() {
        let sketch = within(
            &[1, u64::from(u32::MAX), i64::MAX.unsigned_abs()],
            0,
            1 << 15,
        );
        assert_eq!(sketch.precision(), Precision::Bits(BITS_WITHIN));
        // A narrow range of values needs few buckets.
        let near: Vec<u64> = (0..1000).map(|k| 500_000_000 + k * 50_000).collect();
        assert_eq!(
            within(&near, 0, 128).precision(),
            Precision::Bits(BITS_WITHIN)
        );
    }

    /// Buckets equal those of `HdrHistogram` with three significant digits (`median_equivalent`), which earlier reports used.
    #[test]
    fn buckets_agree_with_hdr_histogram() {
        let recorded = [
            (0, 0),
            (1, 1),
            (2047, 2047),
            (2048, 2049),
            (2049, 2049),
            (4095, 4095),
            (4097, 4098),
            (123_456, 123_488),
            (250_000_001, 250_019_840),
            (999_999_999_999, 999_922_073_600),
            (4_611_686_018_427_400_249, 4_613_937_818_241_073_152),
            (i64::MAX.unsigned_abs(), 9_221_120_237_041_090_560),
        ];
        let mut distribution = Distribution::new(0, BITS, usize::MAX);
        for (value, _) in recorded {
            distribution.push_repeated(value, 1);
        }
        for ((value, middle), rank) in recorded.into_iter().zip(1..) {
            let found = distribution.histogram.nearest(rank);
            assert_eq!(found, Some(middle), "{value}");
        }
    }
}
