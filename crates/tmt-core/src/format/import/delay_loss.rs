//! Pairs of files with one line per packet: its delay, and whether it was lost (docs/trace-format.md, Sec. 12.2).
//!
//! Such pairs come from `irtt` runs (ebpf-trace-emu: delay in ns, 1 = lost). They contain no send times, so packet i
//! was sent at i × interval.

use std::io::BufRead;

use super::finding::counted;
use super::probe::{
    self, DELAY_UNIT, Fate, LLDU, LOST, PROPAGATION, ROUND_TRIP, Record, Records, Shape,
};
use super::{
    DECODE_DELAY, Files, Finding, Given, ImportError, Importer, Kind, Lines, Parameter, RTT, Rule,
    whole_lines,
};
use crate::format::foreign::Carries;
use crate::format::import::catalogue::FILLER_DELAYS;
use crate::format::text::{nanos, shown};
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Result, TraceKind};

const DELAY: &str = "delay";
const LOSS: &str = "loss";

const KEYS: [Parameter; 10] = [
    Parameter::optional(DELAY, Kind::File, "file of delays, `-` for stdin"),
    Parameter::optional(LOSS, Kind::File, "file of losses, `-` for stdin"),
    Parameter::optional("interval", Kind::PERIOD, "time between two packets")
        .when(Rule::Required("the files contain no send times")),
    Parameter::optional(
        DELAY_UNIT,
        Kind::Words(&["s", "ms", "us", "ns"]),
        "unit of the delays [default: ns, as written by ebpf-trace-emu]",
    ),
    PROPAGATION.when(Rule::With(DELAY)),
    DECODE_DELAY.when(Rule::Without(DELAY)),
    Parameter::optional(
        LOST,
        Kind::Words(&["0", "1"]),
        "digit that means lost: 1, or 0 as in Link'Em [default: 1]",
    )
    .when(Rule::With(LOSS)),
    ROUND_TRIP,
    RTT,
    LLDU,
];

/// Importer of pairs of delay and loss files.
pub static FORMAT: Importer = Importer {
    name: "delay-loss",
    about: "a file of delays and a file of losses, one packet per line",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.delay().loss().order(),
    keys: &KEYS,
    recognises: |first| {
        // Losses; a file of delays alone may be anything.
        whole_lines(first).all(|line| matches!(line.trim_ascii(), b"0" | b"1"))
    },
    open: |given, files, note| {
        let has_delays = given.has(DELAY);
        if !has_delays && !given.has(LOSS) {
            let refusal = format!("{} needs `{DELAY}`, `{LOSS}` or both", FORMAT.name);
            return Err(ImportError::Refused(refusal));
        }
        let mut settings = given.clone();
        if has_delays {
            settings.assume(DELAY_UNIT, "ns", "delays are in ns", note);
        } else {
            settings.remove(DELAY_UNIT);
        }
        if given.has(LOSS) {
            settings.assume(LOST, "1", "1 means lost", note);
        }
        let shape = Shape::new(&FORMAT, has_delays.then_some(DELAY), DelayLoss::open);
        let shape = shape.refusing_negative();
        probe::open(&shape, given, settings, files, note)
    },
};

type File = Lines<Box<dyn BufRead + Send>>;

/// Reads the packets of a pair of files; one of the two may be missing.
struct DelayLoss {
    delay: Option<File>,
    loss: Option<File>,
    unit: Unit,
    /// The digit that means lost.
    lost_digit: u8,
    packets: u64,
    /// Delay line of the last received packet, to detect repeats.
    before: Vec<u8>,
    fillers: u64,
    repeats: u64,
    /// Line of the first filler.
    first_filler: u64,
    /// Whether negative delays are read instead of refused.
    is_lenient: bool,
}

impl DelayLoss {
    /// Opens the given files; `settings` define the meaning of their numbers.
    fn open(settings: &Given, files: &mut dyn Files) -> Result<Self> {
        let mut open = |key| {
            let opened = settings.has(key).then(|| files.open(key)).transpose();
            opened.map_err(|error| Error::from(error).of_input(key))
        };
        let (delay, loss) = (open(DELAY)?, open(LOSS)?);
        Ok(Self {
            delay: delay.map(Lines::new),
            loss: loss.map(Lines::new),
            unit: settings.get(DELAY_UNIT).unwrap_or(Unit::Nanoseconds),
            lost_digit: b'1' - u8::from(settings.text(LOST) == Some("0")),
            packets: 0,
            before: Vec::new(),
            fillers: 0,
            repeats: 0,
            first_filler: 0,
            is_lenient: settings.is_lenient(),
        })
    }

    /// Whether the next packet was lost; `None` at the end.
    fn next_loss(&mut self) -> Result<Option<bool>> {
        const EXPECTED: &str = "0 or 1";
        let Some(lines) = &mut self.loss else {
            return Ok(Some(false));
        };
        if !advance_value(lines, EXPECTED)? {
            return Ok(None);
        }
        match lines.text() {
            [digit @ (b'0' | b'1')] => Ok(Some(*digit == self.lost_digit)),
            other => {
                let found = format!("'{}'", shown(other));
                Err(lines.error(ErrorKind::format(found, EXPECTED)))
            }
        }
    }

    /// Fate of the next packet; `None` at the end.
    fn next_fate(&mut self, loss: Option<bool>) -> Result<Option<Fate>> {
        let Some(lines) = &mut self.delay else {
            return Ok(match loss {
                Some(true) => Some(Fate::Lost),
                Some(false) => Some(Fate::Received(None)),
                None => None,
            });
        };
        if self.loss.is_none() {
            if !advance_value(lines, "a delay")? {
                return Ok(None);
            }
        } else if loss.is_none() {
            // The file of losses has ended; only blank lines may follow in the file of delays.
            while lines.advance()? {
                if !lines.text().is_empty() {
                    let found = format!("delay {}", lines.line());
                    let expected = format!("{} delays, one per line of losses", self.packets);
                    return Err(lines.error(ErrorKind::format(found, expected)));
                }
            }
            return Ok(None);
        } else if !lines.advance()? {
            let found = format!("{} delays", lines.line());
            return Err(lines.error(ErrorKind::format(found, "one per line of losses")));
        }
        let text = lines.text();
        if loss == Some(true) {
            // The delay of a lost packet is ignored.
            let is_filler = text != b"0" && text.first().is_some_and(u8::is_ascii_digit);
            if is_filler && self.fillers == 0 {
                self.first_filler = lines.line();
            }
            self.fillers += u64::from(is_filler);
            self.repeats += u64::from(is_filler && text == self.before);
            return Ok(Some(Fate::Lost));
        }
        if let Some(positive) = text.strip_prefix(b"-").filter(|_| self.is_lenient) {
            let nanos = nanos(positive, self.unit, "delay").map_err(|kind| lines.error(kind))?;
            let nanos = i64::try_from(nanos).unwrap_or(i64::MAX);
            return Ok(Some(Fate::Received(Some(-nanos))));
        }
        let nanos = lines.nanos("delay", self.unit)?;
        self.before.clear();
        self.before.extend_from_slice(text);
        let nanos = i64::try_from(nanos).unwrap_or(i64::MAX);
        Ok(Some(Fate::Received(Some(nanos))))
    }
}

impl Records for DelayLoss {
    fn next_record(&mut self) -> Result<Option<Record>> {
        let loss = self.next_loss().map_err(|error| error.of_input(LOSS))?;
        let fate = self.next_fate(loss);
        let fate = fate.map_err(|error| error.of_input(DELAY))?;
        self.packets += u64::from(fate.is_some());
        Ok(fate.map(|fate| Record {
            number: None,
            sent: None,
            fate,
        }))
    }

    fn line(&self) -> u64 {
        let lines = self.delay.as_ref().or(self.loss.as_ref());
        lines.map_or(0, Lines::line)
    }

    fn be_lenient(&mut self) {
        self.is_lenient = true;
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some(lines) = &self.delay {
            findings.extend(lines.finding(DELAY));
            if self.fillers > 0 {
                let text = format!(
                    "{DELAY}: {} with a filler delay ({} equal to that of the packet before), which was ignored",
                    counted(self.fillers, "lost packet"),
                    self.repeats
                );
                let count = self.fillers;
                let finding = Finding::of(&FILLER_DELAYS, count, "packets", text);
                findings.push(finding.at_line(Some(DELAY), self.first_filler));
            }
        }
        if let Some(lines) = &self.loss {
            findings.extend(lines.finding(LOSS));
        }
        findings
    }
}

/// Advances to the next line; returns false at the end. Blank lines are accepted only at the end of the file.
fn advance_value(lines: &mut File, expected: &str) -> Result<bool> {
    if !lines.advance()? {
        return Ok(false);
    }
    if !lines.text().is_empty() {
        return Ok(true);
    }
    let blank = lines.error(ErrorKind::format("a blank line", expected));
    while lines.advance()? {
        if !lines.text().is_empty() {
            return Err(blank);
        }
    }
    Ok(false)
}
