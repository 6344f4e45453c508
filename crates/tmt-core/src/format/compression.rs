//! What a file is, by its first bytes, and the compressed streams among them (link-layer.md §8).
//!
//! [`Decompressor`] reads gzip and zstd over anything that can be read; [`Compressor`] writes them
//! block by block, each a member or frame of its own, so that blocks can be compressed on several
//! threads and their concatenation in order is one valid stream.

mod compress;
mod decompress;

pub use compress::{Compressor, GZIP_LEVEL, ZSTD_LEVEL};
pub use decompress::Decompressor;

/// How many first bytes [`recognise`] wants to see; fewer do where the input is shorter.
pub const FIRST_BYTES: usize = 8;

/// What an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A gzip stream.
    Gzip,
    /// A zstd stream.
    Zstd,
    /// An Arrow IPC stream.
    ArrowStream,
    /// An Arrow IPC file (Feather 2).
    ArrowFile,
    /// An Arrow IPC stream as written before version 0.15, which nobody here reads.
    ArrowBefore015,
    /// A Parquet file.
    Parquet,
    /// Anything else: text, or nothing that can be read.
    Text,
}

impl Kind {
    /// Whether something else is inside.
    #[must_use]
    pub const fn is_compressed(self) -> bool {
        matches!(self, Self::Gzip | Self::Zstd)
    }

    /// The format's name, as errors say it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::ArrowStream | Self::ArrowFile | Self::ArrowBefore015 => "Arrow",
            Self::Parquet => "Parquet",
            Self::Text => "text",
        }
    }
}

/// What an input is by its first [`FIRST_BYTES`] bytes, or by all it has where it is shorter.
#[must_use]
pub fn recognise(first: &[u8]) -> Kind {
    match first {
        [0x1f, 0x8b, ..] => Kind::Gzip,
        // Skippable frames may stand in front of the first one that holds something.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Kind::Zstd,
        [0xff, 0xff, 0xff, 0xff, ..] => Kind::ArrowStream,
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Kind::ArrowFile,
        [b'P', b'A', b'R', b'1', ..] => Kind::Parquet,
        // A schema's length, then where its flatbuffer begins: no text holds such bytes.
        [low, high, 0, 0, root @ 1..=64, 0, 0, 0, ..]
            if (*low >= 64 || *high > 0) && root.is_multiple_of(4) =>
        {
            Kind::ArrowBefore015
        }
        _ => Kind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_told_by_its_first_bytes() {
        for (first, kind) in [
            (&b"\x1f\x8b\x08\0\0\0\0\0"[..], Kind::Gzip),
            (b"\x1f\x8b", Kind::Gzip),
            (b"\x28\xb5\x2f\xfd\x04\0\0\0", Kind::Zstd),
            (b"\x5a\x2a\x4d\x18\x04\0\0\0", Kind::Zstd),
            (b"\xff\xff\xff\xff\xf8\x01\0\0", Kind::ArrowStream),
            (b"ARROW1\0\0", Kind::ArrowFile),
            (b"\xf4\x01\0\0\x10\0\0\0", Kind::ArrowBefore015),
            (b"PAR1\x15\x04\x15\x20", Kind::Parquet),
            (b"tx_time,", Kind::Text),
            (b"# tool: ", Kind::Text),
            (b"4\0\0\x000\0\0\0", Kind::Text),
            (b"\xef\xbb\xbf0,0\n", Kind::Text),
            (b"\x1f", Kind::Text),
            (b"", Kind::Text),
        ] {
            assert_eq!(recognise(first), kind, "{first:x?}");
        }
    }
}
