//! Text traces (link-layer.md §8): one row a slot or LLDU, seconds in, integer nanoseconds out.
//!
//! [`Decoder`] is a push parser that never touches the operating system: bytes go in as they come,
//! rows come out, and `finish` is the only end signal. [`TraceReader`] drives it over anything that
//! implements [`std::io::Read`]; [`encode`] holds the other direction.

mod decoder;
pub mod encode;
mod field;
mod layout;
mod reader;

pub use decoder::{Decoder, Options, Rows, Tail};
pub use field::Unit;
pub(crate) use field::shown;
pub use reader::TraceReader;
