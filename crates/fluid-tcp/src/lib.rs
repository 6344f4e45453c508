//! Event-driven TCP over link-layer timelines and synthetic links.
//!
//! The layers, from the bottom to the top; a module uses only modules above it in this list
//! (`tests/architecture.rs` checks it):
//! - [`named`]: settings and registries by name, with their parameters.
//! - [`congestion`]: windows. One controller, one file; it never sees a packet.
//! - [`endpoint`]: both ends of a flow, without a clock of their own.
//! - [`link`]: what a packet meets on its way: queues, links, and the timelines under them.
//! - [`simulation`]: a run, what watches it, what it gives.
//! - [`model`]: closed forms of TCP and the fluid Monte-Carlo; they share nothing with the simulator.
//! - [`experiment`]: what a run is, as data: parameters, defaults, refusals, plans.
//! - [`log`]: runs written down; [`audit`] checks them and shares no code with what wrote them.
//!
//! A run is a pure function of its setup and seed. Windows are counted in segments, time in integer
//! nanoseconds; floating point stays within what the standard guarantees on every platform
//! ([`tmt_core::math::num`] holds the one exception).

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that cannot go on fails")
)]

#[macro_use]
pub mod named;

pub mod audit;
pub mod congestion;
pub mod endpoint;
pub mod experiment;
pub mod link;
pub mod log;
pub mod model;
pub mod simulation;
