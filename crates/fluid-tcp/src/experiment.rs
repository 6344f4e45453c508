//! Parameters of a run, their resolution, and the runs.
//!
//! [`PARAMETERS`] describes each parameter once. [`Experiment`] holds the values that are given.
//! [`Experiment::resolve`] turns it into a [`Plan`], and [`Plan::run`] returns a report. [`ParameterFile`] and
//! [`Experiment::to_file`] read and write an experiment as TOML. Its serde form is a map of the same keys.

mod apply;
mod chain;
mod check;
mod compare;
mod counted;
mod error;
mod file;
mod findings;
mod flows;
mod headline;
mod note;
mod offsets;
mod parameters;
mod plan;
mod reading;
mod resolve;
mod results;
mod serialise;
mod setting;
mod storage;
mod values;

pub use apply::Transform;
pub use compare::Comparison;
pub use error::{Error, Result};
pub use file::{FileError, ParameterFile};
pub use note::{Note, Severity};
pub use parameters::{Experiment, Fallback, Group, MAX_RUNS, PARAMETERS, Parameter};
pub use plan::{CoupledPlan, FlowPlan, LinkPlan, Overridden, Params, Plan, RunId, TracePlan};
pub use reading::reading_notes;
pub use resolve::{DEFAULT_RTT, assumed_rtt};
pub use results::SCHEMA;
pub use setting::{Kind, Setting};
pub use storage::{Collect, InMemory, Loaded, Storage};
pub use values::{
    BufferSize, Count, Count32, DelayedAck, FeedbackDelay, FlowSpec, LinkKind, Offsets, PathKind,
    Probability, ReceiverWindow, Start,
};
