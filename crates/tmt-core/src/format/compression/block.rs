//! Blocks of output bytes, plain or compressed.

use std::io;

use super::Compressor;
use crate::format::form::Compression;

/// A block of output. Its buffers and compressor are reused for the next block.
#[derive(Default)]
pub(crate) struct Block {
    /// The uncompressed content.
    pub(crate) plain: Vec<u8>,
    packed: Vec<u8>,
    compressor: Option<Compressor>,
    is_packed: bool,
}

impl Block {
    /// Compresses the content if `compression` asks for it. An empty block stays empty.
    ///
    /// # Errors
    /// Memory is exhausted.
    pub(crate) fn pack(&mut self, compression: Option<Compression>) -> io::Result<()> {
        self.packed.clear();
        self.is_packed = compression.is_some();
        let Some(compression) = compression.filter(|_| !self.plain.is_empty()) else {
            return Ok(());
        };
        let compressor = match &mut self.compressor {
            Some(compressor) => compressor,
            empty => empty.insert(Compressor::new(compression)?),
        };
        compressor.block(&self.plain, &mut self.packed)
    }

    /// The bytes to be written. Call [`Block::pack`] first.
    pub(crate) fn bytes(&self) -> &[u8] {
        if self.is_packed {
            &self.packed
        } else {
            &self.plain
        }
    }
}
