//! Flows that the head of a log has, beside flags.

use super::{RecordingError, Result};
use crate::experiment::{Experiment, FlowSpec};

/// `given` without what it says of the flows, which are `flows`.
///
/// # Errors
/// Flags that contradict them.
pub(super) fn without_flows(mut given: Experiment, flows: &[FlowSpec]) -> Result<Experiment> {
    let refused = |key: &str, found: &str, expected: &str| {
        Err(RecordingError(format!(
            "`{key}`: found {found}, expected that of the head of the log, {expected}, or no `{key}`"
        )))
    };
    if let Some(count) = given.flows.filter(|count| count.0 != flows.len() as u64) {
        return refused("flows", &count.0.to_string(), &flows.len().to_string());
    }
    if let Some(own) = given.flow.as_ref().filter(|own| own.len() != flows.len()) {
        return refused("flow", &own.len().to_string(), &flows.len().to_string());
    }
    for (number, flow) in flows.iter().enumerate() {
        // A control of all flows does not concern datagrams.
        let all = FlowSpec {
            cc: given.cc.clone().filter(|_| flow.cc.is_some()),
            start: given.start,
            bytes: given.bytes,
            ..FlowSpec::default()
        };
        let own = given.flow.as_ref().map(|own| &own[number]);
        // The setting of a flow goes before that of all.
        let all = FlowSpec {
            cc: all.cc.filter(|_| own.is_none_or(|own| own.cc.is_none())),
            start: all
                .start
                .filter(|_| own.is_none_or(|own| own.start.is_none())),
            ..all
        };
        if let Some(key) = flow.contradicted(&all) {
            return refused(key, &all.text_of(key), &flow.text_of(key));
        }
        if let Some(own) = own
            && let Some(key) = flow.contradicted(own)
        {
            let (found, expected) = (own.text_of(key), flow.text_of(key));
            return refused("flow", &format!("{found} of flow {number}"), &expected);
        }
    }
    (given.flows, given.flow) = (None, None);
    (given.cc, given.start, given.bytes) = (None, None, None);
    Ok(given)
}
