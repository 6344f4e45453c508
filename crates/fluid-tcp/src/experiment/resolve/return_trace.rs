//! The PHY trace or timeline of a path beside the link: of the return path, or of one that data cross.

use tmt_core::types::{Bytes, Note, Time, to_f64};

use super::packing::{fill_warning, packing_text};
use super::rows::{keep_known, loop_period};
use super::trace_warnings::probes;
use crate::experiment::counted::counted;
use crate::experiment::error::{Result, data};
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::TraceBesidePlan;
use crate::experiment::storage::Storage;
use tmt_link::Packing;
use tmt_link::hop::PathTrace;

/// Packets that a trace beside the link carries, in words.
pub(super) struct Cargo {
    /// The path of the trace.
    pub(super) path: &'static str,
    /// One packet with its article, one without, and several.
    pub(super) one: &'static str,
    pub(super) bare: &'static str,
    pub(super) many: &'static str,
    /// Size of one.
    pub(super) size: Bytes,
}

impl Experiment {
    /// Reads the return trace if there is one, and adds notes on it.
    pub(super) fn return_link(
        &self,
        storage: &dyn Storage,
        (ack, end_of_run): (Bytes, Time),
        notes: &mut Vec<Note>,
    ) -> Result<Option<TraceBesidePlan>> {
        let cargo = Cargo {
            path: "return path",
            one: "an ACK",
            bare: "ACK",
            many: "ACKs",
            size: ack,
        };
        let file = self.return_trace.as_ref();
        let trace = file.map(|file| self.trace_beside(storage, file, &cargo, end_of_run, notes));
        trace.transpose()
    }

    /// Reads the trace of a path beside the link, and adds notes on it.
    pub(super) fn trace_beside(
        &self,
        storage: &dyn Storage,
        file: &String,
        cargo: &Cargo,
        end_of_run: Time,
        notes: &mut Vec<Note>,
    ) -> Result<TraceBesidePlan> {
        let &Cargo {
            path,
            one,
            bare,
            many,
            size,
        } = cargo;
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
        let payload = Self::payload((lldu, header), &format!("{name}: "), many)?;
        let (packing, packing_origin) = self.packing_of(&head);
        let segmentation = packing.segmentation(size, payload);
        let lldus = segmentation.lldus();
        let looped = self.looped();
        if let Some(end) = read.end.filter(|_| looped) {
            keep_known(&mut rows, end.usable_until)?;
        }
        if rows.len() < lldus {
            return Err(data(format!(
                "{name}: found {}, expected at least {lldus}, which {one} of {size} needs",
                counted(rows.len(), "LLDU")
            )));
        }
        let period = looped.then(|| loop_period(&name, &rows)).transpose()?;
        notes.push(
            format!(
                "{path}: trace of {} of {lldu} ({origin}), header {header}{}: {}",
                counted(rows.len(), "LLDU"),
                packing_text(packing, &packing_origin),
                match packing {
                    Packing::Packet => format!("{} per {bare} of {size}", counted(lldus, "LLDU")),
                    Packing::Bytes => format!("{payload} B per LLDU for {many}"),
                }
            )
            .into(),
        );
        let remedy = "share them with `packing` bytes";
        notes.extend(fill_warning(packing, one, size, payload, remedy));
        if let Some(last) = rows
            .last()
            .filter(|last| period.is_none() && *last < end_of_run)
        {
            notes.push(Note::warning(format!("the {} ends at {last}, before the run: later {many} never arrive (`loop` repeats it)", path.replace("path", "trace"))));
        }
        let rate_bps = rows.rate().map(|rate| rate * to_f64(payload.get()) * 8.0);
        Ok(TraceBesidePlan {
            rate_bps,
            trace: PathTrace {
                timeline: rows.into(),
                segmentation,
                period,
            },
            lldu,
            payload,
            packing,
        })
    }
}
