//! The used slots of a coupled link, each with the packet that its unit is of: rules `slots`, `story`, `early` and
//! `repeats` beside a slot log.
//!
//! Both logs are read side by side: a slot has its turn when a row sent after it has been read. A copy is kept until a
//! first transmission goes out at a time at which one more repeat of it would long have gone first: twice the time from
//! an attempt to its repeat.

mod codeword;
mod row;
mod transmission;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use tmt_core::scheme::{Combining, SchemeSpec};
use tmt_core::types::{Metadata, Span, Time};

use super::finding::Finding;
use super::head::{Head, Keys};
use super::reader::LogReader;
use super::report::{Log, Rule, RuleTally};
use super::row::Row;
use row::{Key, Kind, Unit};
use transmission::Transmission;

/// What the head of a slot log tells, beside that of the packet log, and what went before a unit.
#[derive(Debug, Clone, Copy)]
struct History {
    head: Head,
    /// From an attempt's last unit to the repeat that its feedback asks for.
    heard: Span,
    /// The same where feedback is lost, if it can be.
    timer: Option<Span>,
    /// Whether units of one attempt alone count.
    discards: bool,
    previous: Option<Unit>,
    /// The last first transmission.
    newest: Option<Unit>,
    /// The highest number of a codeword.
    codeword: Option<u64>,
}

impl History {
    /// Of a slot log whose head must be that of the run whose packet log has `head`.
    fn of(metadata: &Metadata, head: Head) -> Result<Self, Finding> {
        if Head::of(metadata, "slots")? != head {
            let found = "a head of another run";
            return Err(Finding::new(found, "the head of the packet log's run"));
        }
        let keys = Keys(metadata);
        let scheme = keys.text("scheme")?.parse::<SchemeSpec>();
        let scheme =
            scheme.map_err(|_| keys.unfit("scheme", "a scheme of 'tmt apply --scheme'"))?;
        let delay = keys.span("feedback_delay_ns")?;
        Ok(Self {
            head,
            heard: keys.span("rtt_ns")?.saturating_add(delay),
            timer: keys.optional_span("feedback_timer_ns")?,
            discards: scheme.combining() == Combining::Discard,
            previous: None,
            newest: None,
            codeword: None,
        })
    }

    /// From an attempt's last unit to the latest time at which a repeat of it goes before anything new.
    fn latest(&self) -> Span {
        self.timer.map_or(self.heard, |timer| timer.max(self.heard))
    }
}

/// The slots, replayed.
pub(super) struct Slots<'r> {
    log: LogReader<Box<dyn Read + 'r>>,
    history: History,
    /// The unit that has been read and whose turn has not come.
    next: Option<Unit>,
    pub(super) transmissions: BTreeMap<Key, Transmission>,
    /// Those of which there has been a unit, by the time of the last.
    by_last: BTreeSet<(Time, Key)>,
}

impl<'r> Slots<'r> {
    /// Reads the head of a slot log beside a packet log with `head`; none where it cannot be used.
    pub(super) fn open(
        log: Box<dyn Read + 'r>,
        head: Head,
        tally: &mut RuleTally,
    ) -> io::Result<Option<Self>> {
        let mut log = LogReader::new(Log::Slots, log);
        let of = |metadata: &Metadata| History::of(metadata, head);
        let Some(history) = log.head((row::HEADER, [""; 3]), tally, of)? else {
            return Ok(None);
        };
        let mut slots = Self {
            log,
            history,
            next: None,
            transmissions: BTreeMap::new(),
            by_last: BTreeSet::new(),
        };
        slots.step(tally)?;
        Ok(Some(slots))
    }

    /// Takes the packet log's next row, after the slots in front of it.
    pub(super) fn on_row(&mut self, row: Row) {
        if row.enqueued.is_some() && row.fate.is_taken() {
            let key = (row.flow, row.packet, row.copy);
            self.transmissions.insert(key, Transmission::new(row));
        }
    }

    /// Takes in the slots sent before a time, or all.
    pub(super) fn until(&mut self, time: Option<Time>, tally: &mut RuleTally) -> io::Result<()> {
        let is_due = |unit: &mut Unit| time.is_none_or(|time| unit.at < time);
        while let Some(unit) = self.next.take_if(is_due) {
            self.on_unit(&unit, tally);
            self.step(tally)?;
        }
        Ok(())
    }

    /// Takes in the slots that are left; `latest` is the last event that the packet log tells.
    pub(super) fn finish(mut self, latest: Time, tally: &mut RuleTally) -> io::Result<()> {
        self.until(None, tally)?;
        self.log.check_end(tally);
        let previous = self.history.previous;
        let known = previous.map_or(latest, |unit| latest.max(unit.at));
        for copy in self.transmissions.values() {
            copy.judge(&self.history, known, tally);
        }
        Ok(())
    }

    /// Reads on to the next unit.
    fn step(&mut self, tally: &mut RuleTally) -> io::Result<()> {
        while self.next.is_none() && self.log.next_row(tally)? {
            if !self.log.ended {
                let location = self.log.location;
                let unit = self.log.fields();
                let unit = unit.and_then(|fields| Unit::parse(fields, location));
                self.next = tally.at(Rule::Form, location).take(unit);
            }
        }
        Ok(())
    }

    fn on_unit(&mut self, unit: &Unit, tally: &mut RuleTally) {
        if let Some(Unit { slot, at, .. }) = self.history.previous {
            let forward = unit.slot > slot && unit.at >= at;
            let found = format_args!("slot {} at {}", unit.slot, unit.at);
            let expected =
                format_args!("a slot after {slot}, not before {at}, as each carries one unit");
            let mut slots = tally.at(Rule::Slots, unit.location);
            slots.check(forward, found, expected);
        }
        let ((flow, packet, copy), at) = (unit.key, unit.at);
        let found = format_args!("a unit of flow {flow} packet {packet} copy {copy} at {at}");
        if let Some(copy) = self.transmissions.get_mut(&unit.key) {
            let early = copy.row.enqueued.filter(|enqueued| unit.at < *enqueued);
            let expected = early.map(|enqueued| format!("nothing of it before {enqueued}"));
            tally.at(Rule::Story, unit.location).refuse(found, expected);
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
            tally.at(rule, unit.location).check(false, found, expected);
        }
        let history = &mut self.history;
        history.codeword = history.codeword.max(Some(unit.codeword));
        history.previous = Some(*unit);
        if unit.kind != Kind::Repeat {
            history.newest = Some(*unit);
            self.forget(unit, tally);
        }
    }

    /// Judges the transmissions of which nothing more may come, now that a first transmission goes out.
    fn forget(&mut self, unit: &Unit, tally: &mut RuleTally) {
        let history = self.history;
        let wait = history.latest().saturating_add(history.latest());
        let is_over = |(_, key): &(Time, Key)| {
            let service = self.transmissions.get(key).map(|copy| copy.row.service);
            let served = service.is_some_and(|it| it.map_or(0, |it| it.last) < unit.slot);
            *key != unit.key && served
        };
        let waited = |(last, _): &&(Time, Key)| last.saturating_add(wait) <= unit.at;
        let by_last = self.by_last.iter().take_while(waited).copied();
        for over in by_last.filter(is_over).collect::<Vec<_>>() {
            self.by_last.remove(&over);
            if let Some(copy) = self.transmissions.remove(&over.1) {
                copy.judge(&history, Time::MAX, tally);
            }
        }
    }
}
