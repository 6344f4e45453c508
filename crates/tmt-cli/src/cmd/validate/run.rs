//! TCP runs of a point, and a probe that records which flows an overflow of the gateway hits.

use std::collections::BTreeMap;

use fluid_tcp::endpoint::Transmission;
use fluid_tcp::endpoint::sender::Snapshot;
use fluid_tcp::experiment::{InMemory, ParameterFile};
use fluid_tcp::simulation::probe::{Probe, Refused, SenderEvent};
use rayon::prelude::*;
use tmt_core::types::{Span, Time, to_f64};

use crate::exit::{Failure, Outcome};

/// Extent of the simulation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs {
    /// Runs per point, with seeds from 1.
    pub(super) seeds: u64,
    /// Duration of each run.
    pub(super) duration: Span,
}

/// Rate of the whole packets that reached the receiver over the whole run, bit/s.
const ARRIVAL_RATE: &str = "packet arrivals, bit/s";

/// Metrics of one run, by name.
pub(super) type Measured = BTreeMap<&'static str, f64>;

/// Simulates the experiment of a parameter file.
pub(super) fn experiment(parameters: &str, runs: &Runs) -> Outcome<Vec<Measured>> {
    let Runs { seeds, duration } = runs;
    let text = format!("seeds = {seeds}\nduration = \"{duration}\"\n{parameters}");
    let file = ParameterFile::parse(&text).map_err(Failure::failed)?;
    let plan = file
        .experiment
        .resolve(&InMemory)
        .map_err(Failure::failed)?;
    let runs = plan.runs().into_par_iter().map(|run| {
        let mut overflows = Overflows::default();
        let report = plan.run(run, &mut overflows).map_err(Failure::failed)?;
        // The papers count whole packets over the whole run.
        let arrived = report.total.metrics.packets_arrived;
        let arrived = report.whole_packet_rate_bps(arrived, plan.resolved.packet());
        let arrived = arrived.map(|rate| (ARRIVAL_RATE, rate));
        let numbers = report.total.numbers().chain(arrived);
        Ok(numbers.chain(overflows.numbers()).collect())
    });
    runs.collect()
}

/// Drops closer than this belong to one overflow of the gateway's buffer.
const ONE_OVERFLOW: Span = Span::from_millis(500);

/// Records the windows of two flows at overflows, and which flows each overflow hits.
#[derive(Debug, Default)]
struct Overflows {
    windows: [f64; 2],
    /// Last drop of the current overflow, and the flows that it hit.
    current: Option<(Time, [bool; 2])>,
    sums: Vec<f64>,
    alone: usize,
}

impl Overflows {
    fn numbers(&self) -> [(&'static str, f64); 2] {
        let overflows = to_f64(self.sums.len() as u64);
        // The overflow at the end of the run may be incomplete and does not count.
        let ended = f64::max(overflows - 1.0, 1.0);
        let sum = self.sums.iter().sum::<f64>();
        [
            ("sum at an overflow", sum / overflows),
            ("overflows of one flow", to_f64(self.alone as u64) / ended),
        ]
    }
}

impl Probe for Overflows {
    fn on_refused(&mut self, now: Time, copy: Transmission, _reason: Refused) {
        let hit = match self.current {
            Some((last, mut hit)) if now.since(last) < ONE_OVERFLOW => {
                hit[copy.flow % 2] = true;
                hit
            }
            before => {
                if let Some((_, hit)) = before {
                    self.alone += usize::from(hit != [true; 2]);
                }
                self.sums.push(self.windows.iter().sum());
                std::array::from_fn(|flow| flow == copy.flow)
            }
        };
        self.current = Some((now, hit));
    }

    fn on_sender(
        &mut self,
        _now: Time,
        flow: usize,
        _moment: SenderEvent,
        sender: &Snapshot,
        _queue: u64,
        _delivered: u64,
    ) {
        self.windows[flow % 2] = sender.cwnd;
    }
}
