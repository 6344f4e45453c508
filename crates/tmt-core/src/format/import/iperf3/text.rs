//! Text of iperf3: a line per interval, perhaps with a time in brackets before it (`--timestamps`).

use std::io::BufRead;

use super::super::finding::counted;
use super::super::{Finding, Lines, TRACE};
use super::{Interval, Intervals};
use crate::format::import::catalogue::INTERVALS_OMITTED;
use crate::format::text::nanos;
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Result};

/// Columns of tables that were made of reports, and that have lost the intervals.
const TABLE: &[u8] = b"time,throughput_mbps,pkt_drop,pkt_total,loss";

/// Whether a line is one of those before the intervals.
pub(super) fn is_heading(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"Lost/Total Datagrams").is_some()
}

/// Stream and interval of a line such as `[  5]   0.50-1.00   sec  17.6 MBytes   297 Mbits/sec  0.127 ms  10035/23241 (43%)`;
/// `None` if it is none with counts.
pub(super) fn interval(line: &[u8]) -> Option<(&str, Interval)> {
    let line = std::str::from_utf8(line).ok()?;
    let (before, counts) = line.split_once(" sec ")?;
    let (before, times) = before.trim_end().rsplit_once([' ', ']'])?;
    let (begin, end) = times.split_once('-')?;
    let time = |text: &str| nanos(text.as_bytes(), Unit::Seconds, "interval").ok();
    let time = |text| time(text).and_then(|nanos| i64::try_from(nanos).ok());
    let stream = before.trim_end().trim_end_matches(']');
    let stream = stream.rsplit_once('[').map(|(_, stream)| stream.trim())?;
    let (_, counts) = counts.split_once(" ms ")?;
    let mut words = counts.split_whitespace();
    let (lost, datagrams) = words.next()?.split_once('/')?;
    let interval = Interval {
        begin: time(begin)?,
        end: time(end)?,
        datagrams: datagrams.parse().ok()?,
        lost: lost.parse().ok()?,
    };
    // A summary has the counts of the sender or the receiver over the whole test.
    let is_summary = words.any(|word| matches!(word, "sender" | "receiver"));
    (!is_summary).then_some((stream, interval))
}

/// Reads the intervals of a report.
pub(super) struct Report {
    lines: Lines<Box<dyn BufRead + Send>>,
    /// The stream of the first interval.
    stream: Option<String>,
    omitted: u64,
}

impl Report {
    pub(super) fn new(lines: Lines<Box<dyn BufRead + Send>>) -> Self {
        Self {
            lines,
            stream: None,
            omitted: 0,
        }
    }
}

impl Intervals for Report {
    fn next_interval(&mut self) -> Result<Option<Interval>> {
        while self.lines.advance()? {
            let line = self.lines.text();
            if self.lines.line() == 1 && line == TABLE {
                let found =
                    "a table of intervals without their times: `time` is when a line was printed";
                let kind = ErrorKind::format(found.replace('`', ""), "the output of iperf3 itself");
                return Err(self.lines.error(kind));
            }
            let Some((stream, interval)) = interval(line) else {
                continue;
            };
            if line.ends_with(b"(omitted)") {
                self.omitted += 1;
                continue;
            }
            match &self.stream {
                Some(first) if first != stream => {
                    let found = format!("stream {stream} beside stream {first}");
                    let expected = "one stream (-P 1), or JSON (-J)";
                    return Err(self.lines.error(ErrorKind::format(found, expected)));
                }
                Some(_) => {}
                None => self.stream = Some(stream.to_owned()),
            }
            return Ok(Some(interval));
        }
        Ok(None)
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.lines.error(kind)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.lines.finding(TRACE.name).into_iter().collect();
        if self.omitted > 0 {
            let text = format!(
                "{}: {} that iperf3 omits (-O), left out",
                TRACE.name,
                counted(self.omitted, "interval")
            );
            findings.push(Finding::of(
                &INTERVALS_OMITTED,
                self.omitted,
                "intervals",
                text,
            ));
        }
        findings
    }
}
