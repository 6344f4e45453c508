//! A bound on the memory that one row of CSV can take: its reader keeps the whole row, however long it is.

use std::io::{self, Read};

use super::text::LONGEST_LINE;

/// An input from which a reader may take [`LONGEST_LINE`] bytes a row, and the bytes that it reads ahead.
///
/// ```
/// use std::io::Read as _;
/// use tmt_core::format::Bounded;
///
/// let mut endless = Bounded::new(std::io::repeat(b'0'));
/// let refused = endless.read_to_end(&mut Vec::new()).unwrap_err();
/// assert!(refused.to_string().contains("a row of more than 1048576 bytes"));
/// ```
#[derive(Debug)]
pub struct Bounded<R> {
    input: R,
    left: usize,
}

impl<R> Bounded<R> {
    /// Bounds the rows of `input`.
    pub fn new(input: R) -> Self {
        Self {
            input,
            left: LONGEST_LINE,
        }
    }

    /// A row begins: the reader calls it before each.
    pub fn next_row(&mut self) {
        self.left = LONGEST_LINE;
    }

    /// The input.
    pub fn get_ref(&self) -> &R {
        &self.input
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let text = format!("found a row of more than {LONGEST_LINE} bytes, expected a table");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let length = self.input.read(buffer)?;
        self.left = self.left.saturating_sub(length);
        Ok(length)
    }
}
