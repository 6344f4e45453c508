//! The head of a log: link, queue and path of the run.

mod hops;

use std::num::NonZeroU64;

use serde::Deserialize;
use tmt_core::scheme::{Combining, Rounds, SchemeSpec};
use tmt_core::types::{Metadata, NANOS_PER_SECOND, Span, Time};

use super::datagram_form::Form;
use super::finding::{Finding, shown, unfit};
use super::listed::Listed;
use super::receiver::{AckPath, AckRules};
use super::text::{number, read};
pub(super) use hops::{Capacity, Hop, Pace, Packed};
use hops::{capacity, hops};

/// Declares the keys that the auditor reads, and the list of their names.
macro_rules! keys {
    ($($(#[$note:meta])* $key:ident: $form:ty,)*) => {
        /// The values of a head.
        #[derive(Deserialize)]
        struct Keys<'a> {
            $($(#[$note])* $key: $form,)*
        }

        pub(super) const KEYS: &[&str] = &[$(stringify!($key)),*];
    };
}

// Each may be in a head once. Other keys are ignored.
keys! {
    #[expect(dead_code, reason = "it must be there")]
    tool: &'a str,
    log: &'a str,
    link: Link,
    rtt_ns: u64,
    packet_bytes: NonZeroU64,
    buffer: &'a str,
    queue: Option<&'a str>,
    flow_classes: Option<&'a str>,
    flow_datagrams: Option<&'a str>,
    flow_settings: Option<&'a str>,
    flows: NonZeroU64,
    run_ends_ns: u64,
    path: Option<&'a str>,
    terrestrial_rtt_ns: Option<u64>,
    flow_terrestrial_rtts_ns: Option<&'a str>,
    hosts: Option<&'a str>,
    hold: Option<&'a str>,
    in_order: Option<InOrder>,
    delayed_ack: Option<NonZeroU64>,
    delayed_ack_timer_ns: Option<u64>,
    quick_acks: Option<u64>,
    quick_while_growing: Option<&'a str>,
    queue_loss: Option<&'a str>,
    return_loss: Option<&'a str>,
    sack_compression_ns: Option<u64>,
    return_rate_bps: Option<NonZeroU64>,
    return_trace: Option<&'a str>,
    return_capacity: Option<&'a str>,
    // On a timeline.
    lldus_per_packet: Option<NonZeroU64>,
    packing: Option<&'a str>,
    lldu_payload_bytes: Option<NonZeroU64>,
    overlap: Option<&'a str>,
    slot_ns: Option<u64>,
    looped: Option<&'a str>,
    // On a synthetic link.
    rate_bps: Option<NonZeroU64>,
    loss: Option<&'a str>,
    // Beside the link.
    terrestrial_hop: Option<&'a str>,
    terrestrial_rate_bps: Option<NonZeroU64>,
    terrestrial_trace: Option<&'a str>,
    terrestrial_packing: Option<&'a str>,
    terrestrial_lldu_payload_bytes: Option<NonZeroU64>,
    terrestrial_buffer: Option<&'a str>,
    terrestrial_queue: Option<&'a str>,
    terrestrial_loss: Option<&'a str>,
    far_hop: Option<&'a str>,
    far_rate_bps: Option<NonZeroU64>,
    far_trace: Option<&'a str>,
    far_packing: Option<&'a str>,
    far_lldu_payload_bytes: Option<NonZeroU64>,
    far_buffer: Option<&'a str>,
    far_queue: Option<&'a str>,
    far_loss: Option<&'a str>,
    // On a coupled link.
    units_per_packet: Option<NonZeroU64>,
    interleave: Option<NonZeroU64>,
    scheme: Option<&'a str>,
    tail: Option<&'a str>,
    feedback_delay_ns: Option<u64>,
    feedback_timer_ns: Option<u64>,
}

/// The link that served the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Link {
    /// A link-layer timeline.
    #[default]
    Timeline,
    /// The slots of a PHY trace.
    Coupled,
    /// A constant rate.
    Synthetic,
}

/// Packets that a queue discipline serves first in, first out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Order {
    /// All packets.
    #[default]
    Link,
    /// Those of a flow.
    Flow,
    /// Those of a class.
    Class,
}

impl Order {
    /// The order that a discipline keeps, by its text in the head.
    pub(super) fn of(discipline: &str) -> Self {
        match discipline.split([':', '(']).next() {
            Some("fq-codel") => Self::Flow,
            Some("priority") => Self::Class,
            _ => Self::Link,
        }
    }

    /// Its packets in words.
    pub(super) const fn scope(self) -> &'static str {
        match self {
            Self::Link => "",
            Self::Flow => " of its flow",
            Self::Class => " of its class",
        }
    }
}

/// Settings of a scheme, as the rules use them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scheme {
    /// Data units and units of a codeword.
    pub(super) data_units: u64,
    pub(super) units: u64,
    /// Whether each attempt counts alone (frame ARQ).
    pub(super) discards: bool,
    /// The last attempt of a codeword, from 1; `None` without a limit.
    pub(super) last_attempt: Option<u64>,
    /// Whether all units are needed, so that without lost feedback none is sent after the data is complete.
    pub(super) needs_all: bool,
}

/// Scope of in-order delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum InOrder {
    /// All packets of the link.
    Link,
    /// The packets of a flow.
    Flow,
    Off,
}

impl InOrder {
    /// A number of the packets that are in order with those of a flow.
    pub(super) fn scope(self, flow: u64) -> u64 {
        if self == Self::Flow { flow } else { 0 }
    }
}

/// The settings of the run that the rules need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one field per key of the head"
)]
pub(super) struct Head {
    pub(super) link: Link,
    /// Rate of a synthetic link, bit/s.
    rate_bps: u64,
    /// Size of a usual packet, bytes.
    pub(super) packet_bytes: u64,
    /// LLDUs, or data units of a coupled link, of a usual packet.
    lldus_per_packet: u64,
    /// Bytes that an LLDU carries, if the head has them.
    payload: Option<u64>,
    /// Whether packets share LLDUs.
    shared: bool,
    /// Slots of the first transmission of a usual packet on a coupled link.
    units_per_packet: u64,
    /// Whether the last codeword is as long as its data; if not, it may be padded.
    short: bool,
    pub(super) interleave: u64,
    /// `None` if the head has no scheme.
    pub(super) scheme: Option<Scheme>,
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
    /// Time from an attempt's last unit to its repeat if the feedback is lost; `None` if it cannot be lost.
    pub(super) feedback_timer: Option<Span>,
    /// When ACKs are sent, `None` if the head does not have it.
    pub(super) acks: Option<AckRules>,
    /// Scope of in-order delivery, `None` if packets are not kept in order.
    pub(super) in_order: Option<InOrder>,
    /// Capacity of the queue, the packet in service included.
    pub(super) capacity: Capacity,
    /// Whether packets are dropped only by a full queue, or by a list. Other disciplines and processes drop for reasons that
    /// are not in the log.
    pub(super) drop_tail: bool,
    pub(super) flows: u64,
    pub(super) run_ends: Time,
    /// Whether the run repeated its timeline (`--loop`).
    pub(super) looped: bool,
    /// Whether there are hops before the gateway and behind the link.
    pub(super) hops: [bool; 2],
    /// Length of a slot on a timeline with `--overlap shift`, which keeps deliveries apart.
    pub(super) shift: Option<Span>,
}

/// All that a head says.
pub(super) struct Settings {
    /// Whether the log has no ACKs, because only the hosts know them.
    pub(super) unacknowledged: bool,
    pub(super) head: Head,
    /// The hops before the gateway and behind the link.
    pub(super) hops: [Option<Hop>; 2],
    /// The settings for each flow, if they have terrestrial RTTs of their own.
    of_flows: Vec<Head>,
    /// The datagrams of each flow, `None` of one of TCP; none if all are TCP.
    pub(super) datagrams: Vec<Option<Form>>,
    /// Start of each flow after that of the run; none if the head does not say it, or if flows are several connections.
    starts: Vec<Span>,
    /// Packets among which the queue discipline is first in, first out, and the classes of the flows; none if all are 0.
    pub(super) order: (Order, Vec<u64>),
    /// The packets that the queue loses, if they are listed.
    pub(super) queue_losses: Option<Listed>,
    /// The packets that a synthetic link loses, if they are listed.
    pub(super) link_losses: Option<Listed>,
}

impl Settings {
    /// The settings of the run for a flow.
    pub(super) fn of(&self, flow: u64) -> &Head {
        let own = usize::try_from(flow);
        let own = own.ok().and_then(|flow| self.of_flows.get(flow));
        own.unwrap_or(&self.head)
    }

    /// The earliest start of a flow; `None` if the head does not say it.
    pub(super) fn start_of(&self, flow: u64) -> Option<Time> {
        let own = self.starts.get(usize::try_from(flow).ok()?)?;
        Some(Time::ZERO.saturating_add(*own))
    }

    /// The datagrams of a flow; `None` if it is TCP.
    pub(super) fn datagrams_of(&self, flow: u64) -> Option<Form> {
        let flow = usize::try_from(flow).ok()?;
        self.datagrams.get(flow).copied().flatten()
    }
}

/// Splits a line `# key: value` of the head. A key of [`KEYS`] must not be in `known`.
pub(super) fn entry<'a>(text: &'a str, known: &Metadata) -> Result<(&'a str, &'a str), Finding> {
    let pair = text.strip_prefix(' ');
    let pair = pair.and_then(|text| text.split_once(": "));
    let new = pair.filter(|(key, _)| !KEYS.contains(key) || known.get(key).is_none());
    let found = format!("#{text}");
    let expected = "a line '# key: value', each key once";
    new.ok_or_else(|| Finding::new(shown(found.as_bytes()), expected))
}

/// The finding that a key is missing.
fn missing(key: &str) -> Finding {
    let found = format_args!("a head without '{key}'");
    Finding::new(found, format_args!("a line '# {key}: …'"))
}

/// A span of a head.
fn span(nanos: u64) -> Span {
    Span::from_nanos(nanos).unwrap_or(Span::MAX)
}

/// Whether a key has the second of two words. Without the key it is the first.
fn is_second(key: &str, value: Option<&str>, words: [&str; 2]) -> Result<bool, Finding> {
    let value = value.unwrap_or(words[0]);
    if !words.contains(&value) {
        return Err(unfit(key, value, words.join(" or ")));
    }
    Ok(value == words[1])
}

impl Scheme {
    fn of(text: &str) -> Result<Self, Finding> {
        let scheme: Result<SchemeSpec, _> = text.parse();
        let expected = "a scheme of 'tmt apply --scheme'";
        let scheme = scheme.map_err(|_| unfit("scheme", text, expected))?;
        let last_attempt = match scheme.rounds() {
            Rounds::AtMost(rounds) => Some(u64::from(rounds) + 1),
            Rounds::Unlimited => None,
        };
        Ok(Self {
            data_units: scheme.data_units().into(),
            units: scheme.units().into(),
            discards: scheme.combining() == Combining::Discard,
            last_attempt,
            needs_all: scheme.units() == scheme.data_units() && scheme.extra() == 0,
        })
    }
}

/// The kind of a log and its version: 1 if the head does not have it.
pub(super) fn version(log: &str) -> (&str, u64) {
    let parts = log.split_once('/');
    let parts = parts.and_then(|(kind, version)| Some((kind, number(version.as_bytes())?)));
    parts.unwrap_or((log, 1))
}

/// Reads the head of a log of kind `log`.
pub(super) fn settings(metadata: &Metadata, log: &str) -> Result<Settings, Finding> {
    let entries = metadata.iter().map(|(key, value)| (key, value.as_bytes()));
    let keys: Keys<'_> = read(entries, missing)?;
    if !matches!(version(keys.log), (kind, 1 | 2) if kind == log) {
        let expected = format_args!("{log}, or {log}/2");
        return Err(unfit("log", keys.log, expected));
    }
    let (on_timeline, coupled) = (keys.link == Link::Timeline, keys.link == Link::Coupled);
    let proxied = is_second("path", keys.path, ["e2e", "split"])?;
    let shared = is_second("packing", keys.packing, ["packet", "bytes"])? && on_timeline;
    let shifted = is_second("overlap", keys.overlap, ["asap", "shift"])?;
    let growing = is_second(
        "quick_while_growing",
        keys.quick_while_growing,
        ["off", "on"],
    )?;
    let unacknowledged = is_second("hosts", keys.hosts, ["simulated", "real"])?;
    let delays_acks = keys.delayed_ack.is_some() && !proxied && !unacknowledged;
    let given = (on_timeline, shared, shifted, delays_acks);
    check_needed(metadata, &keys, given, log)?;
    let (size, payload) = (keys.packet_bytes, keys.lldu_payload_bytes);
    let lldus = keys.lldus_per_packet.unwrap_or(NonZeroU64::MIN);
    if let Some(room) = payload.filter(|_| shared)
        && size.get().div_ceil(room.get()) != lldus.get()
    {
        let expected = format_args!("as many as {size} B need, of {room} B each");
        return Err(unfit("lldus_per_packet", lldus.to_string(), expected));
    }
    let (rtt, scheme) = (span(keys.rtt_ns), keys.scheme.filter(|_| coupled));
    let in_order = keys.in_order.filter(|scope| *scope != InOrder::Off);
    // Packets of different distances may arrive at one time, in any order.
    let queue_loss = keys
        .queue_loss
        .filter(|_| keys.flow_terrestrial_rtts_ns.is_none());
    let queue_losses = queue_loss.and_then(Listed::of);
    let only_listed = keys.queue_loss.is_none() || queue_losses.is_some();
    // The ACKs of a proxy do not cross the return link.
    let at_once = AckRules {
        every: 1,
        ..AckRules::default()
    };
    let acks = delays_acks.then(|| AckRules {
        may_be_quick: growing,
        path: ack_path(&keys),
        any_order: coupled && in_order.is_none() || keys.far_hop.is_some(),
        ..ack_rules(&keys)
    });
    let hops = hops(&keys)?;
    let head = Head {
        link: keys.link,
        rate_bps: keys.rate_bps.unwrap_or(NonZeroU64::MIN).get(),
        packet_bytes: size.get(),
        lldus_per_packet: lldus.get(),
        payload: payload.map(NonZeroU64::get),
        shared,
        units_per_packet: keys.units_per_packet.unwrap_or(NonZeroU64::MIN).get(),
        short: keys.tail == Some("short"),
        interleave: keys.interleave.unwrap_or(NonZeroU64::MIN).get(),
        scheme: scheme.map(Scheme::of).transpose()?,
        forward: rtt.half(),
        feedback: rtt.saturating_sub(rtt.half()),
        feedback_delay: span(keys.feedback_delay_ns.unwrap_or_default()),
        feedback_timer: keys.feedback_timer_ns.map(span),
        proxied,
        keeps: proxied || keys.hold == Some("acknowledged"),
        acks: acks.or(proxied.then_some(at_once)),
        in_order,
        capacity: capacity("buffer", keys.buffer)?,
        drop_tail: keys.queue.is_none_or(|queue| queue == "drop-tail") && only_listed,
        flows: keys.flows.get(),
        run_ends: Time::ZERO.saturating_add(span(keys.run_ends_ns)),
        looped: keys.looped == Some("on"),
        hops: hops.map(|hop| hop.is_some()),
        shift: keys.slot_ns.filter(|_| shifted).map(span),
        ..Head::default()
    };
    Ok(Settings {
        hops,
        unacknowledged,
        of_flows: head.of_flows(keys.flow_terrestrial_rtts_ns)?,
        head: head.with_terrestrial_rtt(span(keys.terrestrial_rtt_ns.unwrap_or_default())),
        order: head.order(keys.queue, keys.flow_classes)?,
        datagrams: head.datagrams(keys.flow_datagrams)?,
        starts: head.starts(keys.flow_settings)?,
        queue_losses,
        link_losses: keys.loss.and_then(Listed::of),
    })
}

/// Checks that the head has the keys that others need: those of a timeline, of shared LLDUs, of deliveries apart, of delayed ACKs.
fn check_needed(
    metadata: &Metadata,
    keys: &Keys<'_>,
    (on_timeline, shared, shifted, delays_acks): (bool, bool, bool, bool),
    log: &str,
) -> Result<(), Finding> {
    let needed: [(bool, &[&str]); 7] = [
        (keys.link == Link::Synthetic, &["rate_bps"]),
        (on_timeline, &["lldus_per_packet"]),
        (shared, &["lldu_payload_bytes"]),
        (shifted, &["slot_ns"]),
        (
            keys.link == Link::Coupled,
            &["units_per_packet", "interleave"],
        ),
        (log == "slots", &["scheme", "feedback_delay_ns"]),
        (delays_acks, &["delayed_ack_timer_ns", "quick_acks"]),
    ];
    let needed = needed.iter().filter(|(is_needed, _)| *is_needed);
    for key in needed.flat_map(|(_, keys)| *keys) {
        metadata.get(key).ok_or_else(|| missing(key))?;
    }
    Ok(())
}

/// Fates of ACKs that the head allows.
fn ack_path(keys: &Keys<'_>) -> AckPath {
    let waits = keys.return_rate_bps.is_some()
        || keys.return_trace.is_some()
        || keys.return_capacity.is_some();
    match keys.return_loss {
        _ if waits => AckPath::Queued,
        Some(_) => AckPath::Lossy,
        None => AckPath::Clear,
    }
}

/// When a receiver sends ACKs, as far as single keys say it.
fn ack_rules(keys: &Keys<'_>) -> AckRules {
    AckRules {
        every: keys.delayed_ack.map_or(1, NonZeroU64::get),
        timer: span(keys.delayed_ack_timer_ns.unwrap_or_default()),
        quick: keys.quick_acks.unwrap_or_default(),
        held_back: span(keys.sack_compression_ns.unwrap_or_default()),
        ..AckRules::default()
    }
}

impl Head {
    /// The settings for each flow, given their terrestrial RTTs; none without them.
    fn of_flows(&self, rtts: Option<&str>) -> Result<Vec<Self>, Finding> {
        let Some(text) = rtts else {
            return Ok(Vec::new());
        };
        let rtts = text.split(' ').map(|rtt| number(rtt.as_bytes()));
        let heads = rtts.map(|rtt| Some(self.with_terrestrial_rtt(span(rtt?))));
        let heads: Option<Vec<Self>> = heads.collect();
        let heads = heads.filter(|heads| heads.len() as u64 == self.flows);
        let expected = format_args!("a time in ns for each of {} flows", self.flows);
        heads.ok_or_else(|| unfit("flow_terrestrial_rtts_ns", text, expected))
    }

    /// The datagrams of the flows; none without them.
    fn datagrams(&self, flows: Option<&str>) -> Result<Vec<Option<Form>>, Finding> {
        let Some(text) = flows else {
            return Ok(Vec::new());
        };
        let forms = text.split(' ').map(|flow| match flow {
            "-" => Some(None),
            form => Some(Some(Form::of(form)?)),
        });
        let forms: Option<Vec<Option<Form>>> = forms.collect();
        let forms = forms.filter(|forms| forms.len() as u64 == self.flows);
        let expected = format_args!(
            "payload=BYTES,headers=BYTES,rate=BPS,pauses=off|on, or largest=BYTES,headers=BYTES, or - for TCP, of each of {} flows",
            self.flows
        );
        forms.ok_or_else(|| unfit("flow_datagrams", text, expected))
    }

    /// The starts of the flows, if the head has them and no flow is several connections.
    fn starts(&self, flows: Option<&str>) -> Result<Vec<Span>, Finding> {
        let Some(text) = flows else {
            return Ok(Vec::new());
        };
        let starts = super::flow_settings::starts(text, self.flows);
        let expected =
            "flows KEY=VALUE,… with their start, separated by spaces, at most as many as `flows`";
        let starts =
            starts.ok_or_else(|| unfit("flow_settings", text, format_args!("{expected}")))?;
        Ok(if starts.len() as u64 == self.flows {
            starts
        } else {
            Vec::new()
        })
    }

    /// The order that a discipline keeps, and the classes of the flows.
    fn order(
        &self,
        discipline: Option<&str>,
        classes: Option<&str>,
    ) -> Result<(Order, Vec<u64>), Finding> {
        let order = discipline.map(Order::of).unwrap_or_default();
        let Some(text) = classes else {
            return Ok((order, Vec::new()));
        };
        let classes = text.split(' ').map(|class| number(class.as_bytes()));
        let classes: Option<Vec<u64>> = classes.collect();
        let classes = classes.filter(|classes| classes.len() as u64 == self.flows);
        let expected = format_args!("a class for each of {} flows", self.flows);
        let classes = classes.ok_or_else(|| unfit("flow_classes", text, expected))?;
        Ok((order, classes))
    }

    /// The settings for a flow with this RTT between its sender and the gateway.
    fn with_terrestrial_rtt(self, rtt: Span) -> Self {
        let toward = rtt.half();
        let feedback = if self.proxied {
            Span::ZERO
        } else {
            self.feedback
        };
        let back = feedback.saturating_add(rtt.saturating_sub(toward));
        Self {
            toward,
            back,
            acks: self.acks.map(|rules| AckRules { back, ..rules }),
            ..self
        }
    }

    /// Whether a log shows when each packet was taken from the queue: not on a coupled link, and not where packets share LLDUs, since
    /// the next may be taken before the one before it has been sent whole.
    pub(super) fn shows_turns(&self) -> bool {
        self.link != Link::Coupled && !self.shared
    }

    /// Need of a packet of `size` bytes and content of an LLDU, in LLDUs or, if packets share them, in bytes.
    pub(super) fn lldus(&self, size: u64) -> (u64, u64) {
        let (usual, lldus) = (self.packet_bytes, self.lldus_per_packet);
        match self.payload {
            Some(payload) if self.shared => (size, payload),
            _ if size == usual => (lldus, 1),
            Some(payload) => (size.div_ceil(payload), 1),
            None => (size.saturating_mul(lldus).div_ceil(usual), 1),
        }
    }

    /// Data units of a packet of `size` bytes on a coupled link, `None` if there may be padding, and slots of its first
    /// transmission.
    pub(super) fn units(&self, size: u64) -> (Option<u64>, u64) {
        let (data, _) = self.lldus(size);
        let known = Some(data).filter(|_| self.short);
        let Some(scheme) = self.scheme.filter(|_| size != self.packet_bytes) else {
            return (known, self.units_per_packet);
        };
        let codewords = data.div_ceil(scheme.data_units);
        let sent = known.unwrap_or(codewords.saturating_mul(scheme.data_units));
        let repair = codewords.saturating_mul(scheme.units - scheme.data_units);
        (known, sent.saturating_add(repair))
    }

    /// Time that a synthetic link takes for `bytes`: 8 · bytes · 10^9 / rate ns, rounded down and up, since the fraction is
    /// carried.
    pub(super) fn service_time(&self, bytes: u64) -> [Span; 2] {
        // 2^63 bytes · 8 · 10^9 stays below 2^96.
        let bits_nanos = u128::from(bytes) * 8 * u128::from(NANOS_PER_SECOND);
        let rate = u128::from(self.rate_bps);
        let nanos = [bits_nanos / rate, bits_nanos.div_ceil(rate)];
        nanos.map(|nanos| u64::try_from(nanos).map_or(Span::MAX, span))
    }

    /// Time from an attempt's last unit to the repeat that its feedback requests.
    pub(super) fn heard(&self) -> Span {
        let rtt = self.forward.saturating_add(self.feedback);
        rtt.saturating_add(self.feedback_delay)
    }
}
