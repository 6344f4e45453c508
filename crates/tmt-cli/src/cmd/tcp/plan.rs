//! The flags of `tmt tcp` resolved: every value with where it came from.

use std::collections::BTreeSet;
use std::sync::Arc;

use fluid_tcp::endpoint::{CutFrom, Endpoint, Recovery, RttSampling};
use fluid_tcp::gateway::Buffer;
use fluid_tcp::simulation::{Flow, Setup};
use fluid_tcp::timeline::Timeline;
use serde::Serialize;
use tmt_core::channel::ChannelSpec;
use tmt_core::metadata::{EndLine, Metadata};
use tmt_core::scheme::SchemeSpec;
use tmt_core::text::Rows;
use tmt_core::units::{BitRate, Bytes, Span, Time, to_f64};

use super::args::{Args, BufferFlag};
use super::flows::Start;
use crate::exit::{Failure, Outcome};
use crate::output::refuse_twice;
use crate::provenance;
use crate::quantity::{Origin, Rtt};

/// Everything a run needs but its seed.
pub(crate) struct Plan {
    pub(crate) link: LinkPlan,
    pub(crate) params: Params,
    pub(crate) flows: Vec<FlowPlan>,
    pub(crate) packet: Bytes,
    pub(crate) rtt: Span,
    pub(crate) buffer: u64,
    pub(crate) buffer_text: String,
    pub(crate) begin: Time,
    pub(crate) end: Time,
    pub(crate) link_rate_bps: Option<f64>,
    /// Congestion control and both ends, in words.
    pub(crate) settings: String,
    pub(crate) notes: Vec<String>,
}

/// The link of a run.
pub(crate) enum LinkPlan {
    Timeline(TimelinePlan),
    Synthetic {
        rate: BitRate,
        loss: Option<ChannelSpec>,
    },
}

/// A timeline as a link.
pub(crate) struct TimelinePlan {
    pub(crate) timeline: Arc<Timeline>,
    pub(crate) usable: usize,
    pub(crate) lldus_per_packet: usize,
    pub(crate) lldu: Bytes,
    pub(crate) period: Option<Span>,
    pub(crate) end_line: Option<EndLine>,
}

/// One flow.
pub(crate) struct FlowPlan {
    pub(crate) flow: Flow,
    pub(crate) start: Start,
}

/// What `--json` shows of the settings; every value that was used, wherever it came from.
#[derive(Debug, Clone, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one field a flag, shown as JSON"
)]
pub(crate) struct Params {
    pub(crate) link: &'static str,
    pub(crate) rtt_ns: u64,
    pub(crate) packet_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) loss: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) scheme: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lldu_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lldu_header_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lldus_per_packet: Option<u64>,
    pub(crate) link_rate_bps: Option<f64>,
    /// What the metadata said where a flag won: key, told, used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) overridden: Vec<Overridden>,
    pub(crate) buffer_packets: u64,
    pub(crate) begin_s: f64,
    pub(crate) end_s: f64,
    pub(crate) looped: bool,
    pub(crate) profile: &'static str,
    pub(crate) sack: bool,
    pub(crate) delayed_ack: u32,
    pub(crate) delayed_ack_timer_ns: u64,
    pub(crate) iw: u32,
    pub(crate) first_rto_ns: u64,
    pub(crate) min_rto_ns: u64,
    pub(crate) max_rto_ns: u64,
    pub(crate) rto_tick_ns: u64,
    pub(crate) limited_transmit: bool,
    pub(crate) recovery: &'static str,
    pub(crate) rtt_sampling: &'static str,
    pub(crate) cut_from: &'static str,
    pub(crate) rwnd_packets: Option<u64>,
    pub(crate) handshake: bool,
    pub(crate) flows: Vec<FlowParams>,
}

/// A flag that won over the metadata.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Overridden {
    pub(crate) key: &'static str,
    pub(crate) flag: &'static str,
    pub(crate) told: u64,
    pub(crate) used: u64,
}

/// What `--json` shows of one flow.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct FlowParams {
    pub(crate) cc: String,
    pub(crate) start: String,
    pub(crate) packets: Option<u64>,
}

/// The papers' LLDU and its header (tcp.md §1).
const DEFAULT_LLDU: Bytes = Bytes(33);
const DEFAULT_HEADER: Bytes = Bytes(1);

/// Shortest cap of the timeout: below it a run is nothing but timeouts.
const LEAST_MAX_RTO: Span = Span::from_millis(1);

/// Fewest packets of a queue that is sized by bandwidth and delay.
const LEAST_BDP: u64 = 2;

/// The link, and what it says of itself.
struct Link {
    plan: LinkPlan,
    rtt: Rtt,
    begin: Time,
    /// Last instant of the link; none for one that never ends.
    ends: Option<Time>,
    rate_bps: Option<f64>,
    /// Delay of a packet that meets no queue, beside the RTT.
    own_delay: Span,
    lldu_header: Option<Bytes>,
    scheme: Option<String>,
    overridden: Vec<Overridden>,
    notes: Vec<String>,
}

/// Turns flags and, for a timeline, the trace into a plan.
pub(crate) fn resolve(args: &Args) -> Outcome<Plan> {
    check(args)?;
    let endpoint = endpoint(args)?;
    let flows = flows(args, endpoint);
    let link = if args.link == "timeline" {
        timeline(args)?
    } else {
        synthetic(args)?
    };
    let (rtt, mut notes) = (link.rtt.value, link.notes);
    let (buffer, buffer_text, buffer_note) = buffer(args, rtt, link.rate_bps, link.own_delay)?;
    notes.push(buffer_note);
    let wanted = args
        .duration
        .map(|duration| link.begin.saturating_add(duration));
    let end = match (wanted, link.ends) {
        (Some(wanted), Some(ends)) if wanted > ends => {
            notes.push(format!("the timeline is usable until {ends}: the run ends there, before --duration (--loop repeats it)"));
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
    let settings = profile_note(args, &endpoint);
    notes.push(settings.clone());
    let mut params = params(args, &endpoint, &flows);
    params.rtt_ns = rtt.as_nanos();
    params.link_rate_bps = link.rate_bps;
    params.buffer_packets = buffer;
    params.begin_s = seconds(link.begin);
    params.end_s = seconds(end);
    params.scheme = link.scheme;
    params.overridden = link.overridden;
    params.lldu_header_bytes = link.lldu_header.map(|bytes| bytes.0);
    match &link.plan {
        LinkPlan::Timeline(timeline) => {
            params.lldu_bytes = Some(timeline.lldu.0);
            params.lldus_per_packet = Some(timeline.lldus_per_packet as u64);
        }
        LinkPlan::Synthetic { rate, loss } => {
            params.rate_bps = Some(rate.0);
            params.loss = loss.map(|loss| loss.to_string());
        }
    }
    Ok(Plan {
        link: link.plan,
        params,
        flows,
        packet: args.packet,
        rtt,
        buffer,
        buffer_text,
        begin: link.begin,
        end,
        link_rate_bps: link.rate_bps,
        settings,
        notes,
    })
}

impl Plan {
    /// The setup of the run under `seed`.
    pub(crate) fn setup(&self, seed: u64) -> Setup {
        let flows = self.flows.iter().enumerate().map(|(index, plan)| Flow {
            start: plan.start.draw(seed, index),
            ..plan.flow.clone()
        });
        Setup {
            flows: flows.collect(),
            packet: self.packet,
            rtt: self.rtt,
            buffer: self.buffer,
            begin: self.begin,
            end: self.end,
            link_rate_bps: self.link_rate_bps,
        }
    }

    /// Says on stderr what was resolved.
    pub(crate) fn tell(&self) {
        super::tell_all(&self.notes);
    }

    /// The head of a run's log, with all that an auditor needs.
    pub(crate) fn log_head(&self, setup: &Setup, seed: u64) -> Metadata {
        let mut head = provenance::new_head("tmt tcp");
        head.set("link", self.params.link);
        head.set("rtt_ns", self.rtt.as_nanos().to_string());
        head.set("packet_bytes", self.packet.0.to_string());
        head.set("buffer", self.buffer_text.clone());
        match &self.link {
            LinkPlan::Timeline(timeline) => {
                head.set("lldus_per_packet", timeline.lldus_per_packet.to_string());
            }
            LinkPlan::Synthetic { rate, .. } => head.set("rate_bps", rate.0.to_string()),
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
    if buffer < u64::from(endpoint.initial_window) {
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
    let drawn = flows.iter().any(|flow| flow.start.is_drawn())
        || matches!(link, LinkPlan::Synthetic { loss: Some(_), .. });
    if args.seeds > 1 && !drawn {
        warnings.push("nothing in these runs is random: every seed gives the same".to_owned());
    }
    warnings
}

/// Flags that do not go together, whatever the link.
fn check(args: &Args) -> Outcome {
    if args.packet.0 == 0 {
        return Err(Failure::usage("--packet: expected more than 0B"));
    }
    let last_seed = args.seed.checked_add(u64::from(args.seeds));
    if last_seed.is_none_or(|seed| i64::try_from(seed).is_err()) {
        return Err(Failure::usage("--seed: expected seeds below 2^63"));
    }
    for (flag, path) in [("--packets", &args.packets), ("--series", &args.series)] {
        let Some(path) = path else { continue };
        if args.seeds > 1 && !path.contains("{seed}") {
            return Err(Failure::usage(format!(
                "{flag} of several runs needs {{seed}} in the file's name"
            )));
        }
        if path == "-" && args.output.as_deref().unwrap_or("-") == "-" {
            return Err(Failure::usage(format!(
                "{flag} - and the report cannot both go to stdout: say --output"
            )));
        }
    }
    let fixed = [&args.trace.trace, &args.output]
        .into_iter()
        .flatten()
        .cloned();
    let logs = (args.seed..args.seed + u64::from(args.seeds)).flat_map(|seed| {
        let expand = move |path: &String| path.replace("{seed}", &seed.to_string());
        [&args.packets, &args.series]
            .into_iter()
            .flatten()
            .map(expand)
    });
    let paths: Vec<String> = fixed.chain(logs).collect();
    refuse_twice(paths.iter().map(String::as_str))
}

/// The profile with what flags change of it.
fn endpoint(args: &Args) -> Outcome<Endpoint> {
    let mut endpoint = args.profile.endpoint();
    let set = |field: &mut Span, flag: Option<Span>| *field = flag.unwrap_or(*field);
    set(&mut endpoint.delayed_ack_timer, args.delayed_ack_timer);
    set(&mut endpoint.rto.first, args.first_rto);
    set(&mut endpoint.rto.min, args.min_rto);
    set(&mut endpoint.rto.max, args.max_rto);
    set(&mut endpoint.rto.tick, args.rto_tick);
    if endpoint.rto.max < endpoint.rto.min || endpoint.rto.max.is_zero() {
        return Err(Failure::usage(format!(
            "--max-rto {} is below --min-rto {}, or zero",
            endpoint.rto.max, endpoint.rto.min
        )));
    }
    let (least, most) = (endpoint.rto.min, endpoint.rto.max);
    if args
        .first_rto
        .is_some_and(|first| first < least || first > most)
    {
        return Err(Failure::usage(format!(
            "--first-rto is not within {least} and {most}, --min-rto and --max-rto"
        )));
    }
    endpoint.rto.first = endpoint.rto.first.clamp(least, most);
    if most < LEAST_MAX_RTO {
        return Err(Failure::usage(format!(
            "--max-rto {most}: expected at least {LEAST_MAX_RTO}"
        )));
    }
    // A timeout of nothing would fire without time passing.
    if endpoint.rto.min.is_zero() && endpoint.rto.tick.is_zero() {
        return Err(Failure::usage(
            "--min-rto 0s needs --rto-tick above 0ns: a timeout must take some time",
        ));
    }
    if endpoint.rto.first.is_zero() {
        return Err(Failure::usage("--first-rto: expected more than 0s"));
    }
    endpoint.initial_window = args.iw.unwrap_or(endpoint.initial_window);
    endpoint.sack = args.sack.map_or(endpoint.sack, |switch| switch.0);
    endpoint.delayed_ack = args
        .delayed_ack
        .map_or(endpoint.delayed_ack, |packets| packets.0);
    endpoint.limited_transmit = args
        .limited_transmit
        .map_or(endpoint.limited_transmit, |switch| switch.0);
    endpoint.rtt_sampling = args
        .rtt_sampling
        .map_or(endpoint.rtt_sampling, |sampling| sampling.0);
    endpoint.cut_from = args.cut_from.map_or(endpoint.cut_from, |cut| cut.0);
    endpoint.rwnd = args.rwnd.map_or(endpoint.rwnd, |packets| packets.0);
    endpoint.handshake = args.handshake.map_or(endpoint.handshake, |switch| switch.0);
    if let Some(recovery) = args.recovery {
        if recovery.0 == Recovery::Prr && !endpoint.sack {
            return Err(Failure::usage(
                "--recovery prr needs --sack on: it counts what was selectively acknowledged",
            ));
        }
        endpoint.recovery = recovery.0;
    } else if !endpoint.sack {
        endpoint.recovery = Recovery::Halving;
    }
    Ok(endpoint)
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

fn synthetic(args: &Args) -> Outcome<Link> {
    let refused = [
        ("TIMELINE", args.trace.trace.is_some()),
        ("--lldu", args.lldu.is_some()),
        ("--lldu-header", args.lldu_header.is_some()),
        ("--loop", args.looped),
        ("--allow-cut", args.trace.allow_cut),
    ];
    if let Some((flag, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "{flag} has no meaning with --link synthetic"
        )));
    }
    let rate = args
        .rate
        .ok_or_else(|| Failure::usage("--link synthetic needs --rate"))?;
    let work = u128::from(args.packet.0) * 8 * 1_000_000_000;
    let service = work
        .checked_div(u128::from(rate.0))
        .and_then(|nanos| u64::try_from(nanos).ok())
        .and_then(Span::from_nanos);
    let own_delay = service.ok_or_else(|| {
        Failure::usage("--rate: expected a rate at which a packet takes less than 2^63 ns")
    })?;
    let rtt = Rtt::resolve(args.rtt, &Metadata::new());
    if own_delay.is_zero() && rtt.value.is_zero() {
        return Err(Failure::usage(
            "--rate: at --rtt 0s a packet must take at least 1 ns, or no time would pass",
        ));
    }
    let loss = args
        .loss
        .map_or("no loss".to_owned(), |loss| format!("loss {loss}"));
    Ok(Link {
        notes: vec![format!("link synthetic, {rate}, {loss}, {rtt}")],
        plan: LinkPlan::Synthetic {
            rate,
            loss: args.loss,
        },
        rtt,
        begin: Time::ZERO,
        ends: None,
        rate_bps: Some(to_f64(rate.0)),
        own_delay,
        lldu_header: None,
        scheme: None,
        overridden: Vec::new(),
    })
}

fn timeline(args: &Args) -> Outcome<Link> {
    for (flag, given) in [
        ("--rate", args.rate.is_some()),
        ("--loss", args.loss.is_some()),
    ] {
        if given {
            return Err(Failure::usage(format!(
                "{flag} has no meaning with --link timeline: the trace says"
            )));
        }
    }
    let (name, mut reader) = args.trace.open("tcp", true)?;
    let mut timeline = Timeline::default();
    let mut rows = Rows::default();
    while reader
        .next_rows(&mut rows)
        .map_err(|error| Failure::input(&name, &error))?
    {
        timeline.extend(&rows);
    }
    let (head, tail) = (reader.metadata(), reader.tail());
    let mut notes = Vec::new();
    if tail.is_some_and(|tail| tail.cut) {
        notes.push(format!("{name} has no end line: it was cut (--allow-cut)"));
    }
    let end_line = tail.and_then(|tail| tail.end);
    link_of(args, &name, timeline, head, end_line, notes)
}

/// The link that a timeline with this head and end line makes.
fn link_of(
    args: &Args,
    name: &str,
    timeline: Timeline,
    head: &Metadata,
    end_line: Option<EndLine>,
    mut notes: Vec<String>,
) -> Outcome<Link> {
    let rtt = Rtt::resolve(args.rtt, head);
    let (lldu, lldu_origin) = match (args.lldu, head.lldu_bytes()) {
        (Some(flag), Some(told)) if flag != told => {
            (flag, format!("--lldu; the metadata says {told}"))
        }
        (Some(flag), _) => (flag, "--lldu".to_owned()),
        (None, Some(told)) => (told, "metadata".to_owned()),
        (None, None) => (DEFAULT_LLDU, "default, the papers' LLDU".to_owned()),
    };
    let (header, header_origin) = match args.lldu_header {
        Some(flag) => (flag, "--lldu-header"),
        None => (DEFAULT_HEADER, "default"),
    };
    let payload = lldu.0.checked_sub(header.0).filter(|payload| *payload > 0).ok_or_else(|| {
        Failure::usage(format!("an LLDU of {lldu} with a header of {header} has no room for a packet: --lldu, --lldu-header"))
    })?;
    let per_packet = args.packet.0.div_ceil(payload);
    let lldus_per_packet = usize::try_from(per_packet).unwrap_or(usize::MAX);
    let (Some(begin), Some(last)) = (timeline.first(), timeline.last()) else {
        return Err(Failure::failed(format!(
            "{name}: found no row, expected at least one"
        )));
    };
    let usable_until = end_line.map_or(last, |end| end.usable_until.max(begin));
    // A looped trace repeats what is known; an unlooped one may be used to its last row, since what
    // is delivered after the end of the run does not count.
    let usable = if args.looped {
        known_lldus(&timeline, usable_until)
    } else {
        timeline.len()
    };
    if usable < lldus_per_packet {
        return Err(Failure::failed(format!(
            "{name}: found {usable} LLDUs, expected at least the {per_packet} that a packet of {} needs",
            args.packet
        )));
    }
    let period = if args.looped {
        Some(loop_period(name, &timeline, usable)?)
    } else {
        None
    };
    let (lldu_rate, rate_origin) = lldu_rate(head, &timeline);
    let rate_bps = lldu_rate.map(|rate| rate * to_f64(payload) * 8.0);
    let own_delay = timeline.median_delay().unwrap_or(Span::ZERO);
    let rate_text = rate_bps.map_or("of unknown rate".to_owned(), |rate| {
        format!("{:.6} Mbps for packets ({rate_origin})", rate / 1e6)
    });
    notes.push(format!("link timeline, {rate_text}, {rtt}"));
    notes.push(format!(
        "LLDU {lldu} ({lldu_origin}), header {header} ({header_origin}): {per_packet} LLDUs to a packet of {}",
        args.packet
    ));
    if let (Origin::Flag, Some(told)) = (rtt.origin, rtt.overridden) {
        notes.push(format!(
            "the timeline was made for rtt {told}, the run uses --rtt {}",
            rtt.value
        ));
    }
    Ok(Link {
        plan: LinkPlan::Timeline(TimelinePlan {
            timeline: Arc::new(timeline),
            usable,
            lldus_per_packet,
            lldu,
            period,
            end_line,
        }),
        rtt,
        begin,
        ends: if args.looped {
            None
        } else {
            Some(usable_until)
        },
        rate_bps,
        own_delay,
        lldu_header: Some(header),
        scheme: head.get("scheme").map(str::to_owned),
        overridden: overridden(args, head),
        notes,
    })
}

/// Flags that differ from what the head says.
fn overridden(args: &Args, head: &Metadata) -> Vec<Overridden> {
    let rtt = args.rtt.zip(head.rtt()).map(|(used, told)| Overridden {
        key: "rtt_ns",
        flag: "--rtt",
        told: told.as_nanos(),
        used: used.as_nanos(),
    });
    let lldu = args
        .lldu
        .zip(head.lldu_bytes())
        .map(|(used, told)| Overridden {
            key: "lldu_bytes",
            flag: "--lldu",
            told: told.0,
            used: used.0,
        });
    [rtt, lldu]
        .into_iter()
        .flatten()
        .filter(|flag| flag.told != flag.used)
        .collect()
}

/// LLDUs whose fate is known: up to the end of the run, where the first censored one may stand as lost.
fn known_lldus(timeline: &Timeline, usable_until: Time) -> usize {
    let mut known = timeline
        .tx_times()
        .partition_point(|time| *time <= usable_until);
    while known > 0
        && timeline.tx_time(known - 1) == usable_until
        && timeline.delay(known - 1).is_none()
    {
        known -= 1;
    }
    known
}

/// Time from one round of a looped trace to the next: its length and one mean slot.
fn loop_period(name: &str, timeline: &Timeline, usable: usize) -> Outcome<Span> {
    let length = timeline.tx_time(usable - 1).since(timeline.tx_time(0));
    let slot = length
        .as_nanos()
        .checked_div(usable as u64 - 1)
        .unwrap_or(0);
    Span::from_nanos(length.as_nanos() + slot)
        .filter(|period| !period.is_zero())
        .ok_or_else(|| {
            Failure::failed(format!(
                "{name}: found a timeline without length, expected one that --loop can repeat"
            ))
        })
}

/// Data LLDUs a second: from the head (rate and scheme), else from the first 10 000 rows.
fn lldu_rate(head: &Metadata, timeline: &Timeline) -> (Option<f64>, &'static str) {
    if let (Some(rate), Some(lldu)) = (head.rate(), head.lldu_bytes()) {
        let slots = to_f64(rate.0) / (8.0 * to_f64(lldu.0));
        match head.get("scheme").map(str::parse::<SchemeSpec>) {
            None => return (Some(slots), "metadata"),
            Some(Ok(scheme)) => {
                let share = f64::from(scheme.data_units()) / f64::from(scheme.units());
                return (
                    Some(slots * share),
                    "metadata, share of data units in the scheme included",
                );
            }
            Some(Err(_)) => {}
        }
    }
    (timeline.rate(), "first 10 000 rows")
}

/// Packets the queue holds, the text for the log's head, and the words that say why.
fn buffer(
    args: &Args,
    rtt: Span,
    rate_bps: Option<f64>,
    own_delay: Span,
) -> Outcome<(u64, String, String)> {
    let (flag, origin) = match args.buffer {
        Some(flag) => (flag, "--buffer"),
        None => (BufferFlag::Bdp(1.0), "default"),
    };
    let packet = args.packet.0;
    match flag {
        BufferFlag::Packets(packets) => {
            let packets = Buffer::Packets(packets).packets(packet);
            Ok((
                packets,
                format!("{packets}pkt"),
                format!("buffer {packets} packets ({origin})"),
            ))
        }
        BufferFlag::Bytes(bytes) => {
            let packets = Buffer::Bytes(bytes.0).packets(packet);
            if packets == 0 {
                return Err(Failure::usage(format!(
                    "--buffer {bytes} holds no packet of {}",
                    args.packet
                )));
            }
            Ok((
                packets,
                bytes.to_string(),
                format!("buffer {bytes}, {packets} packets ({origin})"),
            ))
        }
        BufferFlag::Bdp(products) => {
            let rate = rate_bps.ok_or_else(|| {
                Failure::failed(
                    "found a link of unknown rate, expected --buffer in packets or bytes",
                )
            })?;
            let delay = rtt.saturating_add(own_delay);
            let bytes = products * rate * delay.as_secs_f64() / 8.0;
            let packets = fluid_tcp::num::whole((bytes / to_f64(packet)).ceil()).max(LEAST_BDP);
            let note = format!(
                "buffer {packets} packets ({origin}: {products} bandwidth-delay product of {:.6} Mbps x ({rtt} + {own_delay}))",
                rate / 1e6
            );
            Ok((packets, format!("{packets}pkt"), note))
        }
    }
}

fn profile_note(args: &Args, endpoint: &Endpoint) -> String {
    let switch = |on: bool| if on { "on" } else { "off" };
    let controls: BTreeSet<String> = args
        .flow
        .iter()
        .map(|flow| flow.cc.as_ref().unwrap_or(&args.cc).to_string())
        .collect();
    let control = if args.flow.is_empty() {
        args.cc.to_string()
    } else {
        controls.into_iter().collect::<Vec<_>>().join(" and ")
    };
    let delayed_ack = if endpoint.delayed_ack == 1 {
        "off".to_owned()
    } else {
        format!("{} ({})", endpoint.delayed_ack, endpoint.delayed_ack_timer)
    };
    format!(
        "cc {control}, profile {}: sack {}, delayed ack {delayed_ack}, iw {}, rto {} at first, {} to {}, tick {}, \
         limited transmit {}, recovery {}, rtt sampling {}, cut from {}, rwnd {}, handshake {}",
        args.profile.name(),
        switch(endpoint.sack),
        endpoint.initial_window,
        endpoint.rto.first,
        endpoint.rto.min,
        endpoint.rto.max,
        endpoint.rto.tick,
        switch(endpoint.limited_transmit),
        recovery_name(endpoint.recovery),
        sampling_name(endpoint.rtt_sampling),
        cut_name(endpoint.cut_from),
        endpoint
            .receiver_window()
            .map_or("unlimited".to_owned(), |packets| format!("{packets}pkt")),
        switch(endpoint.handshake),
    )
}

fn recovery_name(recovery: Recovery) -> &'static str {
    match recovery {
        Recovery::Halving => "halving",
        Recovery::Prr => "prr",
    }
}

fn sampling_name(sampling: RttSampling) -> &'static str {
    match sampling {
        RttSampling::PerWindow => "window",
        RttSampling::PerAck => "ack",
    }
}

fn cut_name(cut: CutFrom) -> &'static str {
    match cut {
        CutFrom::Flight => "flight",
        CutFrom::Window => "window",
    }
}

/// What the flags alone say; the link fills in the rest.
fn params(args: &Args, endpoint: &Endpoint, flows: &[FlowPlan]) -> Params {
    Params {
        link: if args.link == "timeline" {
            "timeline"
        } else {
            "synthetic"
        },
        rtt_ns: 0,
        packet_bytes: args.packet.0,
        rate_bps: None,
        loss: None,
        scheme: None,
        lldu_bytes: None,
        lldu_header_bytes: None,
        lldus_per_packet: None,
        link_rate_bps: None,
        overridden: Vec::new(),
        buffer_packets: 0,
        begin_s: 0.0,
        end_s: 0.0,
        looped: args.looped,
        profile: args.profile.name(),
        sack: endpoint.sack,
        delayed_ack: endpoint.delayed_ack,
        delayed_ack_timer_ns: endpoint.delayed_ack_timer.as_nanos(),
        iw: endpoint.initial_window,
        first_rto_ns: endpoint.rto.first.as_nanos(),
        min_rto_ns: endpoint.rto.min.as_nanos(),
        max_rto_ns: endpoint.rto.max.as_nanos(),
        rto_tick_ns: endpoint.rto.tick.as_nanos(),
        limited_transmit: endpoint.limited_transmit,
        recovery: recovery_name(endpoint.recovery),
        rtt_sampling: sampling_name(endpoint.rtt_sampling),
        cut_from: cut_name(endpoint.cut_from),
        rwnd_packets: endpoint.receiver_window(),
        handshake: endpoint.handshake,
        flows: flows
            .iter()
            .map(|plan| FlowParams {
                cc: plan.flow.algorithm.to_string(),
                start: plan.start.to_string(),
                packets: plan.flow.packets,
            })
            .collect(),
    }
}

fn seconds(time: Time) -> f64 {
    time.since(Time::ZERO).as_secs_f64()
}
