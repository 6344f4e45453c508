//! What any trace shows before anything is done to it: `tmt stats`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::distribution::{Distribution, Precision, Quantiles};
use crate::metadata::Metadata;
use crate::runs::{RunLengths, Runs};
use crate::slot::Slot;
use crate::summary::ratio;
use crate::units::{Bytes, Span, Time, to_f64};

/// Counts over a trace.
#[derive(Debug, Default)]
pub struct TraceTally {
    slots: u64,
    erased: u64,
    first: Time,
    last: Time,
    longest_step: Span,
    delay: Distribution,
    runs: Runs,
    /// Steps between neighbours, by (erased before, erased now).
    steps: [[u64; 2]; 2],
    erased_before: Option<bool>,
    attempts: BTreeMap<u32, u64>,
}

/// The statistics of one trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceStats {
    /// Rows: slots of a PHY trace, or data LLDUs of a timeline.
    pub slots: u64,
    /// Time of the first slot, s; as near as a double comes.
    pub first_s: f64,
    /// Time of the last slot, s; as near as a double comes.
    pub last_s: f64,
    /// Time of the first slot, ns.
    pub first_ns: u64,
    /// Time of the last slot, ns.
    pub last_ns: u64,
    /// Mean time between slots, s; null for a single slot.
    pub slot_period_s: Option<f64>,
    /// Longest time between two slots, s.
    pub longest_slot_period_s: f64,
    /// Slots a second; null for a single slot or a trace without length.
    pub slots_per_s: Option<f64>,
    /// 8 · LLDU bytes / slot period; null where the LLDU's size is not known.
    pub rate_bps: Option<f64>,
    /// LLDU size used for `rate_bps`, bytes.
    pub lldu_bytes: Option<u64>,
    /// Slots erased.
    pub slots_erased: u64,
    /// `slots_erased / slots`.
    pub erasure_ratio: Option<f64>,
    /// P(received after received), the papers' alpha as measured.
    pub alpha: Option<f64>,
    /// P(erased after erased), the papers' beta as measured.
    pub beta: Option<f64>,
    /// Delay from transmission to decoding, propagation left out, s.
    pub decode_delay_s: Quantiles,
    /// The same with ⌊RTT/2⌋, s; null where the RTT is not known.
    pub delay_s: Option<Quantiles>,
    /// Round-trip time used for `delay_s`, ns.
    pub rtt_ns: Option<u64>,
    /// How far the percentiles may be off.
    pub delay_percentiles: Precision,
    /// Received rows by attempts; empty where the trace has none.
    pub attempts: BTreeMap<u32, u64>,
    /// Lengths of runs of erased slots.
    pub bursts: RunLengths,
    /// Lengths of runs of received slots.
    pub gaps: RunLengths,
}

impl TraceTally {
    /// Counts the next slot, with its attempts where the trace has them.
    pub fn slot(&mut self, slot: &Slot, attempts: Option<u32>) {
        let erased = slot.is_erased();
        if self.slots == 0 {
            self.first = slot.tx_time();
        } else {
            self.longest_step = self.longest_step.max(slot.tx_time().since(self.last));
        }
        self.last = slot.tx_time();
        self.slots += 1;
        self.runs.push(erased);
        if let Some(before) = self.erased_before.replace(erased) {
            self.steps[usize::from(before)][usize::from(erased)] += 1;
        }
        if erased {
            self.erased += 1;
        } else {
            self.delay.push(slot.decode_delay());
            if let Some(attempts) = attempts {
                *self.attempts.entry(attempts).or_insert(0) += 1;
            }
        }
    }

    /// The statistics; `rtt` and `lldu` win over what the head says.
    #[must_use]
    pub fn finish(mut self, head: &Metadata, rtt: Option<Span>, lldu: Option<Bytes>) -> TraceStats {
        self.runs.close();
        let rtt = rtt.or_else(|| head.rtt());
        let lldu = lldu.or_else(|| head.lldu_bytes());
        let length = self.last.since(self.first);
        let steps = self.slots.saturating_sub(1);
        let slots_per_s = (!length.is_zero()).then(|| to_f64(steps) / length.as_secs_f64());
        let stays = |state: usize| ratio(self.steps[state][state], self.steps[state].iter().sum());
        TraceStats {
            slots: self.slots,
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
            lldu_bytes: lldu.map(|lldu| lldu.0),
            slots_erased: self.erased,
            erasure_ratio: ratio(self.erased, self.slots),
            alpha: stays(0),
            beta: stays(1),
            decode_delay_s: self.delay.quantiles(Span::ZERO),
            delay_s: rtt.map(|rtt| self.delay.quantiles(rtt.half())),
            rtt_ns: rtt.map(Span::as_nanos),
            delay_percentiles: self.delay.precision(),
            attempts: self.attempts,
            bursts: self.runs.bursts().clone(),
            gaps: self.runs.gaps().clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(slots: &[(u64, u64)]) -> TraceStats {
        let mut tally = TraceTally::default();
        for &(t, d) in slots {
            let slot =
                Slot::new(Time::from_nanos(t).unwrap(), Span::from_nanos(d).unwrap()).unwrap();
            tally.slot(&slot, None);
        }
        tally.finish(&Metadata::new(), None, Some(Bytes(125)))
    }

    #[test]
    fn a_trace_is_summed_up() {
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
}
