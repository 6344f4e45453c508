//! Reads and writes traces in any format, plain or compressed, batch by batch.
//!
//! A [`TraceReader`] works in three steps: *fetch* (serial: reads bytes), *parse* (parallel: bytes to
//! [`Rows`](crate::format::Rows)) and *commit* (serial, a few operations per piece: order, line and row numbers). A
//! [`TraceWriter`] works in two: *format* (parallel) and *write* (serial). It is a [`Sink`], and so is a [`TraceCollector`], which
//! keeps the rows as a table in memory.

mod binary;
mod collector;
mod input;
mod options;
mod reader;
mod reading;
mod sink;
mod text;
mod writer;

pub use collector::{Batches, TraceCollector};
pub use options::Options;
pub use reader::TraceReader;
pub use reading::reading_notes;
pub use sink::{Round, Sink, Take};
pub use writer::{Row, TraceWriter};
