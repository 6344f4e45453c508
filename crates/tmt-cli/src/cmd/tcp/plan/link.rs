//! The link of a run: a timeline with its rates, or a constant rate.

use std::sync::Arc;

use fluid_tcp::link::timeline::Timeline;
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::{Bytes, EndLine, Metadata, Span, Time, to_f64};

use super::super::args::Args;
use super::super::spool::{self, Spooled};
use super::params::Overridden;
use super::{LinkPlan, TimelinePlan, overlap};
use crate::exit::{Failure, Outcome};
use crate::input::cut_note;
use crate::quantity::{Origin, Rtt};

/// The papers' LLDU and its header (tcp.md §1).
const DEFAULT_LLDU: Bytes = Bytes(33);

const DEFAULT_HEADER: Bytes = Bytes(1);

/// The link, and what it says of itself.
pub(super) struct Link {
    pub(super) plan: LinkPlan,
    pub(super) rtt: Rtt,
    pub(super) begin: Time,
    /// Last instant of the link; none for one that never ends.
    pub(super) ends: Option<Time>,
    pub(super) rate_bps: Option<f64>,
    /// Delay of a packet that meets no queue, beside the RTT.
    pub(super) own_delay: Span,
    pub(super) lldu_header: Option<Bytes>,
    pub(super) scheme: Option<String>,
    /// The head of its trace.
    pub(super) head: Metadata,
    pub(super) overridden: Vec<Overridden>,
    pub(super) notes: Vec<String>,
}

pub(super) fn synthetic(args: &Args) -> Outcome<Link> {
    // What is about a trace is about that of the return path, where there is one.
    let no_trace = args.return_trace.is_none();
    let refused = [
        ("TIMELINE", args.trace.trace.is_some()),
        ("--lldu", no_trace && args.lldu.is_some()),
        ("--lldu-header", no_trace && args.lldu_header.is_some()),
        ("--loop", no_trace && args.looped),
        ("--allow-cut", no_trace && args.trace.allow_cut),
        ("--unit", no_trace && args.trace.unit.is_some()),
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
        head: Metadata::new(),
        overridden: Vec::new(),
    })
}

pub(super) fn timeline(args: &Args) -> Outcome<Link> {
    refuse_rate(args)?;
    let (name, mut reader) = args.trace.open("tcp", true)?;
    let read = spool::read(&name, &mut reader)?;
    let (head, tail) = (reader.metadata(), reader.tail());
    let mut notes = Vec::new();
    notes.extend(cut_note(&name, &reader));
    let end_line = tail.and_then(|tail| tail.end);
    link_of(args, &name, read, head, end_line, notes)
}

/// Flags of the synthetic link beside a trace.
pub(super) fn refuse_rate(args: &Args) -> Outcome {
    for (flag, given) in [
        ("--rate", args.rate.is_some()),
        ("--loss", args.loss.is_some()),
    ] {
        if given {
            return Err(Failure::usage(format!(
                "{flag} has no meaning with --link {}: the trace says",
                args.link
            )));
        }
    }
    Ok(())
}

/// The link that a timeline, or a PHY trace, with this head and end line makes.
pub(super) fn link_of(
    args: &Args,
    name: &str,
    (mut timeline, spool): Spooled,
    head: &Metadata,
    end_line: Option<EndLine>,
    mut notes: Vec<String>,
) -> Outcome<Link> {
    let rtt = Rtt::resolve(args.rtt, head);
    let (lldu, lldu_origin) = lldu(args, head);
    let (header, header_origin) = header(args);
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
    // A looped timeline repeats what is known; an unlooped one may be used to its last row, since what
    // is delivered after the end of the run does not count. Of slots all is known.
    let unreadable = || {
        let failure = spool.as_ref().and_then(|spool| spool.failure());
        failure.unwrap_or_else(|| Failure::failed("the timeline cannot be read"))
    };
    let looped = args.looped && args.channel.is_none();
    if looped && args.link == "timeline" {
        let known = timeline.known(usable_until).ok_or_else(unreadable)?;
        if !timeline.truncate(known) {
            return Err(unreadable());
        }
    }
    if timeline.len() < per_packet {
        let usable = timeline.len();
        return Err(Failure::failed(format!(
            "{name}: found {usable} LLDUs, expected at least the {per_packet} that a packet of {} needs",
            args.packet
        )));
    }
    let period = if looped {
        Some(loop_period(name, &timeline)?)
    } else {
        None
    };
    let (lldu_rate, rate_origin) = match args.channel {
        Some(_) => (timeline.rate(), "--rate"),
        None => lldu_rate(head, &timeline),
    };
    let rate_bps = lldu_rate.map(|rate| rate * to_f64(payload) * 8.0);
    let own_delay = timeline.median_delay().unwrap_or(Span::ZERO);
    let rate_text = rate_bps.map_or("of unknown rate".to_owned(), |rate| {
        format!("{:.6} Mbps for packets ({rate_origin})", rate / 1e6)
    });
    notes.push(format!("link {}, {rate_text}, {rtt}", args.link));
    notes.push(format!(
        "LLDU {lldu} ({lldu_origin}), header {header} ({header_origin}): {per_packet} LLDUs to a packet of {}",
        args.packet
    ));
    if let (Origin::Flag, Some(told), "timeline") = (rtt.origin, rtt.overridden, &*args.link) {
        notes.push(format!(
            "the timeline was made for rtt {told}, the run uses --rtt {}",
            rtt.value
        ));
    }
    let (shift, words) = overlap::shift(args, head, &timeline)?.unzip();
    notes.extend(words);
    Ok(Link {
        plan: LinkPlan::Timeline(TimelinePlan {
            timeline: Arc::new(timeline),
            spool,
            lldus_per_packet,
            lldu,
            period,
            shift,
            end_line,
        }),
        rtt,
        begin,
        ends: if looped { None } else { Some(usable_until) },
        rate_bps,
        own_delay,
        lldu_header: Some(header),
        scheme: head.get("scheme").map(str::to_owned),
        head: head.clone(),
        overridden: overridden(args, head),
        notes,
    })
}

/// Size of an LLDU, and where it came from: the flag, else the head, else the papers'.
pub(super) fn lldu(args: &Args, head: &Metadata) -> (Bytes, String) {
    match (args.lldu, head.lldu_bytes()) {
        (Some(flag), Some(told)) if flag != told => {
            (flag, format!("--lldu; the metadata says {told}"))
        }
        (Some(flag), _) => (flag, "--lldu".to_owned()),
        (None, Some(told)) => (told, "metadata".to_owned()),
        (None, None) => (DEFAULT_LLDU, "default, the papers' LLDU".to_owned()),
    }
}

/// The part of an LLDU that is no packet's, and where it came from.
pub(super) fn header(args: &Args) -> (Bytes, &'static str) {
    match args.lldu_header {
        Some(flag) => (flag, "--lldu-header"),
        None => (DEFAULT_HEADER, "default"),
    }
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

/// Time from one round of a looped trace to the next: its length and one mean slot.
pub(super) fn loop_period(name: &str, timeline: &Timeline) -> Outcome<Span> {
    let length = timeline
        .last()
        .zip(timeline.first())
        .map_or(Span::ZERO, |(last, first)| last.since(first));
    let slot = length
        .as_nanos()
        .checked_div(timeline.len().saturating_sub(1))
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
