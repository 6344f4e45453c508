//! `crlf` and `mixed-line-ends` of a trace, counted while it is read.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::format::import::{Finding, line_ends};

/// Reads on and counts line ends.
#[derive(Debug)]
pub struct LineEnds<R> {
    input: R,
    seen: Arc<Counts>,
    /// Whether the last byte so far was a CR.
    after_cr: bool,
}

#[derive(Debug, Default)]
struct Counts {
    lines: AtomicU64,
    crlf: AtomicU64,
}

/// Counts of a [`LineEnds`] so far.
#[derive(Debug, Clone)]
pub struct LineEndsSeen(Arc<Counts>);

impl<R: Read> LineEnds<R> {
    /// Counts in `input`, the plain text of a trace.
    pub fn new(input: R) -> (Self, LineEndsSeen) {
        let seen = Arc::new(Counts::default());
        let reader = Self {
            input,
            seen: Arc::clone(&seen),
            after_cr: false,
        };
        (reader, LineEndsSeen(seen))
    }
}

impl<R: Read> Read for LineEnds<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(bytes)?;
        let (mut lines, mut crlf) = (0, 0);
        for end in memchr::memchr_iter(b'\n', &bytes[..length]) {
            lines += 1;
            let is_after_cr = match end.checked_sub(1) {
                Some(before) => bytes[before] == b'\r',
                None => self.after_cr,
            };
            crlf += u64::from(is_after_cr);
        }
        if let Some(last) = bytes[..length].last() {
            self.after_cr = *last == b'\r';
        }
        self.seen.lines.fetch_add(lines, Ordering::Relaxed);
        self.seen.crlf.fetch_add(crlf, Ordering::Relaxed);
        Ok(length)
    }
}

impl LineEndsSeen {
    /// Finding on the line ends of `file`; `None` if all are LF.
    #[must_use]
    pub fn finding(&self, file: &str) -> Option<Finding> {
        let counts = &self.0;
        line_ends(
            file,
            counts.crlf.load(Ordering::Relaxed),
            counts.lines.load(Ordering::Relaxed),
        )
    }
}
