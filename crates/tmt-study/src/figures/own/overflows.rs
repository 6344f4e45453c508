//! Two connections at overflows of the gateway's buffer: their windows, and which of them lose packets.

use fluid_tcp::endpoint::Transmission;
use fluid_tcp::endpoint::sender::Snapshot;
use fluid_tcp::experiment::{Experiment, InMemory};
use fluid_tcp::simulation::probe::{Probe, Refused, SenderEvent};
use serde_json::Value;
use tmt_core::types::{Span, Time, to_f64};

use crate::record::Fields;

/// The experiment, with its windows at overflows.
pub(super) fn run(experiment: &Experiment, stopped: &dyn Fn() -> bool) -> Result<Fields, String> {
    let flows = experiment.flow.as_ref().map(|flows| flows.len() as u64);
    let flows = flows.unwrap_or_else(|| experiment.flows().0);
    if flows != 2 {
        return Err(format!(
            "found {flows} flows, expected two, whose windows at overflows are compared"
        ));
    }
    let plan = experiment
        .resolve(&InMemory)
        .map_err(|error| error.to_string())?;
    let run = plan.runs().into_iter().next().ok_or("found no run")?;
    let mut overflows = Overflows::new(stopped);
    plan.run(run, &mut overflows)
        .map_err(|error| error.to_string())?;
    let numbers = overflows.numbers().into_iter();
    Ok(numbers
        .map(|(name, number)| (name.to_owned(), Value::from(number)))
        .collect())
}

/// Drops closer than this belong to one overflow of the gateway's buffer.
const ONE_OVERFLOW: Span = Span::from_millis(500);

/// Records the windows of two flows at overflows, and which flows each overflow hits.
struct Overflows<'a> {
    stopped: &'a dyn Fn() -> bool,
    windows: [f64; 2],
    /// Last drop of the current overflow, and the flows that it hit.
    current: Option<(Time, [bool; 2])>,
    sums: Vec<f64>,
    alone: usize,
}

impl<'a> Overflows<'a> {
    fn new(stopped: &'a dyn Fn() -> bool) -> Self {
        Self {
            stopped,
            windows: [0.0; 2],
            current: None,
            sums: Vec::new(),
            alone: 0,
        }
    }

    fn numbers(&self) -> [(&'static str, f64); 2] {
        let overflows = to_f64(self.sums.len() as u64);
        // The overflow at the end of the run may be incomplete and does not count.
        let ended = f64::max(overflows - 1.0, 1.0);
        let sum = self.sums.iter().sum::<f64>();
        [
            ("overflow_windows_segments", sum / overflows),
            ("overflows_of_one_flow", to_f64(self.alone as u64) / ended),
        ]
    }
}

impl Probe for Overflows<'_> {
    fn can_stop(&self) -> bool {
        true
    }

    fn stops(&self, _now: Time) -> bool {
        (self.stopped)()
    }

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
                std::array::from_fn(|flow| flow == copy.flow % 2)
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
