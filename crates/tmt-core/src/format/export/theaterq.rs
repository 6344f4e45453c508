//! Trace files of the `TheaterQ` qdisc: a line per stretch of time with its delay, rate and loss (docs/trace-format.md,
//! Sec. 14.6).
//!
//! The format is that of the README and the parser of `TheaterQ` (cs7org/TheaterQ at 076af1c, `ingest_cdev_write`): `KEEP` in µs,
//! `LATENCY` in ns, `RATE` in bit/s, `LOSS` in parts of 2^32 − 1, `LIMIT` in packets. A line that begins with no digit is
//! passed over, an empty one is an error.

use std::io::{BufWriter, Write};

use super::seen::Seen;
use super::{ADD_PROPAGATION, Export, ExportError, Exporter, LLDU, OUTPUT, lldu, propagation};
use crate::format::foreign::Carries;
use crate::format::import::{Finding, Remark};
use crate::types::named::{Kind, Parameter};
use crate::types::{Bytes, Metadata, Slot, Span, Time};

/// `LOSS` of a line on which every packet is lost.
const ALL: u64 = u32::MAX as u64;

/// `LIMIT` if none is given: that of a qdisc without a file.
const DEFAULT_LIMIT: u64 = 1000;

/// Length of a line if none is given.
const DEFAULT_WINDOW: Span = Span::from_millis(100);

/// Nanoseconds per microsecond.
const MICROSECOND: u64 = 1000;

const LINES: Parameter = Parameter::optional(
    "lines",
    Kind::Words(&["window", "slot"]),
    "a line per window, whose loss is drawn, or per slot, which is lost or not [default: window]",
);

const WINDOW: Parameter = Parameter::optional(
    "window",
    Kind::PERIOD,
    "length of the windows, whole microseconds [default: 100ms]",
);

const LIMIT: Parameter = Parameter::optional(
    "limit",
    Kind::Count(0, u32::MAX as u64),
    "packets that the queue holds; 0: no limit [default: 1000]",
);

const INGEST: Parameter = Parameter::optional(
    "ingest",
    Kind::Words(&["simple", "extended"]),
    "form of the lines; extended has a ROUTE_ID, so that packets never overtake each other [default: simple]",
);

/// Exporter to trace files of `TheaterQ`.
pub static FORMAT: Exporter = Exporter {
    name: "theaterq",
    about: "delay, rate, loss and queue over time, for the qdisc TheaterQ",
    carries: Carries::NOTHING.capacity().delay().loss(),
    keys: &[LINES, WINDOW, LIMIT, INGEST, ADD_PROPAGATION, LLDU],
    open: |given, head, outputs, note| {
        let has_windows = given.text(LINES.name) != Some("slot");
        if given.has(WINDOW.name) && !has_windows {
            return Err(ExportError::Refused(format!(
                "`{}` cannot be combined with `{}` slot",
                WINDOW.name, LINES.name
            )));
        }
        let window: Span = given.get(WINDOW.name).unwrap_or(DEFAULT_WINDOW);
        if window.is_zero() || !window.as_nanos().is_multiple_of(MICROSECOND) {
            return Err(ExportError::Refused(format!(
                "`{}` {window}: expected whole microseconds, which lines are kept for",
                WINDOW.name
            )));
        }
        let size = lldu(given, head);
        if size.is_none() {
            note(Remark::not_carried(format!(
                "the size of a slot is unknown (`{}`): the rate is not carried, and TheaterQ does not limit it",
                LLDU.name
            )));
        }
        if !given.has(LIMIT.name) {
            note(Remark::assumed(format!("`{}` {DEFAULT_LIMIT}", LIMIT.name)));
        }
        let is_extended = given.text(INGEST.name) == Some("extended");
        let mut out = BufWriter::new(outputs.create(OUTPUT)?);
        out.write_all(if is_extended {
            b"KEEP,LATENCY,JITTER,RATE,LOSS,LIMIT,DUP_PROB,DUP_DELAY,ROUTE_ID\n"
        } else {
            b"KEEP,LATENCY,RATE,LOSS,LIMIT\n"
        })?;
        Ok(Box::new(File {
            out,
            window: has_windows.then_some(window),
            size,
            limit: given.get(LIMIT.name).unwrap_or(DEFAULT_LIMIT),
            is_extended,
            propagation: propagation(given, head, note),
            line: None,
            written_us: 0,
            latency: None,
            last: None,
            uneven: 0,
            empty: 0,
            drawn: 0,
            seen: Seen::default(),
            head: head.clone(),
        }))
    },
};

/// Slots of a line.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    slots: u64,
    erased: u64,
    /// Sum, smallest and largest of the decoding delays of received slots, ns.
    delays: u128,
    least: u64,
    most: u64,
}

impl Line {
    fn add(&mut self, slot: &Slot) {
        self.slots += 1;
        if slot.is_erased() {
            self.erased += 1;
            return;
        }
        let delay = slot.decode_delay().as_nanos();
        let is_first = self.slots - self.erased == 1;
        self.least = if is_first {
            delay
        } else {
            self.least.min(delay)
        };
        self.most = self.most.max(delay);
        self.delays += u128::from(delay);
    }

    /// Mean decoding delay; `None` if nothing was received.
    fn delay(&self) -> Option<u64> {
        let received = u128::from(self.slots - self.erased);
        let mean = (self.delays + received / 2).checked_div(received)?;
        u64::try_from(mean).ok()
    }

    /// The share of erased slots in parts of [`ALL`], rounded; all without slots.
    fn loss(&self) -> u64 {
        let scaled = u128::from(self.erased) * u128::from(ALL) + u128::from(self.slots / 2);
        let share = scaled.checked_div(self.slots.into());
        share
            .and_then(|share| u64::try_from(share).ok())
            .unwrap_or(ALL)
    }
}

/// A file that is being written.
struct File {
    out: BufWriter<Box<dyn Write + Send>>,
    /// Length of a line; `None` for a line per slot.
    window: Option<Span>,
    size: Option<Bytes>,
    limit: u64,
    is_extended: bool,
    propagation: Span,
    /// Time of the first slot, and what the line that has begun has.
    line: Option<(Time, Line)>,
    /// Sum of all times that lines are kept for, µs.
    written_us: u64,
    /// Decoding delay of the last line that received something, ns.
    latency: Option<u64>,
    /// Time of the last slot, and its distance from the one before.
    last: Option<(Time, Span)>,
    /// Lines with several delays, without a slot, and with a loss that is drawn.
    uneven: u64,
    empty: u64,
    drawn: u64,
    seen: Seen,
    head: Metadata,
}

impl File {
    fn slot(&mut self, slot: &Slot) -> Result<(), ExportError> {
        self.seen.slot(slot);
        let at = slot.tx_time();
        let gap = self.last.map(|(last, _)| at.since(last));
        if let (Some(window), Some(gap), 2) = (self.window, gap, self.seen.slots)
            && gap > window
        {
            return Err(ExportError::Trace(format!(
                "found slots {gap} apart, expected several in `{}` {window}; `{}` slot has a line for each",
                WINDOW.name, LINES.name
            )));
        }
        self.last = Some((at, gap.unwrap_or(Span::ZERO)));
        let (begin, mut line) = self.line.take().unwrap_or((at, Line::default()));
        match self.window {
            None if line.slots > 0 => {
                self.write(&line, micros(begin, at))?;
                line = Line::default();
            }
            None => {}
            Some(window) => {
                let ends = |written: u64| written + window.as_nanos() / MICROSECOND;
                while at.since(begin).as_nanos() >= ends(self.written_us) * MICROSECOND {
                    self.write(&line, ends(self.written_us))?;
                    line = Line::default();
                }
            }
        }
        line.add(slot);
        self.line = Some((begin, line));
        Ok(())
    }

    /// Writes a line that is kept until `until_us` after the first slot.
    fn write(&mut self, line: &Line, until_us: u64) -> Result<(), ExportError> {
        let keep = until_us - self.written_us;
        if keep == 0 {
            return Err(ExportError::Trace(format!(
                "found two slots within 1us, expected lines of at least that; use `{}` window",
                LINES.name
            )));
        }
        self.written_us = until_us;
        self.latency = line.delay().or(self.latency);
        self.uneven += u64::from(line.most > line.least);
        self.empty += u64::from(line.slots == 0);
        self.drawn += u64::from(line.erased > 0 && line.erased < line.slots);
        let bits = self.size.map_or(0, |size| 8 * u128::from(size.0));
        let bits = bits * u128::from(line.slots) * 1_000_000;
        let rate = (bits + u128::from(keep / 2)) / u128::from(keep);
        let latency = self.propagation.as_nanos() + self.latency.unwrap_or(0);
        let (loss, limit) = (line.loss(), self.limit);
        if self.is_extended {
            writeln!(self.out, "{keep},{latency},0,{rate},{loss},{limit},0,0,1")?;
        } else {
            writeln!(self.out, "{keep},{latency},{rate},{loss},{limit}")?;
        }
        Ok(())
    }
}

/// Whole microseconds from one time to another, rounded.
fn micros(from: Time, to: Time) -> u64 {
    (to.since(from).as_nanos() + MICROSECOND / 2) / MICROSECOND
}

impl Export for File {
    fn put(&mut self, slots: &[Slot]) -> Result<(), ExportError> {
        slots.iter().try_for_each(|slot| self.slot(slot))
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<Finding>, ExportError> {
        let Some(((begin, line), (last, gap))) = self.line.take().zip(self.last) else {
            return Err(ExportError::Trace(
                "found a trace without slots, expected at least one: TheaterQ needs a line"
                    .to_owned(),
            ));
        };
        // The last slot takes as long as the one before it.
        let gap = if gap.is_zero() {
            self.window.unwrap_or(DEFAULT_WINDOW)
        } else {
            gap
        };
        let until = micros(begin, last.saturating_add(gap));
        self.write(&line, until.max(self.written_us + 1))?;
        self.out.flush()?;
        let mut findings = Vec::new();
        if self.drawn > 0 {
            let text = format!(
                "TheaterQ draws the losses of {} lines: which packets are lost is not carried (`{}` slot carries it)",
                self.drawn, LINES.name
            );
            findings.push(Finding::note("losses-drawn", self.drawn, "lines", text).not_carried());
        }
        if self.uneven > 0 {
            let text = format!(
                "{} lines have the mean of several decoding delays",
                self.uneven
            );
            findings
                .push(Finding::note("delays-averaged", self.uneven, "lines", text).not_carried());
        }
        if self.empty > 0 {
            let text = format!(
                "{} windows have no slot: TheaterQ drops the packets that would have to wait there",
                self.empty
            );
            findings
                .push(Finding::note("windows-empty", self.empty, "windows", text).not_carried());
        }
        findings.extend(self.seen.order_lost());
        findings.extend(self.seen.probes(&self.head));
        Ok(findings)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{export, slot};
    use super::*;

    const HEAD: [(&str, &str); 2] = [("lldu_bytes", "125"), ("rtt_ns", "20000000")];

    /// The fields of the lines, as the qdisc reads them: a line that begins with a digit has only numbers of 64 bits.
    fn read(text: &str) -> Vec<Vec<u64>> {
        assert!(text.ends_with('\n') && !text.contains("\n\n"));
        let lines = text
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
        lines
            .map(|line| {
                assert!(line.len() < 255);
                line.split(',')
                    .map(|field| field.parse().unwrap())
                    .collect()
            })
            .collect()
    }

    /// Slots of 125 B every ms: 1 Mbit/s. The decoding delay is 2 ms, later 4 ms.
    fn slots() -> Vec<Slot> {
        let delay = |at: u64| match at {
            3 | 5 | 6 | 7 | 8 | 9 => 0,
            at if at < 10 => 2_000_000,
            _ => 4_000_000,
        };
        (0..12).map(|at| slot(at * 1_000_000, delay(at))).collect()
    }

    #[test]
    fn windows_have_the_rate_the_delay_and_the_share_of_losses() {
        let keys = [("window", "5ms"), ("limit", "50")];
        let exported = export(&FORMAT, &keys, &HEAD, &slots()).unwrap();
        // One in five is lost; then all, whose delay is the last known; then none. Propagation is 10 ms.
        assert_eq!(
            exported.text(),
            "KEEP,LATENCY,RATE,LOSS,LIMIT\n5000,12000000,1000000,858993459,50\n5000,12000000,1000000,4294967295,50\n2000,14000000,1000000,0,50\n"
        );
        assert_eq!(exported.found("losses-drawn").unwrap().count, 1);
        assert!(exported.found("delays-averaged").is_none());
    }

    #[test]
    fn lines_of_slots_carry_each_loss() {
        let exported = export(
            &FORMAT,
            &[("lines", "slot"), ("ingest", "extended")],
            &HEAD,
            &slots(),
        );
        let exported = exported.unwrap();
        let lines = read(exported.text());
        let lost = lines.iter().map(|line| line[4]);
        let expected = slots();
        let expected = expected
            .iter()
            .map(|slot| if slot.is_erased() { ALL } else { 0 });
        assert!(lost.eq(expected));
        assert_eq!(
            lines[11],
            [1000, 14_000_000, 0, 1_000_000, 0, 1000, 0, 0, 1]
        );
        assert!(exported.found("losses-drawn").is_none());
    }

    #[test]
    fn a_window_without_slots_drops_all() {
        let slots = [0, 1, 2, 9].map(|at| slot(at * 1_000_000, 1));
        let exported = export(&FORMAT, &[("window", "3ms")], &HEAD, &slots).unwrap();
        let lines = read(exported.text());
        let of = |column: usize| lines.iter().map(|line| line[column]).collect::<Vec<_>>();
        assert_eq!(of(0), [3000, 3000, 3000, 7000]);
        assert_eq!(of(3), [0, ALL, ALL, 0]);
        assert_eq!(exported.found("windows-empty").unwrap().count, 2);
    }

    #[test]
    fn what_the_format_cannot_hold_is_refused() {
        let wide = [slot(0, 1), slot(9_000_000, 1)];
        for (keys, slots, words) in [
            (
                vec![("window", "1500ns")],
                &slots()[..],
                "whole microseconds",
            ),
            (vec![("window", "1ms")], &wide[..], "slots 9ms apart"),
            (
                vec![("lines", "slot"), ("window", "1ms")],
                &slots()[..],
                "cannot be combined",
            ),
            (
                vec![("lines", "slot")],
                &[slot(0, 1), slot(100, 1)],
                "within 1us",
            ),
            (vec![], &[], "without slots"),
        ] {
            let error = export(&FORMAT, &keys, &HEAD, slots)
                .err()
                .unwrap()
                .to_string();
            assert!(error.contains(words), "{error}");
        }
        let unknown = export(&FORMAT, &[], &[], &slots()).unwrap();
        assert_eq!(read(unknown.text())[0][2], 0);
    }

    proptest! {
        #[test]
        fn lines_keep_time_and_bits(gaps in prop::collection::vec(1_u64..3000, 3..200), lost in any::<u64>(), window in 4_u64..40) {
            let mut at = 0;
            let slots: Vec<Slot> = (0..).zip(&gaps).map(|(number, gap)| {
                at += gap * 1000;
                slot(at, (lost >> (number % 64)) & 1)
            }).collect();
            let window = format!("{window}ms");
            for keys in [vec![("window", window.as_str())], vec![("lines", "slot")]] {
                let lines = read(export(&FORMAT, &keys, &HEAD, &slots).unwrap().text());
                // From the first slot to the last, which takes as long as the one before.
                let length = gaps[1..].iter().sum::<u64>() + gaps[gaps.len() - 1];
                prop_assert_eq!(lines.iter().map(|line| line[0]).sum::<u64>(), length);
                let bits: u64 = lines.iter().map(|line| line[0] * line[2]).sum();
                let expected = slots.len() as u64 * 1000 * 1_000_000;
                // Half a bit per second of each line is rounded.
                prop_assert!(bits.abs_diff(expected) <= length, "{} {}", bits, expected);
            }
        }
    }
}
