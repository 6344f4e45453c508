//! What a run is made of, but its link.

use std::sync::Arc;

use tmt_core::channel::Channel;
use tmt_core::types::{BitRate, Bytes, Span, Time};

use super::path::Path;
use crate::congestion::Algorithm;
use crate::endpoint::Endpoint;
use crate::link::gateway::Discipline;
use crate::link::return_link::ReturnTrace;
use crate::link::timeline::Timeline;
use crate::link::{SyntheticLink, TimelineLink};

/// One flow.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Its congestion control.
    pub algorithm: Algorithm,
    /// Its ends.
    pub endpoint: Endpoint,
    /// When it begins, from the start of the run.
    pub start: Span,
    /// Packets it has; none for a source that never ends.
    pub packets: Option<u64>,
}

impl Flow {
    /// A flow that begins with the run and never ends.
    #[must_use]
    pub const fn new(algorithm: Algorithm, endpoint: Endpoint) -> Self {
        Self {
            algorithm,
            endpoint,
            start: Span::ZERO,
            packets: None,
        }
    }

    /// The same flow, beginning `start` after the run.
    #[must_use]
    pub fn starting(self, start: Span) -> Self {
        Self { start, ..self }
    }

    /// The same flow, ending after this many packets.
    #[must_use]
    pub fn of_packets(self, packets: u64) -> Self {
        let packets = Some(packets);
        Self { packets, ..self }
    }
}

/// The way of acknowledgements, shared by all flows; clean and without a queue unless said otherwise.
#[derive(Debug, Clone, Default)]
pub struct ReturnPath {
    /// Loses some, after they have been sent.
    pub loss: Option<Channel>,
    /// What it carries; [`ACK`] each, and what is not sent yet waits.
    pub rate: Option<BitRate>,
    /// A timeline of its own, in the place of a rate.
    pub trace: Option<ReturnTrace>,
}

/// Bytes of an acknowledgement on the return path: headers of IPv4 and TCP.
pub const ACK: Bytes = Bytes(40);

/// Everything about a run but its link.
///
/// ```
/// use fluid_tcp::endpoint::Profile;
/// use fluid_tcp::simulation::{Flow, Setup, probe::NoProbe, run};
/// use tmt_core::types::{BitRate, Span};
///
/// let flow = Flow::new("cubic:beta=0.8".parse()?, Profile::Rfc.endpoint());
/// let setup = Setup { buffer: 50, ..Setup::new(vec![flow], Span::from_millis(500), Span::from_secs(60)) };
/// let link = setup.synthetic_link(BitRate(1_000_000), None).ok_or("no packet fits the link")?;
/// let report = run(&setup, link, &mut NoProbe);
/// assert!(report.total.metrics.goodput_bps > Some(500_000.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Setup {
    /// The flows.
    pub flows: Vec<Flow>,
    /// Size of a packet.
    pub packet: Bytes,
    /// Round-trip time of the link, propagation only.
    pub rtt: Span,
    /// Packets the queue holds, the one in service included; on a split path the proxy's buffer.
    pub buffer: u64,
    /// Which packets the queue drops.
    pub discipline: Discipline,
    /// Between the senders and the gateway.
    pub path: Path,
    /// What the return path does to acknowledgements.
    pub return_path: ReturnPath,
    /// The run's own zero.
    pub begin: Time,
    /// The last instant that belongs to the run.
    pub end: Time,
    /// Bits a second that packets could make of the whole link, to normalise by.
    pub link_rate_bps: Option<f64>,
}

impl Setup {
    /// Packets of 1500 B, a drop-tail queue of 100 of them directly at the senders, a clean return path, from time zero
    /// on for `duration`.
    #[must_use]
    pub fn new(flows: Vec<Flow>, rtt: Span, duration: Span) -> Self {
        Self {
            flows,
            packet: Bytes(1500),
            rtt,
            buffer: 100,
            discipline: Discipline::DROP_TAIL,
            path: Path::default(),
            return_path: ReturnPath::default(),
            begin: Time::ZERO,
            end: Time::ZERO.saturating_add(duration),
            link_rate_bps: None,
        }
    }

    /// A link of constant rate for this setup's packets and round-trip time; `loss` loses some of them.
    ///
    /// `None` where [`SyntheticLink::new`] makes none.
    #[must_use]
    pub fn synthetic_link(&self, rate: BitRate, loss: Option<Channel>) -> Option<SyntheticLink> {
        SyntheticLink::new(rate, self.packet, self.rtt.half(), loss, self.begin)
    }

    /// A link over a timeline with this setup's round-trip time, for packets of `lldus` LLDUs each.
    ///
    /// `None` where [`TimelineLink::new`] makes none.
    #[must_use]
    pub fn timeline_link(&self, timeline: Arc<Timeline>, lldus: usize) -> Option<TimelineLink> {
        TimelineLink::new(timeline, lldus, self.rtt.half(), None, self.begin)
    }

    /// What the gateway's queue holds: behind a proxy, all that the proxy has let in.
    pub(super) fn queue(&self) -> u64 {
        self.path.split.map_or(self.buffer, |_| u64::MAX)
    }
}
