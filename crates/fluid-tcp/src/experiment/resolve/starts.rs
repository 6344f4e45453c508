//! Where in the trace runs from several places begin.

use tmt_core::types::Span;

use super::link::Link;
use crate::experiment::error::{Result, data, refused};
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::FlowPlan;

impl Experiment {
    /// The starts of all runs from the trace's first row on, in their order, and what to say of them; none without
    /// offsets.
    ///
    /// With a duration no run starts so late that it would be cut short by the end of the trace; without, a transfer
    /// may start anywhere, and is cut short there. A repeated trace has its starts within its first round.
    pub(super) fn starts(
        &self,
        link: &Link,
        period: Option<Span>,
        flows: &[FlowPlan],
    ) -> Result<Option<(Vec<Span>, String)>> {
        let Some(offsets) = self.offsets else {
            return Ok(None);
        };
        let endless = flows.iter().any(|flow| flow.flow.packets.is_none());
        if endless && self.duration.is_none() {
            return refused(
                "offsets",
                "`offsets` needs `bytes` or `duration`: the runs would all go on to the end of the trace",
            );
        }
        let length = link.ends.map_or(Span::ZERO, |ends| ends.since(link.begin));
        let room = match (period, self.duration) {
            (Some(period), _) => period,
            (None, Some(duration)) if duration > length => {
                return Err(data(format!(
                    "found a timeline of {length} up to its end, expected at least the {duration} of a run (`duration`)"
                )));
            }
            (None, duration) => length.saturating_sub(duration.unwrap_or(Span::ZERO)),
        };
        let count = u64::from(offsets.count);
        if count > 1 && count > room.as_nanos() {
            return Err(data(format!(
                "found {room} of timeline for runs to begin in, expected more nanoseconds than the {count} of `offsets`"
            )));
        }
        let how = if offsets.random {
            "drawn from"
        } else {
            "evenly spaced over"
        };
        let words =
            format!("{count} runs, each on its own, their starts {how} {room} of the timeline");
        Ok(Some((offsets.within(room, self.seed().0), words)))
    }
}
