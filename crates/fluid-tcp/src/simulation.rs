//! The simulator: setup, event loop, probes and metrics of a run (docs/simulator.md).

pub mod ack_filter;
mod beside;
mod convergence;
pub mod delay;
pub mod event;
pub mod metrics;
mod path;
pub mod probe;
mod proxy;
mod recorded;
mod reordering;
pub mod replications;
mod return_queue;
mod run;
mod setup;
pub(crate) mod tally;

pub use ack_filter::AckFilter;
pub use beside::Side;
pub use path::{Path, SplitAnnounce, SplitWindow};
pub use recorded::RecordedLosses;
pub(crate) use recorded::{Order, RecordedService, RecordedServices};
pub use run::{IntoRoute, Route, RunError, run, run_timeline};
pub(crate) use setup::entries;
pub use setup::{Flow, Later, MakeHosts, Setup};
