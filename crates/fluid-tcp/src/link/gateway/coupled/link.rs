//! A coupled link as it is asked for.

use std::sync::Arc;

use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::scheme::SchemeSpec;
use tmt_core::scheme::engine::{FeedbackLoss, Machine};
use tmt_core::types::Span;

use super::packets::Shape;
use crate::link::timeline::SlotTrace;

/// What becomes of the last codeword of a packet whose units do not fill it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tail {
    /// It has the data units that are left, and all repair units.
    #[default]
    Short,
    /// It is filled up to a whole one; what fills it is sent, and repaired, like data.
    Pad,
}

keywords!(Tail { Short => "short", Pad => "pad" });

/// For which packets before it a delivered packet waits until they are delivered or lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InOrder {
    /// All of the link.
    Link,
    /// Those of its flow.
    Flow,
    /// None.
    #[default]
    Off,
}

keywords!(InOrder { Link => "link", Flow => "flow", Off => "off" });

/// How long the queue holds a packet; a lost one leaves with what loses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hold {
    /// Until its last unit has been sent for the first time.
    #[default]
    Sent,
    /// Until the link's feedback has told that it has arrived, or that it is lost (papers/004 §IV).
    Acknowledged,
}

keywords!(Hold { Sent => "sent", Acknowledged => "acknowledged" });

/// Feedback of the scheme that is lost on its way, and a timer that has units sent again where nothing is heard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LostFeedback {
    /// Probability that the feedback of an attempt of a codeword is lost.
    pub probability: f64,
    /// From the last unit of the attempt to the repeat; RTT + fb or more.
    pub timer: Span,
    /// Seed of the draws.
    pub seed: u64,
}

/// A PHY trace with a scheme on it.
#[derive(Debug, Clone)]
pub struct CoupledLink {
    /// The slots.
    pub trace: Arc<SlotTrace>,
    /// The scheme; its own `in-order` is that of LLDUs and has no effect here.
    pub scheme: SchemeSpec,
    /// Extra delay of the feedback, fb.
    pub feedback_delay: Span,
    /// What is lost of the feedback; none where all of it comes through.
    pub lost_feedback: Option<LostFeedback>,
    /// Data units of a packet, at least one.
    pub data_units: u32,
    /// The last codeword of a packet.
    pub tail: Tail,
    /// The order of delivery.
    pub in_order: InOrder,
    /// How long the queue holds a packet.
    pub hold: Hold,
}

impl CoupledLink {
    /// A scheme on `trace` whose packets take `data_units` data units each: feedback without loss or extra delay, short
    /// last codewords, delivery in any order, packets held until they are sent.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use fluid_tcp::link::gateway::{CoupledLink, InOrder};
    /// use fluid_tcp::link::timeline::GeneratedSlots;
    /// use tmt_core::{BitRate, Bytes, SchemeSpec, Span};
    ///
    /// let rate = BitRate(2_340_000);
    /// let slots = GeneratedSlots::new(rate, Bytes(33), Span::from_secs(60), "bernoulli:0.01".parse()?)
    ///     .ok_or("the rate leaves no slot")?;
    /// let link = CoupledLink {
    ///     in_order: InOrder::Flow,
    ///     ..CoupledLink::new(Arc::new(slots.timeline(1)), SchemeSpec::harq(10, 12)?, 50)
    /// };
    /// assert_eq!(link.units_per_packet(), 60);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(trace: Arc<SlotTrace>, scheme: SchemeSpec, data_units: u32) -> Self {
        Self {
            trace,
            scheme,
            feedback_delay: Span::ZERO,
            lost_feedback: None,
            data_units,
            tail: Tail::default(),
            in_order: InOrder::default(),
            hold: Hold::default(),
        }
    }

    /// Units of a packet's first transmission, repair units and padding included.
    #[must_use]
    pub fn units_per_packet(&self) -> u64 {
        self.shape().units
    }

    /// The same link under `seed`.
    #[must_use]
    pub fn seeded(&self, seed: u64) -> Self {
        let lost_feedback = self.lost_feedback;
        Self {
            lost_feedback: lost_feedback.map(|lost| LostFeedback { seed, ..lost }),
            ..self.clone()
        }
    }

    /// The machine of the scheme, before its first slot.
    #[must_use]
    pub fn machine(&self, rtt: Span) -> Machine {
        let machine = Machine::new(self.scheme.clone(), rtt, self.feedback_delay).watched();
        let Some(lost) = self.lost_feedback else {
            return machine;
        };
        let p = lost.probability;
        machine.with_feedback_loss(FeedbackLoss {
            loss: Channel::of_feedback(ChannelSpec::Bernoulli { p }, lost.seed),
            timer: lost.timer,
        })
    }

    pub(super) fn shape(&self) -> Shape {
        let (full, repair) = (
            self.scheme.data_units(),
            self.scheme.units() - self.scheme.data_units(),
        );
        let codewords = self.data_units.div_ceil(full);
        let data_units = match self.tail {
            Tail::Short => self.data_units,
            Tail::Pad => codewords.saturating_mul(full),
        };
        Shape {
            data_units,
            units: u64::from(data_units) + u64::from(codewords) * u64::from(repair),
            codewords: codewords.into(),
        }
    }
}
