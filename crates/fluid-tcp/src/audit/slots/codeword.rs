//! One codeword: rule `repeats`, and when its data is there.

use tmt_core::types::Time;

use super::row::{Kind, Unit};
use super::{History, Rules};
use crate::audit::finding::Finding;
use crate::audit::report::{Rule, RuleTally};

/// What the slots tell of a codeword.
#[derive(Debug)]
pub(super) struct Codeword {
    /// Data units.
    data: usize,
    /// Whether one of them was erased, and the latest arrival of the others.
    erased: bool,
    own: Option<Time>,
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
        let number = unit.codeword;
        let new = unit.kind != Kind::Repeat && history.codeword.is_none_or(|last| last < number);
        tally.check(Rule::Repeats, unit.place, new, || {
            let found = format!("{}, of which nothing is under way", unit.attempt_of());
            let next = history.codeword.map_or(0, |last| last + 1);
            Finding::new(found, format!("a codeword under way or one from {next} on"))
        });
        let mut codeword = Self {
            data: 0,
            erased: false,
            own: None,
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
        let follows = if unit.attempt == last.attempt {
            // Repeats of one attempt go out in one piece.
            let same = history.previous.is_some_and(|previous| {
                (previous.codeword, previous.attempt) == (unit.codeword, unit.attempt)
            });
            same || unit.kind != Kind::Repeat
        } else {
            unit.attempt == last.attempt + 1
        };
        tally.check(Rule::Repeats, unit.place, follows, || {
            let found = format!("{} in slot {}", unit.attempt_of(), unit.slot);
            let expected = format!(
                "attempt {} right behind slot {}, or the one after it",
                last.attempt, last.slot
            );
            Finding::new(found, expected)
        });
        if unit.attempt > last.attempt {
            self.check_turn(unit, history, tally);
            if history.rules.discards {
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
        let mut repeats = tally.at(Rule::Repeats, unit.place);
        let heard = last.at.saturating_add(history.rules.heard);
        let words = || format!("{} at {}", unit.attempt_of(), unit.at);
        repeats.check(unit.at >= heard, || {
            let expected = format!("not before {heard}, when its feedback has come");
            Finding::new(words(), expected)
        });
        // Where feedback can be lost, one that goes out after its timer may have waited for that.
        let expired = history
            .rules
            .timer
            .map(|timer| last.at.saturating_add(timer));
        let expired = expired.filter(|expired| unit.at >= *expired);
        let ready = expired.unwrap_or(heard);
        let newer = history.newest.filter(|newest| newest.slot > last.slot);
        let passed = newer.filter(|newest| newest.at >= ready);
        repeats.check(passed.is_none(), || {
            let expected = passed.map(|Unit { slot, at, .. }| {
                format!("before slot {slot} at {at}, which carries a first transmission, as it was ready at {ready}")
            });
            Finding::new(words(), expected.unwrap_or_default())
        });
    }

    fn count(&mut self, unit: &Unit) {
        if unit.kind == Kind::Data {
            self.data += 1;
            self.erased |= unit.arrival.is_none();
            self.own = self.own.max(unit.arrival);
        }
        self.arrivals.extend(unit.arrival);
    }

    /// When the last of its data is there, propagation left out; none where too little was received.
    pub(super) fn complete(&self, rules: &Rules) -> Option<Time> {
        let decoded = self.decoded_by_now();
        if rules.discards || decoded.is_none() && self.erased {
            decoded
        } else if self.erased {
            decoded.max(self.own)
        } else {
            self.own
        }
    }

    /// When as many arrivals as it has data units had come, of this attempt or of one that is over.
    fn decoded_by_now(&self) -> Option<Time> {
        let mut arrivals = self.arrivals.clone();
        arrivals.sort_unstable();
        let last = self.data.checked_sub(1);
        let decoded = last.and_then(|last| arrivals.get(last).copied());
        [self.decoded, decoded].into_iter().flatten().min()
    }
}
