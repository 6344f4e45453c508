//! gzip and zstd (docs/trace-format.md, Sec. 8): streams whole, in pieces, cut at every byte, with flipped bits.

use std::io::{self, Read, Write};

use proptest::prelude::*;
use test_support::cases;
use tmt_core::format::compression::{Compressor, Decompressor};
use tmt_core::format::{Compression, FileKind, recognise};
use tmt_core::{Error, ErrorKind};

const KINDS: [Compression; 2] = [Compression::Gzip, Compression::Zstd];

fn compressor(kind: Compression) -> Compressor {
    Compressor::new(kind).unwrap()
}

fn decompressor<R: Read>(kind: Compression, input: R) -> Decompressor<R> {
    Decompressor::new(kind, input).unwrap()
}

/// Returns bytes in pieces of these lengths, cyclically.
struct Pieces<'a> {
    bytes: &'a [u8],
    lengths: &'a [usize],
    next: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.lengths[self.next % self.lengths.len()];
        self.next += 1;
        let length = length.min(out.len()).min(self.bytes.len());
        out[..length].copy_from_slice(&self.bytes[..length]);
        self.bytes = &self.bytes[length..];
        Ok(length)
    }
}

/// Decompresses `bytes`; returns the output and the result at the end.
fn read(kind: Compression, bytes: &[u8]) -> (Vec<u8>, Result<(), Error>) {
    let mut out = Vec::new();
    let read = decompressor(kind, bytes).read_to_end(&mut out);
    (out, read.map(drop).map_err(Error::from))
}

fn blocks(kind: Compression, blocks: &[Vec<u8>]) -> Vec<u8> {
    let mut compressor = compressor(kind);
    let mut out = Vec::new();
    for block in blocks {
        compressor.block(block, &mut out).unwrap();
    }
    out
}

fn trace(rows: u64) -> Vec<u8> {
    let mut text = b"tx_time,decode_delay\n".to_vec();
    for row in 0..rows {
        let d = row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        writeln!(text, "{}.{:09},0.{d:09}", row / 100, row % 100 * 10_000_000).unwrap();
    }
    text
}

fn contents() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        (0u64..300).prop_map(trace),
        (0usize..300_000).prop_map(|length| vec![b'0'; length]),
    ]
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn blocks_are_one_stream_however_it_is_split(
        parts in prop::collection::vec(contents(), 1..5),
        lengths in prop::collection::vec(1usize..5000, 1..4),
        at in 0usize..2,
    ) {
        let kind = KINDS[at];
        let stream = blocks(kind, &parts);
        prop_assert_eq!(recognise(&stream), FileKind::Compressed(kind));
        let pieces = Pieces { bytes: &stream, lengths: &lengths, next: 0 };
        let mut out = Vec::new();
        decompressor(kind, pieces).read_to_end(&mut out).unwrap();
        prop_assert_eq!(out, parts.concat());
    }

    #[test]
    fn the_bytes_of_a_block_do_not_depend_on_earlier_blocks(
        before in contents(), block in contents(), at in 0usize..2,
    ) {
        let kind = KINDS[at];
        let (mut fresh, mut used) = (Vec::new(), Vec::new());
        compressor(kind).block(&block, &mut fresh).unwrap();
        let mut compressor = compressor(kind);
        compressor.block(&before, &mut used).unwrap();
        used.clear();
        compressor.block(&block, &mut used).unwrap();
        prop_assert_eq!(used, fresh);
    }

    #[test]
    fn a_flipped_bit_never_changes_the_content(
        parts in prop::collection::vec((0u64..60).prop_map(trace), 1..3), at in 0usize..2,
        place in any::<prop::sample::Index>(), bit in 0u8..8,
    ) {
        let kind = KINDS[at];
        let mut stream = blocks(kind, &parts);
        let place = place.index(stream.len());
        stream[place] ^= 1 << bit;
        let (out, read) = read(kind, &stream);
        // No checksum covers flags and names of a gzip header.
        if read.is_ok() {
            let content = parts.concat();
            prop_assert!(content.starts_with(&out));
        }
    }
}

#[test]
fn a_stream_cut_anywhere_is_reported_after_the_intact_bytes() {
    for kind in KINDS {
        let parts = [trace(40), Vec::new(), trace(3)];
        let stream = blocks(kind, &parts);
        let content = parts.concat();
        let mut ends = vec![0];
        for count in 1..=parts.len() {
            ends.push(blocks(kind, &parts[..count]).len());
        }
        for length in 0..=stream.len() {
            let (out, read) = read(kind, &stream[..length]);
            assert!(content.starts_with(&out), "{kind:?} {length}");
            match read {
                Ok(()) => {
                    let place = ends.iter().position(|&end| end == length);
                    let whole = place.unwrap_or_else(|| panic!("{kind:?} {length}"));
                    assert_eq!(out, parts[..whole].concat(), "{kind:?} {length}");
                }
                Err(error) => {
                    let name = kind.name();
                    assert!(
                        matches!(error.kind(), ErrorKind::CutStream { format, rows: 0 } if *format == name),
                        "{kind:?} {length}: {error}"
                    );
                    assert!(length == 0 || !ends.contains(&length), "{kind:?} {length}");
                }
            }
        }
    }
}

#[test]
fn a_cut_stream_returns_all_complete_blocks() {
    for kind in KINDS {
        let content = trace(20_000);
        let stream = blocks(kind, std::slice::from_ref(&content));
        let (out, read) = read(kind, &stream[..stream.len() - 1]);
        assert!(read.is_err());
        // Only the last block of zstd may wait for its checksum.
        assert!(
            out.len() + (1 << 17) >= content.len(),
            "{kind:?} {}",
            out.len()
        );
    }
}

#[test]
fn streams_of_other_programs_are_read() {
    let content = trace(1000);
    let header = flate2::GzBuilder::new()
        .filename("trace.csv")
        .comment("a comment")
        .extra(b"xy\x02\0ab".to_vec())
        .mtime(1_700_000_000);
    let mut gzip = header.write(Vec::new(), flate2::Compression::best());
    gzip.write_all(&content).unwrap();
    let (out, read_gzip) = read(Compression::Gzip, &gzip.finish().unwrap());
    assert!(read_gzip.is_ok());
    assert_eq!(out, content);

    let mut zstd = b"\x50\x2a\x4d\x18\x03\0\0\0any".to_vec();
    zstd.extend(zstd::encode_all(&content[..], 19).unwrap());
    zstd.extend(b"\x5f\x2a\x4d\x18\0\0\0\0");
    assert_eq!(recognise(&zstd), FileKind::Compressed(Compression::Zstd));
    let (out, read_zstd) = read(Compression::Zstd, &zstd);
    assert!(read_zstd.is_ok());
    assert_eq!(out, content);
}

#[test]
fn other_libraries_read_our_streams() {
    let parts = [trace(500), trace(2)];
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(&blocks(Compression::Gzip, &parts)[..])
        .read_to_end(&mut out)
        .unwrap();
    assert_eq!(out, parts.concat());
    let out = zstd::decode_all(&blocks(Compression::Zstd, &parts)[..]).unwrap();
    assert_eq!(out, parts.concat());
}

#[test]
fn only_zeros_are_ignored_after_the_last_gzip_member() {
    let content = trace(5);
    let whole = blocks(Compression::Gzip, std::slice::from_ref(&content));
    let with = |tail: &[u8]| read(Compression::Gzip, &[&whole[..], tail].concat());
    for zeros in [1, 512, 300_000] {
        let (out, read) = with(&vec![0; zeros]);
        assert!(read.is_ok(), "{zeros}");
        assert_eq!(out, content);
    }
    for tail in [&b"\n"[..], b"0,0\n", b"\0\0\0x", b"\0\x1f\x8b\x08"] {
        let (out, read) = with(tail);
        assert_eq!(out, content);
        let error = read.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Corrupt { .. }),
            "{tail:?}: {error}"
        );
    }
    // The start of another member is a cut.
    let (out, read) = with(b"\x1f");
    assert_eq!(out, content);
    assert!(matches!(
        read.unwrap_err().kind(),
        ErrorKind::CutStream { .. }
    ));
}

#[test]
fn a_wrong_checksum_is_damage_on_every_further_read() {
    for kind in KINDS {
        let content = trace(50);
        let mut stream = blocks(kind, std::slice::from_ref(&content));
        // The last four bytes of a zstd frame, and those before the size of a gzip member.
        let place = stream.len() - if kind == Compression::Gzip { 5 } else { 1 };
        stream[place] ^= 1;
        let mut reader = decompressor(kind, &stream[..]);
        let mut out = Vec::new();
        let first = Error::from(reader.read_to_end(&mut out).unwrap_err());
        assert!(matches!(first.kind(), ErrorKind::Corrupt { .. }), "{first}");
        assert!(content.starts_with(&out));
        let again = Error::from(reader.read(&mut [0; 8]).unwrap_err());
        assert!(matches!(again.kind(), ErrorKind::Corrupt { .. }));
    }
}

#[test]
fn io_errors_are_passed_on() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::PermissionDenied))
        }
    }
    for kind in KINDS {
        let whole = blocks(kind, &[trace(5)]);
        let input = (&whole[..20]).chain(Broken);
        let error = decompressor(kind, input).read_to_end(&mut Vec::new());
        let error = Error::from(error.unwrap_err());
        assert!(matches!(error.kind(), ErrorKind::Io(_)), "{error}");
    }
}
