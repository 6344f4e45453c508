//! The saturated walk over a PHY trace: what `tmt apply` computes (link-layer.md §3).

use crate::error::{Error, ErrorKind, Position, Result};
use crate::machine::{Machine, Saturated};
use crate::metadata::EndLine;
use crate::scheme::SchemeSpec;
use crate::slot::{Fate, Lldu, Slot};
use crate::summary::{LinkSummary, LinkTally};
use crate::text::Rows;
use crate::units::{Span, Time};

/// One scheme on its way along a trace.
#[derive(Debug)]
pub struct Walk {
    scheme: SchemeSpec,
    rtt: Span,
    feedback_delay: Span,
    machine: Machine,
    tally: LinkTally,
    last_slot: Time,
    slots: u64,
    rows: u64,
    first_censored: Option<Time>,
}

impl Walk {
    /// A walk at the first slot.
    #[must_use]
    pub fn new(scheme: SchemeSpec, rtt: Span, feedback_delay: Span) -> Self {
        Self {
            machine: Machine::new(&scheme, rtt, feedback_delay),
            tally: LinkTally::new(rtt.half()),
            scheme,
            rtt,
            feedback_delay,
            last_slot: Time::ZERO,
            slots: 0,
            rows: 0,
            first_censored: None,
        }
    }

    /// The scheme.
    #[must_use]
    pub fn scheme(&self) -> &SchemeSpec {
        &self.scheme
    }

    /// Takes the next slots and appends the LLDUs whose story is complete to `out`.
    ///
    /// # Errors
    /// A slot so late that its repeat would be past 2^63 − 1 ns.
    pub fn rows(&mut self, rows: &Rows, out: &mut Vec<Lldu>) -> Result<()> {
        for (index, slot) in rows.slots.iter().enumerate() {
            if let Err(kind) = self.slot(slot, out) {
                let position = Position {
                    line: rows.line(index),
                    column: 1,
                    row: self.slots,
                };
                return Err(Error::at(kind, position));
            }
        }
        Ok(())
    }

    /// Takes the next slot.
    ///
    /// # Errors
    /// As [`Walk::rows`].
    pub fn slot(&mut self, slot: &Slot, out: &mut Vec<Lldu>) -> Result<(), ErrorKind> {
        self.slots += 1;
        self.last_slot = slot.tx_time();
        self.tally.slot(slot.is_erased());
        let from = out.len();
        if let Some(unit) = self.machine.next_unit(slot.tx_time(), &mut Saturated) {
            self.machine.on_outcome(unit, slot, out)?;
        }
        self.count(&out[from..]);
        Ok(())
    }

    /// Ends the trace and appends what is left.
    pub fn finish(&mut self, out: &mut Vec<Lldu>) -> EndLine {
        let from = out.len();
        self.machine.finish(self.last_slot, out);
        self.count(&out[from..]);
        self.tally.finish();
        EndLine {
            rows: self.rows,
            slots: self.slots,
            usable_until: self.first_censored.unwrap_or(self.last_slot),
        }
    }

    /// The summary of link-layer.md §9; whole once [`Walk::finish`] was called.
    #[must_use]
    pub fn summary(&self) -> LinkSummary {
        self.tally.summary(
            &self.scheme,
            self.rtt,
            self.feedback_delay,
            self.machine.counts(),
        )
    }

    fn count(&mut self, lldus: &[Lldu]) {
        for lldu in lldus {
            self.rows += 1;
            if lldu.fate == Fate::Censored {
                self.first_censored.get_or_insert(lldu.tx_time);
            }
            self.tally.lldu(lldu);
        }
    }
}
