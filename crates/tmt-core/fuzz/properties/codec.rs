//! gzip and zstd: the output does not depend on the sizes of reads and of input pieces, and blocks round-trip.

use std::io::Read;

use tmt_core::Error;
use tmt_core::format::compression::{Compressor, Decompressor};
use tmt_core::format::{Compression, FileKind, recognise};

use super::{Pieces, Refusal, refusal};

/// Limit of the decompressed bytes, since few bytes can expand to many.
const MOST: usize = 1 << 20;

/// Any bytes decompress to the same output in pieces of any size; compressed, they round-trip.
pub(crate) fn check(data: &[u8]) {
    for kind in [Compression::Gzip, Compression::Zstd] {
        let whole = decompress(kind, data, data.len().max(1), MOST);
        for (most, output) in [(1, MOST), (13, 100), (data.len().max(1), 7)] {
            let other = decompress(kind, data, most, output);
            if kind == Compression::Zstd && whole.1.is_err() {
                // zstd returns uncompressed blocks as they arrive. If the frame then has a wrong length, its last piece
                // is not returned.
                let (one, other) = (&whole.0, &other.0);
                assert!(one.starts_with(other) || other.starts_with(one));
            } else {
                assert_eq!(other.0, whole.0);
            }
            assert_eq!(other.1, whole.1);
        }
        let (front, back) = data.split_at(data.len() / 3);
        let stream = compress(kind, &[front, back, b""]);
        assert_eq!(recognise(&stream), FileKind::Compressed(kind));
        let (out, end) = decompress(kind, &stream, 64, 1000);
        assert!(end.is_ok() && out == data);
    }
}

/// Decompresses `data`, fed in pieces of at most `most` bytes and read `output` bytes at a time.
fn decompress(
    kind: Compression,
    data: &[u8],
    most: usize,
    output: usize,
) -> (Vec<u8>, Result<(), Refusal>) {
    let input = Pieces { bytes: data, most };
    let mut input = Decompressor::new(kind, input).unwrap();
    let mut out = vec![0; MOST];
    let mut length = 0;
    while length < MOST {
        let to = MOST.min(length + output);
        match input.read(&mut out[length..to]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) => {
                out.truncate(length);
                return (out, Err(refusal(&Error::from(error))));
            }
        }
    }
    out.truncate(length);
    (out, Ok(()))
}

fn compress(kind: Compression, blocks: &[&[u8]]) -> Vec<u8> {
    let mut compressor = Compressor::new(kind).unwrap();
    let mut out = Vec::new();
    for block in blocks {
        compressor.block(block, &mut out).unwrap();
    }
    out
}
