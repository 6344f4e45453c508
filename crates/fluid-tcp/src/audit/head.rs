//! The head of a log: link, queue and path of the run.

use std::fmt::Display;

use strum::EnumString;
use tmt_core::scheme::{Rounds, SchemeSpec};
use tmt_core::types::{Metadata, NANOS_PER_SECOND, Span, Time};

use super::fields::Field;
use super::finding::{Finding, shown};
use super::listed::Listed;
use super::receiver::{AckPath, AckRules};

/// Form of the value of a key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Text,
    /// A whole number of at least this.
    Number(u64),
    OneOf(&'static [&'static str]),
}

/// The keys that the auditor reads, with the form of their values.
///
/// Each may be in a head once. Other keys are ignored. [`Keys`] reads no other.
pub(super) const KEYS: [(&str, Form); 37] = [
    ("tool", Form::Text),
    ("log", Form::Text),
    ("link", Form::OneOf(&["timeline", "coupled", "synthetic"])),
    ("rtt_ns", Form::Number(0)),
    ("packet_bytes", Form::Number(1)),
    ("buffer", Form::Text),
    ("queue", Form::Text),
    ("flows", Form::Number(1)),
    ("run_ends_ns", Form::Number(0)),
    ("path", Form::OneOf(&["e2e", "split"])),
    ("terrestrial_rtt_ns", Form::Number(0)),
    ("flow_terrestrial_rtts_ns", Form::Text),
    ("hold", Form::Text),
    ("in_order", Form::OneOf(&["link", "flow", "off"])),
    ("delayed_ack", Form::Number(1)),
    ("delayed_ack_timer_ns", Form::Number(0)),
    ("quick_acks", Form::Number(0)),
    ("quick_while_growing", Form::OneOf(&["on", "off"])),
    ("queue_loss", Form::Text),
    ("return_loss", Form::Text),
    ("sack_compression_ns", Form::Number(0)),
    ("return_rate_bps", Form::Number(1)),
    ("return_trace", Form::Text),
    // On a timeline.
    ("lldus_per_packet", Form::Number(1)),
    ("packing", Form::OneOf(&["packet", "bytes"])),
    ("lldu_payload_bytes", Form::Number(1)),
    ("overlap", Form::OneOf(&["asap", "shift"])),
    ("slot_ns", Form::Number(0)),
    ("looped", Form::Text),
    // On a synthetic link.
    ("rate_bps", Form::Number(1)),
    ("loss", Form::Text),
    // On a coupled link.
    ("units_per_packet", Form::Number(1)),
    ("interleave", Form::Number(1)),
    ("scheme", Form::Text),
    ("tail", Form::Text),
    ("feedback_delay_ns", Form::Number(0)),
    ("feedback_timer_ns", Form::Number(0)),
];

/// The values of a head, in the forms of [`KEYS`].
#[derive(Clone, Copy)]
pub(super) struct Keys<'a>(pub(super) &'a Metadata);

/// The link that served the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// A link-layer timeline: what a packet needs and what an LLDU carries, in LLDUs or, if packets share them, in bytes.
    Timeline { need: u64, room: u64 },
    /// The slots of a PHY trace, with the slots of a packet's first transmission and the interleaving depth.
    Coupled {
        units_per_packet: u64,
        interleave: u64,
        repeats: Repeats,
    },
    /// A constant rate. A service takes 8 · size · 10^9 / rate ns, rounded down or up because the fraction is carried.
    Synthetic { service: [Span; 2] },
}

/// The repeats of a packet on a coupled link without lost feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    /// There are none.
    Never,
    /// All units are needed, so that none is sent after the data is complete.
    Needed,
    /// There are redundant units.
    More,
}

/// Scope of in-order delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "lowercase")]
pub(super) enum OrderScope {
    /// All packets of the link.
    Link,
    /// The packets of a flow.
    Flow,
}

/// The settings of the run that the rules need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one field per key of the head"
)]
pub(super) struct Head {
    pub(super) link: Link,
    /// Propagation from the gateway to the receiver, ⌊RTT/2⌋.
    pub(super) forward: Span,
    /// Propagation of the link's feedback, ⌈RTT/2⌉.
    pub(super) feedback: Span,
    /// Time that the feedback takes beyond that.
    pub(super) feedback_delay: Span,
    /// Time of an ACK from the receiver or proxy to the sender.
    pub(super) back: Span,
    /// Time from a sender to the gateway.
    pub(super) toward: Span,
    /// Whether a proxy at the gateway sends the ACKs.
    pub(super) proxied: bool,
    /// Whether the gateway keeps a packet until the link has acknowledged it.
    pub(super) keeps: bool,
    /// Whether the link's feedback can be lost.
    pub(super) loses_feedback: bool,
    /// When ACKs are sent, `None` if the head does not have it.
    pub(super) acks: Option<AckRules>,
    /// Scope of in-order delivery, `None` if packets are not kept in order.
    pub(super) in_order: Option<OrderScope>,
    /// Capacity of the queue in packets, the one in service included.
    pub(super) capacity_packets: u64,
    /// Whether packets are dropped only by a full queue, or by a list. Other disciplines and processes drop for reasons that
    /// are not in the log.
    pub(super) drop_tail: bool,
    pub(super) flows: u64,
    pub(super) run_ends: Time,
    /// Whether the run repeated its timeline (`--loop`).
    pub(super) looped: bool,
    /// Length of a slot on a timeline with `--overlap shift`, which keeps deliveries apart.
    pub(super) shift: Option<Span>,
}

/// The terrestrial RTTs of flows that have their own, by flow.
#[derive(Debug, Default)]
pub(super) struct Distances(Vec<Span>);

impl Distances {
    pub(super) fn of(metadata: &Metadata, flows: u64) -> Result<Self, Finding> {
        let keys = Keys(metadata);
        let key = "flow_terrestrial_rtts_ns";
        let Some(text) = keys.get(key)? else {
            return Ok(Self::default());
        };
        let span = |text: &str| u64::read(text.as_bytes()).and_then(Span::from_nanos);
        let spans: Option<Vec<Span>> = text.split(' ').map(span).collect();
        let spans = spans.filter(|spans| spans.len() as u64 == flows);
        let expected = format_args!("a time in ns for each of {flows} flows");
        spans.map(Self).ok_or_else(|| keys.unfit(key, expected))
    }

    /// The settings of the run for `flow`, `head` being those without distances.
    pub(super) fn head(&self, head: &Head, flow: u64) -> Head {
        let own = usize::try_from(flow).ok().and_then(|flow| self.0.get(flow));
        let Some(terrestrial) = own else {
            return *head;
        };
        let toward = terrestrial.half();
        let answer = terrestrial.saturating_sub(toward);
        let back = if head.proxied {
            Span::ZERO
        } else {
            head.feedback
        };
        let back = back.saturating_add(answer);
        Head {
            back,
            toward,
            acks: head.acks.map(|rules| AckRules { back, ..rules }),
            ..*head
        }
    }
}

/// The losses of a head that are lists.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Of the packets that are offered to the queue.
    pub(super) queue: Option<Listed>,
    /// Of the packets that a synthetic link serves.
    pub(super) link: Option<Listed>,
}

impl Lists {
    pub(super) fn of(metadata: &Metadata) -> Result<Self, Finding> {
        let keys = Keys(metadata);
        // Packets of different distances may arrive at one time, in any order.
        if keys.get("flow_terrestrial_rtts_ns")?.is_some() {
            let link = keys.get("loss")?.and_then(Listed::of);
            return Ok(Self { queue: None, link });
        }
        Ok(Self {
            queue: keys.get("queue_loss")?.and_then(Listed::of),
            link: keys.get("loss")?.and_then(Listed::of),
        })
    }
}

/// Splits a line `# key: value` of the head. A key of [`KEYS`] must not be in `known`.
pub(super) fn entry<'a>(text: &'a str, known: &Metadata) -> Result<(&'a str, &'a str), Finding> {
    let pair = text.strip_prefix(' ');
    let pair = pair.and_then(|text| text.split_once(": "));
    let is_read = |key: &str| KEYS.iter().any(|(name, _)| *name == key);
    let new = pair.filter(|(key, _)| !is_read(key) || known.get(key).is_none());
    let found = format!("#{text}");
    let expected = "a line '# key: value', each key once";
    new.ok_or_else(|| Finding::new(shown(found.as_bytes()), expected))
}

impl<'a> Keys<'a> {
    /// The value of a key, `None` if the head does not have it.
    fn get(self, key: &'static str) -> Result<Option<&'a str>, Finding> {
        let form = KEYS.iter().find(|(name, _)| *name == key);
        let Some((value, (_, form))) = self.0.get(key).zip(form) else {
            return Ok(None);
        };
        match form {
            Form::Number(least) if u64::read(value.as_bytes()).is_none_or(|it| it < *least) => {
                Err(self.unfit(key, format_args!("a whole number from {least} to 2^63 - 1")))
            }
            Form::OneOf(words) if !words.contains(&value) => {
                Err(self.unfit(key, words.join(" or ")))
            }
            _ => Ok(Some(value)),
        }
    }

    pub(super) fn text(self, key: &'static str) -> Result<&'a str, Finding> {
        let found = format_args!("a head without '{key}'");
        let expected = format_args!("a line '# {key}: …'");
        self.get(key)?.ok_or_else(|| Finding::new(found, expected))
    }

    pub(super) fn text_is(self, key: &'static str, value: &str) -> Result<bool, Finding> {
        Ok(self.get(key)? == Some(value))
    }

    pub(super) fn number(self, key: &'static str) -> Result<u64, Finding> {
        Ok(u64::read(self.text(key)?.as_bytes()).unwrap_or_default())
    }

    pub(super) fn span(self, key: &'static str) -> Result<Span, Finding> {
        Ok(Span::from_nanos(self.number(key)?).unwrap_or(Span::MAX))
    }

    /// An optional span.
    pub(super) fn optional_span(self, key: &'static str) -> Result<Option<Span>, Finding> {
        self.get(key)?.map(|_| self.span(key)).transpose()
    }

    pub(super) fn scheme(self) -> Result<SchemeSpec, Finding> {
        let scheme = self.text("scheme")?.parse();
        scheme.map_err(|_| self.unfit("scheme", "a scheme of 'tmt apply --scheme'"))
    }

    /// The finding that a key has another value than expected.
    pub(super) fn unfit(self, key: &str, expected: impl Display) -> Finding {
        let value = shown(self.0.get(key).unwrap_or_default().as_bytes());
        Finding::new(format_args!("{key} {value}"), expected)
    }
}

impl Head {
    /// Reads the head of a log of kind `log`.
    pub(super) fn of(metadata: &Metadata, log: &str) -> Result<Self, Finding> {
        let keys = Keys(metadata);
        keys.text("tool")?;
        if keys.text("log")? != log {
            return Err(keys.unfit("log", log));
        }
        let packet_bytes = keys.number("packet_bytes")?;
        let link = match keys.text("link")? {
            "timeline" => timeline(keys, packet_bytes)?,
            "coupled" => Link::Coupled {
                units_per_packet: keys.number("units_per_packet")?,
                interleave: keys.number("interleave")?,
                repeats: repeats(keys)?,
            },
            _ => Link::Synthetic {
                service: service_time(packet_bytes, keys.number("rate_bps")?)?,
            },
        };
        let rtt = keys.span("rtt_ns")?;
        let terrestrial = keys.optional_span("terrestrial_rtt_ns")?;
        let terrestrial = terrestrial.unwrap_or_default();
        let (forward, toward) = (rtt.half(), terrestrial.half());
        let feedback = rtt.saturating_sub(forward);
        let answer = terrestrial.saturating_sub(toward);
        let proxied = keys.text_is("path", "split")?;
        let back = if proxied { Span::ZERO } else { feedback };
        let back = back.saturating_add(answer);
        let in_order = keys.get("in_order")?.and_then(|scope| scope.parse().ok());
        let shifted = keys.text_is("overlap", "shift")?;
        Ok(Self {
            link,
            forward,
            feedback,
            feedback_delay: keys.optional_span("feedback_delay_ns")?.unwrap_or_default(),
            back,
            toward,
            proxied,
            keeps: proxied || keys.text_is("hold", "acknowledged")?,
            loses_feedback: keys.get("feedback_timer_ns")?.is_some(),
            acks: ack_rules(keys, proxied)?.map(|rules| AckRules {
                back,
                any_order: !proxied && in_order.is_none() && matches!(link, Link::Coupled { .. }),
                ..rules
            }),
            in_order,
            capacity_packets: capacity(keys, packet_bytes)?,
            drop_tail: keys.get("queue")?.is_none_or(|queue| queue == "drop-tail")
                && (keys.get("queue_loss")?.is_none() || Lists::of(metadata)?.queue.is_some()),
            flows: keys.number("flows")?,
            run_ends: Time::ZERO.saturating_add(keys.span("run_ends_ns")?),
            looped: keys.text_is("looped", "on")?,
            shift: shifted.then(|| keys.span("slot_ns")).transpose()?,
        })
    }
}

/// When ACKs are sent: by the receiver with the delays of the head, by a proxy at once. The ACKs of a proxy do not cross
/// the return link.
fn ack_rules(keys: Keys<'_>, proxied: bool) -> Result<Option<AckRules>, Finding> {
    let at_once = AckRules {
        every: 1,
        timer: Span::ZERO,
        quick: 0,
        may_be_quick: false,
        held_back: Span::ZERO,
        path: AckPath::Clear,
        back: Span::ZERO,
        any_order: false,
    };
    if proxied {
        return Ok(Some(at_once));
    }
    if keys.get("delayed_ack")?.is_none() {
        return Ok(None);
    }
    let is_queued = keys.get("return_rate_bps")?.or(keys.get("return_trace")?);
    Ok(Some(AckRules {
        every: keys.number("delayed_ack")?,
        timer: keys.span("delayed_ack_timer_ns")?,
        quick: keys.number("quick_acks")?,
        may_be_quick: keys.text_is("quick_while_growing", "on")?,
        held_back: match keys.get("sack_compression_ns")? {
            Some(_) => keys.span("sack_compression_ns")?,
            None => Span::ZERO,
        },
        path: match (is_queued, keys.get("return_loss")?) {
            (Some(_), _) => AckPath::Queued,
            (None, Some(_)) => AckPath::Lossy,
            (None, None) => AckPath::Clear,
        },
        ..at_once
    }))
}

/// The repeats of the scheme; a log without a scheme may have any.
fn repeats(keys: Keys<'_>) -> Result<Repeats, Finding> {
    if keys.get("scheme")?.is_none() {
        return Ok(Repeats::More);
    }
    let scheme = keys.scheme()?;
    Ok(match scheme.rounds() {
        Rounds::AtMost(0) => Repeats::Never,
        _ if scheme.units() == scheme.data_units() && scheme.extra() == 0 => Repeats::Needed,
        _ => Repeats::More,
    })
}

/// A timeline, with its packing.
fn timeline(keys: Keys<'_>, packet_bytes: u64) -> Result<Link, Finding> {
    let lldus = keys.number("lldus_per_packet")?;
    if !keys.text_is("packing", "bytes")? {
        return Ok(Link::Timeline {
            need: lldus,
            room: 1,
        });
    }
    let room = keys.number("lldu_payload_bytes")?;
    if packet_bytes.div_ceil(room) != lldus {
        let expected = format_args!("as many as {packet_bytes} B need, of {room} B each");
        return Err(keys.unfit("lldus_per_packet", expected));
    }
    Ok(Link::Timeline {
        need: packet_bytes,
        room,
    })
}

/// Service time of a packet, rounded down and up.
fn service_time(packet_bytes: u64, rate_bps: u64) -> Result<[Span; 2], Finding> {
    // 2^63 bytes · 8 · 10^9 stays below 2^96.
    let bits_nanos = u128::from(packet_bytes) * 8 * u128::from(NANOS_PER_SECOND);
    let rate = u128::from(rate_bps);
    let nanos = [bits_nanos / rate, bits_nanos.div_ceil(rate)];
    match nanos.map(|nanos| u64::try_from(nanos).ok().and_then(Span::from_nanos)) {
        [Some(floor), Some(ceil)] => Ok([floor, ceil]),
        _ => Err(Finding::new(
            format_args!("packets of {packet_bytes} B at {rate_bps} bit/s"),
            "a service time of at most 2^63 - 1 ns",
        )),
    }
}

/// Capacity of the buffer in packets. All packets have the same size, so a limit in bytes is a number of packets.
fn capacity(keys: Keys<'_>, packet_bytes: u64) -> Result<u64, Finding> {
    let buffer = keys.text("buffer")?;
    if buffer == "inf" {
        return Ok(u64::MAX);
    }
    let (number, unit) = match buffer.strip_suffix("pkt") {
        Some(packets) => (packets, 1),
        None => (buffer.strip_suffix('B').unwrap_or_default(), packet_bytes),
    };
    let packets = u64::read(number.as_bytes()).map(|number| number / unit);
    packets.ok_or_else(|| keys.unfit("buffer", "inf, or a whole number with the unit pkt or B"))
}
