//! Resolution of the link: RTT, LLDU, rate and period of a trace, or a constant rate.

use std::num::NonZeroU64;
use std::sync::Arc;

use tmt_core::format::Options;
use tmt_core::types::{Bytes, EndLine, Metadata, Note, Span, Time, agree, to_f64};

use super::packing::{fill_warning, packing_text};
use super::rows::{
    decode_delay, keep_known, loop_period, physical_slot_rate, slot_rate, slot_time,
};
use super::trace_warnings::{other_rtt, repeated_early};
use crate::experiment::counted::counted;
use crate::experiment::error::{Result, data, refused};
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::{LinkPlan, Overridden, TracePlan};
use crate::experiment::storage::{Loaded, Storage};
use crate::experiment::values::LinkKind;
use tmt_link::apply::{DEFAULT_RTT, Origin, assumed_rtt};
use tmt_link::timeline::Trace;
use tmt_link::{Overlap, Packing};

/// Facts about a link, regardless of its model.
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
    pub(in crate::experiment) fn read(
        &self,
        storage: &dyn Storage,
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
        let loss = self.loss.as_ref().map_or("no loss".to_owned(), |loss| {
            format!("loss {}", loss.brief())
        });
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

    /// The link over the rows of a trace. `generated` rows have no end.
    pub(in crate::experiment) fn link_over(
        &self,
        kind: LinkKind,
        loaded: Loaded,
        generated: bool,
    ) -> Result<(Link, TracePlan)> {
        let (name, head, mut rows) = (loaded.name, loaded.head, loaded.rows);
        self.refuse_other_values(&head)?;
        let (rtt, rtt_note, rtt_warning) = self.round_trip(&head);
        let (lldu, lldu_origin) = self.lldu_size(&head);
        let (header, header_origin) = self.lldu_header_size(&head);
        let payload = Self::payload((lldu, header), "", "packets")?;
        let packet = self.packet();
        let (packing, packing_origin, packing_warning) = self.forward_packing(kind, &head);
        let per_packet = packet.0.div_ceil(payload.get());
        let (Some(begin), Some(last)) = (rows.first(), rows.last()) else {
            return Err(data(format!("{name}: found no row, expected at least one")));
        };
        let usable_until = loaded.end.map_or(last, |end| end.usable_until.max(begin));
        // A looped timeline repeats only LLDUs of known fate. Without a loop all rows can be used, since deliveries
        // after the end of the run do not count. Slots have no unknown fate.
        let looped = self.looped() && !generated;
        if looped && kind == LinkKind::Timeline {
            keep_known(&mut rows, usable_until)?;
        }
        if rows.len() < per_packet {
            let usable = rows.len();
            return Err(data(format!(
                "{name}: found {}, expected at least {per_packet}, which a packet of {packet} needs",
                counted(usable, "LLDU")
            )));
        }
        let period = looped.then(|| loop_period(&name, &rows)).transpose()?;
        let (slot_rate, rate_origin) =
            self.slots_per_s(kind, &head, &rows, loaded.end.as_ref(), generated);
        let packets = packing.segmentation(packet, payload).packets_per_lldu();
        let rate_bps = slot_rate.map(|slots| slots * packets * to_f64(packet.0) * 8.0);
        let (decode_delay, decode_delay_origin) = decode_delay(kind, &head, &rows);
        let rate_text = rate_bps.map_or("of unknown rate".to_owned(), |rate| {
            format!("{:.6} Mbps for packets ({rate_origin})", rate / 1e6)
        });
        let mut notes = loaded.notes;
        notes.push(format!("link {kind}, {rate_text}, {rtt_note}").into());
        notes.extend(rtt_warning);
        let lldus = [(lldu, lldu_origin), (header, header_origin)];
        let sizes = (payload.get(), per_packet);
        notes.push(self.lldu_note(&lldus, (packing, &packing_origin), sizes));
        notes.extend(packing_warning.or_else(|| fill_note(kind, packing, packet, payload)));
        if !generated {
            let packing = (packing, per_packet);
            notes.extend(self.trace_warnings(kind, &head, &rows, usable_until, packing));
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
            notes.extend(other_rtt(&head, rtt));
            notes.extend(repeated_early(&head));
            resolved.overlap = Some(self.overlap());
            self.refuse_shared_shift(packing, &packing_origin)?;
            if self.overlap() == Overlap::Shift {
                let (slot, words) = slot_time(&head, &rows)?;
                shift = Some(slot);
                notes.push(words.into());
            }
        }
        let mut trace = TracePlan {
            nominal: head.rate().zip(head.lldu_bytes()),
            physical: None,
            rows: Arc::new(rows),
            lldus_per_packet: per_packet,
            lldu,
            payload,
            packing,
            period,
            shift,
            end_line: loaded.end,
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

    /// The note on sizes: an LLDU, its header and its payload, and the LLDUs per packet.
    fn lldu_note(
        &self,
        [(lldu, lldu_origin), (header, header_origin)]: &[(Bytes, String); 2],
        (packing, packing_origin): (Packing, &str),
        (payload, per_packet): (u64, u64),
    ) -> Note {
        let packet = self.packet();
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

    /// Origin of the values of the forward link that are not given.
    fn known(&self) -> Origin {
        if self.channel.is_some() {
            Origin::Channel
        } else {
            Origin::Metadata
        }
    }

    /// The RTT, the part of a note that has its origin, and a warning if it is assumed.
    pub(in crate::experiment) fn round_trip(
        &self,
        head: &Metadata,
    ) -> (Span, String, Option<Note>) {
        let (rtt, origin) = self
            .known()
            .chosen("`rtt`", self.rtt, head.rtt(), DEFAULT_RTT);
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

    /// Refuses what the head of the trace contradicts, unless it may be replaced. A channel has values for what is not
    /// given, which do not bind.
    pub(in crate::experiment) fn refuse_other_values(&self, head: &Metadata) -> Result<()> {
        if self.channel.is_some() || self.replace_head() {
            return Ok(());
        }
        let (lldu, header) = (self.lldu, self.lldu_header);
        let known_header = head.lldu_header_bytes();
        for (key, agreed) in [
            ("rtt", agree("rtt", "rtt_ns", self.rtt, head.rtt())),
            ("lldu", agree("lldu", "lldu_bytes", lldu, head.lldu_bytes())),
            (
                "lldu_header",
                agree("lldu_header", "lldu_header_bytes", header, known_header),
            ),
        ] {
            if let Err(why) = agreed {
                return refused(
                    key,
                    format!("{why}, or let it replace that of the head with `replace_head`"),
                );
            }
        }
        Ok(())
    }

    /// Size of an LLDU, and its origin.
    pub(in crate::experiment) fn lldu_size(&self, head: &Metadata) -> (Bytes, String) {
        self.known()
            .chosen("`lldu`", self.lldu, head.lldu_bytes(), self.lldu())
    }

    /// Header of an LLDU on the forward link, and its origin.
    fn lldu_header_size(&self, head: &Metadata) -> (Bytes, String) {
        let (given, known) = (self.lldu_header, head.lldu_header_bytes());
        self.known()
            .chosen("`lldu_header`", given, known, self.lldu_header())
    }

    /// Slots per second of the physical link, and where they come from.
    fn slots_per_s(
        &self,
        kind: LinkKind,
        head: &Metadata,
        rows: &Trace,
        end: Option<&EndLine>,
        generated: bool,
    ) -> (Option<f64>, &'static str) {
        let of_channel = match self.rate {
            Some(_) => "`rate`",
            None => Origin::Channel.name(),
        };
        match kind {
            _ if generated => (rows.rate(), of_channel),
            // The timeline that a scheme made of generated slots.
            _ if self.channel.is_some() => (head.slots_per_s(), of_channel),
            LinkKind::Timeline => physical_slot_rate(head, rows, end),
            _ => slot_rate(head, rows),
        }
    }

    /// Payload of an LLDU of this size and header that carries `cargo`, bytes; above zero.
    pub(super) fn payload(
        (lldu, header): (Bytes, Bytes),
        prefix: &str,
        cargo: &str,
    ) -> Result<NonZeroU64> {
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
        let header = self.lldu_header.map(|header| header.0);
        [
            ("rtt_ns", "--rtt", rtt),
            ("lldu_bytes", "--lldu", lldu),
            ("lldu_header_bytes", "--lldu-header", header),
        ]
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
