//! Looks for what is odd in the slots of a trace (docs/lint.md).
//!
//! A [`Check`] is one file below and one line in [`CHECKS`]. Each sees all slots once, in order, in bounded memory; the
//! checks run beside each other. Names, thresholds and remedies are those of the catalogue of the importers.

mod extremes;
mod intervals;
mod kind;
mod line_ends;
mod offset;
mod polarity;
mod repeats;
mod rows;
mod seam;
mod size;
mod skew;
mod unit;

pub use line_ends::{LineEnds, LineEndsSeen};
pub use skew::{Skew, SkewEstimate};

use rayon::prelude::*;

use crate::format::import::catalogue::{LOOP_SEAM, UNSORTED_TIMES};
use crate::format::import::{Finding, Severity};
use crate::types::{Error, ErrorKind, Metadata, Slot, Span, Time, TraceKind};

/// Facts about a trace beside its slots, for checks, once all slots were seen.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The head; empty if absent.
    pub head: &'a Metadata,
    /// Kind of a row, if the head or the format says so.
    pub kind: Option<TraceKind>,
    /// Whether the times are those of the trace, not stand-ins for unknown ones.
    pub has_times: bool,
    /// Number of slots.
    pub slots: u64,
    /// Number of erased slots.
    pub erased: u64,
}

/// A search for one kind of oddity.
pub trait Check: Send {
    /// Takes the next slots, in the order of the trace.
    fn slots(&mut self, slots: &[Slot]);

    /// Findings in all slots.
    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding>;
}

/// Makes the checks of this crate.
pub static CHECKS: &[fn() -> Box<dyn Check>] = &[
    || Box::<polarity::Polarity>::default(),
    || Box::<rows::Rows>::default(),
    || Box::<repeats::Repeats>::default(),
    || Box::<offset::Offset>::default(),
    || Box::<extremes::Extremes>::default(),
    || Box::<Skew>::default(),
    || Box::<unit::Units>::default(),
    || Box::<kind::Kind>::default(),
    || Box::<seam::Seam>::default(),
    || Box::<size::Size>::default(),
];

/// Slots up to which the checks of a batch run on one thread.
const FEW: usize = 1024;

/// Kind and size of a trace, and findings on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Linted {
    /// Number of slots.
    pub slots: u64,
    /// Number of erased slots.
    pub erased: u64,
    /// Time from the first to the last slot.
    pub duration: Span,
    /// Kind of a row, if the head or the format says so.
    pub kind: Option<TraceKind>,
    /// Findings, warnings first.
    pub findings: Vec<Finding>,
}

impl Linted {
    /// Adds findings from elsewhere, such as those of an importer; they replace those of the same name.
    pub fn add(&mut self, findings: Vec<Finding>) {
        let is_new = |found: &Finding| findings.iter().all(|other| other.name != found.name);
        self.findings.retain(is_new);
        self.findings.splice(0..0, findings);
        self.findings
            .sort_by_key(|found| std::cmp::Reverse(found.severity));
    }

    /// Removes the seam, which only the end of a trace has, and adds the reason `by` for which the trace was not read to its end.
    pub fn cut(&mut self, by: Option<Finding>) {
        self.findings.retain(|found| found.name != LOOP_SEAM.name);
        self.add(by.into_iter().collect());
    }

    /// Whether anything casts doubt on the slots.
    #[must_use]
    pub fn has_warnings(&self) -> bool {
        self.findings
            .iter()
            .any(|found| found.severity == Severity::Warning)
    }
}

/// Runs all checks over a trace.
///
/// ```
/// use tmt_core::pipeline::Lint;
/// use tmt_core::types::Metadata;
/// use tmt_core::{Slot, Span, Time};
///
/// let at = |row: u32| Time::ZERO.saturating_add(Span::from_millis(10 * row));
/// let mut lint = Lint::new();
/// // Two of three are lost.
/// let slots = (0..300).map(|row| match row % 3 {
///     0 => Slot::new(at(row), Span::from_millis(36)),
///     _ => Some(Slot::erased(at(row))),
/// });
/// lint.slots(&slots.flatten().collect::<Vec<_>>());
/// let found = lint.finish(&Metadata::new(), None, true);
/// let names: Vec<&str> = found.findings.iter().map(|found| found.name).collect();
/// assert_eq!(names, ["polarity-suspected", "probes-suspected"]);
/// assert_eq!(found.findings[0].count, 200);
/// ```
pub struct Lint {
    checks: Vec<Box<dyn Check>>,
    slots: u64,
    erased: u64,
    first: Option<Time>,
    last: Time,
}

impl Default for Lint {
    fn default() -> Self {
        Self::new()
    }
}

impl Lint {
    /// All checks, before the first slot.
    #[must_use]
    pub fn new() -> Self {
        Self {
            checks: CHECKS.iter().map(|make| make()).collect(),
            slots: 0,
            erased: 0,
            first: None,
            last: Time::ZERO,
        }
    }

    /// Takes the next slots, in order of time.
    pub fn slots(&mut self, slots: &[Slot]) {
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else {
            return;
        };
        self.first.get_or_insert(first.tx_time());
        self.last = last.tx_time();
        self.slots += slots.len() as u64;
        self.erased += slots.iter().filter(|slot| slot.is_erased()).count() as u64;
        if slots.len() > FEW {
            self.checks
                .par_iter_mut()
                .for_each(|check| check.slots(slots));
        } else {
            self.checks.iter_mut().for_each(|check| check.slots(slots));
        }
    }

    /// Findings with the head of the trace. `kind` is that of the format, if the head has none; `has_times` says whether the
    /// times are those of the trace.
    #[must_use]
    pub fn finish(self, head: &Metadata, kind: Option<TraceKind>, has_times: bool) -> Linted {
        let stated = head.get(TraceKind::KEY).and_then(|kind| kind.parse().ok());
        let facts = Facts {
            head,
            kind: stated.or(kind),
            has_times,
            slots: self.slots,
            erased: self.erased,
        };
        let findings = self.checks.iter().flat_map(|check| check.findings(&facts));
        let mut linted = Linted {
            slots: self.slots,
            erased: self.erased,
            duration: self.last.since(self.first.unwrap_or_default()),
            kind: facts.kind,
            findings: findings.collect(),
        };
        linted.add(Vec::new());
        linted
    }
}

/// The finding that an error is which ends the reading of a trace: times that fall.
#[must_use]
pub fn finding_of(error: &Error) -> Option<Finding> {
    let ErrorKind::OutOfOrder { previous, found } = error.kind() else {
        return None;
    };
    let back = previous.since(*found);
    // The usual units of counters of 32 bits.
    let wraps = [("ns", 1_u64), ("us", 1_000), ("ms", 1_000_000)].map(|(unit, nanos)| {
        let off = (back.as_nanos() / nanos).abs_diff(1 << 32);
        (off <= 1 << 28).then(|| format!(", about 2^32 {unit}: a counter that wrapped"))
    });
    let why = wraps.into_iter().flatten().next().unwrap_or_default();
    let text = format!(
        "a time is {back} before the one of the row before{why}; what follows was not read"
    );
    let finding = Finding::of(&UNSORTED_TIMES, 1, "rows", text);
    let place = error.position().unwrap_or_default();
    Some(match place.line {
        0 => finding.at_slot(place.row.checked_sub(1)),
        line => finding.at_line(None, line),
    })
}

#[cfg(test)]
mod tests;
