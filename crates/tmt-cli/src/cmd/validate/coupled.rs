//! TCP over a coupled link on a generated channel, as the figures of papers/002 and 004 need it.

use std::sync::Arc;

use fluid_tcp::congestion::Algorithm;
use fluid_tcp::endpoint::Endpoint;
use fluid_tcp::link::gateway::{CoupledLink, Hold, InOrder, Tail};
use fluid_tcp::link::timeline::GeneratedSlots;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::{NoProbe, Probe};
use fluid_tcp::simulation::replications::Estimate;
use fluid_tcp::simulation::{Flow, Path, Setup, run_coupled};
use tmt_core::types::{BitRate, Bytes, Span, to_f64};

use super::figure::{Runs, mean};
use crate::exit::{Failure, Outcome};

/// A point of a figure: the link, the path and the load.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) rate: BitRate,
    pub(super) lldu: Bytes,
    /// A packet is so many LLDUs.
    pub(super) lldus: u32,
    pub(super) channel: String,
    pub(super) scheme: String,
    /// Round-trip time of the link.
    pub(super) rtt: Span,
    pub(super) path: Path,
    pub(super) buffer: u64,
    pub(super) in_order: InOrder,
    pub(super) hold: Hold,
    pub(super) cc: &'static str,
    pub(super) endpoint: Endpoint,
    pub(super) flows: u32,
    /// Flows begin so far apart.
    pub(super) apart: Span,
}

impl Point {
    /// Throughput over the link's rate in each of the runs, and its mean.
    pub(super) fn throughput(&self, runs: &Runs) -> Outcome<Estimate> {
        let shares = runs.each(|seed| {
            let report = self.run(seed, runs.duration, &mut NoProbe)?;
            let throughput = report.total.metrics.throughput_bps;
            let throughput = throughput.ok_or_else(|| Failure::failed("the run took no time"))?;
            Ok(throughput / to_f64(self.rate.0))
        })?;
        mean(&shares)
    }

    /// One run.
    pub(super) fn run<P: Probe>(
        &self,
        seed: u64,
        duration: Span,
        probe: &mut P,
    ) -> Outcome<RunReport> {
        let setup = self.setup(duration)?;
        let channel = self.channel.parse().map_err(Failure::failed)?;
        let slots = GeneratedSlots::new(self.rate, self.lldu, duration, channel)
            .ok_or_else(|| Failure::failed("the figure's constants leave no slots"))?;
        let link = CoupledLink {
            trace: Arc::new(slots.timeline(seed)),
            scheme: self.scheme.parse().map_err(Failure::failed)?,
            feedback_delay: Span::ZERO,
            lost_feedback: None,
            data_units: self.lldus,
            tail: Tail::Short,
            in_order: self.in_order,
            hold: self.hold,
        };
        run_coupled(&setup, &link, probe)
            .ok_or_else(|| Failure::failed("the figure's constants leave no link"))
    }

    fn setup(&self, duration: Span) -> Outcome<Setup> {
        let flows = flows(self.flows, self.cc, self.endpoint, self.apart)?;
        Ok(Setup {
            packet: Bytes(self.lldu.0 * u64::from(self.lldus)),
            buffer: self.buffer,
            path: self.path,
            link_rate_bps: Some(to_f64(self.rate.0)),
            ..Setup::new(flows, self.rtt, duration)
        })
    }
}

/// Flows without end, each begun `apart` after the one before.
pub(super) fn flows(count: u32, cc: &str, endpoint: Endpoint, apart: Span) -> Outcome<Vec<Flow>> {
    let algorithm: Algorithm = cc.parse().map_err(Failure::failed)?;
    let flow = |index: u32| Flow {
        algorithm: algorithm.clone(),
        endpoint,
        start: apart.checked_mul(index.into()).unwrap_or(Span::MAX),
        packets: None,
    };
    Ok((0..count).map(flow).collect())
}
