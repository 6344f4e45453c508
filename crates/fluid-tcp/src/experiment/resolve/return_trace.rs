//! The return link's own PHY trace or timeline.

use std::sync::Arc;

use tmt_core::types::Bytes;

use super::link::{keep_known, loop_period};
use crate::experiment::error::{Result, data};
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::ReturnPlan;
use crate::experiment::storage::{Loaded, Storage, Wanted};
use crate::link::return_link::ReturnTrace;
use crate::simulation::ACK;

impl Experiment {
    /// Reads the return link where there is one, and adds to `notes` what it is.
    pub(super) fn return_link(
        &self,
        storage: &impl Storage,
        notes: &mut Vec<String>,
    ) -> Result<Option<ReturnPlan>> {
        let Some(file) = &self.return_trace else {
            return Ok(None);
        };
        let Loaded {
            name,
            mut timeline,
            head,
            end,
            note,
        } = storage.read(Wanted {
            path: Some(&file.0),
            ..self.wanted(true)
        })?;
        notes.extend(note);
        // What the file says of its own LLDUs holds; the parameter is about the way there.
        let (lldu, origin): (Bytes, String) = match head.lldu_bytes() {
            Some(known) => (known, "metadata".to_owned()),
            None => self.lldu_size(&head),
        };
        let payload = self.payload(lldu, &format!("{name}: "), "an acknowledgement")?;
        let lldus = ACK.0.div_ceil(payload);
        let looped = self.looped().0;
        if let Some(end) = end.filter(|_| looped) {
            keep_known(&mut timeline, end.usable_until)?;
        }
        if timeline.len() < lldus {
            return Err(data(format!(
                "{name}: found {} LLDUs, expected at least the {lldus} that an acknowledgement of {ACK} needs",
                timeline.len()
            )));
        }
        let period = looped.then(|| loop_period(&name, &timeline)).transpose()?;
        notes.push(format!(
            "return path on a trace of {} LLDUs of {lldu} ({origin}), header {}: {lldus} to an acknowledgement of {ACK}",
            timeline.len(),
            self.lldu_header()
        ));
        Ok(Some(ReturnPlan {
            trace: ReturnTrace {
                timeline: Arc::new(timeline),
                lldus: usize::try_from(lldus).unwrap_or(usize::MAX),
                period,
            },
            lldu,
        }))
    }
}
