//! Parameters of a run, except for its link.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use tmt_core::channel::Losses;
use tmt_core::types::{BitRate, Bytes, Span, Time};

use super::ack_filter::AckFilter;
use super::path::Path;
use super::recorded::RecordedLosses;
use crate::congestion::Algorithm;
use crate::endpoint::{Application, Context, Endpoint, Host, Make, Source};
use tmt_link::hop::{GatewaySetup, Reporting, ReturnPath, SidePath};
use tmt_link::queue::{Buffer, Discipline};
use tmt_link::timeline::Timeline;
use tmt_link::{Segmentation, SyntheticLink, TimelineLink};

/// Makes the near and the far host of a flow, anew for every run.
pub type MakeHosts = Make<[Box<dyn Host>; 2]>;

/// Parameters of one flow.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Congestion control of a TCP sender.
    pub algorithm: Algorithm,
    /// Settings of both TCP hosts.
    pub endpoint: Endpoint,
    /// Hosts of another kind, the near and the far one; `None` for TCP.
    pub hosts: Option<Arc<MakeHosts>>,
    /// Start of the flow, from the start of the run.
    pub start: Span,
    /// RTT between the sender and the gateway; `None` for that of the path.
    pub terrestrial_rtt: Option<Span>,
    /// Where its data come from.
    pub source: Source,
    /// Class of its packets, from 0, the lowest, to 7 (RFC 2474, Sec. 4.2.2). A queue with priorities serves by it.
    pub class: u8,
    /// Number of its load: flows that follow each other with the same number are one in the results. `None` for a flow of its
    /// own.
    pub part_of: Option<usize>,
    /// Whether its application limits what it takes of the link, as that of a call does: it says nothing about fairness.
    pub is_limited: bool,
    /// Number of further flows like it, numbered after it, which its applications may open during the run
    /// ([`Wake::Open`](crate::endpoint::Wake::Open)). They are one with it in the results.
    pub on_demand: usize,
    /// Starts and data of these flows, if they are known before the run. `None` if applications open them.
    pub later: Option<Later>,
}

/// Starts of flows from the start of the run, rising, and their data.
type Starts = Box<dyn Iterator<Item = (Span, Source)>>;

/// Flows like another one that start at times of their own: each is made when its time has come, and let go when it is over.
#[derive(Clone)]
pub struct Later(Arc<dyn Fn() -> Starts + Send + Sync>);

impl Later {
    /// Flows with the starts, from the start of the run and rising, and data that `make` gives, the same every time.
    #[must_use]
    pub fn new<I: Iterator<Item = (Span, Source)> + 'static>(
        make: impl Fn() -> I + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move || Box::new(make())))
    }

    pub(crate) fn starts(&self) -> Starts {
        (self.0)()
    }
}

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Later")
    }
}

impl Flow {
    /// Creates a TCP flow that starts with the run and has unlimited data.
    #[must_use]
    pub const fn new(algorithm: Algorithm, endpoint: Endpoint) -> Self {
        Self {
            algorithm,
            endpoint,
            hosts: None,
            start: Span::ZERO,
            terrestrial_rtt: None,
            source: Source::Bulk {
                packets: None,
                bytes: None,
            },
            class: 0,
            part_of: None,
            is_limited: false,
            on_demand: 0,
            later: None,
        }
    }

    /// Creates a flow between hosts of one's own, the near and the far one, which are made anew for every run.
    #[must_use]
    pub fn between<N: Host + 'static, F: Host + 'static>(
        make: impl Fn(&Context) -> (N, F) + Send + Sync + 'static,
    ) -> Self {
        Self::new(Algorithm::default(), Endpoint::default()).over(make)
    }

    /// The same flow between hosts of one's own instead of those of TCP.
    #[must_use]
    pub fn over<N: Host + 'static, F: Host + 'static>(
        self,
        make: impl Fn(&Context) -> (N, F) + Send + Sync + 'static,
    ) -> Self {
        let make = move |context: &Context| -> [Box<dyn Host>; 2] {
            let (near, far) = make(context);
            [Box::new(near), Box::new(far)]
        };
        Self {
            hosts: Some(Arc::new(Make(Box::new(make)))),
            ..self
        }
    }

    /// The same flow with an application of one's own, which is made anew for every run.
    #[must_use]
    pub fn with<A: Application + 'static>(
        self,
        make: impl Fn(&Context) -> A + Send + Sync + 'static,
    ) -> Self {
        let make = move |context: &Context| Box::new(make(context)) as Box<dyn Application>;
        Self {
            source: Source::Application(Arc::new(Make(Box::new(make)))),
            ..self
        }
    }

    /// The same flow, beginning `start` after the run.
    #[must_use]
    pub fn starting(self, start: Span) -> Self {
        Self { start, ..self }
    }

    /// The same flow, ending after this many full packets.
    #[must_use]
    pub fn of_packets(self, packets: u64) -> Self {
        let (packets, bytes) = (Some(packets), None);
        Self {
            source: Source::Bulk { packets, bytes },
            ..self
        }
    }

    /// The same flow, ending after `bytes` of payload, in packets of size `packet`. The last packet has full size on the
    /// link, regardless of what is left for it. `None` if the headers leave no room in a packet.
    ///
    /// ```
    /// use fluid_tcp::congestion::Algorithm;
    /// use fluid_tcp::endpoint::Profile;
    /// use fluid_tcp::simulation::Flow;
    /// use tmt_core::Bytes;
    ///
    /// let flow = Flow::new(Algorithm::default(), Profile::Rfc.endpoint());
    /// // 1460 B of payload per packet: 68 full packets, and 720 B in the last.
    /// assert_eq!(flow.of_bytes(Bytes(100_000), Bytes(1500)).and_then(|flow| flow.packets()), Some(69));
    /// ```
    #[must_use]
    pub fn of_bytes(self, bytes: Bytes, packet: Bytes) -> Option<Self> {
        let source = Source::of_bytes(bytes, self.payload(packet))?;
        Some(Self { source, ..self })
    }

    /// Payload of a full packet of size `packet`: what its headers leave.
    #[must_use]
    pub fn payload(&self, packet: Bytes) -> Bytes {
        Bytes(packet.0.saturating_sub(self.endpoint.headers.0))
    }

    /// Number of packets of a bulk transfer; `None` for unlimited data and for an application of one's own.
    #[must_use]
    pub const fn packets(&self) -> Option<u64> {
        match self.source {
            Source::Bulk { packets, .. } => packets,
            Source::Application(_) | Source::Group(_) => None,
        }
    }

    /// Payload of a bulk transfer; `None` if it is given in packets, and as above.
    #[must_use]
    pub const fn bytes(&self) -> Option<Bytes> {
        match self.source {
            Source::Bulk { bytes, .. } => bytes,
            Source::Application(_) | Source::Group(_) => None,
        }
    }

    /// Payload of the first `packets` packets, of size `packet`, bytes.
    pub(crate) fn payload_of(&self, packets: u64, packet: Bytes) -> u64 {
        self.source.payload_of(packets, self.payload(packet))
    }
}

impl Setup {
    /// Whether there is a hop beside the link.
    pub(crate) fn has_side_paths(&self) -> bool {
        self.side_paths.iter().any(Option::is_some)
    }

    /// Propagation of a packet of a flow and of its answer: over the link, or to the proxy of a split path.
    pub(crate) fn round_trip(&self, flow: &Flow) -> Span {
        let terrestrial = self.terrestrial_rtt(flow);
        match self.path.split {
            None => terrestrial.saturating_add(self.rtt),
            Some(_) => terrestrial,
        }
    }
}

impl Flow {
    /// Whether it is one in the results with other flows.
    pub(crate) const fn is_part(&self) -> bool {
        self.part_of.is_some() || self.on_demand > 0
    }

    /// Whether it takes all that it gets, for all that is known.
    pub(crate) const fn is_greedy(&self) -> bool {
        !self.is_part() && !self.is_limited
    }

    /// The same flow with an application that limits what it takes.
    pub(crate) fn limited(self) -> Self {
        Self {
            is_limited: true,
            ..self
        }
    }
}

/// Number in the results of each flow: flows that follow each other and are part of one load share one.
pub(crate) fn entries(flows: &[Flow]) -> Vec<usize> {
    let (mut number, mut last) = (0, None);
    let mut entries = Vec::with_capacity(flows.len());
    for (at, flow) in flows.iter().enumerate() {
        if at > 0 && (flow.part_of.is_none() || flow.part_of != last) {
            number += 1;
        }
        last = flow.part_of;
        entries.push(number);
    }
    entries
}

/// All parameters of a run except for its link.
///
/// ```
/// use fluid_tcp::endpoint::Profile;
/// use fluid_tcp::simulation::{Flow, Setup, probe::NoProbe, run};
/// use tmt_core::types::{BitRate, Span};
/// use tmt_link::queue::Buffer;
///
/// let flow = Flow::new("cubic:beta=0.8".parse()?, Profile::Rfc.endpoint());
/// let setup = Setup { buffer: Buffer::Packets(50), ..Setup::new(vec![flow], Span::from_millis(500), Span::from_secs(60)) };
/// let link = setup.synthetic_link(BitRate(1_000_000), None).ok_or("no packet fits the link")?;
/// let report = run(&setup, link, &mut NoProbe)?;
/// assert!(report.total.metrics.goodput_bps > Some(500_000.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Setup {
    /// Flows of the run, which share queue and link. They are numbered in this order ([`Self::numbered`]).
    pub flows: Vec<Flow>,
    /// Size of a packet of TCP, headers included. Other hosts choose their own.
    pub packet: Bytes,
    /// RTT of the link: propagation only, both directions.
    pub rtt: Span,
    /// Buffer of the queue, the packet in service included. On a split path it is that of the proxy.
    pub buffer: Buffer,
    /// Queue discipline of the gateway.
    pub discipline: Discipline,
    /// Path between the senders and the gateway.
    pub path: Path,
    /// Process that drops packets on their arrival at the queue, regardless of the room there; each is there for an instant.
    pub queue_loss: Option<Losses>,
    /// Fates of packets that are known before, for a run without a proxy; the queue and the link then lose no others.
    pub recorded: Option<RecordedLosses>,
    /// Paths beside the link, in the order of [`Side::ALL`](super::Side::ALL); `None` for one that is only a delay.
    pub side_paths: [Option<SidePath>; 2],
    /// Return path of the ACKs.
    pub return_path: ReturnPath,
    /// Filter of ACKs in the queue before its rate or timeline.
    pub ack_filter: AckFilter,
    /// Seed of the random numbers that queues draw.
    pub seed: u64,
    /// Time at which the run begins.
    pub begin: Time,
    /// Last time that belongs to the run.
    pub end: Time,
}

impl Setup {
    /// Setup of a run from time zero to `duration` with default values: packets of 1500 B, a drop-tail queue of 100
    /// packets, no terrestrial delay, a return path without losses, and seed 1.
    #[must_use]
    pub fn new(flows: Vec<Flow>, rtt: Span, duration: Span) -> Self {
        Self {
            flows,
            packet: Bytes(1500),
            rtt,
            buffer: Buffer::Packets(100),
            discipline: Discipline::default(),
            path: Path::default(),
            queue_loss: None,
            recorded: None,
            side_paths: [None, None],
            return_path: ReturnPath::default(),
            ack_filter: AckFilter::default(),
            seed: 1,
            begin: Time::ZERO,
            end: Time::ZERO.saturating_add(duration),
        }
    }

    /// The flow of each number, from 0: flows on demand are like the one that they follow, with starts and data of their own if those
    /// are known.
    pub fn numbered(&self) -> impl Iterator<Item = Cow<'_, Flow>> {
        let flows = self.flows.iter();
        flows.flat_map(|flow| {
            let mut starts = flow.later.as_ref().map(Later::starts);
            let later = (0..flow.on_demand).map(move |_| {
                let Some((start, source)) = starts.as_mut().and_then(Iterator::next) else {
                    return Cow::Borrowed(flow);
                };
                Cow::Owned(Flow {
                    start,
                    source,
                    later: None,
                    on_demand: 0,
                    ..flow.clone()
                })
            });
            std::iter::once(Cow::Borrowed(flow)).chain(later)
        })
    }

    /// Number of the flows, those on demand included.
    #[must_use]
    pub fn flow_count(&self) -> usize {
        self.flows.iter().map(|flow| 1 + flow.on_demand).sum()
    }

    /// A link of constant rate for this setup's packets and round-trip time; `loss` loses some of them.
    ///
    /// `None` where [`SyntheticLink::new`] makes none.
    #[must_use]
    pub fn synthetic_link(&self, rate: BitRate, loss: Option<Losses>) -> Option<SyntheticLink> {
        SyntheticLink::new(rate, self.packet, self.rtt.half(), loss, self.begin)
    }

    /// A link over a timeline with this setup's round-trip time, for packets that begin an LLDU of their own and take
    /// `lldus` each.
    ///
    /// `None` where [`TimelineLink::new`] makes none.
    #[must_use]
    pub fn timeline_link(&self, timeline: Timeline, lldus: u64) -> Option<TimelineLink> {
        let segmentation = Segmentation::whole(self.packet, lldus);
        TimelineLink::new(timeline, segmentation, self.rtt.half(), None, self.begin)
    }

    /// RTT between the sender of `flow` and the gateway.
    #[must_use]
    pub fn terrestrial_rtt(&self, flow: &Flow) -> Span {
        flow.terrestrial_rtt.unwrap_or(self.path.terrestrial_rtt)
    }

    /// Settings of the gateway of this run, which reports what `reporting` says.
    #[must_use]
    pub fn gateway(&self, reporting: Reporting) -> GatewaySetup {
        GatewaySetup {
            discipline: self.discipline.clone(),
            buffer: self.queue(),
            rtt: self.rtt,
            run: (self.begin, self.end),
            packet: self.packet,
            seed: self.seed,
            reporting,
        }
    }

    /// Buffer of the gateway's queue. After a proxy it has no limit of its own.
    fn queue(&self) -> Buffer {
        self.path.split.map_or(self.buffer, |_| Buffer::UNLIMITED)
    }
}
