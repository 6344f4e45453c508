//! The return link's own PHY trace or timeline.

use tmt_core::types::{Bytes, Note, Time, to_f64};

use super::packing::{fill_warning, packing_text};
use super::rows::{keep_known, loop_period};
use super::trace_warnings::probes;
use crate::experiment::counted::counted;
use crate::experiment::error::{Result, data};
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::ReturnPlan;
use crate::experiment::storage::Storage;
use tmt_link::Packing;
use tmt_link::hop::ReturnTrace;

impl Experiment {
    /// Reads the return trace if there is one, and adds notes on it.
    pub(super) fn return_link(
        &self,
        storage: &impl Storage,
        (ack, end_of_run): (Bytes, Time),
        notes: &mut Vec<Note>,
    ) -> Result<Option<ReturnPlan>> {
        let Some(file) = &self.return_trace else {
            return Ok(None);
        };
        let read = self.read(storage, Some(file), true)?;
        let (name, head, mut rows) = (read.name, read.head, read.rows);
        notes.extend(read.notes);
        notes.extend(probes(&format!("{name}: "), &head));
        // The metadata of this file take precedence: the parameters describe the forward link.
        let (lldu, origin): (Bytes, String) = match head.lldu_bytes() {
            Some(known) => (known, "metadata".to_owned()),
            None => self.lldu_size(&head),
        };
        let header = head
            .lldu_header_bytes()
            .unwrap_or_else(|| self.lldu_header());
        let payload = Self::payload((lldu, header), &format!("{name}: "), "ACKs")?;
        let (packing, packing_origin) = self.packing_of(&head);
        let segmentation = packing.segmentation(ack, payload);
        let lldus = segmentation.lldus();
        let looped = self.looped();
        if let Some(end) = read.end.filter(|_| looped) {
            keep_known(&mut rows, end.usable_until)?;
        }
        if rows.len() < lldus {
            return Err(data(format!(
                "{name}: found {}, expected at least {lldus}, which an ACK of {ack} needs",
                counted(rows.len(), "LLDU")
            )));
        }
        let period = looped.then(|| loop_period(&name, &rows)).transpose()?;
        notes.push(
            format!(
                "return path: trace of {} of {lldu} ({origin}), header {header}{}: {}",
                counted(rows.len(), "LLDU"),
                packing_text(packing, &packing_origin),
                match packing {
                    Packing::Packet => format!("{} per ACK of {ack}", counted(lldus, "LLDU")),
                    Packing::Bytes => format!("{payload} B per LLDU for ACKs"),
                }
            )
            .into(),
        );
        let remedy = "share them with `packing` bytes";
        notes.extend(fill_warning(packing, "an ACK", ack, payload, remedy));
        if let Some(last) = rows
            .last()
            .filter(|last| period.is_none() && *last < end_of_run)
        {
            notes.push(Note::warning(format!("the return trace ends at {last}, before the run: later ACKs never arrive (`loop` repeats it)")));
        }
        let rate_bps = rows.rate().map(|rate| rate * to_f64(payload.get()) * 8.0);
        Ok(Some(ReturnPlan {
            rate_bps,
            trace: ReturnTrace {
                timeline: rows.into(),
                segmentation,
                period,
            },
            lldu,
            packing,
        }))
    }
}
