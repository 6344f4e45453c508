//! The saturated walk over a PHY trace: what `tmt apply` computes (link-layer.md §3).

use crate::scheme::SchemeSpec;
use crate::scheme::engine::{Engine, UnitCounts};
use crate::types::{EndLine, Error, ErrorKind, Fate, Lldu, Position, Slot, Span, Time};

/// A slot that a walk refused.
#[derive(Debug, thiserror::Error)]
#[error("slot {slot}: {kind}")]
pub struct RunnerError {
    /// Its index in the slice that was given.
    pub index: usize,
    /// Its number in the trace, from 1.
    pub slot: u64,
    /// Why.
    pub kind: ErrorKind,
}

impl From<RunnerError> for Error {
    fn from(error: RunnerError) -> Self {
        Self::at(error.kind, Position::of_row(error.slot))
    }
}

/// One scheme on its way along a trace.
#[derive(Debug)]
pub struct SchemeRunner {
    engine: Engine,
    last_slot: Time,
    slots: u64,
    rows: u64,
}

impl SchemeRunner {
    /// A walk at the first slot.
    #[must_use]
    pub fn new(scheme: SchemeSpec, rtt: Span, feedback_delay: Span) -> Self {
        Self {
            engine: Engine::new(scheme, rtt, feedback_delay),
            last_slot: Time::ZERO,
            slots: 0,
            rows: 0,
        }
    }

    /// The scheme.
    #[must_use]
    pub fn scheme(&self) -> &SchemeSpec {
        &self.engine.scheme
    }

    /// Units sent so far.
    #[must_use]
    pub fn unit_counts(&self) -> UnitCounts {
        self.engine.counts()
    }

    /// Slots sent at or before this time are never refused; `None` where any may be.
    #[must_use]
    pub fn repeats_fit_until(&self) -> Option<Time> {
        self.engine.repeats_fit_until()
    }

    /// Takes the next slots, in the order of their times, and appends the LLDUs that are settled and
    /// have no unsettled one in front of them to `out`.
    ///
    /// # Errors
    /// The first slot so late that its repeat would be past 2^63 − 1 ns. What is in `out` then does not depend on how
    /// the trace was cut into slices.
    pub fn push_slots(&mut self, slots: &[Slot], out: &mut Vec<Lldu>) -> Result<(), RunnerError> {
        let from = out.len();
        let walked = self.engine.run_saturated(slots, out);
        let taken = walked
            .as_ref()
            .map_or_else(|(index, _)| index + 1, |()| slots.len());
        if let Some(last) = slots[..taken].last() {
            self.last_slot = last.tx_time();
        }
        self.slots += taken as u64;
        self.rows += (out.len() - from) as u64;
        walked.map_err(|(index, kind)| RunnerError {
            index,
            slot: self.slots,
            kind,
        })
    }

    /// Ends the trace and appends what is left.
    pub fn finish(&mut self, out: &mut Vec<Lldu>) -> EndLine {
        let from = out.len();
        self.engine.finish(self.last_slot, out);
        self.rows += (out.len() - from) as u64;
        // Only the end of the trace censors.
        let censored = out[from..].iter().find(|lldu| lldu.fate == Fate::Censored);
        EndLine {
            rows: self.rows,
            slots: self.slots,
            usable_until: censored.map_or(self.last_slot, |lldu| lldu.tx_time),
        }
    }
}
