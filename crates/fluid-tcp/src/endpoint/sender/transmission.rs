//! Choice of the next packet, and what its transmission changes.

use tmt_core::math::num::floor_u64;
use tmt_core::types::Time;

use super::{OutgoingPacket, Outstanding, Phase, Sender, TransmissionReason};
use crate::endpoint::RttSampling;

impl Sender {
    /// Returns the next packet to send `now`; `None` if the window, pacing or the application allows no more.
    #[inline]
    pub fn next_packet(&mut self, now: Time) -> Option<OutgoingPacket> {
        let waits_for_acks = self.endpoint.sack
            && self.phase == Phase::Open
            && self.pacer.is_none()
            && self.retransmit.is_none()
            && self.tail_probe.pending.is_none()
            && self.packets_in_window() >= self.window
            && self.has_new_data();
        if waits_for_acks {
            // As `next_new_data`, which is asked after almost every ACK.
            self.cwnd_limited = true;
            return None;
        }
        self.choose_packet(now)
    }

    fn choose_packet(&mut self, now: Time) -> Option<OutgoingPacket> {
        if self.pacer.as_mut().is_some_and(|pacer| pacer.holds(now)) {
            return None;
        }
        let retransmit = self.retransmit.take();
        let urgent = retransmit.or_else(|| self.tail_probe.pending.take());
        let packet = match urgent.filter(|packet| self.is_still_needed(*packet)) {
            Some(packet) => packet,
            None if !self.endpoint.sack => self.next_without_sack()?,
            None if self.phase == Phase::Open => self.next_new_data()?,
            None => self.next_seg()?,
        };
        Some(self.transmit(now, packet))
    }

    /// Whether a packet chosen before pacing delayed it must still be sent.
    fn is_still_needed(&self, packet: u64) -> bool {
        if packet == self.snd_nxt {
            return self.has_new_data();
        }
        packet >= self.snd_una && {
            let entry = self.outstanding.get(self.index(packet));
            entry.is_some_and(|entry| !entry.sacked)
        }
    }

    fn transmit(&mut self, now: Time, packet: u64) -> OutgoingPacket {
        let mut cwr = false;
        if self.snd_nxt == self.snd_una && self.snd_nxt > 0 {
            self.cc.on_restart(now);
            self.window = floor_u64(self.cc.cwnd());
        }
        let copy = if packet == self.snd_nxt {
            self.snd_nxt += 1;
            self.pipe += 1;
            self.outstanding.push_back(Outstanding {
                sent: now,
                transmissions: 1,
                ..Outstanding::default()
            });
            if self.endpoint.rtt_sampling == RttSampling::PerWindow {
                self.timed_packet.get_or_insert((packet, now));
            }
            cwr = std::mem::take(&mut self.cwr_pending);
            1
        } else {
            // Karn: after a retransmission, the running measurement is ambiguous.
            self.timed_packet = None;
            let index = self.index(packet);
            let entry = &mut self.outstanding[index];
            self.pipe -= entry.in_pipe();
            entry.transmissions += 1;
            entry.sent = now;
            entry.retransmitted = true;
            self.pipe += entry.in_pipe();
            entry.transmissions
        };
        if packet == self.send_cursor {
            self.send_cursor += 1;
        }
        if matches!(self.phase, Phase::Recovery { .. }) {
            self.prr.on_sent();
            if copy > 1 {
                self.note_retransmission(now);
            }
        }
        if let Some(rack) = &mut self.rack {
            rack.order.push_back((packet, copy, now));
        }
        self.note_rate(now, packet);
        self.pace(now);
        if self.rack.is_some() && copy > 1 && packet == self.snd_una {
            // As in Linux: the timer restarts when the first outstanding packet is retransmitted.
            self.deadline = self.rtt.deadline(now);
        } else if self.deadline.is_none() || (copy == 1 && self.endpoint.tail_loss_probe) {
            self.arm_timer_after_send(now);
        }
        let reason = match self.phase {
            _ if copy == 1 => TransmissionReason::New,
            Phase::Open => TransmissionReason::TailProbe,
            Phase::Loss { .. } => TransmissionReason::Timeout,
            Phase::Recovery { .. } => TransmissionReason::FastRetransmit,
        };
        OutgoingPacket {
            packet,
            copy,
            cwr,
            reason,
        }
    }
}
