//! Parameters of a run, except for its link.

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

/// Parameters of one flow.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Congestion control of the sender.
    pub algorithm: Algorithm,
    /// Settings of both hosts.
    pub endpoint: Endpoint,
    /// Start of the flow, from the start of the run.
    pub start: Span,
    /// Number of packets to transfer; `None` for unlimited data.
    pub packets: Option<u64>,
}

impl Flow {
    /// Creates a flow that starts with the run and has unlimited data.
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

/// Return path of the ACKs, shared by all flows. By default it has neither losses nor a queue.
#[derive(Debug, Clone, Default)]
pub struct ReturnPath {
    /// Process that loses ACKs; they have used the path nevertheless.
    pub loss: Option<Channel>,
    /// Rate of the path, with [`ACK`] bytes per ACK and an unlimited queue; `None` for no limit.
    pub rate: Option<BitRate>,
    /// Timeline whose LLDUs the ACKs take, instead of a rate.
    pub trace: Option<ReturnTrace>,
}

/// Size of an ACK on the return path: IPv4 and TCP headers.
pub const ACK: Bytes = Bytes(40);

/// All parameters of a run except for its link.
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
    /// Flows of the run, which share queue and link.
    pub flows: Vec<Flow>,
    /// Size of a packet, headers included; all have the same.
    pub packet: Bytes,
    /// RTT of the link: propagation only, both directions.
    pub rtt: Span,
    /// Buffer of the queue in packets, the one in service included. On a split path it is that of the proxy.
    pub buffer: u64,
    /// Queue discipline of the gateway.
    pub discipline: Discipline,
    /// Path between the senders and the gateway.
    pub path: Path,
    /// Return path of the ACKs.
    pub return_path: ReturnPath,
    /// Time at which the run begins.
    pub begin: Time,
    /// Last time that belongs to the run.
    pub end: Time,
    /// Rate of the link in bit/s, the denominator of `normalised_goodput` (docs/metrics.md, Sec. 6); `None` if unknown.
    pub link_rate_bps: Option<f64>,
}

impl Setup {
    /// Setup of a run from time zero to `duration` with default values: packets of 1500 B, a drop-tail queue of 100
    /// packets, no terrestrial delay, and a return path without losses.
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

    /// Application payload of a packet: its size without the headers of IPv4 and TCP.
    #[must_use]
    pub fn payload(&self) -> Bytes {
        const HEADERS: u64 = 40;
        Bytes(self.packet.0.saturating_sub(HEADERS))
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

    /// Limit of the gateway's queue in packets. After a proxy it has none of its own.
    pub(super) fn queue(&self) -> u64 {
        self.path.split.map_or(self.buffer, |_| u64::MAX)
    }
}
