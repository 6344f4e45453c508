//! Runs a scheme with a saturated sender over a PHY trace, which is what `tmt apply` computes (docs/schemes.md, Sec. 3).

use crate::scheme::SchemeSpec;
use crate::scheme::engine::{Code, Engine, Ideal, Saturated, UnitCounts};
use crate::types::{EndLine, Error, ErrorKind, Fate, Lldu, Position, Slot, Span, Time};

/// Error of [`SchemeRunner::push_slots`]: a slot that the scheme cannot use.
#[derive(Debug, thiserror::Error)]
#[error("slot {slot}: {kind}")]
pub struct RunnerError {
    /// Index of the slot in the slice that was passed.
    pub index: usize,
    /// Number of the slot in the trace, from 1.
    pub slot: u64,
    /// The fault of the slot.
    pub kind: ErrorKind,
}

impl From<RunnerError> for Error {
    fn from(error: RunnerError) -> Self {
        Self::at(error.kind, Position::of_row(error.slot))
    }
}

/// Runs one scheme over a trace that is passed slice by slice.
///
/// ```
/// use tmt_core::{Fate, SchemeSpec, Slot, Span, Time, SchemeRunner};
///
/// let mut runner = SchemeRunner::new(SchemeSpec::fec(1, 2)?, Span::from_millis(500), Span::ZERO);
/// let mut lldus = Vec::new();
/// // Codewords of two slots: the first slot of the first one is erased, and both of the second.
/// let at = |millis| Time::ZERO.saturating_add(Span::from_millis(millis));
/// let received = Slot::new(at(1), Span::from_millis(36)).ok_or("past 2^63 - 1 ns")?;
/// runner.push_slots(&[Slot::erased(at(0)), received, Slot::erased(at(2)), Slot::erased(at(3))], &mut lldus)?;
/// runner.finish(&mut lldus);
/// let fates: Vec<Fate> = lldus.iter().map(|lldu| lldu.fate).collect();
/// assert_eq!(fates, [Fate::Delivered, Fate::Lost]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SchemeRunner<C: Code = Ideal> {
    engine: Engine<C>,
    last_slot: Time,
    slots: u64,
    rows: u64,
}

impl SchemeRunner {
    /// A runner with the ideal code before the first slot, for a link with this RTT and feedback delay.
    #[must_use]
    pub fn new(scheme: SchemeSpec, rtt: Span, feedback_delay: Span) -> Self {
        Self::with_code(scheme, Ideal, rtt, feedback_delay)
    }
}

impl<C: Code> SchemeRunner<C> {
    /// A runner with `code` before the first slot, for a link with this RTT and feedback delay.
    #[must_use]
    pub fn with_code(scheme: SchemeSpec, code: C, rtt: Span, feedback_delay: Span) -> Self {
        Self {
            engine: Engine::with_code(scheme, code, rtt, feedback_delay),
            last_slot: Time::ZERO,
            slots: 0,
            rows: 0,
        }
    }

    /// The scheme that is run.
    #[must_use]
    pub fn scheme(&self) -> &SchemeSpec {
        &self.engine.scheme
    }

    /// Units sent so far, by kind. They add up to the slots that were pushed.
    #[must_use]
    pub fn unit_counts(&self) -> UnitCounts {
        self.engine.counts()
    }

    /// [`Self::push_slots`] cannot fail for slots sent at or before this time; `None` if it can fail for any slot.
    #[must_use]
    pub fn repeats_fit_until(&self) -> Option<Time> {
        self.engine.repeats_fit_until()
    }

    /// Processes the next slots, in order of their times. Appends to `out` the LLDUs whose fate is known and that have no
    /// undecided LLDU before them.
    ///
    /// # Errors
    /// A slot is so late that its repeat would be ready after 2^63 − 1 ns. The contents of `out` do not depend on how the
    /// trace was cut into slices.
    pub fn push_slots(&mut self, slots: &[Slot], out: &mut Vec<Lldu>) -> Result<(), RunnerError> {
        let from = out.len();
        let walked = self.engine.advance(slots, &mut Saturated, out);
        let taken = walked
            .as_ref()
            .map_or_else(|(index, _)| index + 1, |used| *used);
        if let Some(last) = slots[..taken].last() {
            self.last_slot = last.tx_time();
        }
        self.slots += taken as u64;
        self.rows += (out.len() - from) as u64;
        walked.map(drop).map_err(|(index, kind)| RunnerError {
            index,
            slot: self.slots,
            kind,
        })
    }

    /// Ends the trace: appends the remaining LLDUs, the undecided ones as censored, and returns the end line.
    pub fn finish(&mut self, out: &mut Vec<Lldu>) -> EndLine {
        let from = out.len();
        self.engine.finish(self.last_slot, out);
        self.rows += (out.len() - from) as u64;
        // LLDUs are censored only here.
        let censored = out[from..].iter().find(|lldu| lldu.fate == Fate::Censored);
        EndLine {
            rows: self.rows,
            slots: self.slots,
            usable_until: censored.map_or(self.last_slot, |lldu| lldu.tx_time),
        }
    }
}
