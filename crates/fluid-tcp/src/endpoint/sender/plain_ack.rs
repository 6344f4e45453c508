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
    /// Whether nothing is under way but new packets and their ACKs: all outstanding packets were sent once, and are neither
    /// SACKed nor lost. It holds until an ACK that is not usual, or a timer.
    pub(super) fn is_quiet(&self) -> bool {
        self.takes_plain_acks
            && self.phase == Phase::Open
            && self.lost_below <= self.snd_una
            && self.repeated_below <= self.snd_una
            && self.sacked_count == 0
            && self.retransmit.is_none()
            && self.tail_probe.pending.is_none()
            && self.tail_probe.end_seq.is_none()
            && self.f_rto.is_none()
    }

    /// Whether an ACK that acknowledges everything below `next` is a usual one.
    #[inline(always)]
    pub(super) fn is_plain(&self, ack: &Ack, next: u64) -> bool {
        self.quiet
            && next > self.snd_una
            && ack.blocks == <[(u64, u64); 3]>::default()
            && !(ack.dsack || ack.ece)
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
        self.rack_detect_losses_if_overtaken(now);
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

    /// Removes the packets below `next` from the scoreboard, at least one.
    #[inline(always)]
    fn acknowledge(&mut self, now: Time, next: u64) -> Acknowledged {
        if let Some(rack) = &mut self.rack {
            let last = next - 1;
            rack.begin_ack();
            rack.on_arrivals(now, self.snd_una, last, self.outstanding.entry(last));
        }
        let first = self.outstanding.entry(self.snd_una).sent;
        let last = self.outstanding.entry(next - 1).sent;
        let acked = next - self.snd_una;
        self.pipe -= acked;
        self.snd_una = next;
        self.send_cursor = self.send_cursor.max(next);
        Acknowledged::once(acked, first, last)
    }
}
