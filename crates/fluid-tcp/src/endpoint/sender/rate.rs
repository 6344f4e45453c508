//! How fast packets are delivered (draft-cheng-iccrg-delivery-rate-estimation, Sec. 3), for controllers that ask.
//!
//! The names behind each field are the draft's. Packets are counted, not bytes. Named deviation: the application
//! counts as the limit although something lost may still wait to be sent again (Sec. 3.4).

use std::collections::VecDeque;

use tmt_core::types::{Span, Time, to_f64};

use super::{Outstanding, Sender};
use crate::congestion::{CongestionControl, LostPacket, RateSample};

/// What is remembered of a packet from when it was sent.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    /// `P.delivered`, `P.delivered_time`, `P.first_sent_time`.
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// `P.is_app_limited`.
    app_limited: bool,
    /// Packets found lost by then, and in the network with this one.
    lost: u64,
    in_flight: u64,
}

/// The connection's state.
#[derive(Debug, Default)]
pub(super) struct Rates {
    /// `C.delivered`, `C.delivered_time`, `C.first_sent_time`.
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// `C.app_limited`: the sender had nothing to send until so many are delivered; 0 for never.
    app_limited: u64,
    /// Stamps of the packets from this one on.
    first: u64,
    stamps: VecDeque<Stamp>,
    /// The packet sent last among those that arrived with this acknowledgement, and its stamp.
    latest: Option<(Outstanding, Stamp)>,
    min_rtt: Option<Span>,
}

impl Rates {
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

/// Counts `packet` among the `lost`, and tells `cc` of it where rates are measured.
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
    /// A packet was sent: stamps it (Sec. 3.2).
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
        // Behind the last packet there is nothing: what is delivered after it tells what the application had.
        let fits = to_f64(in_flight) < self.cc.cwnd() && self.endpoint.rwnd > in_flight;
        if fits && !self.has_new_data() {
            rates.app_limited = (rates.delivered + in_flight).max(1);
        }
        self.rates = Some(rates);
    }

    /// The sample that the acknowledgement just taken in makes (Sec. 3.3).
    pub(super) fn rate_sample(&mut self, now: Time) -> Option<RateSample> {
        let lost = self.lost;
        let rates = self.rates.as_mut()?;
        if rates.app_limited > 0 && rates.delivered > rates.app_limited {
            rates.app_limited = 0;
        }
        let (entry, stamp) = rates.latest.take()?;
        // Karn: of what was sent twice nobody knows which copy it was.
        let rtt = (entry.transmissions == 1).then(|| now.since(entry.sent));
        rates.min_rtt = rates.min_rtt.into_iter().chain(rtt).min();
        let send_elapsed = entry.sent.since(stamp.first_sent);
        let ack_elapsed = rates.delivered_at.since(stamp.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        // Shorter than any round trip: packets were delivered in a heap, and tell no rate.
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
    fn a_train_of_packets_is_stretched_by_the_bottleneck() {
        // Ten packets sent at once, acknowledged 100 ms later and 10 ms apart; eleventh and on are sent by these.
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
        // The one sent when one was delivered, at 100 ms: when it arrives at 200 ms, ten more are there.
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
