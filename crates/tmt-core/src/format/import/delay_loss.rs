//! Pairs of files, one line a packet: its delay, and whether it was lost.
//!
//! Such pairs come from `irtt` runs (ebpf-trace-emu: delay in ns, 1 = lost). There are no send
//! times, so packet i was sent at i × interval; a measured delay holds the propagation P, a trace's
//! does not: d = max(1 ns, delay − P) (link-layer.md §11).

use std::io::BufRead;

use super::mahimahi::crlf_finding;
use super::{Finding, Lines};
use crate::format::text::{Unit, shown};
use crate::types::{Error, ErrorKind, Result, Slot, Span, Time};

/// Name of the format, and what it is.
pub const FORMAT: (&str, &str) = (
    "delay-loss",
    "a file of delays and a file of losses, one packet a line",
);

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

impl<R: BufRead> DelayLoss<R> {
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

    /// The next packet's slot; `None` when both files have ended.
    ///
    /// # Errors
    /// A line that is no delay or no loss, files of different lengths, times past 2^63 − 1 ns.
    pub fn next_slot(&mut self) -> Result<Option<Slot>> {
        let loss = match &mut self.loss {
            Some(lines) => next_loss(lines, self.reading.lost).map_err(|e| e.of_input("loss"))?,
            None => None,
        };
        if self.loss.is_some() && loss.is_none() {
            return self.end_of_losses();
        }
        let lost = loss == Some(true);
        let delay = match &mut self.delay {
            Some(lines) => {
                match next_delay(lines, &self.reading, lost, self.loss.is_some())
                    .map_err(|e| e.of_input("delay"))?
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

    /// Smallest delay of a received packet so far, one way, nothing taken off.
    #[must_use]
    pub fn smallest_delay(&self) -> Option<Span> {
        self.smallest
    }

    /// What was odd about the files.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some(lines) = &self.delay {
            findings.extend(crlf_finding("delay", lines.crlf()));
            if self.fillers > 0 {
                let text = format!(
                    "{} lost packets carry a filler delay ({} repeat the packet before); a lost packet has none, so none was used",
                    self.fillers, self.repeats
                );
                findings.push(Finding {
                    file: "delay",
                    text,
                });
            }
            if self.raised > 0 {
                let text = format!(
                    "{} delays are below the propagation of {}; each was taken as 1 ns",
                    self.raised, self.reading.propagation
                );
                findings.push(Finding {
                    file: "delay",
                    text,
                });
            }
        }
        if let Some(lines) = &self.loss {
            findings.extend(crlf_finding("loss", lines.crlf()));
            if self.lost * 2 > self.packets {
                let (as_read, other) = if self.reading.lost == b'1' {
                    ('1', '0')
                } else {
                    ('0', '1')
                };
                let text = format!(
                    "{} of {} packets are lost where {as_read} means lost; if {other} means lost in this file, say --lost {other}",
                    self.lost, self.packets
                );
                findings.push(Finding { file: "loss", text });
            }
        }
        findings
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
            while delays.advance().map_err(|e| e.of_input("delay"))? {
                if !delays.text().is_empty() {
                    let kind = ErrorKind::Format {
                        found: format!("delay {}", delays.line()),
                        expected: format!("{} delays, as many as there are losses", self.packets),
                    };
                    return Err(delays.error(kind).of_input("delay"));
                }
            }
        }
        Ok(None)
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
    let blank = lines.error(ErrorKind::Format {
        found: "a blank line".to_owned(),
        expected: expected.to_owned(),
    });
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
            Err(lines.error(ErrorKind::Format {
                found,
                expected: EXPECTED.to_owned(),
            }))
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
            return Err(lines.error(ErrorKind::Format { found, expected }));
        }
        if lost {
            return Ok(Some(Span::ZERO));
        }
    } else if !advance_value(lines, "a delay")? {
        return Ok(None);
    }
    let decimals = i64::try_from(reading.unit.decimals()).unwrap_or(0);
    let nanos = lines.nanos("delay", decimals)?;
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
    ) -> Result<(Vec<u64>, Vec<Finding>)> {
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
        let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
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
        assert!(findings[0].text.contains("--lost 0"), "{findings:?}");
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
