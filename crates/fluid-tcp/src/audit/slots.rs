//! The used slots of a coupled link, each with the packet that its unit is of: rules `slots`, `story`, `early` and
//! `repeats` beside a slot log.
//!
//! Both logs are read side by side: a slot has its turn when a row sent after it has been read. A copy is kept until a
//! first transmission goes out at a time at which one more repeat of it would long have gone first: twice the time from
//! an attempt to its repeat.

mod codeword;
mod copy;
mod row;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use tmt_core::types::{Metadata, Span, Time};

use super::head::{self, Head};
use super::lines::{Line, Lines};
use super::refusal::{Refusal, shown};
use super::report::{Ledger, Place, Rule};
use super::row::Row;
use codeword::Attempt;
use copy::Copy;
use row::{Key, Kind, Unit};

/// What the head of a slot log tells beside that of the packet log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rules {
    /// From an attempt's last unit to the repeat that its feedback asks for.
    heard: Span,
    /// The same where feedback is lost, if it can be.
    timer: Option<Span>,
    /// Whether units of one attempt alone count.
    discards: bool,
}

impl Rules {
    fn of(metadata: &Metadata) -> Result<Self, Refusal> {
        let span = |key| head::number(metadata, key, 0).map(Span::from_nanos);
        let span = |key| span(key).map(|span| span.unwrap_or(Span::MAX));
        let timer = metadata.get("feedback_timer_ns");
        Ok(Self {
            heard: span("rtt_ns")?.saturating_add(span("feedback_delay_ns")?),
            timer: timer.map(|_| span("feedback_timer_ns")).transpose()?,
            discards: head::text(metadata, "scheme")?.starts_with("frame-arq"),
        })
    }

    /// From an attempt's last unit to the latest time at which a repeat of it goes before anything new.
    fn latest(&self) -> Span {
        self.timer.map_or(self.heard, |timer| timer.max(self.heard))
    }
}

/// The slots, replayed.
pub(super) struct Slots<'r> {
    lines: Lines<Box<dyn Read + 'r>>,
    head: Head,
    rules: Rules,
    rows: u64,
    /// Whether the end line has been read.
    ended: bool,
    /// The unit that has been read and whose turn has not come.
    next: Option<Unit>,
    previous: Option<Unit>,
    /// The last first transmission.
    newest: Option<Unit>,
    /// The highest number of a codeword.
    codeword: Option<u64>,
    copies: BTreeMap<Key, Copy>,
    /// Those of which there has been a unit, by the time of the last.
    by_last: BTreeSet<(Time, Key)>,
}

impl<'r> Slots<'r> {
    /// Reads the head, which must be that of the run whose packet log has `head`; none where it cannot be used.
    pub(super) fn open(
        log: Box<dyn Read + 'r>,
        head: &Head,
        ledger: &mut Ledger,
    ) -> io::Result<Option<Self>> {
        let mut lines = Lines::new(log);
        let read = head::lines(&mut lines, ledger, Place::of_slots, row::columns)?;
        let Some((metadata, header)) = read else {
            return Ok(None);
        };
        let told = Head::of(&metadata, "slots").and_then(|told| {
            let same = Head {
                columns: head.columns,
                ..told
            };
            if same == *head {
                return Rules::of(&metadata);
            }
            let found = "a head of another run";
            Err(Refusal::new(found, "the head of the packet log's run"))
        });
        let rules = ledger.take(Rule::Form, Place::of_slots(lines.line()), told);
        let Some((rules, ())) = rules.zip(header) else {
            return Ok(None);
        };
        let mut slots = Self {
            lines,
            head: *head,
            rules,
            rows: 0,
            ended: false,
            next: None,
            previous: None,
            newest: None,
            codeword: None,
            copies: BTreeMap::new(),
            by_last: BTreeSet::new(),
        };
        slots.step(ledger)?;
        Ok(Some(slots))
    }

    /// Takes the packet log's next row, after the slots in front of it.
    pub(super) fn on_row(&mut self, row: &Row) {
        if row.enqueued.is_some() && row.fate.is_taken() {
            let key = (row.flow, row.packet, row.copy);
            self.copies.insert(key, Copy::new(row));
        }
    }

    /// Takes in the slots sent before `sent`.
    pub(super) fn until(&mut self, sent: Time, ledger: &mut Ledger) -> io::Result<()> {
        while let Some(unit) = self.next.take_if(|unit| unit.at < sent) {
            self.on_unit(&unit, ledger);
            self.step(ledger)?;
        }
        Ok(())
    }

    /// Takes in the slots that are left; `latest` is the last event that the packet log tells.
    pub(super) fn finish(mut self, latest: Time, ledger: &mut Ledger) -> io::Result<()> {
        while let Some(unit) = self.next.take() {
            self.on_unit(&unit, ledger);
            self.step(ledger)?;
        }
        let line = Place::of_slots(self.lines.line());
        ledger.check(Rule::Form, line, self.ended, || {
            let found = format!(
                "the end of the log after {} rows: the log is cut",
                self.rows
            );
            Refusal::new(found, "more rows or the line '# end: rows=N'")
        });
        let known = self.previous.map_or(latest, |unit| latest.max(unit.at));
        for copy in self.copies.values() {
            copy.judge(&self.head, &self.rules, known, ledger);
        }
        Ok(())
    }

    /// Packets kept.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.copies.len()
    }

    /// Reads on to the next unit.
    fn step(&mut self, ledger: &mut Ledger) -> io::Result<()> {
        while self.next.is_none()
            && let Some((number, line)) = self.lines.next()?
        {
            let place = Place::of_slots(number);
            match line {
                Line::Comment(text) => {
                    let told = text.strip_prefix(" end: rows=");
                    let told = told.and_then(|rows| super::row::whole(rows.as_bytes()));
                    let holds = !self.ended && told == Some(self.rows);
                    ledger.check(Rule::Form, place, holds, || {
                        let expected = format!("'# end: rows={}' once", self.rows);
                        Refusal::new(shown(format!("#{text}").as_bytes()), expected)
                    });
                    self.ended |= told.is_some();
                }
                Line::Fields(fields) => {
                    self.rows += 1;
                    let unit = Unit::parse(fields, number);
                    let behind = || Refusal::new("a row", "nothing behind the end line");
                    let ended = self.ended;
                    let unit = unit.and_then(|unit| (!ended).then_some(unit).ok_or_else(behind));
                    self.next = ledger.take(Rule::Form, place, unit);
                }
            }
        }
        Ok(())
    }

    fn on_unit(&mut self, unit: &Unit, ledger: &mut Ledger) {
        let place = Place::of_slots(unit.line);
        if let Some(before) = self.previous {
            let forward = unit.slot > before.slot && unit.at >= before.at;
            ledger.check(Rule::Slots, place, forward, || {
                let expected = format!(
                    "a slot after {}, not before {}, as each carries one unit",
                    before.slot, before.at
                );
                Refusal::new(format!("slot {} at {}", unit.slot, unit.at), expected)
            });
        }
        if let Some(copy) = self.copies.get_mut(&unit.key) {
            let early = copy.row.enqueued.filter(|enqueued| unit.at < *enqueued);
            ledger.check(Rule::Story, place, early.is_none(), || {
                let expected = early.map(|enqueued| format!("nothing of it before {enqueued}"));
                let found = format!("a unit of {} at {}", unit.whose(), unit.at);
                Refusal::new(found, expected.unwrap_or_default())
            });
            if let Some(last) = copy.latest {
                self.by_last.remove(&(last, unit.key));
            }
            let before = Attempt {
                previous: self.previous,
                newest: self.newest,
                codeword: self.codeword,
            };
            copy.on_unit(unit, &before, &self.rules, ledger);
            self.by_last.insert((unit.at, unit.key));
        } else {
            let (rule, expected) = match unit.kind {
                Kind::Repeat => (Rule::Repeats, "one of a copy under way, in time"),
                _ => (Rule::Story, "one of a copy that waits in the queue"),
            };
            ledger.check(rule, place, false, || {
                let found = format!("a unit of {} at {}", unit.whose(), unit.at);
                Refusal::new(found, expected)
            });
        }
        self.codeword = self.codeword.max(Some(unit.codeword));
        self.previous = Some(*unit);
        if unit.kind != Kind::Repeat {
            self.newest = Some(*unit);
            self.forget(unit, ledger);
        }
    }

    /// Judges the copies of which nothing more may come, now that a first transmission goes out.
    fn forget(&mut self, unit: &Unit, ledger: &mut Ledger) {
        let wait = self.rules.latest();
        let over = |last: &Time| last.saturating_add(wait).saturating_add(wait) <= unit.at;
        let last_slot = |copy: &Copy| copy.row.fate.service().map_or(0, |service| service.last);
        let done: Vec<(Time, Key)> = self
            .by_last
            .iter()
            .take_while(|(last, _)| over(last))
            .filter(|(_, key)| {
                let copy = self.copies.get(key);
                *key != unit.key && copy.is_some_and(|copy| last_slot(copy) < unit.slot)
            })
            .copied()
            .collect();
        for last in done {
            self.by_last.remove(&last);
            if let Some(copy) = self.copies.remove(&last.1) {
                copy.judge(&self.head, &self.rules, Time::MAX, ledger);
            }
        }
    }
}
