//! Parameters of a coupled link.

use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::math::num::floor_u64;
use tmt_core::scheme::SchemeSpec;
use tmt_core::scheme::engine::{Code, Engine, FeedbackLoss, Ideal};
use tmt_core::types::{BitRate, Bytes, Span, to_f64};

use crate::packing::Segmentation;
use crate::timeline::SlotTrace;

/// Last codeword of a packet whose data units do not fill it (`--tail`; docs/schemes.md, Sec. 10.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tail {
    /// Short codeword: the remaining data units and all repair units.
    #[default]
    Short,
    /// Full codeword: padding is sent and repaired like data.
    Pad,
}

tmt_core::keywords!(Tail { Short => "short", Pad => "pad" });

/// Order of delivery (`--in-order`; docs/schemes.md, Sec. 10.4): earlier packets that a complete packet waits for, until
/// they are delivered or lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InOrder {
    /// All earlier packets of the link.
    Link,
    /// The earlier packets of its flow.
    Flow,
    /// No packets: each is delivered on arrival.
    #[default]
    Off,
}

tmt_core::keywords!(InOrder { Link => "link", Flow => "flow", Off => "off" });

/// Time at which a packet leaves the buffer (`--hold`; docs/schemes.md, Sec. 10.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hold {
    /// When the last unit of its first transmission has been sent.
    #[default]
    Sent,
    /// When the link's feedback has reported that it has arrived or is lost (Zhu 2006, Sec. IV).
    Acknowledged,
}

tmt_core::keywords!(Hold { Sent => "sent", Acknowledged => "acknowledged" });

/// Loss of the scheme's feedback, and the timer that asks for a round if there is no feedback (docs/schemes.md,
/// Sec. 10.6).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostFeedback {
    /// Probability that the feedback of an attempt of a codeword is lost.
    pub probability: f64,
    /// Time from the last unit of the attempt to the repeat, at least RTT + fb.
    pub timer: Span,
    /// Seed of the draws that decide which feedback is lost.
    pub seed: u64,
}

/// Division of a packet into codewords (docs/schemes.md, Sec. 10.1).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape {
    /// Data units per packet, padding included.
    pub(super) data_units: u32,
    /// Units of its first transmission, repair units included.
    pub(super) units: u64,
    /// Codewords per packet.
    pub(super) codewords: u64,
}

/// A PHY trace with a scheme that runs on the queued packets.
#[derive(Debug, Clone)]
pub struct CoupledLink<C: Code = Ideal> {
    /// Slots of the PHY trace.
    pub trace: SlotTrace,
    /// Reliability scheme. Its own `in-order` concerns LLDUs and has no effect here.
    pub scheme: SchemeSpec,
    /// Code that decides which units decode a codeword.
    pub code: C,
    /// Feedback delay fb, beyond the RTT.
    pub feedback_delay: Span,
    /// Loss of feedback; `None` if none is lost.
    pub lost_feedback: Option<LostFeedback>,
    /// Data units of a packet, each an LLDU: at least one, below 2^32.
    pub segmentation: Segmentation,
    /// Form of the last codeword of a packet.
    pub tail: Tail,
    /// Order in which packets are delivered.
    pub in_order: InOrder,
    /// Time at which a packet leaves the buffer.
    pub hold: Hold,
    /// Period with which the trace repeats until the end of the run, its slots numbered through all rounds; `None` if it is used
    /// once.
    pub period: Option<Span>,
}

impl CoupledLink {
    /// A scheme with the ideal code on `trace` whose packets take data units as `segmentation` says: feedback without loss or extra delay, short
    /// last codewords, delivery in any order, packets held until they are sent, a trace that is used once.
    ///
    /// ```
    /// use tmt_core::{BitRate, Bytes, SchemeSpec, Span};
    /// use tmt_link::timeline::GeneratedSlots;
    /// use tmt_link::{CoupledLink, InOrder, Segmentation};
    ///
    /// let rate = BitRate(2_340_000);
    /// let slots = GeneratedSlots::new(rate, Bytes(33), Span::from_secs(60), "bernoulli:0.01".parse()?)
    ///     .ok_or("the rate leaves no slot")?;
    /// let packets = Segmentation::whole(Bytes(1500), 50);
    /// let link = CoupledLink {
    ///     in_order: InOrder::Flow,
    ///     ..CoupledLink::new(slots.trace(1), SchemeSpec::harq(10, 12)?, packets)
    /// };
    /// assert_eq!(link.units_per_packet(), 60);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(trace: SlotTrace, scheme: SchemeSpec, segmentation: Segmentation) -> Self {
        Self {
            trace,
            scheme,
            code: Ideal,
            feedback_delay: Span::ZERO,
            lost_feedback: None,
            segmentation,
            tail: Tail::default(),
            in_order: InOrder::default(),
            hold: Hold::default(),
            period: None,
        }
    }
}

impl<C: Code> CoupledLink<C> {
    /// The same link with another code.
    #[must_use]
    pub fn with_code<D: Code>(self, code: D) -> CoupledLink<D> {
        CoupledLink {
            code,
            trace: self.trace,
            scheme: self.scheme,
            feedback_delay: self.feedback_delay,
            lost_feedback: self.lost_feedback,
            segmentation: self.segmentation,
            tail: self.tail,
            in_order: self.in_order,
            hold: self.hold,
            period: self.period,
        }
    }

    /// Units of the first transmission of a packet of the usual size, with repair units and padding.
    #[must_use]
    pub fn units_per_packet(&self) -> u64 {
        self.shape(self.segmentation.size()).units
    }

    /// The same link with another seed for the loss of feedback.
    #[must_use]
    pub fn seeded(&self, seed: u64) -> Self {
        let lost_feedback = self.lost_feedback;
        Self {
            lost_feedback: lost_feedback.map(|lost| LostFeedback { seed, ..lost }),
            ..self.clone()
        }
    }

    /// Engine of the scheme before its first slot.
    #[must_use]
    pub fn engine(&self, rtt: Span) -> Engine<C> {
        let (scheme, code) = (self.scheme.clone(), self.code.clone());
        let engine = Engine::with_code(scheme, code, rtt, self.feedback_delay).without_order();
        let Some(lost) = self.lost_feedback else {
            return engine;
        };
        let p = lost.probability;
        engine.with_feedback_loss(FeedbackLoss {
            loss: Channel::of_feedback(ChannelSpec::Bernoulli { p }, lost.seed),
            timer: lost.timer,
        })
    }

    /// Mean rate at which the slots carry packets, repeats apart; `None` if it is unknown.
    pub(super) fn rate(&self) -> Option<BitRate> {
        let size = self.segmentation.size();
        let packets = self.trace.rate()? / to_f64(self.shape(size).units);
        Some(BitRate(floor_u64(packets * to_f64(8 * size.0))))
    }

    /// Division of a packet of this size into codewords.
    pub(super) fn shape(&self, size: Bytes) -> Shape {
        let data_units = self.segmentation.of(size).lldus();
        let data_units = u32::try_from(data_units).unwrap_or(u32::MAX);
        let (full, repair) = (
            self.scheme.data_units(),
            self.scheme.units() - self.scheme.data_units(),
        );
        let codewords = data_units.div_ceil(full);
        let data_units = match self.tail {
            Tail::Short => data_units,
            Tail::Pad => codewords.saturating_mul(full),
        };
        Shape {
            data_units,
            units: u64::from(data_units) + u64::from(codewords) * u64::from(repair),
            codewords: codewords.into(),
        }
    }
}
