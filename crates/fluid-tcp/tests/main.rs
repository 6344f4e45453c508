//! Tests of the public interface, in one program: `cargo test -p fluid-tcp --test api bbr::` runs those of `bbr.rs`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod applications;
mod audited;
mod bbr;
mod closed_forms;
mod extending;
mod hosts;
mod hybrid_paths;
mod kernel;
mod loads;
mod models;
mod on_demand;
mod pages;
mod peers;
mod queues;
mod rate_step;
mod return_link;
mod side_paths;
mod traced_hops;

use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::{All, Probe};
use fluid_tcp::simulation::{IntoRoute, RunError, Setup};
use tmt_link::Link;

/// The run of the library with a probe of any type: the event loop is then compiled once for each type of link, and not for each
/// of both.
fn run(setup: &Setup, route: impl IntoRoute, probe: &mut dyn Probe) -> Result<RunReport, RunError> {
    fluid_tcp::simulation::run(setup, route, &mut All(vec![probe]))
}

/// A link of a test. Those of all tests are one type, for the same reason.
fn any(link: impl Link + 'static) -> Box<dyn Link> {
    Box::new(link)
}
