//! Parameters of a run, their resolution, and the runs.
//!
//! [`PARAMETERS`] describes each parameter once. [`Experiment`] holds the values that are given.
//! [`Experiment::resolve`] turns it into a [`Plan`], and [`Plan::run`] returns a report. [`ParameterFile`] and
//! [`Experiment::to_file`] read and write an experiment as TOML. Its serde form is a map of the same keys.

mod chain;
mod check;
mod compare;
mod counted;
mod error;
mod file;
mod files;
mod findings;
mod flows;
mod headline;
mod offsets;
mod parameters;
mod plan;
mod resolve;
mod results;
mod serialise;
mod setting;
mod storage;
mod values;

pub use compare::Comparison;
pub use error::{Error, Result};
pub use file::{FileError, ParameterFile};
pub use files::with_files;
pub use parameters::{Experiment, Fallback, Group, MAX_RUNS, PARAMETERS, Parameter};
pub use plan::{CoupledPlan, FlowPlan, LinkPlan, Overridden, Params, Plan, RunId, TracePlan};
pub use results::SCHEMA;
pub use setting::{Kind, Setting};
pub use storage::{Collect, InMemory, Loaded, Storage};
pub use values::{
    BufferSize, Count, Count32, DelayedAck, FlowSpec, LinkKind, Offsets, PathKind, Probability,
    ReceiverWindow, Start,
};
