//! The decoder over anything that can be read.

use std::io::Read;

use super::decoder::{Decoder, Options, Tail};
use super::rows::Rows;
use crate::error::Result;
use crate::metadata::Metadata;

/// Bytes asked for at a time.
const CHUNK: usize = 1 << 18;

/// A text trace that is read piece by piece, in memory that does not grow with it.
#[derive(Debug)]
pub struct TraceReader<R> {
    input: R,
    decoder: Decoder,
    buffer: Vec<u8>,
    /// Rows that came while the head was looked for.
    early: Option<Rows>,
    /// What was wrong behind those rows; told when they have been handed over.
    early_error: Option<crate::Error>,
    tail: Option<Tail>,
}

impl<R: Read> TraceReader<R> {
    /// Opens a trace and reads its head.
    ///
    /// # Errors
    /// Whatever is wrong in front of the first row, and what the system says while reading.
    pub fn new(input: R, options: Options) -> Result<Self> {
        let mut reader = Self {
            input,
            decoder: Decoder::new(options),
            buffer: vec![0; CHUNK],
            early: None,
            early_error: None,
            tail: None,
        };
        let mut rows = Rows::default();
        while !reader.decoder.head_is_read() && reader.tail.is_none() {
            if let Err(error) = reader.read_once(&mut rows) {
                if rows.slots.is_empty() {
                    return Err(error);
                }
                reader.early_error = Some(error);
                break;
            }
        }
        reader.early = Some(rows);
        Ok(reader)
    }

    /// The head; empty where there is none.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        self.decoder.metadata()
    }

    /// Puts the next rows into `rows`; false when there are none left.
    ///
    /// # Errors
    /// The first row that cannot be read. The rows in front of it are in `rows` and count.
    pub fn next_rows(&mut self, rows: &mut Rows) -> Result<bool> {
        if let Some(early) = self.early.take() {
            *rows = early;
            if let Some(error) = self.early_error.take() {
                return Err(error);
            }
            if !rows.slots.is_empty() {
                return Ok(true);
            }
        }
        rows.clear();
        while rows.slots.is_empty() && self.tail.is_none() {
            self.read_once(rows)?;
        }
        Ok(!rows.slots.is_empty())
    }

    /// What was behind the last row; `None` until [`TraceReader::next_rows`] has said that none is left.
    #[must_use]
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    fn read_once(&mut self, rows: &mut Rows) -> Result<()> {
        let length = loop {
            match self.input.read(&mut self.buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if length == 0 {
            self.tail = Some(self.decoder.finish(rows)?);
            return Ok(());
        }
        self.decoder.decode(&self.buffer[..length], rows)
    }
}
