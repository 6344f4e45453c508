//! Physical-layer traces into link-layer timelines.
//!
//! A trace tells, for each link-layer data unit (LLDU) that a physical layer sent, when it was sent
//! and how long decoding took, or that it was erased. This crate computes what a reliability scheme
//! makes of it: when each data LLDU would have reached the link layer of the other side.
//!
//! From the bottom to the top; each layer uses only what stands above it in this list:
//! - [`units`] (and `decimal`): time as integer nanoseconds, sizes, rates, exact decimal text.
//! - [`num`]: transcendental mathematics.
//! - [`distribution`], [`runs`], [`rng`]: order statistics, run lengths, random numbers.
//! - [`slot`], [`metadata`], [`error`]: the nouns of a trace.
//! - [`text`], [`import`]: formats of text. They see no schemes.
//! - [`codec`], [`columns`], [`arrow`], [`parquet`]: compressed and binary formats. They see none either.
//! - [`scheme`], [`machine`]: schemes and the state machine that runs them. They see no formats.
//! - [`walk`], [`summary`], [`stats`], [`channel`], [`synth`]: what commands are made of.
//! - [`model`]: closed forms of schemes and codes, by name. They see neither traces nor the machine.
//! - [`trace`]: traces in any format, read and written piece by piece. It sees no schemes.
//! - [`table`]: tables of other rows in the forms that traces have. It sees none either.
//! - [`pipeline`]: all of it at the same time, on all cores.
//!
//! Nothing here prints, exits, looks at the clock or reads the environment: input, arguments and
//! seed determine every byte.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that cannot go on fails")
)]

pub mod arrow;
pub mod channel;
pub mod codec;
pub mod columns;
mod decimal;
pub mod distribution;
pub mod error;
pub mod import;
pub mod machine;
pub mod metadata;
pub mod model;
pub mod num;
pub mod parquet;
pub mod pipeline;
pub mod rng;
pub mod runs;
pub mod scheme;
pub mod slot;
pub mod stats;
pub mod summary;
pub mod synth;
pub mod table;
pub mod text;
pub mod trace;
pub mod units;
pub mod walk;

pub use error::{Error, ErrorKind, Position, Result};
