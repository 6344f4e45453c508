//! The path: the terrestrial part, and a proxy at its end.

use fluid_tcp::link::gateway::Discipline;
use fluid_tcp::simulation::{Path, SplitWindow};
use tmt_core::scheme::{Rounds, SchemeSpec};
use tmt_core::types::{Span, Time};

use super::super::args::Args;
use super::LinkPlan;
use super::link::Link;
use crate::exit::{Failure, Outcome};

/// Packets of a flow in flight below which three duplicate acknowledgements cannot come (papers/004 eq 58).
const FEWEST_FOR_FAST_RETRANSMIT: u64 = 4;

/// The path that the flags ask for, over `link`, of `flows` flows and a buffer of so many packets; and words about it.
pub(super) fn path(
    args: &Args,
    link: &Link,
    flows: usize,
    buffer: u64,
) -> Outcome<(Path, Vec<String>)> {
    let terrestrial_rtt = args.terrestrial_rtt.unwrap_or(Span::ZERO);
    let flows = flows as u64;
    let mut notes = Vec::new();
    let split = args.path == "split";
    if !split {
        if args.split_window.is_some() {
            return Err(Failure::usage(
                "--split-window has no meaning without --path split",
            ));
        }
        if args.terrestrial_rtt.is_some() {
            notes.push(format!("path e2e, terrestrial RTT {terrestrial_rtt}"));
        }
        if flows > buffer {
            notes.push(format!(
                "the queue of {buffer} packets has less than a place for each of the {flows} flows"
            ));
        }
        let path = Path {
            terrestrial_rtt,
            ..Path::default()
        };
        return Ok((path, notes));
    }
    refuse_beside_proxy(args)?;
    refuse_lossy(link)?;
    let window = args.split_window.unwrap_or_default();
    if window == SplitWindow::Share && buffer < flows {
        return Err(Failure::usage(format!(
            "--buffer: found {buffer} packets for {flows} flows, expected at least one each, as a flow that is told its part of less could never send (or --split-window whole)"
        )));
    }
    let origin = if args.split_window.is_some() {
        "--split-window"
    } else {
        "default"
    };
    notes.push(format!(
        "path split, terrestrial RTT {terrestrial_rtt}, a buffer of {buffer} packets of which each flow is told {} ({origin})",
        match window {
            SplitWindow::Whole => "all the room",
            SplitWindow::Share => "its part of the room",
        }
    ));
    if window == SplitWindow::Whole && flows > 1 && buffer / flows < FEWEST_FOR_FAST_RETRANSMIT {
        notes.push(format!(
            "less than {FEWEST_FOR_FAST_RETRANSMIT} places for each of the {flows} flows: where one loses a packet at the proxy only a timeout helps it (papers/004 eq 58)"
        ));
    }
    let (feedback_delay, words) = feedback(link);
    notes.extend(words);
    let path = Path {
        terrestrial_rtt,
        split: Some(window),
        feedback_delay,
    };
    Ok((path, notes))
}

/// How much later than its delivery a timeline's feedback tells of a packet, and what is to be said of that.
fn feedback(link: &Link) -> (Span, Vec<String>) {
    let mut notes = Vec::new();
    if !matches!(link.plan, LinkPlan::Timeline(_)) {
        return (Span::ZERO, notes);
    }
    let told = link.head.number("feedback_delay_ns");
    let delay = told.and_then(Span::from_nanos).unwrap_or(Span::ZERO);
    notes.push(format!(
        "the proxy keeps a packet until RTT / 2 + {delay} ({}) after its delivery",
        if told.is_some() {
            "metadata"
        } else {
            "no feedback delay in the metadata"
        }
    ));
    let scheme = link.head.get("scheme").map(str::parse::<SchemeSpec>);
    if scheme.is_some_and(|scheme| scheme.is_ok_and(|scheme| scheme.in_order())) {
        notes.push("the timeline tells deliveries in order, not when a packet was there: the proxy keeps what waits for one in front".to_owned());
    }
    (delay, notes)
}

/// Flags whose subject a proxy takes away.
fn refuse_beside_proxy(args: &Args) -> Outcome {
    let refused = [
        (
            "--return-loss",
            args.return_loss.is_some(),
            "the proxy's acknowledgements do not cross the return path",
        ),
        (
            "--return-rate",
            args.return_rate.is_some(),
            "the proxy's acknowledgements do not cross the return path",
        ),
        (
            "--return-trace",
            args.return_trace.is_some(),
            "the proxy's acknowledgements do not cross the return path",
        ),
        (
            "--delayed-ack",
            args.delayed_ack.is_some() || args.delayed_ack_timer.is_some(),
            "the proxy acknowledges at once",
        ),
        (
            "--queue codel",
            args.queue != Discipline::DROP_TAIL,
            "nobody would send again what the proxy has acknowledged",
        ),
    ];
    match refused.iter().find(|(_, given, _)| *given) {
        Some((flag, _, why)) => Err(Failure::usage(format!(
            "{flag} has no meaning with --path split: {why}"
        ))),
        None => Ok(()),
    }
}

/// A link that may lose a packet for good: what the proxy has acknowledged nobody sends again.
fn refuse_lossy(link: &Link) -> Outcome {
    let refuse = |found: String| {
        Err(Failure::usage(format!(
            "--path split: found {found}, expected a link that delivers everything, as nobody sends again what the proxy has acknowledged"
        )))
    };
    match &link.plan {
        LinkPlan::Synthetic {
            loss: Some(loss), ..
        } => refuse(format!("--loss {loss}")),
        LinkPlan::Coupled(plan) if plan.link.scheme.rounds() != Rounds::Unlimited => {
            refuse(format!("--scheme {}, which gives up", plan.link.scheme))
        }
        LinkPlan::Timeline(plan) => {
            let usable_until = plan.end_line.map_or(Time::MAX, |end| end.usable_until);
            match plan.timeline.first_lost(usable_until) {
                Some(lldu) => refuse(format!("a timeline whose LLDU {lldu} was lost")),
                None => Ok(()),
            }
        }
        LinkPlan::Coupled(_) | LinkPlan::Synthetic { .. } => Ok(()),
    }
}
