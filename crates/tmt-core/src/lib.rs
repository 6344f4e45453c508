//! Physical-layer traces into link-layer timelines.
//!
//! A trace tells, for each link-layer data unit (LLDU) that a physical layer sent, when it was sent
//! and how long decoding took, or that it was erased. This crate computes what a reliability scheme
//! makes of it: when each data LLDU would have reached the link layer of the other side.
//!
//! The layers, from the bottom to the top; a module uses only modules above it in this list
//! (`tests/architecture.rs` checks it):
//! - [`types`]: time, sizes and rates; slots and LLDUs; metadata; errors.
//! - [`math`]: functions that are the same on every platform, and counter-based random numbers.
//! - [`model`]: closed forms of schemes and codes, by name. They see neither traces nor schemes.
//! - [`channel`]: erasure processes, and error-free slots of a constant rate.
//! - [`scheme`]: reliability schemes and the engine that runs them. They see no formats.
//! - [`stats`]: order statistics, run lengths, and the summaries of a trace and of a link.
//! - [`format`]: every file format, read and written. Formats see no schemes.
//! - [`pipeline`]: all of it at the same time, on all cores.
//!
//! Nothing here prints, exits, looks at the clock or reads the environment: input, arguments and
//! seed determine every byte.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that cannot go on fails")
)]

pub mod channel;
pub mod format;
pub mod math;
pub mod model;
pub mod pipeline;
pub mod scheme;
pub mod stats;
pub mod types;

pub use types::{Error, ErrorKind, Position, Result};
