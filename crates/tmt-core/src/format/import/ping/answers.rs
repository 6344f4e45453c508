//! Tables of answers: `time,rtt`, a line per answer, with or without a header, and perhaps with more columns.
//!
//! The time is that of the answer, as in the logs from which such tables are made. A table has neither sequence numbers nor
//! lost packets.

use super::super::finding::counted;
use super::super::probe::{Fate, Record};
use super::super::{Finding, TRACE};
use super::{File, stamp};
use crate::format::import::catalogue::{LOSSES_LEFT_OUT, TIMES_OF_ANSWERS, UNSORTED_TIMES};
use crate::format::text::{nanos, shown};
use crate::format::unit::Unit;
use crate::types::{ErrorKind, Result};

/// Reads the lines of a table.
#[derive(Debug)]
pub(super) struct Answers {
    /// Column and unit of times that are numbers.
    time: (usize, Unit),
    /// Column and unit of the round trips.
    round_trip: (usize, Unit),
    /// Whether the unit of the round trips is in the header.
    has_unit: bool,
    /// Whether the line read last is still to be taken.
    waits: bool,
    /// Time of the answer before.
    before: i64,
    rows: u64,
    /// Whether times that fall are counted instead of refused.
    is_lenient: bool,
    unsorted: u64,
    /// Line of the first time that falls.
    first_unsorted: u64,
}

/// By so much a time may be before the one of the line before, ns: the clock was slewed.
const SLEW: i64 = 1_000_000;

/// Fields of a line.
fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b',').map(|field| {
        let field = field.trim_ascii();
        let inner = field.strip_prefix(b"\"");
        inner
            .and_then(|inner| inner.strip_suffix(b"\""))
            .unwrap_or(field)
    })
}

/// Whether a file that begins with this line is a table of answers.
pub(super) fn begins(line: &[u8]) -> bool {
    let first_two: Vec<&[u8]> = fields(line).take(2).collect();
    let [time, round_trip] = first_two[..] else {
        return false;
    };
    let is_row = stamp::parse(time, Unit::Seconds).is_some()
        && nanos(round_trip, Unit::Milliseconds, "rtt").is_ok();
    is_row || Answers::of_header(line).is_some()
}

/// Whether it is known by this line: without a header the time is one of a calendar, from 1973 on.
pub(super) fn is_telling(line: &[u8]) -> bool {
    let time = fields(line).next();
    let time = time.and_then(|time| stamp::parse(time, Unit::Seconds));
    let is_dated = time.is_some_and(|nanos| nanos >= 100_000_000 * 1_000_000_000);
    begins(line) && (is_dated || Answers::of_header(line).is_some())
}

/// Name and unit of a column: `rtt_ms`, `timestamp(s)`.
fn named(field: &[u8]) -> Option<(String, Option<Unit>)> {
    let name = std::str::from_utf8(field).ok()?.to_ascii_lowercase();
    let split = name
        .strip_suffix(')')
        .and_then(|name| name.split_once('('))
        .or_else(|| name.rsplit_once('_'));
    Some(match split.map(|(name, unit)| (name, unit.parse())) {
        Some((name, Ok(unit))) => (name.to_owned(), Some(unit)),
        _ => (name, None),
    })
}

impl Answers {
    /// A table that begins with the line read last, for which [`begins`] holds.
    pub(super) fn new(lines: &File) -> Self {
        Self::of_header(lines.text()).unwrap_or(Self {
            time: (0, Unit::Seconds),
            round_trip: (1, Unit::Milliseconds),
            has_unit: false,
            waits: true,
            before: i64::MIN,
            rows: 0,
            is_lenient: false,
            unsorted: 0,
            first_unsorted: 0,
        })
    }

    /// Counts times that fall instead of refusing them.
    pub(super) fn be_lenient(&mut self) {
        self.is_lenient = true;
    }

    /// The columns by a header; `None` if it is none of such a table. Columns of other delays make it another format.
    fn of_header(line: &[u8]) -> Option<Self> {
        let columns: Option<Vec<(String, Option<Unit>)>> = fields(line).map(named).collect();
        let columns = columns?;
        let column = |names: &[&str]| {
            let found = columns
                .iter()
                .position(|(name, _)| names.contains(&name.as_str()))?;
            Some((found, columns[found].1))
        };
        if column(&["uplink", "downlink"]).is_some() {
            return None;
        }
        let (time, time_unit) = column(&["time", "timestamp"])?;
        let (round_trip, unit) = column(&["rtt"])?;
        Some(Self {
            time: (time, time_unit.unwrap_or(Unit::Seconds)),
            round_trip: (round_trip, unit.unwrap_or(Unit::Milliseconds)),
            has_unit: unit.is_some(),
            waits: false,
            before: i64::MIN,
            rows: 0,
            is_lenient: false,
            unsorted: 0,
            first_unsorted: 0,
        })
    }

    /// The next answer.
    pub(super) fn next(&mut self, lines: &mut File) -> Result<Option<Record>> {
        if !std::mem::take(&mut self.waits) {
            loop {
                if !lines.advance()? {
                    return Ok(None);
                }
                if !lines.text().is_empty() {
                    break;
                }
            }
        }
        let line = lines.text();
        let field = |column: usize, expected: &str| {
            fields(line).nth(column).ok_or_else(|| {
                let found = format!("'{}'", shown(line));
                lines.error(ErrorKind::format(found, expected))
            })
        };
        let text = field(self.time.0, "a time and a round trip")?;
        let Some(arrival) = stamp::parse(text, self.time.1) else {
            let found = format!("time '{}'", shown(text));
            let expected = "seconds since 1970, or a date and a time";
            return Err(lines.error(ErrorKind::format(found, expected)));
        };
        let text = field(self.round_trip.0, "a time and a round trip")?;
        let delay = nanos(text, self.round_trip.1, "rtt").map_err(|kind| lines.error(kind))?;
        let delay = i64::try_from(delay).unwrap_or(i64::MAX);
        if arrival < self.before.saturating_sub(SLEW) && self.is_lenient {
            self.unsorted += 1;
            if self.unsorted == 1 {
                self.first_unsorted = lines.line();
            }
            // From here on the times are those of another stretch.
            self.before = arrival;
        } else if arrival < self.before.saturating_sub(SLEW) {
            let found = "a time before the one of the answer before";
            let expected = "times of answers in their order; a table has no numbers that would tell a clock step";
            return Err(lines.error(ErrorKind::format(found, expected)));
        }
        self.before = self.before.max(arrival);
        self.rows += 1;
        Ok(Some(Record {
            number: None,
            sent: Some(arrival.saturating_sub(delay)),
            fate: Fate::Received(Some(delay)),
        }))
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        if self.rows == 0 {
            return Vec::new();
        }
        let trace = TRACE.name;
        let unit = if self.has_unit {
            ""
        } else {
            ", and round trips are in ms"
        };
        let times =
            format!("{trace}: times are those of the answers, one round trip after sending{unit}");
        let left_out = format!(
            "{trace}: a table of {} has no lost packets: the trace is without losses (the output of ping itself has sequence numbers)",
            counted(self.rows, "answer")
        );
        let mut findings = vec![
            Finding::of(&TIMES_OF_ANSWERS, self.rows, "answers", times).assumed(),
            Finding::of(&LOSSES_LEFT_OUT, self.rows, "answers", left_out).not_carried(),
        ];
        if self.unsorted > 0 {
            let text = format!(
                "{trace}: {} before the one of the answer before: the clock was set back, or the rows are not sorted; a conversion refuses them",
                counted(self.unsorted, "time")
            );
            let finding = Finding::of(&UNSORTED_TIMES, self.unsorted, "times", text);
            findings.push(finding.at_line(Some(trace), self.first_unsorted));
        }
        findings
    }
}
