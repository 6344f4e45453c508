//! Event-driven TCP over link-layer timelines and synthetic links.
//!
//! From the bottom to the top; each module uses only what stands above it:
//! - [`num`], [`event`], [`rtt`], [`timeline`]: mathematics, the event queue, estimators, data.
//! - [`congestion`]: windows. One controller, one file; it never sees a packet.
//! - [`endpoint`], [`receiver`], [`sender`]: both ends of a flow, without a clock of their own.
//! - [`link`], [`gateway`], [`delay`]: what a packet meets on its way, and what of its delay comes from where.
//! - [`simulation`], [`probe`], [`metrics`], [`replicas`]: a run, what watches it, what it gives.
//! - [`model`]: closed forms of TCP and the fluid Monte-Carlo; they share nothing with the simulator.
//! - [`log`]: runs written down; [`audit`] checks them and shares no code with what wrote them.
//!
//! A run is a pure function of its setup and seed. Windows are counted in segments, time in integer
//! nanoseconds; floating point stays within what the standard guarantees on every platform
//! ([`num`] holds the one exception).

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that cannot go on fails")
)]

pub mod audit;
pub mod congestion;
pub mod delay;
pub mod endpoint;
pub mod event;
pub mod gateway;
pub mod link;
pub mod log;
pub mod metrics;
pub mod model;
pub mod probe;
mod ranges;
pub mod receiver;
pub mod replicas;
pub mod return_trace;
pub mod rtt;
pub mod sender;
pub mod simulation;
pub mod timeline;

pub use tmt_core::num;
