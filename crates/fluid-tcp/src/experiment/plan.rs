//! A resolved experiment, and its runs.

mod describe;

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use tmt_core::channel::{Losses, SlotChannel, Use};
use tmt_core::types::{BitRate, Bytes, EndLine, Note, Span, Time, to_f64};

use super::error::{Error, Result, data, refused};
use super::parameters::Experiment;
use super::values::{BufferSize, LinkKind, Start};
use crate::application::{App, Form, Site, Traffic};
use crate::simulation::metrics::{RunReport, Total};
use crate::simulation::probe::{All, Probe};
use crate::simulation::{self, Flow, Path, RunError, Setup};
use tmt_link::hop::{
    Attach, AttachError, Drive, GatewaySetup, PathTrace, Reporting, ReturnPath, SidePath, terms,
};
use tmt_link::queue::{Buffer, Discipline};
use tmt_link::timeline::{GeneratedSlots, PhysicalSlots, Trace};
use tmt_link::{CoupledLink, Packing, Segmentation, TimelineLink};

/// Names and values in the order of [`super::PARAMETERS`], each derived value after the parameter it derives from.
pub type Params = Map<String, Value>;

/// A parameter that overrides a value of the metadata.
#[derive(Debug, Clone, Serialize)]
pub struct Overridden {
    /// Key of the trace's metadata that the value comes from, as in docs/trace-format.md, Sec. 4.
    pub key: &'static str,
    /// Flag that sets the parameter.
    pub flag: &'static str,
    /// Value in the metadata, in the unit of the key.
    pub stored: u64,
    /// Value that the run uses, in the unit of the key.
    pub used: u64,
}

/// Identity of one run among several.
#[derive(Debug, Clone, Copy)]
pub struct RunId {
    /// Seed from which all random numbers of the run follow.
    pub seed: u64,
    /// With `offsets`: number of the run, and its start after the first row.
    pub offset: Option<(usize, Span)>,
}

/// Everything that a run needs except its seed.
///
/// ```
/// use fluid_tcp::experiment::{Count, Experiment, InMemory, LinkKind};
/// use fluid_tcp::simulation::probe::NoProbe;
/// use fluid_tcp::simulation::replications::Columns;
/// use tmt_core::channel::ChannelSpec;
/// use tmt_core::{BitRate, Span};
///
/// let experiment = Experiment {
///     link: Some(LinkKind::Synthetic),
///     rate: Some(BitRate(2_340_000)),
///     loss: Some(ChannelSpec::Bernoulli { p: 0.001 }.into()),
///     duration: Some(Span::from_secs(20)),
///     seeds: Some(Count(3)),
///     ..Experiment::default()
/// };
/// let plan = experiment.resolve(&InMemory)?;
/// let mut columns = Columns::default();
/// for run in plan.runs() {
///     columns.add(plan.run(run, &mut NoProbe)?.total.numbers());
/// }
/// assert_eq!(columns.estimates()["goodput_bps"].runs, 3);
/// // The plan has the values of the defaults.
/// assert_eq!(plan.rtt, Span::from_millis(500));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Plan {
    /// Link that every run uses; random processes start from the seed of each run.
    pub link: LinkPlan,
    /// Flows that every run has, in the order of their numbers.
    pub flows: Vec<FlowPlan>,
    /// RTT of the link, propagation only.
    pub rtt: Span,
    /// Size of the queue in packets.
    pub buffer: u64,
    /// Terrestrial path, and proxy if there is one.
    pub path: Path,
    /// Starts of the runs, after the first row; `None` if all runs begin at the first row.
    pub starts: Option<Vec<Span>>,
    /// Time at which every run ends, unless all transfers are complete before.
    pub end: Time,
    /// Congestion control and settings of both hosts, as one line of text.
    pub settings: String,
    /// Notes and warnings to print before the runs.
    pub notes: Vec<Note>,
    /// Resolved settings, as `params` of the JSON report contains them.
    pub params: Params,
    /// Every value used, regardless of its origin. It reproduces the runs.
    pub resolved: Experiment,
    pub(super) return_trace: Option<TraceBesidePlan>,
    pub(super) side_paths: [Option<SidePlan>; 2],
    pub(super) begin: Time,
    pub(super) link_rate_bps: Option<f64>,
    pub(super) overridden: Vec<Overridden>,
}

/// Resolved link of a run.
#[derive(Debug)]
pub enum LinkPlan {
    /// Replay of a timeline.
    Timeline(TracePlan),
    /// A scheme on the slots of a trace or channel.
    Coupled(Box<CoupledPlan>),
    /// Service at a constant rate.
    Synthetic {
        /// Rate of the link.
        rate: BitRate,
        /// Process of packet losses; a packet is a unit.
        loss: Option<SlotChannel>,
    },
}

/// A coupled link: a scheme on a PHY trace or channel.
#[derive(Debug)]
pub struct CoupledPlan {
    /// Scheme, trace and settings of the link.
    pub link: CoupledLink,
    /// The trace, and the number of LLDUs per packet.
    pub trace: TracePlan,
    /// Generates the trace of each run from its seed; `None` for a trace that was read.
    pub channel: Option<Box<GeneratedSlots>>,
}

/// A trace whose rows carry packets: LLDUs of a timeline, or slots.
#[derive(Debug, Clone)]
pub struct TracePlan {
    /// Rows that carry packets: LLDUs of a timeline, or slots under a scheme. All runs share them.
    pub rows: Arc<Trace>,
    /// Number of LLDUs that a packet takes if it begins one, at least 1.
    pub lldus_per_packet: u64,
    /// Size of an LLDU with its header.
    pub lldu: Bytes,
    /// Size of an LLDU without its header, bytes.
    pub payload: NonZeroU64,
    /// Packing of packets into LLDUs.
    pub packing: Packing,
    /// Period of a repeated trace.
    pub period: Option<Span>,
    /// Slot time, if deliveries are spaced (`overlap` shift).
    pub shift: Option<Span>,
    /// End line of the trace.
    pub end_line: Option<EndLine>,
    /// Rate and size of the slots in the metadata.
    pub(super) nominal: Option<(BitRate, Bytes)>,
    /// Slots of the physical link behind a timeline; `None` if unknown, or if the rows are the slots.
    pub(super) physical: Option<PhysicalSlots>,
}

impl TracePlan {
    /// Finds the slots of the physical link behind this timeline.
    pub(super) fn find_slots(&mut self) {
        let (rate, lldu) = self.nominal.filter(|_| self.period.is_none()).unzip();
        let slots = |end| PhysicalSlots::of(&self.rows, end, rate, lldu);
        self.physical = self.end_line.as_ref().map(slots);
    }

    /// Segmentation of packets of size `packet`.
    fn segmentation(&self, packet: Bytes) -> Segmentation {
        self.packing.segmentation(packet, self.payload)
    }
}

/// Resolved settings of one flow.
#[derive(Debug, Clone)]
pub struct FlowPlan {
    /// The flow. Its start is set per run.
    pub flow: Flow,
    /// Start time, fixed or random.
    pub start: Start,
    /// Its application; `None` for a transfer of `bytes`, or without end.
    pub app: Option<App>,
    /// Its datagrams; `None` for TCP.
    pub datagrams: Option<Form>,
    /// Whether its application draws random numbers.
    pub is_random: bool,
    /// Its application, if that may have several flows.
    pub(super) traffic: Option<Arc<dyn Traffic>>,
}

/// A trace beside the link: of the return path, or of one that data cross.
#[derive(Debug)]
pub(super) struct TraceBesidePlan {
    /// Mean rate of the payload, bit/s; `None` if it is unknown.
    pub(super) rate_bps: Option<f64>,
    pub(super) trace: PathTrace,
    pub(super) lldu: Bytes,
    /// Content of an LLDU.
    pub(super) payload: NonZeroU64,
    pub(super) packing: Packing,
}

/// A path beside the link, with its queue and losses.
#[derive(Debug, Default)]
pub(super) struct SidePlan {
    pub(super) loss: Option<SlotChannel>,
    pub(super) rate: Option<BitRate>,
    pub(super) trace: Option<TraceBesidePlan>,
    pub(super) discipline: Discipline,
    pub(super) buffer: Buffer,
    /// Size of the buffer as a parameter; `None` without a queue.
    pub(super) size: Option<BufferSize>,
}

impl SidePlan {
    /// The path in a run of `seed`.
    fn path(&self, seed: u64, used: Use) -> SidePath {
        let loss = self.loss.as_ref();
        SidePath {
            loss: loss.map(|process| Losses::new(process, seed, used)),
            rate: self.rate,
            trace: self.trace.as_ref().map(|plan| plan.trace.clone()),
            discipline: self.discipline.clone(),
            buffer: self.buffer,
        }
    }
}

impl LinkPlan {
    /// The trace that carries packets; `None` on a synthetic link.
    pub(super) fn trace(&self) -> Option<&TracePlan> {
        match self {
            Self::Timeline(trace) => Some(trace),
            Self::Coupled(plan) => Some(&plan.trace),
            Self::Synthetic { .. } => None,
        }
    }

    /// The link model.
    pub(super) fn kind(&self) -> LinkKind {
        match self {
            Self::Timeline(_) => LinkKind::Timeline,
            Self::Coupled(_) => LinkKind::Coupled,
            Self::Synthetic { .. } => LinkKind::Synthetic,
        }
    }
}

impl CoupledPlan {
    /// The link of the run with `seed`.
    #[must_use]
    pub fn for_seed(&self, seed: u64) -> Cow<'_, CoupledLink> {
        match &self.channel {
            None => Cow::Borrowed(&self.link),
            Some(slots) => Cow::Owned(CoupledLink {
                trace: slots.trace(seed),
                ..self.link.clone()
            }),
        }
    }
}

impl Plan {
    /// All runs: one per start, or one per seed.
    #[must_use]
    pub fn runs(&self) -> Vec<RunId> {
        let (seed, seeds) = (self.resolved.seed().0, self.resolved.seeds().0);
        let of_seed = |seed| RunId { seed, offset: None };
        let Some(starts) = &self.starts else {
            return (seed..seed + seeds).map(of_seed).collect();
        };
        let starts = starts.iter().copied().enumerate().map(Some);
        starts.map(|offset| RunId { seed, offset }).collect()
    }

    /// Returns the setup of one run: its flows with their starts, and the return path with its seed.
    #[must_use]
    pub fn setup(&self, run: RunId) -> Setup {
        let RunId { seed, offset } = run;
        let (_, start) = offset.unwrap_or_default();
        let begin = self.begin.saturating_add(start);
        let mut end = self.end;
        if let (Some(duration), Some(_)) = (self.resolved.duration, offset) {
            end = end.min(begin.saturating_add(duration));
        }
        let length = end.since(begin);
        let flows = self.flows.iter().enumerate().flat_map(|(number, plan)| {
            let flow = Flow {
                start: plan.start.draw(seed, number),
                ..plan.flow.clone()
            };
            let site = Site {
                number,
                seed,
                packet: self.resolved.packet(),
                rtt: self.rtt,
                rate_bps: self.link_rate_bps,
                length,
            };
            let traffic = plan.traffic.as_ref();
            match traffic.and_then(|traffic| traffic.flows(&flow, &site)) {
                None => vec![flow],
                Some(flows) => {
                    let part_of = Some(number);
                    let flows = flows.into_iter();
                    flows.map(|flow| Flow { part_of, ..flow }).collect()
                }
            }
        });
        let assigned = self.resolved.return_capacity.as_ref().map(terms);
        Setup {
            flows: flows.collect(),
            packet: self.resolved.packet(),
            rtt: self.rtt,
            buffer: match self.resolved.buffer() {
                BufferSize::Bytes(bytes) => Buffer::Bytes(bytes.0),
                _ => Buffer::Packets(self.buffer),
            },
            discipline: self.resolved.queue(),
            path: self.path,
            queue_loss: self
                .resolved
                .queue_loss
                .as_ref()
                .map(|process| Losses::new(process, seed, Use::Queue)),
            recorded: None,
            side_paths: {
                let [terrestrial, far] = &self.side_paths;
                let of =
                    |plan: &Option<SidePlan>, used| plan.as_ref().map(|plan| plan.path(seed, used));
                [of(terrestrial, Use::Terrestrial), of(far, Use::Far)]
            },
            return_path: ReturnPath {
                loss: self
                    .resolved
                    .return_loss
                    .as_ref()
                    .map(|process| Losses::new(process, seed, Use::Return)),
                rate: self.return_rate(),
                requested: assigned
                    .and_then(|terms| terms.requested)
                    .map(|requested| (requested, self.rtt)),
                trace: self.return_trace.as_ref().map(|plan| plan.trace.clone()),
                buffer: match self.resolved.return_buffer {
                    Some(BufferSize::Packets(packets)) => Buffer::Packets(packets),
                    Some(BufferSize::Bytes(bytes)) => Buffer::Bytes(bytes.0),
                    _ => Buffer::UNLIMITED,
                },
            },
            ack_filter: self.resolved.ack_filter.clone().unwrap_or_default(),
            seed,
            begin,
            end,
        }
    }

    /// Simulates one run.
    ///
    /// # Errors
    /// A trace that can no longer be read, or that is too short for a packet.
    pub fn run(&self, run: RunId, probe: &mut dyn Probe) -> Result<RunReport> {
        self.run_over(&self.link, run, &self.setup(run), probe)
    }

    /// Simulates one run with another setup than [`Self::setup`], for example one that repeats recorded losses.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub fn run_with(&self, run: RunId, setup: &Setup, probe: &mut dyn Probe) -> Result<RunReport> {
        self.run_over(&self.link, run, setup, probe)
    }

    /// Simulates one run over `link`.
    pub(super) fn run_over(
        &self,
        link: &LinkPlan,
        run: RunId,
        setup: &Setup,
        probe: &mut dyn Probe,
    ) -> Result<RunReport> {
        // Probes of any type are one here, so that the event loop is compiled once for each kind of link.
        let probe = All(vec![probe]);
        let report = Self::over(link, run, setup, Simulated { setup, probe })?;
        let mut report = report.map_err(|error| match error {
            RunError::Stopped => Error::Stopped,
            error => data(error.to_string()),
        })?;
        let forward = link.trace().map(|trace| &*trace.rows);
        let backward = self.return_trace.as_ref().map(|plan| &*plan.trace.timeline);
        let beside = self.side_paths.iter().flatten();
        let beside = beside.filter_map(|plan| plan.trace.as_ref());
        let beside = beside.map(|plan| &*plan.trace.timeline);
        let failure = [forward, backward]
            .into_iter()
            .flatten()
            .chain(beside)
            .find_map(Trace::failure);
        if let Some(failure) = failure {
            return Err(data(failure));
        }
        report.total.mean_coding_ratio = mean_coding_ratio(setup.packet, link, &report.total);
        Ok(report)
    }

    /// Attaches the link of `run` to its queue, and drives the gateway with `driver` instead of a simulation. `slots` asks for
    /// the use of every slot of a coupled link.
    ///
    /// # Errors
    /// A trace that cannot be read, or that is too short for a packet.
    pub fn attach<D: Drive>(
        &self,
        run: RunId,
        setup: &Setup,
        slots: bool,
        driver: D,
    ) -> Result<D::Output> {
        let gateway = setup.gateway(Reporting {
            slots,
            acknowledgements: false,
        });
        let attached = Self::over(&self.link, run, setup, Attached { gateway, driver })?;
        attached.map_err(|error| data(error.to_string()))
    }

    /// Does `work` over `link`, as it is in `run`.
    fn over<W: OverLink>(link: &LinkPlan, run: RunId, setup: &Setup, work: W) -> Result<W::Output> {
        let one_way = setup.rtt.half();
        Ok(match link {
            LinkPlan::Timeline(plan) => {
                let timeline = Arc::clone(&plan.rows).into();
                let (segmentation, period) = (plan.segmentation(setup.packet), plan.period);
                let link = TimelineLink::new(timeline, segmentation, one_way, period, setup.begin);
                let mut link = link.ok_or_else(|| {
                    let failure = plan.rows.failure();
                    data(failure.unwrap_or(
                        "found too few LLDUs for a packet, expected a longer timeline".to_owned(),
                    ))
                })?;
                if let Some(slot) = plan.shift {
                    link = link.shifted(slot);
                }
                if let Some(slots) = &plan.physical {
                    link = link.with_slots(slots.clone());
                }
                work.over(link)
            }
            LinkPlan::Coupled(plan) => work.over(plan.for_seed(run.seed).seeded(run.seed)),
            LinkPlan::Synthetic { rate, loss } => {
                let losses = loss.as_ref();
                let losses = losses.map(|loss| Losses::new(loss, run.seed, Use::Forward));
                let Some(link) = setup.synthetic_link(*rate, losses) else {
                    return refused("rate", "`rate` and `packet` must be above zero");
                };
                work.over(link)
            }
        })
    }

    /// Rate that the return path has all the time; `None` without a limit, or if all is on request.
    fn return_rate(&self) -> Option<BitRate> {
        let assigned = self.resolved.return_capacity.as_ref();
        let assigned = assigned.map(|access| terms(access).constant);
        let assigned = assigned.filter(|rate| rate.0 > 0);
        self.resolved.return_rate.or(assigned)
    }
}

/// Operation on the link of a run, whose type its model decides.
trait OverLink {
    type Output;

    fn over<L: Attach>(self, link: L) -> Self::Output;
}

/// A simulation.
struct Simulated<'a> {
    setup: &'a Setup,
    probe: All<'a>,
}

impl OverLink for Simulated<'_> {
    type Output = std::result::Result<RunReport, RunError>;

    fn over<L: Attach>(mut self, link: L) -> Self::Output {
        simulation::run(self.setup, link, &mut self.probe)
    }
}

/// A gateway with a driver of its own.
struct Attached<D> {
    gateway: GatewaySetup,
    driver: D,
}

impl<D: Drive> OverLink for Attached<D> {
    type Output = std::result::Result<D::Output, AttachError>;

    fn over<L: Attach>(self, link: L) -> Self::Output {
        link.attach(&self.gateway, self.driver)
    }
}

/// Bytes that packets carried per byte of the slots they used (docs/metrics.md).
fn mean_coding_ratio(packet: Bytes, link: &LinkPlan, total: &Total) -> Option<f64> {
    let used = to_f64(total.lldus_used?);
    let (slots, packets) = if let LinkPlan::Timeline(trace) = link {
        let end = trace.end_line.filter(|end| end.rows > 0)?;
        let slots = used * to_f64(end.slots) / to_f64(end.rows);
        (slots, total.packets_served)
    } else {
        // A lost packet is not sent completely.
        let lost = total.metrics.packets_lost;
        (used, total.packets_served.saturating_sub(lost))
    };
    let packets = to_f64(packets) * to_f64(packet.0);
    let lldu = to_f64(link.trace()?.lldu.0);
    (slots > 0.0).then(|| packets / (slots * lldu))
}
