//! What an acknowledgement tells: what it covers, how long that took, and what a congestion control measures by it.

use tmt_core::types::Time;

use super::Sender;
use crate::endpoint::RttSampling;

/// What is kept from one acknowledgement to the next.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AckAccounting {
    /// Round trips so far.
    rounds: u64,
    /// The first packet sent after the current round trip began.
    round_end: u64,
    /// Without SACK: arrivals that duplicates told, and no acknowledgement of new data covers yet.
    dupacks_counted: u64,
}

impl AckAccounting {
    /// The round trip that an acknowledgement up to `snd_una` belongs to, with all below `snd_nxt` sent.
    pub(super) fn round(&mut self, snd_una: u64, snd_nxt: u64) -> u64 {
        if snd_una > self.round_end {
            self.rounds += 1;
            self.round_end = snd_nxt;
        }
        self.rounds
    }

    /// Without SACK, how many packets an acknowledgement tells to have arrived.
    ///
    /// A duplicate tells of one, as long as there can be one, so that what it told is not counted again when
    /// it is acknowledged (the counting of Westwood+).
    pub(super) fn newly_delivered(&mut self, acked: u64, duplicate: bool, in_flight: u64) -> u64 {
        if duplicate {
            // The packet that all wait for cannot be among them.
            let new = self.dupacks_counted + 1 < in_flight;
            self.dupacks_counted += u64::from(new);
            return u64::from(new);
        }
        // What ends a gap has itself arrived, whatever was told before.
        let new = acked.saturating_sub(self.dupacks_counted).max(acked.min(1));
        self.dupacks_counted -= acked - new;
        new
    }
}

/// What an acknowledgement of new data covers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Acknowledged {
    /// Packets that were not known to have arrived.
    pub(super) delivered: u64,
    /// When the first packet that was not known to have arrived was sent; none where one of all was sent twice (Karn).
    first: Option<Time>,
    /// When the last packet was sent, unless it was known to have arrived, or one of all was sent twice.
    pub(super) last: Option<Time>,
}

impl Sender {
    /// Takes the round-trip time of what was acknowledged up to `next`, never of what was sent twice.
    pub(super) fn measure(&mut self, now: Time, next: u64, acked: &Acknowledged) {
        let sent = match self.endpoint.rtt_sampling {
            RttSampling::PerWindow => {
                let timed = self.timed_packet.take_if(|(packet, _)| *packet < next);
                timed.map(|(_, sent)| sent)
            }
            // What was received out of order was not acknowledged for waiting, not for travelling.
            RttSampling::PerAck => acked.first,
        };
        if let Some(sent) = sent {
            self.rtt.sample(now.since(sent));
        }
    }

    /// Everything below `next` is acknowledged; what that was.
    pub(super) fn advance(&mut self, now: Time, next: u64) -> Acknowledged {
        let (mut acked, mut any_retransmitted) = (Acknowledged::default(), false);
        while self.snd_una < next {
            let Some(entry) = self.outstanding.pop_front() else {
                break;
            };
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
    fn what_duplicates_told_is_not_told_again() {
        // Packets 0 and 4 of 10 are lost: eight arrive and make duplicates, then 0, then 4.
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
    fn copies_of_what_is_there_already_are_no_arrivals() {
        let mut accounting = AckAccounting::default();
        let sum: u64 = (0..20)
            .map(|_| accounting.newly_delivered(0, true, 5))
            .sum();
        assert_eq!(sum + accounting.newly_delivered(5, false, 5), 5);
    }

    #[test]
    fn a_round_trip_ends_when_what_was_sent_within_it_is_acknowledged() {
        let mut accounting = AckAccounting::default();
        // Two sent, one acknowledged, four sent by then: the next ends with the fifth.
        let rounds = [(1, 2), (2, 4), (3, 6), (4, 8)]
            .map(|(snd_una, snd_nxt)| accounting.round(snd_una, snd_nxt));
        assert_eq!(rounds, [1, 1, 2, 2]);
    }
}
