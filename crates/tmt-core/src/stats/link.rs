//! Summary of a scheme over a trace (docs/schemes.md, Sec. 8).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::scheme::SchemeSpec;
use crate::scheme::engine::UnitCounts;
use crate::stats::distribution::{Distribution, Precision, Quantiles};
use crate::stats::plausible::wrong_unit;
use crate::stats::runs::{Counts, RunLengths, Runs, equal_runs, total};
use crate::types::{Fate, Lldu, Slot, Span, Time, to_f64};

/// Statistics of the slots of a trace, which are the same for every scheme.
#[derive(Debug, Clone, Default)]
pub struct SlotTally {
    runs: Runs,
    /// Transmission times of the first and the last slot.
    span: Option<(Time, Time)>,
    /// Decoding delays of the first received slots.
    delays: Vec<Span>,
}

/// Received slots whose delays are kept for the median.
const SAMPLE: usize = 4096;

impl SlotTally {
    /// Adds the next slots, in order of time.
    pub fn slots(&mut self, slots: &[Slot]) {
        self.runs.extend(slots, Slot::is_erased, |_, _| ());
        if let (Some(first), Some(last)) = (slots.first(), slots.last()) {
            let begin = self.span.map_or(first.tx_time(), |(begin, _)| begin);
            self.span = Some((begin, last.tx_time()));
        }
        let missing = SAMPLE - self.delays.len();
        if missing > 0 {
            let received = slots.iter().filter(|slot| !slot.is_erased());
            self.delays
                .extend(received.take(missing).map(Slot::decode_delay));
        }
    }

    /// Mean time between two slots, s; `None` for a single slot.
    #[must_use]
    pub fn period_s(&self) -> Option<f64> {
        let steps = (total(&self.runs.bursts()) + total(&self.runs.gaps())).checked_sub(1)?;
        let (first, last) = self.span.filter(|_| steps > 0)?;
        Some(last.since(first).as_secs_f64() / to_f64(steps))
    }

    /// Lower median of the decoding delays of the first 4096 received slots, s; `None` if there is none.
    #[must_use]
    pub fn median_delay_s(&self) -> Option<f64> {
        let mut delays = self.delays.clone();
        delays.sort_unstable();
        let median = delays.get(delays.len().checked_sub(1)? / 2)?;
        Some(median.as_secs_f64())
    }
}

/// Statistics of the LLDUs of one scheme.
#[derive(Debug, Clone, Default)]
pub struct LlduTally {
    delivered: u64,
    lost: u64,
    censored: u64,
    delay: Distribution,
    attempts: Counts,
    runs: Runs,
}

impl LlduTally {
    /// Adds the next LLDUs, in number order.
    pub fn lldus(&mut self, lldus: &[Lldu]) {
        for ((attempts, fate), run) in equal_runs(lldus, |lldu| (lldu.attempts, lldu.fate)) {
            let count = run.len() as u64;
            self.runs.push(fate != Fate::Delivered, count);
            match fate {
                Fate::Delivered => {
                    self.delivered += count;
                    self.attempts.add(u64::from(attempts), count);
                    self.delay.extend(run, |lldu| lldu.decode_delay);
                }
                Fate::Lost => self.lost += count,
                Fate::Censored => self.censored += count,
            }
        }
    }
}

/// Summary of one scheme over one trace, with the fields of docs/schemes.md, Sec. 8.
///
/// ```
/// use tmt_core::stats::{LinkSummary, LlduTally, SlotTally};
/// use tmt_core::{SchemeSpec, Slot, Span, Time, SchemeRunner};
///
/// let (rtt, feedback_delay) = (Span::from_millis(20), Span::ZERO);
/// let mut runner = SchemeRunner::new(SchemeSpec::arq(), rtt, feedback_delay);
/// let (mut slots, mut delivered, mut lldus) = (SlotTally::default(), LlduTally::default(), Vec::new());
/// let trace = [Slot::erased(Time::ZERO), Slot::erased(Time::ZERO)];
/// runner.push_slots(&trace, &mut lldus)?;
/// runner.finish(&mut lldus);
/// slots.slots(&trace);
/// delivered.lldus(&lldus);
/// let summary =
///     LinkSummary::new(runner.scheme(), rtt, feedback_delay, runner.unit_counts(), &slots, &delivered);
/// assert_eq!((summary.slots, summary.censored, summary.efficiency), (2, 2, Some(0.0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkSummary {
    /// Scheme as text, in the form that `--scheme` takes.
    pub scheme: String,
    /// RTT of the link (propagation only), ns.
    pub rtt_ns: u64,
    /// Feedback delay beyond the RTT, ns.
    pub feedback_delay_ns: u64,
    /// Slots of the trace, all of which the scheme uses.
    pub slots: u64,
    /// Data units of first attempts.
    pub units_data: u64,
    /// Repair units of first attempts.
    pub units_repair: u64,
    /// Units from the repeat queue.
    pub units_repeated: u64,
    /// Slots whose unit was erased.
    pub slots_erased: u64,
    /// `slots_erased / slots`.
    pub erasure_ratio: Option<f64>,
    /// Number of data LLDUs that were delivered.
    pub delivered: u64,
    /// Number of data LLDUs that the link gave up.
    pub lost: u64,
    /// Data LLDUs undecided at the end of the trace.
    pub censored: u64,
    /// Efficiency, `delivered / slots`.
    pub efficiency: Option<f64>,
    /// Residual loss, `lost / (delivered + lost)`.
    pub residual_loss: Option<f64>,
    /// Delay of delivered LLDUs, s, with the propagation delay ⌊RTT/2⌋.
    pub delay_s: Quantiles,
    /// Precision of the percentiles.
    pub delay_percentiles: Precision,
    /// Number of delivered LLDUs by attempts.
    pub attempts: BTreeMap<u32, u64>,
    /// Bursts of erased slots, by length.
    pub bursts_before: RunLengths,
    /// Gaps between bursts of erased slots, by length.
    pub gaps_before: RunLengths,
    /// Bursts of LLDUs that were not delivered, by length.
    pub bursts_after: RunLengths,
    /// Gaps between bursts of LLDUs that were not delivered, by length.
    pub gaps_after: RunLengths,
    /// What suggests that the times of the slots were read in a wrong unit ([`wrong_unit`]).
    #[serde(skip)]
    pub implausible: Option<String>,
}

impl LinkSummary {
    /// The summary of `scheme` on a link with this RTT and feedback delay, from the units sent and all slots and LLDUs,
    /// including those of [`SchemeRunner::finish`](crate::scheme::runner::SchemeRunner::finish).
    #[must_use]
    pub fn new(
        scheme: &SchemeSpec,
        rtt: Span,
        feedback_delay: Span,
        units: UnitCounts,
        slots: &SlotTally,
        lldus: &LlduTally,
    ) -> Self {
        let implausible = wrong_unit(slots.period_s(), slots.median_delay_s());
        let (bursts_before, gaps_before) = (slots.runs.bursts(), slots.runs.gaps());
        let slots_erased = total(&bursts_before);
        let slots = slots_erased + total(&gaps_before);
        Self {
            scheme: scheme.text().to_owned(),
            rtt_ns: rtt.as_nanos(),
            feedback_delay_ns: feedback_delay.as_nanos(),
            slots,
            units_data: units.data,
            units_repair: units.repair,
            units_repeated: units.repeated,
            slots_erased,
            erasure_ratio: ratio(slots_erased, slots),
            delivered: lldus.delivered,
            lost: lldus.lost,
            censored: lldus.censored,
            efficiency: ratio(lldus.delivered, slots),
            residual_loss: ratio(lldus.lost, lldus.delivered + lldus.lost),
            delay_s: lldus.delay.quantiles(rtt.half()),
            delay_percentiles: lldus.delay.precision(),
            attempts: by_attempts(&lldus.attempts),
            bursts_before,
            gaps_before,
            bursts_after: lldus.runs.bursts(),
            gaps_after: lldus.runs.gaps(),
            implausible,
        }
    }
}

/// Counts by attempts as an ordered map.
pub(crate) fn by_attempts(counts: &Counts) -> BTreeMap<u32, u64> {
    counts
        .iter()
        .filter_map(|(attempts, count)| Some((u32::try_from(attempts).ok()?, count)))
        .collect()
}

/// `part / whole`; `None` if `whole` is 0.
#[must_use]
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| to_f64(part) / to_f64(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the definitions, computed from all slots at once, whatever the batches.
    #[test]
    fn period_and_median_delay_are_those_of_all_slots() {
        for (count, batch) in [(1, 1), (2, 1), (9, 4), (6_000, 1_000), (6_000, 4_097)] {
            let slots: Vec<Slot> = (0..count)
                .filter_map(|number: u64| {
                    let at = Time::from_nanos(5_000 + number * number * 10)?;
                    let delay = if number % 3 == 1 {
                        0
                    } else {
                        1 + number * 7 % 1_000
                    };
                    Slot::new(at, Span::from_nanos(delay)?)
                })
                .collect();
            let mut tally = SlotTally::default();
            slots.chunks(batch).for_each(|slots| tally.slots(slots));
            let last = to_f64(count - 1);
            let period = (count > 1).then(|| last * last * 10.0 / last / 1e9);
            match (tally.period_s(), period) {
                (Some(found), Some(period)) => assert!((found / period - 1.0).abs() < 1e-12),
                (found, period) => assert_eq!(found, period),
            }
            let received = slots.iter().map(Slot::decode_delay);
            let mut delays: Vec<Span> = received.filter(|delay| !delay.is_zero()).collect();
            delays.truncate(4096);
            delays.sort_unstable();
            let median = delays[(delays.len() - 1) / 2].as_secs_f64();
            assert_eq!(tally.median_delay_s(), Some(median), "{count} {batch}");
        }
        assert_eq!(SlotTally::default().period_s(), None);
        assert_eq!(SlotTally::default().median_delay_s(), None);
    }
}
