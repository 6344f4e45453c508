//! Starts of runs with `offsets`.

use tmt_core::types::Span;

use super::link::Link;
use crate::experiment::counted::{counted, lasting};
use crate::experiment::error::{Result, data, refused};
use crate::experiment::parameters::Experiment;
use crate::experiment::plan::FlowPlan;

impl Experiment {
    /// Starts of all runs after the first row, in ascending order, and a note on them; `None` without `offsets`.
    ///
    /// With a duration, every run fits into the trace. Without, a transfer can start anywhere, and the end of the trace
    /// cuts it short, as it does with runs that start within a time that is given. A repeated trace has all starts in its
    /// first period.
    pub(super) fn starts(
        &self,
        link: &Link,
        period: Option<Span>,
        flows: &[FlowPlan],
    ) -> Result<Option<(Vec<Span>, String)>> {
        let Some(offsets) = self.offsets else {
            return Ok(None);
        };
        let endless = flows.iter().any(|flow| flow.flow.packets().is_none());
        if endless && self.duration.is_none() {
            return refused(
                "offsets",
                "`offsets` needs `bytes` or `duration`: otherwise every run lasts until the end of the trace",
            );
        }
        let length = link.ends.map_or(Span::ZERO, |ends| ends.since(link.begin));
        let range = match (offsets.over.or(period), self.duration) {
            (Some(range), _) if period.is_none() && range > length => {
                return Err(data(format!(
                    "found a timeline of {}, expected at least the {range} within which runs start (`offsets`)",
                    lasting(length)
                )));
            }
            (Some(range), _) => range,
            (None, Some(duration)) if duration > length => {
                return Err(data(format!(
                    "found a timeline of {}, expected at least the {duration} of a run (`duration`)",
                    lasting(length)
                )));
            }
            (None, duration) => length.saturating_sub(duration.unwrap_or(Span::ZERO)),
        };
        let count = u64::from(offsets.count);
        if count > 1 && count > range.as_nanos() {
            return Err(data(format!(
                "found {range} of timeline to start runs in, expected at least one nanosecond for each of the {count} `offsets`"
            )));
        }
        let how = if offsets.random {
            "random within"
        } else {
            "evenly spaced over"
        };
        let note = format!(
            "{} from different starts, {how} {range} of the timeline",
            counted(count, "run")
        );
        Ok(Some((offsets.within(range, self.seed().0), note)))
    }
}
