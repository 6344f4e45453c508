//! Real TCP stacks over link-layer traces (docs/replay.md): packets of the kernel, of iperf3 or of a QUIC program cross the
//! links of the simulator in real time.
//!
//! [`Carrier`] drives the gateway of a run with packets from a [`Port`], which has a clock: on Linux a pair of TUN devices and
//! the monotonic clock, in tests a list of arrivals and simulated time. The link alone decides the fate of each packet and its
//! time, so that the log of a run agrees with its trace to the nanosecond; how late a packet left is counted beside it
//! ([`Lateness`]).
//!
//! ```
//! use fluid_tcp::experiment::{Experiment, InMemory, LinkKind};
//! use fluid_tcp::simulation::probe::NoProbe;
//! use tmt_core::{BitRate, Span, Time};
//! use tmt_replay::{Carrier, InMemoryPort};
//!
//! let plan = Experiment {
//!     link: Some(LinkKind::Synthetic),
//!     rate: Some(BitRate(1_000_000)),
//!     rtt: Some(Span::from_millis(100)),
//!     duration: Some(Span::from_secs(10)),
//!     ..Experiment::default()
//! }
//! .resolve(&InMemory)?;
//! // One packet of 125 B: 1 ms at 1 Mbit/s and 50 ms of propagation.
//! let mut port = InMemoryPort::new([(Time::ZERO, vec![0x45; 125])]);
//! let run = plan.runs()[0];
//! let setup = plan.setup(run);
//! let carried = plan.attach(run, &setup, false, Carrier::new(&mut port, &mut NoProbe, setup.end))??;
//! assert_eq!(carried.delivered, 1);
//! assert_eq!(port.sent()[0].0, Time::ZERO.saturating_add(Span::from_millis(51)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The layers, from the bottom to the top; a module uses only modules above it in this list
//! (`tests/architecture.rs` checks it):
//! - [`header`]: the fields of an IP header that a queue reads and marks.
//! - [`lateness`]: how late packets left.
//! - [`port`]: where packets come from and go to.
//! - [`carrier`]: the loop between a port and a gateway.
//! - [`record`]: events of a run, passed to its logs on a thread of their own.
//! - [`linux`]: namespaces, TUN devices, commands; on Linux only.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that cannot go on fails")
)]

pub mod carrier;
pub mod header;
pub mod lateness;
#[cfg(target_os = "linux")]
pub mod linux;
pub mod port;
pub mod record;

pub use carrier::{Carried, Carrier, CarryError};
pub use lateness::Lateness;
pub use port::{InMemoryPort, Port};
pub use record::{Recorder, Recording};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
