//! What an audit comes to: per rule the checks made and what broke it, and totals to compare.

use std::fmt::Display;

use serde::Serialize;
use tmt_core::types::Time;

use super::finding::Finding;
use super::totals::Totals;

/// Violations of one rule that are kept word for word; the others are only counted.
pub const VIOLATIONS_SHOWN: usize = 20;

/// The log that a line is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Log {
    /// The packet log.
    Packets,
    /// The slot log beside it.
    Slots,
}

/// A line of one of the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) log: Log,
    pub(super) line: u64,
}

impl From<u64> for Place {
    /// A line of the packet log.
    fn from(line: u64) -> Self {
        let log = Log::Packets;
        Self { log, line }
    }
}

macro_rules! rules {
    ($($rule:ident, $name:literal, $description:literal;)*) => {
        /// The rules a packet log must obey.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Rule {
            $($rule),*
        }

        /// Each rule's name and description, in the order of declaration.
        const RULES: &[(&str, &str)] = &[$(($name, $description)),*];
    };
}

// The last is judged only beside a slot log.
rules! {
    Form, "form", "the log is whole, every field reads, and fields, fate and run end agree";
    Story, "story", "every copy is sent, enqueued, served and delivered in this order of time";
    Causality, "causality", "packets and copies are numbered as sent, and nothing acknowledged is sent again";
    Early, "early", "service and delivery happen when the link allows, not earlier and not later";
    Slots, "slots", "no LLDU or service carries two packets, and each packet gets its full number";
    Fifo, "fifo", "packets are served in the order in which they were enqueued, and delivered in it where the head says so";
    Queue, "queue", "the queue never exceeds its limit, and drops a packet only when it is full";
    Acked, "acked", "only what was received is acknowledged, in order, and not before the ACK could be back";
    Parts, "parts", "the parts of every delay are those that the row's times tell, and add up to it";
    Repeats, "repeats", "repeats go out when they are ready and before anything new, attempt by attempt";
}

/// One thing that broke a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The log.
    pub log: Log,
    /// Line of it, from 1.
    pub line: u64,
    /// What stands there.
    pub found: String,
    /// What the rule asks for.
    pub expected: String,
}

/// How one rule fared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleReport {
    /// Short name, such as `fifo`.
    pub rule: &'static str,
    /// The rule in one line.
    pub description: &'static str,
    /// Checks made; a rule that was never put to the test shows 0.
    pub checks: u64,
    /// Checks that failed.
    pub violations_total: u64,
    /// The first [`VIOLATIONS_SHOWN`] of them as found, by line.
    pub violations: Vec<Violation>,
}

/// The outcome of an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// Every rule, also those that nothing broke; `repeats` only beside a slot log.
    pub rules: Vec<RuleReport>,
    /// What the log adds up to; zeros where its head could not be used.
    pub totals: Totals,
}

impl AuditReport {
    /// Whether no rule was broken.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.rules.iter().all(|rule| rule.violations_total == 0)
    }
}

/// Counts the checks of each rule and keeps what broke it while the audit goes on.
#[derive(Debug)]
pub(super) struct RuleTally {
    rules: Vec<RuleReport>,
}

/// The checks of one rule on one line.
pub(super) struct Checks<'a> {
    report: &'a mut RuleReport,
    place: Place,
}

impl Checks<'_> {
    /// Counts one check; the words are made only where it failed.
    pub(super) fn check(&mut self, holds: bool, finding: impl FnOnce() -> Finding) -> bool {
        let report = &mut *self.report;
        report.checks += 1;
        if !holds {
            report.violations_total += 1;
            if report.violations.len() < VIOLATIONS_SHOWN {
                let Finding { found, expected } = finding();
                let Place { log, line } = self.place;
                report.violations.push(Violation {
                    log,
                    line,
                    found,
                    expected,
                });
            }
        }
        holds
    }

    /// A time of the row is the one `expected`; `why` follows that in words.
    pub(super) fn exactly(&mut self, name: &str, found: Time, expected: Time, why: impl Display) {
        self.check(found == expected, || {
            Finding::new(format!("{name} {found}"), format!("{expected}{why}"))
        });
    }

    /// A time of the row is not before `least`; `why` follows that in words.
    pub(super) fn not_before(&mut self, name: &str, found: Time, least: Time, why: impl Display) {
        self.check(found >= least, || {
            let expected = format!("not before {least}{why}");
            Finding::new(format!("{name} {found}"), expected)
        });
    }
}

impl RuleTally {
    /// For an audit with a slot log, or without.
    pub(super) fn new(slots: bool) -> Self {
        let count = RULES.len() - usize::from(!slots);
        let blank = |&(rule, description): &(&'static str, &'static str)| RuleReport {
            rule,
            description,
            checks: 0,
            violations_total: 0,
            violations: Vec::new(),
        };
        Self {
            rules: RULES[..count].iter().map(blank).collect(),
        }
    }

    /// A rule on a line, to check one thing or more.
    pub(super) fn at(&mut self, rule: Rule, place: impl Into<Place>) -> Checks<'_> {
        Checks {
            report: &mut self.rules[rule as usize],
            place: place.into(),
        }
    }

    /// Counts one check of `rule` on a line; the words are made only where it failed.
    pub(super) fn check(
        &mut self,
        rule: Rule,
        place: impl Into<Place>,
        holds: bool,
        finding: impl FnOnce() -> Finding,
    ) -> bool {
        self.at(rule, place).check(holds, finding)
    }

    /// Counts one check that yields a value, or the words why it does not.
    pub(super) fn take<V>(
        &mut self,
        rule: Rule,
        place: impl Into<Place>,
        outcome: Result<V, Finding>,
    ) -> Option<V> {
        let (value, finding) = match outcome {
            Ok(value) => (Some(value), Finding::default()),
            Err(finding) => (None, finding),
        };
        self.check(rule, place, value.is_some(), || finding);
        value
    }

    pub(super) fn into_report(mut self, totals: Totals) -> AuditReport {
        for rule in &mut self.rules {
            // Some rules judge a row only when later ones have been read.
            rule.violations
                .sort_by_key(|violation| (violation.log, violation.line));
        }
        AuditReport {
            rules: self.rules,
            totals,
        }
    }
}
