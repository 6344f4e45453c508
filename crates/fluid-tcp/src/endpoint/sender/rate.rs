//! Delivery-rate estimation (draft-cheng-iccrg-delivery-rate-estimation, Sec. 3), for congestion controls that need it.
//!
//! Names in code font are the draft's. Rates count packets, not bytes. Named deviation: a sender counts as
//! application-limited although lost packets may still wait for retransmission (Sec. 3.4).

use std::collections::VecDeque;

use tmt_core::types::{Span, Time, to_f64};

use super::{Outstanding, Sender};
use crate::congestion::{CongestionControl, LostPacket, RateSample};

/// State of the connection recorded when a packet was sent.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    /// `P.delivered`, `P.delivered_time`, `P.first_sent_time`.
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// `P.is_app_limited`.
    app_limited: bool,
    /// Packets marked lost by then, and packets in the network including this one.
    lost: u64,
    in_flight: u64,
}

/// State of the estimator for one connection.
#[derive(Debug, Default)]
pub(super) struct Rates {
    /// `C.delivered`, `C.delivered_time`, `C.first_sent_time`.
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// `C.app_limited`: samples are application-limited until this many packets are delivered; 0 if they are not.
    app_limited: u64,
    /// Packet of the first stamp.
    first: u64,
    stamps: VecDeque<Stamp>,
    /// The packet sent last among those that this ACK newly reports as delivered, and its stamp.
    latest: Option<(Outstanding, Stamp)>,
    min_rtt: Option<Span>,
}

impl Rates {
    /// Whether samples of packets sent now are application-limited.
    #[cfg(test)]
    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    fn index(&self, packet: u64) -> Option<usize> {
        usize::try_from(packet.checked_sub(self.first)?).ok()
    }

    fn stamp(&self, packet: u64) -> Option<Stamp> {
        self.stamps.get(self.index(packet)?).copied()
    }

    pub(super) fn on_arrival(&mut self, now: Time, packet: u64, entry: &Outstanding) {
        let Some(stamp) = self.stamp(packet) else {
            return;
        };
        self.delivered += 1;
        self.delivered_at = now;
        let later = self
            .latest
            .is_none_or(|(_, latest)| stamp.delivered >= latest.delivered);
        if later {
            self.latest = Some((*entry, stamp));
            self.first_sent = entry.sent;
        }
    }

    pub(super) fn forget_below(&mut self, next: u64) {
        while self.first < next && self.stamps.pop_front().is_some() {
            self.first += 1;
        }
    }
}

/// Counts a lost packet, and reports it to the congestion control if rates are measured.
pub(super) fn report_lost(
    rates: Option<&Rates>,
    cc: &mut dyn CongestionControl,
    lost: &mut u64,
    packet: u64,
) {
    *lost += 1;
    if let Some(rates) = rates
        && let Some(stamp) = rates.stamp(packet)
    {
        cc.on_lost(&LostPacket {
            packet,
            in_flight_at_send: stamp.in_flight,
            lost: *lost - stamp.lost,
            app_limited: stamp.app_limited,
            total_delivered: rates.delivered,
        });
    }
}

impl Sender {
    /// Stamps a packet that is sent `now` (Sec. 3.2).
    pub(super) fn note_rate(&mut self, now: Time, packet: u64) {
        let Some(mut rates) = self.rates.take() else {
            return;
        };
        let in_flight = self.in_network();
        if self.cc.marks_samples_app_limited() {
            rates.app_limited = (rates.delivered + in_flight).max(1);
        }
        if self.snd_nxt - self.snd_una <= 1 {
            rates.first_sent = now;
            rates.delivered_at = now;
        }
        let stamp = Stamp {
            delivered: rates.delivered,
            delivered_at: rates.delivered_at,
            first_sent: rates.first_sent,
            app_limited: rates.app_limited > 0,
            lost: self.lost,
            in_flight,
        };
        match rates.index(packet) {
            Some(index) if index < rates.stamps.len() => rates.stamps[index] = stamp,
            _ => rates.stamps.push_back(stamp),
        }
        // No data after this packet: samples until everything in flight is delivered are application-limited. Data that
        // waits for the receiver's window is there (Sec. 3.4).
        if self.unsent() == 0 && to_f64(in_flight) < self.cc.cwnd() {
            rates.app_limited = (rates.delivered + in_flight).max(1);
        }
        self.rates = Some(rates);
    }

    /// Returns the rate sample of the current ACK (Sec. 3.3).
    pub(super) fn rate_sample(&mut self, now: Time) -> Option<RateSample> {
        let lost = self.lost;
        let rates = self.rates.as_mut()?;
        if rates.app_limited > 0 && rates.delivered > rates.app_limited {
            rates.app_limited = 0;
        }
        let (entry, stamp) = rates.latest.take()?;
        // Karn: which transmission of a retransmitted packet arrived is unknown.
        let rtt = (entry.transmissions == 1).then(|| now.since(entry.sent));
        rates.min_rtt = rates.min_rtt.into_iter().chain(rtt).min();
        let send_elapsed = entry.sent.since(stamp.first_sent);
        let ack_elapsed = rates.delivered_at.since(stamp.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        // An interval shorter than any RTT means that ACKs were compressed: no valid rate.
        if interval.is_zero() || rates.min_rtt.is_some_and(|min_rtt| interval < min_rtt) {
            return None;
        }
        Some(RateSample {
            delivered: rates.delivered - stamp.delivered,
            interval,
            prior_delivered: stamp.delivered,
            total_delivered: rates.delivered,
            app_limited: stamp.app_limited,
            lost: lost - stamp.lost,
            in_flight_at_send: stamp.in_flight,
            rtt,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sent: u64, transmissions: u32) -> Outstanding {
        Outstanding {
            sent: at(sent),
            transmissions,
            sacked: false,
            lost: false,
            retransmitted: false,
            turn: 0,
        }
    }

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000).unwrap()
    }

    fn stamp(rates: &Rates, in_flight: u64) -> Stamp {
        Stamp {
            delivered: rates.delivered,
            delivered_at: rates.delivered_at,
            first_sent: rates.first_sent,
            app_limited: false,
            lost: 0,
            in_flight,
        }
    }

    #[test]
    fn the_rate_of_a_packet_train_is_that_of_the_bottleneck() {
        // Ten packets are sent at once and acknowledged from 100 ms on, 10 ms apart. Each ACK triggers one more packet.
        let mut rates = Rates::default();
        for packet in 0..10 {
            let stamp = stamp(&rates, packet + 1);
            rates.stamps.push_back(stamp);
        }
        for packet in 0..10 {
            let now = at(100 + 10 * packet);
            rates.on_arrival(now, packet, &entry(0, 1));
            rates.forget_below(packet + 1);
            assert_eq!(rates.delivered, packet + 1);
            let stamp = stamp(&rates, 10);
            rates.stamps.push_back(stamp);
        }
        // Packet 10 is sent at 100 ms, with one packet delivered. When it arrives at 200 ms, ten more are delivered.
        rates.latest = None;
        rates.on_arrival(at(200), 10, &entry(100, 1));
        let (last, stamp) = rates.latest.unwrap();
        assert_eq!(rates.delivered - stamp.delivered, 10);
        assert_eq!(
            rates.delivered_at.since(stamp.delivered_at),
            Span::from_millis(100)
        );
        assert_eq!(last.sent.since(stamp.first_sent), Span::from_millis(100));
    }
}
