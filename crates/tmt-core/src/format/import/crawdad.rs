//! Frames received on an 802.11 testbed, as in the CRAWDAD data set rutgers/noise: a line has the sequence number of a
//! frame and its RSSI (docs/trace-format.md, Sec. 12.5).
//!
//! A number that is missing is a frame that was lost. The RSSI is the byte that the driver reports, dB above noise as a
//! signed number (255 is −1); 128 marks a frame with an error, which counts as lost. The files have neither times nor
//! delays.

use std::io::BufRead;

use super::finding::counted;
use super::probe::{self, Fate, LLDU, PACKETS, Record, Records, Shape, Totals};
use super::{
    DECODE_DELAY, Files, Finding, Given, Importer, Kind, Lines, Parameter, RTT, Rule, TRACE,
    whole_lines,
};
use crate::format::foreign::Carries;
use crate::format::import::catalogue::FRAMES_IN_ERROR;
use crate::format::text::shown;
use crate::types::{Error, ErrorKind, Result, TraceKind};

/// RSSI of a frame with an error.
const ERROR: u8 = 128;

const KEYS: [Parameter; 6] = [
    TRACE,
    Parameter::optional("interval", Kind::PERIOD, "time between two frames")
        .when(Rule::Required("the file contains no send times")),
    PACKETS,
    DECODE_DELAY,
    RTT,
    LLDU,
];

/// Importer of lists of received frames.
pub static FORMAT: Importer = Importer {
    name: "crawdad",
    about: "received frames, `number rssi` per line, as in CRAWDAD rutgers/noise; missing numbers are lost",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.loss(),
    keys: &KEYS,
    recognises: |first| {
        let numbers: Option<Vec<u64>> = whole_lines(first)
            .map(|line| frame(line.trim_ascii()).map(|(number, _)| number))
            .collect();
        numbers.is_some_and(|numbers| numbers.is_sorted())
    },
    open: |given, files, note| {
        let shape = Shape::new(&FORMAT, None, Frames::open);
        probe::open(&shape, given, given.clone(), files, note)
    },
};

/// Number and RSSI of a line.
fn frame(line: &[u8]) -> Option<(u64, u8)> {
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let frame = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    fields.next().is_none().then_some(frame)
}

/// Reads the frames of a file.
struct Frames {
    lines: Lines<Box<dyn BufRead + Send>>,
    sent: Option<u64>,
    errors: u64,
    /// Line of the first frame with an error.
    first_error: u64,
}

impl Frames {
    fn open(settings: &Given, files: &mut dyn Files) -> Result<Self> {
        Ok(Self {
            lines: Lines::new(files.open(TRACE.name).map_err(Error::from)?),
            sent: settings.get(PACKETS.name),
            errors: 0,
            first_error: 0,
        })
    }
}

impl Records for Frames {
    fn next_record(&mut self) -> Result<Option<Record>> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        let text = self.lines.text();
        let Some((number, rssi)) = frame(text) else {
            let found = format!("'{}'", shown(text));
            let expected = "a sequence number and an RSSI from 0 to 255";
            return Err(self.error(ErrorKind::format(found, expected)));
        };
        if let Some(sent) = self.sent.filter(|sent| number >= *sent) {
            let found = format!("frame {number}");
            let expected = format!("numbers below {sent}, the number of packets sent");
            return Err(self.error(ErrorKind::format(found, expected)));
        }
        let is_error = rssi == ERROR;
        if is_error && self.errors == 0 {
            self.first_error = self.lines.line();
        }
        self.errors += u64::from(is_error);
        Ok(Some(Record {
            number: Some(number),
            sent: None,
            fate: if is_error {
                Fate::Lost
            } else {
                Fate::Received(None)
            },
        }))
    }

    fn totals(&self) -> Totals {
        Totals {
            first: self.sent.map(|_| 0),
            sent: self.sent,
            received: None,
        }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.lines.error(kind)
    }

    fn line(&self) -> u64 {
        self.lines.line()
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.lines.finding(TRACE.name).into_iter().collect();
        if self.errors > 0 {
            let text = format!(
                "{}: {} with an error (RSSI {ERROR}), lost",
                TRACE.name,
                counted(self.errors, "frame")
            );
            let finding = Finding::of(&FRAMES_IN_ERROR, self.errors, "frames", text);
            findings.push(finding.at_line(Some(TRACE.name), self.first_error));
        }
        findings
    }
}
