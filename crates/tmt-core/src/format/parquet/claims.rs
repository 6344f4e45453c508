//! Refuses Thrift structures that claim more than they contain, before the `parquet` crate parses them.
//!
//! The crate skips an unknown collection element by element, as many as it claims. Elements behind the end of the file
//! and booleans take no bytes, so a damaged count of one byte can cost minutes. Here each element takes one of a
//! limited number. The layout is Thrift's compact protocol as the crate skips it.

use std::io::{self, Read};

/// Depth up to which the crate skips nested fields.
const DEPTH: u8 = 64;

/// Checks the struct at the start of `input`. Its collections may have `elements` elements in total.
///
/// Returns an error of the kind `UnexpectedEof` if it is cut, `InvalidData` for too many elements or an invalid field.
pub(super) fn check_struct(input: impl Read, elements: u64) -> io::Result<()> {
    Skip { input, elements }.field(STRUCT, DEPTH)
}

const STRUCT: u8 = 12;

struct Skip<R> {
    input: R,
    /// Number of elements that may still follow.
    elements: u64,
}

impl<R: Read> Skip<R> {
    fn field(&mut self, kind: u8, depth: u8) -> io::Result<()> {
        let Some(below) = depth.checked_sub(1) else {
            return Err(invalid("fields nested too deeply"));
        };
        match kind {
            // A boolean is part of its field's header; the crate skips nothing in a list either.
            1 | 2 => Ok(()),
            3 => self.bytes(1),
            4..=6 => self.number().map(drop),
            7 => self.bytes(8),
            8 => self.number().and_then(|length| self.bytes(length)),
            9 | 10 => {
                let header = self.byte()?;
                let count = match header >> 4 {
                    15 => self.number()?,
                    short => short.into(),
                };
                self.elements(count, &[header & 0x0f], below)
            }
            11 => match self.number()? {
                0 => Ok(()),
                count => {
                    let kinds = self.byte()?;
                    self.elements(count, &[kinds >> 4, kinds & 0x0f], below)
                }
            },
            STRUCT => loop {
                let header = self.byte()?;
                let kind = header & 0x0f;
                if kind == 0 {
                    return Ok(());
                }
                if header >> 4 == 0 {
                    self.number()?;
                }
                self.field(kind, below)?;
            },
            13 => self.bytes(16),
            _ => Err(invalid("a field of an unknown type")),
        }
    }

    fn elements(&mut self, count: u64, kinds: &[u8], depth: u8) -> io::Result<()> {
        let left = self.elements.checked_sub(count);
        self.elements = left.ok_or_else(|| invalid("a list with more elements than fit"))?;
        for _ in 0..count {
            for kind in kinds {
                self.field(*kind, depth)?;
            }
        }
        Ok(())
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    /// An unsigned number in groups of seven bits, the lowest first.
    fn number(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(invalid("a number of more than 64 bits"))
    }

    fn bytes(&mut self, count: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.input).take(count), &mut io::sink())?;
        if skipped < count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

fn invalid(found: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_skipped_by_its_length() {
        // Fields 1 to 9, each one after the previous: bool, byte, i32, double, binary of 2, list of 2 i32, map of one
        // byte to a bool, uuid, an empty struct; then the end. The byte 0x7f after it must not be read.
        let mut text = vec![0x11, 0x13, 5, 0x15, 0x80, 1, 0x17];
        text.extend([9; 8]);
        text.extend([
            0x18, 2, 7, 7, 0x19, 0x25, 1, 0x80, 1, 0x1b, 1, 0x31, 4, 0x1d,
        ]);
        text.extend([9; 16]);
        text.extend([0x1c, 0, 0x03, 20, 1, 0, 0x7f]);
        let mut rest = &text[..];
        check_struct(&mut rest, 3).unwrap();
        assert_eq!(rest, [0x7f]);
        assert!(check_struct(&text[..], 2).is_err(), "three elements");
        for length in 0..text.len() - 1 {
            let cut = check_struct(&text[..length], 3).unwrap_err();
            assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof, "{length}");
        }
    }

    #[test]
    fn a_count_costs_no_time() {
        // 2^31 - 1 booleans, which take no bytes, and as many strings behind the end.
        for kind in [0xf1, 0xf8] {
            let text = [0x19, kind, 0xff, 0xff, 0xff, 0xff, 7, 0];
            let error = check_struct(&text[..], 1000).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let lists = [&[0x19][..], &[0x19; 100]].concat();
        assert!(check_struct(&lists[..], 1000).is_err());
    }
}
