//! Traces in any format, compressed or not, read and written batch by batch.
//!
//! A [`TraceReader`] works in three steps: *fetch* (serial: bytes off the input), *parse* (any number
//! of threads: bytes to [`Rows`](crate::format::Rows)), *commit* (serial, a few steps a piece: what is counted across
//! pieces). A [`TraceWriter`] has two: *format* (any number of threads) and *write* (serial).

mod binary;
mod input;
mod options;
mod reader;
mod text;
mod writer;

pub use options::Options;
pub use reader::TraceReader;
pub use writer::{Row, TraceWriter};
