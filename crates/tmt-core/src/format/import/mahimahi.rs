//! mahimahi's bandwidth traces: one delivery opportunity a line, in whole milliseconds.
//!
//! Each opportunity carries 1504 bytes (`PACKET_SIZE` in mahimahi's `link_queue.hh`; its manual page
//! says 1500). As mahimahi itself does, times that go back, empty lines and a last time of zero are
//! refused. The trace holds no delays: every slot is received.

use std::io::BufRead;

use super::{Finding, Lines};
use crate::types::{Bytes, ErrorKind, Result, Slot, Span, Time};

/// Name of the format, and what it is.
pub const FORMAT: (&str, &str) = (
    "mahimahi",
    "one delivery opportunity of 1504 B a line, in whole ms",
);

/// Bytes of a delivery opportunity.
pub const OPPORTUNITY: Bytes = Bytes(1504);

/// The slots of a mahimahi trace.
#[derive(Debug)]
pub struct Mahimahi<R> {
    lines: Lines<R>,
    decode_delay: Span,
    previous: Time,
}

impl<R: BufRead> Mahimahi<R> {
    /// Reads `input`, giving every slot `decode_delay`.
    pub fn new(input: R, decode_delay: Span) -> Self {
        Self {
            lines: Lines::new(input),
            decode_delay,
            previous: Time::ZERO,
        }
    }

    /// The next slot; `None` at the end of the trace.
    ///
    /// # Errors
    /// The first line that mahimahi would not take either.
    pub fn next_slot(&mut self) -> Result<Option<Slot>> {
        if !self.lines.advance()? {
            if self.lines.line() > 0 && self.previous == Time::ZERO {
                return Err(self.lines.error(ErrorKind::Format {
                    found: "a last opportunity at 0 ms".to_owned(),
                    expected: "one later than that: it is the period after which mahimahi repeats the trace".to_owned(),
                }));
            }
            return Ok(None);
        }
        let text = self.lines.text();
        if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
            return Err(self.lines.error(ErrorKind::Format {
                found: format!("'{}'", crate::format::text::shown(text)),
                expected: "a whole number of milliseconds".to_owned(),
            }));
        }
        let tx_time = Time::from_nanos(self.lines.nanos("opportunity", 6)?).unwrap_or(Time::MAX);
        if tx_time < self.previous {
            return Err(self.lines.error(ErrorKind::OutOfOrder {
                previous: self.previous,
                found: tx_time,
            }));
        }
        self.previous = tx_time;
        let slot = Slot::new(tx_time, self.decode_delay);
        slot.map(Some).ok_or_else(|| {
            self.lines.error(ErrorKind::SumTooLarge {
                sum: "time + decode delay",
            })
        })
    }

    /// What was odd about the file.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        crlf_finding("trace", self.lines.crlf())
            .into_iter()
            .collect()
    }
}

/// The finding that lines end in CRLF.
pub(super) fn crlf_finding(file: &'static str, lines: u64) -> Option<Finding> {
    (lines > 0).then(|| Finding {
        file,
        text: format!("{lines} lines end in CRLF; the CR was taken off"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<u64>> {
        let mut trace = Mahimahi::new(text.as_bytes(), Span::from_nanos(1).unwrap());
        let mut times = Vec::new();
        while let Some(slot) = trace.next_slot()? {
            times.push(slot.tx_time().as_nanos());
        }
        Ok(times)
    }

    #[test]
    fn opportunities_are_slots_and_may_share_a_millisecond() {
        assert_eq!(
            read("1\n1\r\n4").unwrap(),
            [1_000_000, 1_000_000, 4_000_000]
        );
    }

    #[test]
    fn what_mahimahi_refuses_is_refused() {
        for text in [
            "1\n\n2\n",
            "2\n1\n",
            "0\n0\n",
            "1.5\n",
            "-1\n",
            "a\n",
            "99999999999999999999\n",
        ] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
