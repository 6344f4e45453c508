//! Runs written down: one row a packet copy, or one row an event of a sender.

mod packets;
mod series;

pub use packets::PacketLog;
pub use series::Series;

use std::io::{self, Write};

use tmt_core::text::encode;
use tmt_core::units::Time;

/// Where rows go; the first error of the output is kept and ends the writing.
#[derive(Debug)]
struct Table<W> {
    output: W,
    buffer: Vec<u8>,
    rows: u64,
    error: Option<io::Error>,
}

impl<W: Write> Table<W> {
    fn new(output: W) -> Self {
        Self {
            output,
            buffer: Vec::new(),
            rows: 0,
            error: None,
        }
    }

    /// Writes one row of fields and counts it.
    fn row(&mut self, fields: &[Field]) {
        for (index, field) in fields.iter().enumerate() {
            if index > 0 {
                self.buffer.push(b',');
            }
            field.write(&mut self.buffer);
        }
        self.buffer.push(b'\n');
        self.rows += 1;
        if self.buffer.len() >= 1 << 16 {
            self.drain();
        }
    }

    fn drain(&mut self) {
        if self.error.is_none() {
            self.error = self.output.write_all(&self.buffer).err();
        }
        self.buffer.clear();
    }

    fn finish(mut self) -> io::Result<W> {
        self.drain();
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.output),
        }
    }
}

/// One field of a row.
#[derive(Debug, Clone, Copy)]
enum Field {
    Number(u64),
    /// Seconds with nine decimals; empty for none.
    Seconds(Option<Time>),
    /// A whole number; empty for none.
    Maybe(Option<u64>),
    /// Six decimals; empty for none.
    Real(Option<f64>),
    Word(&'static str),
}

impl Field {
    fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Number(number) | Self::Maybe(Some(number)) => {
                out.extend_from_slice(number.to_string().as_bytes());
            }
            Self::Seconds(Some(time)) => encode::seconds(time.as_nanos(), out),
            Self::Real(Some(number)) => out.extend_from_slice(format!("{number:.6}").as_bytes()),
            Self::Word(word) => out.extend_from_slice(word.as_bytes()),
            Self::Seconds(None) | Self::Maybe(None) | Self::Real(None) => {}
        }
    }
}
