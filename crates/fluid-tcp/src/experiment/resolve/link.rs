//! Resolution of the link: RTT, LLDU, rate and period of a trace, or a constant rate.

use std::fmt::Display;
use std::num::NonZeroU64;
use std::sync::Arc;

use tmt_core::format::Options;
use tmt_core::math::num::floor_u64;
use tmt_core::scheme::SchemeSpec;
use tmt_core::stats::{early_repeat, or_interleaver, ratio, unit_question, wrong_unit};
use tmt_core::types::{Bytes, EndLine, Metadata, Span, Time, to_f64};

use super::packing::{fill_warning, packing_text};
use crate::experiment::counted::counted;
use crate::experiment::error::{Result, data, refused, unreadable};
use crate::experiment::note::Note;
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::{LinkPlan, Overridden, TracePlan};
use crate::experiment::storage::{Loaded, Storage};
use crate::experiment::values::LinkKind;
use crate::link::timeline::Timeline;
use crate::link::{Overlap, Packing};

/// RTT of a GEO link, assumed if neither parameter nor trace has one (docs/schemes.md, Sec. 9).
pub const DEFAULT_RTT: Span = Span::from_millis(500);

/// The warning on an RTT that is assumed, because `places` have none.
#[must_use]
pub fn assumed_rtt(places: &str) -> Note {
    Note::warning(format!("no RTT in {places}: assuming {DEFAULT_RTT} (GEO)"))
}

/// Facts about a link, whatever its model.
pub(in crate::experiment) struct Link {
    pub(in crate::experiment) rtt: Span,
    pub(in crate::experiment) begin: Time,
    /// End of the link; `None` if it never ends.
    pub(in crate::experiment) ends: Option<Time>,
    /// Rate of the packets that all slots can carry.
    pub(in crate::experiment) rate_bps: Option<f64>,
    /// Median decoding delay of the slots.
    pub(in crate::experiment) decode_delay: Span,
    /// Origin of the decoding delay, as the end of a note; empty if it is measured on the slots.
    pub(in crate::experiment) decode_delay_origin: &'static str,
    /// Metadata of its trace.
    pub(in crate::experiment) head: Metadata,
    pub(in crate::experiment) overridden: Vec<Overridden>,
    pub(in crate::experiment) notes: Vec<Note>,
    /// The experiment with the values resolved so far.
    pub(in crate::experiment) resolved: Experiment,
}

impl Experiment {
    /// Reads a trace, with the attempts of a timeline if `attempts` is set.
    pub(super) fn read(
        &self,
        storage: &impl Storage,
        path: Option<&String>,
        attempts: bool,
    ) -> Result<Loaded> {
        let options = Options {
            attempts,
            unit: self.unit,
            columns: self.columns.clone().unwrap_or_default(),
            allow_cut: self.allow_cut(),
            ..Options::default()
        };
        storage.read(path.map(String::as_str), options)
    }

    pub(super) fn synthetic_link(&self) -> Result<(Link, LinkPlan)> {
        let rate = self.rate.ok_or_else(|| self.missing("rate"))?;
        let work = u128::from(self.packet().0) * 8 * 1_000_000_000;
        let service = work
            .checked_div(u128::from(rate.0))
            .and_then(|nanos| u64::try_from(nanos).ok())
            .and_then(Span::from_nanos);
        let Some(service) = service else {
            return refused(
                "rate",
                "`rate`: expected a rate that serves a packet in less than 2^63 ns",
            );
        };
        let (rtt, rtt_note, warning) = self.round_trip(&Metadata::new());
        if service.is_zero() && rtt.is_zero() {
            return refused(
                "rate",
                "`rate`: expected a rate that serves a packet in at least 1 ns, as `rtt` is 0s and no time would pass",
            );
        }
        let loss = self
            .loss
            .as_ref()
            .map_or("no loss".to_owned(), |loss| format!("loss {loss}"));
        let link = Link {
            notes: [Note::from(format!(
                "link synthetic, {rate}, {loss}, {rtt_note}"
            ))]
            .into_iter()
            .chain(warning)
            .collect(),
            rtt,
            begin: Time::ZERO,
            ends: None,
            rate_bps: Some(to_f64(rate.0)),
            decode_delay: Span::ZERO,
            decode_delay_origin: "",
            head: Metadata::new(),
            overridden: Vec::new(),
            resolved: Self {
                rtt: Some(rtt),
                ..self.clone()
            },
        };
        let loss = self.loss.clone();
        Ok((link, LinkPlan::Synthetic { rate, loss }))
    }

    /// The link over these rows. `generated` rows have no end.
    pub(in crate::experiment) fn link_over(
        &self,
        kind: LinkKind,
        rows: Loaded,
        generated: bool,
    ) -> Result<(Link, TracePlan)> {
        let (name, head, mut timeline) = (rows.name, rows.head, rows.timeline);
        let (rtt, rtt_note, rtt_warning) = self.round_trip(&head);
        let (lldu, lldu_origin) = self.lldu_size(&head);
        let header = self.lldu_header();
        let payload = self.payload(lldu, "", "packets")?;
        let packet = self.packet();
        let (packing, packing_origin, packing_warning) = self.forward_packing(kind, &head);
        let per_packet = packet.0.div_ceil(payload.get());
        let (Some(begin), Some(last)) = (timeline.first(), timeline.last()) else {
            return Err(data(format!("{name}: found no row, expected at least one")));
        };
        let usable_until = rows.end.map_or(last, |end| end.usable_until.max(begin));
        // A looped timeline repeats only LLDUs of known fate. Without a loop all rows can be used, since deliveries
        // after the end of the run do not count. Slots have no unknown fate.
        let looped = self.looped() && !generated;
        if looped && kind == LinkKind::Timeline {
            keep_known(&mut timeline, usable_until)?;
        }
        if timeline.len() < per_packet {
            let usable = timeline.len();
            return Err(data(format!(
                "{name}: found {}, expected at least {per_packet}, which a packet of {packet} needs",
                counted(usable, "LLDU")
            )));
        }
        let period = looped.then(|| loop_period(&name, &timeline)).transpose()?;
        let (slot_rate, rate_origin) = match kind {
            _ if generated => (timeline.rate(), "`rate`"),
            LinkKind::Timeline => physical_slot_rate(&head, &timeline, rows.end.as_ref()),
            _ => slot_rate(&head, &timeline),
        };
        let packets = packing.segmentation(packet, payload).packets_per_lldu();
        let rate_bps = slot_rate.map(|slots| slots * packets * to_f64(packet.0) * 8.0);
        let (decode_delay, decode_delay_origin) = decode_delay(kind, &head, &timeline);
        let rate_text = rate_bps.map_or("of unknown rate".to_owned(), |rate| {
            format!("{:.6} Mbps for packets ({rate_origin})", rate / 1e6)
        });
        let mut notes = rows.notes;
        notes.push(format!("link {kind}, {rate_text}, {rtt_note}").into());
        notes.extend(rtt_warning);
        let sizes = (payload.get(), per_packet);
        notes.push(self.lldu_note((lldu, &lldu_origin), (packing, &packing_origin), sizes));
        notes.extend(packing_warning.or_else(|| fill_note(kind, packing, packet, payload)));
        if !generated {
            let packing = (packing, per_packet);
            notes.extend(self.doubts(kind, &head, &timeline, usable_until, packing));
        }
        let mut resolved = Self {
            rtt: Some(rtt),
            lldu: Some(lldu),
            lldu_header: Some(header),
            packing: Some(packing),
            ..self.clone()
        };
        if !generated {
            resolved.trace.get_or_insert_with(|| "-".to_owned());
        }
        let mut shift = None;
        if kind == LinkKind::Timeline {
            if let Some(known) = head.rtt().filter(|known| *known != rtt) {
                notes.push(Note::warning(format!(
                    "the timeline was generated with RTT {known}, but the run uses `rtt` {rtt}"
                )));
            }
            notes.extend(repeated_early(&head));
            resolved.overlap = Some(self.overlap());
            self.refuse_shared_shift(packing, &packing_origin)?;
            if self.overlap() == Overlap::Shift {
                let (slot, words) = slot_time(&head, &timeline)?;
                shift = Some(slot);
                notes.push(words.into());
            }
        }
        let mut trace = TracePlan {
            nominal: head.rate().zip(head.lldu_bytes()),
            physical: None,
            timeline: Arc::new(timeline),
            lldus_per_packet: per_packet,
            lldu,
            payload,
            packing,
            period,
            shift,
            end_line: rows.end,
        };
        if kind == LinkKind::Timeline {
            trace.find_slots();
        }
        let link = Link {
            decode_delay,
            decode_delay_origin,
            rtt,
            begin,
            ends: (!looped && !generated).then_some(usable_until),
            rate_bps,
            overridden: self.overridden(&head),
            notes,
            resolved,
            head,
        };
        Ok((link, trace))
    }

    /// The note on sizes: an LLDU and its payload, and the LLDUs per packet.
    fn lldu_note(
        &self,
        (lldu, lldu_origin): (Bytes, &str),
        (packing, packing_origin): (Packing, &str),
        (payload, per_packet): (u64, u64),
    ) -> Note {
        let (header, packet) = (self.lldu_header(), self.packet());
        let header_origin = origin(self.lldu_header.is_some(), "`lldu_header`");
        let packing_text = packing_text(packing, packing_origin);
        let fill = match packing {
            Packing::Packet => format!("{} per packet of {packet}", counted(per_packet, "LLDU")),
            Packing::Bytes => format!("{payload} B per LLDU for packets of {packet}"),
        };
        let text = format!(
            "LLDU {lldu} ({lldu_origin}), header {header} ({header_origin}){packing_text}: {fill}"
        );
        text.into()
    }

    /// Refuses `overlap` shift where packets share LLDUs.
    fn refuse_shared_shift(&self, packing: Packing, origin: &str) -> Result<()> {
        if self.overlap() != Overlap::Shift || packing == Packing::Packet {
            return Ok(());
        }
        refused(
            "overlap",
            format!(
                "`overlap` shift cannot be combined with packing bytes ({origin}): packets that share an LLDU have no service times of their own; use `packing` packet"
            ),
        )
    }

    /// The RTT, the part of a note that has its origin, and a warning if it is assumed.
    fn round_trip(&self, head: &Metadata) -> (Span, String, Option<Note>) {
        let (rtt, origin) = chosen("`rtt`", self.rtt, head.rtt(), DEFAULT_RTT);
        let is_assumed = self.rtt.is_none() && head.rtt().is_none();
        let warning = is_assumed.then(|| {
            let has_trace = !self.is_synthetic() && self.channel.is_none();
            assumed_rtt(if has_trace {
                "`rtt` or in the trace"
            } else {
                "`rtt`"
            })
        });
        (rtt, format!("RTT {rtt} ({origin})"), warning)
    }

    /// Warnings on a trace that was read: a unit that is probably wrong, a PHY trace in place of a timeline, and a size
    /// of LLDUs that is assumed.
    fn doubts(
        &self,
        kind: LinkKind,
        head: &Metadata,
        timeline: &Timeline,
        usable_until: Time,
        (packing, per_packet): (Packing, u64),
    ) -> Vec<Note> {
        let mut warnings = Vec::new();
        let period = timeline.rate().map(|rate| 1.0 / rate);
        let delay = timeline.median_delay().map(Span::as_secs_f64);
        if let Some(found) = wrong_unit(period, delay) {
            let question = unit_question("`unit`", head);
            warnings.push(Note::warning(format!("{found}: {question}")));
        }
        let is_timeline = head.get("scheme").is_some() || timeline.attempts(0).is_some();
        if kind == LinkKind::Timeline
            && !is_timeline
            && let Some(erased) = timeline.first_lost(usable_until)
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
        if self.lldu_header.is_none() && split {
            warnings.push(Note::warning(format!(
                "the default LLDU header of {} makes a packet of {packet} take {lldus} of {lldu} instead of {} (`lldu_header` 0B)",
                self.lldu_header(),
                per_lldu(lldu)
            )));
        }
        warnings
    }

    /// Size of an LLDU, and its origin.
    pub(super) fn lldu_size(&self, head: &Metadata) -> (Bytes, String) {
        chosen("`lldu`", self.lldu, head.lldu_bytes(), self.lldu())
    }

    /// Payload of an LLDU that carries `cargo`, bytes; above zero.
    pub(super) fn payload(&self, lldu: Bytes, prefix: &str, cargo: &str) -> Result<NonZeroU64> {
        let header = self.lldu_header();
        match lldu.0.checked_sub(header.0).and_then(NonZeroU64::new) {
            Some(payload) => Ok(payload),
            None => refused(
                "lldu_header",
                format!(
                    "{prefix}an LLDU of {lldu} with a header of {header} has no payload for {cargo}; change `lldu` or `lldu_header`"
                ),
            ),
        }
    }

    /// Parameters that differ from the head.
    fn overridden(&self, head: &Metadata) -> Vec<Overridden> {
        let rtt = self.rtt.map(Span::as_nanos);
        let lldu = self.lldu.map(|lldu| lldu.0);
        [("rtt_ns", "--rtt", rtt), ("lldu_bytes", "--lldu", lldu)]
            .into_iter()
            .filter_map(|(key, flag, used)| {
                let (stored, used) = (head.number(key)?, used?);
                (stored != used).then_some(Overridden {
                    key,
                    flag,
                    stored,
                    used,
                })
            })
            .collect()
    }
}

/// Says if the repeats of a timeline were not causal, if its head has what shows it. `tmt apply` has warned when it wrote
/// the timeline.
fn repeated_early(head: &Metadata) -> Option<Note> {
    let scheme: SchemeSpec = head.get("scheme")?.parse().ok()?;
    let feedback_delay = head
        .number("feedback_delay_ns")
        .and_then(Span::from_nanos)?;
    let decode_delay = head.decode_delay_median().filter(|_| scheme.repeats());
    let early = early_repeat("a repeat", decode_delay, feedback_delay)?;
    let or = or_interleaver(head, decode_delay);
    Some(Note::warning(format!(
        "in the timeline of {scheme} {early}; apply the scheme with --feedback-delay decode{or}"
    )))
}

/// A warning if packets fill little of their LLDUs on a link of this kind.
fn fill_note(kind: LinkKind, packing: Packing, packet: Bytes, payload: NonZeroU64) -> Option<Note> {
    let remedy = match kind {
        LinkKind::Coupled => {
            "use another `packet` or `lldu_header`, or `tmt apply` and `link` timeline with `packing` bytes"
        }
        _ => "share them with `packing` bytes, or use another `packet` or `lldu_header`",
    };
    fill_warning(packing, "a packet", packet, payload, remedy)
}

/// The value of the parameter, else of the head, else the default; and its origin.
fn chosen<T: PartialEq + Display>(
    key: &str,
    given: Option<T>,
    known: Option<T>,
    default: T,
) -> (T, String) {
    match (given, known) {
        (Some(given), Some(known)) if given != known => {
            (given, format!("{key}; {known} in the metadata"))
        }
        (Some(given), _) => (given, key.to_owned()),
        (None, Some(known)) => (known, "metadata".to_owned()),
        (None, None) => (default, "default".to_owned()),
    }
}

/// Origin of a value that metadata never have.
pub(super) fn origin(given: bool, key: &'static str) -> &'static str {
    if given { key } else { "default" }
}

/// Drops the LLDUs of unknown fate.
pub(super) fn keep_known(timeline: &mut Timeline, usable_until: Time) -> Result<()> {
    let known = timeline.known(usable_until);
    if known.is_some_and(|known| timeline.truncate(known)) {
        Ok(())
    } else {
        Err(unreadable(timeline))
    }
}

/// Period of a looped trace: its length plus one mean slot.
pub(super) fn loop_period(name: &str, timeline: &Timeline) -> Result<Span> {
    let (first, last) = timeline.first().zip(timeline.last()).unwrap_or_default();
    let length = last.since(first).as_nanos();
    let slot = length.checked_div(timeline.len().saturating_sub(1));
    Span::from_nanos(length + slot.unwrap_or(0))
        .filter(|period| !period.is_zero())
        .ok_or_else(|| {
            data(format!(
                "{name}: found a timeline of length zero, expected a longer one for `loop`"
            ))
        })
}

/// Slots per second of the physical link behind a timeline: by the head, else from the first 10 000 rows and the number
/// of slots in the end line.
fn physical_slot_rate(
    head: &Metadata,
    timeline: &Timeline,
    end: Option<&EndLine>,
) -> (Option<f64>, &'static str) {
    if let Some(rate) = head.slots_per_s() {
        return (Some(rate), "metadata");
    }
    let slots_per_row = end.and_then(|end| ratio(end.slots, end.rows));
    match (timeline.rate(), slots_per_row) {
        (Some(rate), Some(slots)) => (Some(rate * slots), "first 10 000 rows, and slots per row"),
        (rate, _) => (
            rate,
            "first 10 000 rows; the slots of the physical link are unknown",
        ),
    }
}

/// Median decoding delay of the slots, and its origin. A timeline has it in its head; the delays of its rows depend on
/// the scheme.
fn decode_delay(kind: LinkKind, head: &Metadata, timeline: &Timeline) -> (Span, &'static str) {
    let known = head.decode_delay_median();
    match known.filter(|_| kind == LinkKind::Timeline) {
        Some(known) => (known, ""),
        None => (
            timeline.median_delay().unwrap_or(Span::ZERO),
            if kind == LinkKind::Timeline {
                ", median of LLDUs received in the first attempt"
            } else {
                ""
            },
        ),
    }
}

/// Slots per second of a trace whose rows are slots: by the head, else from the first 10 000 rows.
fn slot_rate(head: &Metadata, timeline: &Timeline) -> (Option<f64>, &'static str) {
    let nominal = head.rate().and(head.lldu_bytes());
    let slots = nominal.and(head.slots_per_s());
    match (slots, head.get("scheme").map(str::parse::<SchemeSpec>)) {
        (Some(slots), None) => (Some(slots), "metadata"),
        (Some(slots), Some(Ok(scheme))) => (
            Some(slots * (f64::from(scheme.data_units()) / f64::from(scheme.units()))),
            "metadata, times the code rate",
        ),
        _ => (timeline.rate(), "first 10 000 rows"),
    }
}

/// Slot time by which deliveries are spaced, and a note on it. It derives from rate and LLDU in the head, else from the
/// mean spacing of the first rows.
fn slot_time(head: &Metadata, timeline: &Timeline) -> Result<(Span, String)> {
    let known = head.rate().zip(head.lldu_bytes());
    let known = known.and_then(|(rate, lldu)| rate.time_of_bit(u128::from(lldu.0) * 8));
    let mean = || {
        let nanos = 1e9 / timeline.rate()?;
        Span::from_nanos(floor_u64(nanos + 0.5))
    };
    let (slot, origin) = match known {
        Some(time) => (Some(time.since(Time::ZERO)), "metadata"),
        None => (mean(), "mean spacing of the first 10 000 rows"),
    };
    let slot = slot.ok_or_else(|| {
        data("`overlap` shift: found no slot time, expected rate_bps and lldu_bytes in the metadata, or rows at different times")
    })?;
    let words = format!(
        "overlap shift: deliveries are at least the time span of a packet's LLDUs plus one slot of {slot} ({origin}) apart"
    );
    Ok((slot, words))
}
