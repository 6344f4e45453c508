//! Text traces (link-layer.md §8): one row a slot or LLDU, seconds in, integer nanoseconds out.
//!
//! [`Decoder`] is a push parser that never touches the operating system: bytes go in as they come,
//! rows come out, and `finish` is the only end signal. Once it has read the head, [`RowParser`]
//! parses pieces of whole lines on any thread, and [`Decoder::commit`] takes them in their order.
//! [`encode`] holds the other direction.

mod decoder;
pub mod encode;
mod fast;
mod field;
mod layout;
mod parser;
mod swar;

pub use decoder::{Decoder, Options};
pub(crate) use field::{nanos, shown};
pub use parser::RowParser;

/// Longest line taken, bytes, its line end left out: no trace needs it, and no line may fill the memory.
pub const LONGEST_LINE: usize = 1 << 20;
