//! Compressed streams (link-layer.md §8).
//!
//! [`Decompressor`] reads gzip and zstd over anything that can be read; [`Compressor`] writes them
//! block by block, each a member or frame of its own, so that blocks can be compressed on several
//! threads and their concatenation in order is one valid stream.

mod block;
mod compress;
mod decompress;

pub(crate) use block::Block;
pub use compress::{Compressor, GZIP_LEVEL, ZSTD_LEVEL};
pub use decompress::Decompressor;
