//! Congestion control: the trait, and the registry by name.
//!
//! A controller sees events and answers with a window; when and what to send is the sender's. A new
//! one is one file in `congestion/` and one line in [`ENTRIES`], or an [`Entry`] of another crate.

mod backlog;
mod bbr;
mod bbr1;
mod compound;
mod cubic;
mod fixed;
mod hybla;
mod hystart;
mod newreno;
mod rate;
mod reno;
mod vegas;
mod westwood;

use std::fmt;

use tmt_core::types::{Span, Time};

pub use self::{
    bbr::ENTRY as BBR, bbr1::ENTRY as BBR1, compound::ENTRY as COMPOUND, cubic::ENTRY as CUBIC,
    fixed::ENTRY as FIXED, hybla::ENTRY as HYBLA, newreno::ENTRY as NEWRENO, reno::ENTRY as RENO,
    vegas::ENTRY as VEGAS, westwood::ENTRY as WESTWOOD,
};
use crate::named::{self, Family, Parameter, Values};
pub use rate::{LostPacket, RateSample};

/// An acknowledgement arrived.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckEvent {
    /// Now.
    pub now: Time,
    /// Segments newly acknowledged; none by a duplicate.
    pub acked: u64,
    /// Segments that this tells to have arrived, each told once: by SACK blocks, or by a duplicate, too.
    pub delivered: u64,
    /// Segments outstanding before it arrived.
    pub in_flight: u64,
    /// Round trips so far: one more whenever something is acknowledged that was sent after the last one began.
    pub round: u64,
    /// Round-trip time of the last segment acknowledged, to the nanosecond whatever the timeout's clock;
    /// none where one of them was sent twice (Karn).
    pub rtt: Option<Span>,
    /// Smoothed round-trip time on the timeout's clock, once measured.
    pub srtt: Option<Span>,
    /// Segments that this made known as lost.
    pub lost: u64,
    /// It echoes a mark of a queue (RFC 3168).
    pub echo: bool,
    /// Segments in the network after it: sent, and neither known to have arrived nor to be lost.
    pub pipe: u64,
    /// How fast segments were delivered; only for controllers that ask
    /// ([`CongestionControl::samples_rate`]), none where nothing could be measured.
    pub rate: Option<RateSample>,
}

/// Congestion was inferred; at most once a recovery.
#[derive(Debug, Clone, Copy)]
pub struct CongestionEvent {
    /// Now.
    pub now: Time,
    /// Segments outstanding, RFC 5681's FlightSize.
    pub in_flight: f64,
    /// From what.
    pub cause: Cause,
}

/// What congestion was inferred from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate or selective acknowledgements.
    FastRetransmit,
    /// The retransmission timer.
    Timeout,
    /// The timer once more for the same packet: the threshold stays as it is (RFC 5681 §3.1).
    RepeatedTimeout,
    /// An echoed mark of a queue (RFC 3168): a cut without a loss.
    Ecn,
}

impl Cause {
    /// Whether sending starts again from a window of one segment.
    #[must_use]
    pub fn restarts(self) -> bool {
        matches!(self, Self::Timeout | Self::RepeatedTimeout)
    }
}

/// A congestion window with its slow-start threshold, segments.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Window {
    /// The congestion window; fractions are allowed.
    pub cwnd: f64,
    /// The threshold; none before it was first set, or where there is no slow start to end.
    pub ssthresh: Option<f64>,
}

impl Window {
    /// A window in the first slow start.
    #[must_use]
    pub const fn new(cwnd: f64) -> Self {
        let ssthresh = None;
        Self { cwnd, ssthresh }
    }

    /// Whether it is below the threshold.
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    /// Cuts the window to `threshold` segments, 2 at least (RFC 5681 §3.1): after a timeout to one segment, with the
    /// threshold as it is where the same packet times out again.
    pub fn cut(&mut self, event: &CongestionEvent, threshold: f64) {
        let threshold = threshold.max(LEAST_SSTHRESH);
        self.cwnd = if event.cause.restarts() {
            1.0
        } else {
            threshold
        };
        if event.cause != Cause::RepeatedTimeout {
            self.ssthresh = Some(threshold);
        }
    }
}

/// A controller that can be kept as it is, to go back to when a cut turns out to have been needless.
pub trait Keep {
    /// The controller as it is now.
    fn keep(&self) -> Box<dyn CongestionControl>;
}

impl<C: CongestionControl + Clone + 'static> Keep for C {
    fn keep(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

/// A congestion controller; windows are in segments, fractions allowed.
pub trait CongestionControl: Keep + fmt::Debug + Send {
    /// Any acknowledgement, in recovery and duplicates included, before anything is made of it: for
    /// controllers that measure. The window stays as it is.
    fn observe(&mut self, _ack: &AckEvent) {}
    /// New data was acknowledged outside of a fast recovery, and the window was what held the sender back.
    fn on_ack(&mut self, ack: &AckEvent);
    /// Congestion was inferred: the window becomes what it is to be after recovery, or 1 after a timeout.
    fn on_congestion(&mut self, event: &CongestionEvent);
    /// The window, and the threshold of slow start.
    fn window(&self) -> Window;
    /// The congestion window, segments.
    fn cwnd(&self) -> f64 {
        self.window().cwnd
    }
    /// The slow-start threshold, segments.
    fn ssthresh(&self) -> Option<f64> {
        self.window().ssthresh
    }
    /// Whether, without SACK, a fast recovery goes on after a partial acknowledgement (RFC 6582); the
    /// first one ends it where not (RFC 5681 §3.2).
    fn recovers_by_partial(&self) -> bool {
        true
    }
    /// Segments a second at which to send; none where the window alone decides.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// Whether acknowledgements must carry [`AckEvent::rate`]: those that set a pace learn it from rates.
    fn samples_rate(&self) -> bool {
        self.pacing_rate().is_some()
    }
    /// Whether the controller sets its window in recoveries, too: every acknowledgement is given to
    /// [`CongestionControl::on_ack`], and what is in the network is held to the window, not by proportional rate
    /// reduction. So do those that set a pace.
    fn governs_recovery(&self) -> bool {
        self.pacing_rate().is_some()
    }
    /// A packet was found lost, by an acknowledgement that is told of next or by a timer; only told to
    /// controllers that ask for rate samples.
    fn on_lost(&mut self, _lost: &LostPacket) {}
    /// Whether what is sent now tells nothing of the path's rate: the controller keeps the pipe empty on purpose.
    fn holds_back(&self) -> bool {
        false
    }
    /// Whether an echoed mark cuts the window: only then may packets be marked instead of dropped.
    fn answers_marks(&self) -> bool {
        !self.governs_recovery()
    }
    /// A fast recovery, or one after a timeout, is over.
    fn on_recovered(&mut self, _now: Time) {}
    /// The sender starts again after it had nothing in the network.
    fn on_restart(&mut self, _now: Time) {}
}

/// Makes a controller with this initial window, segments, and the values of its entry's parameters.
pub type Make = fn(f64, &Values) -> Box<dyn CongestionControl>;

/// A congestion control as it is registered: its name, parameters and what makes it.
pub type Entry = named::Entry<Make>;

/// A controller by name with its parameters, such as `cubic:beta=0.8,c=0.4`.
pub type Algorithm = named::Choice<Make>;

/// Every controller there is; a new one is a file and a line here.
pub static ENTRIES: &[&Entry] = &[
    &reno::ENTRY,
    &newreno::ENTRY,
    &cubic::ENTRY,
    &compound::ENTRY,
    &hybla::ENTRY,
    &westwood::ENTRY,
    &vegas::ENTRY,
    &bbr1::ENTRY,
    &bbr::ENTRY,
    &fixed::ENTRY,
];

impl Family for Make {
    const KIND: &'static str = "congestion control";
    const ENTRIES: &'static [&'static Entry] = ENTRIES;
}

/// CUBIC, as most hosts run.
impl Default for Algorithm {
    fn default() -> Self {
        Self::with_defaults(&cubic::ENTRY)
    }
}

/// The smallest slow-start threshold, segments (RFC 5681 §3.1).
const LEAST_SSTHRESH: f64 = 2.0;

impl Algorithm {
    /// The controller at the start of a connection with this initial window, segments.
    #[must_use]
    pub fn start(&self, initial_window: f64) -> Box<dyn CongestionControl> {
        (self.entry().make)(initial_window, self.values())
    }
}

#[cfg(test)]
mod tests;
