//! Blocks of bytes on their way out, compressed or not.

use std::io;

use super::Compressor;
use crate::format::form::Compression;

/// A block, with what is used again for the next one.
#[derive(Default)]
pub(crate) struct Block {
    /// What is in it.
    pub(crate) plain: Vec<u8>,
    packed: Vec<u8>,
    compressor: Option<Compressor>,
    is_packed: bool,
}

impl Block {
    /// Compresses what is in the block; nothing stays nothing.
    ///
    /// # Errors
    /// No memory for it.
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

    /// What is to be written, once it has been packed.
    pub(crate) fn bytes(&self) -> &[u8] {
        if self.is_packed {
            &self.packed
        } else {
            &self.plain
        }
    }
}
