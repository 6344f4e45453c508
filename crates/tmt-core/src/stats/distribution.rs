//! Order statistics of spans in bounded memory.

mod buckets;
mod sketch;

use buckets::Buckets;
use serde::{Serialize, Serializer};
pub use sketch::Sketch;

use crate::types::Span;

/// Values kept one by one before the histogram takes over.
pub const EXACT_UP_TO: usize = 1_000_000;

/// Collects spans and answers with their order statistics: exact up to [`EXACT_UP_TO`] values, and
/// within 0.1 % above.
#[derive(Debug, Clone, Default)]
pub struct Distribution {
    /// Single values, and values with how often they came in a row, up to [`EXACT_UP_TO`] together.
    singles: Vec<u64>,
    repeated: Vec<(u64, u64)>,
    histogram: Option<Buckets>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// What a [`Distribution`] knows, in seconds; every value is `null` where nothing was collected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantiles {
    /// Smallest value.
    pub min: Option<f64>,
    /// Mean, rounded to whole nanoseconds.
    pub mean: Option<f64>,
    /// Median by nearest rank.
    pub p50: Option<f64>,
    /// 85th percentile by nearest rank.
    pub p85: Option<f64>,
    /// 95th percentile by nearest rank.
    pub p95: Option<f64>,
    /// 99th percentile by nearest rank.
    pub p99: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

/// How far the percentiles may be off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Not at all.
    Exact,
    /// By 0.1 % of the value.
    Histogram,
    /// By 2^-(n + 1) of the value, for n bits (up to 9) that tell a bucket.
    Bits(u32),
}

impl Precision {
    /// In words.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Histogram | Self::Bits(9..) => "within 0.1 %",
            Self::Bits(8) => "within 0.2 %",
            Self::Bits(7) => "within 0.4 %",
            Self::Bits(6) => "within 0.8 %",
            Self::Bits(5) => "within 1.6 %",
            Self::Bits(4) => "within 3.2 %",
            Self::Bits(3) => "within 6.3 %",
            Self::Bits(2) => "within 13 %",
            Self::Bits(1) => "within 25 %",
            Self::Bits(0) => "within 50 %",
        }
    }
}

impl Serialize for Precision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

/// Nanoseconds, where there are any, in seconds.
fn seconds_of(nanos: Option<u64>) -> Option<f64> {
    nanos.and_then(Span::from_nanos).map(Span::as_secs_f64)
}

impl Distribution {
    /// Collects `span`.
    pub fn push(&mut self, span: Span) {
        self.push_times(span.as_nanos(), 1);
    }

    /// Collects a span of each thing. Equal ones that follow each other cost little.
    pub fn extend<T>(&mut self, things: &[T], span: impl Fn(&T) -> Span) {
        let mut rest = things;
        while let Some(first) = rest.first() {
            let value = span(first);
            let times = rest
                .iter()
                .position(|thing| span(thing) != value)
                .unwrap_or(rest.len());
            self.push_times(value.as_nanos(), times as u64);
            rest = &rest[times..];
        }
    }

    /// Collects a value that came so many times (at least once) in a row.
    fn push_times(&mut self, nanos: u64, times: u64) {
        self.min = if self.count == 0 {
            nanos
        } else {
            self.min.min(nanos)
        };
        self.max = self.max.max(nanos);
        self.count += times;
        self.sum += u128::from(nanos) * u128::from(times);
        if self.histogram.is_none() && self.count > EXACT_UP_TO as u64 {
            self.start_histogram();
        }
        match &mut self.histogram {
            Some(histogram) => histogram.add(nanos, times),
            None if times == 1 => self.singles.push(nanos),
            None => match self.repeated.last_mut() {
                Some((value, so_far)) if *value == nanos => *so_far += times,
                _ => self.repeated.push((nanos, times)),
            },
        }
    }

    /// Goes over from single values to the histogram.
    #[cold]
    fn start_histogram(&mut self) {
        if self.histogram.is_some() {
            return;
        }
        let Some(mut histogram) = Buckets::new() else {
            return;
        };
        for (value, times) in self.exact() {
            histogram.add(value, times);
        }
        self.singles = Vec::new();
        self.repeated = Vec::new();
        self.histogram = Some(histogram);
    }

    /// The values kept one by one, and how often each came.
    fn exact(&self) -> impl Iterator<Item = (u64, u64)> {
        let singles = self.singles.iter().map(|&value| (value, 1));
        singles.chain(self.repeated.iter().copied())
    }

    /// Collects all that `other` has; as exact as the less exact of the two, or as their common size allows.
    pub fn merge(&mut self, other: &Self) {
        let (count, sum) = (self.count + other.count, self.sum + other.sum);
        match &other.histogram {
            None => other
                .exact()
                .for_each(|(nanos, times)| self.push_times(nanos, times)),
            Some(theirs) => {
                self.start_histogram();
                if let Some(mine) = &mut self.histogram {
                    mine.merge(theirs);
                }
                self.min = if self.count == 0 {
                    other.min
                } else {
                    self.min.min(other.min)
                };
                self.max = self.max.max(other.max);
            }
        }
        self.count = count;
        self.sum = sum;
    }

    /// Values collected.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How far the percentiles may be off.
    #[must_use]
    pub fn precision(&self) -> Precision {
        if self.histogram.is_some() {
            Precision::Histogram
        } else {
            Precision::Exact
        }
    }

    /// Smallest value.
    #[must_use]
    pub fn min(&self) -> Option<Span> {
        (self.count > 0)
            .then(|| Span::from_nanos(self.min))
            .flatten()
    }

    /// Largest value.
    #[must_use]
    pub fn max(&self) -> Option<Span> {
        (self.count > 0)
            .then(|| Span::from_nanos(self.max))
            .flatten()
    }

    /// Mean, rounded half up to whole nanoseconds.
    #[must_use]
    pub fn mean(&self) -> Option<Span> {
        let count = u128::from(self.count);
        let mean = (self.sum + count / 2).checked_div(count)?;
        Span::from_nanos(u64::try_from(mean).ok()?)
    }

    /// The `percent`-th percentiles by nearest rank: the ⌈percent · n / 100⌉-th smallest values.
    #[must_use]
    pub fn percentiles<const N: usize>(&self, percents: [u64; N]) -> [Option<Span>; N] {
        if self.count == 0 {
            return [None; N];
        }
        let ranks = percents.map(|percent| {
            let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100);
            u64::try_from(rank).unwrap_or(u64::MAX).clamp(1, self.count)
        });
        let values = match &self.histogram {
            None => self.exact_ranks(ranks),
            Some(histogram) => ranks.map(|rank| {
                let value = histogram.nearest(rank)?;
                Some(value.clamp(self.min, self.max))
            }),
        };
        values.map(|value| value.and_then(Span::from_nanos))
    }

    /// The values of these ranks among those kept one by one.
    fn exact_ranks<const N: usize>(&self, ranks: [u64; N]) -> [Option<u64>; N] {
        let mut values = Vec::with_capacity(usize::try_from(self.count).unwrap_or(0));
        values.extend_from_slice(&self.singles);
        for &(value, times) in &self.repeated {
            let times = usize::try_from(times).unwrap_or(0);
            values.extend(std::iter::repeat_n(value, times));
        }
        // Each selection leaves what is above it behind it, where a higher rank has less to search.
        let mut from = 0;
        ranks.map(|rank| {
            let place = usize::try_from(rank).ok()?.checked_sub(1)?;
            if place < from {
                from = 0;
            }
            let (_, value, _) = values.get_mut(from..)?.select_nth_unstable(place - from);
            from = place;
            Some(*value)
        })
    }

    /// All order statistics, each value moved by `offset`, in seconds.
    #[must_use]
    pub fn quantiles(&self, offset: Span) -> Quantiles {
        let seconds =
            |span: Option<Span>| span.map(|span| span.saturating_add(offset).as_secs_f64());
        let [p50, p85, p95, p99] = self.percentiles([50, 85, 95, 99]).map(seconds);
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
    fn nothing_collected_gives_nothing() {
        let nothing = Distribution::default();
        assert_eq!(nothing.quantiles(Span::from_millis(1)).min, None);
        assert_eq!(nothing.mean(), None);
        assert_eq!(nothing.percentiles([50]), [None]);
    }

    #[test]
    fn merging_is_collecting_both() {
        let (low, high) = (1..=700_000u64, 700_001..=1_500_000u64);
        let mut merged = of(low.clone());
        merged.merge(&of(high.clone()));
        let at_once = of(low.chain(high));
        assert_eq!(
            (merged.count(), merged.mean(), merged.min(), merged.max()),
            (
                at_once.count(),
                at_once.mean(),
                at_once.min(),
                at_once.max()
            )
        );
        assert_eq!(merged.percentiles([50, 99]), at_once.percentiles([50, 99]));
        let mut from_nothing = Distribution::default();
        from_nothing.merge(&at_once);
        assert_eq!(
            (from_nothing.min(), from_nothing.percentiles([85])),
            (at_once.min(), at_once.percentiles([85]))
        );
    }

    #[test]
    fn above_the_exact_limit_values_are_within_a_thousandth() {
        let count = EXACT_UP_TO as u64 + 500_000;
        // Every value from 250 ms on, 1 µs apart: the percentiles are known.
        let value = |rank: u64| 250_000_000 + (rank - 1) * 1_000;
        let distribution = of((1..=count).map(value));
        assert_eq!(distribution.precision(), Precision::Histogram);
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
        fn values_in_slices_are_values_one_by_one(
            values in prop::collection::vec((prop_oneof![0u64..4, 1_000_000u64..1_000_100, any::<u32>().prop_map(u64::from)], 1usize..5), 0..60),
            slice in 1usize..50, percents in prop::array::uniform4(0u64..=100),
        ) {
            let mut sorted: Vec<u64> = values.iter().flat_map(|&(value, times)| std::iter::repeat_n(value, times)).collect();
            let mut distribution = Distribution::default();
            for slice in sorted.chunks(slice) {
                distribution.extend(slice, |nanos| Span::from_nanos(*nanos).unwrap());
            }
            let (one_by_one, mut merged) = (of(sorted.iter().copied()), of([]));
            merged.merge(&distribution);
            sorted.sort_unstable();
            let count = sorted.len();
            let sum: u128 = sorted.iter().map(|&nanos| u128::from(nanos)).sum();
            for got in [&distribution, &one_by_one, &merged] {
                prop_assert_eq!((got.count(), got.sum, got.precision()), (count as u64, sum, Precision::Exact));
                prop_assert_eq!((got.min(), got.max()), (sorted.first().and_then(|n| Span::from_nanos(*n)), sorted.last().and_then(|n| Span::from_nanos(*n))));
                // Nearest rank, in any order of asking.
                let expected = percents.map(|percent| {
                    let rank = (usize::try_from(percent).unwrap() * count).div_ceil(100).max(1);
                    sorted.get(rank - 1).and_then(|nanos| Span::from_nanos(*nanos))
                });
                prop_assert_eq!(got.percentiles(percents), expected);
            }
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
        assert_eq!(distribution.precision(), Precision::Histogram);
        assert_eq!(
            (distribution.count(), distribution.max()),
            (EXACT_UP_TO as u64 + 1, Span::from_nanos(8))
        );
        assert_eq!(distribution.percentiles([50, 99]), [Span::from_nanos(7); 2]);
    }
}
