//! Capacity traces of mahimahi: one delivery opportunity per line, in whole milliseconds (docs/trace-format.md,
//! Sec. 12.3).
//!
//! Each opportunity carries 1504 bytes (`PACKET_SIZE` in mahimahi's `link_queue.hh`; its manual page says 1500). As in
//! mahimahi, times that decrease, empty lines and a last time of zero are refused. The trace contains neither delays
//! nor losses: every slot is received.

use std::io::BufRead;

use super::finding::counted;
use super::{
    DECODE_DELAY, Files, Finding, Import, Importer, Lines, RTT, Remark, Slots, TRACE, decode_delay,
    rate_bps, set_rtt, whole_lines,
};
use crate::format::foreign::Carries;
use crate::format::import::catalogue::UNSORTED_TIMES;
use crate::format::unit::Unit;
use crate::types::{Bytes, Error, ErrorKind, Metadata, Result, Slot, Span, Time, TraceKind};

/// Importer of mahimahi traces.
pub static FORMAT: Importer = Importer {
    name: "mahimahi",
    about: "one delivery opportunity of 1504 B per line, in whole milliseconds",
    kind: TraceKind::Capacity,
    carries: Carries::NOTHING.capacity(),
    keys: &[TRACE, DECODE_DELAY, RTT],
    recognises: |first| {
        let lines = whole_lines(first).map(<[u8]>::trim_ascii);
        let times: Option<Vec<u64>> = lines
            .clone()
            .map(|line| std::str::from_utf8(line).ok()?.parse().ok())
            .collect();
        // Many digits 0 and 1 in a line are losses of Link'Em, regardless of the number they make.
        let is_binary = |line: &[u8]| line.iter().all(|digit| matches!(digit, b'0' | b'1'));
        if lines.clone().any(|line| line.len() > 8) && lines.clone().all(is_binary) {
            return false;
        }
        // Lines of 0 and 1 are losses.
        times.is_some_and(|times| times.is_sorted() && times.last().is_some_and(|last| *last > 1))
    },
    open: |given, files, note| {
        let mut settings = given.clone();
        let delay = decode_delay(&mut settings, note);
        let mut head = Metadata::new();
        head.set("lldu_bytes", OPPORTUNITY.0.to_string());
        // `LinkQueue::rationalize` of mahimahi serves as many bytes of the queue as an opportunity has room for.
        head.set("packing", "bytes");
        // The rate belongs in the head, so a file is read an extra time for it, which a pipe does not allow.
        if !files.can_reopen(TRACE.name) {
            note(Remark::not_carried(
                "the rate of a pipe is not known in advance; the head gets no rate_bps",
            ));
        } else if let Some(rate) = mean_rate_of(TRACE.name, files)? {
            head.set("rate_bps", rate.to_string());
        }
        set_rtt(&mut head, given, None, note);
        let input = files.open(TRACE.name).map_err(Error::from)?;
        let slots = Box::new(Mahimahi::new(input, delay));
        Ok(Import {
            head,
            settings,
            slots,
        })
    },
};

/// Mean rate of the trace of a key, bit/s, over the period after which mahimahi repeats it, which is its last time.
pub(super) fn mean_rate_of(key: &'static str, files: &mut dyn Files) -> Result<Option<u64>> {
    let mut trace = Mahimahi::new(files.open(key)?, Span::ZERO);
    let (mut last, mut slots) = (Time::ZERO, 0);
    while let Some(slot) = trace.next_slot()? {
        slots += 1;
        last = slot.tx_time();
    }
    Ok(rate_bps(OPPORTUNITY, slots, last.since(Time::ZERO)))
}

/// Size of a delivery opportunity, bytes.
pub const OPPORTUNITY: Bytes = Bytes(1504);

/// Reads the slots of a mahimahi trace.
#[derive(Debug)]
pub struct Mahimahi<R> {
    lines: Lines<R>,
    decode_delay: Span,
    previous: Time,
    /// Whether times that fall are counted instead of refused.
    is_lenient: bool,
    unsorted: u64,
    /// Line of the first time that falls.
    first_unsorted: u64,
}

impl<R: BufRead> Mahimahi<R> {
    /// Reads `input`; every slot gets the decoding delay `decode_delay`.
    pub fn new(input: R, decode_delay: Span) -> Self {
        Self {
            lines: Lines::new(input),
            decode_delay,
            previous: Time::ZERO,
            is_lenient: false,
            unsorted: 0,
            first_unsorted: 0,
        }
    }

    /// Finding on the line ends of the input `file`; `None` if all are LF.
    pub(super) fn line_ends(&self, file: &'static str) -> Option<Finding> {
        self.lines.finding(file)
    }
}

impl<R: BufRead + Send> Slots for Mahimahi<R> {
    fn next_slot(&mut self) -> Result<Option<Slot>> {
        if !self.lines.advance()? {
            if self.lines.line() > 0 && self.previous == Time::ZERO {
                return Err(self.lines.error(ErrorKind::format(
                    "a last opportunity at 0 ms",
                    "a later one, because mahimahi repeats the trace after it",
                )));
            }
            return Ok(None);
        }
        let text = self.lines.text();
        if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
            return Err(self.lines.error(ErrorKind::format(
                format!("'{}'", crate::format::text::shown(text)),
                "a whole number of milliseconds",
            )));
        }
        let tx_time = Time::from_nanos(self.lines.nanos("opportunity", Unit::Milliseconds)?)
            .unwrap_or(Time::MAX);
        let mut tx_time = tx_time;
        if tx_time < self.previous && self.is_lenient {
            self.unsorted += 1;
            if self.unsorted == 1 {
                self.first_unsorted = self.lines.line();
            }
            tx_time = self.previous;
        } else if tx_time < self.previous {
            return Err(self.lines.error(ErrorKind::OutOfOrder {
                previous: self.previous,
                found: tx_time,
            }));
        }
        self.previous = tx_time;
        let slot = Slot::new(tx_time, self.decode_delay);
        slot.map(Some).ok_or_else(|| {
            self.lines.error(ErrorKind::SumTooLarge {
                sum: "time + decode delay",
            })
        })
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.line_ends(TRACE.name).into_iter().collect();
        if self.unsorted > 0 {
            let text = format!(
                "{}: {} before the one of the line before: mahimahi and a conversion refuse them",
                TRACE.name,
                counted(self.unsorted, "time")
            );
            let finding = Finding::of(&UNSORTED_TIMES, self.unsorted, "times", text);
            findings.push(finding.at_line(Some(TRACE.name), self.first_unsorted));
        }
        findings
    }

    fn be_lenient(&mut self) {
        self.is_lenient = true;
    }
}
