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

use tmt_core::scheme::{Combining, SchemeSpec};
use tmt_core::types::{Metadata, Span, Time};

use super::finding::Finding;
use super::head::{Head, Keys};
use super::reader::LogReader;
use super::report::{Log, Rule, RuleTally};
use super::row::Row;
use copy::Copy;
use row::{Key, Kind, Unit};

/// What the head of a slot log tells, beside that of the packet log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rules {
    head: Head,
    /// From an attempt's last unit to the repeat that its feedback asks for.
    heard: Span,
    /// The same where feedback is lost, if it can be.
    timer: Option<Span>,
    /// Whether units of one attempt alone count.
    discards: bool,
}

impl Rules {
    fn of(metadata: &Metadata, head: Head) -> Result<Self, Finding> {
        let keys = Keys(metadata);
        let scheme: SchemeSpec = keys
            .text("scheme")?
            .parse()
            .map_err(|_| keys.unfit("scheme", "a scheme of 'tmt apply --scheme'"))?;
        let delay = keys.span("feedback_delay_ns")?;
        Ok(Self {
            head,
            heard: keys.span("rtt_ns")?.saturating_add(delay),
            timer: keys.optional_span("feedback_timer_ns")?,
            discards: scheme.combining() == Combining::Discard,
        })
    }

    /// From an attempt's last unit to the latest time at which a repeat of it goes before anything new.
    fn latest(&self) -> Span {
        self.timer.map_or(self.heard, |timer| timer.max(self.heard))
    }
}

/// What went before a unit, and the rules of the link.
#[derive(Debug, Clone, Copy)]
struct History {
    rules: Rules,
    previous: Option<Unit>,
    /// The last first transmission.
    newest: Option<Unit>,
    /// The highest number of a codeword.
    codeword: Option<u64>,
}

/// The slots, replayed.
pub(super) struct Slots<'r> {
    log: LogReader<Box<dyn Read + 'r>>,
    history: History,
    /// The unit that has been read and whose turn has not come.
    next: Option<Unit>,
    copies: BTreeMap<Key, Copy>,
    /// Those of which there has been a unit, by the time of the last.
    by_last: BTreeSet<(Time, Key)>,
}

impl<'r> Slots<'r> {
    /// Reads the head, which must be that of the run whose packet log has `head`; none where it cannot be used.
    pub(super) fn open(
        log: Box<dyn Read + 'r>,
        head: &Head,
        tally: &mut RuleTally,
    ) -> io::Result<Option<Self>> {
        let mut log = LogReader::new(Log::Slots, log);
        let Some(metadata) = log.head(&[row::COLUMNS], tally)? else {
            return Ok(None);
        };
        let rules = Head::of(&metadata, "slots").and_then(|told| {
            if told == *head {
                return Rules::of(&metadata, told);
            }
            let found = "a head of another run";
            Err(Finding::new(found, "the head of the packet log's run"))
        });
        let rules = tally.take(Rule::Form, log.place(), rules);
        let Some(rules) = rules.filter(|_| log.has_columns()) else {
            return Ok(None);
        };
        let history = History {
            rules,
            previous: None,
            newest: None,
            codeword: None,
        };
        let mut slots = Self {
            log,
            history,
            next: None,
            copies: BTreeMap::new(),
            by_last: BTreeSet::new(),
        };
        slots.step(tally)?;
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
    pub(super) fn until(&mut self, sent: Time, tally: &mut RuleTally) -> io::Result<()> {
        while let Some(unit) = self.next.take_if(|unit| unit.at < sent) {
            self.on_unit(&unit, tally);
            self.step(tally)?;
        }
        Ok(())
    }

    /// Takes in the slots that are left; `latest` is the last event that the packet log tells.
    pub(super) fn finish(mut self, latest: Time, tally: &mut RuleTally) -> io::Result<()> {
        while let Some(unit) = self.next.take() {
            self.on_unit(&unit, tally);
            self.step(tally)?;
        }
        self.log.check_end(tally);
        let previous = self.history.previous;
        let known = previous.map_or(latest, |unit| latest.max(unit.at));
        for copy in self.copies.values() {
            copy.judge(&self.history.rules, known, tally);
        }
        Ok(())
    }

    /// Packets kept.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.copies.len()
    }

    /// Reads on to the next unit.
    fn step(&mut self, tally: &mut RuleTally) -> io::Result<()> {
        while self.next.is_none() && self.log.next_row(tally)? {
            let place = self.log.place();
            if !self.log.has_ended() {
                let fields = self.log.fields();
                let unit = fields.and_then(|fields| Unit::parse(fields, place));
                self.next = tally.take(Rule::Form, place, unit);
            }
        }
        Ok(())
    }

    fn on_unit(&mut self, unit: &Unit, tally: &mut RuleTally) {
        if let Some(Unit { slot, at, .. }) = self.history.previous {
            let forward = unit.slot > slot && unit.at >= at;
            tally.check(Rule::Slots, unit.place, forward, || {
                let found = format!("slot {} at {}", unit.slot, unit.at);
                let expected =
                    format!("a slot after {slot}, not before {at}, as each carries one unit");
                Finding::new(found, expected)
            });
        }
        let found = || format!("a unit of {} at {}", unit.whose(), unit.at);
        if let Some(copy) = self.copies.get_mut(&unit.key) {
            let early = copy.row.enqueued.filter(|enqueued| unit.at < *enqueued);
            tally.check(Rule::Story, unit.place, early.is_none(), || {
                let expected = early.map(|enqueued| format!("nothing of it before {enqueued}"));
                Finding::new(found(), expected.unwrap_or_default())
            });
            if let Some(last) = copy.latest {
                self.by_last.remove(&(last, unit.key));
            }
            copy.on_unit(unit, &self.history, tally);
            self.by_last.insert((unit.at, unit.key));
        } else {
            let (rule, expected) = match unit.kind {
                Kind::Repeat => (Rule::Repeats, "one of a copy under way, in time"),
                _ => (Rule::Story, "one of a copy that waits in the queue"),
            };
            tally.check(rule, unit.place, false, || Finding::new(found(), expected));
        }
        let history = &mut self.history;
        history.codeword = history.codeword.max(Some(unit.codeword));
        history.previous = Some(*unit);
        if unit.kind != Kind::Repeat {
            history.newest = Some(*unit);
            self.forget(unit, tally);
        }
    }

    /// Judges the copies of which nothing more may come, now that a first transmission goes out.
    fn forget(&mut self, unit: &Unit, tally: &mut RuleTally) {
        let wait = self.history.rules.latest();
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
                copy.judge(&self.history.rules, Time::MAX, tally);
            }
        }
    }
}
