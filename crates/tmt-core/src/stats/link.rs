//! Summary of a scheme over a trace (docs/schemes.md, Sec. 8).

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Serialize, Serializer};

use crate::scheme::SchemeSpec;
use crate::scheme::engine::UnitCounts;
use crate::stats::distribution::{Distribution, Precision, Quantiles};
use crate::stats::reordering::Reordering;
use crate::stats::runs::{Counts, RunLengths, Runs, equal_runs, serialize_histogram, total};
use crate::types::{Fate, Lldu, Slot, Span, Time, to_f64};

/// Statistics of the slots of a trace, which are the same for every scheme.
#[derive(Debug, Clone, Default)]
pub struct SlotTally(Runs);

impl SlotTally {
    /// Adds the next slots, in order of time.
    pub fn slots(&mut self, slots: &[Slot]) {
        self.0.extend(slots, Slot::is_erased, |_, _| ());
    }
}

/// Statistics of the LLDUs of one scheme.
#[derive(Debug, Clone, Default)]
pub struct LlduTally {
    /// Whether the scheme delivers in order, so that nothing is reordered.
    in_order: bool,
    pub(super) reordering: Reordering,
    delivered: u64,
    lost: u64,
    censored: u64,
    delay: Distribution,
    attempts: Counts,
    runs: Runs,
    /// Ranges of a slice in which arrivals ascend; empty between slices, but its memory is kept.
    ascending: Vec<Range<usize>>,
}

impl LlduTally {
    /// An empty tally of the LLDUs of `scheme`. It is faster than the default if the scheme delivers in order.
    #[must_use]
    pub fn of(scheme: &SchemeSpec) -> Self {
        Self {
            in_order: scheme.in_order(),
            ..Self::default()
        }
    }

    /// Adds the next LLDUs, in number order.
    pub fn lldus(&mut self, lldus: &[Lldu]) {
        // Ranges in which arrivals ascend, and the last arrival.
        let (mut ascending, mut last) = (std::mem::take(&mut self.ascending), Time::ZERO);
        let mut at = 0;
        for ((attempts, fate), run) in equal_runs(lldus, |lldu| (lldu.attempts, lldu.fate)) {
            let count = run.len() as u64;
            self.runs.push(fate != Fate::Delivered, count);
            match fate {
                Fate::Delivered => {
                    self.delivered += count;
                    self.attempts.add(u64::from(attempts), count);
                    let mut from = at;
                    for (delay, equal) in equal_runs(run, |lldu| lldu.decode_delay) {
                        self.delay
                            .push_repeated(delay.as_nanos(), equal.len() as u64);
                        if self.in_order {
                            continue;
                        }
                        let to = from + equal.len();
                        let arrival = |index: usize| equal[index].tx_time.saturating_add(delay);
                        match ascending.last_mut() {
                            Some(open) if open.end == from && last <= arrival(0) => open.end = to,
                            _ => ascending.push(from..to),
                        }
                        (from, last) = (to, arrival(equal.len() - 1));
                    }
                }
                Fate::Lost => self.lost += count,
                Fate::Censored => self.censored += count,
            }
            at += run.len();
        }
        if !self.in_order {
            self.reordering.add(lldus, &ascending);
        }
        ascending.clear();
        self.ascending = ascending;
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
    /// RTT of the link (propagation only), ns. A parameter, which JSON has in `params`.
    #[serde(skip)]
    pub rtt_ns: u64,
    /// Feedback delay beyond the RTT, ns. A parameter, too.
    #[serde(skip)]
    pub feedback_delay_ns: u64,
    /// Slots of the trace; the scheme uses all of them.
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
    #[serde(flatten, serialize_with = "delay")]
    pub delay_s: Quantiles,
    /// Precision of the percentiles.
    pub delay_percentiles: Precision,
    /// Share of the delivered LLDUs that were delivered after one that was sent later.
    pub reordered_share: Option<f64>,
    /// Largest difference of numbers between an LLDU and one that was sent later and delivered before it.
    pub reordering_max_lldus: u64,
    /// Largest time between the deliveries of two such LLDUs, s.
    pub reordering_max_s: f64,
    /// Number of delivered LLDUs by attempts.
    #[serde(serialize_with = "serialize_histogram")]
    pub attempts: BTreeMap<u32, u64>,
    /// Bursts of erased slots, by length.
    #[serde(serialize_with = "serialize_histogram")]
    pub bursts_before: RunLengths,
    /// Gaps between bursts of erased slots, by length.
    #[serde(serialize_with = "serialize_histogram")]
    pub gaps_before: RunLengths,
    /// Bursts of LLDUs that were not delivered, by length.
    #[serde(serialize_with = "serialize_histogram")]
    pub bursts_after: RunLengths,
    /// Gaps between bursts of LLDUs that were not delivered, by length.
    #[serde(serialize_with = "serialize_histogram")]
    pub gaps_after: RunLengths,
}

fn delay<S: Serializer>(quantiles: &Quantiles, serializer: S) -> Result<S::Ok, S::Error> {
    Quantiles::serialize_named(Some(quantiles), "delay", serializer)
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
        let (bursts_before, gaps_before) = (slots.0.bursts(), slots.0.gaps());
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
            reordered_share: ratio(lldus.reordering.reordered, lldus.delivered),
            reordering_max_lldus: lldus.reordering.most_lldus,
            reordering_max_s: lldus.reordering.most.as_secs_f64(),
            attempts: by_attempts(&lldus.attempts),
            bursts_before,
            gaps_before,
            bursts_after: lldus.runs.bursts(),
            gaps_after: lldus.runs.gaps(),
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
