//! Coverage of an ACK: newly acknowledged packets, RTT samples, and the counts that congestion controls measure.

use tmt_core::types::{Span, Time};

use super::Sender;
use super::sack_scoreboard::NewlySacked;
use crate::endpoint::receiver::Ack;
use crate::endpoint::{RttSampling, TimerRestart};

/// State kept from one ACK to the next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AckAccounting {
    /// Round trips so far.
    rounds: u64,
    /// First packet sent after the current round began.
    round_end: u64,
    /// Without SACK: deliveries counted from duplicate ACKs that no ACK of new data covers yet.
    dupacks_counted: u64,
}

impl AckAccounting {
    /// Returns the round of an ACK that moves the left edge to `snd_una`, with all packets below `snd_nxt` sent.
    pub(super) fn round(&mut self, snd_una: u64, snd_nxt: u64) -> u64 {
        if snd_una > self.round_end {
            self.rounds += 1;
            self.round_end = snd_nxt;
        }
        self.rounds
    }

    /// Without SACK, counts the packets that an ACK newly reports as delivered, like Westwood+.
    ///
    /// A duplicate ACK counts as one delivery, as long as there can be one more. When that packet is acknowledged, it
    /// does not count again.
    pub(super) fn newly_delivered(&mut self, acked: u64, duplicate: bool, in_flight: u64) -> u64 {
        if duplicate {
            // The packet at `snd_una` cannot have arrived.
            let new = self.dupacks_counted + 1 < in_flight;
            self.dupacks_counted += u64::from(new);
            return u64::from(new);
        }
        // The packet that fills a gap has arrived, too, regardless of what was counted before.
        let new = acked.saturating_sub(self.dupacks_counted).max(acked.min(1));
        self.dupacks_counted -= acked - new;
        new
    }
}

/// Packets that an ACK of new data covers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Acknowledged {
    /// Packets not SACKed before.
    pub(super) delivered: u64,
    /// Time at which the first packet not SACKed before was sent; `None` if any packet was retransmitted (Karn).
    first: Option<Time>,
    /// Time at which the last packet was sent; `None` if it was SACKed before or any packet was retransmitted.
    pub(super) last: Option<Time>,
    /// Whether there is any packet.
    any: bool,
}

impl Acknowledged {
    /// Packets that were sent once, the first and the last at these times, and are not SACKed.
    #[inline]
    pub(super) fn once(packets: u64, first: Time, last: Time) -> Self {
        Self {
            delivered: packets,
            first: Some(first),
            last: Some(last),
            any: true,
        }
    }
}

impl Sender {
    /// Takes an RTT sample for the RTO from an ACK: from a packet that was sent once, else from the echoed timestamp.
    /// Returns the RTT for the congestion control, that of the last packet which the ACK newly reports.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    pub(super) fn measure(
        &mut self,
        now: Time,
        ack: &Ack,
        acked: &Acknowledged,
        sacked: &NewlySacked,
    ) -> Option<Span> {
        let echoed = (self.endpoint.timestamps && acked.any).then_some(ack.echo);
        let (first, last) = match self.endpoint.rtt_sampling {
            RttSampling::PerWindow => {
                let timed = self
                    .timed_packet
                    .take_if(|(packet, _)| *packet < self.snd_una);
                (timed.map(|(_, sent)| sent), acked.last.or(echoed))
            }
            // A packet received out of order waited for the gap to be filled, so it gives no sample.
            RttSampling::PerAck => (acked.first.or(echoed), acked.last.or(echoed)),
            RttSampling::PerSack => (
                acked.first.or(sacked.first_sent()).or(echoed),
                sacked.last_sent().or(acked.last).or(echoed),
            ),
        };
        if let Some(sent) = first {
            self.rtt.sample(now.since(sent), self.round());
        }
        last.map(|sent| now.since(sent))
    }

    /// Whether SACK blocks restart the timer: they report a packet that left before the last transmission of the first
    /// outstanding one. A packet that left later would extend the timeout over and over in a long recovery.
    pub(super) fn sack_restarts_timer(&self, sacked: &NewlySacked) -> bool {
        self.endpoint.timer_restart == TimerRestart::Sacked
            && sacked
                .first_sent()
                .zip(self.first_outstanding())
                .is_some_and(|(sent, first)| sent < first.sent)
    }

    /// Removes everything below `next` from the scoreboard and returns what it was.
    pub(super) fn advance(&mut self, now: Time, next: u64) -> Acknowledged {
        let (mut acked, mut any_retransmitted) = (Acknowledged::default(), false);
        while self.snd_una < next {
            let entry = *self.outstanding.entry(self.snd_una);
            acked.any = true;
            self.pipe -= entry.in_pipe();
            any_retransmitted |= entry.transmissions > 1;
            acked.last = (!entry.sacked).then_some(entry.sent);
            if entry.sacked {
                self.sacked_count -= 1;
            } else {
                acked.delivered += 1;
                acked.first.get_or_insert(entry.sent);
                if let Some(rack) = &mut self.rack {
                    rack.on_arrival(now, self.snd_una, &entry);
                }
                if let Some(rates) = &mut self.rates {
                    rates.on_arrival(now, self.snd_una, &entry);
                }
                if let Some(frto) = &mut self.f_rto {
                    frto.on_arrival(self.snd_una, &entry);
                }
            }
            self.snd_una += 1;
        }
        if let Some(rates) = &mut self.rates {
            rates.forget_below(next);
        }
        self.sacked.remove_below(next);
        self.send_cursor = self.send_cursor.max(next);
        if any_retransmitted {
            (acked.first, acked.last) = (None, None);
        }
        acked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_counted_from_duplicate_acks_are_not_counted_again() {
        // Packets 0 and 4 of 10 are lost: eight packets arrive and cause duplicate ACKs, then 0 arrives, then 4.
        let mut accounting = AckAccounting::default();
        let mut sum: u64 = (0..8)
            .map(|_| accounting.newly_delivered(0, true, 10))
            .sum();
        assert_eq!(sum, 8);
        sum += accounting.newly_delivered(4, false, 10);
        sum += accounting.newly_delivered(6, false, 6);
        assert_eq!((sum, accounting.dupacks_counted), (10, 0));
    }

    #[test]
    fn duplicate_acks_count_no_more_deliveries_than_packets_in_flight() {
        let mut accounting = AckAccounting::default();
        let sum: u64 = (0..20)
            .map(|_| accounting.newly_delivered(0, true, 5))
            .sum();
        assert_eq!(sum + accounting.newly_delivered(5, false, 5), 5);
    }

    #[test]
    fn a_round_ends_when_a_packet_sent_within_it_is_acknowledged() {
        let mut accounting = AckAccounting::default();
        // Two sent, one acknowledged, four sent by then: the next round ends with the third packet.
        let rounds = [(1, 2), (2, 4), (3, 6), (4, 8)]
            .map(|(snd_una, snd_nxt)| accounting.round(snd_una, snd_nxt));
        assert_eq!(rounds, [1, 1, 2, 2]);
    }
}
