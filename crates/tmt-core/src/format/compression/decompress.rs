//! gzip and zstd over anything that can be read.
//!
//! Members and frames that follow each other are one stream, as gzip(1) and zstd(1) have it; behind
//! the last gzip member there may be zero bytes, which tapes and block devices leave. What is whole
//! is handed out first, the same bytes in whatever pieces they go in and out; then [`Read::read`] fails with an [`Error`] inside the [`io::Error`], which
//! `Error::from` takes out again: [`ErrorKind::CutStream`] where the stream ends in the middle,
//! [`ErrorKind::Corrupt`] where its bytes cannot be right.

use std::io::{self, BufRead, BufReader, Read};

use flate2::{Decompress, DecompressError, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, Operation as _};

use crate::format::form::Compression;
use crate::types::{Error, ErrorKind};

/// Compressed bytes asked for at a time.
const CHUNK: usize = 1 << 17;

/// Window of a gzip member, 2^15 bytes, by RFC 1951.
const GZIP_WINDOW: u8 = 15;

/// A gzip or zstd stream, decompressed as it is read.
pub struct Decompressor<R> {
    input: BufReader<R>,
    engine: Engine,
    /// The compression's name.
    format: &'static str,
    state: StreamState,
    /// What is wrong behind all that was handed out.
    damage: Option<String>,
}

enum Engine {
    Gzip(Box<Decompress>),
    Zstd(BlockByBlock),
}

/// A zstd decoder that is handed no more than it takes for the next block.
///
/// Handed more, it would go on to what is behind and, where that is damaged, keep for itself what came of
/// the block.
struct BlockByBlock {
    decoder: Decoder<'static>,
    /// Bytes it may be handed next.
    wanted: usize,
    /// Whether it may still hold some of what came of a block.
    has_output: bool,
}

/// Bytes in front of a zstd frame that tell how long its header is.
const ZSTD_START: usize = 5;

/// Bytes in front of a block that tell how long it is.
const BLOCK_HEADER: usize = 3;

/// Where in the stream the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamState {
    /// In a member or frame, or in front of the first: something has to come.
    Inside,
    /// Behind one: another may come.
    Between,
    /// In the zero bytes behind the last member.
    Padding,
    /// Behind bytes that cannot be right: nothing further counts.
    Failed,
}

/// What one step of an engine did.
#[derive(Default)]
struct Step {
    read: usize,
    written: usize,
    ended: bool,
    /// What is wrong behind that.
    damage: Option<String>,
}

impl<R: Read> Decompressor<R> {
    /// Reads `input`, which holds such a stream. zstd windows up to 128 MiB are taken.
    ///
    /// # Errors
    /// No memory for the decompressor.
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
        let error = Error::new(ErrorKind::Corrupt { format, found });
        io::Error::new(io::ErrorKind::InvalidData, error)
    }

    /// Passes over the bytes between members; true where another begins.
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
                return Err(self.corrupt("bytes behind its end"));
            } else {
                // `reset` knows raw and zlib streams only.
                *engine = new_gzip();
                return Ok(true);
            }
        }
    }
}

/// The bytes that were read and not used yet; none at the end of the input.
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
                StreamState::Failed => return Err(self.corrupt("nothing counts behind the damage")),
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
                    return Err(self.corrupt("bytes that lead nowhere"));
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
                // Differences of what one call did: they fit where the slices fit.
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
                    // It asks for a block together with the header of the one behind.
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

/// What zlib says of a member, where that does not depend on the pieces in which it came.
fn zlib_message(error: &DecompressError) -> &'static str {
    match error.message() {
        Some("incorrect data check") => "another checksum than it tells",
        Some("incorrect length check") => "another length than it tells",
        _ => "bytes that cannot be inflated",
    }
}

fn new_gzip() -> Box<Decompress> {
    Box::new(Decompress::new_gzip(GZIP_WINDOW))
}
