//! What a run is: every parameter described once, how values are resolved, and the runs that follow.
//!
//! [`Experiment`] holds what is given, [`PARAMETERS`] describes it. [`Experiment::resolve`] turns it into a [`Plan`],
//! whose [`Plan::run`] gives a report. [`ParameterFile`] and [`Experiment::to_file`] read and write it as TOML; through
//! serde it is a map of the same keys.

mod check;
mod compare;
mod error;
mod file;
mod flows;
mod offsets;
mod parameters;
mod plan;
mod resolve;
mod serialise;
mod setting;
mod storage;
mod values;

pub use compare::Comparison;
pub use error::{Error, Result};
pub use file::{FileError, ParameterFile};
pub use parameters::{Experiment, Fallback, Group, MOST_RUNS, PARAMETERS, Parameter};
pub use plan::{CoupledPlan, FlowPlan, LinkPlan, Overridden, Params, Plan, RunId, TracePlan};
pub use setting::{Kind, Setting};
pub use storage::{Collect, InMemory, Loaded, Storage};
pub use values::{
    BufferSize, Count, Count32, DelayedAck, FeedbackDelay, FlowSpec, LinkKind, Offsets, PathKind,
    Probability, ReceiverWindow, Start,
};
