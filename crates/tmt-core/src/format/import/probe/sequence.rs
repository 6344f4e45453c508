//! The order of sending: from records in the order of a file to packets by number, with those that are missing.
//!
//! A number without a record is a lost packet, as is one that is only said to be lost. Its send time lies on the line between its neighbours. Records may come
//! late by up to [`WINDOW`] others, which bounds the memory.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::super::finding::{Finding, counted};
use super::{Fate, INTERVAL, Record, Records};
use crate::format::import::catalogue::{
    CLOCK_STEPS, DUPLICATES, LATE_BEYOND_WINDOW, LOSSES_AT_ENDS_UNKNOWN, MISSING_NUMBERS,
    NOTHING_RECEIVED, REORDERED, SUMMARY_DIFFERS, TIMES_RAISED,
};
use crate::types::{ErrorKind, Result, Span};

/// Records that are held back because one that was sent earlier may follow.
const WINDOW: usize = 4096;

/// Most numbers in a row that may be missing; more are an error of the file rather than losses.
const MOST_MISSING: i128 = 10_000_000;

/// Least step of a clock, ns: a send time that differs by more from the one expected by the mean distance so far, and by
/// more than [`STEP_DISTANCES`] such distances.
const LEAST_STEP: i128 = 1_000_000_000;

/// As many mean distances are no step of a clock.
const STEP_DISTANCES: i128 = 3;

/// By so much a send time may be before the one of the packet before without being a step of a clock, ns: the round trips
/// that ping prints are rounded to 1 ms from 100 ms on.
const ROUNDING: i128 = 1_000_000;

/// A packet whose record was read.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Number, or position in the file.
    number: i128,
    /// ns since any time; 0 if times are not used.
    sent: i128,
    fate: Fate,
    /// Line of its record; 0 if it is not known.
    line: u64,
}

/// Missing numbers from `next` to before `until`, sent on a line: `time` at `number`, `rise` ns every `run` packets.
#[derive(Debug)]
struct Missing {
    next: i128,
    until: i128,
    number: i128,
    time: i128,
    rise: i128,
    run: i128,
}

impl Missing {
    fn next(&mut self) -> Option<i128> {
        (self.next < self.until).then(|| {
            let since = self.next - self.number;
            self.next += 1;
            self.time + (self.rise * since).div_euclid(self.run)
        })
    }
}

/// Counts of peculiarities of numbers and times.
#[derive(Debug, Default)]
struct Odd {
    missing: u64,
    duplicates: u64,
    reordered: u64,
    late: u64,
    steps: u64,
    steps_back: u64,
    /// The largest step, ns.
    largest_step: i128,
    raised: u64,
    received: u64,
    /// Packets sent, if none of them was received.
    nothing: u64,
    /// Lines of the first of each.
    first_missing: u64,
    first_duplicate: u64,
    first_reordered: u64,
    first_late: u64,
    first_step: u64,
}

/// Counts one, and keeps the line of the first.
fn count(number: &mut u64, first: &mut u64, line: u64) {
    if *number == 0 {
        *first = line;
    }
    *number += 1;
}

/// Puts records into the order of sending.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent facts about the records and how far they were read"
)]
pub(super) struct Sequence {
    records: Box<dyn Records>,
    /// The first record that can have a time.
    peeked: Option<Record>,
    interval: Option<i128>,
    has_numbers: bool,
    /// Records by number, or by time if there are no numbers.
    pending: BTreeMap<(i128, u64), Held>,
    /// Records read.
    read: u64,
    /// Whether all records were read.
    ended: bool,
    /// Highest number so far.
    highest: Option<i128>,
    /// The lowest number that is known to have been sent, and the one after the highest.
    known_from: i128,
    known_until: i128,
    missing: Option<Missing>,
    ready: Option<Held>,
    /// First and last packet in the order of sending, with the times as read.
    first: Option<Held>,
    last: Option<Held>,
    /// Sum of all steps of the clock, ns.
    stepped: i128,
    /// Time of the first slot.
    zero: Option<i128>,
    /// Time of the last slot.
    now: i128,
    /// Whether the packets after the last one received were returned.
    closed: bool,
    /// Whether a file without a received packet is only odd.
    is_lenient: bool,
    odd: Odd,
}

impl Sequence {
    /// Reads `records`; with an interval packet number n is sent at n × interval, regardless of the times in the file.
    pub(super) fn new(records: Box<dyn Records>, interval: Option<Span>) -> Self {
        Self {
            records,
            peeked: None,
            interval: interval.map(|interval| i128::from(interval.as_nanos())),
            has_numbers: true,
            pending: BTreeMap::new(),
            read: 0,
            ended: false,
            highest: None,
            known_from: i128::MAX,
            known_until: i128::MIN,
            missing: None,
            ready: None,
            first: None,
            last: None,
            stepped: 0,
            zero: None,
            now: i128::MIN,
            closed: false,
            is_lenient: false,
            odd: Odd::default(),
        }
    }

    /// Makes findings of what it can pass over.
    pub(super) fn be_lenient(&mut self) {
        self.is_lenient = true;
        self.records.be_lenient();
    }

    /// Line of the packet returned last, if it has a record; 0 if that is not known.
    pub(super) fn line(&self) -> u64 {
        self.last
            .map_or_else(|| self.records.line(), |last| last.line)
    }

    /// The records themselves.
    pub(super) fn records(&self) -> &dyn Records {
        &*self.records
    }

    /// Whether the records have numbers. Call [`Self::has_times`] first.
    pub(super) fn has_numbers(&self) -> bool {
        self.has_numbers
    }

    /// Whether the records have send times; `None` if there is no record that could. Reads the first of these.
    ///
    /// # Errors
    /// Those of the records.
    pub(super) fn has_times(&mut self) -> Result<Option<bool>> {
        while let Some(record) = self.records.next_record()? {
            self.has_numbers = record.number.is_some();
            if record.number.is_none() || record.sent.is_some() || record.fate != Fate::Lost {
                self.peeked = Some(record);
                return Ok(Some(record.sent.is_some()));
            }
            self.hold(record)?;
        }
        self.ended = true;
        Ok(None)
    }

    /// The next packet in the order of sending: ns since the first one, and what became of it.
    ///
    /// # Errors
    /// Those of the records, numbers that are too far apart, or no received packet at all.
    pub(super) fn next(&mut self) -> Result<Option<(i128, Fate)>> {
        loop {
            if let Some(time) = self.missing.as_mut().and_then(Missing::next) {
                self.odd.missing += 1;
                return Ok(Some((self.slot_time(time), Fate::Lost)));
            }
            self.missing = None;
            if let Some(held) = self.ready.take() {
                self.odd.received += u64::from(held.fate != Fate::Lost);
                return Ok(Some((self.slot_time(held.sent), held.fate)));
            }
            if !self.advance()? {
                return Ok(None);
            }
        }
    }

    /// Time of the next slot since the first one. Times do not fall.
    fn slot_time(&mut self, time: i128) -> i128 {
        let zero = *self.zero.get_or_insert(time);
        self.odd.raised += u64::from(time < self.now);
        self.now = self.now.max(time);
        self.now - zero
    }

    /// Prepares the next packet with a record and the missing ones before it, or those after the last; false at the end.
    fn advance(&mut self) -> Result<bool> {
        while !self.ended && self.pending.len() <= WINDOW {
            let record = match self.peeked.take() {
                Some(record) => Some(record),
                None => self.records.next_record()?,
            };
            match record {
                // Without numbers and times there is nothing to wait for.
                Some(record) if record.number.is_none() && record.sent.is_none() => {
                    self.follow(record)?;
                    return Ok(true);
                }
                Some(record) => self.hold(record)?,
                None => self.ended = true,
            }
        }
        match self.pending.pop_first() {
            Some((_, held)) => self.place(held).map(|()| true),
            None if self.closed => Ok(false),
            None => self.close(),
        }
    }

    /// Takes a record that follows the one before it.
    fn follow(&mut self, record: Record) -> Result<()> {
        let Some(interval) = self.interval else {
            let kind = ErrorKind::format("a packet without a time", "a time, as of those before");
            return Err(self.records.error(kind));
        };
        let number = i128::from(self.read);
        self.read += 1;
        self.ready = Some(Held {
            number,
            sent: number * interval,
            fate: record.fate,
            line: self.records.line(),
        });
        Ok(())
    }

    /// Holds a record back until those that were sent before it must have been read.
    fn hold(&mut self, record: Record) -> Result<()> {
        let is_lost = record.fate == Fate::Lost;
        let number = record.number.map(|number| self.unwrapped(number));
        if let Some(number) = number {
            self.known_from = self.known_from.min(number);
            self.known_until = self.known_until.max(number + 1);
        }
        let sent = match (number, self.interval, record.sent) {
            // A number that is known to be lost is a missing one, unless it has a time of its own.
            (Some(_), _, None) if is_lost => return Ok(()),
            (Some(number), Some(interval), _) => number * interval,
            (_, _, Some(sent)) => i128::from(sent),
            _ => {
                let kind =
                    ErrorKind::format("a packet without a time", "a time, as of those before");
                return Err(self.records.error(kind));
            }
        };
        let (key, number) = match number {
            Some(number) => ((number, 0), number),
            None => ((sent, self.read), 0),
        };
        self.read += 1;
        let is_behind = self.highest.is_some_and(|highest| key.0 < highest);
        let held = Held {
            number,
            sent,
            fate: record.fate,
            line: self.records.line(),
        };
        let line = held.line;
        let is_emitted = self.last.is_some_and(|last| {
            let last = if self.has_numbers {
                last.number
            } else {
                last.sent
            };
            key.0 < last || (key.0 == last && self.has_numbers)
        });
        if is_emitted {
            if !is_lost {
                count(&mut self.odd.late, &mut self.odd.first_late, line);
            }
            return Ok(());
        }
        match self.pending.entry(key) {
            Entry::Vacant(place) => {
                place.insert(held);
                if is_behind && !is_lost {
                    count(&mut self.odd.reordered, &mut self.odd.first_reordered, line);
                }
                self.highest = Some(self.highest.map_or(key.0, |highest| highest.max(key.0)));
            }
            // An answer after it was given up.
            Entry::Occupied(mut place) if place.get().fate == Fate::Lost && !is_lost => {
                place.insert(held);
                if is_behind {
                    count(&mut self.odd.reordered, &mut self.odd.first_reordered, line);
                }
            }
            Entry::Occupied(_) if is_lost => {}
            Entry::Occupied(_) => {
                count(
                    &mut self.odd.duplicates,
                    &mut self.odd.first_duplicate,
                    line,
                );
            }
        }
        Ok(())
    }

    /// The number without the wraps of the counter: the one nearest to the highest so far.
    fn unwrapped(&self, number: u64) -> i128 {
        let number = i128::from(number);
        let (Some(modulus), true) = (self.records.modulus(), self.known_until > i128::MIN) else {
            return number;
        };
        let (modulus, last) = (i128::from(modulus), self.known_until - 1);
        let ahead = (number - last).rem_euclid(modulus);
        last + if ahead >= modulus / 2 {
            ahead - modulus
        } else {
            ahead
        }
    }

    /// Makes `held` the next packet, after those missing before it.
    fn place(&mut self, mut held: Held) -> Result<()> {
        if !self.has_numbers {
            held.number = self.last.map_or(0, |last| last.number + 1);
        }
        let Some(last) = self.last else {
            self.first = Some(held);
            self.last = Some(held);
            self.ready = Some(held);
            return self.lead(held);
        };
        self.watch_clock(last, held);
        let missing = held.number - last.number - 1;
        if missing > 0 {
            self.check_missing(missing, last.number, held.number)?;
            if self.odd.first_missing == 0 {
                self.odd.first_missing = held.line;
            }
            // Times that fall are raised, and with them those between.
            let from = last.sent.max(self.now);
            self.missing = Some(Missing {
                next: last.number + 1,
                until: held.number,
                number: last.number,
                time: from,
                rise: (held.sent - from).max(0),
                run: held.number - last.number,
            });
        }
        self.last = Some(held);
        self.ready = Some(held);
        Ok(())
    }

    /// Prepares the packets before the first one with a record.
    fn lead(&mut self, first: Held) -> Result<()> {
        let stated = self.records.totals().first.map_or(i128::MAX, i128::from);
        let begin = stated.min(self.known_from);
        if !self.has_numbers || begin >= first.number {
            return Ok(());
        }
        let missing = first.number - begin;
        self.check_missing(missing, first.number - missing - 1, first.number)?;
        let next = self.pending.values().next();
        let (rise, run) = match (self.interval, next) {
            (Some(interval), _) => (interval, 1),
            (None, Some(next)) => ((next.sent - first.sent).max(0), next.number - first.number),
            (None, None) => return Err(self.unplaced(missing)),
        };
        self.missing = Some(Missing {
            next: first.number - missing,
            until: first.number,
            number: first.number,
            time: first.sent,
            rise,
            run,
        });
        Ok(())
    }

    /// Prepares the packets after the last one with a record; false if there are none.
    fn close(&mut self) -> Result<bool> {
        self.closed = true;
        let totals = self.records.totals();
        let stated = totals
            .first
            .zip(totals.sent)
            .map(|(first, sent)| i128::from(first) + i128::from(sent));
        let until = self.known_until.max(stated.unwrap_or(i128::MIN));
        let (Some(first), Some(last)) = (self.first, self.last) else {
            let sent = totals.sent.unwrap_or(0);
            let is_known = sent > 0 || self.known_until > i128::MIN;
            if self.is_lenient && self.read == 0 && is_known {
                let known = self.known_until.saturating_sub(self.known_from);
                self.odd.nothing = sent.max(u64::try_from(known).unwrap_or(0));
                return Ok(false);
            }
            if self.read == 0 && is_known {
                let kind = ErrorKind::format(
                    match sent {
                        0 => "no received packet".to_owned(),
                        _ => format!("no received packet among {sent} sent"),
                    },
                    "at least one: without it neither delays nor send times are known",
                );
                return Err(self.records.error(kind));
            }
            return Ok(false);
        };
        if !self.has_numbers || until <= last.number + 1 {
            return Ok(false);
        }
        let missing = until - last.number - 1;
        self.check_missing(missing, last.number, until)?;
        let (rise, run) = match self.interval {
            Some(interval) => (interval, 1),
            None if last.number > first.number => (
                (last.sent - first.sent - self.stepped).max(0),
                last.number - first.number,
            ),
            None => return Err(self.unplaced(missing)),
        };
        self.missing = Some(Missing {
            next: last.number + 1,
            until,
            number: last.number,
            time: last.sent.max(self.now),
            rise,
            run,
        });
        Ok(true)
    }

    /// Counts a step of the clock between two packets.
    fn watch_clock(&mut self, last: Held, held: Held) {
        let (Some(first), None, true) = (self.first, self.interval, self.has_numbers) else {
            return;
        };
        let elapsed = held.sent - last.sent;
        let (rise, run) = (
            last.sent - first.sent - self.stepped,
            last.number - first.number,
        );
        let mean = if run > 0 {
            rise / run
        } else {
            elapsed.max(0) / (held.number - last.number)
        };
        let step = elapsed - mean * (held.number - last.number);
        let is_back = elapsed < -ROUNDING;
        if is_back || (run > 0 && step.abs() > LEAST_STEP.max(STEP_DISTANCES * mean)) {
            count(&mut self.odd.steps, &mut self.odd.first_step, held.line);
            self.odd.steps_back += u64::from(is_back);
            self.stepped += step;
            if step.abs() > self.odd.largest_step.abs() {
                self.odd.largest_step = step;
            }
        }
    }

    fn check_missing(&self, missing: i128, last: i128, next: i128) -> Result<()> {
        if missing <= MOST_MISSING {
            return Ok(());
        }
        let found = format!("packet {next} after packet {last}");
        let expected = format!("at most {MOST_MISSING} missing numbers between two packets");
        Err(self.records.error(ErrorKind::format(found, expected)))
    }

    fn unplaced(&self, missing: i128) -> crate::types::Error {
        let found = format!("1 received packet and {missing} lost ones without a time");
        let expected = "two received packets, between whose times lost ones are placed";
        self.records.error(ErrorKind::format(found, expected))
    }

    /// Findings on numbers, times and totals.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let odd = &self.odd;
        let mut note = |known, count: u64, line, text: String| {
            if count > 0 {
                let finding = Finding::of(known, count, "packets", text);
                findings.push(finding.at_line(None, line));
            }
        };
        note(
            &MISSING_NUMBERS,
            odd.missing,
            odd.first_missing,
            format!(
                "{} by missing numbers: lost, sent at times on the line between their neighbours",
                counted(odd.missing, "packet")
            ),
        );
        note(
            &DUPLICATES,
            odd.duplicates,
            odd.first_duplicate,
            format!(
                "{} more than once; the first answer counts",
                counted(odd.duplicates, "packet")
            ),
        );
        note(
            &REORDERED,
            odd.reordered,
            odd.first_reordered,
            format!(
                "{} after a later one; the trace is in the order of sending",
                counted(odd.reordered, "packet")
            ),
        );
        if odd.late > 0 {
            let text = format!(
                "{} after more than {WINDOW} later ones or again so late, and ignored",
                counted(odd.late, "packet")
            );
            let finding = Finding::of(&LATE_BEYOND_WINDOW, odd.late, "packets", text);
            findings.push(finding.at_line(None, odd.first_late).not_carried());
        }
        if odd.nothing > 0 {
            let text = format!(
                "no answer to {}: neither delays nor send times are known, and there is nothing to convert",
                counted(odd.nothing, "packet")
            );
            findings.push(Finding::of(&NOTHING_RECEIVED, odd.nothing, "packets", text));
        }
        if odd.steps > 0 {
            let sign = if odd.largest_step < 0 { "-" } else { "" };
            let largest = u64::try_from(odd.largest_step.unsigned_abs()).ok();
            let largest = largest.and_then(Span::from_nanos).unwrap_or(Span::MAX);
            let kept = if odd.steps_back > 0 {
                "send times that go back are raised to the one before"
            } else {
                "the times are kept"
            };
            let text = format!(
                "{}: a send time differs from the one expected by the mean distance by {sign}{largest}; {kept} (`{}` gives times without steps)",
                counted(odd.steps, "clock step"),
                INTERVAL.name
            );
            let finding = Finding::of(&CLOCK_STEPS, odd.steps, "steps", text);
            let finding = finding.at_line(None, odd.first_step);
            findings.push(if odd.steps_back > 0 {
                finding.not_carried()
            } else {
                finding
            });
        } else if odd.raised > 0 {
            let text = format!(
                "{} by up to 1 ms before the one before, raised to it",
                counted(odd.raised, "send time")
            );
            findings.push(Finding::of(&TIMES_RAISED, odd.raised, "packets", text));
        }
        findings.extend(self.doubts_on_totals());
        findings
    }

    /// Findings on losses before the first and after the last packet that the file does not state, and on statements that differ
    /// from its lines.
    fn doubts_on_totals(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !self.has_numbers || !self.closed {
            return findings;
        }
        let totals = self.records.totals();
        let mut unknown = Vec::new();
        if totals.first.is_none() {
            unknown.push("before the first");
        }
        if totals.first.and(totals.sent).is_none() {
            unknown.push("after the last");
        }
        if !unknown.is_empty() {
            let count = unknown.len() as u64;
            let text = format!(
                "how many packets were lost {} one received is unknown: the input does not say how many were sent",
                unknown.join(" and ")
            );
            let finding = Finding::of(&LOSSES_AT_ENDS_UNKNOWN, count, "ends", text);
            findings.push(finding.not_carried());
        }
        if let Some(stated) = totals
            .received
            .filter(|stated| *stated != self.odd.received)
        {
            let text = format!(
                "the summary says {stated} received, the lines have {}: lines are missing, or belong to another run",
                self.odd.received
            );
            let off = stated.abs_diff(self.odd.received);
            findings.push(Finding::of(&SUMMARY_DIFFERS, off, "packets", text));
        }
        findings
    }
}
