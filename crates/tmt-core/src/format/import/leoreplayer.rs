//! Delays of LeoReplayer: one per 10 ms, in whole milliseconds; with the bandwidth file of the same replay, in the form of
//! mahimahi (docs/trace-format.md, Sec. 12.13).
//!
//! Line i, from 1, holds from 10 (i − 1) ms on, until the next; after the last line the file begins again (`delay_queue` of
//! LeoReplayer). A packet whose delay falls may overtake.

use std::io::BufRead;

use super::mahimahi::{Mahimahi, OPPORTUNITY};
use super::over_time::{Points, Sampled, Step};
use super::probe::{self, Fate, INTERVAL, LLDU, PROPAGATION, Record, Records, Shape};
use super::{
    Files, Finding, Given, Import, ImportError, Importer, Kind, Lines, Parameter, RTT, Remark,
    Rule, whole_lines,
};
use crate::format::foreign::Carries;
use crate::format::text::shown;
use crate::types::{Error, ErrorKind, Result, Span, TraceKind};

pub(super) const DELAY: &str = "delay";
pub(super) const BANDWIDTH: &str = "bandwidth";

const KEYS: [Parameter; 6] = [
    Parameter::optional(DELAY, Kind::File, "file of delays, ms, `-` for stdin")
        .when(Rule::Required("it has the delays")),
    Parameter::optional(
        BANDWIDTH,
        Kind::File,
        "file of delivery opportunities in the form of mahimahi, which then are the slots, `-` for stdin",
    ),
    Parameter::optional(
        "interval",
        Kind::PERIOD,
        "how long a delay holds [default: 10ms]",
    ),
    PROPAGATION,
    RTT,
    LLDU.when(Rule::Without(BANDWIDTH)),
];

/// Importer of delays of LeoReplayer.
pub static FORMAT: Importer = Importer {
    name: "leoreplayer",
    about: "a delay per 10 ms, in whole ms, and opportunities as in mahimahi",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.capacity().delay().order(),
    keys: &KEYS,
    recognises: |first| {
        let delays: Option<Vec<u64>> = whole_lines(first)
            .map(|line| std::str::from_utf8(line.trim_ascii()).ok()?.parse().ok())
            .collect();
        // Times that never fall are of mahimahi; lines of 0 and 1 are losses.
        delays.is_some_and(|delays| {
            !delays.is_sorted() && delays.iter().all(|delay| (2..10_000).contains(delay))
        })
    },
    open: |given, files, note| {
        let mut settings = given.clone();
        settings.assume(INTERVAL.name, "10ms", "a delay holds for 10ms", note);
        note(Remark::not_carried(
            "losses are not in the files: LeoReplayer has one rate of random losses",
        ));
        if !given.has(BANDWIDTH) {
            let shape = Shape::new(&FORMAT, Some(DELAY), Delays::open);
            return probe::open(&shape, given, settings, files, note);
        }
        let interval = settings.get(INTERVAL.name).unwrap_or(Span::MAX);
        pair(interval, &settings, files, note)
    },
};

/// Starts a conversion of both files of a replay, whose delays hold for `interval` each.
///
/// # Errors
/// As [`Importer::open`].
pub(super) fn pair(
    interval: Span,
    settings: &Given,
    files: &mut dyn Files,
    note: &mut dyn FnMut(Remark),
) -> Result<Import, ImportError> {
    let interval = interval.as_nanos();
    let input = files
        .open(DELAY)
        .map_err(|error| Error::from(error).of_input(DELAY))?;
    let mut number = 0_u64;
    let points = Points::read(input, DELAY, Step::Hold(interval), |lines| {
        let delay = delay(lines)?;
        let too_large = || {
            lines.error(ErrorKind::SumTooLarge {
                sum: "line number × interval",
            })
        };
        let time = number.checked_mul(interval).ok_or_else(too_large)?;
        number += 1;
        Ok(Some((time, delay)))
    })?;
    let over_time = Sampled {
        opportunity: OPPORTUNITY,
        capacity: BANDWIDTH,
        place: DELAY,
        points,
    };
    over_time.open(settings, files, note, |input| {
        Box::new(Mahimahi::new(input, Span::NANOSECOND))
    })
}

/// The delay of the line read last, ns.
///
/// # Errors
/// It is not a whole number of milliseconds.
fn delay(lines: &Lines<Box<dyn BufRead + Send>>) -> Result<u64> {
    let text = lines.text();
    let whole = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse::<u32>().ok());
    let millis = whole.filter(|_| text.first().is_some_and(u8::is_ascii_digit));
    millis
        .map(|millis| u64::from(millis) * 1_000_000)
        .ok_or_else(|| {
            let found = format!("'{}'", shown(text));
            lines.error(ErrorKind::format(
                found,
                "a whole number of milliseconds below 2^32",
            ))
        })
}

/// Reads delays as packets that were sent one interval apart.
struct Delays(Lines<Box<dyn BufRead + Send>>);

impl Delays {
    fn open(_: &Given, files: &mut dyn Files) -> Result<Self> {
        let input = files
            .open(DELAY)
            .map_err(|error| Error::from(error).of_input(DELAY))?;
        Ok(Self(Lines::new(input)))
    }
}

impl Records for Delays {
    fn next_record(&mut self) -> Result<Option<Record>> {
        if !self.0.advance().map_err(|error| error.of_input(DELAY))? {
            return Ok(None);
        }
        let delay = delay(&self.0).map_err(|error| error.of_input(DELAY))?;
        Ok(Some(Record {
            number: None,
            sent: None,
            fate: Fate::Received(Some(i64::try_from(delay).unwrap_or(i64::MAX))),
        }))
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.0.error(kind).of_input(DELAY)
    }

    fn findings(&self) -> Vec<Finding> {
        self.0.finding(DELAY).into_iter().collect()
    }
}
