//! Reports of a conversion: remarks on what it assumed before it began, and findings in its input.

use std::fmt;

/// Effect of a remark or a finding on the result of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: a fact about the input, or what follows from it by the rules of docs/trace-format.md, Sec. 12.
    Fact,
    /// The result rests on something that neither the input nor a key says.
    Assumed,
    /// Something of the input, or of what the trace needs, is missing in the result.
    NotCarried,
}

/// Report of a conversion before it reads its input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Effect on the result.
    pub effect: Effect,
    /// A sentence, with keys between backticks ([`render_keys`](super::render_keys)).
    pub text: String,
}

impl Remark {
    /// A fact.
    pub fn fact(text: impl Into<String>) -> Self {
        let (effect, text) = (Effect::Fact, text.into());
        Self { effect, text }
    }

    /// Something that is assumed.
    pub fn assumed(text: impl Into<String>) -> Self {
        let (effect, text) = (Effect::Assumed, text.into());
        Self { effect, text }
    }

    /// Something that is missing in the result.
    pub fn not_carried(text: impl Into<String>) -> Self {
        let (effect, text) = (Effect::NotCarried, text.into());
        Self { effect, text }
    }
}

/// Whether a finding casts doubt on the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It does not: the slots are what the input says.
    Note,
    /// Without it the slots would mislead.
    Warning,
}

/// Entry of the catalogue: what all findings of a name have in common.
#[derive(Debug, PartialEq, Eq)]
pub struct FindingKind {
    /// Name, which stays the same between versions.
    pub name: &'static str,
    /// Whether it casts doubt on the slots.
    pub severity: Severity,
    /// Peculiarity that was found.
    pub meaning: &'static str,
    /// From when on it is found.
    pub threshold: &'static str,
    /// Remedy, with keys of importers between backticks ([`render_keys`](super::render_keys)).
    pub remedy: &'static str,
}

/// Where something was found first, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Key of the input.
    pub input: Option<&'static str>,
    /// Line of the input, from 1.
    pub line: Option<u64>,
    /// Slot of the trace, from 0.
    pub slot: Option<u64>,
}

/// A peculiarity of an input, named and counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name, which stays the same between versions; lower case with hyphens.
    pub name: &'static str,
    /// How often it was found.
    pub count: u64,
    /// Unit of the count, in the plural: `lines`, `packets`.
    pub unit: &'static str,
    /// Whether it casts doubt on the slots.
    pub severity: Severity,
    /// Effect on the result.
    pub effect: Effect,
    /// Where it was found first.
    pub first: Place,
    /// A sentence with the count and the remedy, with keys between backticks.
    pub text: String,
}

impl Finding {
    /// One of the catalogue.
    pub(crate) fn of(
        known: &FindingKind,
        count: u64,
        unit: &'static str,
        text: impl Into<String>,
    ) -> Self {
        Self {
            severity: known.severity,
            ..Self::note(known.name, count, unit, text)
        }
    }

    /// The same where it casts no doubt on the slots, although it usually does.
    #[must_use]
    pub fn harmless(self) -> Self {
        let severity = Severity::Note;
        Self { severity, ..self }
    }

    /// A peculiarity that leaves the slots what the input says.
    pub fn note(
        name: &'static str,
        count: u64,
        unit: &'static str,
        text: impl Into<String>,
    ) -> Self {
        Self {
            name,
            count,
            unit,
            severity: Severity::Note,
            effect: Effect::Fact,
            first: Place::default(),
            text: text.into(),
        }
    }

    /// The same, found first in this line of `input`; 0 is no line.
    #[must_use]
    pub fn at_line(mut self, input: Option<&'static str>, line: u64) -> Self {
        self.first.input = input;
        self.first.line = Some(line).filter(|line| *line > 0);
        self
    }

    /// The same, found first in this slot, from 0.
    #[must_use]
    pub fn at_slot(mut self, slot: Option<u64>) -> Self {
        self.first.slot = slot;
        self
    }

    /// A peculiarity that casts doubt on the slots.
    pub fn warning(
        name: &'static str,
        count: u64,
        unit: &'static str,
        text: impl Into<String>,
    ) -> Self {
        let severity = Severity::Warning;
        Self {
            severity,
            ..Self::note(name, count, unit, text)
        }
    }

    /// The same, as something that was assumed.
    #[must_use]
    pub fn assumed(self) -> Self {
        let effect = Effect::Assumed;
        Self { effect, ..self }
    }

    /// The same, as something that is missing in the result.
    #[must_use]
    pub fn not_carried(self) -> Self {
        let effect = Effect::NotCarried;
        Self { effect, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `count` with a noun in the right number.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
