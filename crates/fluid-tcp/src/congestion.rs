//! Congestion controls: the trait, and the registry by name.
//!
//! A congestion control receives events and returns a window. The sender decides what to send, and when. To add a
//! control, write one file in `congestion/` and add one line to [`ENTRIES`]; another crate passes its own [`Entry`].

mod backlog;
mod bbr;
mod bbr1;
mod compound;
mod connection;
mod cubic;
mod fixed;
mod growth;
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
pub use connection::{
    Connection, CubicForm, Growth, HystartForm, Implementation, MinRttRenewal, Quantum,
};
pub use rate::{LostPacket, RateSample};
use tmt_core::named::{self, Family, Own, Parameter, Values};

/// One ACK, as the congestion control sees it. Counts are in segments.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckEvent {
    /// Time at which the ACK arrived.
    pub now: Time,
    /// Segments newly acknowledged by the cumulative ACK; 0 for a duplicate ACK.
    pub acked: u64,
    /// Segments newly known to have arrived. SACK blocks and duplicate ACKs count, and each segment counts once.
    pub delivered: u64,
    /// Segments outstanding before the ACK.
    pub in_flight: u64,
    /// Round trips so far. A round ends when a segment is acknowledged that was sent after the round began.
    pub round: u64,
    /// RTT of the last segment acknowledged, in nanoseconds even if the RTO uses a coarser clock. `None` if one of the
    /// segments acknowledged was retransmitted (Karn).
    pub rtt: Option<Span>,
    /// Smoothed RTT on the clock of the RTO; `None` before the first measurement.
    pub srtt: Option<Span>,
    /// Segments newly marked lost because of this ACK.
    pub lost: u64,
    /// Whether the ACK echoes a congestion mark (ECE, RFC 3168).
    pub ece: bool,
    /// Segments in the network after the ACK: sent, and neither known to have arrived nor marked lost.
    pub pipe: u64,
    /// Delivery-rate sample. `None` if nothing could be measured, or if the control does not ask for samples
    /// ([`CongestionControl::needs_rate_samples`]).
    pub rate: Option<RateSample>,
}

/// A congestion signal, at most one per recovery.
#[derive(Debug, Clone, Copy)]
pub struct CongestionEvent {
    /// Time at which the sender detected congestion.
    pub now: Time,
    /// Basis for the cut, in segments: FlightSize of RFC 5681, or the window if the profile cuts from that.
    pub in_flight: f64,
    /// Signal from which the sender inferred congestion.
    pub cause: Cause,
}

/// Signal from which the sender inferred congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A loss detected from duplicate ACKs, SACK blocks or RACK.
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// The retransmission timer expired again for the same packet; ssthresh stays unchanged (RFC 5681, Sec. 3.1).
    RepeatedTimeout,
    /// An ACK echoed a congestion mark (RFC 3168): a cut without a loss.
    Ecn,
}

impl Cause {
    /// Whether the retransmission timer expired, so that sending restarts from a window of one segment.
    #[must_use]
    pub fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout | Self::RepeatedTimeout)
    }
}

/// Congestion window and slow-start threshold, in segments.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Window {
    /// Congestion window in segments, at least 1; may be fractional.
    pub cwnd: f64,
    /// Slow-start threshold in segments, at least 2. `None` before it is first set, or if the control has no slow
    /// start.
    pub ssthresh: Option<f64>,
}

impl Window {
    /// Creates a window in the first slow start, without a threshold.
    #[must_use]
    pub const fn new(cwnd: f64) -> Self {
        let ssthresh = None;
        Self { cwnd, ssthresh }
    }

    /// Whether cwnd is below ssthresh, or ssthresh is not set.
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh)
    }

    /// Cuts cwnd and ssthresh to `threshold` segments, at least 2 (RFC 5681, Sec. 3.1).
    ///
    /// A timeout sets cwnd to one segment. A repeated timeout leaves ssthresh unchanged.
    pub fn cut(&mut self, event: &CongestionEvent, threshold: f64) {
        let threshold = threshold.max(MIN_SSTHRESH);
        self.cwnd = if event.cause.is_timeout() {
            1.0
        } else {
            threshold
        };
        if event.cause != Cause::RepeatedTimeout {
            self.ssthresh = Some(threshold);
        }
    }
}

/// A copy of a congestion control, restored if a cut turns out to have been spurious.
///
/// Every `Clone` control implements this trait.
pub trait SaveUndoState {
    /// Returns a copy of the control in its current state.
    fn save_undo_state(&self) -> Box<dyn CongestionControl>;
}

impl<C: CongestionControl + Clone + 'static> SaveUndoState for C {
    fn save_undo_state(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}

/// A congestion control. Windows are in segments and may be fractional.
///
/// [`on_ack`](Self::on_ack), [`on_congestion`](Self::on_congestion) and [`window`](Self::window) suffice for a
/// loss-based control; the other methods have defaults.
pub trait CongestionControl: SaveUndoState + fmt::Debug + Send {
    /// Measures an ACK. Called for every ACK, duplicates and ACKs in recovery included, before the sender acts on it.
    /// Must not change the window.
    fn observe(&mut self, _ack: &AckEvent) {}
    /// Grows the window. Called if new data was acknowledged outside fast recovery and, with window validation, the
    /// window limited the sender.
    ///
    /// A control that sets its window during recovery, too, gets every ACK
    /// ([`controls_recovery_window`](Self::controls_recovery_window)).
    fn on_ack(&mut self, ack: &AckEvent);
    /// [`observe`](Self::observe), then [`on_ack`](Self::on_ack) if the ACK `grows` the window, which is returned: one call
    /// of an object instead of three.
    fn observe_and_grow(&mut self, ack: &AckEvent, grows: bool) -> f64 {
        self.observe(ack);
        if grows {
            self.on_ack(ack);
        }
        self.cwnd()
    }
    /// Cuts the window: to its value after recovery, or to 1 after a timeout.
    fn on_congestion(&mut self, event: &CongestionEvent);
    /// Returns cwnd and ssthresh.
    fn window(&self) -> Window;
    /// Returns the congestion window in segments.
    fn cwnd(&self) -> f64 {
        self.window().cwnd
    }
    /// Returns the slow-start threshold in segments; `None` if it is not set.
    fn ssthresh(&self) -> Option<f64> {
        self.window().ssthresh
    }
    /// Without SACK: whether fast recovery continues after a partial ACK (RFC 6582). If not, the first ACK of new data
    /// ends it (RFC 5681, Sec. 3.2).
    fn uses_newreno_recovery(&self) -> bool {
        true
    }
    /// Returns the pacing rate in segments per second; `None` if only the window limits the sender.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// Whether ACKs must carry delivery-rate samples ([`AckEvent::rate`]). By default, those of a control that paces.
    fn needs_rate_samples(&self) -> bool {
        self.pacing_rate().is_some()
    }
    /// Whether the control sets its window during recovery, too. By default, a control that paces does.
    ///
    /// Then every ACK reaches [`CongestionControl::on_ack`], and cwnd limits pipe instead of PRR.
    fn controls_recovery_window(&self) -> bool {
        self.pacing_rate().is_some()
    }
    /// Reports a packet newly marked lost, by a timer or by the ACK that is observed next. Called only for a control
    /// that needs rate samples.
    fn on_lost(&mut self, _lost: &LostPacket) {}
    /// Whether rate samples of packets sent now count as application-limited, because the control keeps the pipe empty
    /// on purpose.
    fn marks_samples_app_limited(&self) -> bool {
        false
    }
    /// Whether an echoed congestion mark cuts the window. Only then are packets marked instead of dropped.
    fn supports_ecn(&self) -> bool {
        !self.controls_recovery_window()
    }
    /// Notes that a fast recovery, or the recovery after a timeout, has ended.
    fn on_recovered(&mut self, _now: Time) {}
    /// Notes that a timeout was spurious: the control has been restored to its state before the timeout.
    fn on_undo(&mut self) {}
    /// Notes that the sender resumes with nothing in flight.
    fn on_restart(&mut self, _now: Time) {}
    /// Sets the window of a sender that was idle, by [`IdleRestart`](crate::endpoint::IdleRestart). Not called for a control that sets its
    /// window during recovery, too. By default, the window stays.
    fn on_idle(&mut self, _window: Window) {}
}

/// Constructor of the congestion control of a connection from the values of its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Make(pub fn(&Connection, &Values) -> Box<dyn CongestionControl>);

/// A registered congestion control: name, description, parameters, examples and constructor.
pub type Entry = named::Entry<Make>;

/// A congestion control selected by name, with its parameters: `cubic:beta=0.8,c=0.4`.
///
/// ```
/// use fluid_tcp::congestion::{Algorithm, CUBIC, Connection, start};
///
/// let cubic = Algorithm::new(&CUBIC, [("beta", 0.8.into())])?;
/// assert_eq!(cubic, "cubic:beta=0.8".parse()?);
/// let control = start(&cubic, &Connection::default());
/// assert!(control.window().in_slow_start());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Algorithm = named::Choice<Make>;

/// All congestion controls. A new one is a file in `congestion/` and a line here.
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
    /// CUBIC, the default of most hosts.
    const DEFAULT: &'static Entry = &cubic::ENTRY;

    fn own() -> &'static Own<Entry> {
        static OWN: Own<Entry> = Own::new();
        &OWN
    }
}

/// The smallest slow-start threshold, segments (RFC 5681, Sec. 3.1).
const MIN_SSTHRESH: f64 = 2.0;

/// Creates the control of a new connection.
#[must_use]
pub fn start(algorithm: &Algorithm, connection: &Connection) -> Box<dyn CongestionControl> {
    (algorithm.entry().make.0)(connection, algorithm.values())
}

#[cfg(test)]
mod tests;
