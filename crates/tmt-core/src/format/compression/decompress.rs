//! Reads gzip and zstd streams.
//!
//! Concatenated members and frames are one stream, as for gzip(1) and zstd(1). Zero bytes after the last gzip
//! member, as left by tapes and block devices, are ignored. All intact bytes are returned first. They do not depend
//! on how the input is split or on the sizes of the reads. Then [`Read::read`] fails with an [`Error`] inside the
//! [`io::Error`], which `Error::from` extracts: [`ErrorKind::CutStream`] if the stream ends early,
//! [`ErrorKind::Corrupt`] if its bytes are invalid.

use std::io::{self, BufRead, BufReader, Read};

use flate2::{Decompress, DecompressError, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, Operation as _};

use crate::format::form::Compression;
use crate::types::{Error, ErrorKind};

/// Compressed bytes read at a time.
const CHUNK: usize = 1 << 17;

/// Base-2 logarithm of the window of deflate in bytes (RFC 1951).
const GZIP_WINDOW: u8 = 15;

/// A gzip or zstd stream, decompressed as it is read.
pub struct Decompressor<R> {
    input: BufReader<R>,
    engine: Engine,
    /// Name of the compression.
    format: &'static str,
    state: StreamState,
    /// The damage that follows the bytes returned so far.
    damage: Option<String>,
}

enum Engine {
    Gzip(Box<Decompress>),
    Zstd(BlockByBlock),
}

/// A zstd decoder that is fed at most one block at a time.
///
/// If it were fed more, it would go on to the next block. If that is damaged, it would not return the output of
/// the block before.
struct BlockByBlock {
    decoder: Decoder<'static>,
    /// Number of bytes to feed next.
    wanted: usize,
    /// Whether the decoder may still hold output of a block.
    has_output: bool,
}

/// The decoder's message for a frame whose window exceeds its limit.
const WINDOW_TOO_LARGE: &str = "Frame requires too much memory for decoding";

/// Bytes at the start of a zstd frame that determine the length of its header.
const ZSTD_START: usize = 5;

/// Bytes of a block header, which contains the length of the block.
const BLOCK_HEADER: usize = 3;

/// Position of the next byte in the structure of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamState {
    /// In a member or frame, or before the first: more data must follow.
    Inside,
    /// After a member or frame: another one may follow.
    Between,
    /// In the zero bytes after the last member.
    Padding,
    /// After invalid bytes: nothing more is read.
    Failed,
}

/// Result of one step of an engine.
#[derive(Default)]
struct Step {
    read: usize,
    written: usize,
    ended: bool,
    /// Damage found after these bytes.
    damage: Option<String>,
}

impl<R: Read> Decompressor<R> {
    /// Reads a compressed stream from `input`. zstd windows up to 128 MiB are accepted.
    ///
    /// # Errors
    /// Memory is exhausted.
    pub fn new(compression: Compression, input: R) -> io::Result<Self> {
        let engine = match compression {
            Compression::Gzip => Engine::Gzip(new_gzip()),
            Compression::Zstd => Engine::Zstd(BlockByBlock::new()?),
        };
        Ok(Self {
            input: BufReader::with_capacity(CHUNK, input),
            engine,
            format: compression.name(),
            state: StreamState::Inside,
            damage: None,
        })
    }

    fn corrupt(&mut self, found: impl Into<String>) -> io::Error {
        self.state = StreamState::Failed;
        let (format, found) = (self.format, found.into());
        let error = Error::new(if found == WINDOW_TOO_LARGE {
            // Intact, but the decoder would allocate what its header states.
            ErrorKind::format(
                "a zstd frame with a window above 128 MiB",
                "a window of up to 128 MiB, as of zstd --long=27",
            )
        } else {
            ErrorKind::Corrupt { format, found }
        });
        io::Error::new(io::ErrorKind::InvalidData, error)
    }

    /// Skips the bytes between members; returns whether another member begins.
    fn begins_another(&mut self) -> io::Result<bool> {
        loop {
            let waiting = buffered(&mut self.input)?;
            let Some(&first) = waiting.first() else {
                return Ok(false);
            };
            let Engine::Gzip(engine) = &mut self.engine else {
                return Ok(true);
            };
            if first == 0 {
                let zeros = waiting.iter().take_while(|&&byte| byte == 0).count();
                self.input.consume(zeros);
                self.state = StreamState::Padding;
            } else if self.state == StreamState::Padding || first != 0x1f {
                return Err(self.corrupt("bytes after its end"));
            } else {
                // `reset` supports raw and zlib streams only.
                *engine = new_gzip();
                return Ok(true);
            }
        }
    }
}

/// Bytes that were read but not consumed; empty at the end of the input.
fn buffered<R: Read>(input: &mut BufReader<R>) -> io::Result<&[u8]> {
    while input.buffer().is_empty() {
        match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    Ok(input.buffer())
}

impl<R: Read> Read for Decompressor<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(found) = self.damage.take() {
                return Err(self.corrupt(found));
            }
            match self.state {
                StreamState::Failed => return Err(self.corrupt("data after the damage")),
                StreamState::Between | StreamState::Padding => {
                    if !self.begins_another()? {
                        return Ok(0);
                    }
                }
                StreamState::Inside => {}
            }
            let waiting = buffered(&mut self.input)?;
            let step = self.engine.step(waiting, out);
            let left = waiting.len() - step.read;
            self.input.consume(step.read);
            self.damage = step.damage;
            self.state = if step.ended {
                StreamState::Between
            } else {
                StreamState::Inside
            };
            if step.written > 0 {
                return Ok(step.written);
            }
            if !step.ended && step.read == 0 && self.damage.is_none() {
                if left > 0 {
                    return Err(self.corrupt("bytes that the decoder does not consume"));
                }
                let (format, rows) = (self.format, 0);
                let error = Error::new(ErrorKind::CutStream { format, rows });
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, error));
            }
        }
    }
}

impl Engine {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        match self {
            Self::Gzip(engine) => {
                let (read, written) = (engine.total_in(), engine.total_out());
                let status = engine.decompress(input, output, FlushDecompress::None);
                // One call consumes and produces at most the lengths of the slices.
                Step {
                    read: usize::try_from(engine.total_in() - read).unwrap_or(input.len()),
                    written: usize::try_from(engine.total_out() - written).unwrap_or(output.len()),
                    ended: matches!(status, Ok(Status::StreamEnd)),
                    damage: status.err().map(|error| zlib_message(&error).to_owned()),
                }
            }
            Self::Zstd(engine) => engine.step(input, output),
        }
    }
}

impl BlockByBlock {
    fn new() -> io::Result<Self> {
        Ok(Self {
            decoder: Decoder::new()?,
            wanted: ZSTD_START,
            has_output: false,
        })
    }

    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        if self.has_output {
            let step = self.run(&[], output);
            if step.written > 0 {
                return step;
            }
        }
        self.run(&input[..input.len().min(self.wanted)], output)
    }

    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        match self.decoder.run_on_buffers(input, output) {
            Ok(status) => {
                let ended = status.remaining == 0;
                self.wanted = match status.remaining {
                    0 => ZSTD_START,
                    few @ 1..=BLOCK_HEADER => few,
                    // It asks for a block together with the header of the next one.
                    more => more - BLOCK_HEADER,
                };
                self.has_output = !ended && status.bytes_written == output.len();
                Step {
                    read: status.bytes_read,
                    written: status.bytes_written,
                    ended,
                    damage: None,
                }
            }
            Err(error) => Step {
                damage: Some(error.to_string()),
                ..Step::default()
            },
        }
    }
}

/// Description of a zlib error that does not depend on how the input was split.
fn zlib_message(error: &DecompressError) -> &'static str {
    match error.message() {
        Some("incorrect data check") => "wrong checksum",
        Some("incorrect length check") => "wrong length",
        _ => "invalid deflate data",
    }
}

fn new_gzip() -> Box<Decompress> {
    Box::new(Decompress::new_gzip(GZIP_WINDOW))
}
