//! Traces of Link'Em: a digit per packet without separators, 0 = lost and 1 = received; and a delay in whole milliseconds per
//! packet that is delivered, between blanks (docs/trace-format.md, Sec. 12.14).
//!
//! Both files repeat in Link'Em, so they may have different lengths. Lines have no meaning.

use std::io::BufRead;

use super::finding::counted;
use super::over_time::MOST;
use super::probe::{self, Fate, LLDU, PROPAGATION, Record, Records, Shape};
use super::{
    DECODE_DELAY, Files, Finding, Given, ImportError, Importer, Kind, Parameter, RTT, Rule,
};
use crate::format::foreign::Carries;
use crate::format::import::catalogue::{CRLF, DELAYS_LEFT, DELAYS_REPEATED};
use crate::format::text::shown;
use crate::types::{Error, ErrorKind, Position, Result, TraceKind};

const DELAY: &str = "delay";
const LOSS: &str = "loss";

/// Longest number, digits.
const LONGEST: usize = 20;

const KEYS: [Parameter; 7] = [
    Parameter::optional(DELAY, Kind::File, "file of delays, ms, `-` for stdin"),
    Parameter::optional(
        LOSS,
        Kind::File,
        "file of losses, 0 for a lost packet, `-` for stdin",
    ),
    Parameter::optional("interval", Kind::PERIOD, "time between two packets")
        .when(Rule::Required("the files contain no send times")),
    PROPAGATION.when(Rule::With(DELAY)),
    DECODE_DELAY.when(Rule::Without(DELAY)),
    RTT,
    LLDU,
];

/// Importer of traces of Link'Em.
pub static FORMAT: Importer = Importer {
    name: "linkem",
    about: "a digit per packet, 0 = lost, and a delay in ms per delivered packet, as in Link'Em",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.delay().loss().order(),
    keys: &KEYS,
    recognises: |first| {
        let text = first
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(first)
            .trim_ascii();
        let words = || {
            text.split(u8::is_ascii_whitespace)
                .filter(|word| !word.is_empty())
        };
        let is_loss = words().all(|word| word.iter().all(|digit| matches!(digit, b'0' | b'1')))
            && words().any(|word| word.len() > 8);
        // One line of several numbers. The first bytes may end within a number.
        let is_delay = !text.contains(&b'\n')
            && words().count() > 3
            && words().all(|word| word.len() < 6 && word.iter().all(u8::is_ascii_digit));
        is_loss || is_delay
    },
    open: |given, files, note| {
        let has_delays = given.has(DELAY);
        if !has_delays && !given.has(LOSS) {
            let refusal = format!("{} needs `{DELAY}`, `{LOSS}` or both", FORMAT.name);
            return Err(ImportError::Refused(refusal));
        }
        let shape = Shape::new(&FORMAT, has_delays.then_some(DELAY), LinkEm::open);
        probe::open(&shape, given, given.clone(), files, note)
    },
};

/// The words of a file, regardless of its lines.
struct Words {
    input: Box<dyn BufRead + Send>,
    line: u64,
    column: u64,
    crlf: bool,
}

impl Words {
    fn new(input: Box<dyn BufRead + Send>) -> Self {
        Self {
            input,
            line: 1,
            column: 0,
            crlf: false,
        }
    }

    /// The next byte, which stays.
    fn peek(&mut self) -> Result<Option<u8>> {
        Ok(self.input.fill_buf()?.first().copied())
    }

    /// Passes over the next byte.
    fn pass(&mut self, byte: u8) {
        self.input.consume(1);
        self.column += 1;
        self.crlf |= byte == b'\r';
        if byte == b'\n' {
            (self.line, self.column) = (self.line + 1, 0);
        }
    }

    /// The next byte that is not white space.
    fn next_byte(&mut self) -> Result<Option<u8>> {
        while let Some(byte) = self.peek()? {
            if !byte.is_ascii_whitespace() {
                return Ok(Some(byte));
            }
            self.pass(byte);
        }
        Ok(None)
    }

    /// The next word, at most as long as a number can be.
    fn next_word(&mut self, word: &mut Vec<u8>) -> Result<bool> {
        word.clear();
        self.next_byte()?;
        while let Some(byte) = self.peek()? {
            if byte.is_ascii_whitespace() || word.len() > LONGEST {
                break;
            }
            self.pass(byte);
            word.push(byte);
        }
        Ok(!word.is_empty())
    }

    /// An error `back` bytes before the next one.
    fn error(&self, kind: ErrorKind, back: usize) -> Error {
        let position = Position {
            line: self.line,
            column: (self.column + 1).saturating_sub(back as u64),
            row: self.line,
        };
        Error::at(kind, position)
    }

    fn finding(&self, file: &str) -> Option<Finding> {
        self.crlf.then(|| {
            let text = format!("{file}: lines end in CRLF; the CRs were removed");
            Finding::of(&CRLF, self.line, "lines", text)
        })
    }
}

/// Reads the packets of a pair of files; one of the two may be missing.
struct LinkEm {
    loss: Option<Words>,
    /// The delays read so far, ms, while they may be needed again.
    delays: Vec<u32>,
    delay: Option<Words>,
    /// Whether all delays were read.
    ended: bool,
    /// Delays used since they began.
    used: usize,
    /// Packets whose delay was used before.
    repeated: u64,
    word: Vec<u8>,
}

impl LinkEm {
    fn open(settings: &Given, files: &mut dyn Files) -> Result<Self> {
        let mut open = |key| {
            let opened = settings.has(key).then(|| files.open(key)).transpose();
            opened.map_err(|error| Error::from(error).of_input(key))
        };
        Ok(Self {
            delay: open(DELAY)?.map(Words::new),
            loss: open(LOSS)?.map(Words::new),
            delays: Vec::new(),
            ended: false,
            used: 0,
            repeated: 0,
            word: Vec::new(),
        })
    }

    /// Reads the next delay, ms; `None` at the end of the file.
    fn read_delay(&mut self) -> Result<Option<u32>> {
        let Some(words) = &mut self.delay else {
            return Ok(None);
        };
        if !words.next_word(&mut self.word)? {
            return Ok(None);
        }
        let text = std::str::from_utf8(&self.word).ok();
        let is_whole = self.word.iter().all(u8::is_ascii_digit);
        if let Some(delay) = text.filter(|_| is_whole).and_then(|text| text.parse().ok()) {
            return Ok(Some(delay));
        }
        let found = format!("'{}'", shown(&self.word));
        let expected = "a whole number of milliseconds";
        Err(words.error(ErrorKind::format(found, expected), self.word.len()))
    }

    /// The delay of the next packet that is delivered, ms; they begin again after the last. `None` if absent.
    fn next_delay(&mut self) -> Result<Option<u32>> {
        if !self.ended {
            if let Some(delay) = self.read_delay()? {
                // Without losses, the end of the delays is that of the trace.
                if self.loss.is_some() {
                    if self.delays.len() == MOST {
                        let kind =
                            ErrorKind::format(format!("more than {MOST} delays"), "a shorter file");
                        return Err(match &self.delay {
                            Some(words) => words.error(kind, 0),
                            None => Error::new(kind),
                        });
                    }
                    self.delays.push(delay);
                }
                return Ok(Some(delay));
            }
            self.ended = true;
        }
        if self.delays.is_empty() {
            return Ok(None);
        }
        let delay = self.delays[self.used % self.delays.len()];
        self.used += 1;
        self.repeated += 1;
        Ok(Some(delay))
    }

    /// Whether the next packet was lost; `None` at the end.
    fn next_loss(&mut self) -> Result<Option<bool>> {
        let Some(words) = &mut self.loss else {
            return Ok(Some(false));
        };
        let Some(byte) = words.next_byte()? else {
            return Ok(None);
        };
        if !matches!(byte, b'0' | b'1') {
            let found = format!("'{}'", shown(&[byte]));
            let kind = ErrorKind::format(found, "0 for a lost packet, or 1 for a received one");
            return Err(words.error(kind, 0));
        }
        words.pass(byte);
        Ok(Some(byte == b'0'))
    }
}

impl Records for LinkEm {
    fn next_record(&mut self) -> Result<Option<Record>> {
        let fate = match self.next_loss().map_err(|error| error.of_input(LOSS))? {
            None => return Ok(None),
            Some(true) => Fate::Lost,
            Some(false) if self.delay.is_none() => Fate::Received(None),
            Some(false) => {
                let delay = self.next_delay().map_err(|error| error.of_input(DELAY))?;
                match delay {
                    Some(delay) => Fate::Received(Some(i64::from(delay) * 1_000_000)),
                    None if self.loss.is_none() => return Ok(None),
                    None => return Err(Error::new(ErrorKind::EmptyTrace).of_input(DELAY)),
                }
            }
        };
        Ok(Some(Record {
            number: None,
            sent: None,
            fate,
        }))
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some(words) = &self.delay {
            findings.extend(words.finding(DELAY));
        }
        if let Some(words) = &self.loss {
            findings.extend(words.finding(LOSS));
            if self.delay.is_some() && self.repeated > 0 {
                let text = format!(
                    "{DELAY}: {} for more delivered packets, and repeated for {}, as Link'Em does",
                    counted(self.delays.len() as u64, "delay"),
                    counted(self.repeated, "packet")
                );
                findings.push(Finding::of(
                    &DELAYS_REPEATED,
                    self.repeated,
                    "packets",
                    text,
                ));
            } else if self.delay.is_some() && !self.ended {
                let text = format!(
                    "{DELAY}: the file may have more than {}, one per delivered packet; the trace ends with the losses",
                    counted(self.delays.len() as u64, "delay")
                );
                findings.push(Finding::of(&DELAYS_LEFT, 1, "files", text));
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::converted;
    use super::*;

    const MS: u64 = 1_000_000;

    fn delays(delay: &str, loss: &str) -> Vec<u64> {
        let keys = [("interval", "10ms"), ("propagation", "0s")];
        let found = converted(&FORMAT, &[(DELAY, delay), (LOSS, loss)], &keys);
        assert!(
            found
                .slots
                .iter()
                .enumerate()
                .all(|(n, slot)| slot.0 == n as u64 * 10 * MS)
        );
        found.slots.iter().map(|slot| slot.1 / MS).collect()
    }

    proptest! {
        /// Losses and delays of a trace, written as Link'Em has them, give the trace.
        #[test]
        fn a_trace_is_what_its_files_say(packets in prop::collection::vec(0_u64..1000, 1..200)) {
            let loss: String = packets.iter().map(|delay| if *delay == 0 { '0' } else { '1' }).collect();
            let delivered = packets.iter().filter(|delay| **delay > 0);
            let delays_of: Vec<String> = delivered.map(u64::to_string).collect();
            // The README of Link'Em demands a blank at the end.
            let delay = delays_of.join(" ") + " ";
            prop_assume!(!delays_of.is_empty());
            prop_assert_eq!(delays(&delay, &loss), packets);
        }
    }
}
