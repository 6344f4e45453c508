//! The simulator: setup, event loop, probes and metrics of a run (docs/simulator.md).

mod beside;
pub mod delay;
pub mod event;
pub mod metrics;
mod path;
pub mod probe;
mod proxy;
mod recorded;
mod reordering;
pub mod replications;
mod run;
mod setup;
pub(crate) mod tally;

pub use beside::Side;
pub use path::{Path, SplitWindow};
pub use recorded::RecordedLosses;
pub use run::{IntoRoute, Route, RunError, run};
pub(crate) use setup::entries;
pub use setup::{Flow, MakeHosts, Setup};
