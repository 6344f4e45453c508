//! `--channel`: slots of a constant rate and the process that erases them, in the place of a PHY trace.

use std::borrow::Cow;
use std::sync::Arc;

use fluid_tcp::link::gateway::CoupledLink;
use fluid_tcp::link::timeline::GeneratedSlots;
use tmt_core::channel::SlotChannel;
use tmt_core::types::{BitRate, Metadata};

use super::super::args::Args;
use super::CoupledPlan;
use super::link::{Link, link_of, lldu};
use crate::exit::{Failure, Outcome};

/// A generated channel: that of a run is made of its seed.
pub(crate) struct ChannelPlan {
    pub(crate) slots: GeneratedSlots,
    pub(crate) process: SlotChannel,
    pub(crate) rate: BitRate,
}

impl CoupledPlan {
    /// The link of the run under `seed`.
    pub(crate) fn under(&self, seed: u64) -> Cow<'_, CoupledLink> {
        match &self.channel {
            None => Cow::Borrowed(&self.link),
            Some(channel) => Cow::Owned(CoupledLink {
                trace: Arc::new(channel.slots.timeline(seed)),
                ..self.link.clone()
            }),
        }
    }
}

/// What does not go with `--channel`, and what must.
pub(super) fn check(args: &Args) -> Outcome {
    if args.channel.is_none() {
        return Ok(());
    }
    match args.link.as_str() {
        "coupled" => {}
        "synthetic" => {
            return Err(Failure::usage(
                "--channel has no meaning with --link synthetic: the losses of its packets are --loss",
            ));
        }
        link => {
            return Err(Failure::usage(format!(
                "--channel has no meaning with --link {link}: its slots are those of --link coupled"
            )));
        }
    }
    // How a trace is read may be said of that of the return path.
    let no_trace = args.return_trace.is_none();
    let refused = [
        ("PHY trace", args.trace.trace.is_some()),
        ("--unit", no_trace && args.trace.unit.is_some()),
        ("--allow-cut", no_trace && args.trace.allow_cut),
        ("--loss", args.loss.is_some()),
        ("--loop", no_trace && args.looped),
    ];
    if let Some((found, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "--channel: found {found} beside it, expected none, as it makes and erases the slots"
        )));
    }
    let needed = [
        ("--scheme", args.scheme.is_some()),
        ("--rate", args.rate.is_some()),
        ("--duration", args.duration.is_some()),
    ];
    match needed.iter().find(|(_, given)| !*given) {
        Some((flag, _)) => Err(Failure::usage(format!("--channel needs {flag}"))),
        None => Ok(()),
    }
}

/// The link over the slots of the flags; its timeline is the one under `--seed`.
pub(super) fn link(args: &Args, process: SlotChannel) -> Outcome<(Link, ChannelPlan)> {
    let (rate, duration) = args
        .rate
        .zip(args.duration)
        .ok_or_else(|| Failure::usage("--channel needs --rate and --duration"))?;
    let (lldu, _) = lldu(args, &Metadata::new());
    let slots = GeneratedSlots::new(rate, lldu, duration, process).ok_or_else(|| {
        Failure::usage(format!(
            "--channel: found a rate of {rate}, an LLDU of {lldu} and a duration of {duration}, expected each above zero, and slots of at least 1 ns that end before 2^63 ns"
        ))
    })?;
    let timeline = slots.timeline(args.seed);
    let fades = match process {
        SlotChannel::Steps(_) => String::new(),
        SlotChannel::Fading(fading) => format!(
            ", {:.6} fades a second, a slot erased with probability {:.6}",
            fading.rate(),
            fading.erasure_probability(slots.slot())
        ),
    };
    let note = format!(
        "channel {process}, {} slots of {}{fades}",
        timeline.len(),
        slots.slot()
    );
    let head = Metadata::new();
    let mut link = link_of(args, "--channel", (timeline, None), &head, None, vec![note])?;
    // It is as long as the run.
    link.ends = None;
    let channel = ChannelPlan {
        slots,
        process,
        rate,
    };
    Ok((link, channel))
}
