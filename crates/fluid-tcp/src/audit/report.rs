//! The report of an audit: per rule its checks and violations, and totals of the log.

use std::fmt::Display;

use serde::Serialize;
use strum::{EnumIter, EnumMessage, IntoEnumIterator, IntoStaticStr};
use tmt_core::types::Time;

use super::finding::Finding;
use super::totals::Totals;

/// Number of violations of a rule that are reported in full; further ones are only counted.
pub const VIOLATIONS_SHOWN: usize = 20;

/// The log to which a line belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Log {
    /// The packet log (`tmt tcp --packets`).
    Packets,
    /// The slot log (`tmt tcp --slots`).
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

/// The rules that a packet log must obey. [`Rule::Repeats`] is checked with a slot log only.
///
/// Reports print the variant's name and its doc comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Rule {
    /// the log is complete, every field parses, and fields, fate and end of the run agree
    Form,
    /// each transmission is sent, enqueued, served and delivered in this order of time
    Story,
    /// packets and transmissions are numbered as sent, and nothing acknowledged is sent again
    Causality,
    /// service and delivery happen when the link allows it, neither earlier nor later
    Early,
    /// no LLDU or service carries two packets, and each packet gets its full number
    Slots,
    /// packets are served in the order of enqueuing, and delivered in it if the head says so
    Fifo,
    /// the queue never exceeds its limit, and drops only when it is full or a list says so
    Queue,
    /// only what was received is acknowledged, in order, and not before the ACK could be back
    Acked,
    /// the parts of each delay follow from the row's times and add up
    Parts,
    /// repeats go out when they are ready, before anything new, attempt by attempt
    Repeats,
}

/// One violation of a rule, with the line of the log that shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The log to which `line` belongs.
    pub log: Log,
    /// Line of the log, from 1.
    pub line: u64,
    /// Content of the line, in words.
    pub found: String,
    /// Content that the rule requires, in words.
    pub expected: String,
}

/// Checks and violations of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RuleReport {
    /// Short name, such as `fifo`.
    pub rule: &'static str,
    /// Requirement of the rule, in one line.
    pub description: &'static str,
    /// Number of checks; 0 if the log gave no occasion to check the rule.
    pub checks: u64,
    /// Number of checks that failed.
    pub violations_total: u64,
    /// The first [`VIOLATIONS_SHOWN`] violations found, sorted by line.
    pub violations: Vec<Violation>,
}

/// The outcome of an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    /// One entry per rule, broken or not; `repeats` with a slot log only.
    pub rules: Vec<RuleReport>,
    /// Counts of the log; all 0 if its head could not be used.
    pub totals: Totals,
    /// Hops that follow a trace whose services were not recomputed to the end of the log.
    pub not_recomputed: Vec<NotRecomputed>,
}

/// A hop whose services were not recomputed from a packet on: packets that arrived together could have had more orders than
/// are followed, and none of those followed agrees with the log. No rule counts this as broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotRecomputed {
    /// Key of its trace in the head, such as `terrestrial_trace`.
    pub trace: &'static str,
    /// Line of the packet log, from 1.
    pub line: u64,
}

impl AuditReport {
    /// Whether no rule was broken.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.rules.iter().all(|rule| rule.violations_total == 0)
    }
}

/// Counts the checks of each rule and keeps its violations during an audit.
#[derive(Debug)]
pub(super) struct RuleTally {
    rules: Vec<RuleReport>,
    not_recomputed: Vec<NotRecomputed>,
}

/// Checks one rule on one line. Messages are formatted only if a check fails.
pub(super) struct Checks<'a> {
    report: &'a mut RuleReport,
    location: Location,
}

impl Checks<'_> {
    pub(super) fn check(&mut self, holds: bool, found: impl Display, expected: impl Display) {
        self.record(found, (!holds).then_some(expected));
    }

    /// Counts one check, which failed if `expected` is `Some`.
    pub(super) fn record(&mut self, found: impl Display, expected: Option<impl Display>) {
        self.take(expected.map_or(Ok(()), |expected| Err(Finding::new(found, expected))));
    }

    /// Counts one check and returns its value, `None` if it failed.
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

    /// Checks that a time equals `due`; `why` is appended to the message.
    pub(super) fn exactly(&mut self, name: &str, found: Time, due: Time, why: impl Display) {
        let (text, expected) = (format_args!("{name} {found}"), format_args!("{due}{why}"));
        self.check(found == due, text, expected);
    }

    /// Checks that a time is not before `least`; `why` is appended to the message.
    pub(super) fn not_before(&mut self, name: &str, found: Time, least: Time, why: impl Display) {
        let expected = format_args!("not before {least}{why}");
        self.check(found >= least, format_args!("{name} {found}"), expected);
    }
}

impl RuleTally {
    /// An empty tally of all rules; `repeats` is included if there is a slot log.
    pub(super) fn new(slots: bool) -> Self {
        let rules = Rule::iter().filter(|rule| slots || *rule != Rule::Repeats);
        let blank = |rule: Rule| RuleReport {
            rule: rule.into(),
            description: rule.get_documentation().unwrap_or_default(),
            ..RuleReport::default()
        };
        Self {
            rules: rules.map(blank).collect(),
            not_recomputed: Vec::new(),
        }
    }

    /// Starts checks of a rule on a line.
    pub(super) fn at(&mut self, rule: Rule, location: impl Into<Location>) -> Checks<'_> {
        Checks {
            report: &mut self.rules[rule as usize],
            location: location.into(),
        }
    }

    /// The services of the hop with this trace are not recomputed from the packet of this line on.
    pub(super) fn recomputes_no_more(&mut self, trace: &'static str, line: u64) {
        self.not_recomputed.push(NotRecomputed { trace, line });
    }

    pub(super) fn into_report(mut self, totals: Totals) -> AuditReport {
        for rule in &mut self.rules {
            // Some rules check a row only after later ones have been read.
            rule.violations
                .sort_by_key(|violation| (violation.log, violation.line));
        }
        AuditReport {
            rules: self.rules,
            totals,
            not_recomputed: self.not_recomputed,
        }
    }
}
