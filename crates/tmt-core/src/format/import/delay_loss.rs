//! Pairs of files, one line a packet: its delay, and whether it was lost.
//!
//! Such pairs come from `irtt` runs (ebpf-trace-emu: delay in ns, 1 = lost). There are no send
//! times, so packet i was sent at i × interval; a measured delay holds the propagation P, a trace's
//! does not: d = max(1 ns, delay − P) (link-layer.md §11).

use std::io::BufRead;

use super::{
    DECODE_DELAY, Files, Given, Import, ImportError, Importer, Key, Lines, RTT, Rule, Slots, Takes,
    decode_delay, rate_bps, tell_rtt,
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
    Key::new(DELAY, Takes::File, "file of delays, `-` for stdin"),
    Key::new(LOSS, Takes::File, "file of losses, `-` for stdin"),
    Key::new(INTERVAL, Takes::Period, "time between two packets")
        .when(Rule::Required("the files hold no send times")),
    Key::new(
        DELAY_UNIT,
        Takes::OneOf(&["s", "ms", "us", "ns"]),
        "unit of the delays (ns when left out, as ebpf-trace-emu writes)",
    ),
    Key::new(
        PROPAGATION,
        Takes::DurationOr("min"),
        "propagation P to take off: a duration, or `min` for the smallest delay of a received packet (when \
         left out, for files; a pipe cannot be read twice)",
    )
    .when(Rule::With(DELAY)),
    DECODE_DELAY.when(Rule::Without(DELAY)),
    Key::new(
        LOST,
        Takes::OneOf(&["0", "1"]),
        "the digit that means lost, 1 (when left out) or 0 (Link'Em)",
    )
    .when(Rule::With(LOSS)),
    Key::new(
        ROUND_TRIP,
        Takes::Switch,
        "the delays are round trips; half is taken as one way",
    ),
    RTT,
    Key::new(
        LLDU,
        Takes::Size,
        "size of a packet, written as `lldu_bytes` and used for `rate_bps`",
    ),
];

/// The format.
#[derive(Debug)]
pub struct Format;

impl Importer for Format {
    fn name(&self) -> &'static str {
        "delay-loss"
    }

    fn about(&self) -> &'static str {
        "a file of delays and a file of losses, one packet a line"
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
        let typed = given.get(PROPAGATION);
        let mut reading = Reading {
            interval: given.get(INTERVAL).unwrap_or(Span::MAX),
            unit: settings.get(DELAY_UNIT).unwrap_or(Unit::Nanoseconds),
            round_trip: given.has(ROUND_TRIP),
            lost: if settings.text(LOST) == Some("0") {
                b'0'
            } else {
                b'1'
            },
            propagation: typed.unwrap_or(Span::ZERO),
            decode_delay: if has_delay {
                Span::ZERO
            } else {
                decode_delay(&mut settings, note)
            },
        };
        if has_delay && typed.is_none() {
            reading.propagation = smallest_delay(given, files, reading)?;
            settings.set(PROPAGATION, reading.propagation.to_string());
        }

        let propagation = reading.propagation;
        let mut head = Metadata::new();
        if let Some(lldu) = given.get::<Bytes>(LLDU) {
            head.set("lldu_bytes", lldu.0.to_string());
            if let Some(rate) = rate_bps(lldu, 1, reading.interval) {
                head.set("rate_bps", rate.to_string());
            }
        }
        tell_rtt(&mut head, given, has_delay.then_some(propagation), note);
        if has_delay {
            let nanos = propagation.as_nanos();
            head.set("propagation_removed_ns", nanos.to_string());
            let how = match typed {
                Some(_) => "as given",
                None => "the smallest delay of a received packet",
            };
            note(format!(
                "propagation {propagation} ({how}) is taken off every delay"
            ));
        }
        if reading.round_trip {
            head.set("one_way_delay", "half of the measured round trip");
        }
        let slots = Box::new(open_pair(given, files, reading)?);
        Ok(Import {
            head,
            settings,
            slots,
        })
    }
}

/// How the numbers of the files are meant.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// Time between two packets.
    pub interval: Span,
    /// Unit of the delays.
    pub unit: Unit,
    /// Whether the delays are round trips, of which half is taken.
    pub round_trip: bool,
    /// The digit that says lost, `0` or `1`.
    pub lost: u8,
    /// Propagation P that is taken off every delay.
    pub propagation: Span,
    /// Delay given to received packets where there is no file of delays.
    pub decode_delay: Span,
}

fn open_pair(
    given: &Given,
    files: &mut dyn Files,
    reading: Reading,
) -> Result<DelayLoss<Box<dyn BufRead + Send>>> {
    let mut open = |key| {
        let given = given.has(key).then(|| files.open(key));
        let opened = given.transpose();
        opened.map_err(|error| Error::from(error).of_input(key))
    };
    Ok(DelayLoss::new(open(DELAY)?, open(LOSS)?, reading))
}

/// The first of two passes: the smallest one-way delay of a received packet.
fn smallest_delay(
    given: &Given,
    files: &mut dyn Files,
    reading: Reading,
) -> Result<Span, ImportError> {
    let is_pipe = |key: &&'static str| given.has(key) && !files.can_reopen(key);
    if [DELAY, LOSS].iter().any(is_pipe) {
        let refusal = format!(
            "`{PROPAGATION}` min reads the input twice, and a pipe cannot be: expected `{PROPAGATION}` with a duration"
        );
        return Err(ImportError::Refused(refusal));
    }
    let mut pair = open_pair(given, files, reading)?;
    while pair.next_slot()?.is_some() {}
    Ok(pair.smallest.ok_or_else(|| {
        let kind = ErrorKind::format(
            "no received packet, so no smallest delay",
            "one, or a propagation that is given",
        );
        Error::new(kind).of_input(DELAY)
    })?)
}

/// The slots of a pair; at least one of the two files is there.
#[derive(Debug)]
pub struct DelayLoss<R> {
    delay: Option<Lines<R>>,
    loss: Option<Lines<R>>,
    reading: Reading,
    packets: u64,
    lost: u64,
    /// Delay line of the packet before, to know a repeat.
    before: Vec<u8>,
    fillers: u64,
    repeats: u64,
    raised: u64,
    smallest: Option<Span>,
}

impl<R: BufRead + Send> DelayLoss<R> {
    /// Reads `delay` and `loss` side by side.
    pub fn new(delay: Option<R>, loss: Option<R>, reading: Reading) -> Self {
        Self {
            delay: delay.map(Lines::new),
            loss: loss.map(Lines::new),
            reading,
            packets: 0,
            lost: 0,
            before: Vec::new(),
            fillers: 0,
            repeats: 0,
            raised: 0,
            smallest: None,
        }
    }

    fn count_lost(&mut self) {
        self.lost += 1;
        if let Some(lines) = &self.delay {
            let text = lines.text();
            let no_delay = text.is_empty() || text == b"0" || !text[0].is_ascii_digit();
            self.fillers += u64::from(!no_delay);
            self.repeats += u64::from(!no_delay && text == self.before);
        }
    }

    fn take_off_propagation(&mut self, delay: Span) -> Span {
        let rest = delay.saturating_sub(self.reading.propagation);
        if rest.is_zero() {
            self.raised += u64::from(delay < self.reading.propagation);
            return Span::from_nanos(1).unwrap_or(Span::MAX);
        }
        rest
    }

    /// The losses have ended: so must the delays.
    fn end_of_losses(&mut self) -> Result<Option<Slot>> {
        if let Some(delays) = &mut self.delay {
            while delays.advance().map_err(|e| e.of_input(DELAY))? {
                if !delays.text().is_empty() {
                    let kind = ErrorKind::format(
                        format!("delay {}", delays.line()),
                        format!("{} delays, as many as there are losses", self.packets),
                    );
                    return Err(delays.error(kind).of_input(DELAY));
                }
            }
        }
        Ok(None)
    }
}

impl<R: BufRead + Send> Slots for DelayLoss<R> {
    fn next_slot(&mut self) -> Result<Option<Slot>> {
        let loss = match &mut self.loss {
            Some(lines) => next_loss(lines, self.reading.lost).map_err(|e| e.of_input(LOSS))?,
            None => None,
        };
        if self.loss.is_some() && loss.is_none() {
            return self.end_of_losses();
        }
        let lost = loss == Some(true);
        let delay = match &mut self.delay {
            Some(lines) => {
                match next_delay(lines, &self.reading, lost, self.loss.is_some())
                    .map_err(|e| e.of_input(DELAY))?
                {
                    Some(delay) => delay,
                    None => return Ok(None),
                }
            }
            None => self.reading.decode_delay,
        };
        let found = |sum| Error::new(ErrorKind::SumTooLarge { sum });
        let tx_time = self
            .reading
            .interval
            .checked_mul(self.packets)
            .and_then(|t| Time::ZERO.checked_add(t));
        let tx_time = tx_time.ok_or_else(|| found("packet number × interval"))?;
        self.packets += 1;
        if lost {
            self.count_lost();
            return Ok(Some(Slot::erased(tx_time)));
        }
        if let Some(lines) = &self.delay {
            self.before.clear();
            self.before.extend_from_slice(lines.text());
            self.smallest = Some(self.smallest.map_or(delay, |smallest| smallest.min(delay)));
        }
        let decode_delay = if self.delay.is_some() {
            self.take_off_propagation(delay)
        } else {
            delay
        };
        Slot::new(tx_time, decode_delay)
            .map(Some)
            .ok_or_else(|| found("send time + delay"))
    }

    fn findings(&self) -> Vec<String> {
        let mut findings = Vec::new();
        if let Some(lines) = &self.delay {
            findings.extend(lines.finding(DELAY));
            if self.fillers > 0 {
                findings.push(format!(
                    "{DELAY}: {} lost packets carry a filler delay ({} repeat the packet before); a lost packet has none, so none was used",
                    self.fillers, self.repeats
                ));
            }
            if self.raised > 0 {
                findings.push(format!(
                    "{DELAY}: {} delays are below the propagation of {}; each was taken as 1 ns",
                    self.raised, self.reading.propagation
                ));
            }
        }
        if let Some(lines) = &self.loss {
            findings.extend(lines.finding(LOSS));
            if self.lost * 2 > self.packets {
                let as_read = self.reading.lost - b'0';
                findings.push(format!(
                    "{LOSS}: {} of {} packets are lost where {as_read} means lost; perhaps {} means lost in this file (`{LOST}`)",
                    self.lost,
                    self.packets,
                    1 - as_read
                ));
            }
        }
        findings
    }
}

/// Skips blank lines at the end of a file; anywhere else they are an error. False at the end.
fn advance_value<R: BufRead>(lines: &mut Lines<R>, expected: &str) -> Result<bool> {
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

/// Whether the next packet was lost; `None` at the end.
fn next_loss<R: BufRead>(lines: &mut Lines<R>, lost: u8) -> Result<Option<bool>> {
    const EXPECTED: &str = "0 or 1";
    if !advance_value(lines, EXPECTED)? {
        return Ok(None);
    }
    match lines.text() {
        [digit @ (b'0' | b'1')] => Ok(Some(*digit == lost)),
        other => {
            let found = format!("'{}'", shown(other));
            Err(lines.error(ErrorKind::format(found, EXPECTED)))
        }
    }
}

/// The next packet's delay, one way; `None` at the end.
fn next_delay<R: BufRead>(
    lines: &mut Lines<R>,
    reading: &Reading,
    lost: bool,
    has_loss: bool,
) -> Result<Option<Span>> {
    if has_loss {
        // The losses say that there is a packet; a lost one may have anything for a delay.
        if !lines.advance()? {
            let found = format!("{} delays", lines.line());
            let expected = "as many as there are losses".to_owned();
            return Err(lines.error(ErrorKind::format(found, expected)));
        }
        if lost {
            return Ok(Some(Span::ZERO));
        }
    } else if !advance_value(lines, "a delay")? {
        return Ok(None);
    }
    let nanos = lines.nanos("delay", reading.unit)?;
    let nanos = if reading.round_trip { nanos / 2 } else { nanos };
    Ok(Some(Span::from_nanos(nanos).unwrap_or(Span::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading() -> Reading {
        Reading {
            interval: Span::from_millis(10),
            unit: Unit::Nanoseconds,
            round_trip: false,
            lost: b'1',
            propagation: Span::from_nanos(100).unwrap(),
            decode_delay: Span::from_nanos(1).unwrap(),
        }
    }

    fn convert(
        delay: Option<&str>,
        loss: Option<&str>,
        reading: Reading,
    ) -> Result<(Vec<u64>, Vec<String>)> {
        let mut pair = DelayLoss::new(delay.map(str::as_bytes), loss.map(str::as_bytes), reading);
        let mut delays = Vec::new();
        while let Some(slot) = pair.next_slot()? {
            delays.push(slot.decode_delay().as_nanos());
        }
        Ok((delays, pair.findings()))
    }

    #[test]
    fn propagation_is_taken_off_and_lost_packets_are_erased() {
        let (delays, _) = convert(
            Some("350\n350\n90\n100\n"),
            Some("0\r\n1\r\n0\r\n0\r\n"),
            reading(),
        )
        .unwrap();
        assert_eq!(delays, [250, 0, 1, 1]);
    }

    #[test]
    fn crlf_fillers_and_low_delays_are_reported() {
        let (_, findings) =
            convert(Some("350\n350\n90\n"), Some("0\r\n1\r\n0\r\n"), reading()).unwrap();
        let texts = findings;
        assert!(
            texts[0].contains("1 lost packets carry a filler delay (1 repeat"),
            "{texts:?}"
        );
        assert!(texts[1].contains("1 delays are below"), "{texts:?}");
        assert!(texts[2].contains("3 lines end in CRLF"), "{texts:?}");
    }

    #[test]
    fn a_mostly_lost_file_raises_the_question_of_polarity() {
        let (_, findings) = convert(None, Some("1\n1\n0\n"), reading()).unwrap();
        assert!(findings[0].contains("perhaps 0 means lost"), "{findings:?}");
        let (delays, findings) = convert(
            None,
            Some("1\n1\n0\n"),
            Reading {
                lost: b'0',
                ..reading()
            },
        )
        .unwrap();
        assert_eq!((delays, findings), (vec![1, 1, 0], vec![]));
    }

    #[test]
    fn a_lost_packet_may_hold_anything_for_a_delay() {
        let (delays, _) =
            convert(Some("200\n\nnan\n300\n"), Some("0\n1\n1\n0\n\n"), reading()).unwrap();
        assert_eq!(delays, [100, 0, 0, 200]);
    }

    #[test]
    fn round_trips_are_halved() {
        let (delays, _) = convert(
            Some("1000\n"),
            None,
            Reading {
                round_trip: true,
                ..reading()
            },
        )
        .unwrap();
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
                convert(Some(delay), Some(loss), reading()).is_err(),
                "{delay:?} {loss:?}"
            );
        }
        assert!(convert(Some("1\n\n2\n"), None, reading()).is_err());
    }
}
