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
    DECODE_DELAY, Files, Finding, Given, Import, ImportError, Importer, Key, Lines, RTT, Remark,
    Rule, ValueKind, whole_lines,
};
use crate::format::foreign::Carries;
use crate::format::import::catalogue::FILLER_DELAYS;
use crate::format::text::{nanos, shown};
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Result, TraceKind};

const DELAY: &str = "delay";
const LOSS: &str = "loss";

const KEYS: [Key; 10] = [
    Key::new(DELAY, ValueKind::File, "file of delays, `-` for stdin"),
    Key::new(LOSS, ValueKind::File, "file of losses, `-` for stdin"),
    Key::new("interval", ValueKind::Period, "time between two packets")
        .when(Rule::Required("the files contain no send times")),
    Key::new(
        DELAY_UNIT,
        ValueKind::OneOf(&["s", "ms", "us", "ns"]),
        "unit of the delays [default: ns, as written by ebpf-trace-emu]",
    ),
    PROPAGATION.when(Rule::With(DELAY)),
    DECODE_DELAY.when(Rule::Without(DELAY)),
    Key::new(
        LOST,
        ValueKind::OneOf(&["0", "1"]),
        "digit that means lost: 1, or 0 as in Link'Em [default: 1]",
    )
    .when(Rule::With(LOSS)),
    ROUND_TRIP,
    RTT,
    LLDU,
];

/// Importer of pairs of delay and loss files.
#[derive(Debug)]
pub struct Format;

impl Importer for Format {
    fn name(&self) -> &'static str {
        "delay-loss"
    }

    fn about(&self) -> &'static str {
        "a file of delays and a file of losses, one packet per line"
    }

    fn kind(&self) -> TraceKind {
        TraceKind::Probe
    }

    fn carries(&self) -> Carries {
        Carries::NOTHING.delay().loss().order()
    }

    fn recognises(&self, first: &[u8]) -> bool {
        // Losses; a file of delays alone may be anything.
        whole_lines(first).all(|line| matches!(line.trim_ascii(), b"0" | b"1"))
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
        let has_delays = given.has(DELAY);
        if !has_delays && !given.has(LOSS) {
            let refusal = format!("{} needs `{DELAY}`, `{LOSS}` or both", self.name());
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
        let shape = Shape {
            format: self.name(),
            inputs: &[DELAY, LOSS],
            has_delays,
            places: (DELAY, LOSS),
            make: &DelayLoss::open,
        };
        probe::open(&shape, given, settings, files, note)
    }
}

type File = Lines<Box<dyn BufRead + Send>>;

/// Reads the packets of a pair, of which one file may be missing.
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
            is_lenient: false,
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

    /// What became of the next packet; `None` at the end.
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
            // The delay of a lost packet is ignored, whatever it is.
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

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::probe::INTERVAL;
    use super::*;

    /// An interval of 10 ms, a propagation of 100 ns, and `more`.
    fn settings(more: &[(&'static str, &str)]) -> Given {
        let mut given = Given::default();
        for (key, value) in [(INTERVAL.name, "10ms"), (PROPAGATION.name, "100ns")] {
            given.set(key, value);
        }
        for (key, value) in more {
            given.set(key, *value);
        }
        given
    }

    struct Texts(Option<&'static str>, Option<&'static str>);

    impl Files for Texts {
        fn open(&mut self, key: &'static str) -> std::io::Result<Box<dyn BufRead + Send>> {
            let text = if key == DELAY { self.0 } else { self.1 };
            Ok(Box::new(text.unwrap().as_bytes()))
        }

        fn can_reopen(&self, _: &'static str) -> bool {
            true
        }
    }

    fn convert(
        delay: Option<&'static str>,
        loss: Option<&'static str>,
        mut settings: Given,
    ) -> Result<(Vec<u64>, Vec<String>)> {
        for (key, text) in [(DELAY, delay), (LOSS, loss)] {
            if text.is_some() {
                settings.set(key, "");
            }
        }
        if delay.is_none() {
            settings.remove(PROPAGATION.name);
            settings.set(DECODE_DELAY.name, "1ns");
        }
        let mut import = match open(&Format, &settings, &mut Texts(delay, loss), &mut |_| {}) {
            Ok(import) => import,
            Err(ImportError::Input(error)) => return Err(error),
            Err(ImportError::Refused(refusal)) => panic!("{refusal}"),
        };
        let mut delays = Vec::new();
        while let Some(slot) = import.slots.next_slot()? {
            delays.push(slot.decode_delay().as_nanos());
        }
        let findings = import.slots.findings();
        Ok((
            delays,
            findings.into_iter().map(|found| found.text).collect(),
        ))
    }

    #[test]
    fn propagation_is_taken_off_and_lost_packets_are_erased() {
        let (delays, _) = convert(
            Some("350\n350\n90\n100\n"),
            Some("0\r\n1\r\n0\r\n0\r\n"),
            settings(&[]),
        )
        .unwrap();
        assert_eq!(delays, [250, 0, 1, 1]);
    }

    #[test]
    fn crlf_fillers_and_low_delays_are_reported() {
        let (_, findings) = convert(
            Some("350\n350\n90\n"),
            Some("0\r\n1\r\n0\r\n"),
            settings(&[]),
        )
        .unwrap();
        let expected = [
            "1 lost packet with a filler delay (1 equal",
            "3 lines end in CRLF",
            "the largest delay is 350ns: are the delays in another unit",
            "1 delay below",
            "a slot is one probe",
        ];
        assert_eq!(findings.len(), expected.len(), "{findings:?}");
        for (found, expected) in findings.iter().zip(expected) {
            assert!(found.contains(expected), "{findings:?}");
        }
    }

    #[test]
    fn delays_in_a_wrong_unit_and_the_rate_of_probes_are_doubted() {
        for (delay, unit, doubted) in [
            ("9999\n", "ns", true),
            ("10000\n", "ns", false),
            ("1499\n9000\n", "ms", false),
            ("1500\n9000\n", "ms", true),
            // 3.6 ms in ns, read as us.
            ("3646000\n4000000\n", "us", true),
        ] {
            let settings = settings(&[
                (DELAY_UNIT, unit),
                (PROPAGATION.name, "0s"),
                (LLDU.name, "1500B"),
            ]);
            let (_, findings) = convert(Some(delay), None, settings).unwrap();
            assert_eq!(
                findings.len(),
                usize::from(doubted),
                "{delay:?} {findings:?}"
            );
        }
    }

    #[test]
    fn a_mostly_lost_file_raises_the_question_of_polarity() {
        let (_, findings) = convert(None, Some("1\n1\n0\n"), settings(&[])).unwrap();
        assert!(findings[1].contains("perhaps 0 means lost"), "{findings:?}");
        let (delays, findings) =
            convert(None, Some("1\n1\n0\n"), settings(&[(LOST, "0")])).unwrap();
        assert_eq!((delays, findings.len()), (vec![1, 1, 0], 1));
        assert!(findings[0].contains("a slot is one probe"), "{findings:?}");
    }

    #[test]
    fn a_lost_packet_may_hold_anything_for_a_delay() {
        let (delays, _) = convert(
            Some("200\n\nnan\n300\n"),
            Some("0\n1\n1\n0\n\n"),
            settings(&[]),
        )
        .unwrap();
        assert_eq!(delays, [100, 0, 0, 200]);
    }

    #[test]
    fn round_trips_are_halved() {
        let (delays, _) =
            convert(Some("1000\n"), None, settings(&[(ROUND_TRIP.name, "")])).unwrap();
        assert_eq!(delays, [400]);
    }

    #[test]
    fn files_of_different_lengths_and_odd_lines_are_refused() {
        for (delay, loss) in [
            ("1\n2\n", "0\n"),
            ("1\n", "0\n0\n"),
            ("1\n", "2\n"),
            ("x\n", "0\n"),
            ("-1\n", "0\n"),
            ("1\n1\n1\n", "0\n\n0\n"),
        ] {
            assert!(
                convert(Some(delay), Some(loss), settings(&[])).is_err(),
                "{delay:?} {loss:?}"
            );
        }
        assert!(convert(Some("1\n\n2\n"), None, settings(&[])).is_err());
    }
}
