//! Progress of simulations in simulated time.

use fluid_tcp::endpoint::Transmission;
use fluid_tcp::experiment::Plan;
use fluid_tcp::simulation::probe::Probe;
use tmt_core::types::{Span, Time};

use crate::progress::Work;

/// The simulated time of all runs, as work.
pub(super) struct Simulated {
    work: Work,
    /// Longest run.
    length: Span,
}

impl Simulated {
    /// The work of `runs` runs of `plan`.
    pub(super) fn of(plan: &Plan, runs: usize) -> Self {
        let length = plan.end.since(plan.begin());
        let total = seconds(length).saturating_mul(runs as u64);
        Self {
            work: Work::new(total, "simulated seconds"),
            length,
        }
    }

    /// Whether the progress is shown, so that it is worth observing a run.
    pub(super) fn is_shown(&self) -> bool {
        self.work.is_shown()
    }

    /// Calls `run` with a probe that counts its simulated time.
    pub(super) fn watch<R>(&self, run: impl FnOnce(&mut Clock<'_>) -> R) -> R {
        let mut clock = Clock {
            simulated: self,
            begin: None,
            done: 0,
        };
        let ran = run(&mut clock);
        // A run that ends early has done all its work.
        clock.reach(seconds(self.length));
        ran
    }
}

/// Whole seconds of `span`.
fn seconds(span: Span) -> u64 {
    span.as_nanos() / Span::from_secs(1).as_nanos()
}

/// Probe that reports each simulated second of a run.
pub(super) struct Clock<'a> {
    simulated: &'a Simulated,
    /// Time of the first packet.
    begin: Option<Time>,
    /// Seconds that are reported.
    done: u64,
}

impl Clock<'_> {
    fn reach(&mut self, second: u64) {
        if second > self.done {
            self.simulated.work.advance(second - self.done);
            self.done = second;
        }
    }
}

impl Probe for Clock<'_> {
    fn on_sent(&mut self, now: Time, _transmission: Transmission) {
        let end = seconds(self.simulated.length);
        let begin = *self.begin.get_or_insert(now);
        self.reach(seconds(now.since(begin)).min(end));
    }
}
