//! Basic types of a trace: units of measure, slots and LLDUs, metadata, errors.

pub(crate) mod decimal;
mod error;
mod metadata;
pub mod named;
mod note;
mod show;
mod slot;
mod stopped;
mod suggestion;
mod trace_kind;
mod units;

pub use error::{Error, ErrorKind, Position, Result, one_line};
pub use metadata::*;
pub use note::{Note, Severity};
pub use show::{Show, rounded};
pub use slot::*;
pub use stopped::Stopped;
pub use trace_kind::TraceKind;
pub use units::*;
