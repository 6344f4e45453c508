//! The usual ACK: with SACK, outside recovery, it acknowledges packets that were sent once and reports nothing else.
//!
//! Most ACKs are such. Nothing that [`Sender::on_ack`] does with the others can happen, so the few steps that are
//! left cost half as much. A property test holds them equal to `Sender::on_any_ack`.

#![expect(
    clippy::inline_always,
    reason = "every packet takes this way; a call and its copies are a twentieth of a run"
)]

use tmt_core::math::num::floor_u64;
use tmt_core::types::Time;

use super::ack_accounting::Acknowledged;
use super::sack_scoreboard::NewlySacked;
use super::{Phase, Sender};
use crate::congestion::AckEvent;
use crate::endpoint::receiver::Ack;

impl Sender {
    /// Whether an ACK that acknowledges everything below `next` is a usual one.
    #[inline]
    pub(super) fn is_plain(&self, ack: &Ack, next: u64) -> bool {
        self.takes_plain_acks
            && self.phase == Phase::Open
            && next > self.snd_una
            && next >= self.lost_below
            && self.sacked_count == 0
            && ack.blocks == <[(u64, u64); 3]>::default()
            && !(ack.dsack || ack.ece)
            && self.tail_probe.end_seq.is_none()
            && self.f_rto.is_none()
            && self.repeated_below <= self.snd_una
    }

    /// Processes a usual ACK.
    #[inline(always)]
    pub(super) fn on_plain_ack(&mut self, now: Time, ack: &Ack, next: u64) {
        let in_flight = self.snd_nxt - self.snd_una;
        let lost_before = self.lost;
        let acked = next - self.snd_una;
        self.timeouts_in_row = 0;
        let covered = self.acknowledge(now, next);
        let rtt = self.measure(now, ack, &covered, &NewlySacked::default());
        if self.rack.is_some() {
            self.rack_detect_losses(now, false);
        }
        let event = AckEvent {
            now,
            acked,
            delivered: acked,
            in_flight,
            round: self.accounting.round(self.snd_una, self.snd_nxt),
            rtt,
            srtt: self.rtt.srtt(),
            lost: self.lost - lost_before,
            pipe: self.pipe,
            ece: false,
            rate: None,
        };
        if event.lost > 0 {
            self.cc.observe(&event);
            self.act_on(&event, false, false, false);
            return;
        }
        self.dupacks = 0;
        self.limited_transmits = 0;
        let grows = self.cc_controls_recovery || self.may_grow(&event);
        let cwnd = self.cc.observe_and_grow(&event, grows);
        self.window = floor_u64(cwnd);
        self.restart_timer(now);
    }

    /// Removes the packets below `next`, which were sent once and are not SACKed, from the scoreboard.
    #[inline(always)]
    fn acknowledge(&mut self, now: Time, next: u64) -> Acknowledged {
        let mut acked = Acknowledged::default();
        if let Some(rack) = &mut self.rack {
            rack.begin_ack();
        }
        while let Some(entry) = self.outstanding.pop_front() {
            self.pipe -= entry.in_pipe();
            acked.add(entry.sent);
            if let Some(rack) = &mut self.rack {
                rack.on_arrival(now, self.snd_una, &entry);
            }
            self.snd_una += 1;
            if self.snd_una == next {
                break;
            }
        }
        self.send_cursor = self.send_cursor.max(next);
        acked
    }
}
