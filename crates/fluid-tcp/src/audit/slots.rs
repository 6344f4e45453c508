//! The used slots of a coupled link and their packets: rules `slots`, `story`, `early` and `repeats` with a slot log.
//!
//! Both logs are read in step: a slot is processed once a row sent after it has been read. A transmission is kept until
//! no repeat of it can follow. That is when a new unit is sent at least twice the time from an attempt to its repeat
//! after the transmission's last unit.

mod codeword;
mod order;
mod row;
mod transmission;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use tmt_core::types::{Metadata, Time};

use super::finding::ensure;
use super::head::{self, Head};
use super::reader::LogReader;
use super::report::{Log, Rule, RuleTally};
use super::row::Row;
use order::Order;
use row::{Key, Kind, Unit};
use transmission::Transmission;

/// Settings of the run, and the units before the current one.
#[derive(Debug, Clone, Copy, Default)]
struct History {
    head: Head,
    previous: Option<Unit>,
    /// The latest unit of a first transmission.
    newest: Option<Unit>,
    /// The highest codeword number so far.
    codeword: Option<u64>,
}

impl History {
    /// Whether each attempt counts alone.
    fn discards(&self) -> bool {
        self.head.scheme.is_some_and(|scheme| scheme.discards)
    }

    /// The last attempt of a codeword, from 1; `None` without a limit.
    fn last_attempt(&self) -> Option<u64> {
        self.head.scheme?.last_attempt
    }
}

/// State of the replayed slots.
pub(super) struct Slots<'r> {
    log: LogReader<Box<dyn Read + 'r>>,
    history: History,
    /// The unit that has been read but not processed.
    next: Option<Unit>,
    pub(super) transmissions: BTreeMap<Key, Transmission>,
    /// The transmissions with at least one unit, by the time of the last unit.
    by_last: BTreeSet<(Time, Key)>,
    /// `None` if packets are not kept in order, or if lost feedback leaves open which repeats were necessary.
    order: Option<Order>,
}

impl<'r> Slots<'r> {
    /// Reads the head of the slot log of a packet log with `head`; `None` if it cannot be used.
    pub(super) fn open(
        log: Box<dyn Read + 'r>,
        head: &Head,
        tally: &mut RuleTally,
    ) -> io::Result<Option<Self>> {
        let mut log = LogReader::new(Log::Slots, log);
        let of = |metadata: &Metadata| {
            let is_same = head::settings(metadata, "slots")?.head == *head;
            let expected = "the head of the packet log's run";
            ensure(is_same, "the head of another run", expected)
        };
        if log.head((row::HEADER, &[""]), tally, of)?.is_none() {
            return Ok(None);
        }
        let mut slots = Self {
            log,
            history: History {
                head: *head,
                ..History::default()
            },
            next: None,
            transmissions: BTreeMap::new(),
            by_last: BTreeSet::new(),
            order: head
                .in_order
                .filter(|_| head.feedback_timer.is_none())
                .map(Order::new),
        };
        slots.step(tally)?;
        Ok(Some(slots))
    }

    /// Processes the packet log's next row, after all slots before it.
    pub(super) fn on_row(&mut self, row: Row) {
        if row.enqueued.is_some() && row.fate.is_taken() {
            let key = (row.flow, row.packet, row.copy);
            self.transmissions.insert(key, Transmission::new(row));
        }
    }

    /// Processes the slots sent before a time, or all if it is `None`.
    pub(super) fn until(&mut self, time: Option<Time>, tally: &mut RuleTally) -> io::Result<()> {
        let is_due = |unit: &mut Unit| time.is_none_or(|time| unit.at < time);
        while let Some(unit) = self.next.take_if(is_due) {
            self.on_unit(&unit, tally);
            self.step(tally)?;
        }
        Ok(())
    }

    /// Processes all remaining slots; `latest` is the last event of the packet log.
    pub(super) fn finish(mut self, latest: Time, tally: &mut RuleTally) -> io::Result<()> {
        self.until(None, tally)?;
        self.log.check_end(tally);
        let previous = self.history.previous;
        let known = previous.map_or(latest, |unit| latest.max(unit.at));
        for copy in self.transmissions.values() {
            copy.settle(&self.history, known, self.order.as_mut(), tally);
        }
        Ok(())
    }

    /// Reads the next unit, if none waits.
    fn step(&mut self, tally: &mut RuleTally) -> io::Result<()> {
        while self.next.is_none() && self.log.next_row(tally)? {
            if !self.log.ended {
                let location = self.log.location;
                self.next = tally.at(Rule::Form, location).take(Unit::of(&self.log));
            }
        }
        Ok(())
    }

    fn on_unit(&mut self, unit: &Unit, tally: &mut RuleTally) {
        if let Some(Unit { slot, at, .. }) = self.history.previous {
            let forward = unit.slot > slot && unit.at >= at;
            let found = format_args!("slot {} at {}", unit.slot, unit.at);
            let expected =
                format_args!("a slot after {slot}, not before {at}: a slot carries one unit");
            let mut slots = tally.at(Rule::Slots, unit.location);
            slots.check(forward, found, expected);
        }
        let ((flow, packet, copy), at) = (unit.key, unit.at);
        let found = format_args!("a unit of flow {flow} packet {packet} copy {copy} at {at}");
        if let Some(copy) = self.transmissions.get_mut(&unit.key) {
            let early = copy.row.enqueued.filter(|enqueued| unit.at < *enqueued);
            let expected =
                early.map(|enqueued| format!("no unit before {enqueued}, when it was enqueued"));
            tally.at(Rule::Story, unit.location).record(found, expected);
            if let Some(last) = copy.latest {
                self.by_last.remove(&(last, unit.key));
            }
            if let Some(order) = self.order.as_mut().filter(|_| copy.latest.is_none()) {
                order.begins(unit.slot);
            }
            copy.on_unit(unit, &self.history, tally);
            self.by_last.insert((unit.at, unit.key));
        } else {
            let (rule, expected) = match unit.kind {
                Kind::Repeat => (Rule::Repeats, "a repeat of a copy that is on the link"),
                _ => (Rule::Story, "a unit of a copy that waits in the queue"),
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

    /// Checks and drops the transmissions that can have no further unit, given that the new unit `unit` was sent.
    fn forget(&mut self, unit: &Unit, tally: &mut RuleTally) {
        let history = self.history;
        // The longest time from an attempt's last unit until its repeat is ready.
        let heard = history.head.heard();
        let latest = history
            .head
            .feedback_timer
            .map_or(heard, |it| it.max(heard));
        let wait = latest.saturating_add(latest);
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
                copy.settle(&history, Time::MAX, self.order.as_mut(), tally);
            }
        }
    }
}
