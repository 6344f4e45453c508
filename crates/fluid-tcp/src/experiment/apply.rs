//! What `tmt apply` does with its parameters: RTT and feedback delay, their origin, and the head of a timeline
//! (docs/schemes.md, Sec. 9).

use derive_more::Display;
use tmt_core::format::TraceReader;
use tmt_core::scheme::SchemeSpec;
use tmt_core::stats::{
    DecodeDelays, SlotRate, early_repeat, or_interleaver, unit_question, wrong_unit,
};
use tmt_core::types::{Metadata, Span};

use super::error::Result;
use super::note::Note;
use super::resolve::{DEFAULT_RTT, assumed_rtt};
use super::values::FeedbackDelay;

/// Origin of an RTT, in the words of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
enum Origin {
    #[display("`rtt`")]
    Parameter,
    /// As `Parameter`, in place of the value in the metadata.
    #[display("`rtt`; {_0} in the metadata")]
    Overriding(Span),
    #[display("metadata")]
    Metadata,
    #[display("default")]
    Default,
}

/// The settings of a transform of slots into timelines, resolved for a trace.
#[derive(Debug, Clone)]
pub struct Transform {
    /// Reliability schemes, each of which makes a timeline.
    pub schemes: Vec<SchemeSpec>,
    /// RTT of the link, propagation only.
    pub rtt: Span,
    /// Extra delay of the feedback.
    pub feedback_delay: Span,
    /// RTT and feedback delay with their origin, as a headline has them.
    pub settings: String,
    /// Notes and warnings. They name parameters by their keys, in backticks.
    pub notes: Vec<Note>,
    rtt_origin: Origin,
    /// Median decoding delay of the first slots.
    decode_delay: Option<Span>,
    slots_per_s: Option<f64>,
}

impl Transform {
    /// Resolves the settings for the trace of `reader`, whose first rows it reads ahead: the head of a timeline has their
    /// rate and median decoding delay, and is written before its rows.
    ///
    /// # Errors
    /// [`Error::Data`](super::Error::Data) if the trace lacks what `feedback_delay` takes from it.
    pub fn resolve(
        schemes: Vec<SchemeSpec>,
        rtt: Option<Span>,
        feedback_delay: Option<FeedbackDelay>,
        reader: &mut TraceReader<'_>,
    ) -> Result<Self> {
        let (mut delays, mut rate) = (DecodeDelays::default(), SlotRate::default());
        reader.look_ahead(|rows| {
            delays.slots(&rows.slots);
            rows.slots.iter().for_each(|slot| rate.push(slot.tx_time()));
            delays.is_full()
        });
        let (decode_delay, slots_per_s) = (delays.median(), rate.per_second());
        let head = reader.metadata();
        let (feedback_delay, delay_origin) =
            FeedbackDelay::resolve(feedback_delay, head, decode_delay)?;
        let (rtt, rtt_origin) = round_trip(rtt, head);
        let mut transform = Self {
            settings: format!("RTT {rtt} ({rtt_origin}), feedback delay {delay_origin}"),
            schemes,
            rtt,
            feedback_delay,
            notes: Vec::new(),
            rtt_origin,
            decode_delay,
            slots_per_s,
        };
        transform.notes = transform.notes_on(head);
        Ok(transform)
    }

    /// The schemes, separated by commas.
    #[must_use]
    pub fn scheme_names(&self) -> String {
        let texts: Vec<&str> = self.schemes.iter().map(SchemeSpec::text).collect();
        texts.join(", ")
    }

    fn notes_on(&self, head: &Metadata) -> Vec<Note> {
        let delay_s = self.decode_delay.map(Span::as_secs_f64);
        let unit = wrong_unit(head.trace_kind(), self.slots_per_s.map(f64::recip), delay_s)
            .map(|found| format!("{found}: {}", unit_question("`unit`", head)));
        let probes = head.probe_warning().map(str::to_owned);
        let assumed =
            (self.rtt_origin == Origin::Default).then(|| assumed_rtt("`rtt` or in the trace").text);
        let warnings = [unit, probes, assumed, self.early(head)];
        let mut notes: Vec<Note> = warnings.into_iter().flatten().map(Note::warning).collect();
        if let Some(stored) = stored_feedback_delay(head)
            && stored != self.feedback_delay
        {
            notes.push(Note::from(format!(
                "feedback delay {stored} in the metadata is that of the scheme applied before"
            )));
        }
        notes.extend(applied_before(head, &self.scheme_names()));
        notes
    }

    /// The warning on schemes whose repeats leave before the receiver has decoded what it asks for.
    fn early(&self, head: &Metadata) -> Option<String> {
        let repeating = self.schemes.iter().filter(|scheme| scheme.repeats());
        let repeating: Vec<&str> = repeating.map(SchemeSpec::text).collect();
        let repeat = format!("a repeat of {}", repeating.join(", "));
        let early = early_repeat(&repeat, self.decode_delay, self.feedback_delay);
        let early = early.filter(|_| !repeating.is_empty())?;
        let or = or_interleaver(head, self.decode_delay);
        Some(format!("{early}; use `feedback_delay` decode{or}"))
    }

    /// The head of the timeline of `scheme`: that of the trace, and the keys of this stage. The median decoding delay and
    /// the rate of the slots cannot be seen in the timeline.
    #[must_use]
    pub fn head(&self, input: &Metadata, scheme: &SchemeSpec) -> Metadata {
        if !input.is_head() {
            return Metadata::new();
        }
        let mut head = input.clone();
        let (rtt_ns, delay_ns) = (self.rtt.as_nanos(), self.feedback_delay.as_nanos());
        let stored = stored_feedback_delay(&head).map(Span::as_nanos);
        if let Some(stored) = stored.filter(|stored| *stored != delay_ns) {
            head.override_value("feedback_delay_ns", "--feedback-delay", stored, delay_ns);
        }
        head.set("scheme", scheme.text());
        head.set("rtt_ns", rtt_ns.to_string());
        head.set("feedback_delay_ns", delay_ns.to_string());
        head.set_decode_delay_median(self.decode_delay);
        head.set_slots_per_s(self.slots_per_s);
        if let Origin::Overriding(stored) = self.rtt_origin {
            head.override_value("rtt_ns", "--rtt", stored.as_nanos(), rtt_ns);
        }
        head.push(
            "stage",
            format!(
                "tmt apply --scheme {scheme} --rtt {} --feedback-delay {}",
                self.rtt, self.feedback_delay
            ),
        );
        head
    }
}

/// The RTT: that of the parameter, else of the head, else 500 ms.
fn round_trip(given: Option<Span>, head: &Metadata) -> (Span, Origin) {
    match (given, head.rtt()) {
        (Some(given), Some(stored)) if given != stored => (given, Origin::Overriding(stored)),
        (Some(given), _) => (given, Origin::Parameter),
        (None, Some(stored)) => (stored, Origin::Metadata),
        (None, None) => (DEFAULT_RTT, Origin::Default),
    }
}

/// The warning that `schemes` run on a timeline.
pub(super) fn applied_before(head: &Metadata, schemes: &str) -> Option<Note> {
    let before = head.get("scheme")?;
    Some(Note::warning(format!(
        "the input is a timeline of scheme {before}: {schemes} runs on top of it, with its LLDUs as slots"
    )))
}

/// The feedback delay of the scheme that was applied before.
fn stored_feedback_delay(head: &Metadata) -> Option<Span> {
    head.number("feedback_delay_ns").and_then(Span::from_nanos)
}
