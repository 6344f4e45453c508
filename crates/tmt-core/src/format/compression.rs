//! Compressed streams (docs/trace-format.md, Sec. 8).
//!
//! [`Decompressor`] reads gzip and zstd from any [`std::io::Read`]. [`Compressor`] makes one gzip member or zstd
//! frame of each block. So blocks can be compressed on several threads, and their concatenation is a valid stream.

mod block;
mod compress;
mod decompress;
mod small;

pub(crate) use block::Block;
pub use compress::{Compressor, GZIP_LEVEL, ZSTD_LEVEL};
pub use decompress::Decompressor;
pub use small::small_text;
