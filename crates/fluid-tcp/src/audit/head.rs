//! The head of a log: what the run's link, queue and path were.

use tmt_core::types::{Metadata, NANOS_PER_SECOND, Span, Time};

use super::fields::whole;
use super::finding::{Finding, shown};

/// How the value of a key reads.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Text,
    /// A whole number of at least this.
    Number(u64),
    OneOf(&'static [&'static str]),
}

/// The keys the audit reads, each at most once in a head, and how; what else the head tells is let through.
///
/// [`Keys`] reads no other.
pub(super) const KEYS: [(&str, Form); 23] = [
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
    ("hold", Form::Text),
    ("in_order", Form::OneOf(&["link", "flow", "off"])),
    // On a timeline.
    ("lldus_per_packet", Form::Number(1)),
    ("overlap", Form::OneOf(&["asap", "shift"])),
    ("slot_ns", Form::Number(0)),
    ("looped", Form::Text),
    // On a synthetic link.
    ("rate_bps", Form::Number(1)),
    // On a coupled link.
    ("units_per_packet", Form::Number(1)),
    ("interleave", Form::Number(1)),
    ("scheme", Form::Text),
    ("feedback_delay_ns", Form::Number(0)),
    ("feedback_timer_ns", Form::Number(0)),
];

/// The values of a head, each read as [`KEYS`] says.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a>(pub(super) &'a Metadata);

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
}

/// One line `# key: value` of the head; a key that is read stands once.
pub(super) fn entry<'a>(text: &'a str, known: &Metadata) -> Result<(&'a str, &'a str), Finding> {
    let pair = text
        .strip_prefix(' ')
        .and_then(|text| text.split_once(": "));
    let is_read = |key: &str| KEYS.iter().any(|(name, _)| *name == key);
    pair.filter(|(key, _)| !(is_read(key) && known.get(key).is_some()))
        .ok_or_else(|| {
            let found = shown(format!("#{text}").as_bytes());
            Finding::new(found, "a line '# key: value' with each key once")
        })
}

impl<'a> Keys<'a> {
    /// The value of a key, where the head has it.
    fn get(self, key: &'static str) -> Result<Option<&'a str>, Finding> {
        let listed = KEYS.iter().find(|(name, _)| *name == key);
        let (_, form) = listed.ok_or_else(|| Finding::new(key, "a key that the audit reads"))?;
        let Some(value) = self.0.get(key) else {
            return Ok(None);
        };
        let (reads, expected) = match form {
            Form::Text => (true, String::new()),
            Form::Number(least) => (
                whole(value.as_bytes()).is_some_and(|number| number >= *least),
                format!("a whole number from {least} to 2^63 - 1"),
            ),
            Form::OneOf(words) => (words.contains(&value), words.join(" or ")),
        };
        if reads {
            Ok(Some(value))
        } else {
            Err(self.unfit(key, &expected))
        }
    }

    pub(super) fn text(self, key: &'static str) -> Result<&'a str, Finding> {
        self.get(key)?.ok_or_else(|| {
            Finding::new(
                format!("a head without '{key}'"),
                format!("a line '# {key}: …'"),
            )
        })
    }

    fn text_or(self, key: &'static str, default: &'static str) -> Result<&'a str, Finding> {
        Ok(self.get(key)?.unwrap_or(default))
    }

    fn number(self, key: &'static str) -> Result<u64, Finding> {
        Ok(whole(self.text(key)?.as_bytes()).unwrap_or_default())
    }

    pub(super) fn span(self, key: &'static str) -> Result<Span, Finding> {
        Ok(Span::from_nanos(self.number(key)?).unwrap_or(Span::MAX))
    }

    /// A span that the head may leave out.
    pub(super) fn optional_span(self, key: &'static str) -> Result<Option<Span>, Finding> {
        self.get(key)?.map(|_| self.span(key)).transpose()
    }

    /// What the head says under a key where something else was expected.
    pub(super) fn unfit(self, key: &str, expected: &str) -> Finding {
        let value = self.0.get(key).unwrap_or_default();
        Finding::new(format!("{key} {}", shown(value.as_bytes())), expected)
    }
}

impl Head {
    /// What the head of a `log` of this kind tells.
    pub(super) fn of(metadata: &Metadata, log: &str) -> Result<Self, Finding> {
        let keys = Keys(metadata);
        keys.text("tool")?;
        if keys.text("log")? != log {
            return Err(keys.unfit("log", log));
        }
        let packet_bytes = keys.number("packet_bytes")?;
        let link = match keys.text("link")? {
            "timeline" => Link::Timeline {
                lldus_per_packet: keys.number("lldus_per_packet")?,
            },
            "coupled" => Link::Coupled {
                units_per_packet: keys.number("units_per_packet")?,
                interleave: keys.number("interleave")?,
            },
            _ => Link::Synthetic {
                service: ServiceTime::of(packet_bytes, keys.number("rate_bps")?)?,
            },
        };
        let rtt = keys.span("rtt_ns")?;
        let terrestrial = keys.optional_span("terrestrial_rtt_ns")?;
        let terrestrial = terrestrial.unwrap_or_default();
        let (forward, toward) = (rtt.half(), terrestrial.half());
        let feedback = rtt.saturating_sub(forward);
        let answer = terrestrial.saturating_sub(toward);
        let proxied = keys.text_or("path", "e2e")? == "split";
        let shifted = keys.text_or("overlap", "asap")? == "shift";
        Ok(Self {
            link,
            forward,
            feedback,
            feedback_delay: keys.optional_span("feedback_delay_ns")?.unwrap_or_default(),
            back: if proxied {
                answer
            } else {
                feedback.saturating_add(answer)
            },
            toward,
            proxied,
            keeps: proxied || keys.text_or("hold", "sent")? == "acknowledged",
            in_order: match keys.text_or("in_order", "off")? {
                "link" => Some(Lane::Link),
                "flow" => Some(Lane::Flow),
                _ => None,
            },
            capacity_packets: capacity(keys, packet_bytes)?,
            drop_tail: keys.text_or("queue", "drop-tail")? == "drop-tail",
            flows: keys.number("flows")?,
            run_ends: Time::ZERO.saturating_add(keys.span("run_ends_ns")?),
            looped: keys.text_or("looped", "off")? == "on",
            shift: shifted.then(|| keys.span("slot_ns")).transpose()?,
        })
    }
}

impl ServiceTime {
    fn of(packet_bytes: u64, rate_bps: u64) -> Result<Self, Finding> {
        // 2^63 bytes · 8 · 10^9 stays below 2^96.
        let bits_nanos = u128::from(packet_bytes) * 8 * u128::from(NANOS_PER_SECOND);
        let span = |nanos: u128| u64::try_from(nanos).ok().and_then(Span::from_nanos);
        let floor = span(bits_nanos / u128::from(rate_bps));
        let ceil = span(bits_nanos.div_ceil(u128::from(rate_bps)));
        let exact = floor.zip(ceil).map(|(floor, ceil)| Self { floor, ceil });
        exact.ok_or_else(|| {
            Finding::new(
                format!("packets of {packet_bytes} B at {rate_bps} bit/s"),
                "a service time of at most 2^63 - 1 ns",
            )
        })
    }
}

/// All packets are of one size, so a limit in bytes is one in whole packets.
fn capacity(keys: Keys<'_>, packet_bytes: u64) -> Result<u64, Finding> {
    let buffer = keys.text("buffer")?;
    let (number, unit) = match buffer.strip_suffix("pkt") {
        Some(packets) => (packets, 1),
        None => (buffer.strip_suffix('B').unwrap_or_default(), packet_bytes),
    };
    let packets = whole(number.as_bytes()).map(|number| number / unit);
    packets.ok_or_else(|| keys.unfit("buffer", "a whole number and its unit, pkt or B"))
}
