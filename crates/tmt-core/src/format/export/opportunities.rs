//! Delivery opportunities in whole milliseconds, one per line, as mahimahi and CellReplay repeat them.

use std::io::{BufWriter, Write};

use super::seen::Seen;
use super::{ExportError, LLDU, lldu};
use crate::format::import::finding::counted;
use crate::format::import::{Finding, Given, Remark};
use crate::types::named::{Kind, Parameter};
use crate::types::{Bytes, Metadata, Slot, Span};

/// Nanoseconds per millisecond.
const MILLISECOND: u64 = 1_000_000;

/// Largest slot that becomes opportunities, bytes: each is a line, and a size in a head may be wrong.
const LARGEST_SLOT: Bytes = Bytes(1_000_000);

/// Key of what becomes of erased slots.
pub(super) const ERASED: Parameter = Parameter::optional(
    "erased",
    Kind::Words(&["leave-out", "keep"]),
    "erased slots: leave-out, so that their packets wait, or keep, so that nothing is lost on them [default: leave-out]",
);

/// Key of opportunities of another size than the slots.
pub(super) const RESCALE: Parameter = Parameter::optional(
    "rescale",
    Kind::Present,
    "give one opportunity whenever the slots add up to its size, if slots have another size",
);

/// A file of opportunities.
pub(super) struct Opportunities {
    out: BufWriter<Box<dyn Write + Send>>,
    /// Name of the tool in messages.
    tool: &'static str,
    /// Bytes of an opportunity.
    size: u64,
    /// Bytes of a slot.
    slot: u64,
    keeps_erased: bool,
    /// Bytes of slots that have not become an opportunity yet.
    left: u64,
    written: u64,
    last_ms: u64,
    first_ms: Option<u64>,
    rounded: u64,
    pub(super) seen: Seen,
    head: Metadata,
}

impl Opportunities {
    /// Writes opportunities of `size` to `out`.
    ///
    /// # Errors
    /// Slots of another size, unless they are rescaled.
    pub(super) fn open(
        tool: &'static str,
        size: Bytes,
        given: &Given,
        head: &Metadata,
        out: Box<dyn Write + Send>,
        note: &mut dyn FnMut(Remark),
    ) -> Result<Self, ExportError> {
        let (rescales, slot) = (given.has(RESCALE.name), lldu(given, head));
        match slot {
            None if rescales => {
                return Err(ExportError::Refused(format!(
                    "`{}` needs the size of a slot, which the head does not have: expected `{}`",
                    RESCALE.name, LLDU.name
                )));
            }
            None => note(Remark::assumed(format!(
                "the size of a slot is unknown; each is taken as an opportunity of {size} (`{}`)",
                LLDU.name
            ))),
            Some(slot) if slot != size && !rescales => {
                return Err(ExportError::Refused(format!(
                    "an opportunity of {tool} has {size}, a slot of this trace {slot}: expected `{}`, which gives an opportunity for every {size} of the slots",
                    RESCALE.name
                )));
            }
            Some(slot) if slot > LARGEST_SLOT => {
                return Err(ExportError::Refused(format!(
                    "found slots of {slot}, expected at most {LARGEST_SLOT} (`{}`)",
                    LLDU.name
                )));
            }
            Some(slot) if slot != size => note(Remark::not_carried(format!(
                "slots of {slot} become opportunities of {size}, each at the time of the slot that completes it; the times of the single slots are not carried"
            ))),
            Some(_) => {}
        }
        Ok(Self {
            out: BufWriter::new(out),
            tool,
            size: size.0,
            slot: slot.unwrap_or(size).0,
            keeps_erased: given.text(ERASED.name) == Some("keep"),
            left: 0,
            written: 0,
            last_ms: 0,
            first_ms: None,
            rounded: 0,
            seen: Seen::default(),
            head: head.clone(),
        })
    }

    /// Writes the opportunities of a slot.
    pub(super) fn slot(&mut self, slot: &Slot) -> Result<(), ExportError> {
        self.seen.slot(slot);
        if slot.is_erased() && !self.keeps_erased {
            return Ok(());
        }
        let nanos = slot.tx_time().as_nanos();
        // The nearest millisecond: the error has no direction, so that the rate stays.
        let ms = nanos / MILLISECOND + u64::from(nanos % MILLISECOND >= MILLISECOND / 2);
        self.left = self.left.saturating_add(self.slot);
        while self.left >= self.size {
            self.left -= self.size;
            writeln!(self.out, "{ms}")?;
            self.written += 1;
            self.rounded += u64::from(!nanos.is_multiple_of(MILLISECOND));
            self.last_ms = ms;
            self.first_ms.get_or_insert(ms);
        }
        Ok(())
    }

    /// Completes the file; returns what was found.
    pub(super) fn finish(mut self) -> Result<Vec<Finding>, ExportError> {
        let (tool, seen) = (self.tool, &self.seen);
        if self.written == 0 {
            return Err(ExportError::Trace(format!(
                "found no opportunity in {} ({} erased), expected at least one for {tool}",
                counted(seen.slots, "slot"),
                seen.erased
            )));
        }
        if self.last_ms == 0 {
            return Err(ExportError::Trace(format!(
                "found the last opportunity at 0 ms, expected a later one, because {tool} repeats the file after it: `tmt slice --shift 1ms` moves the trace"
            )));
        }
        self.out.flush()?;
        let mut findings = Vec::new();
        findings.extend(seen.losses_lost(&if self.keeps_erased {
            format!("kept as opportunities like the others: nothing is lost on them in {tool}")
        } else {
            format!(
                "left out: packets wait for the next opportunity instead of being lost in {tool} (`{}` keep keeps their opportunities)",
                ERASED.name
            )
        }));
        findings.extend(seen.delays_lost(""));
        findings.extend(seen.order_lost());
        if self.rounded > 0 {
            let text = format!(
                "{} rounded to the nearest millisecond, by up to 0.5 ms",
                counted(self.rounded, "time")
            );
            findings
                .push(Finding::note("times-rounded", self.rounded, "times", text).not_carried());
        }
        findings.extend(seen.probes(&self.head));
        let rate =
            u128::from(self.written) * u128::from(self.size) * 8_000 / u128::from(self.last_ms);
        let first = self.first_ms.unwrap_or(0);
        let text = format!(
            "{tool} repeats {} from {first} ms on after {} ms, the last line: {rate} bps on average",
            match self.written {
                1 => "1 opportunity".to_owned(),
                written => format!("{written} opportunities"),
            },
            self.last_ms
        );
        findings.push(Finding::note("period", self.written, "opportunities", text));
        Ok(findings)
    }
}

/// Hint at the delay for a format that holds none: the propagation of the head, for the tool to add.
pub(super) fn propagation_hint(head: &Metadata, how: &str) -> Option<Remark> {
    let half = Span::from_nanos(head.rtt()?.as_nanos() / 2)?;
    let text = format!("the propagation of {half} is not carried ({how})");
    (!half.is_zero()).then(|| Remark::not_carried(text))
}
