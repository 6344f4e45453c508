//! The course of a run from its packet log alone, so that a run of the simulator and one of real hosts are measured alike.

use std::collections::BTreeSet;

use serde::Serialize;
use tmt_core::types::{Span, Time, to_f64};

use super::Fate;
use super::recording::{Recording, Sent};
use crate::simulation::{Flow, Setup};

/// Totals of the packets of data, from the time of the first to the end of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Totals {
    /// Packets sent, with retransmissions.
    pub packets_sent: u64,
    /// Retransmissions; `None` of real hosts, whose log has no sequence numbers.
    pub packets_retransmitted: Option<u64>,
    /// Packets that the queue dropped.
    pub packets_dropped: u64,
    /// Packets that the link lost.
    pub packets_lost: u64,
    /// Packets delivered by the end: each once, where the log numbers them.
    pub packets_delivered: u64,
    /// Payload of these packets over the time from the first packet to the end, bit/s.
    pub goodput_bps: f64,
    /// Mean time from the sending of a packet to its delivery, s; `None` without deliveries.
    pub delay_mean_s: Option<f64>,
    /// Packets in flight, mean over that time.
    pub in_flight_packets: f64,
}

/// A stretch of time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stretch {
    /// Its end, s since the zero of the trace.
    pub time_s: f64,
    /// Payload delivered in it over its length, bit/s.
    pub goodput_bps: f64,
    /// Packets in flight, mean over it.
    pub in_flight_packets: f64,
    /// Packets sent in it.
    pub packets_sent: u64,
    /// Packets sent in it that were dropped or lost.
    pub packets_missing: u64,
}

/// The course of a run.
///
/// A packet is in flight from its sending until its sender can know of its fate: half an RTT after its delivery. The loss of a
/// packet is known with the delivery of the first one sent after it.
#[derive(Debug, Clone)]
pub struct Course<'a> {
    packets: &'a [Sent],
    is_real: bool,
    /// Payload of a packet of each flow, bytes.
    payloads: Vec<u64>,
    /// When the sender knows of each packet; `None` if the run ended before.
    known: Vec<Option<Time>>,
    /// Delivered for the first time.
    is_new: Vec<bool>,
    begin: Time,
    end: Time,
}

impl<'a> Course<'a> {
    /// The course of a recording, whose flows are those of `setup`, as is the end.
    #[must_use]
    pub fn of(recording: &'a Recording, setup: &Setup) -> Self {
        let packets = &recording.packets[..];
        let back = |flow: &Flow| {
            let both = setup.rtt.saturating_add(setup.terrestrial_rtt(flow));
            both.saturating_sub(both.half())
        };
        let back: Vec<Span> = setup.numbered().map(|flow| back(&flow)).collect();
        let mut next: Vec<Option<Time>> = vec![None; back.len()];
        let known = packets.iter().rev().map(|packet| {
            let (Some(back), Some(next)) = (back.get(packet.flow), next.get_mut(packet.flow))
            else {
                return None;
            };
            let own = packet.delivered.map(|at| at.saturating_add(*back));
            *next = next.iter().copied().chain(own).min();
            if matches!(
                packet.fate,
                Fate::Queue | Fate::Link | Fate::Terrestrial | Fate::Far
            ) {
                *next
            } else {
                own
            }
        });
        let mut known: Vec<Option<Time>> = known.collect();
        known.reverse();
        let end = setup.end;
        let mut seen = BTreeSet::new();
        let mut by_delivery: Vec<usize> = (0..packets.len()).collect();
        by_delivery.sort_by_key(|number| packets[*number].delivered);
        let mut is_new = vec![false; packets.len()];
        for number in by_delivery {
            let packet = &packets[number];
            let is_delivered = packet.delivered.is_some_and(|at| at <= end);
            is_new[number] = is_delivered && seen.insert((packet.flow, packet.packet));
        }
        Self {
            packets,
            is_real: recording.is_of_real_hosts(),
            payloads: {
                let flows = setup.numbered();
                flows.map(|flow| flow.payload(setup.packet).0).collect()
            },
            known,
            is_new,
            begin: packets.first().map_or(setup.begin, |packet| packet.at),
            end,
        }
    }

    /// The same run, measured from `begin` on, which is not after its first packet.
    #[must_use]
    pub fn since(mut self, begin: Time) -> Self {
        self.begin = begin.min(self.begin);
        self
    }

    /// The time of the first packet, and the end.
    #[must_use]
    pub const fn span(&self) -> (Time, Time) {
        (self.begin, self.end)
    }

    fn payload(&self, packet: &Sent) -> u64 {
        self.payloads.get(packet.flow).copied().unwrap_or(0)
    }

    /// Packets sent by the end.
    fn sent(&self) -> impl Iterator<Item = &Sent> {
        self.packets.iter().filter(|packet| packet.at <= self.end)
    }

    /// Totals of all packets.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let count = |wanted: &dyn Fn(&Sent) -> bool| {
            let found = self.sent().filter(|packet| wanted(packet));
            found.count() as u64
        };
        let new = self.packets.iter().zip(&self.is_new);
        let new = new.filter(|(_, is_new)| **is_new).map(|(packet, _)| packet);
        let bytes: u64 = new.clone().map(|packet| self.payload(packet)).sum();
        let within = |at: &Time| *at <= self.end;
        let delays = self.packets.iter().filter_map(|packet| {
            let delivered = packet.delivered.filter(within)?;
            Some(delivered.since(packet.at).as_secs_f64())
        });
        let delays: Vec<f64> = delays.collect();
        let delay: f64 = delays.iter().sum();
        let length = self.end.since(self.begin).as_secs_f64();
        Totals {
            packets_sent: count(&|_| true),
            packets_retransmitted: (!self.is_real).then(|| count(&|packet| packet.copy > 1)),
            packets_dropped: count(&|packet| packet.fate == Fate::Queue),
            packets_lost: count(&|packet| packet.fate == Fate::Link),
            packets_delivered: new.count() as u64,
            goodput_bps: ratio(8.0 * to_f64(bytes), length),
            delay_mean_s: (!delays.is_empty()).then(|| delay / to_f64(delays.len() as u64)),
            in_flight_packets: self.in_flight(self.begin, self.end),
        }
    }

    /// Stretches of this length from `begin` on, the last of them up to the end.
    #[must_use]
    pub fn stretches(&self, begin: Time, length: Span) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        let mut from = begin;
        while from < self.end && !length.is_zero() {
            let to = from.saturating_add(length).min(self.end);
            stretches.push(self.stretch(from, to));
            from = to;
        }
        stretches
    }

    /// The time after `from` up to `to`; the first stretch has what happened at the start, too.
    fn stretch(&self, from: Time, to: Time) -> Stretch {
        let is_within = |at: Time| (at > from || at == self.begin && at == from) && at <= to;
        let sent = self.packets.iter().filter(|packet| is_within(packet.at));
        let missing = sent.clone().filter(|packet| {
            matches!(
                packet.fate,
                Fate::Queue | Fate::Link | Fate::Terrestrial | Fate::Far
            )
        });
        let new = self.packets.iter().zip(&self.is_new);
        let new =
            new.filter(|(packet, is_new)| **is_new && packet.delivered.is_some_and(is_within));
        let bytes: u64 = new.map(|(packet, _)| self.payload(packet)).sum();
        Stretch {
            time_s: to.since(Time::ZERO).as_secs_f64(),
            goodput_bps: ratio(8.0 * to_f64(bytes), to.since(from).as_secs_f64()),
            in_flight_packets: self.in_flight(from, to),
            packets_sent: sent.count() as u64,
            packets_missing: missing.count() as u64,
        }
    }

    /// Packets in flight, mean from `from` to `to`.
    fn in_flight(&self, from: Time, to: Time) -> f64 {
        let flights = self.packets.iter().zip(&self.known);
        let times = flights.map(|(packet, known)| {
            let until = known.unwrap_or(to).min(to);
            until.since(packet.at.max(from)).as_nanos()
        });
        let sum: u128 = times.map(u128::from).sum();
        let sum = to_f64(u64::try_from(sum / 1000).unwrap_or(u64::MAX)) * 1e-6;
        ratio(sum, to.since(from).as_secs_f64())
    }
}

/// A ratio; zero over nothing.
fn ratio(one: f64, other: f64) -> f64 {
    if other > 0.0 { one / other } else { 0.0 }
}
