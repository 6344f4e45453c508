//! Schemes applied to a trace of slots: RTT and feedback delay of the link, the timeline, and its head
//! (docs/schemes.md, Sec. 9).
//!
//! ```
//! use tmt_core::types::Metadata;
//! use tmt_core::{Fate, Lldu, SchemeSpec, Slot, Span, Time};
//! use tmt_link::apply::AppliedScheme;
//! use tmt_link::timeline::Builder;
//!
//! // Four slots, 10 ms apart. The second is erased, and sent again one round trip later.
//! let at = |millis| Time::ZERO.saturating_add(Span::from_millis(millis));
//! let received = |millis| Slot::new(at(millis), Span::from_millis(1)).unwrap_or(Slot::erased(at(millis)));
//! let mut slots = Builder::default();
//! slots.slots(&[received(0), Slot::erased(at(10)), received(20), received(30)]);
//! let applied = AppliedScheme {
//!     scheme: SchemeSpec::harq(1, 1)?,
//!     rtt: Span::from_millis(20),
//!     feedback_delay: Span::ZERO,
//! };
//! let mut timeline: Vec<Lldu> = Vec::new();
//! let end = applied.run(&slots.finish(), |lldus| timeline.extend(lldus))?;
//! assert_eq!((end.rows, end.slots), (3, 4));
//! assert_eq!((timeline[1].fate, timeline[1].attempts), (Fate::Delivered, 2));
//! let mut head = Metadata::new();
//! applied.describe(&mut head, Some(Span::from_millis(1)), Some(100.0));
//! assert_eq!((head.get("scheme"), head.rtt()), (Some("harq:1/1"), Some(applied.rtt)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod origin;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use tmt_core::format::TraceReader;
use tmt_core::named::ParseError;
use tmt_core::scheme::SchemeSpec;
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::stats::{
    DecodeDelays, SlotRate, early_repeat, or_interleaver, unit_question, wrong_unit,
};
use tmt_core::types::{EndLine, Lldu, Metadata, Note, Slot, Span, agree};

use crate::timeline::{Trace, Unreadable};
pub use origin::Origin;

/// RTT of a GEO link, assumed if neither parameter nor trace has one (docs/schemes.md, Sec. 9).
pub const DEFAULT_RTT: Span = Span::from_millis(500);

/// A trace to which no scheme can be applied. Messages name parameters by their keys, in backticks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// [`FeedbackDelay::Decode`] of slots that were all erased.
    #[error(
        "`feedback_delay` decode: found no received slot at the start of the trace, expected one; or give a duration"
    )]
    NoDecodeDelay,
    /// [`FeedbackDelay::Interleaver`] without `interleaver_ns` in the metadata.
    #[error(
        "`feedback_delay` interleaver: found no interleaver_ns in the metadata, expected one; or give a duration"
    )]
    NoInterleaver,
    /// The RTT given is not that of the head.
    #[error("{0}, or let it replace that of the head with `replace_head`")]
    OtherRtt(String),
    /// Repeats of the slots would leave after the last time that can be written.
    #[error("found slots whose repeats would be sent after 2^63 - 1 ns, expected earlier slots")]
    TooLate,
    /// A block of the slots cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

/// Feedback delay of a link, beyond the RTT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedbackDelay {
    /// `interleaver_ns` of the metadata.
    Interleaver,
    /// The median decoding delay of the slots.
    Decode,
    /// This duration.
    Of(Span),
}

impl FeedbackDelay {
    /// The delay if `given` is what the parameter says, and a text with its origin. `head` is that of the trace of slots,
    /// and `decode_delay` their median decoding delay, which is the default: earlier, the receiver cannot have asked.
    ///
    /// # Errors
    /// [`Error::NoDecodeDelay`] or [`Error::NoInterleaver`] if the trace lacks what the value takes from it.
    pub fn resolve(
        given: Option<Self>,
        head: &Metadata,
        decode_delay: Option<Span>,
    ) -> Result<(Span, String), Error> {
        let (span, origin) = match given {
            None => {
                let span = decode_delay.unwrap_or(Span::ZERO);
                (span, "median decoding delay, default")
            }
            Some(Self::Of(span)) => (span, "`feedback_delay`"),
            Some(Self::Decode) => {
                let span = decode_delay.ok_or(Error::NoDecodeDelay)?;
                (span, "median decoding delay")
            }
            Some(Self::Interleaver) => {
                let span = head.interleaver().ok_or(Error::NoInterleaver)?;
                (span, "interleaver_ns of the metadata")
            }
        };
        Ok((span, format!("{span} ({origin})")))
    }
}

impl FromStr for FeedbackDelay {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "interleaver" => Ok(Self::Interleaver),
            "decode" => Ok(Self::Decode),
            _ => text.parse().map(Self::Of).map_err(|error| {
                ParseError::new(format!("{error}, or 'decode', or 'interleaver'"))
            }),
        }
    }
}

impl fmt::Display for FeedbackDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interleaver => f.write_str("interleaver"),
            Self::Decode => f.write_str("decode"),
            Self::Of(span) => span.fmt(f),
        }
    }
}

/// The warning on an RTT that is assumed, because `places` have none.
#[must_use]
pub fn assumed_rtt(places: &str) -> Note {
    Note::warning(format!("no RTT in {places}: assuming {DEFAULT_RTT} (GEO)"))
}

/// The warning on `schemes` that run on the timeline `name`; `None` if `head` is not that of a timeline.
#[must_use]
pub fn applied_before(name: &str, head: &Metadata, schemes: &str) -> Option<Note> {
    let before = head.get("scheme")?;
    Some(Note::warning(format!(
        "{name} is a timeline of scheme {before}: {schemes} runs on top of it, with its LLDUs as slots"
    )))
}

/// The feedback delay of the scheme that was applied before.
fn stored_feedback_delay(head: &Metadata) -> Option<Span> {
    head.number("feedback_delay_ns").and_then(Span::from_nanos)
}

/// A scheme on the slots of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedScheme {
    /// The scheme.
    pub scheme: SchemeSpec,
    /// RTT of the link, propagation only.
    pub rtt: Span,
    /// Extra delay of the feedback.
    pub feedback_delay: Span,
}

impl AppliedScheme {
    /// Turns the head of the slots into that of the timeline. The median decoding delay of the slots, and their rate per
    /// second, cannot be seen in the timeline; where one is `None`, its key is removed.
    pub fn describe(
        &self,
        head: &mut Metadata,
        decode_delay: Option<Span>,
        slots_per_s: Option<f64>,
    ) {
        head.set("scheme", self.scheme.text());
        head.set("rtt_ns", self.rtt.as_nanos().to_string());
        let feedback_delay_ns = self.feedback_delay.as_nanos();
        head.set("feedback_delay_ns", feedback_delay_ns.to_string());
        head.set_decode_delay_median(decode_delay);
        head.set_slots_per_s(slots_per_s);
    }

    /// Runs the scheme on `slots`, passes the LLDUs of the timeline to `put`, and returns the end line. The rows of a
    /// timeline count as slots, too.
    ///
    /// # Errors
    /// [`Error::TooLate`], or [`Error::Unreadable`].
    pub fn run(&self, slots: &Trace, put: impl FnMut(&[Lldu])) -> Result<EndLine, Error> {
        self.run_on(slots.slots().map(|block| block.map_err(Error::from)), put)
    }

    /// As [`Self::run`], on blocks of slots in their order. The first error among them ends it.
    ///
    /// # Errors
    /// That of a block, or [`Error::TooLate`].
    pub fn run_on<E: From<Error>>(
        &self,
        blocks: impl IntoIterator<Item = Result<Vec<Slot>, E>>,
        mut put: impl FnMut(&[Lldu]),
    ) -> Result<EndLine, E> {
        let mut runner = SchemeRunner::new(self.scheme.clone(), self.rtt, self.feedback_delay);
        let mut lldus = Vec::new();
        for slots in blocks {
            let pushed = runner.push_slots(&slots?, &mut lldus);
            pushed.map_err(|_| Error::TooLate)?;
            put(&lldus);
            lldus.clear();
        }
        let end = runner.finish(&mut lldus);
        put(&lldus);
        Ok(end)
    }
}

/// The settings of a transform of slots into timelines, resolved for a trace.
#[derive(Debug, Clone)]
pub struct Transform {
    /// Reliability schemes; each makes a timeline.
    pub schemes: Vec<SchemeSpec>,
    /// RTT of the link, propagation only.
    pub rtt: Span,
    /// Extra delay of the feedback.
    pub feedback_delay: Span,
    /// RTT and feedback delay with their origin, as a headline has them.
    pub settings: String,
    /// Notes and warnings. They name parameters by their keys, in backticks.
    pub notes: Vec<Note>,
    /// RTT in the metadata, if the parameter replaces it.
    replaced_rtt: Option<Span>,
    /// Median decoding delay of the first slots.
    decode_delay: Option<Span>,
    slots_per_s: Option<f64>,
}

impl Transform {
    /// Resolves the settings for the trace of `reader`, whose first rows it reads ahead: the head of a timeline has their
    /// rate and median decoding delay, and is written before its rows.
    ///
    /// # Errors
    /// [`Error::NoDecodeDelay`] or [`Error::NoInterleaver`] if the trace lacks what `feedback_delay` takes from it;
    /// [`Error::OtherRtt`] if its head has another RTT than `rtt`, which may only `replace_head`.
    pub fn resolve(
        schemes: Vec<SchemeSpec>,
        rtt: Option<Span>,
        replace_head: bool,
        feedback_delay: Option<FeedbackDelay>,
        reader: &mut TraceReader<'_>,
    ) -> Result<Self, Error> {
        let (mut delays, mut rate) = (DecodeDelays::default(), SlotRate::default());
        reader.look_ahead(|rows| {
            delays.slots(&rows.slots);
            rows.slots.iter().for_each(|slot| rate.push(slot.tx_time()));
            delays.is_full()
        });
        let decode_delay = delays.median();
        let head = reader.metadata();
        let (feedback_delay, delay_origin) =
            FeedbackDelay::resolve(feedback_delay, head, decode_delay)?;
        let stored = head.rtt();
        if !replace_head {
            agree("rtt", "rtt_ns", rtt, stored).map_err(Error::OtherRtt)?;
        }
        let (used, rtt_origin) = Origin::Metadata.chosen("`rtt`", rtt, stored, DEFAULT_RTT);
        let mut transform = Self {
            settings: format!("RTT {used} ({rtt_origin}), feedback delay {delay_origin}"),
            schemes,
            rtt: used,
            feedback_delay,
            notes: Vec::new(),
            replaced_rtt: stored.filter(|stored| *stored != used),
            decode_delay,
            slots_per_s: rate.per_second(),
        };
        let is_assumed = rtt.or(stored).is_none();
        transform.notes = transform.notes_on(head, is_assumed);
        Ok(transform)
    }

    /// The schemes, separated by commas.
    #[must_use]
    pub fn scheme_names(&self) -> String {
        let texts: Vec<&str> = self.schemes.iter().map(SchemeSpec::text).collect();
        texts.join(", ")
    }

    fn notes_on(&self, head: &Metadata, is_rtt_assumed: bool) -> Vec<Note> {
        let delay_s = self.decode_delay.map(Span::as_secs_f64);
        let unit = wrong_unit(head.trace_kind(), self.slots_per_s.map(f64::recip), delay_s)
            .map(|found| format!("{found}: {}", unit_question("`unit`", head)));
        let probes = head.probe_warning().map(str::to_owned);
        let assumed = is_rtt_assumed.then(|| assumed_rtt("`rtt` or in the trace").text);
        let warnings = [unit, probes, assumed, self.early(head)];
        let mut notes: Vec<Note> = warnings.into_iter().flatten().map(Note::warning).collect();
        if let Some(stored) = stored_feedback_delay(head)
            && stored != self.feedback_delay
        {
            notes.push(Note::from(format!(
                "feedback delay {stored} in the metadata is that of the scheme applied before"
            )));
        }
        notes.extend(applied_before("the input", head, &self.scheme_names()));
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

    /// The head of the timeline of `scheme`: that of the trace ([`Metadata::begun`]), the keys of [`AppliedScheme::describe`], the
    /// values that the parameters replace, and this stage.
    #[must_use]
    pub fn head(&self, input: &Metadata, scheme: &SchemeSpec) -> Metadata {
        let applied = AppliedScheme {
            scheme: scheme.clone(),
            rtt: self.rtt,
            feedback_delay: self.feedback_delay,
        };
        let mut head = input.clone();
        if let Some(stored) = stored_feedback_delay(input)
            && stored != self.feedback_delay
        {
            let (stored, used) = (stored.as_nanos(), self.feedback_delay.as_nanos());
            head.override_value("feedback_delay_ns", "--feedback-delay", stored, used);
        }
        applied.describe(&mut head, self.decode_delay, self.slots_per_s);
        if let Some(stored) = self.replaced_rtt {
            head.override_value("rtt_ns", "--rtt", stored.as_nanos(), self.rtt.as_nanos());
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
