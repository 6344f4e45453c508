//! The head of a packet log: what the run's link, queue and path were.

use std::io::{self, Read};

use csv::ByteRecord;
use tmt_core::types::{Metadata, NANOS_PER_SECOND, Span, Time};

use super::lines::{Line, Lines};
use super::refusal::{Refusal, shown};
use super::report::{Ledger, Place, Rule};
use super::row;

/// The keys the audit reads; what else the head tells, stages of the timeline say, is let through.
const KEYS: [&str; 20] = [
    "tool",
    "log",
    "link",
    "rtt_ns",
    "packet_bytes",
    "buffer",
    "queue",
    "lldus_per_packet",
    "overlap",
    "slot_ns",
    "rate_bps",
    "flows",
    "run_ends_ns",
    "terrestrial_rtt_ns",
    "path",
    "hold",
    "in_order",
    "scheme",
    "feedback_delay_ns",
    "feedback_timer_ns",
];

/// The link that served the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// A link-layer timeline; each packet takes this many of its LLDUs.
    Timeline { lldus_per_packet: u64 },
    /// The slots of a PHY trace, of which a packet's first transmission takes so many; in how many codewords at a time.
    Coupled {
        units_per_packet: u64,
        interleave: u64,
    },
    /// A constant rate, which makes a packet's service last this long.
    Synthetic { service: ServiceTime },
}

/// How long one packet keeps the synthetic link: 8 · size · 10^9 / rate ns, whose fraction is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServiceTime {
    pub(super) floor: Span,
    pub(super) ceil: Span,
}

/// The packets that are delivered in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// All of the link.
    Link,
    /// Those of a flow.
    Flow,
}

/// What the rules need to know of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what the head tells, key by key"
)]
pub(super) struct Head {
    pub(super) link: Link,
    /// Propagation from the gateway to the receiver, ⌊RTT/2⌋.
    pub(super) forward: Span,
    /// The rest of the RTT, which the link's feedback takes.
    pub(super) feedback: Span,
    /// What the feedback takes beyond that.
    pub(super) feedback_delay: Span,
    /// From who answers a sender back to it: an ACK's way.
    pub(super) back: Span,
    /// From a sender to the gateway.
    pub(super) toward: Span,
    /// Whether a proxy at the gateway answers.
    pub(super) proxied: bool,
    /// Whether the gateway keeps a packet until the link has acknowledged it.
    pub(super) keeps: bool,
    /// For which earlier packets a delivered one waits, if for any.
    pub(super) in_order: Option<Lane>,
    /// Packets the queue holds, the one in service included.
    pub(super) capacity_packets: u64,
    /// Whether packets are dropped only at a full queue; other disciplines have reasons that the log does not tell.
    pub(super) drop_tail: bool,
    pub(super) flows: u64,
    pub(super) run_ends: Time,
    /// Whether the run went through its timeline more than once.
    pub(super) looped: bool,
    /// On a timeline whose deliveries are moved apart: one slot, by which each is later beside its own LLDUs' span.
    pub(super) shift: Option<Span>,
    /// Columns of a row.
    pub(super) columns: usize,
}

/// Reads the head and the header; `None` where they leave nothing to audit by.
pub(super) fn read<R: Read>(log: &mut Lines<R>, ledger: &mut Ledger) -> io::Result<Option<Head>> {
    let read = lines(log, ledger, Place::from, row::columns)?;
    Ok(read.and_then(|(metadata, columns)| {
        let head = ledger.take(Rule::Form, log.line(), Head::of(&metadata, "packets"));
        head.zip(columns)
            .map(|(head, columns)| Head { columns, ..head })
    }))
}

/// The lines of a head, and what its header says; `None` for an empty log.
pub(super) fn lines<R: Read, V>(
    log: &mut Lines<R>,
    ledger: &mut Ledger,
    place: fn(u64) -> Place,
    header: fn(&ByteRecord) -> Result<V, Refusal>,
) -> io::Result<Option<(Metadata, Option<V>)>> {
    let mut metadata = Metadata::new();
    let mut columns = None;
    let mut has_header = false;
    while let Some((number, line)) = log.next()? {
        match line {
            Line::Comment(text) => {
                let entry = entry(&text, &metadata);
                if let Some((key, value)) = ledger.take(Rule::Form, place(number), entry) {
                    metadata.push(&key, value);
                }
            }
            Line::Fields(fields) => {
                columns = ledger.take(Rule::Form, place(number), header(fields));
                has_header = true;
                break;
            }
        }
    }
    if log.line() == 0 {
        ledger.check(Rule::Form, place(0), false, || {
            Refusal::new("an empty log", "a head, a header and rows")
        });
        return Ok(None);
    }
    if !has_header {
        ledger.check(Rule::Form, place(log.line()), false, || {
            Refusal::new(
                "the end of the log behind its head: the log is cut",
                "a header and rows",
            )
        });
    }
    Ok(Some((metadata, columns)))
}

/// One line `# key: value` of the head; a key that is read stands once.
fn entry(text: &str, known: &Metadata) -> Result<(String, String), Refusal> {
    let expected = "a line '# key: value' with each key once";
    let refusal = || Refusal::new(shown(format!("#{text}").as_bytes()), expected);
    let (key, value) = text
        .strip_prefix(' ')
        .and_then(|text| text.split_once(": "))
        .ok_or_else(refusal)?;
    if KEYS.contains(&key) && known.get(key).is_some() {
        return Err(refusal());
    }
    Ok((key.to_owned(), value.to_owned()))
}

impl Head {
    /// What the head of a `log` of this kind tells.
    pub(super) fn of(metadata: &Metadata, log: &str) -> Result<Self, Refusal> {
        text(metadata, "tool")?;
        if text(metadata, "log")? != log {
            return Err(unfit(metadata, "log", log));
        }
        let packet_bytes = number(metadata, "packet_bytes", 1)?;
        let link = match text(metadata, "link")? {
            "timeline" => Link::Timeline {
                lldus_per_packet: number(metadata, "lldus_per_packet", 1)?,
            },
            "coupled" => Link::Coupled {
                units_per_packet: number(metadata, "units_per_packet", 1)?,
                interleave: number(metadata, "interleave", 1)?,
            },
            "synthetic" => {
                let rate_bps = number(metadata, "rate_bps", 1)?;
                Link::Synthetic {
                    service: ServiceTime::of(packet_bytes, rate_bps)?,
                }
            }
            _ => return Err(unfit(metadata, "link", "timeline, coupled or synthetic")),
        };
        let rtt = number(metadata, "rtt_ns", 0)?;
        let run_ends = number(metadata, "run_ends_ns", 0)?;
        let terrestrial = match metadata.get("terrestrial_rtt_ns") {
            Some(_) => number(metadata, "terrestrial_rtt_ns", 0)?,
            None => 0,
        };
        let proxied = match metadata.get("path") {
            None | Some("e2e") => false,
            Some("split") => true,
            Some(_) => return Err(unfit(metadata, "path", "e2e or split")),
        };
        let span = |nanos| Span::from_nanos(nanos).unwrap_or(Span::MAX);
        let (feedback, answer) = (span(rtt - rtt / 2), span(terrestrial - terrestrial / 2));
        let feedback_delay = match metadata.get("feedback_delay_ns") {
            Some(_) => number(metadata, "feedback_delay_ns", 0)?,
            None => 0,
        };
        Ok(Self {
            link,
            forward: span(rtt / 2),
            feedback,
            feedback_delay: span(feedback_delay),
            back: if proxied {
                answer
            } else {
                feedback.saturating_add(answer)
            },
            toward: span(terrestrial / 2),
            proxied,
            keeps: proxied || metadata.get("hold") == Some("acknowledged"),
            in_order: match metadata.get("in_order") {
                None | Some("off") => None,
                Some("link") => Some(Lane::Link),
                Some("flow") => Some(Lane::Flow),
                Some(_) => return Err(unfit(metadata, "in_order", "link, flow or off")),
            },
            capacity_packets: capacity(metadata, packet_bytes)?,
            drop_tail: metadata
                .get("queue")
                .is_none_or(|queue| queue == "drop-tail"),
            flows: number(metadata, "flows", 1)?,
            run_ends: Time::from_nanos(run_ends).unwrap_or(Time::MAX),
            looped: metadata.get("looped") == Some("on"),
            shift: shift(metadata)?,
            columns: 0,
        })
    }
}

impl ServiceTime {
    fn of(packet_bytes: u64, rate_bps: u64) -> Result<Self, Refusal> {
        // 2^63 bytes · 8 · 10^9 stays below 2^96.
        let bits_nanos = u128::from(packet_bytes) * 8 * u128::from(NANOS_PER_SECOND);
        let span = |nanos: u128| u64::try_from(nanos).ok().and_then(Span::from_nanos);
        match (
            span(bits_nanos / u128::from(rate_bps)),
            span(bits_nanos.div_ceil(u128::from(rate_bps))),
        ) {
            (Some(floor), Some(ceil)) => Ok(Self { floor, ceil }),
            _ => Err(Refusal::new(
                format!("packets of {packet_bytes} B at {rate_bps} bit/s"),
                "a service time of at most 2^63 - 1 ns",
            )),
        }
    }
}

/// One slot, where deliveries on a timeline are moved apart.
fn shift(metadata: &Metadata) -> Result<Option<Span>, Refusal> {
    match metadata.get("overlap") {
        None | Some("asap") => Ok(None),
        Some("shift") => Ok(Span::from_nanos(number(metadata, "slot_ns", 0)?)),
        Some(_) => Err(unfit(metadata, "overlap", "asap or shift")),
    }
}

/// All packets are of one size, so a limit in bytes is one in whole packets.
fn capacity(metadata: &Metadata, packet_bytes: u64) -> Result<u64, Refusal> {
    let buffer = text(metadata, "buffer")?;
    let packets = match (buffer.strip_suffix("pkt"), buffer.strip_suffix('B')) {
        (Some(packets), _) => row::whole(packets.as_bytes()),
        (None, Some(bytes)) => row::whole(bytes.as_bytes()).map(|bytes| bytes / packet_bytes),
        (None, None) => None,
    };
    packets.ok_or_else(|| unfit(metadata, "buffer", "a whole number and its unit, pkt or B"))
}

pub(super) fn text<'a>(metadata: &'a Metadata, key: &str) -> Result<&'a str, Refusal> {
    metadata.get(key).ok_or_else(|| {
        Refusal::new(
            format!("a head without '{key}'"),
            format!("a line '# {key}: …'"),
        )
    })
}

pub(super) fn number(metadata: &Metadata, key: &str, least: u64) -> Result<u64, Refusal> {
    row::whole(text(metadata, key)?.as_bytes())
        .filter(|number| *number >= least)
        .ok_or_else(|| {
            unfit(
                metadata,
                key,
                &format!("a whole number from {least} to 2^63 - 1"),
            )
        })
}

fn unfit(metadata: &Metadata, key: &str, expected: &str) -> Refusal {
    Refusal::new(
        format!(
            "{key} {}",
            shown(metadata.get(key).unwrap_or_default().as_bytes())
        ),
        expected,
    )
}
