//! What a walk is summed up in (link-layer.md §9).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::scheme::SchemeSpec;
use crate::scheme::engine::UnitCounts;
use crate::stats::distribution::{Distribution, Precision, Quantiles};
use crate::stats::runs::{Counts, RunLengths, Runs, alike, total};
use crate::types::{Fate, Lldu, Slot, Span, to_f64};

/// What the slots of a trace are like, whatever scheme goes over them.
#[derive(Debug, Clone, Default)]
pub struct SlotTally(Runs);

impl SlotTally {
    /// Counts the next slots.
    pub fn slots(&mut self, slots: &[Slot]) {
        self.0.extend(slots, Slot::is_erased, |_, _| ());
    }
}

/// What became of the LLDUs of one scheme.
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
    /// Counts the next LLDUs.
    pub fn lldus(&mut self, lldus: &[Lldu]) {
        for ((attempts, fate), run) in alike(lldus, |lldu| (lldu.attempts, lldu.fate)) {
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

/// The summary of one scheme over one trace; names and meaning as in link-layer.md §9.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkSummary {
    /// The scheme's text.
    pub scheme: String,
    /// Round-trip time of the link, ns.
    pub rtt_ns: u64,
    /// Extra feedback delay, ns.
    pub feedback_delay_ns: u64,
    /// Slots of the trace.
    pub slots: u64,
    /// First transmissions of data units.
    pub units_data: u64,
    /// First transmissions of repair units.
    pub units_repair: u64,
    /// Units from the repeat queue.
    pub units_repeated: u64,
    /// Slots whose unit was erased.
    pub slots_erased: u64,
    /// `slots_erased / slots`.
    pub erasure_ratio: Option<f64>,
    /// LLDUs delivered.
    pub delivered: u64,
    /// LLDUs whose codeword failed.
    pub lost: u64,
    /// LLDUs the end of the trace left open.
    pub censored: u64,
    /// `delivered / slots`.
    pub efficiency: Option<f64>,
    /// `lost / (delivered + lost)`.
    pub residual_loss: Option<f64>,
    /// Delay of delivered LLDUs, ⌊RTT/2⌋ included, s.
    pub delay_s: Quantiles,
    /// How far the percentiles may be off.
    pub delay_percentiles: Precision,
    /// Delivered LLDUs by the attempts they took.
    pub attempts: BTreeMap<u32, u64>,
    /// Lengths of runs of erased slots.
    pub bursts_before: RunLengths,
    /// Lengths of runs of slots that came through.
    pub gaps_before: RunLengths,
    /// Lengths of runs of undelivered LLDUs.
    pub bursts_after: RunLengths,
    /// Lengths of runs of delivered LLDUs.
    pub gaps_after: RunLengths,
}

impl LinkSummary {
    /// The summary of `scheme` over a link with this RTT and extra feedback delay: the units it sent,
    /// and all slots and LLDUs, those of [`Walk::finish`](crate::scheme::runner::Walk::finish) too.
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
            attempts: by_attempts(&lldus.attempts),
            bursts_before,
            gaps_before,
            bursts_after: lldus.runs.bursts(),
            gaps_after: lldus.runs.gaps(),
        }
    }
}

/// Counts by attempts, as they are reported.
pub(crate) fn by_attempts(counts: &Counts) -> BTreeMap<u32, u64> {
    counts
        .iter()
        .filter_map(|(attempts, count)| Some((u32::try_from(attempts).ok()?, count)))
        .collect()
}

/// `part / whole`, or nothing where there is no whole.
#[must_use]
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| to_f64(part) / to_f64(whole))
}
