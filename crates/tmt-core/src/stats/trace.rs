//! Statistics of a trace, for `tmt stats` (docs/metrics.md, Sec. 9).

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::stats::distribution::{Distribution, Precision, Quantiles};
use crate::stats::runs::{Counts, RunLengths, Runs, serialize_histogram, total};
use crate::stats::{Rates, by_attempts, ratio};
use crate::types::{Bytes, Metadata, Slot, Span, Time, to_f64};

/// Collects the statistics of a trace.
///
/// ```
/// use tmt_core::stats::TraceTally;
/// use tmt_core::types::Metadata;
/// use tmt_core::{Slot, Span, Time};
///
/// let at = |millis| Time::ZERO.saturating_add(Span::from_millis(millis));
/// let mut tally = TraceTally::default();
/// tally.slots(&[Slot::erased(at(0)), Slot::erased(at(1)), Slot::erased(at(2))], &[]);
/// let stats = tally.finish(&Metadata::new(), None, None);
/// assert_eq!((stats.slots, stats.erasure_ratio), (3, Some(1.0)));
/// assert_eq!(stats.bursts.get(&3), Some(&1)); // one burst of three
/// ```
#[derive(Debug, Default)]
pub struct TraceTally {
    first: Time,
    last: Time,
    longest_step: Span,
    delay: Distribution,
    runs: Runs,
    attempts: Counts,
}

/// Statistics of one trace, with the fields of docs/metrics.md, Sec. 9.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceStats {
    /// Rows: slots of a PHY trace, or data LLDUs of a timeline.
    pub slots: u64,
    /// Transmission time of the first row, s, rounded to a double.
    pub first_s: f64,
    /// Transmission time of the last row, s, rounded to a double.
    pub last_s: f64,
    /// Transmission time of the first row, ns. JSON has `first_s`.
    #[serde(skip)]
    pub first_ns: u64,
    /// Transmission time of the last row, ns. JSON has `last_s`.
    #[serde(skip)]
    pub last_ns: u64,
    /// Mean time between rows, s; null for a single row.
    pub slot_period_s: Option<f64>,
    /// Longest time between neighbouring rows, s.
    pub longest_slot_period_s: f64,
    /// Rows per second; null if all rows have the same time.
    pub slots_per_s: Option<f64>,
    /// Bit rate, `slots_per_s` · 8 · LLDU size; null if the LLDU size is unknown.
    pub rate_bps: Option<f64>,
    /// Rates over windows, which the caller takes with a [`RateTally`](crate::stats::RateTally).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rates: Option<Rates>,
    /// LLDU size used for `rate_bps`, bytes; `None` if unknown. A parameter, which JSON has in `params`.
    #[serde(skip)]
    pub lldu_bytes: Option<u64>,
    /// Rows with a decoding delay of 0.
    pub slots_erased: u64,
    /// `slots_erased / slots`.
    pub erasure_ratio: Option<f64>,
    /// Measured probability of staying in the good state: P(received after received).
    pub alpha: Option<f64>,
    /// Measured probability of staying in the bad state: P(erased after erased).
    pub beta: Option<f64>,
    /// Decoding delay of received rows, propagation excluded, s.
    #[serde(flatten, serialize_with = "decode_delay")]
    pub decode_delay_s: Quantiles,
    /// Decoding delay plus ⌊RTT/2⌋, s; null if the RTT is unknown.
    #[serde(flatten, serialize_with = "delay")]
    pub delay_s: Option<Quantiles>,
    /// RTT used for `delay_s`, ns; `None` if unknown. A parameter, too.
    #[serde(skip)]
    pub rtt_ns: Option<u64>,
    /// Precision of the percentiles.
    pub delay_percentiles: Precision,
    /// Number of received rows by attempts; empty if the trace has no such column.
    #[serde(serialize_with = "serialize_histogram")]
    pub attempts: BTreeMap<u32, u64>,
    /// Bursts of erased rows, by length.
    #[serde(serialize_with = "serialize_histogram")]
    pub bursts: RunLengths,
    /// Gaps of received rows between bursts, by length.
    #[serde(serialize_with = "serialize_histogram")]
    pub gaps: RunLengths,
}

fn decode_delay<S: Serializer>(quantiles: &Quantiles, serializer: S) -> Result<S::Ok, S::Error> {
    Quantiles::serialize_named(Some(quantiles), "decode_delay", serializer)
}

#[expect(clippy::ref_option, reason = "as serde passes it")]
fn delay<S: Serializer>(quantiles: &Option<Quantiles>, serializer: S) -> Result<S::Ok, S::Error> {
    Quantiles::serialize_named(quantiles.as_ref(), "delay", serializer)
}

impl TraceTally {
    /// Adds the next rows, in order of time. `attempts` has one value per row, or is empty if the trace has no such column.
    pub fn slots(&mut self, slots: &[Slot], attempts: &[u32]) {
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else {
            return;
        };
        if self.runs.ends_in_burst().is_none() {
            self.first = first.tx_time();
            self.last = self.first;
        }
        let mut before = self.last;
        let mut longest = self.longest_step;
        for slot in slots {
            longest = longest.max(slot.tx_time().since(before));
            before = slot.tx_time();
        }
        self.longest_step = longest;
        self.last = last.tx_time();
        let mut at = 0;
        self.runs.extend(slots, Slot::is_erased, |burst, run| {
            if !burst {
                self.delay.extend(run, Slot::decode_delay);
                let theirs = attempts.get(at..at + run.len()).unwrap_or_default();
                for equal in theirs.chunk_by(|a, b| a == b) {
                    self.attempts.add(u64::from(equal[0]), equal.len() as u64);
                }
            }
            at += run.len();
        });
    }

    /// The decoding delays of received rows so far.
    pub(super) fn delays(&self) -> &Distribution {
        &self.delay
    }

    /// Computes the statistics. `rtt` and `lldu` take precedence over the metadata.
    #[must_use]
    pub fn finish(self, head: &Metadata, rtt: Option<Span>, lldu: Option<Bytes>) -> TraceStats {
        let rtt = rtt.or_else(|| head.rtt());
        let lldu = lldu.or_else(|| head.lldu_bytes());
        let length = self.last.since(self.first);
        let (bursts, gaps) = (self.runs.bursts(), self.runs.gaps());
        let slots_erased = total(&bursts);
        let slots = slots_erased + total(&gaps);
        let steps = slots.saturating_sub(1);
        let slots_per_s = (!length.is_zero()).then(|| to_f64(steps) / length.as_secs_f64());
        // In a run, all rows but the first follow one of their kind. All rows but the last of the trace have a successor.
        let stay = |runs: &RunLengths, is_last: bool| {
            let follow = total(runs) - runs.values().sum::<u64>();
            ratio(follow, total(runs).saturating_sub(u64::from(is_last)))
        };
        let ends = self.runs.ends_in_burst();
        TraceStats {
            slots,
            first_s: self.first.since(Time::ZERO).as_secs_f64(),
            last_s: self.last.since(Time::ZERO).as_secs_f64(),
            first_ns: self.first.as_nanos(),
            last_ns: self.last.as_nanos(),
            slot_period_s: (steps > 0).then(|| length.as_secs_f64() / to_f64(steps)),
            longest_slot_period_s: self.longest_step.as_secs_f64(),
            slots_per_s,
            rate_bps: slots_per_s
                .zip(lldu)
                .map(|(slots, lldu)| slots * 8.0 * to_f64(lldu.0)),
            rates: None,
            lldu_bytes: lldu.map(|lldu| lldu.0),
            slots_erased,
            erasure_ratio: ratio(slots_erased, slots),
            alpha: stay(&gaps, ends == Some(false)),
            beta: stay(&bursts, ends == Some(true)),
            decode_delay_s: self.delay.quantiles(Span::ZERO),
            delay_s: rtt.map(|rtt| self.delay.quantiles(rtt.half())),
            rtt_ns: rtt.map(Span::as_nanos),
            delay_percentiles: self.delay.precision(),
            attempts: by_attempts(&self.attempts),
            bursts,
            gaps,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slot(&(t, d): &(u64, u64)) -> Slot {
        Slot::new(Time::from_nanos(t).unwrap(), Span::from_nanos(d).unwrap()).unwrap()
    }

    fn stats(slots: &[(u64, u64)]) -> TraceStats {
        let mut tally = TraceTally::default();
        for each in slots {
            tally.slots(&[slot(each)], &[]);
        }
        tally.finish(&Metadata::new(), None, Some(Bytes(125)))
    }

    #[test]
    fn statistics_of_a_small_trace() {
        let stats = stats(&[(0, 5), (1_000_000, 0), (2_000_000, 0), (4_000_000, 7)]);
        assert_eq!((stats.slots, stats.slots_erased), (4, 2));
        assert_eq!(stats.slots_per_s, Some(750.0));
        assert_eq!(stats.rate_bps, Some(750_000.0));
        assert_eq!(stats.bursts, BTreeMap::from([(2, 1)]));
        assert_eq!(stats.gaps, BTreeMap::from([(1, 2)]));
        assert_eq!((stats.alpha, stats.beta), (Some(0.0), Some(0.5)));
        assert_eq!(stats.decode_delay_s.max, Some(7e-9));
    }

    #[test]
    fn one_slot_has_no_rate() {
        let stats = stats(&[(5, 1)]);
        assert_eq!(
            (stats.slots_per_s, stats.rate_bps, stats.slot_period_s),
            (None, None, None)
        );
        assert_eq!((stats.alpha, stats.beta), (None, None));
    }

    proptest! {
        #[test]
        fn slicing_does_not_change_the_statistics(
            rows in prop::collection::vec((0u64..50, prop_oneof![2 => Just(0u64), 3 => 1u64..4], 1u32..4), 1..60),
            length in 1usize..70, with_attempts in any::<bool>(),
        ) {
            let mut t = 0;
            let mut slots = Vec::new();
            for &(step, delay, _) in &rows {
                t += step;
                slots.push((t, delay));
            }
            let theirs: Vec<u32> = rows.iter().map(|row| row.2).collect();
            let mut tally = TraceTally::default();
            for (slots, attempts) in slots.chunks(length).zip(theirs.chunks(length)) {
                let slots: Vec<Slot> = slots.iter().map(slot).collect();
                tally.slots(&slots, if with_attempts { attempts } else { &[] });
            }
            let got = tally.finish(&Metadata::new(), None, None);

            let pairs = |from: bool, to: bool| {
                let met = slots.windows(2).filter(|pair| (pair[0].1 == 0) == from && (pair[1].1 == 0) == to);
                met.count() as u64
            };
            prop_assert_eq!(got.alpha, ratio(pairs(false, false), pairs(false, false) + pairs(false, true)));
            prop_assert_eq!(got.beta, ratio(pairs(true, true), pairs(true, true) + pairs(true, false)));
            let longest = slots.windows(2).map(|pair| pair[1].0 - pair[0].0).max().unwrap_or(0);
            prop_assert_eq!(Some(got.longest_slot_period_s), Span::from_nanos(longest).map(Span::as_secs_f64));
            prop_assert_eq!((got.slots, got.first_ns, got.last_ns), (slots.len() as u64, slots[0].0, t));
            prop_assert_eq!(got.slots_erased, slots.iter().filter(|slot| slot.1 == 0).count() as u64);
            let mut attempts = BTreeMap::new();
            let mut delay = Distribution::default();
            for (slot, theirs) in slots.iter().zip(&theirs).filter(|(slot, _)| slot.1 > 0) {
                delay.push(Span::from_nanos(slot.1).unwrap());
                if with_attempts {
                    *attempts.entry(*theirs).or_insert(0) += 1;
                }
            }
            prop_assert_eq!(got.attempts, attempts);
            prop_assert_eq!(got.decode_delay_s, delay.quantiles(Span::ZERO));
        }
    }
}
