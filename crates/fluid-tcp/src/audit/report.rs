//! What an audit comes to: per rule the checks made and what broke it, and totals to compare.

use serde::Serialize;

use super::refusal::Refusal;
use super::totals::Totals;

/// Violations of one rule that are kept word for word; the others are only counted.
pub const VIOLATIONS_SHOWN: usize = 20;

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
}

impl Rule {
    /// Every rule, in the order of a report, which is the order of declaration.
    const ALL: [Self; 9] = [
        Self::Form,
        Self::Story,
        Self::Causality,
        Self::Early,
        Self::Slots,
        Self::Fifo,
        Self::Queue,
        Self::Acked,
        Self::Parts,
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
        }
    }
}

/// One thing that broke a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Line of the log, from 1.
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
    /// Every rule, also those that nothing broke.
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
    pub(super) fn new() -> Self {
        let blank = |rule: Rule| RuleReport {
            rule: rule.id(),
            description: rule.description(),
            checks: 0,
            violations_total: 0,
            violations: Vec::new(),
        };
        Self {
            rules: Rule::ALL.map(blank).into(),
        }
    }

    /// Counts one check of `rule` on `line`; the words are made only where it failed.
    pub(super) fn check(
        &mut self,
        rule: Rule,
        line: u64,
        holds: bool,
        refusal: impl FnOnce() -> Refusal,
    ) -> bool {
        let report = &mut self.rules[rule as usize];
        report.checks += 1;
        if !holds {
            report.violations_total += 1;
            if report.violations.len() < VIOLATIONS_SHOWN {
                let Refusal { found, expected } = refusal();
                report.violations.push(Violation {
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
        line: u64,
        outcome: Result<V, Refusal>,
    ) -> Option<V> {
        match outcome {
            Ok(value) => {
                self.check(rule, line, true, Refusal::default);
                Some(value)
            }
            Err(refusal) => {
                self.check(rule, line, false, || refusal);
                None
            }
        }
    }

    pub(super) fn into_report(mut self, totals: Totals) -> AuditReport {
        for rule in &mut self.rules {
            // Some rules judge a row only when later ones have been read.
            rule.violations.sort_by_key(|violation| violation.line);
        }
        AuditReport {
            rules: self.rules,
            totals,
        }
    }
}
