//! One codeword: rule `repeats`, and when its data is there.

use tmt_core::types::Time;

use super::History;
use super::row::{Kind, Unit};
use crate::audit::report::{Rule, RuleTally};

/// What the slots tell of a codeword.
#[derive(Debug)]
pub(super) struct Codeword {
    /// Arrivals of its data units, of those that were not erased.
    data: Vec<Option<Time>>,
    /// The last unit, of the attempt that is the last so far.
    last: Unit,
    /// Arrivals that count.
    arrivals: Vec<Time>,
    /// The earliest time at which an attempt that is over had brought enough, where each counts alone.
    decoded: Option<Time>,
}

impl Codeword {
    /// One of which this is the first unit.
    pub(super) fn begin(unit: &Unit, history: &History, tally: &mut RuleTally) -> Self {
        let next = history.codeword.map_or(0, |last| last + 1);
        let new = unit.kind != Kind::Repeat && unit.codeword >= next;
        let found = format_args!("{}, of which nothing is under way", unit.attempt_of());
        let expected = format_args!("a codeword under way or one from {next} on");
        let mut repeats = tally.at(Rule::Repeats, unit.location);
        repeats.check(new, found, expected);
        let mut codeword = Self {
            data: Vec::new(),
            last: *unit,
            arrivals: Vec::new(),
            decoded: None,
        };
        codeword.count(unit);
        codeword
    }

    /// Takes its next unit.
    pub(super) fn on_unit(&mut self, unit: &Unit, history: &History, tally: &mut RuleTally) {
        let last = self.last;
        // Repeats of one attempt go out in one piece.
        let in_one_piece = unit.kind != Kind::Repeat
            || history.previous.is_some_and(|previous| {
                (previous.codeword, previous.attempt) == (unit.codeword, unit.attempt)
            });
        let follows = unit.attempt == last.attempt && in_one_piece;
        let (attempt, slot) = (last.attempt, last.slot);
        let found = format_args!("{} in slot {}", unit.attempt_of(), unit.slot);
        let expected =
            format_args!("attempt {attempt} right behind slot {slot}, or the one after it");
        let mut repeats = tally.at(Rule::Repeats, unit.location);
        repeats.check(follows || unit.attempt == attempt + 1, found, expected);
        if unit.attempt > attempt {
            self.check_turn(unit, history, tally);
            if history.discards {
                self.decoded = self.decoded_by_now();
                self.arrivals.clear();
            }
        }
        self.last = *unit;
        self.count(unit);
    }

    /// The first unit of an attempt goes out when it is ready, and nothing new goes before it.
    fn check_turn(&self, unit: &Unit, history: &History, tally: &mut RuleTally) {
        let last = self.last;
        let heard = last.at.saturating_add(history.heard);
        let found = format_args!("{} at {}", unit.attempt_of(), unit.at);
        let expected = format_args!("not before {heard}, when its feedback has come");
        let mut repeats = tally.at(Rule::Repeats, unit.location);
        repeats.check(unit.at >= heard, found, expected);
        // Where feedback can be lost, one that goes out after its timer may have waited for that.
        let expired = history.timer.map(|timer| last.at.saturating_add(timer));
        let ready = expired.filter(|it| unit.at >= *it).unwrap_or(heard);
        let newer = history
            .newest
            .filter(|it| it.slot > last.slot && it.at >= ready);
        let expected = newer.map(|Unit { slot, at, .. }| {
            format!("before slot {slot} at {at}, which carries a first transmission, as it was ready at {ready}")
        });
        repeats.refuse(found, expected);
    }

    fn count(&mut self, unit: &Unit) {
        if unit.kind == Kind::Data {
            self.data.push(unit.arrival);
        }
        self.arrivals.extend(unit.arrival);
    }

    /// When the last of its data is there, propagation left out; none where too little was received.
    pub(super) fn complete(&self, history: &History) -> Option<Time> {
        let decoded = self.decoded_by_now();
        let own = self.data.iter().copied().flatten().max();
        match decoded {
            _ if history.discards => decoded,
            _ if !self.data.contains(&None) => own,
            None => None,
            Some(_) => decoded.max(own),
        }
    }

    /// When as many arrivals as it has data units had come, of this attempt or of one that is over.
    fn decoded_by_now(&self) -> Option<Time> {
        let mut arrivals = self.arrivals.clone();
        arrivals.sort_unstable();
        let last = self.data.len().checked_sub(1);
        let decoded = last.and_then(|last| arrivals.get(last).copied());
        [self.decoded, decoded].into_iter().flatten().min()
    }
}
