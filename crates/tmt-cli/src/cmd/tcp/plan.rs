//! The flags of `tmt tcp` resolved: every value with where it came from.

mod both;
mod buffer;
mod channel;
mod coupled;
mod endpoint;
mod link;
mod overlap;
mod params;
mod path;
mod return_trace;
mod starts;

pub(crate) use both::{Both, both};
pub(crate) use channel::ChannelPlan;
pub(crate) use params::{FlowParams, Params};
use return_trace::ReturnPlan;

use std::sync::Arc;

use fluid_tcp::endpoint::Endpoint;
use fluid_tcp::link::gateway::{CoupledLink, Discipline};
use fluid_tcp::link::timeline::Timeline;
use fluid_tcp::simulation::{ACK, Flow, Path, ReturnPath, Setup};
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::types::{BitRate, Bytes, EndLine, Metadata, Span, Time};

use super::args::Args;
use super::flows::Start;
use super::logs;
use super::spool::Spool;
use crate::exit::{Failure, Outcome, note};
use crate::provenance;
use buffer::buffer;
use endpoint::{endpoint, profile_note};
use link::Link;
use params::{params, seconds};

/// One run of several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Which {
    pub(crate) seed: u64,
    /// Its number among those of `--offsets`, and where it begins.
    pub(crate) offset: Option<(usize, Span)>,
}

impl Which {
    /// The name of a log of this run.
    pub(crate) fn name(&self, path: &str) -> String {
        let path = path.replace("{seed}", &self.seed.to_string());
        let (number, _) = self.offset.unwrap_or_default();
        path.replace("{offset}", &number.to_string())
    }
}

/// Everything a run needs but its seed.
pub(crate) struct Plan {
    pub(crate) link: LinkPlan,
    pub(crate) params: Params,
    pub(crate) flows: Vec<FlowPlan>,
    pub(crate) packet: Bytes,
    pub(crate) rtt: Span,
    pub(crate) buffer: u64,
    pub(crate) buffer_text: String,
    pub(crate) discipline: Discipline,
    pub(crate) path: Path,
    pub(crate) return_loss: Option<ChannelSpec>,
    pub(crate) return_rate: Option<BitRate>,
    pub(crate) return_trace: Option<Box<ReturnPlan>>,
    pub(crate) begin: Time,
    pub(crate) end: Time,
    /// Where the runs begin, from `begin` on; none for runs that begin there.
    pub(crate) starts: Option<Vec<Span>>,
    /// Length of each of them.
    duration: Option<Span>,
    pub(crate) link_rate_bps: Option<f64>,
    /// Congestion control and both ends, in words.
    pub(crate) settings: String,
    pub(crate) notes: Vec<String>,
}

/// The link of a run.
pub(crate) enum LinkPlan {
    Timeline(TimelinePlan),
    Coupled(CoupledPlan),
    Synthetic {
        rate: BitRate,
        loss: Option<ChannelSpec>,
    },
}

/// A PHY trace with a scheme on it.
pub(crate) struct CoupledPlan {
    pub(crate) link: CoupledLink,
    /// The trace, with its place and the LLDUs of a packet.
    pub(crate) trace: TimelinePlan,
    /// What makes the trace of every run anew; none for one that was read.
    pub(crate) channel: Option<Box<ChannelPlan>>,
}

/// A timeline as a link.
#[derive(Clone)]
pub(crate) struct TimelinePlan {
    pub(crate) timeline: Arc<Timeline>,
    /// The file that holds the timeline, where it is too long for memory.
    pub(crate) spool: Option<Arc<Spool>>,
    pub(crate) lldus_per_packet: usize,
    pub(crate) lldu: Bytes,
    pub(crate) period: Option<Span>,
    /// One slot, where deliveries are moved apart.
    pub(crate) shift: Option<Span>,
    pub(crate) end_line: Option<EndLine>,
}

/// One flow.
#[derive(Clone)]
pub(crate) struct FlowPlan {
    pub(crate) flow: Flow,
    pub(crate) start: Start,
}

/// Turns flags and, for a timeline, the trace into a plan.
pub(crate) fn resolve(args: &Args) -> Outcome<Plan> {
    let ends = ends(args)?;
    let link = match args.link.as_str() {
        "timeline" => link::timeline(args)?,
        "coupled" => coupled::coupled(args)?,
        _ => link::synthetic(args)?,
    };
    finish(args, ends, link)
}

/// What runs over the link: both ends of the flows, and the flows. All that can be refused before a trace is read.
fn ends(args: &Args) -> Outcome<(Endpoint, Vec<FlowPlan>)> {
    check(args)?;
    let endpoint = endpoint(args)?;
    let flows = flows(args, endpoint);
    if let Some(wanted) = args.explain.filter(|wanted| wanted.flow >= flows.len()) {
        return Err(Failure::usage(format!(
            "--explain: found flow {}, expected one of the {} flows, counted from 0",
            wanted.flow,
            flows.len()
        )));
    }
    Ok((endpoint, flows))
}

/// The plan of runs over `link`.
fn finish(
    args: &Args,
    (endpoint, flows): (Endpoint, Vec<FlowPlan>),
    mut link: Link,
) -> Outcome<Plan> {
    let (rtt, mut notes) = (link.rtt.value, std::mem::take(&mut link.notes));
    let (buffer, buffer_text, buffer_note) = buffer(args, rtt, link.rate_bps, link.own_delay)?;
    notes.push(buffer_note);
    let (path, words) = path::path(args, &link, flows.len(), buffer)?;
    notes.extend(words);
    let period = match &link.plan {
        LinkPlan::Timeline(timeline) => timeline.period,
        LinkPlan::Coupled(coupled) => coupled.trace.period,
        LinkPlan::Synthetic { .. } => None,
    };
    let (starts, words) = starts::starts(args, &link, period, &flows)?.unzip();
    notes.extend(words);
    let latest = starts.as_ref().and_then(|starts| starts.last().copied());
    let wanted = args
        .duration
        .map(|duration| duration.saturating_add(latest.unwrap_or(Span::ZERO)))
        .map(|duration| link.begin.saturating_add(duration));
    let end = match (wanted, link.ends) {
        (Some(wanted), Some(ends)) if wanted > ends => {
            if !args.compare_links {
                notes.push(format!("the timeline is usable until {ends}: the run ends there, before --duration (--loop repeats it)"));
            }
            ends
        }
        (Some(wanted), _) => wanted,
        (None, Some(ends)) => ends,
        (None, None) => {
            return Err(Failure::usage(
                "--link synthetic needs --duration: it never ends by itself",
            ));
        }
    };
    notes.extend(warnings(
        args,
        &endpoint,
        &flows,
        &link.plan,
        buffer,
        end.since(link.begin),
    ));
    notes.extend(path_notes(args));
    let return_trace = return_trace::read(args, &mut notes)?;
    notes.extend(
        return_trace
            .as_ref()
            .and_then(|trace| trace.ends_before(end)),
    );
    let settings = profile_note(args, &endpoint);
    notes.push(settings.clone());
    let mut params = params(args, &endpoint, &flows);
    params.rtt_ns = rtt.as_nanos();
    params.terrestrial_rtt_ns = path.terrestrial_rtt.as_nanos();
    params.split_window = path.split.map(|window| window.to_string());
    params.link_rate_bps = link.rate_bps;
    params.buffer_packets = buffer;
    params.begin_s = seconds(link.begin);
    params.end_s = seconds(end);
    params.scheme = link.scheme;
    params.overridden = link.overridden;
    params.lldu_header_bytes = link.lldu_header.map(|bytes| bytes.0);
    params.tell_link(&link.plan);
    if let Some(trace) = &return_trace {
        trace.show(&mut params);
    }
    Ok(Plan {
        link: link.plan,
        params,
        flows,
        packet: args.packet,
        rtt,
        buffer,
        buffer_text,
        discipline: args.queue.clone(),
        path,
        return_loss: args.return_loss,
        return_rate: args.return_rate,
        return_trace,
        begin: link.begin,
        end,
        starts,
        duration: args.duration,
        link_rate_bps: link.rate_bps,
        settings,
        notes,
    })
}

impl Plan {
    /// All runs: from every start, or under `seeds` seeds from `seed` on.
    pub(crate) fn runs(&self, seed: u64, seeds: u32) -> Vec<Which> {
        match &self.starts {
            None => (seed..seed + u64::from(seeds))
                .map(|seed| Which { seed, offset: None })
                .collect(),
            Some(starts) => starts
                .iter()
                .enumerate()
                .map(|(number, start)| Which {
                    seed,
                    offset: Some((number, *start)),
                })
                .collect(),
        }
    }

    /// The setup of a run.
    pub(crate) fn setup(&self, which: Which) -> Setup {
        let Which { seed, offset } = which;
        let (_, start) = offset.unwrap_or_default();
        let begin = self.begin.saturating_add(start);
        let ends = self.duration.map(|duration| begin.saturating_add(duration));
        let end = match ends {
            Some(ends) if offset.is_some() => ends.min(self.end),
            _ => self.end,
        };
        let flows = self.flows.iter().enumerate().map(|(index, plan)| Flow {
            start: plan.start.draw(seed, index),
            ..plan.flow.clone()
        });
        Setup {
            flows: flows.collect(),
            packet: self.packet,
            rtt: self.rtt,
            buffer: self.buffer,
            discipline: self.discipline.clone(),
            path: self.path,
            return_path: ReturnPath {
                loss: self
                    .return_loss
                    .map(|spec| Channel::of_return_path(spec, which.seed)),
                rate: self.return_rate,
                trace: self.return_trace.as_ref().map(|plan| plan.trace.clone()),
            },
            begin,
            end,
            link_rate_bps: self.link_rate_bps,
        }
    }

    /// Says on stderr what was resolved.
    pub(crate) fn tell(&self) {
        for line in &self.notes {
            note!("tcp", "{line}");
        }
    }

    /// The head of a run's log, with all that an auditor needs.
    pub(crate) fn log_head(&self, setup: &Setup, seed: u64) -> Metadata {
        let mut head = provenance::new_head("tmt tcp");
        head.set("link", self.params.link);
        head.set("rtt_ns", self.rtt.as_nanos().to_string());
        head.set("packet_bytes", self.packet.0.to_string());
        head.set("buffer", self.buffer_text.clone());
        head.set("queue", self.discipline.to_string());
        let terrestrial_rtt = self.path.terrestrial_rtt;
        head.set("terrestrial_rtt_ns", terrestrial_rtt.as_nanos().to_string());
        head.set("path", self.params.path);
        if let Some(window) = self.path.split {
            head.set("split_window", window.to_string());
        }
        if let (Some(_), LinkPlan::Timeline(_)) = (self.path.split, &self.link) {
            let feedback = self.path.feedback_delay.as_nanos();
            head.set("feedback_delay_ns", feedback.to_string());
        }
        match &self.link {
            LinkPlan::Timeline(timeline) => {
                head.set("lldus_per_packet", timeline.lldus_per_packet.to_string());
                head.set("overlap", overlap::name(timeline.shift));
                if let Some(slot) = timeline.shift {
                    head.set("slot_ns", slot.as_nanos().to_string());
                }
            }
            LinkPlan::Coupled(CoupledPlan { link, channel, .. }) => {
                if let Some(channel) = channel {
                    head.set("channel", channel.process.to_string());
                }
                let feedback = link.feedback_delay.as_nanos();
                head.set("scheme", link.scheme.to_string());
                head.set("feedback_delay_ns", feedback.to_string());
                if let Some(lost) = link.lost_feedback {
                    let timer = lost.timer.as_nanos();
                    head.set("feedback_loss", lost.probability.to_string());
                    head.set("feedback_timer_ns", timer.to_string());
                }
                head.set("tail", link.tail.to_string());
                head.set("in_order", link.in_order.to_string());
                head.set("hold", link.hold.to_string());
                head.set("lldus_per_packet", link.data_units.to_string());
                head.set("units_per_packet", link.units_per_packet().to_string());
                head.set("interleave", link.scheme.interleave().to_string());
            }
            LinkPlan::Synthetic { rate, .. } => head.set("rate_bps", rate.0.to_string()),
        }
        if let Some(trace) = &self.return_trace {
            trace.tell(&mut head);
        }
        head.set("flows", setup.flows.len().to_string());
        head.set("seed", seed.to_string());
        head.set("run_ends_ns", setup.end.as_nanos().to_string());
        for flag in &self.params.overridden {
            provenance::overridden(&mut head, flag.key, flag.flag, flag.told, flag.used);
        }
        if self.params.looped {
            head.set("looped", "on");
        }
        head.set("settings", self.settings.clone());
        head
    }
}

/// What is unusual of the queue and the return path.
fn path_notes(args: &Args) -> impl Iterator<Item = String> {
    let queue = (args.queue != Discipline::DROP_TAIL).then(|| format!("queue {}", args.queue));
    let loss = args
        .return_loss
        .map(|loss| format!("return path with loss {loss}"));
    let rate = args
        .return_rate
        .map(|rate| format!("return path of {rate}, {ACK} an acknowledgement"));
    [queue, loss, rate].into_iter().flatten()
}

/// What is allowed and seldom meant.
fn warnings(
    args: &Args,
    endpoint: &Endpoint,
    flows: &[FlowPlan],
    link: &LinkPlan,
    buffer: u64,
    length: Span,
) -> Vec<String> {
    let mut warnings = Vec::new();
    // A proxy tells its room before the first window.
    if buffer < u64::from(endpoint.initial_window) && args.path != "split" {
        let iw = endpoint.initial_window;
        warnings.push(format!(
            "the queue of {buffer} packets is smaller than the initial window of {iw}"
        ));
    }
    let late = flows
        .iter()
        .filter(|flow| flow.start.latest() >= length)
        .count();
    if late > 0 {
        warnings.push(format!(
            "{late} flows may begin after the run of {length} has ended (--start)"
        ));
    }
    let drawn = args.return_loss.is_some()
        || flows.iter().any(|flow| flow.start.is_drawn())
        || matches!(link, LinkPlan::Synthetic { loss: Some(_), .. })
        || matches!(link, LinkPlan::Coupled(plan) if plan.channel.is_some() || plan.link.lost_feedback.is_some());
    if args.seeds > 1 && !drawn && !args.compare_links {
        warnings.push("nothing in these runs is random: every seed gives the same".to_owned());
    }
    warnings
}

/// Flags that do not go together, whatever the link.
fn check(args: &Args) -> Outcome {
    if args.packet.0 == 0 {
        return Err(Failure::usage("--packet: expected more than 0B"));
    }
    if args.return_rate.is_some_and(|rate| rate.0 == 0) {
        return Err(Failure::usage(
            "--return-rate: expected more than 0bps; --return-loss bernoulli:1 loses every acknowledgement",
        ));
    }
    let last_seed = args.seed.checked_add(u64::from(args.seeds));
    if last_seed.is_none_or(|seed| i64::try_from(seed).is_err()) {
        return Err(Failure::usage("--seed: expected seeds below 2^63"));
    }
    coupled::refuse_beside(args)?;
    channel::check(args)?;
    overlap::check(args)?;
    return_trace::check(args)?;
    logs::check(args)
}

fn flows(args: &Args, endpoint: Endpoint) -> Vec<FlowPlan> {
    let plan =
        |cc: &fluid_tcp::congestion::Algorithm, start: Start, bytes: Option<Bytes>| FlowPlan {
            flow: Flow {
                algorithm: cc.clone(),
                endpoint,
                start: Span::ZERO,
                packets: bytes.map(|bytes| bytes.0.div_ceil(args.packet.0)),
            },
            start,
        };
    if args.flow.is_empty() {
        return (0..args.flows)
            .map(|_| plan(&args.cc, args.start, args.bytes))
            .collect();
    }
    args.flow
        .iter()
        .map(|flow| {
            plan(
                flow.cc.as_ref().unwrap_or(&args.cc),
                flow.start.unwrap_or(args.start),
                flow.bytes,
            )
        })
        .collect()
}
