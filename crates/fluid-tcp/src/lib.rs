//! Event-driven TCP over link-layer timelines, coupled links and links of constant rate.
//!
//! CUBIC for a minute over 2.34 Mbit/s with a round trip of 500 ms and one packet in a thousand lost:
//!
//! ```
//! use fluid_tcp::congestion::{Algorithm, CUBIC};
//! use fluid_tcp::endpoint::Profile;
//! use fluid_tcp::simulation::{Flow, Setup, probe::NoProbe, run};
//! use tmt_core::channel::{Channel, ChannelSpec};
//! use tmt_core::{BitRate, Span};
//!
//! let flow = Flow::new(Algorithm::new(&CUBIC, [])?, Profile::Linux.endpoint());
//! let setup = Setup::new(vec![flow], Span::from_millis(500), Span::from_secs(60));
//! let loss = Channel::new(ChannelSpec::Bernoulli { p: 0.001 }, 1);
//! let link = setup.synthetic_link(BitRate(2_340_000), Some(loss.into())).ok_or("no such link")?;
//! let total = run(&setup, link, &mut NoProbe)?.total;
//! println!("goodput: {:?} bit/s", total.metrics.goodput_bps);
//! assert!(total.metrics.packets_lost > 0 && total.link_utilisation > Some(0.5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A run that is described by parameters with their defaults, as `tmt tcp` has it, is an
//! [`Experiment`](experiment::Experiment), which resolves to a [`Plan`](experiment::Plan).
//!
//! The layers, from the bottom to the top; a module uses only modules above it in this list
//! (`tests/architecture.rs` checks it):
//! - [`congestion`]: windows. One controller, one file; it never sees a packet.
//! - [`endpoint`]: both ends of a flow, without a clock of their own.
//! - [`simulation`]: a run, what watches it, what it gives.
//! - [`model`]: closed forms of TCP and the fluid Monte-Carlo; they share nothing with the simulator.
//! - [`application`]: what flows carry, by name: transfers, calls, bursts.
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

pub mod application;
pub mod audit;
pub mod congestion;
pub mod endpoint;
pub mod experiment;
pub mod log;
pub mod model;
pub mod simulation;

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
