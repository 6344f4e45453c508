//! `--explain`: the history of one packet, as JSON and as text. Times in JSON are integer nanoseconds.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use tmt_core::stats::runs::serialize_histogram;
use tmt_core::types::{Span, Time};

use super::Fate;
use crate::endpoint::Transmission;
use crate::endpoint::receiver::Ack;
use crate::endpoint::sender::TransmissionReason;
use crate::simulation::Setup;
use crate::simulation::Side;
use crate::simulation::delay::DelayParts;
use crate::simulation::probe::{Probe, Refused};
use tmt_link::Service;
use tmt_link::timeline::Trace;

/// Everything that happened to one packet in a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PacketHistory {
    /// Number of the flow, from 0.
    pub flow: usize,
    /// Number of the packet in its flow, from 0.
    pub packet: u64,
    /// Its transmissions in the order of sending.
    pub copies: Vec<TransmissionHistory>,
    /// Whether a proxy sent the ACKs instead of the receiver.
    #[serde(skip)]
    pub proxied: bool,
    /// Time at which the receiver or proxy first sent an ACK that covers it, cumulatively or by a SACK block.
    #[serde(rename = "ack_sent_ns")]
    pub ack_sent: Option<Time>,
    /// Time at which the sender first received a SACK block that covers it.
    #[serde(rename = "sacked_ns")]
    pub sacked: Option<Time>,
    /// Time at which the sender first received a cumulative ACK that covers it.
    #[serde(rename = "acked_ns")]
    pub acked: Option<Time>,
}

/// Everything that happened to one transmission of the packet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TransmissionHistory {
    /// Number of the transmission, 1 for the first.
    pub copy: u32,
    /// Reason for which the sender sent it.
    pub why: TransmissionReason,
    /// Time at which the sender sent it.
    #[serde(rename = "sent_ns")]
    pub sent: Time,
    /// Time at which it reached the gateway; `None` if the run ended before.
    #[serde(rename = "reached_ns", skip_serializing_if = "Option::is_none")]
    pub reached: Option<Time>,
    /// Packets in the queue when it arrived, the one in service included.
    #[serde(rename = "queue_met_packets")]
    pub queue_met: u64,
    /// Time at which the queue dropped it after enqueuing it, as `CoDel` does, or at which a hop beside the link dropped or lost it.
    #[serde(rename = "dropped_ns", skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Time>,
    /// Service by the link; `None` if it would begin after the end of the run.
    pub service: Option<TransmissionService>,
    /// Fate at the end of the run.
    pub fate: Fate,
    /// Time at which it reached the receiver.
    #[serde(rename = "delivered_ns")]
    pub delivered: Option<Time>,
    /// Delay and its parts, if it was delivered.
    pub delay: Option<TransmissionDelay>,
}

/// Delay of a transmission from sender to receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TransmissionDelay {
    /// The four parts of the delay (docs/metrics.md, Sec. 4).
    #[serde(flatten)]
    pub parts: DelayParts,
    /// Times at the hops of the terrestrial and the far path, if there are some.
    #[serde(rename = "terrestrial_ns", skip_serializing_if = "Option::is_none")]
    pub terrestrial: Option<Span>,
    /// See [`Self::terrestrial`].
    #[serde(rename = "far_ns", skip_serializing_if = "Option::is_none")]
    pub far: Option<Span>,
    /// The delay, which is the sum of all these.
    #[serde(rename = "total_ns")]
    pub total: Span,
}

/// Service of a transmission by the link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransmissionService {
    /// Begin and end of the service, and the units of the link that it used.
    #[serde(flatten)]
    pub service: Service,
    /// Fates of its LLDUs, on a timeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lldus: Option<Lldus>,
}

/// Fates of the LLDUs of a transmission.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Lldus {
    /// Delivered LLDUs by the number of attempts; empty if the timeline does not have attempts.
    #[serde(serialize_with = "serialize_histogram")]
    pub attempts: BTreeMap<u32, u64>,
    /// Number of delivered LLDUs.
    pub delivered: u64,
    /// Number of LLDUs of the transmission that the link lost.
    pub lost: u64,
    /// The LLDU that was decoded last, and the time at which it was, without propagation.
    #[serde(rename = "last_decoded_ns", serialize_with = "decoding_time")]
    pub latest: Option<(u64, Time)>,
}

#[expect(clippy::ref_option, reason = "as serde passes it")]
fn decoding_time<S: Serializer>(
    latest: &Option<(u64, Time)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    latest.map(|(_, time)| time).serialize(serializer)
}

impl Lldus {
    /// Fates of the LLDUs of a service on a timeline that may repeat every `period`.
    fn of(timeline: &Trace, period: Option<Span>, served: &Service) -> Self {
        let mut lldus = Self::default();
        let rows = timeline.len();
        for unit in served.first_unit..=served.last_unit {
            let index = unit % rows;
            let Some((sent, delay)) = timeline.lldu(index) else {
                continue;
            };
            if delay.is_zero() {
                lldus.lost += 1;
                continue;
            }
            lldus.delivered += 1;
            if let Some(attempts) = timeline.attempts(index) {
                *lldus.attempts.entry(attempts).or_insert(0) += 1;
            }
            let shift = period.and_then(|period| period.checked_mul(unit / rows));
            let at = sent
                .saturating_add(shift.unwrap_or(Span::ZERO))
                .saturating_add(delay);
            if lldus.latest.is_none_or(|(_, before)| at > before) {
                lldus.latest = Some((unit, at));
            }
        }
        lldus
    }
}

impl PacketHistory {
    /// Adds the fates of the LLDUs of every transmission that `timeline`, which may repeat every `period`, served.
    pub fn add_lldus(&mut self, timeline: &Trace, period: Option<Span>) {
        for copy in &mut self.copies {
            if let Some(served) = &mut copy.service {
                served.lldus = Some(Lldus::of(timeline, period, &served.service));
            }
        }
    }
}

impl fmt::Display for PacketHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "packet {} of flow {}", self.packet, self.flow)?;
        for copy in &self.copies {
            for event in copy.events() {
                writeln!(f, "  {event}")?;
            }
        }
        let end = if self.proxied { "proxy" } else { "receiver" };
        let ack_sent = format!("the {end} sends the first ACK that covers it");
        let sacked = "the sender receives the first SACK block that covers it";
        let acked = "the sender receives the cumulative ACK";
        let times = [self.ack_sent, self.sacked, self.acked];
        for (time, event) in times.into_iter().zip([&*ack_sent, sacked, acked]) {
            if let Some(time) = time {
                writeln!(f, "  {time}: {event}")?;
            }
        }
        if self.acked.is_none() {
            writeln!(f, "  not acknowledged by the end of the run")?;
        }
        Ok(())
    }
}

impl TransmissionHistory {
    /// Its events as lines of text.
    fn events(&self) -> Vec<String> {
        let why = match self.why {
            TransmissionReason::New => "first transmission",
            TransmissionReason::FastRetransmit => "retransmission in fast recovery",
            TransmissionReason::Timeout => "retransmission after an RTO",
            TransmissionReason::TailProbe => "tail loss probe",
        };
        let mut events = vec![format!("{}: copy {} sent, {why}", self.sent, self.copy)];
        if self.fate == Fate::Terrestrial {
            let at = self.dropped.unwrap_or(self.sent);
            events.push(format!("  {at}: dropped or lost on the terrestrial path"));
            return events;
        }
        let Some(reached) = self.reached else {
            events.push("  still on its way to the gateway at the end of the run".to_owned());
            return events;
        };
        if reached > self.sent {
            events.push(format!("  {reached}: reached the gateway"));
        }
        let queue = match self.queue_met {
            0 => "queue empty".to_owned(),
            1 => "1 packet in the queue".to_owned(),
            met => format!("{met} packets in the queue"),
        };
        let position = self.queue_met + 1;
        events.push(match (self.fate, self.dropped) {
            (Fate::Duplicate, _) => "  discarded: the proxy had the packet already".to_owned(),
            (Fate::Queue, None) => format!("  {queue}: full, dropped"),
            (Fate::Queue, Some(at)) => format!("  {queue}: enqueued, dropped at {at}"),
            _ => format!("  {queue}: enqueued at position {position}"),
        });
        if matches!(self.fate, Fate::Duplicate | Fate::Queue) {
            return events;
        }
        let Some(service) = &self.service else {
            events.push("  still in the queue at the end of the run".to_owned());
            return events;
        };
        service.add_events(&mut events);
        match (self.fate, self.delivered, &self.delay) {
            (Fate::Link, ..) => events.push("  lost on the link".to_owned()),
            (Fate::Far, ..) => {
                let at = self.dropped.unwrap_or(self.sent);
                events.push(format!("  {at}: dropped or lost on the far path"));
            }
            (_, Some(delivered), Some(delay)) => {
                let TransmissionDelay { parts, total, .. } = delay;
                events.push(format!("  {delivered}: delivered, {total} after sending:"));
                let [propagation, queue, serialisation, wait] = parts.all();
                let beside = [
                    (delay.terrestrial, "terrestrial path"),
                    (delay.far, "far path"),
                ];
                let beside = beside
                    .into_iter()
                    .filter_map(|(time, side)| Some((time?, side)));
                let beside: Vec<String> = beside
                    .map(|(time, side)| format!(" + {time} {side}"))
                    .collect();
                let beside = beside.concat();
                events.push(format!(
                    "    {propagation} propagation + {queue} queue + {serialisation} serialisation + {wait} wait (decoding, repeats, order){beside}"
                ));
            }
            _ => events.push("  still on the link at the end of the run".to_owned()),
        }
        events
    }
}

impl TransmissionService {
    /// Appends its events as lines of text.
    fn add_events(&self, events: &mut Vec<String>) {
        let Service { start, end, .. } = self.service;
        let (first, last) = (self.service.first_unit, self.service.last_unit);
        let on_the_link = format!("  {start} to {end}: on the link");
        let Some(lldus) = &self.lldus else {
            return events.push(format!("{on_the_link}, slot or service {first}"));
        };
        events.push(format!("{on_the_link}, LLDUs {first} to {last}"));
        let words = |(attempts, count)| format!("{count} delivered in attempt {attempts}");
        let mut words: Vec<String> = lldus.attempts.iter().map(words).collect();
        if words.is_empty() {
            words.push(format!("{} delivered", lldus.delivered));
        }
        events.push(format!("    {}, {} lost", words.join(", "), lldus.lost));
        if let Some((lldu, arrived)) = lldus.latest {
            events.push(format!(
                "    last decoded: LLDU {lldu} at {arrived} (without propagation)"
            ));
        }
    }
}

/// Probe that records the history of one packet.
#[derive(Debug)]
pub struct Explain {
    history: PacketHistory,
    /// Delay from its sender to the gateway without hops, where there are hops beside the link.
    toward: Option<Span>,
    end: Time,
    /// Number of packets in the gateway's buffer.
    queue: u64,
    /// Number of packets that the flow sent at least once.
    sent: u64,
}

impl Explain {
    /// A probe for packet `packet` of `flow` in a run of `setup`.
    #[must_use]
    pub fn new(flow: usize, packet: u64, setup: &Setup) -> Self {
        Self {
            history: PacketHistory {
                flow,
                packet,
                proxied: setup.path.split.is_some(),
                ..PacketHistory::default()
            },
            toward: {
                let flow = setup.numbered().nth(flow);
                let flow = flow.filter(|_| setup.has_side_paths());
                flow.map(|flow| setup.terrestrial_rtt(&flow).half())
            },
            end: setup.end,
            queue: 0,
            sent: 0,
        }
    }

    /// The history of the packet.
    ///
    /// # Errors
    /// The number of packets that the flow sent, if this one was not among them.
    pub fn finish(mut self) -> Result<PacketHistory, u64> {
        if self.history.copies.is_empty() {
            return Err(self.sent);
        }
        for copy in &mut self.history.copies {
            if let (Some(reached), Some(served), Some(_)) =
                (copy.reached, &copy.service, copy.delivered)
            {
                let parts = DelayParts::of(copy.sent, reached, &served.service);
                let total = copy.delivered.map_or(Span::ZERO, |at| at.since(copy.sent));
                copy.delay = parts.map(|mut parts| {
                    let far = total.saturating_sub(parts.total());
                    let terrestrial = self.toward.map(|toward| {
                        let hop = reached.since(copy.sent).saturating_sub(toward);
                        parts.propagation = parts.propagation.saturating_sub(hop);
                        hop
                    });
                    TransmissionDelay {
                        parts,
                        terrestrial,
                        far: self.toward.map(|_| far),
                        total,
                    }
                });
            }
        }
        Ok(self.history)
    }

    /// The history of `copy`, if it is a transmission of this packet.
    fn copy(&mut self, copy: Transmission) -> Option<&mut TransmissionHistory> {
        let wanted = copy.flow == self.history.flow && copy.packet == self.history.packet;
        let index = usize::try_from(copy.copy.checked_sub(1)?).ok()?;
        self.history.copies.get_mut(index).filter(|_| wanted)
    }

    /// Records that `copy` reaches the gateway.
    fn reached(&mut self, now: Time, copy: Transmission) -> Option<&mut TransmissionHistory> {
        let met = self.queue;
        let history = self.copy(copy)?;
        (history.reached, history.queue_met) = (Some(now), met);
        Some(history)
    }

    /// Whether a SACK block of the ACK covers the packet.
    fn is_sacked(&self, flow: usize, ack: &Ack) -> bool {
        let mut blocks = ack.blocks.iter().map(|(start, end)| *start..*end);
        flow == self.history.flow && blocks.any(|block| block.contains(&self.history.packet))
    }

    /// Whether a cumulative ACK of `flow` up to `next` covers the packet.
    fn is_below(&self, flow: usize, next: u64) -> bool {
        flow == self.history.flow && self.history.packet < next
    }
}

impl Probe for Explain {
    fn on_sent(&mut self, now: Time, copy: Transmission) {
        if copy.flow != self.history.flow {
            return;
        }
        self.sent = self.sent.max(copy.packet.saturating_add(1));
        if copy.packet != self.history.packet {
            return;
        }
        self.history.copies.push(TransmissionHistory {
            copy: copy.copy,
            why: copy.why,
            sent: now,
            ..TransmissionHistory::default()
        });
    }

    fn on_enqueued(&mut self, now: Time, copy: Transmission) {
        self.reached(now, copy);
        self.queue += 1;
    }

    fn on_refused(&mut self, now: Time, copy: Transmission, why: Refused) {
        if let Some(history) = self.reached(now, copy) {
            history.fate = why.into();
        }
    }

    fn on_released(&mut self, _now: Time, _copy: Transmission) {
        self.queue = self.queue.saturating_sub(1);
    }

    fn on_gone_beside(&mut self, at: Time, copy: Transmission, side: Side) {
        let at = Some(at).filter(|at| *at <= self.end);
        if let Some(history) = self.copy(copy) {
            (history.fate, history.dropped) = (side.into(), at);
        }
    }

    fn on_dropped(&mut self, now: Time, copy: Transmission) {
        self.queue = self.queue.saturating_sub(1);
        if let Some(history) = self.copy(copy) {
            history.dropped = Some(now);
            history.fate = Fate::Queue;
        }
    }

    fn on_service(&mut self, copy: Transmission, service: &Service) {
        let begins = service.start <= self.end;
        if let Some(history) = self.copy(copy).filter(|_| begins) {
            history.service = Some(TransmissionService {
                service: *service,
                lldus: None,
            });
        }
    }

    fn on_departure(&mut self, _left: Time, copy: Transmission, lost: bool) {
        // A proxy keeps it until the link has acknowledged it.
        if !self.history.proxied {
            self.queue = self.queue.saturating_sub(1);
        }
        if let Some(history) = self.copy(copy).filter(|_| lost) {
            history.fate = Fate::Link;
        }
    }

    fn on_delivered(&mut self, now: Time, copy: Transmission) {
        if let Some(history) = self.copy(copy) {
            (history.fate, history.delivered) = (Fate::Delivered, Some(now));
        }
    }

    fn on_ack_sent(&mut self, now: Time, flow: usize, ack: &Ack) {
        if self.is_below(flow, ack.next) || self.is_sacked(flow, ack) {
            self.history.ack_sent.get_or_insert(now);
        }
    }

    fn on_ack_received(&mut self, now: Time, flow: usize, ack: &Ack) {
        if self.is_sacked(flow, ack) {
            self.history.sacked.get_or_insert(now);
        }
    }

    fn on_acked(&mut self, now: Time, flow: usize, next: u64) {
        if self.is_below(flow, next) {
            self.history.acked.get_or_insert(now);
        }
    }
}
