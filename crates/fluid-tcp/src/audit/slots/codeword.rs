//! One codeword: rule `repeats`, and the time at which its data is complete.

use tmt_core::types::Time;

use super::History;
use super::row::{Kind, Unit};
use crate::audit::report::{Rule, RuleTally};

/// State of a codeword, from the slot log.
#[derive(Debug)]
pub(super) struct Codeword {
    /// Arrivals of its data units, `None` if erased.
    data: Vec<Option<Time>>,
    /// Number of units of the first attempt.
    sent: u64,
    /// The latest unit, which is of the latest attempt.
    last: Unit,
    /// Arrivals of the units that count.
    arrivals: Vec<Time>,
    /// Earliest time at which a former attempt was decoded, if each attempt counts alone.
    decoded: Option<Time>,
}

impl Codeword {
    /// A new codeword with this first unit.
    pub(super) fn begin(unit: &Unit, history: &History, tally: &mut RuleTally) -> Self {
        let next = history.codeword.map_or(0, |last| last + 1);
        let new = unit.kind != Kind::Repeat && unit.codeword >= next;
        let found = format_args!("{}, which is not on the link", unit.attempt_of());
        let expected = format_args!("a codeword on the link, or a new one from {next} on");
        let mut repeats = tally.at(Rule::Repeats, unit.location);
        repeats.check(new, found, expected);
        let mut codeword = Self {
            data: Vec::new(),
            sent: 0,
            last: *unit,
            arrivals: Vec::new(),
            decoded: None,
        };
        codeword.count(unit);
        codeword.check_size(unit, history, tally);
        codeword
    }

    /// Checks that its first attempt has no more units than one of the scheme.
    fn check_size(&self, unit: &Unit, history: &History, tally: &mut RuleTally) {
        let Some(scheme) = history.head.scheme.filter(|_| unit.attempt == 1) else {
            return;
        };
        let data = self.data.len() as u64;
        let (repair, most) = (self.sent - data, scheme.units - scheme.data_units);
        let codeword = unit.codeword;
        let found = format_args!("{data} data and {repair} repair units in codeword {codeword}");
        let expected = format_args!("at most {} and {most}", scheme.data_units);
        let mut repeats = tally.at(Rule::Repeats, unit.location);
        let fits = data <= scheme.data_units && repair <= most;
        repeats.check(fits, found, expected);
    }

    /// Processes its next unit.
    pub(super) fn on_unit(&mut self, unit: &Unit, history: &History, tally: &mut RuleTally) {
        let last = self.last;
        // The repeats of an attempt are sent without other units in between.
        let contiguous = unit.kind != Kind::Repeat
            || history.previous.is_some_and(|previous| {
                (previous.codeword, previous.attempt) == (unit.codeword, unit.attempt)
            });
        let follows = unit.attempt == last.attempt && contiguous;
        let (attempt, slot) = (last.attempt, last.slot);
        let found = format_args!("{} in slot {}", unit.attempt_of(), unit.slot);
        let expected =
            format_args!("attempt {attempt} directly after slot {slot}, or the next attempt");
        let mut repeats = tally.at(Rule::Repeats, unit.location);
        repeats.check(follows || unit.attempt == attempt + 1, found, expected);
        let most = history.last_attempt().unwrap_or(u64::MAX);
        let expected = format_args!("at most {most} attempts");
        repeats.check(unit.attempt <= most, unit.attempt_of(), expected);
        if unit.attempt > attempt {
            self.check_turn(unit, history, tally);
            if history.discards() {
                self.decoded = self.decoded_by_now();
                self.arrivals.clear();
            }
        }
        self.last = *unit;
        self.count(unit);
        self.check_size(unit, history, tally);
    }

    /// Checks that the first unit of an attempt is not sent before it is ready, and that no new unit goes before it.
    fn check_turn(&self, unit: &Unit, history: &History, tally: &mut RuleTally) {
        let last = self.last;
        let heard = last.at.saturating_add(history.head.heard());
        let found = format_args!("{} at {}", unit.attempt_of(), unit.at);
        let expected = format_args!("not before {heard}, when its feedback arrives");
        let mut repeats = tally.at(Rule::Repeats, unit.location);
        repeats.check(unit.at >= heard, found, expected);
        // If feedback can be lost, a repeat after the timer may have waited for the timer.
        let expired = history
            .head
            .feedback_timer
            .map(|timer| last.at.saturating_add(timer));
        let ready = expired.filter(|it| unit.at >= *it).unwrap_or(heard);
        let newer = history
            .newest
            .filter(|it| it.slot > last.slot && it.at >= ready);
        let expected = newer.map(|Unit { slot, at, .. }| {
            format!("before slot {slot} at {at}, which carries a new unit: the repeat was ready at {ready}")
        });
        repeats.record(found, expected);
    }

    /// Its latest attempt, from 1.
    pub(super) fn attempt(&self) -> u64 {
        self.last.attempt
    }

    fn count(&mut self, unit: &Unit) {
        self.sent += u64::from(unit.attempt == 1);
        if unit.kind == Kind::Data {
            self.data.push(unit.arrival);
        }
        self.arrivals.extend(unit.arrival);
    }

    /// Time at which its data is complete, without propagation; `None` if too few units were received.
    pub(super) fn complete(&self, history: &History) -> Option<Time> {
        let decoded = self.decoded_by_now();
        let own = self.data.iter().copied().flatten().max();
        match decoded {
            _ if history.discards() => decoded,
            _ if !self.data.contains(&None) => own,
            None => None,
            Some(_) => decoded.max(own),
        }
    }

    /// Time at which it was decoded, i.e. had as many arrivals as data units, in this attempt or a former one.
    fn decoded_by_now(&self) -> Option<Time> {
        let mut arrivals = self.arrivals.clone();
        arrivals.sort_unstable();
        let last = self.data.len().checked_sub(1);
        let decoded = last.and_then(|last| arrivals.get(last).copied());
        [self.decoded, decoded].into_iter().flatten().min()
    }
}
