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
use super::{
    Files, Finding, Given, Import, ImportError, Importer, Key, Lines, RTT, Remark, ValueKind,
    whole_lines,
};
use crate::format::foreign::Carries;
use crate::format::text::shown;
use crate::types::{Bytes, Error, ErrorKind, Result, Span, TraceKind};

const LIGHT: &str = "light";
const HEAVY: &str = "heavy";

/// Size of a delivery opportunity, bytes.
pub const OPPORTUNITY: Bytes = Bytes(1400);

const KEYS: [Key; 5] = [
    Key::new(
        LIGHT,
        ValueKind::File,
        "file of trains (light), `-` for stdin",
    )
    .when(super::Rule::Required("it has the delays")),
    Key::new(
        HEAVY,
        ValueKind::File,
        "file of delivery opportunities (heavy), which then are the slots, `-` for stdin",
    ),
    PROPAGATION,
    RTT,
    LLDU.when(super::Rule::Without(HEAVY)),
];

/// Importer of files of CellReplay.
#[derive(Debug)]
pub struct Format;

impl Importer for Format {
    fn name(&self) -> &'static str {
        "cellreplay"
    }

    fn about(&self) -> &'static str {
        "trains with their delay (light), and opportunities of 1400 B in ms (heavy)"
    }

    fn kind(&self) -> TraceKind {
        TraceKind::Probe
    }

    fn carries(&self) -> Carries {
        Carries::NOTHING.capacity().delay()
    }

    fn recognises(&self, first: &[u8]) -> bool {
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
    }

    fn keys(&self) -> &'static [Key] {
        &KEYS
    }

    fn open(
        &self,
        given: &Given,
        files: &mut dyn Files,
        note: &mut dyn FnMut(Remark),
    ) -> Result<Import, ImportError> {
        note(Remark::not_carried(
            "lost packets are not in the files; every slot is received",
        ));
        if !given.has(HEAVY) {
            let shape = Shape {
                format: self.name(),
                inputs: &[LIGHT],
                has_delays: true,
                places: (LIGHT, LIGHT),
                make: &Trains::open,
            };
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
    }
}

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

#[cfg(test)]
mod tests {
    use super::super::testing::{converted, refusal_of_files as refusal};
    use super::*;

    const TRAINS: &str = "0 21 0 2 5\n200 23 0 1\n400 22 0 0 4\n";

    #[test]
    fn the_packets_of_a_train_are_sent_at_once() {
        let slots = converted(&Format, &[(LIGHT, TRAINS)], &[("propagation", "20ms")]).slots;
        let expected = [
            (0, 1),
            (0, 3),
            (0, 6),
            (200, 3),
            (200, 4),
            (400, 2),
            (400, 2),
            (400, 6),
        ];
        assert_eq!(
            slots,
            expected.map(|(at, delay)| (at * MILLISECOND, delay * MILLISECOND))
        );
    }

    #[test]
    fn with_a_heavy_file_delays_are_interpolated_and_repeated() {
        let files = [
            (LIGHT, "0 21 0\n200 23 0\n400 22 0\n"),
            (HEAVY, "0\n100\n200\n300\n450\n"),
        ];
        let converted = converted(&Format, &files, &[("propagation", "20ms")]);
        let expected = [
            (0, 1_000_000),
            (100, 2_000_000),
            (200, 3_000_000),
            (300, 2_500_000),
            (450, 1_500_000),
        ];
        assert_eq!(
            converted.slots,
            expected.map(|(at, delay)| (at * MILLISECOND, delay))
        );
        assert_eq!(converted.head.get("trace_kind"), Some("capacity"));
        assert_eq!(converted.head.get("lldu_bytes"), Some("1400"));
        assert!(
            converted
                .findings
                .iter()
                .any(|found| found.name == "delays-repeated")
        );
    }

    #[test]
    fn lines_that_cellreplay_refuses_are_refused() {
        for text in [
            "0 21\n",
            "0 21 0\n\n",
            "5 21 0\n0 21 0\n",
            "0 21 5 1\n",
            "0 x 0\n",
        ] {
            let error = refusal(&Format, &[(LIGHT, text)], &[("propagation", "0s")]);
            assert!(error.contains("expected"), "{text:?} {error}");
        }
        assert!(Format.recognises(TRAINS.as_bytes()));
        for text in ["1\n2\n", "1 2\n", "0 1 5 2\n", "1,2,3\n"] {
            assert!(!Format.recognises(text.as_bytes()), "{text:?}");
        }
    }
}
