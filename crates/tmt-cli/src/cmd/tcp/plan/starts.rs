//! Where in the trace the runs of `--offsets` begin.

use tmt_core::types::Span;

use super::super::args::Args;
use super::FlowPlan;
use super::link::Link;
use crate::exit::{Failure, Outcome};

/// The starts of all runs from the trace's first row on, in their order, and what to say of them; none without
/// `--offsets`.
///
/// With `--duration` no run starts so late that it would be cut short by the end of the trace; without, a transfer
/// may start anywhere, and is cut short there. A repeated trace has its starts within its first round.
pub(super) fn starts(
    args: &Args,
    link: &Link,
    period: Option<Span>,
    flows: &[FlowPlan],
) -> Outcome<Option<(Vec<Span>, String)>> {
    let Some(offsets) = args.offsets else {
        return Ok(None);
    };
    if args.link == "synthetic" {
        return Err(Failure::usage(
            "--offsets has no meaning with --link synthetic, which is the same at any time: --seeds",
        ));
    }
    if args.channel.is_some() {
        return Err(Failure::usage(
            "--offsets has no meaning with --channel, which is the same at any time: --seeds",
        ));
    }
    let endless = flows.iter().any(|flow| flow.flow.packets.is_none());
    if endless && args.duration.is_none() {
        return Err(Failure::usage(
            "--offsets needs --bytes or --duration: the runs would all go on to the end of the trace",
        ));
    }
    let length = link.ends.map_or(Span::ZERO, |ends| ends.since(link.begin));
    let room = match (period, args.duration) {
        (Some(period), _) => period,
        (None, Some(duration)) if duration > length => {
            return Err(Failure::failed(format!(
                "found a timeline of {length} up to its end, expected at least the {duration} of a run (--duration)"
            )));
        }
        (None, duration) => length.saturating_sub(duration.unwrap_or(Span::ZERO)),
    };
    let count = u64::from(offsets.count);
    if count > 1 && count > room.as_nanos() {
        return Err(Failure::failed(format!(
            "found {room} of timeline for runs to begin in, expected more nanoseconds than the {count} of --offsets"
        )));
    }
    let how = if offsets.random {
        "drawn from"
    } else {
        "evenly spaced over"
    };
    let words = format!("{count} runs, each on its own, their starts {how} {room} of the timeline");
    Ok(Some((offsets.within(room, args.seed), words)))
}
