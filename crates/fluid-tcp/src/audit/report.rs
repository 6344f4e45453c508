//! What an audit comes to: per rule the checks made and what broke it, and totals to compare.

use std::fmt::Display;

use serde::Serialize;
use strum::{EnumIter, EnumMessage, IntoEnumIterator, IntoStaticStr};
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
pub(super) struct Location {
    pub(super) log: Log,
    pub(super) line: u64,
}

impl From<u64> for Location {
    /// A line of the packet log.
    fn from(line: u64) -> Self {
        let log = Log::Packets;
        Self { log, line }
    }
}

/// The rules a packet log must obey, the last of them only beside a slot log. Each is named and described in reports
/// by its name and documentation here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Rule {
    /// the log is whole, every field reads, and fields, fate and run end agree
    Form,
    /// every copy is sent, enqueued, served and delivered in this order of time
    Story,
    /// packets and copies are numbered as sent, and nothing acknowledged is sent again
    Causality,
    /// service and delivery happen when the link allows, not earlier and not later
    Early,
    /// no LLDU or service carries two packets, and each packet gets its full number
    Slots,
    /// packets are served in the order in which they were enqueued, and delivered in it where the head says so
    Fifo,
    /// the queue never exceeds its limit, and drops a packet only when it is full
    Queue,
    /// only what was received is acknowledged, in order, and not before the ACK could be back
    Acked,
    /// the parts of every delay are those that the row's times tell, and add up to it
    Parts,
    /// repeats go out when they are ready and before anything new, attempt by attempt
    Repeats,
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
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
pub(super) struct RuleTally(Vec<RuleReport>);

/// The checks of one rule on one line; words are made only where a check fails.
pub(super) struct Checks<'a> {
    report: &'a mut RuleReport,
    location: Location,
}

impl Checks<'_> {
    pub(super) fn check(&mut self, holds: bool, found: impl Display, expected: impl Display) {
        self.refuse(found, (!holds).then_some(expected));
    }

    /// One check, which failed where there is something `expected` instead of what was found.
    pub(super) fn refuse(&mut self, found: impl Display, expected: Option<impl Display>) {
        self.take(expected.map_or(Ok(()), |expected| Err(Finding::new(found, expected))));
    }

    /// One check that yields a value, or the words why it does not.
    pub(super) fn take<V>(&mut self, outcome: Result<V, Finding>) -> Option<V> {
        self.report.checks += 1;
        if let Err(Finding { found, expected }) = &outcome {
            self.report.violations_total += 1;
            if self.report.violations.len() < VIOLATIONS_SHOWN {
                self.report.violations.push(Violation {
                    log: self.location.log,
                    line: self.location.line,
                    found: found.clone(),
                    expected: expected.clone(),
                });
            }
        }
        outcome.ok()
    }

    /// A time of the row is the one `expected`; `why` follows that in words.
    pub(super) fn exactly(&mut self, name: &str, found: Time, expected: Time, why: impl Display) {
        let holds = found == expected;
        self.check(
            holds,
            format_args!("{name} {found}"),
            format_args!("{expected}{why}"),
        );
    }

    /// A time of the row is not before `least`; `why` follows that in words.
    pub(super) fn not_before(&mut self, name: &str, found: Time, least: Time, why: impl Display) {
        let expected = format_args!("not before {least}{why}");
        self.check(found >= least, format_args!("{name} {found}"), expected);
    }
}

impl RuleTally {
    /// For an audit with a slot log, or without.
    pub(super) fn new(slots: bool) -> Self {
        let rules = Rule::iter().filter(|rule| slots || *rule != Rule::Repeats);
        let blank = |rule: Rule| RuleReport {
            rule: rule.into(),
            description: rule.get_documentation().unwrap_or_default(),
            ..RuleReport::default()
        };
        Self(rules.map(blank).collect())
    }

    /// A rule on a line, to check one thing or more.
    pub(super) fn at(&mut self, rule: Rule, location: impl Into<Location>) -> Checks<'_> {
        Checks {
            report: &mut self.0[rule as usize],
            location: location.into(),
        }
    }

    pub(super) fn into_report(mut self, totals: Totals) -> AuditReport {
        for rule in &mut self.0 {
            // Some rules judge a row only when later ones have been read.
            rule.violations
                .sort_by_key(|violation| (violation.log, violation.line));
        }
        let rules = self.0;
        AuditReport { rules, totals }
    }
}
