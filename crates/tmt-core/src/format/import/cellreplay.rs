//! Files of CellReplay: trains of packets on an idle link (light), and delivery opportunities of a saturated one (heavy)
//! (docs/trace-format.md, Sec. 12.12).
//!
//! A line of the light file is a train: its time, the one-way delay of its first packet, and when its packets are delivered
//! after the first, all in whole ms. A packet is therefore sent at the time of its train, and arrives after the delay and its
//! opportunity. With a heavy file the slots are its opportunities, of 1400 B each, as `cellular_queue` of CellReplay has
//! them; the delay of each is that of the trains, interpolated.

use std::io::BufRead;

use super::mahimahi::Mahimahi;
use super::over_time::{Points, Sampled, Step};
use super::probe::{self, Fate, LLDU, PROPAGATION, Record, Records, Shape};
use super::{Files, Finding, Given, Importer, Kind, Lines, Parameter, RTT, Remark, whole_lines};
use crate::format::foreign::Carries;
use crate::format::text::shown;
use crate::types::{Bytes, Error, ErrorKind, Result, Span, TraceKind};

const LIGHT: &str = "light";
const HEAVY: &str = "heavy";

/// Size of a delivery opportunity, bytes.
pub const OPPORTUNITY: Bytes = Bytes(1400);

const KEYS: [Parameter; 5] = [
    Parameter::optional(LIGHT, Kind::File, "file of trains (light), `-` for stdin")
        .when(super::Rule::Required("it has the delays")),
    Parameter::optional(
        HEAVY,
        Kind::File,
        "file of delivery opportunities (heavy), which then are the slots, `-` for stdin",
    ),
    PROPAGATION,
    RTT,
    LLDU.when(super::Rule::Without(HEAVY)),
];

/// Importer of files of CellReplay.
pub static FORMAT: Importer = Importer {
    name: "cellreplay",
    about: "trains with their delay (light), and opportunities of 1400 B in ms (heavy)",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.capacity().delay(),
    keys: &KEYS,
    recognises: |first| {
        let mut lines = 0;
        let mut last = 0;
        let trains = whole_lines(first).all(|line| match train(line.trim_ascii()) {
            Some((time, _, opportunities)) => {
                let is_next = time >= last && opportunities.is_sorted();
                (lines, last) = (lines + 1, time);
                is_next
            }
            None => false,
        });
        trains && lines > 0
    },
    open: |given, files, note| {
        note(Remark::not_carried(
            "lost packets are not in the files; every slot is received",
        ));
        if !given.has(HEAVY) {
            let shape = Shape::new(&FORMAT, Some(LIGHT), Trains::open);
            return probe::open(&shape, given, given.clone(), files, note);
        }
        note(Remark::not_carried(
            "of trains only the delay is used with a heavy file, not their opportunities: a link that was idle is like a saturated one",
        ));
        let light = files
            .open(LIGHT)
            .map_err(|error| Error::from(error).of_input(LIGHT))?;
        let points = Points::read(light, LIGHT, Step::Linear, point)?;
        let over_time = Sampled {
            opportunity: OPPORTUNITY,
            capacity: HEAVY,
            place: LIGHT,
            points,
        };
        over_time.open(given, files, note, |input| {
            Box::new(Mahimahi::new(input, Span::NANOSECOND))
        })
    },
};

/// Time, delay and opportunities of a train, ms.
fn train(line: &[u8]) -> Option<(u64, u64, Vec<u64>)> {
    let numbers: Option<Vec<u64>> = std::str::from_utf8(line)
        .ok()?
        .split_ascii_whitespace()
        .map(|number| number.parse().ok().filter(|number| *number < 1 << 40))
        .collect();
    match &numbers?[..] {
        [time, delay, opportunities @ ..] if !opportunities.is_empty() => {
            Some((*time, *delay, opportunities.to_vec()))
        }
        _ => None,
    }
}

/// The train of a line.
///
/// # Errors
/// Another line.
fn read_train(lines: &Lines<Box<dyn BufRead + Send>>) -> Result<(u64, u64, Vec<u64>)> {
    train(lines.text()).ok_or_else(|| {
        let found = format!("'{}'", shown(lines.text()));
        let expected = "time, delay and at least one opportunity, in whole ms";
        lines.error(ErrorKind::format(found, expected))
    })
}

/// Time and delay of a line, ns.
fn point(lines: &Lines<Box<dyn BufRead + Send>>) -> Result<Option<(u64, u64)>> {
    let (time, delay, _) = read_train(lines)?;
    Ok(Some((time * MILLISECOND, delay * MILLISECOND)))
}

/// Nanoseconds per millisecond.
const MILLISECOND: u64 = 1_000_000;

/// Reads the packets of trains.
struct Trains {
    lines: Lines<Box<dyn BufRead + Send>>,
    /// Time of the train, its delay, its opportunities, and those that were returned.
    train: (u64, u64, Vec<u64>),
    returned: usize,
}

impl Trains {
    fn open(_: &Given, files: &mut dyn Files) -> Result<Self> {
        let light = files
            .open(LIGHT)
            .map_err(|error| Error::from(error).of_input(LIGHT))?;
        Ok(Self {
            lines: Lines::new(light),
            train: (0, 0, Vec::new()),
            returned: 0,
        })
    }

    fn next(&mut self) -> Result<Option<Record>> {
        while self.returned == self.train.2.len() {
            if !self.lines.advance()? {
                return Ok(None);
            }
            let next = read_train(&self.lines)?;
            let opportunities = &next.2;
            if next.0 < self.train.0 || !opportunities.is_sorted() {
                let found = if opportunities.is_sorted() {
                    format!("time {} ms after {} ms", next.0, self.train.0)
                } else {
                    "opportunities that decrease".to_owned()
                };
                let expected = "times that do not decrease, as CellReplay has them";
                return Err(self.lines.error(ErrorKind::format(found, expected)));
            }
            self.train = next;
            self.returned = 0;
        }
        let (time, delay, opportunities) = &self.train;
        let delay = (delay + opportunities[self.returned]) * MILLISECOND;
        let sent = time * MILLISECOND;
        self.returned += 1;
        let too_large = || {
            self.lines.error(ErrorKind::SumTooLarge {
                sum: "time + delay",
            })
        };
        Ok(Some(Record {
            number: None,
            sent: Some(i64::try_from(sent).map_err(|_| too_large())?),
            fate: Fate::Received(Some(i64::try_from(delay).map_err(|_| too_large())?)),
        }))
    }
}

impl Records for Trains {
    fn next_record(&mut self) -> Result<Option<Record>> {
        self.next().map_err(|error| error.of_input(LIGHT))
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.lines.error(kind).of_input(LIGHT)
    }

    fn findings(&self) -> Vec<Finding> {
        self.lines.finding(LIGHT).into_iter().collect()
    }
}
