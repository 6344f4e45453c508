//! Traces in any format, compressed or not, read and written batch by batch.
//!
//! A [`TraceReader`] works in three steps: *fetch* (serial: bytes off the input), *parse* (any number
//! of threads: bytes to [`Rows`](crate::format::Rows)), *absorb* (serial, a few steps a piece: what is counted across
//! pieces). A [`TraceWriter`] has two: *format* (any number of threads) and *write* (serial).

mod fetch;
mod order;
mod reader;
mod writer;

pub use reader::{Options, TraceReader, Work};
pub use writer::{Row, TraceWriter};
