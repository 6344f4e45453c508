//! `--link coupled`: a PHY trace, and the scheme that runs on it.

use std::sync::Arc;

use fluid_tcp::link::gateway::{CoupledLink, Discipline, Hold, InOrder, LostFeedback};
use tmt_core::channel::SlotChannel;
use tmt_core::scheme::{Rounds, SchemeSpec};
use tmt_core::types::{Metadata, Span};

use super::super::args::Args;
use super::super::spool;
use super::link::{Link, link_of, refuse_rate};
use super::{ChannelPlan, CoupledPlan, LinkPlan, channel};
use crate::exit::{Failure, Outcome};
use crate::input::cut_note;
use crate::quantity::Feedback;

/// Flags of the coupled link beside another one.
pub(super) fn refuse_beside(args: &Args) -> Outcome {
    let refused = [
        ("--scheme", args.scheme.is_some()),
        ("--feedback-delay", args.feedback_delay.is_some()),
        ("--feedback-loss", args.feedback_loss.is_some()),
        ("--tail", args.tail.is_some()),
        ("--in-order", args.in_order.is_some()),
        ("--hold", args.hold.is_some()),
        ("--slots", args.slots.is_some()),
    ];
    match refused.iter().find(|(_, given)| *given) {
        Some((flag, _)) if args.link != "coupled" => Err(Failure::usage(format!(
            "{flag} has no meaning with --link {}",
            args.link
        ))),
        _ => Ok(()),
    }
}

/// The order of delivery: the flag's, which must not be other than what the scheme says.
fn in_order(args: &Args, scheme: &SchemeSpec) -> Outcome<InOrder> {
    match (args.in_order, scheme.in_order()) {
        (Some(flag), true) if flag != InOrder::Link => Err(Failure::usage(format!(
            "--in-order {flag}: the scheme '{scheme}' says link"
        ))),
        (_, true) => Ok(InOrder::Link),
        (flag, false) => Ok(flag.unwrap_or_default()),
    }
}

/// What the flags ask for; all that can be refused before the trace is read.
fn asked_for(args: &Args) -> Outcome<(SchemeSpec, InOrder)> {
    if args.channel.is_none() {
        refuse_rate(args)?;
    }
    if args.queue != Discipline::DROP_TAIL {
        return Err(Failure::usage(format!(
            "--queue {}: --link coupled has a drop-tail queue only",
            args.queue
        )));
    }
    let scheme = args.scheme.clone();
    let scheme = scheme.ok_or_else(|| Failure::usage("--link coupled needs --scheme"))?;
    let in_order = in_order(args, &scheme)?;
    Ok((scheme, in_order))
}

/// What is lost of the feedback, and the timer against it; the seed is each run's own.
fn lost_feedback(args: &Args, rtt: Span, feedback_delay: Span) -> Outcome<Option<LostFeedback>> {
    let Some(probability) = args.feedback_loss else {
        return Ok(None);
    };
    let heard = rtt.checked_add(feedback_delay);
    let timer = match (args.feedback_timer, heard) {
        (Some(timer), Some(heard)) if timer < heard => {
            return Err(Failure::usage(format!(
                "--feedback-timer {timer}: expected {heard} or more, RTT and feedback delay, or it would expire before feedback can come"
            )));
        }
        (Some(timer), _) => Some(timer),
        (None, heard) => heard.and_then(|heard| heard.checked_mul(2)),
    };
    let timer = timer.ok_or_else(|| {
        Failure::usage("--feedback-loss: found RTT and feedback delay whose double is past 2^63 - 1 ns, expected a smaller --rtt or --feedback-delay")
    })?;
    Ok(Some(LostFeedback {
        probability,
        timer,
        seed: 0,
    }))
}

/// How long the queue holds a packet; a proxy's buffer until the link has acknowledged it.
fn hold(args: &Args) -> Outcome<Hold> {
    match (args.path.as_str(), args.hold) {
        ("split", Some(hold)) => Err(Failure::usage(format!(
            "--hold {hold} has no meaning with --path split: a proxy keeps what the link has not acknowledged"
        ))),
        ("split", None) => Ok(Hold::Acknowledged),
        (_, hold) => Ok(hold.unwrap_or_default()),
    }
}

pub(super) fn coupled(args: &Args) -> Outcome<Link> {
    let (scheme, in_order) = asked_for(args)?;
    let Slots {
        name,
        mut link,
        channel,
        feedback: (feedback_delay, feedback_words),
    } = match args.channel {
        Some(process) => generated(args, process)?,
        None => measured(args)?,
    };
    if let Some(before) = link.scheme.replace(scheme.to_string()) {
        link.notes.push(format!(
            "{name} is a timeline of {before}: its LLDUs are taken for slots"
        ));
    }
    let LinkPlan::Timeline(trace) = link.plan else {
        return Ok(link);
    };
    let data_units = u32::try_from(trace.lldus_per_packet).map_err(|_| {
        Failure::usage(format!(
            "--packet {}: expected a packet of fewer than 2^32 LLDUs",
            args.packet
        ))
    })?;
    let coupled = CoupledLink {
        trace: Arc::clone(&trace.timeline),
        scheme,
        feedback_delay,
        lost_feedback: lost_feedback(args, link.rtt.value, feedback_delay)?,
        data_units,
        tail: args.tail.unwrap_or_default(),
        in_order,
        hold: hold(args)?,
    };
    let looped = trace.period.and(args.duration);
    let ends = looped.map(|duration| link.begin.saturating_add(duration));
    if ends.or(trace.timeline.last()) > coupled.machine(link.rtt.value).repeats_fit_until() {
        return Err(Failure::failed(format!(
            "{name}: found slots whose repeats would be later than 2^63 - 1 ns, expected earlier ones, or a smaller --rtt, --feedback-delay or --feedback-timer"
        )));
    }
    link.notes.push(format!(
        "scheme {}, feedback delay {feedback_words}, tail {}, in order {in_order}, hold {}: {} slots for a packet's first transmission",
        coupled.scheme,
        coupled.tail,
        coupled.hold,
        coupled.units_per_packet()
    ));
    if coupled.lost_feedback.is_some()
        && coupled.scheme.rounds() == Rounds::AtMost(0)
        && coupled.hold == Hold::Sent
    {
        return Err(Failure::usage(format!(
            "--feedback-loss: found --scheme {}, which repeats nothing, expected one that does (or --hold acknowledged)",
            coupled.scheme
        )));
    }
    if let Some(lost) = coupled.lost_feedback {
        let (loss, timer) = (lost.probability, lost.timer);
        let origin = match args.feedback_timer {
            Some(_) => "--feedback-timer",
            None => "default, 2 x (RTT + feedback delay)",
        };
        link.notes.push(format!(
            "feedback lost with probability {loss}, repeats after {timer} where none is heard ({origin})"
        ));
    }
    link.plan = LinkPlan::Coupled(CoupledPlan {
        link: coupled,
        trace,
        channel,
    });
    Ok(link)
}

/// The slots that the scheme runs on.
struct Slots {
    name: String,
    link: Link,
    channel: Option<Box<ChannelPlan>>,
    /// The feedback delay, and where it came from.
    feedback: (Span, String),
}

/// Those of a PHY trace.
fn measured(args: &Args) -> Outcome<Slots> {
    let (name, mut reader) = args.trace.open("tcp", false)?;
    let read = spool::read(&name, &mut reader)?;
    let head = reader.metadata();
    let feedback = Feedback::resolve(args.feedback_delay, head)?;
    let mut notes = Vec::new();
    notes.extend(cut_note(&name, &reader));
    let end_line = reader.tail().and_then(|tail| tail.end);
    let link = link_of(args, &name, read, head, end_line, notes)?;
    Ok(Slots {
        name,
        link,
        channel: None,
        feedback,
    })
}

/// Those of a generated channel.
fn generated(args: &Args, process: SlotChannel) -> Outcome<Slots> {
    let feedback = Feedback::resolve(args.feedback_delay, &Metadata::new())?;
    let (link, channel) = channel::link(args, process)?;
    Ok(Slots {
        name: "--channel".to_owned(),
        link,
        channel: Some(Box::new(channel)),
        feedback,
    })
}
