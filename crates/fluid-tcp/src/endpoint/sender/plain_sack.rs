//! The usual ACK of a recovery, after a timeout, too: it reports the packet after the highest SACKed one, and nothing else. And
//! the usual answer, which is a new packet.
//!
//! In a long recovery nearly all ACKs are such. As with the usual ACK outside recovery (`plain_ack.rs`), nothing else that
//! [`Sender::on_ack`] does can happen, and a property test holds both ways equal.

#![expect(
    clippy::inline_always,
    reason = "with losses every packet takes this way; a call and its copies are a twentieth of a run"
)]

use tmt_core::math::num::floor_u64;
use tmt_core::types::Time;

use super::ack_accounting::Acknowledged;
use super::prr::Progress;
use super::sack_scoreboard::NewlySacked;
use super::{DUP_THRESH, Phase, Sender};
use crate::congestion::AckEvent;
use crate::endpoint::receiver::Ack;

/// Next packet to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Nothing,
    /// The next new packet.
    New,
    /// That takes a closer look.
    Unknown,
}

impl Sender {
    /// Whether an ACK of everything below `next` only reports the packet after the highest SACKed one.
    #[inline(always)]
    pub(super) fn only_extends_sacked(&self, ack: &Ack, next: u64) -> bool {
        let [(start, end), second, third] = ack.blocks;
        let [first, ..] = self.reported;
        next == self.snd_una
            && (start, end) == (first.0, first.1.saturating_add(1))
            && [second, third] == self.reported[1..]
            && self.takes_plain_acks
            && self.phase != Phase::Open
            && end <= self.snd_nxt
            && !(ack.dsack || ack.ece)
            && self.f_rto.is_none()
            && self.ends_sacked(first)
    }

    /// Whether a block ends the SACKed packets, and all packets below the range that it belongs to are known to be lost or not,
    /// so that one more packet says nothing new of them.
    #[inline(always)]
    fn ends_sacked(&self, block: (u64, u64)) -> bool {
        self.sacked.last().is_some_and(|(start, end)| {
            let is_known = self.rack.is_some() || start <= self.lost_below;
            end == block.1 && is_known
        })
    }

    /// Processes an ACK for which [`Self::only_extends_sacked`] holds.
    #[inline(always)]
    pub(super) fn on_plain_sack(&mut self, now: Time, ack: &Ack) {
        let in_flight = self.snd_nxt - self.snd_una;
        let lost_before = self.lost;
        let end = ack.blocks[0].1;
        let packet = end - 1;
        self.reported[0].1 = end;
        self.sacked.extend_last();
        self.sacked_count += 1;
        let entry = self.outstanding.entry_mut(packet);
        if let Some(rack) = &mut self.rack {
            rack.begin_ack();
            rack.on_arrival(now, packet, entry);
        }
        self.pipe -= entry.in_pipe();
        entry.sacked = true;
        entry.lost = false;
        let sacked = NewlySacked::one(packet, entry);
        let rtt = self.measure(now, ack, &Acknowledged::default(), &sacked);
        if self.rack.is_some() {
            self.rack_detect_losses(now, false);
        } else {
            // Packets in between are SACKed.
            self.lost_below = self
                .lost_below
                .max(end.saturating_sub(u64::from(DUP_THRESH)));
        }
        let event = AckEvent {
            now,
            acked: 0,
            delivered: 1,
            in_flight,
            round: self.accounting.round(self.snd_una, self.snd_nxt),
            rtt,
            srtt: self.rtt.srtt(),
            lost: self.lost - lost_before,
            pipe: self.pipe,
            ece: false,
            rate: None,
        };
        let restarts_timer = self.sack_restarts_timer(&sacked);
        let cwnd = self.cc.observe_and_grow(&event, self.cc_controls_recovery);
        self.window = floor_u64(cwnd);
        if matches!(self.phase, Phase::Recovery { .. }) {
            let progress = Progress {
                delivered: 1,
                is_safe: false,
            };
            self.update_prr_to(progress, self.window);
        }
        if restarts_timer {
            self.restart_timer(now);
        }
    }

    /// Next packet to send in a recovery, as far as a short look finds it.
    #[inline(always)]
    pub(super) fn usual_next(&mut self) -> Next {
        let is_usual = self.takes_plain_acks
            && self.phase != Phase::Open
            && self.retransmit.is_none()
            && self.tail_probe.pending.is_none()
            && self.f_rto.is_none();
        if !is_usual {
            return Next::Unknown;
        }
        if !self.allows_next() {
            self.on_window_filled();
            return Next::Nothing;
        }
        let mut unseen = self.rtx_cursor.max(self.snd_una)..self.lost_below;
        if unseen.any(|packet| !self.outstanding.entry(packet).sacked) {
            return Next::Unknown;
        }
        self.rtx_cursor = self.rtx_cursor.max(self.lost_below);
        if self.has_new_data() {
            Next::New
        } else {
            Next::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, at, drain, endpoint, sender};
    use crate::endpoint::{Endpoint, Recovery};

    #[test]
    fn a_block_that_grows_below_the_highest_is_not_taken_for_it() {
        let mut sender = sender(endpoint(true, Recovery::Prr, 12), None);
        drain(&mut sender, at(0));
        sender.on_ack(at(400), &ack(0, &[(5, 9)]));
        sender.on_ack(at(401), &ack(0, &[(2, 3), (5, 9)]));
        sender.on_ack(at(402), &ack(0, &[(2, 4), (5, 9)]));
        assert_eq!(sender.sacked.numbers(), [2, 3, 5, 6, 7, 8]);
    }

    #[test]
    fn blocks_beyond_what_was_sent_report_what_was() {
        let mut sender = sender(endpoint(true, Recovery::Prr, 12), None);
        drain(&mut sender, at(0));
        for millis in [400, 401] {
            sender.on_ack(at(millis), &ack(0, &[(5, u64::MAX)]));
            assert_eq!(sender.sacked.numbers(), [5, 6, 7, 8, 9, 10, 11]);
        }
    }

    #[test]
    fn a_packet_that_shows_a_spurious_timeout_takes_the_long_way() {
        let endpoint = Endpoint {
            f_rto: true,
            ..endpoint(true, Recovery::Prr, 10)
        };
        let mut sender = sender(endpoint, None);
        drain(&mut sender, at(0));
        sender.on_ack(at(400), &ack(0, &[(1, 2)]));
        let timeout = sender.deadline().unwrap();
        sender.on_timer(timeout);
        assert_eq!(sender.events().timeouts, 1);
        // It was outstanding at the timeout and was not sent again.
        sender.on_ack(timeout, &ack(0, &[(1, 3)]));
        assert_eq!(sender.events().spurious_timeouts, 1);
    }
}
