//! What a walk is summed up in (link-layer.md §9).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::distribution::{Distribution, Precision, Quantiles};
use crate::machine::UnitCounts;
use crate::runs::{RunLengths, Runs};
use crate::scheme::SchemeSpec;
use crate::slot::{Fate, Lldu};
use crate::units::{Span, to_f64};

/// Counts while a walk goes on.
#[derive(Debug, Default)]
pub struct LinkTally {
    propagation: Span,
    slots: u64,
    slots_erased: u64,
    delivered: u64,
    lost: u64,
    censored: u64,
    delay: Distribution,
    attempts: BTreeMap<u32, u64>,
    before: Runs,
    after: Runs,
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

impl LinkTally {
    /// A tally for a link with this propagation delay, ⌊RTT/2⌋.
    #[must_use]
    pub fn new(propagation: Span) -> Self {
        Self {
            propagation,
            ..Self::default()
        }
    }

    /// Counts a slot.
    pub fn slot(&mut self, erased: bool) {
        self.slots += 1;
        self.slots_erased += u64::from(erased);
        self.before.push(erased);
    }

    /// Counts an LLDU.
    pub fn lldu(&mut self, lldu: &Lldu) {
        self.after.push(lldu.fate != Fate::Delivered);
        match lldu.fate {
            Fate::Delivered => {
                self.delivered += 1;
                self.delay.push(lldu.decode_delay);
                *self.attempts.entry(lldu.attempts).or_insert(0) += 1;
            }
            Fate::Lost => self.lost += 1,
            Fate::Censored => self.censored += 1,
        }
    }

    /// Ends the last runs.
    pub fn finish(&mut self) {
        self.before.close();
        self.after.close();
    }

    /// The summary, with what the walk alone knows.
    #[must_use]
    pub fn summary(
        &self,
        scheme: &SchemeSpec,
        rtt: Span,
        feedback_delay: Span,
        units: UnitCounts,
    ) -> LinkSummary {
        LinkSummary {
            scheme: scheme.text().to_owned(),
            rtt_ns: rtt.as_nanos(),
            feedback_delay_ns: feedback_delay.as_nanos(),
            slots: self.slots,
            units_data: units.data,
            units_repair: units.repair,
            units_repeated: units.repeated,
            slots_erased: self.slots_erased,
            erasure_ratio: ratio(self.slots_erased, self.slots),
            delivered: self.delivered,
            lost: self.lost,
            censored: self.censored,
            efficiency: ratio(self.delivered, self.slots),
            residual_loss: ratio(self.lost, self.delivered + self.lost),
            delay_s: self.delay.quantiles(self.propagation),
            delay_percentiles: self.delay.precision(),
            attempts: self.attempts.clone(),
            bursts_before: self.before.bursts().clone(),
            gaps_before: self.before.gaps().clone(),
            bursts_after: self.after.bursts().clone(),
            gaps_after: self.after.gaps().clone(),
        }
    }
}

/// `part / whole`, or nothing where there is no whole.
#[must_use]
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole != 0).then(|| to_f64(part) / to_f64(whole))
}
