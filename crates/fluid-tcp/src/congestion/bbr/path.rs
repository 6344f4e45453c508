//! A test path for congestion controls: a queue before a link of constant rate, and a sender that paces, samples
//! delivery rates like `sender/rate.rs`, and marks a packet lost when three above it have arrived. Lost packets are not
//! retransmitted; new packets take their place.

use std::collections::VecDeque;

use tmt_core::types::{Span, Time, to_f64};

use crate::congestion::{
    AckEvent, Cause, CongestionControl, CongestionEvent, LostPacket, RateSample,
};
use tmt_core::math::num::floor_u64;

/// A packet in flight.
#[derive(Debug, Clone, Copy)]
struct Sent {
    packet: u64,
    at: Time,
    /// Arrival time of its ACK; `None` if the packet is lost.
    acked: Option<Time>,
    delivered: u64,
    delivered_at: Time,
    since: Time,
    app_limited: bool,
    lost: u64,
    in_flight: u64,
}

pub(in super::super) struct Path<C> {
    pub(in super::super) cc: C,
    pub(in super::super) now: Time,
    /// Rate of the link, segments per second.
    pub(in super::super) rate: f64,
    pub(in super::super) rtt: Span,
    /// Capacity of the queue, packets.
    pub(in super::super) buffer: f64,
    /// Whether the link loses this packet.
    pub(in super::super) loses: fn(u64) -> bool,
    /// The application has no data until then.
    pub(in super::super) silent_until: Time,
    pub(in super::super) recoveries: u32,
    pub(in super::super) delivered: u64,
    pub(in super::super) lost: u64,
    flights: VecDeque<Sent>,
    next: u64,
    pipe: u64,
    free: Time,
    release: Time,
    delivered_at: Time,
    first_sent: Time,
    app_limited: u64,
    srtt: Option<Span>,
    round: (u64, u64),
    recovery_point: Option<u64>,
}

fn span(seconds: f64) -> Span {
    Span::from_nanos(floor_u64(seconds * 1e9)).unwrap()
}

impl<C: CongestionControl> Path<C> {
    /// A path with `rate` segments per second, an RTT of 100 ms and a queue of `buffer` packets.
    pub(in super::super) fn new(cc: C, rate: f64, buffer: f64) -> Self {
        Self {
            cc,
            now: Time::ZERO,
            rate,
            rtt: Span::from_millis(100),
            buffer,
            loses: |_| false,
            silent_until: Time::ZERO,
            recoveries: 0,
            delivered: 0,
            lost: 0,
            flights: VecDeque::new(),
            next: 0,
            pipe: 0,
            free: Time::ZERO,
            release: Time::ZERO,
            delivered_at: Time::ZERO,
            first_sent: Time::ZERO,
            app_limited: 0,
            srtt: None,
            round: (0, 0),
            recovery_point: None,
        }
    }

    /// Bandwidth-delay product, segments.
    pub(in super::super) fn bdp(&self) -> f64 {
        self.rate * self.rtt.as_secs_f64()
    }

    /// Packets in the queue, the one in service included.
    pub(in super::super) fn queue(&self) -> f64 {
        self.free.since(self.now).as_secs_f64() * self.rate
    }

    pub(in super::super) fn pipe(&self) -> f64 {
        to_f64(self.pipe)
    }

    pub(in super::super) fn seconds(&self) -> f64 {
        self.now.since(Time::ZERO).as_secs_f64()
    }

    /// Runs until `seconds`, and calls `see` after every ACK.
    pub(in super::super) fn run(&mut self, seconds: f64, mut see: impl FnMut(&mut Self)) {
        let end = Time::ZERO.checked_add(span(seconds)).unwrap();
        while self.now <= end {
            let ack = self.flights.iter().find_map(|sent| sent.acked);
            let may_send = to_f64(self.pipe) + 1.0 <= self.cc.cwnd();
            let send = self.release.max(self.silent_until).max(self.now);
            if may_send && self.silent_until > self.now {
                self.app_limited = (self.delivered + self.pipe).max(1);
            }
            match ack {
                Some(ack) if !may_send || ack <= send => {
                    self.now = ack;
                    if ack > end {
                        return;
                    }
                    self.acknowledge();
                    see(self);
                }
                _ if may_send => {
                    self.now = send;
                    self.send();
                }
                _ => self.time_out(),
            }
        }
    }

    fn send(&mut self) {
        let now = self.now;
        if self.flights.is_empty() {
            if self.next > 0 {
                self.cc.on_restart(now);
            }
            self.first_sent = now;
            self.delivered_at = now;
        }
        self.pipe += 1;
        if self.cc.marks_samples_app_limited() {
            self.app_limited = self.delivered + self.pipe;
        }
        let fits = self.queue() < self.buffer;
        let mut acked = None;
        if fits {
            self.free = self.free.max(now).saturating_add(span(1.0 / self.rate));
            if !(self.loses)(self.next) {
                acked = Some(self.free.saturating_add(self.rtt));
            }
        }
        self.flights.push_back(Sent {
            packet: self.next,
            at: now,
            acked,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            since: self.first_sent,
            app_limited: self.app_limited > 0,
            lost: self.lost,
            in_flight: self.pipe,
        });
        self.next += 1;
        if let Some(rate) = self.cc.pacing_rate() {
            self.release = self.release.max(now).saturating_add(span(1.0 / rate));
        }
    }

    /// Marks packets lost that the ACK of `acked` reveals; returns how many.
    fn detect_losses(&mut self, acked: u64) -> u64 {
        let before = self.lost;
        while let Some(sent) = self.flights.front().copied() {
            if sent.acked.is_some() || sent.packet + 3 > acked {
                break;
            }
            self.flights.pop_front();
            self.mark_lost(&sent);
        }
        self.lost - before
    }

    fn mark_lost(&mut self, sent: &Sent) {
        self.lost += 1;
        self.pipe -= 1;
        self.cc.on_lost(&LostPacket {
            packet: sent.packet,
            in_flight_at_send: sent.in_flight,
            lost: self.lost - sent.lost,
            app_limited: sent.app_limited,
            total_delivered: self.delivered,
        });
    }

    fn acknowledge(&mut self) {
        let now = self.now;
        let index = self.flights.iter().position(|sent| sent.acked.is_some());
        let sent = self.flights.remove(index.unwrap()).unwrap();
        let before = to_f64(self.pipe);
        self.pipe -= 1;
        self.delivered += 1;
        self.delivered_at = now;
        self.first_sent = sent.at;
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let lost = self.detect_losses(sent.packet);
        let rtt = now.since(sent.at);
        self.srtt = Some(rtt);
        if sent.packet >= self.round.1 {
            self.round = (self.round.0 + 1, self.next);
        }
        let elapsed = sent.at.since(sent.since);
        let interval = elapsed.max(now.since(sent.delivered_at));
        let rate = RateSample {
            delivered: self.delivered - sent.delivered,
            interval,
            prior_delivered: sent.delivered,
            total_delivered: self.delivered,
            app_limited: sent.app_limited,
            lost: self.lost - sent.lost,
            in_flight_at_send: sent.in_flight,
            rtt: Some(rtt),
        };
        let ack = AckEvent {
            ece: false,
            now,
            acked: 1,
            delivered: 1,
            in_flight: floor_u64(before),
            round: self.round.0,
            rtt: Some(rtt),
            srtt: self.srtt,
            lost,
            pipe: self.pipe,
            rate: (interval >= self.rtt).then_some(rate),
        };
        self.cc.observe(&ack);
        let controls_window = self.cc.controls_recovery_window();
        if controls_window || self.recovery_point.is_none() {
            self.cc.on_ack(&ack);
        }
        if let Some(recovery_point) = self.recovery_point {
            if sent.packet >= recovery_point {
                self.recovery_point = None;
                self.cc.on_recovered(now);
            }
        } else if lost > 0 {
            self.recoveries += 1;
            self.recovery_point = Some(self.next);
            self.cc.on_congestion(&CongestionEvent {
                now,
                in_flight: before,
                cause: Cause::FastRetransmit,
            });
        }
    }

    /// Times out if nothing in flight will arrive: marks everything lost one second later.
    fn time_out(&mut self) {
        self.now = self.now.saturating_add(Span::from_secs(1));
        let in_flight = to_f64(self.pipe);
        for sent in std::mem::take(&mut self.flights) {
            self.mark_lost(&sent);
        }
        self.cc.on_congestion(&CongestionEvent {
            now: self.now,
            in_flight,
            cause: Cause::Timeout,
        });
        self.recovery_point = Some(self.next);
    }
}
