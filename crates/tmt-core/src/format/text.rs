//! Text traces (link-layer.md §8): one row a slot or LLDU, seconds in, integer nanoseconds out.
//!
//! [`Decoder`] is a push parser that never touches the operating system: bytes go in as they come,
//! rows come out, and `finish` is the only end signal. Once it has read the head, [`RowParser`]
//! parses pieces of whole lines on any thread, and [`Decoder::absorb`] takes them in their order.
//! [`encode`] holds the other direction.

mod bulk;
mod decoder;
pub mod encode;
mod fast;
mod field;
mod layout;
mod parser;
mod rows;
mod swar;

pub use decoder::{Decoder, Options, Tail};
pub use field::Unit;
pub(crate) use field::shown;
pub use parser::{LONGEST_LINE, RowParser};
pub use rows::Rows;
