//! One codeword: rule `repeats`, and when its data is there.

use tmt_core::types::Time;

use super::Rules;
use super::row::{Kind, Unit};
use crate::audit::refusal::Refusal;
use crate::audit::report::{Ledger, Place, Rule};

/// What went before a unit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    pub(super) previous: Option<Unit>,
    /// The last first transmission.
    pub(super) newest: Option<Unit>,
    /// The highest number of a codeword.
    pub(super) codeword: Option<u64>,
}

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
    pub(super) fn begin(unit: &Unit, before: &Attempt, ledger: &mut Ledger) -> Self {
        let (place, number) = (Place::of_slots(unit.line), unit.codeword);
        let new = unit.kind != Kind::Repeat && before.codeword.is_none_or(|last| last < number);
        ledger.check(Rule::Repeats, place, new, || {
            let found = format!(
                "attempt {} of codeword {number}, of which nothing is under way",
                unit.attempt
            );
            let next = before.codeword.map_or(0, |last| last + 1);
            Refusal::new(found, format!("a codeword under way or one from {next} on"))
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
    pub(super) fn on_unit(
        &mut self,
        unit: &Unit,
        before: &Attempt,
        rules: &Rules,
        ledger: &mut Ledger,
    ) {
        let last = self.last;
        let follows = if unit.attempt == last.attempt {
            // Repeats of one attempt go out in one piece.
            let same = before.previous.is_some_and(|previous| {
                (previous.codeword, previous.attempt) == (unit.codeword, unit.attempt)
            });
            same || unit.kind != Kind::Repeat
        } else {
            unit.attempt == last.attempt + 1
        };
        ledger.check(Rule::Repeats, Place::of_slots(unit.line), follows, || {
            let found = format!(
                "attempt {} of codeword {} in slot {}",
                unit.attempt, unit.codeword, unit.slot
            );
            let expected = format!(
                "attempt {} right behind slot {}, or the one after it",
                last.attempt, last.slot
            );
            Refusal::new(found, expected)
        });
        if unit.attempt > last.attempt {
            self.check_turn(unit, before, rules, ledger);
            if rules.discards {
                let decoded = nth(&self.arrivals, self.data);
                self.decoded = [self.decoded, decoded].into_iter().flatten().min();
                self.arrivals.clear();
            }
        }
        self.last = *unit;
        self.count(unit);
    }

    /// The first unit of an attempt goes out when it is ready, and nothing new goes before it.
    fn check_turn(&self, unit: &Unit, before: &Attempt, rules: &Rules, ledger: &mut Ledger) {
        let (place, last) = (Place::of_slots(unit.line), self.last);
        let words = || {
            format!(
                "attempt {} of codeword {} at {}",
                unit.attempt, unit.codeword, unit.at
            )
        };
        let heard = last.at.saturating_add(rules.heard);
        ledger.check(Rule::Repeats, place, unit.at >= heard, || {
            let expected = format!("not before {heard}, when its feedback has come");
            Refusal::new(words(), expected)
        });
        // Where feedback can be lost, one that goes out after its timer may have waited for that.
        let expired = rules.timer.map(|timer| last.at.saturating_add(timer));
        let ready = expired
            .filter(|expired| unit.at >= *expired)
            .unwrap_or(heard);
        let passed = before
            .newest
            .filter(|newest| newest.slot > last.slot && newest.at >= ready);
        ledger.check(Rule::Repeats, place, passed.is_none(), || {
            let expected = passed.map(|newest| {
                format!(
                    "before slot {} at {}, which carries a first transmission, as it was ready at {ready}",
                    newest.slot, newest.at
                )
            });
            Refusal::new(words(), expected.unwrap_or_default())
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
        let decoded = nth(&self.arrivals, self.data);
        if rules.discards {
            return [self.decoded, decoded].into_iter().flatten().min();
        }
        if self.erased {
            decoded.max(self.own).filter(|_| decoded.is_some())
        } else {
            self.own
        }
    }
}

/// The `needed`-th arrival, where there are as many.
fn nth(arrivals: &[Time], needed: usize) -> Option<Time> {
    let mut arrivals = arrivals.to_vec();
    arrivals.sort_unstable();
    arrivals.get(needed.checked_sub(1)?).copied()
}
