//! Text traces (docs/trace-format.md, Sec. 2–5): one row per slot or LLDU, decimal seconds as integer nanoseconds.
//!
//! [`Decoder`] is a push parser without I/O: it takes bytes in any pieces and appends rows; `finish` signals the
//! end. Once the head has been read, [`RowParser`] parses pieces of whole lines on any thread, and
//! [`Decoder::commit`] accepts them in order. [`encode`] writes text.

mod alike;
mod decoder;
pub mod encode;
mod fast;
mod field;
mod layout;
mod parser;
mod pattern;
mod swar;

pub use decoder::{Decoder, Options};
pub(crate) use field::{nanos, shown};
pub use parser::RowParser;

/// Longest accepted line, bytes without line end. It bounds the memory that a line can take.
pub const LONGEST_LINE: usize = 1 << 20;
