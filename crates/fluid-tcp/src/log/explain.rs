//! `--explain`: all that happened to one packet, as JSON and in words. Times are integer nanoseconds in JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use tmt_core::types::{Span, Time};

use super::Fate;
use crate::endpoint::receiver::Ack;
use crate::endpoint::sender::Why;
use crate::link::timeline::Timeline;
use crate::link::{PacketCopy, Service};
use crate::simulation::Setup;
use crate::simulation::delay::DelayParts;
use crate::simulation::probe::{Probe, Refused};

/// One packet's story.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct PacketHistory {
    /// The flow, from 0.
    pub flow: usize,
    /// The packet of the flow, from 0.
    pub packet: u64,
    /// Its copies in the order of sending.
    pub copies: Vec<TransmissionHistory>,
    /// Whether a proxy answered the sender.
    #[serde(skip)]
    pub proxied: bool,
    /// When the receiver, or the proxy, first sent an acknowledgement of it, among other things or by itself.
    #[serde(rename = "receiver_told_ns")]
    pub told: Option<Time>,
    /// When the sender first learned of it from a SACK block.
    #[serde(rename = "sacked_ns")]
    pub sacked: Option<Time>,
    /// When the sender learned that it and all before it were received.
    #[serde(rename = "acked_ns")]
    pub acked: Option<Time>,
}

/// One copy's story.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct TransmissionHistory {
    /// 1 for the first transmission.
    pub copy: u32,
    /// Why it was sent.
    pub why: Why,
    /// When it was sent.
    #[serde(rename = "sent_ns")]
    pub sent: Time,
    /// When it reached the gateway; none where the run ended before.
    #[serde(rename = "reached_ns", skip_serializing_if = "Option::is_none")]
    pub reached: Option<Time>,
    /// Packets that it met in the queue, the one in service included.
    #[serde(rename = "queue_met_packets")]
    pub queue_met: u64,
    /// When the queue dropped it that had taken it in.
    #[serde(rename = "dropped_ns", skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Time>,
    /// What the link did with it; what lies behind the end of the run did not happen.
    pub service: Option<TransmissionService>,
    /// What became of it.
    pub fate: Fate,
    /// When it reached the receiver.
    #[serde(rename = "delivered_ns")]
    pub delivered: Option<Time>,
    /// What its delay is made of, where it was delivered.
    pub delay: Option<TransmissionDelay>,
}

/// A copy's delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TransmissionDelay {
    /// What it is made of.
    #[serde(flatten)]
    pub parts: DelayParts,
    /// The sum of the parts.
    #[serde(rename = "total_ns")]
    pub total: Span,
}

/// What the link did with a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransmissionService {
    /// When the link served it, in which of its units.
    #[serde(flatten)]
    pub service: Service,
    /// What became of its LLDUs, where a timeline says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lldus: Option<Lldus>,
}

/// What became of the LLDUs of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Lldus {
    /// Delivered, by attempts; empty where the timeline does not give them.
    pub attempts: BTreeMap<u32, u64>,
    /// Delivered.
    pub delivered: u64,
    /// Lost.
    pub lost: u64,
    /// The one that was delivered last, and when, propagation left out.
    pub latest: Option<(u64, Time)>,
}

impl Lldus {
    /// Those that served a packet, of a timeline that may repeat every `period`.
    fn of(timeline: &Timeline, period: Option<Span>, served: &Service) -> Self {
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
    /// Adds what became of the LLDUs of every copy that was served by `timeline`, which may repeat every `period`.
    pub fn add_lldus(&mut self, timeline: &Timeline, period: Option<Span>) {
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
        let told = format!("the {end} sends the first acknowledgement that tells of it");
        let sacked = "the sender learns of it from a SACK block";
        let acked = "acknowledged, with all before it";
        let times = [self.told, self.sacked, self.acked];
        for (time, event) in times.into_iter().zip([&*told, sacked, acked]) {
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
    /// What happened to it, line by line.
    fn events(&self) -> Vec<String> {
        let why = match self.why {
            Why::New => "sent for the first time",
            Why::FastRetransmit => "sent again in a fast recovery",
            Why::Timeout => "sent again after a retransmission timeout",
            Why::TailProbe => "sent again as a tail loss probe",
        };
        let mut events = vec![format!("{}: copy {}, {why}", self.sent, self.copy)];
        let Some(reached) = self.reached else {
            events.push("  still on its way to the gateway at the end of the run".to_owned());
            return events;
        };
        if reached > self.sent {
            events.push(format!("  {reached}: at the gateway"));
        }
        let met = match self.queue_met {
            0 => "nothing in the queue".to_owned(),
            1 => "1 packet in the queue".to_owned(),
            met => format!("{met} packets in the queue"),
        };
        let place = self.queue_met + 1;
        events.push(match (self.fate, self.dropped) {
            (Fate::Duplicate, _) => "  the proxy had it already".to_owned(),
            (Fate::Queue, None) => format!("  met {met}, which was full: dropped"),
            (Fate::Queue, Some(at)) => format!("  met {met}, and was dropped from it at {at}"),
            _ => format!("  met {met}, and took place {place}"),
        });
        if matches!(self.fate, Fate::Duplicate | Fate::Queue) {
            return events;
        }
        let Some(service) = &self.service else {
            events.push("  still in the queue at the end of the run".to_owned());
            return events;
        };
        service.tell(&mut events);
        match (self.fate, self.delivered, &self.delay) {
            (Fate::Link, ..) => events.push("  lost on the link".to_owned()),
            (_, Some(delivered), Some(TransmissionDelay { parts, total })) => {
                let after = format_args!("{total} after it was sent");
                events.push(format!("  {delivered}: delivered, {after}:"));
                let [propagation, queue, serialisation, wait] = parts.all();
                events.push(format!(
                    "    {propagation} propagation + {queue} queue + {serialisation} serialisation + {wait} decoding and ARQ/FEC"
                ));
            }
            _ => events.push("  still on its way at the end of the run".to_owned()),
        }
        events
    }
}

impl TransmissionService {
    fn tell(&self, events: &mut Vec<String>) {
        let Service { start, end, .. } = self.service;
        let (first, last) = (self.service.first_unit, self.service.last_unit);
        let on_the_link = format!("  {start} to {end}: on the link");
        let Some(lldus) = &self.lldus else {
            return events.push(format!("{on_the_link}, as its packet {first}"));
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
                "    the last of them, LLDU {lldu}, decoded {arrived} (propagation left out)"
            ));
        }
    }
}

/// Listens for one packet.
#[derive(Debug)]
pub struct Explain {
    story: PacketHistory,
    end: Time,
    /// Packets in the gateway's buffer.
    queue: u64,
    /// Packets that the flow sent at least once.
    sent: u64,
}

impl Explain {
    /// Listens for packet `packet` of `flow` in a run of `setup`.
    #[must_use]
    pub fn new(flow: usize, packet: u64, setup: &Setup) -> Self {
        Self {
            story: PacketHistory {
                flow,
                packet,
                proxied: setup.path.split.is_some(),
                ..PacketHistory::default()
            },
            end: setup.end,
            queue: 0,
            sent: 0,
        }
    }

    /// The story, or how many packets the flow sent where this one was not among them.
    ///
    /// # Errors
    /// The packet was never sent.
    pub fn finish(mut self) -> Result<PacketHistory, u64> {
        if self.story.copies.is_empty() {
            return Err(self.sent);
        }
        for copy in &mut self.story.copies {
            if let (Some(reached), Some(served), Some(_)) =
                (copy.reached, &copy.service, copy.delivered)
            {
                let parts = DelayParts::of(copy.sent, reached, &served.service);
                copy.delay = parts.map(|parts| TransmissionDelay {
                    parts,
                    total: parts.total(),
                });
            }
        }
        Ok(self.story)
    }

    /// The copy that is meant, if it is one of the packet's.
    fn copy(&mut self, copy: PacketCopy) -> Option<&mut TransmissionHistory> {
        let wanted = copy.flow == self.story.flow && copy.packet == self.story.packet;
        let index = usize::try_from(copy.copy.checked_sub(1)?).ok()?;
        self.story.copies.get_mut(index).filter(|_| wanted)
    }

    /// The same, as it reaches the gateway.
    fn reached(&mut self, now: Time, copy: PacketCopy) -> Option<&mut TransmissionHistory> {
        let met = self.queue;
        let story = self.copy(copy)?;
        (story.reached, story.queue_met) = (Some(now), met);
        Some(story)
    }

    /// Whether an acknowledgement names it in a block.
    fn is_sacked(&self, flow: usize, ack: &Ack) -> bool {
        let mut blocks = ack.blocks.iter().map(|(start, end)| *start..*end);
        flow == self.story.flow && blocks.any(|block| block.contains(&self.story.packet))
    }

    /// Whether the packets of `flow` below `next` include it.
    fn is_below(&self, flow: usize, next: u64) -> bool {
        flow == self.story.flow && self.story.packet < next
    }
}

impl Probe for Explain {
    fn on_sent(&mut self, now: Time, copy: PacketCopy) {
        if copy.flow != self.story.flow {
            return;
        }
        self.sent = self.sent.max(copy.packet.saturating_add(1));
        if copy.packet != self.story.packet {
            return;
        }
        self.story.copies.push(TransmissionHistory {
            copy: copy.copy,
            why: copy.why,
            sent: now,
            ..TransmissionHistory::default()
        });
    }

    fn on_enqueued(&mut self, now: Time, copy: PacketCopy) {
        self.reached(now, copy);
        self.queue += 1;
    }

    fn on_refused(&mut self, now: Time, copy: PacketCopy, why: Refused) {
        if let Some(story) = self.reached(now, copy) {
            story.fate = why.into();
        }
    }

    fn on_released(&mut self, _now: Time, _copy: PacketCopy) {
        self.queue = self.queue.saturating_sub(1);
    }

    fn on_dropped(&mut self, now: Time, copy: PacketCopy) {
        self.queue = self.queue.saturating_sub(1);
        if let Some(story) = self.copy(copy) {
            story.dropped = Some(now);
            story.fate = Fate::Queue;
        }
    }

    fn on_service(&mut self, copy: PacketCopy, service: &Service) {
        let begins = service.start <= self.end;
        if let Some(story) = self.copy(copy).filter(|_| begins) {
            story.service = Some(TransmissionService {
                service: *service,
                lldus: None,
            });
        }
    }

    fn on_departure(&mut self, _left: Time, copy: PacketCopy, lost: bool) {
        // A proxy keeps it until the link has acknowledged it.
        if !self.story.proxied {
            self.queue = self.queue.saturating_sub(1);
        }
        if let Some(story) = self.copy(copy).filter(|_| lost) {
            story.fate = Fate::Link;
        }
    }

    fn on_delivered(&mut self, now: Time, copy: PacketCopy) {
        if let Some(story) = self.copy(copy) {
            (story.fate, story.delivered) = (Fate::Delivered, Some(now));
        }
    }

    fn on_ack_sent(&mut self, now: Time, flow: usize, ack: &Ack) {
        if self.is_below(flow, ack.next) || self.is_sacked(flow, ack) {
            self.story.told.get_or_insert(now);
        }
    }

    fn on_ack_received(&mut self, now: Time, flow: usize, ack: &Ack) {
        if self.is_sacked(flow, ack) {
            self.story.sacked.get_or_insert(now);
        }
    }

    fn on_acked(&mut self, now: Time, flow: usize, next: u64) {
        if self.is_below(flow, next) {
            self.story.acked.get_or_insert(now);
        }
    }
}
