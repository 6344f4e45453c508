//! What an audit comes to: per rule the checks made and what broke it, and totals to compare.

use serde::Serialize;

use super::refusal::Refusal;
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
    log: Log,
    line: u64,
}

impl Place {
    pub(super) const fn of_slots(line: u64) -> Self {
        Self {
            log: Log::Slots,
            line,
        }
    }
}

impl From<u64> for Place {
    /// A line of the packet log.
    fn from(line: u64) -> Self {
        Self {
            log: Log::Packets,
            line,
        }
    }
}

/// The rules a packet log must obey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Form,
    Story,
    Causality,
    Early,
    Slots,
    Fifo,
    Queue,
    Acked,
    Parts,
    /// Only beside a slot log.
    Repeats,
}

impl Rule {
    /// Every rule, in the order of a report, which is the order of declaration.
    const ALL: [Self; 10] = [
        Self::Form,
        Self::Story,
        Self::Causality,
        Self::Early,
        Self::Slots,
        Self::Fifo,
        Self::Queue,
        Self::Acked,
        Self::Parts,
        Self::Repeats,
    ];

    const fn id(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Story => "story",
            Self::Causality => "causality",
            Self::Early => "early",
            Self::Slots => "slots",
            Self::Fifo => "fifo",
            Self::Queue => "queue",
            Self::Acked => "acked",
            Self::Parts => "parts",
            Self::Repeats => "repeats",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Form => "the log is whole, every field reads, and fields, fate and run end agree",
            Self::Story => {
                "every copy is sent, enqueued, served and delivered in this order of time"
            }
            Self::Causality => {
                "packets and copies are numbered as sent, and nothing acknowledged is sent again"
            }
            Self::Early => {
                "service and delivery happen when the link allows, not earlier and not later"
            }
            Self::Slots => {
                "no LLDU or service carries two packets, and each packet gets its full number"
            }
            Self::Fifo => {
                "packets are served in the order in which they were enqueued, and delivered in it where the head says so"
            }
            Self::Queue => {
                "the queue never exceeds its limit, and drops a packet only when it is full"
            }
            Self::Acked => {
                "only what was received is acknowledged, in order, and not before the ACK could be back"
            }
            Self::Parts => {
                "the parts of every delay are those that the row's times tell, and add up to it"
            }
            Self::Repeats => {
                "repeats go out when they are ready and before anything new, attempt by attempt"
            }
        }
    }
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

/// Counts checks and keeps violations while the audit goes on.
#[derive(Debug)]
pub(super) struct Ledger {
    rules: Vec<RuleReport>,
}

impl Ledger {
    /// A ledger of an audit with a slot log, or without.
    pub(super) fn new(slots: bool) -> Self {
        let blank = |rule: Rule| RuleReport {
            rule: rule.id(),
            description: rule.description(),
            checks: 0,
            violations_total: 0,
            violations: Vec::new(),
        };
        Self {
            rules: Rule::ALL
                .into_iter()
                .filter(|rule| slots || *rule != Rule::Repeats)
                .map(blank)
                .collect(),
        }
    }

    /// Counts one check of `rule` on a line; the words are made only where it failed.
    pub(super) fn check(
        &mut self,
        rule: Rule,
        place: impl Into<Place>,
        holds: bool,
        refusal: impl FnOnce() -> Refusal,
    ) -> bool {
        let report = &mut self.rules[rule as usize];
        report.checks += 1;
        if !holds {
            report.violations_total += 1;
            if report.violations.len() < VIOLATIONS_SHOWN {
                let Refusal { found, expected } = refusal();
                let Place { log, line } = place.into();
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

    /// Counts one check that yields a value, or the words why it does not.
    pub(super) fn take<V>(
        &mut self,
        rule: Rule,
        place: impl Into<Place>,
        outcome: Result<V, Refusal>,
    ) -> Option<V> {
        match outcome {
            Ok(value) => {
                self.check(rule, place, true, Refusal::default);
                Some(value)
            }
            Err(refusal) => {
                self.check(rule, place, false, || refusal);
                None
            }
        }
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
