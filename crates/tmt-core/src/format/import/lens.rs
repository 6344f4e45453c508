//! Tables of one-way delays of LENS (docs/trace-format.md, Sec. 12.8).
//!
//! A line has the time at which a packet was sent, ns since 1970, and three delays in ms: of the round trip, of the way up and of
//! the way down. −1 marks the one that was lost, with 0 in the others. The data set was made with irtt, and keeps the direction
//! of its losses: <https://github.com/clarkzjw/LENS>.

use std::io::BufRead;

use super::probe::{
    self, DIRECTION, Direction, LLDU, Lost, PROPAGATION, Record, Records, Shape, Trip, Ways,
};
use super::{Files, Finding, Given, Importer, Lines, Parameter, RTT, Remark, TRACE, whole_lines};
use crate::format::foreign::Carries;
use crate::format::text::{nanos, shown};
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Result, TraceKind};

/// Columns of a header, in their order.
const COLUMNS: [&str; 4] = ["timestamp", "rtt", "uplink", "downlink"];

const KEYS: [Parameter; 5] = [TRACE, DIRECTION, PROPAGATION, RTT, LLDU];

/// Importer of tables of LENS.
pub static FORMAT: Importer = Importer {
    name: "lens",
    about: "table timestamp,rtt,uplink,downlink of LENS; -1 marks which was lost",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.delay().loss(),
    keys: &KEYS,
    recognises: |first| whole_lines(first).next().is_some_and(is_header),
    open: |given, files, note| {
        let mut settings = given.clone();
        let direction = Direction::complete(&mut settings, note);
        if direction == Direction::Down {
            note(Remark::assumed(
                "an answer is taken to be sent when the client sent the packet: the table has no other times",
            ));
        }
        let shape = Shape::new(&FORMAT, Some(TRACE.name), Table::open);
        let mut import = probe::open(&shape, given, settings, files, note)?;
        direction.describe(&mut import.head);
        Ok(import)
    },
};

/// Fields of a line.
fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// Whether a line names the columns, perhaps with the unit: `timestamp(ns)`.
fn is_header(line: &[u8]) -> bool {
    let name = |field| match memchr::memchr(b'(', field) {
        Some(unit) => &field[..unit],
        None => field,
    };
    fields(line).map(name).eq(COLUMNS.map(str::as_bytes))
}

/// Reads the lines of a table.
struct Table {
    lines: Lines<Box<dyn BufRead + Send>>,
    ways: Ways,
}

impl Table {
    fn open(settings: &Given, files: &mut dyn Files) -> Result<Self> {
        Ok(Self {
            lines: Lines::new(files.open(TRACE.name).map_err(Error::from)?),
            ways: Ways::new(settings),
        })
    }

    /// The round trip of the line read last.
    fn trip(&self) -> Result<Trip, ErrorKind> {
        let line = self.lines.text();
        let mut found = fields(line);
        let mut next = || found.next();
        let (Some(time), Some(rtt), Some(up), Some(down), None) =
            (next(), next(), next(), next(), next())
        else {
            let found = format!("'{}'", shown(line));
            return Err(ErrorKind::format(
                found,
                format!("4 fields: {}", COLUMNS.join(",")),
            ));
        };
        let [round_trip, up, down] = [(rtt, "rtt"), (up, "uplink"), (down, "downlink")]
            .map(|(text, field)| signed(text, field));
        let (round_trip, up, down) = (round_trip?, up?, down?);
        let lost = match (round_trip, up, down) {
            (LOST, 0, 0) => Lost::Somewhere,
            (0, LOST, 0) => Lost::Up,
            (0, 0, LOST) => Lost::Down,
            _ => Lost::No,
        };
        if round_trip < 0 && lost == Lost::No {
            let found = format!("'{}'", shown(line));
            let expected = "a round trip of 0 ms or more, or -1 in one of rtt, uplink and downlink and 0 in the others";
            return Err(ErrorKind::format(found, expected));
        }
        let sent = nanos(time, Unit::Nanoseconds, COLUMNS[0])?;
        Ok(Trip {
            number: None,
            lost,
            sent: i64::try_from(sent).ok(),
            up: Some(up),
            down: Some(down),
            both: Some(round_trip),
        })
    }
}

/// −1 ms, in ns: the mark of what was lost.
const LOST: i64 = -1_000_000;

/// A delay in ms that may be negative, as ns.
fn signed(text: &[u8], field: &'static str) -> Result<i64, ErrorKind> {
    let (size, sign) = match text.strip_prefix(b"-") {
        Some(size) => (size, -1),
        None => (text, 1),
    };
    let nanos = nanos(size, Unit::Milliseconds, field)?;
    Ok(sign * i64::try_from(nanos).unwrap_or(i64::MAX))
}

impl Records for Table {
    fn next_record(&mut self) -> Result<Option<Record>> {
        while self.lines.advance()? {
            if self.lines.line() == 1 && is_header(self.lines.text()) {
                continue;
            }
            let record = self.trip().and_then(|trip| self.ways.record(trip));
            if let Some(record) = record.map_err(|kind| self.lines.error(kind))? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.lines.error(kind)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.lines.finding(TRACE.name).into_iter().collect();
        findings.extend(self.ways.findings(TRACE.name));
        findings
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::convert;
    use super::*;

    proptest! {
        #[test]
        fn the_delays_written_are_those_read(
            delays in prop::collection::vec((0_u64..900_000_000, 0_u64..900_000_000, 0_u8..6), 1..60),
            header: bool,
        ) {
            let mut text = String::new();
            if header {
                text.push_str("timestamp,rtt,uplink,downlink\n");
            }
            let ms = |nanos: u64| format!("{}.{:06}", nanos / 1_000_000, nanos % 1_000_000);
            let mut expected = Vec::new();
            for (at, (up, down, fate)) in (0_u64..).zip(&delays) {
                let time = 1_700_000_000_000_000_000 + at * 10_000_000;
                let rest = match fate {
                    0 => "0,-1,0".to_owned(),
                    1 => "0,0,-1".to_owned(),
                    2 => "-1,0,0".to_owned(),
                    _ => format!("{},{},{}", ms(up + down), ms(*up), ms(*down)),
                };
                text.push_str(&format!("{time},{rest}\n"));
                let delay = ((up + down) / 2).max(1);
                expected.push((at * 10_000_000, if *fate < 3 { 0 } else { delay }));
            }
            let found = convert(&FORMAT, &text, &[("propagation", "0s")]);
            prop_assert_eq!(found.slots, expected);
        }
    }
}
