//! Resolution of the coupled link: slots of a PHY trace or channel, and the scheme on them.

use std::sync::Arc;

use tmt_core::channel::{SlotChannel, unused_positions};
use tmt_core::scheme::engine::Ideal;
use tmt_core::scheme::{Rounds, SchemeSpec};
use tmt_core::stats::{early_repeat, or_interleaver};
use tmt_core::types::{Metadata, Note, Span};

use super::link::Link;
use crate::experiment::counted::counted;
use crate::experiment::error::{Result, data, refused};
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::CoupledPlan;
use crate::experiment::storage::{Loaded, Storage};
use crate::experiment::values::{LinkKind, PathKind, Probability};
use tmt_link::apply::{FeedbackDelay, applied_before};
use tmt_link::timeline::GeneratedSlots;
use tmt_link::{CoupledLink, Hold, InOrder, LostFeedback, Packing};

impl Experiment {
    pub(in crate::experiment) fn coupled_link(
        &self,
        storage: &dyn Storage,
    ) -> Result<(Link, CoupledPlan)> {
        let scheme = self.scheme.clone().ok_or_else(|| self.missing("scheme"))?;
        let in_order = self.order_of_delivery(&scheme)?;
        let (loaded, channel) = match &self.channel {
            Some(process) => {
                let (loaded, slots) = self.generated_slots(process)?;
                (loaded, Some(Box::new(slots)))
            }
            None => (self.read(storage, self.trace.as_ref(), false)?, None),
        };
        let decode_delay = loaded.rows.median_delay();
        let (feedback_delay, feedback_note) =
            self.resolved_feedback_delay(&loaded.head, decode_delay)?;
        let name = loaded.name.clone();
        let (mut link, trace) = self.link_over(LinkKind::Coupled, loaded, channel.is_some())?;
        let before = applied_before(&name, &link.head, scheme.text());
        link.notes.extend(before);
        if u32::try_from(trace.lldus_per_packet).is_err() {
            let message = format!(
                "`packet` {}: expected fewer than 2^32 LLDUs per packet",
                self.packet()
            );
            return refused("packet", message);
        }
        let split = self.path() == PathKind::Split;
        let coupled = CoupledLink {
            trace: Arc::clone(&trace.rows).into(),
            scheme,
            code: Ideal,
            feedback_delay,
            lost_feedback: self.lost_feedback(link.rtt, feedback_delay)?,
            segmentation: Packing::Packet.segmentation(self.packet(), trace.payload),
            tail: self.tail(),
            in_order,
            // A proxy keeps a packet until the link has acknowledged it.
            hold: if split {
                Hold::Acknowledged
            } else {
                self.hold()
            },
            period: trace.period,
        };
        let looped = trace.period.and(self.duration);
        let ends = looped.map(|duration| link.begin.saturating_add(duration));
        if ends.or(trace.rows.last()) > coupled.engine(link.rtt).repeats_fit_until() {
            return Err(data(format!(
                "{name}: found slots whose repeats would be sent after 2^63 - 1 ns, expected earlier slots, or a smaller `rtt`, `feedback_delay` or `feedback_timer`"
            )));
        }
        link.notes.push(format!(
            "scheme {}, feedback delay {feedback_note}, tail {}, in order {in_order}, hold {}: {} per packet without repeats",
            coupled.scheme,
            coupled.tail,
            coupled.hold,
            counted(coupled.units_per_packet(), "slot")
        ).into());
        // Without an interleaver a generated slot is decoded when it has been sent completely.
        let decodes_late = |slots: &GeneratedSlots| slots.decode_delay() > slots.slot();
        if channel.as_deref().is_none_or(decodes_late) && coupled.scheme.repeats() {
            let early = early_repeat("a repeat", decode_delay, feedback_delay);
            let or = or_interleaver(&link.head, decode_delay);
            let early = early
                .map(|early| Note::warning(format!("{early}; use `feedback_delay` decode{or}")));
            link.notes.extend(early);
        }
        let resolved = &mut link.resolved;
        if channel.is_some() {
            resolved.rate = self.rate_of_slots();
        }
        resolved.feedback_delay = Some(FeedbackDelay::Of(feedback_delay));
        resolved.tail = Some(coupled.tail);
        resolved.in_order = Some(in_order);
        resolved.hold = Some(coupled.hold);
        if let Some(LostFeedback {
            probability, timer, ..
        }) = coupled.lost_feedback
        {
            if coupled.scheme.rounds() == Rounds::AtMost(0) && coupled.hold == Hold::Sent {
                let message = format!(
                    "`feedback_loss`: found `scheme` {}, which repeats nothing, expected one that does, or `hold` acknowledged",
                    coupled.scheme
                );
                return refused("feedback_loss", message);
            }
            let origin = match self.feedback_timer {
                Some(_) => "`feedback_timer`",
                None => "default, 2 x (RTT + feedback delay)",
            };
            link.notes.push(format!(
                "feedback is lost with probability {probability}; without feedback a repeat follows after {timer} ({origin})"
            ).into());
            resolved.feedback_timer = Some(timer);
        }
        let plan = CoupledPlan {
            link: coupled,
            trace,
            channel,
        };
        Ok((link, plan))
    }

    /// The feedback delay, and a text with its origin.
    pub(in crate::experiment) fn resolved_feedback_delay(
        &self,
        head: &Metadata,
        decode_delay: Option<Span>,
    ) -> Result<(Span, String)> {
        match (self.feedback_delay, head.interleaver()) {
            (Some(FeedbackDelay::Interleaver), Some(depth)) if self.channel.is_some() => {
                Ok((depth, format!("{depth} (interleaver of `channel`)")))
            }
            (given, _) => Ok(FeedbackDelay::resolve(given, head, decode_delay)?),
        }
    }

    /// The order of delivery: that of the parameter, which must not contradict the scheme.
    fn order_of_delivery(&self, scheme: &SchemeSpec) -> Result<InOrder> {
        match self.in_order {
            given if !scheme.in_order() => Ok(given.unwrap_or_default()),
            None | Some(InOrder::Link) => Ok(InOrder::Link),
            Some(given) => refused(
                "in_order",
                format!("`in_order` {given} contradicts the scheme '{scheme}', which means link"),
            ),
        }
    }

    /// Loss probability and timer of the feedback. The seed is set per run.
    fn lost_feedback(&self, rtt: Span, feedback_delay: Span) -> Result<Option<LostFeedback>> {
        let Some(Probability(probability)) = self.feedback_loss else {
            return Ok(None);
        };
        let heard = rtt.checked_add(feedback_delay);
        let twice = heard.and_then(|heard| heard.checked_mul(2));
        match (self.feedback_timer.or(twice), heard) {
            (Some(timer), Some(heard)) if timer < heard => refused(
                "feedback_timer",
                format!(
                    "`feedback_timer` {timer}: expected at least {heard}, RTT and feedback delay, or it would expire before feedback can arrive"
                ),
            ),
            (Some(timer), _) => Ok(Some(LostFeedback {
                probability,
                timer,
                seed: 0,
            })),
            (None, _) => refused(
                "feedback_loss",
                "`feedback_loss`: found twice the RTT and feedback delay above 2^63 - 1 ns, expected a smaller `rtt` or `feedback_delay`",
            ),
        }
    }

    /// The slots of a channel: those of the first seed, and their generator.
    pub(in crate::experiment) fn generated_slots(
        &self,
        process: &SlotChannel,
    ) -> Result<(Loaded, GeneratedSlots)> {
        let rate = self.rate_of_slots().ok_or_else(|| self.missing("rate"))?;
        let duration = self.duration.ok_or_else(|| self.missing("duration"))?;
        let own = process.link();
        let mut head = Metadata::new();
        for (key, value) in own.iter().flat_map(|link| {
            [
                ("lldu_bytes", link.lldu.0),
                ("rtt_ns", link.rtt.as_nanos()),
                ("interleaver_ns", link.interleaver.as_nanos()),
            ]
        }) {
            head.set(key, value.to_string());
        }
        if let Some(header) = own.and_then(|link| link.lldu_header) {
            head.set("lldu_header_bytes", header.0.to_string());
        }
        let radio = process.radio().filter(|_| own.is_none());
        let interleaver = radio.map(|radio| radio.parameters().interleaver);
        if let Some(interleaver) = interleaver.filter(|depth| !depth.is_zero()) {
            if interleaver > duration {
                return refused(
                    "channel",
                    format!(
                        "`channel`: found an interleaver of {interleaver}, expected at most the duration of {duration}"
                    ),
                );
            }
            head.set("interleaver_ns", interleaver.as_nanos().to_string());
        }
        let (lldu, _) = self.lldu_size(&head);
        if let Some(misfit) = process.misfit(lldu) {
            return refused("channel", format!("`channel`: {misfit}; set `lldu`"));
        }
        let Some(slots) = GeneratedSlots::new(rate, lldu, duration, process.clone()) else {
            return refused(
                "channel",
                format!(
                    "`channel`: found rate {rate}, LLDU {lldu} and duration {duration}, expected each above zero, slots of at least 1 ns, and an end before 2^63 ns"
                ),
            );
        };
        let rows = slots.trace(self.seed().0).rows();
        let said = match process {
            SlotChannel::Steps(_) => String::new(),
            SlotChannel::Timed(process) => process.note(slots.slot()),
        };
        let said = if said.is_empty() {
            said
        } else {
            format!(", {said}")
        };
        let note = format!(
            "channel {}, {} of {}{said}",
            process.brief(),
            counted(rows.len(), "slot"),
            slots.slot()
        );
        let mut notes: Vec<Note> = vec![note.into()];
        let unused = unused_positions("`channel`", process, rows.len(), "slots");
        notes.extend(unused.map(Note::warning));
        if let Some(link) = own {
            let differs = [
                ("rate", rate != link.rate, link.rate.to_string()),
                ("lldu", lldu != link.lldu, link.lldu.to_string()),
            ];
            let differs = differs.iter().filter(|(_, differs, _)| *differs);
            notes.extend(differs.map(|(key, _, known)| {
                Note::from(format!(
                    "`{key}` replaces the {known} of the channel's link"
                ))
            }));
        }
        let loaded = Loaded {
            name: "`channel`".to_owned(),
            rows,
            head,
            end: None,
            notes,
        };
        Ok((loaded, slots))
    }
}
