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
    /// A link-layer timeline.
    Timeline(Segments),
    /// The slots of a PHY trace.
    Coupled(Division),
    /// A constant rate, bit/s.
    Synthetic { rate: u64 },
}

/// What packets take of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segments {
    /// Bytes and LLDUs of a packet of the usual size.
    usual: (u64, u64),
    /// Bytes that an LLDU carries, if the head has them.
    payload: Option<u64>,
    /// Whether packets share LLDUs.
    shared: bool,
}

impl Segments {
    /// What a packet of `size` bytes needs and what an LLDU carries, in LLDUs or, if packets share them, in bytes.
    pub(super) fn of(self, size: u64) -> (u64, u64) {
        let (usual, lldus) = self.usual;
        match self.payload {
            Some(payload) if self.shared => (size, payload),
            _ if size == usual => (lldus, 1),
            Some(payload) => (size.div_ceil(payload), 1),
            None => (size.saturating_mul(lldus).div_ceil(usual), 1),
        }
    }
}

/// Division of packets into the units of a coupled link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Division {
    segments: Segments,
    /// Slots of the first transmission of a packet of the usual size.
    units_per_packet: u64,
    /// ND and N of a codeword; `None` if the head has no scheme.
    codeword: Option<(u64, u64)>,
    /// Whether the last codeword is as long as its data; if not, it may be padded.
    short: bool,
    pub(super) interleave: u64,
    pub(super) repeats: Repeats,
}

impl Division {
    /// Data units of a packet of `size` bytes, `None` if there may be padding, and slots of its first transmission.
    pub(super) fn of(&self, size: u64) -> (Option<u64>, u64) {
        let (data, _) = self.segments.of(size);
        let known = Some(data).filter(|_| self.short);
        let Some((full, units)) = self.codeword.filter(|_| size != self.segments.usual.0) else {
            return (known, self.units_per_packet);
        };
        let codewords = data.div_ceil(full);
        let sent = known.unwrap_or(codewords.saturating_mul(full));
        (
            known,
            sent.saturating_add(codewords.saturating_mul(units - full)),
        )
    }
}

/// Capacity of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Capacity {
    pub(super) most: u64,
    /// Whether it counts bytes.
    in_bytes: bool,
    /// What it counts, for violations.
    pub(super) unit: &'static str,
}

impl Capacity {
    /// Room that a packet of `size` bytes takes.
    pub(super) fn of(self, size: u64) -> u64 {
        if self.in_bytes { size } else { 1 }
    }
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
    /// Size of a usual packet, bytes.
    pub(super) packet_bytes: u64,
    /// Capacity of the queue, the packet in service included.
    pub(super) capacity: Capacity,
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
            "timeline" => Link::Timeline(segments(keys, packet_bytes)?),
            "coupled" => Link::Coupled(division(keys, packet_bytes)?),
            _ => Link::Synthetic {
                rate: keys.number("rate_bps")?,
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
                any_order: !proxied && in_order.is_none() && matches!(link, Link::Coupled(_)),
                ..rules
            }),
            in_order,
            packet_bytes,
            capacity: capacity(keys)?,
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

/// What packets take of a timeline or of the slots of a trace.
fn segments(keys: Keys<'_>, packet_bytes: u64) -> Result<Segments, Finding> {
    let payload = keys.get("lldu_payload_bytes")?;
    let segments = Segments {
        usual: (packet_bytes, keys.number("lldus_per_packet")?),
        payload: payload
            .map(|_| keys.number("lldu_payload_bytes"))
            .transpose()?,
        shared: keys.text_is("packing", "bytes")?,
    };
    if segments.shared {
        let room = keys.number("lldu_payload_bytes")?;
        if packet_bytes.div_ceil(room) != segments.usual.1 {
            let expected = format_args!("as many as {packet_bytes} B need, of {room} B each");
            return Err(keys.unfit("lldus_per_packet", expected));
        }
    }
    Ok(segments)
}

/// The units of packets on a coupled link.
fn division(keys: Keys<'_>, packet_bytes: u64) -> Result<Division, Finding> {
    let scheme = keys.get("scheme")?.map(|_| keys.scheme()).transpose()?;
    let size = |scheme: &SchemeSpec| (scheme.data_units().into(), scheme.units().into());
    Ok(Division {
        segments: Segments {
            // A log without slots need not have it.
            usual: (
                packet_bytes,
                keys.get("lldus_per_packet")?
                    .map_or(Ok(1), |_| keys.number("lldus_per_packet"))?,
            ),
            payload: keys
                .get("lldu_payload_bytes")?
                .map(|_| keys.number("lldu_payload_bytes"))
                .transpose()?,
            shared: false,
        },
        units_per_packet: keys.number("units_per_packet")?,
        codeword: scheme.as_ref().map(size),
        short: keys.text_is("tail", "short")?,
        interleave: keys.number("interleave")?,
        repeats: repeats(keys)?,
    })
}

/// Time that a link of `rate` bit/s takes for `bytes`: 8 · bytes · 10^9 / rate ns, rounded down and up, since the fraction is
/// carried.
pub(super) fn service_time(bytes: u64, rate: u64) -> [Span; 2] {
    // 2^63 bytes · 8 · 10^9 stays below 2^96.
    let bits_nanos = u128::from(bytes) * 8 * u128::from(NANOS_PER_SECOND);
    let rate = u128::from(rate);
    [bits_nanos / rate, bits_nanos.div_ceil(rate)].map(|nanos| {
        let nanos = u64::try_from(nanos).ok().and_then(Span::from_nanos);
        nanos.unwrap_or(Span::MAX)
    })
}

/// Capacity of the buffer, in packets or bytes.
fn capacity(keys: Keys<'_>) -> Result<Capacity, Finding> {
    let buffer = keys.text("buffer")?;
    let packets = Capacity {
        most: u64::MAX,
        in_bytes: false,
        unit: "packets",
    };
    if buffer == "inf" {
        return Ok(packets);
    }
    let (number, limit) = if let Some(number) = buffer.strip_suffix("pkt") {
        (number, packets)
    } else {
        let bytes = Capacity {
            in_bytes: true,
            unit: "bytes",
            ..packets
        };
        (buffer.strip_suffix('B').unwrap_or_default(), bytes)
    };
    let most = u64::read(number.as_bytes());
    most.map(|most| Capacity { most, ..limit })
        .ok_or_else(|| keys.unfit("buffer", "inf, or a whole number with the unit pkt or B"))
}
