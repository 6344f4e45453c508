//! Lines that ping prints.
//!
//! | line | meaning |
//! |---|---|
//! | `PING host (address) …` | a run begins. iputils counts from 1, others (`: 56 data bytes`, `PING6(…)`) from 0 |
//! | `64 bytes from …: icmp_seq=N ttl=… time=X ms` | an answer; busybox has `seq=N`; `(DUP!)` may follow |
//! | `no answer yet for icmp_seq=N`, `Request timeout for icmp_seq N` | packet N was sent |
//! | `From …: icmp_seq=N Destination Host Unreachable`, and other errors | packet N was sent, and is lost unless it is answered |
//! | `N packets transmitted, M received, …` | how many were sent, and how many answered, each once |
//!
//! Before a line there may be `[time] `: with `-D`, and in logs that date every line. It is the time of the line, so a packet
//! was sent one round trip before the time of its answer.

use memchr::memmem::find;

use super::super::finding::counted;
use super::super::probe::{Fate, Record, Totals};
use super::super::{Finding, TRACE};
use super::{File, stamp};
use crate::format::import::catalogue::{ERRORS_RETURNED, OTHER_LINES};
use crate::format::text::{nanos, shown};
use crate::format::unit::Unit;
use crate::types::{ErrorKind, Result};

/// Sequence numbers of ICMP have 16 bits.
pub(super) const NUMBERS: u64 = 1 << 16;

/// Reads the lines of a log.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Whether the line read last is still to be taken.
    waits: bool,
    has_begun: bool,
    totals: Totals,
    errors: u64,
    others: u64,
    /// Lines of the first of each.
    first_error: u64,
    first_other: u64,
}

/// Content of a line.
#[derive(Debug, PartialEq)]
enum Line<'a> {
    /// A run begins with this number.
    Begin(u64),
    /// An answer to a packet, with the text of its round trip in ms, if it has one.
    Answer(u64, Option<&'a [u8]>),
    /// A packet was sent.
    Sent(u64),
    /// An error was returned for a packet.
    Failed(u64),
    /// Packets sent and answered.
    Summary(u64, u64),
    /// Nothing that counts.
    Empty,
    /// Something that ping does not print.
    Other,
}

impl Log {
    /// A log whose first line was read.
    pub(super) fn begun() -> Self {
        Self {
            waits: true,
            ..Self::default()
        }
    }

    /// The next packet.
    pub(super) fn next(&mut self, lines: &mut File) -> Result<Option<Record>> {
        loop {
            if !std::mem::take(&mut self.waits) && !lines.advance()? {
                return Ok(None);
            }
            if let Some(record) = self.take(lines)? {
                return Ok(Some(record));
            }
        }
    }

    /// The packet of the line read last, if it is about one.
    fn take(&mut self, lines: &File) -> Result<Option<Record>> {
        let (time, text) = stamped(lines.text());
        let lost = |number| {
            Some(Record {
                number: Some(number),
                sent: None,
                fate: Fate::Lost,
            })
        };
        Ok(match line(text) {
            Line::Answer(number, round_trip) => {
                let Some(round_trip) = round_trip else {
                    let found = format!("'{}'", shown(text));
                    let expected = "an answer with its round trip, `time=… ms` (ping -s 16 or more measures it)";
                    return Err(lines.error(ErrorKind::format(found, expected)));
                };
                let delay = nanos(round_trip, Unit::Milliseconds, "time");
                let delay = delay.map_err(|kind| lines.error(kind))?;
                let delay = i64::try_from(delay).unwrap_or(i64::MAX);
                let arrival = time.map(|time| {
                    stamp::parse(time, Unit::Seconds).ok_or_else(|| {
                        let found = format!("'[{}]'", shown(time));
                        let expected = "seconds since 1970, or a date and a time";
                        lines.error(ErrorKind::format(found, expected))
                    })
                });
                Some(Record {
                    number: Some(number),
                    sent: arrival
                        .transpose()?
                        .map(|arrival| arrival.saturating_sub(delay)),
                    fate: Fate::Received(Some(delay)),
                })
            }
            Line::Sent(number) => lost(number),
            Line::Failed(number) => {
                self.errors += 1;
                if self.errors == 1 {
                    self.first_error = lines.line();
                }
                lost(number)
            }
            Line::Begin(_) if self.has_begun => {
                let found = "a second run";
                return Err(lines.error(ErrorKind::format(found, "one run of ping per file")));
            }
            Line::Begin(first) => {
                self.has_begun = true;
                self.totals.first = Some(first);
                None
            }
            Line::Summary(sent, received) => {
                (self.totals.sent, self.totals.received) = (Some(sent), Some(received));
                None
            }
            Line::Empty => None,
            Line::Other => {
                self.others += 1;
                if self.others == 1 {
                    self.first_other = lines.line();
                }
                None
            }
        })
    }

    /// Totals of header and summary.
    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let trace = TRACE.name;
        let mut findings = Vec::new();
        if self.errors > 0 {
            let errors = counted(self.errors, "packet");
            let text =
                format!("{trace}: errors returned for {errors}, lost unless there is an answer");
            let finding = Finding::of(&ERRORS_RETURNED, self.errors, "packets", text);
            findings.push(finding.at_line(Some(trace), self.first_error));
        }
        if self.others > 0 {
            let text = format!(
                "{trace}: {} that ping does not print, ignored",
                counted(self.others, "line")
            );
            let finding = Finding::of(&OTHER_LINES, self.others, "lines", text);
            findings.push(finding.at_line(Some(trace), self.first_other));
        }
        findings
    }
}

/// The text between brackets at the start of a line, and the rest.
fn stamped(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let Some(inner) = text.strip_prefix(b"[") else {
        return (None, text);
    };
    match inner.iter().position(|byte| *byte == b']') {
        Some(end) => (Some(&inner[..end]), inner[end + 1..].trim_ascii_start()),
        None => (None, text),
    }
}

/// Whether a line of a file shows that it is a log of ping.
pub(super) fn is_telling(text: &[u8]) -> bool {
    let (_, text) = stamped(text);
    !matches!(line(text), Line::Empty | Line::Other)
}

/// Content of a line without its time.
fn line(text: &[u8]) -> Line<'_> {
    if find(text, b" bytes from ").is_some() {
        return match number_after(text, b"seq=").or_else(|| number_after(text, b"icmp_req=")) {
            Some(number) => Line::Answer(number, word_after(text, b"time=")),
            // macOS names the packet of an error only in a line of its own.
            None => Line::Other,
        };
    }
    if text.starts_with(b"PING ") || text.starts_with(b"PING6(") {
        let from_0 = text.starts_with(b"PING6(") || find(text, b"): ").is_some();
        return Line::Begin(u64::from(!from_0));
    }
    for sent in [
        &b"no answer yet for icmp_seq="[..],
        b"Request timeout for icmp_seq ",
    ] {
        if let Some(number) = number_after(text, sent) {
            return Line::Sent(number);
        }
    }
    if text.starts_with(b"From ")
        && let Some(number) = number_after(text, b"seq=")
    {
        return Line::Failed(number);
    }
    if let Some(place) = find(text, b" packets transmitted, ") {
        let sent = std::str::from_utf8(&text[..place]).ok();
        let sent = sent.and_then(|sent| sent.trim().parse().ok());
        let received = number_after(text, b" packets transmitted, ");
        if let Some((sent, received)) = sent.zip(received) {
            return Line::Summary(sent, received);
        }
    }
    let is_known = text.is_empty()
        || [&b"--- "[..], b"rtt ", b"round-trip "]
            .iter()
            .any(|begin| text.starts_with(begin));
    if is_known { Line::Empty } else { Line::Other }
}

/// The whole number behind `words`.
fn number_after(text: &[u8], words: &[u8]) -> Option<u64> {
    let rest = &text[find(text, words)? + words.len()..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

/// The word after `words`, up to a blank.
fn word_after<'a>(text: &'a [u8], words: &[u8]) -> Option<&'a [u8]> {
    let rest = &text[find(text, words)? + words.len()..];
    rest.split(u8::is_ascii_whitespace).next()
}
