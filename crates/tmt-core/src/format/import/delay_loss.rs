//! Pairs of files with one line per packet: its delay, and whether it was lost (docs/trace-format.md, Sec. 12.2).
//!
//! Such pairs come from `irtt` runs (ebpf-trace-emu: delay in ns, 1 = lost). They contain no send times, so packet i
//! was sent at i × interval. A measured delay contains the propagation P, the delay of a trace does not:
//! d = max(1 ns, delay − P) (docs/trace-format.md, Sec. 12.1).

use std::io::BufRead;

use super::{
    DECODE_DELAY, Files, Given, Import, ImportError, Importer, Key, Lines, RTT, Rule, Slots,
    ValueKind, decode_delay, rate_bps, set_rtt,
};
use crate::format::text::shown;
use crate::format::unit::Unit;
use crate::types::{Bytes, Error, ErrorKind, Metadata, Result, Slot, Span, Time};

const DELAY: &str = "delay";
const LOSS: &str = "loss";
const INTERVAL: &str = "interval";
const DELAY_UNIT: &str = "delay-unit";
const PROPAGATION: &str = "propagation";
const LOST: &str = "lost";
const ROUND_TRIP: &str = "round-trip";
const LLDU: &str = "lldu";

const KEYS: [Key; 10] = [
    Key::new(DELAY, ValueKind::File, "file of delays, `-` for stdin"),
    Key::new(LOSS, ValueKind::File, "file of losses, `-` for stdin"),
    Key::new(INTERVAL, ValueKind::Period, "time between two packets")
        .when(Rule::Required("the files contain no send times")),
    Key::new(
        DELAY_UNIT,
        ValueKind::OneOf(&["s", "ms", "us", "ns"]),
        "unit of the delays [default: ns, as written by ebpf-trace-emu]",
    ),
    Key::new(
        PROPAGATION,
        ValueKind::DurationOr("min"),
        "propagation P, removed from every delay: a duration, or `min` for the smallest delay of a received \
         packet [default: min; a pipe needs a duration]",
    )
    .when(Rule::With(DELAY)),
    DECODE_DELAY.when(Rule::Without(DELAY)),
    Key::new(
        LOST,
        ValueKind::OneOf(&["0", "1"]),
        "digit that means lost: 1, or 0 as in Link'Em [default: 1]",
    )
    .when(Rule::With(LOSS)),
    Key::new(
        ROUND_TRIP,
        ValueKind::Switch,
        "the delays are round trips; half of each is the one-way delay",
    ),
    RTT,
    Key::new(
        LLDU,
        ValueKind::Size,
        "size of a packet, written as `lldu_bytes` and used for `rate_bps`",
    ),
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

    fn keys(&self) -> &'static [Key] {
        &KEYS
    }

    fn open(
        &self,
        given: &Given,
        files: &mut dyn Files,
        note: &mut dyn FnMut(String),
    ) -> Result<Import, ImportError> {
        let has_delay = given.has(DELAY);
        if !has_delay && !given.has(LOSS) {
            let refusal = format!("{} needs `{DELAY}`, `{LOSS}` or both", self.name());
            return Err(ImportError::Refused(refusal));
        }
        let mut settings = given.clone();
        if has_delay {
            settings.assume(DELAY_UNIT, "ns", "delays are in ns", note);
        } else {
            settings.remove(DELAY_UNIT);
        }
        if given.has(LOSS) {
            settings.assume(LOST, "1", "1 means lost", note);
        }
        let typed = given.get::<Span>(PROPAGATION);
        if !has_delay {
            decode_delay(&mut settings, note);
        } else if typed.is_none() {
            let smallest = smallest_delay(&settings, files)?;
            settings.set(PROPAGATION, smallest.to_string());
        }

        let mut head = Metadata::new();
        if let Some(lldu) = given.get::<Bytes>(LLDU) {
            head.set("lldu_bytes", lldu.0.to_string());
            let interval = given.get(INTERVAL).unwrap_or(Span::MAX);
            if let Some(rate) = rate_bps(lldu, 1, interval) {
                head.set("rate_bps", rate.to_string());
            }
        }
        let propagation = settings.get::<Span>(PROPAGATION);
        set_rtt(&mut head, given, propagation, note);
        if let Some(propagation) = propagation {
            let nanos = propagation.as_nanos();
            head.set("propagation_removed_ns", nanos.to_string());
            let how = match typed {
                Some(_) => "as given",
                None => "the smallest delay of a received packet",
            };
            note(format!(
                "propagation {propagation} ({how}) is removed from every delay"
            ));
        }
        if given.has(ROUND_TRIP) {
            head.set("one_way_delay", "half of the measured round trip");
        }
        let slots = Box::new(DelayLoss::open(&settings, files)?);
        Ok(Import {
            head,
            settings,
            slots,
        })
    }
}

/// First of two passes: finds the smallest one-way delay of a received packet.
fn smallest_delay(settings: &Given, files: &mut dyn Files) -> Result<Span, ImportError> {
    let is_pipe = |key: &&'static str| settings.has(key) && !files.can_reopen(key);
    if [DELAY, LOSS].iter().any(is_pipe) {
        let refusal = format!(
            "`{PROPAGATION}` min reads the input twice, which a pipe does not allow: expected `{PROPAGATION}` with a duration"
        );
        return Err(ImportError::Refused(refusal));
    }
    let mut pair = DelayLoss::open(settings, files)?;
    while pair.next_slot()?.is_some() {}
    Ok(pair.smallest.ok_or_else(|| {
        let kind = ErrorKind::format(
            "no received packet, so no smallest delay",
            "at least one, or a given propagation",
        );
        Error::new(kind).of_input(DELAY)
    })?)
}

type File = Lines<Box<dyn BufRead + Send>>;

/// Reads the slots of a pair, of which one file may be missing.
struct DelayLoss {
    delay: Option<File>,
    loss: Option<File>,
    interval: Span,
    unit: Unit,
    round_trip: bool,
    /// The digit that means lost.
    lost_digit: u8,
    /// Removed from every delay.
    propagation: Span,
    /// Delay of received packets without a file of delays.
    decode_delay: Span,
    packets: u64,
    lost: u64,
    /// Delay line of the last received packet, to detect repeats.
    before: Vec<u8>,
    fillers: u64,
    repeats: u64,
    raised: u64,
    smallest: Option<Span>,
    largest: Span,
    /// Whether the size that a slot carries is given.
    has_lldu: bool,
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
            interval: settings.get(INTERVAL).unwrap_or(Span::MAX),
            unit: settings.get(DELAY_UNIT).unwrap_or(Unit::Nanoseconds),
            round_trip: settings.has(ROUND_TRIP),
            lost_digit: b'1' - u8::from(settings.text(LOST) == Some("0")),
            propagation: settings.get(PROPAGATION).unwrap_or(Span::ZERO),
            decode_delay: settings.get(DECODE_DELAY.name).unwrap_or(Span::MAX),
            packets: 0,
            lost: 0,
            before: Vec::new(),
            fillers: 0,
            repeats: 0,
            raised: 0,
            smallest: None,
            largest: Span::ZERO,
            has_lldu: settings.has(LLDU),
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

    /// One-way delay of the next packet without propagation, zero if it was lost; `None` at the end.
    fn next_delay(&mut self, loss: Option<bool>) -> Result<Option<Span>> {
        let Some(lines) = &mut self.delay else {
            return Ok(match loss {
                Some(true) => Some(Span::ZERO),
                Some(false) => Some(self.decode_delay),
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
            self.fillers += u64::from(is_filler);
            self.repeats += u64::from(is_filler && text == self.before);
            return Ok(Some(Span::ZERO));
        }
        let nanos = lines.nanos("delay", self.unit)?;
        let nanos = if self.round_trip { nanos / 2 } else { nanos };
        let delay = Span::from_nanos(nanos).unwrap_or(Span::MAX);
        self.before.clear();
        self.before.extend_from_slice(text);
        self.smallest = Some(self.smallest.map_or(delay, |smallest| smallest.min(delay)));
        self.largest = self.largest.max(delay);
        self.raised += u64::from(delay < self.propagation);
        let nanos = delay.saturating_sub(self.propagation).as_nanos().max(1);
        Ok(Span::from_nanos(nanos))
    }
}

impl Slots for DelayLoss {
    fn next_slot(&mut self) -> Result<Option<Slot>> {
        let loss = self.next_loss().map_err(|error| error.of_input(LOSS))?;
        let delay = self.next_delay(loss);
        let Some(delay) = delay.map_err(|error| error.of_input(DELAY))? else {
            return Ok(None);
        };
        let too_large = |sum| Error::new(ErrorKind::SumTooLarge { sum });
        let tx_time = self.interval.checked_mul(self.packets);
        let tx_time = tx_time
            .and_then(|since| Time::ZERO.checked_add(since))
            .ok_or_else(|| too_large("packet number × interval"))?;
        self.packets += 1;
        self.lost += u64::from(loss == Some(true));
        let slot = Slot::new(tx_time, delay);
        slot.map(Some).ok_or_else(|| too_large("send time + delay"))
    }

    fn findings(&self) -> Vec<String> {
        let mut findings = Vec::new();
        if let Some(lines) = &self.delay {
            findings.extend(lines.finding(DELAY));
            if self.fillers > 0 {
                findings.push(format!(
                    "{DELAY}: {} with a filler delay ({} equal to that of the packet before), which was ignored",
                    counted(self.fillers, "lost packet"),
                    self.repeats
                ));
            }
        }
        if let Some(lines) = &self.loss {
            findings.extend(lines.finding(LOSS));
        }
        findings
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let smallest = self.smallest.unwrap_or(Span::ZERO);
        if smallest >= LEAST_TOO_LONG {
            warnings.push(format!(
                "{DELAY}: the smallest delay is {smallest}: are the delays in another unit (`{DELAY_UNIT}`)?"
            ));
        } else if self.smallest.is_some() && self.largest < LEAST_OF_A_NETWORK {
            warnings.push(format!(
                "{DELAY}: the largest delay is {}: are the delays in another unit (`{DELAY_UNIT}`)?",
                self.largest
            ));
        }
        if !self.has_lldu {
            warnings.push(format!(
                "a slot is one probe: the trace has the rate of the probes, not the capacity of the link (`{LLDU}` states what a slot carries)"
            ));
        }
        if self.raised > 0 {
            warnings.push(format!(
                "{DELAY}: {} below the propagation of {}, taken as 1 ns",
                counted(self.raised, "delay"),
                self.propagation
            ));
        }
        if self.lost * 2 > self.packets {
            let as_read = self.lost_digit - b'0';
            warnings.push(format!(
                "{LOSS}: {} of {} packets are lost if {as_read} means lost; perhaps {} means lost in this file (`{LOST}`)",
                self.lost,
                self.packets,
                1 - as_read
            ));
        }
        warnings
    }
}

/// A smallest delay from which on the delays are probably in a smaller unit: no network takes that long at best. A round
/// trip over two GEO hops takes about 1.1 s.
const LEAST_TOO_LONG: Span = Span::from_millis(1500);

/// A largest delay below which the delays are probably in a larger unit: light travels 2 km in this time.
const LEAST_OF_A_NETWORK: Span = Span::from_micros(10);

/// `count` with a noun in the right number.
fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
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
    use super::*;

    /// An interval of 10 ms, a propagation of 100 ns, and `more`.
    fn settings(more: &[(&'static str, &str)]) -> Given {
        let mut given = Given::default();
        for (key, value) in [
            (INTERVAL, "10ms"),
            (PROPAGATION, "100ns"),
            (DECODE_DELAY.name, "1ns"),
        ] {
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
        let mut pair = DelayLoss::open(&settings, &mut Texts(delay, loss))?;
        let mut delays = Vec::new();
        while let Some(slot) = pair.next_slot()? {
            delays.push(slot.decode_delay().as_nanos());
        }
        Ok((delays, [pair.findings(), pair.warnings()].concat()))
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
            "a slot is one probe",
            "1 delay below",
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
            let settings = settings(&[(DELAY_UNIT, unit), (PROPAGATION, "0s"), (LLDU, "1500B")]);
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
        let (delays, _) = convert(Some("1000\n"), None, settings(&[(ROUND_TRIP, "")])).unwrap();
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
