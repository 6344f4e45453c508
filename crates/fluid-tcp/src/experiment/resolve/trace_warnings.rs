//! Warnings on a trace that is probably not what was meant.

use tmt_core::scheme::SchemeSpec;
use tmt_core::stats::{early_repeat, or_interleaver, unit_question, wrong_unit};
use tmt_core::types::{Bytes, Metadata, Note, Span, Time};

use crate::experiment::counted::counted;
use crate::experiment::parameters::Experiment;
use crate::experiment::values::LinkKind;
use tmt_link::Packing;
use tmt_link::timeline::Trace;

impl Experiment {
    /// Warnings on a trace that was read: probes in place of slots, a unit that is probably wrong, a PHY trace in place of a timeline, and a size
    /// of LLDUs that is assumed.
    pub(super) fn trace_warnings(
        &self,
        kind: LinkKind,
        head: &Metadata,
        rows: &Trace,
        usable_until: Time,
        (packing, per_packet): (Packing, u64),
    ) -> Vec<Note> {
        let mut warnings: Vec<Note> = probes("", head).into_iter().collect();
        let period = rows.rate().map(|rate| 1.0 / rate);
        let delay = rows.median_delay().map(Span::as_secs_f64);
        if let Some(found) = wrong_unit(head.trace_kind(), period, delay) {
            let question = unit_question("`unit`", head);
            warnings.push(Note::warning(format!("{found}: {question}")));
        }
        let is_timeline = head.get("scheme").is_some() || rows.attempts(0).is_some();
        if kind == LinkKind::Timeline
            && !is_timeline
            && let Some(erased) = rows.first_lost(usable_until)
        {
            warnings.push(Note::warning(format!(
                "a PHY trace, not a timeline: each erased slot (first: {erased}) loses its packet; run `tmt apply --scheme` first, or use `link` coupled with `scheme`"
            )));
        }
        let packet = self.packet();
        let per_lldu = |lldu: Bytes| packet.0.div_ceil(lldu.0.max(1));
        let lldus = counted(per_packet, "LLDU");
        if self.lldu.is_none() && head.lldu_bytes().is_none() {
            let lldu = self.lldu();
            warnings.push(Note::warning(format!(
                "no LLDU size in `lldu` or in the trace: assuming {lldu}, which makes {lldus} per packet of {packet}"
            )));
        }
        let (lldu, _) = self.lldu_size(head);
        // A header of 1 B is made for LLDUs that are much smaller than a packet.
        let split = packing == Packing::Packet && per_packet * 4 >= per_lldu(lldu) * 5;
        let is_default = self.lldu_header.is_none() && head.lldu_header_bytes().is_none();
        if is_default && split {
            warnings.push(Note::warning(format!(
                "the default LLDU header of {} makes a packet of {packet} take {lldus} of {lldu} instead of {} (`lldu_header` 0B)",
                self.lldu_header(),
                per_lldu(lldu)
            )));
        }
        warnings
    }
}

/// Says if a trace holds probes; `place` goes before the text.
pub(super) fn probes(place: &str, head: &Metadata) -> Option<Note> {
    let warning = head.probe_warning()?;
    Some(Note::warning(format!("{place}{warning}")))
}

/// Says if a timeline was generated with another RTT than that of the run.
pub(super) fn other_rtt(head: &Metadata, rtt: Span) -> Option<Note> {
    let known = head.rtt().filter(|known| *known != rtt)?;
    Some(Note::warning(format!(
        "the timeline was generated with RTT {known}, but the run uses `rtt` {rtt}"
    )))
}

/// Says if the repeats of a timeline were not causal, if its head has what shows it. `tmt apply` has warned when it wrote
/// the timeline.
pub(super) fn repeated_early(head: &Metadata) -> Option<Note> {
    let scheme: SchemeSpec = head.get("scheme")?.parse().ok()?;
    let feedback_delay = head
        .number("feedback_delay_ns")
        .and_then(Span::from_nanos)?;
    let decode_delay = head.decode_delay_median().filter(|_| scheme.repeats());
    // A slot that is decoded when it has been sent completely has no decoding delay that feedback could wait for.
    let slot = head.rate().zip(head.lldu_bytes());
    let slot = slot.and_then(|(rate, lldu)| rate.time_of_bit(u128::from(lldu.0) * 8));
    let decode_delay =
        decode_delay.filter(|delay| slot.is_none_or(|end| *delay > end.since(Time::ZERO)));
    let early = early_repeat("a repeat", decode_delay, feedback_delay)?;
    let or = or_interleaver(head, decode_delay);
    Some(Note::warning(format!(
        "in the timeline of {scheme} {early}; apply the scheme with `feedback_delay` decode{or}"
    )))
}
