//! Choice of the next packet, and what its transmission changes.

#![expect(
    clippy::inline_always,
    reason = "every packet takes this way; a call and its copies are a twentieth of a run"
)]

use tmt_core::math::num::floor_u64;
use tmt_core::types::Time;

use super::plain_sack::Next;
use super::{OutgoingPacket, Outstanding, Phase, Sender, TransmissionReason};
use crate::endpoint::RttSampling;

impl Sender {
    /// Returns the next packet to send `now`; `None` if the window, pacing or the application allows no more.
    #[inline(always)]
    pub fn next_packet(&mut self, now: Time) -> Option<OutgoingPacket> {
        if !self.quiet {
            return match self.usual_next() {
                Next::New => Some(self.next_new(now)),
                Next::Nothing => None,
                Next::Unknown => {
                    // Field by field, so that a new packet stays in registers (`Outgoing::in_registers`).
                    let OutgoingPacket {
                        packet,
                        copy,
                        cwr,
                        reason,
                    } = self.next_of_any(now)?;
                    Some(OutgoingPacket {
                        packet,
                        copy,
                        cwr,
                        reason,
                    })
                }
            };
        }
        // The short way, taken after almost every ACK. Nothing is SACKed, so that limited transmit has no part.
        if !self.has_new_data() {
            self.on_window_open();
            return None;
        }
        if self.snd_nxt - self.snd_una >= self.window {
            self.on_window_filled();
            return None;
        }
        Some(self.next_new(now))
    }

    /// Sends the next new packet, and returns it.
    #[inline(always)]
    fn next_new(&mut self, now: Time) -> OutgoingPacket {
        let packet = self.snd_nxt;
        let cwr = std::mem::take(&mut self.cwr_pending);
        self.transmit_new(now);
        OutgoingPacket {
            packet,
            copy: 1,
            cwr,
            reason: TransmissionReason::New,
        }
    }

    /// Returns the next packet to send `now`, new or not.
    #[inline(never)]
    fn next_of_any(&mut self, now: Time) -> Option<OutgoingPacket> {
        let packet = self.choose_packet(now)?;
        let is_new = packet == self.snd_nxt;
        let cwr = is_new && std::mem::take(&mut self.cwr_pending);
        let copy = if is_new {
            self.transmit_new(now);
            1
        } else {
            self.retransmit(now, packet)
        };
        Some(OutgoingPacket {
            packet,
            copy,
            cwr,
            reason: match self.phase {
                _ if is_new => TransmissionReason::New,
                Phase::Open => TransmissionReason::TailProbe,
                Phase::Loss { .. } => TransmissionReason::Timeout,
                Phase::Recovery { .. } => TransmissionReason::FastRetransmit,
            },
        })
    }

    fn choose_packet(&mut self, now: Time) -> Option<u64> {
        if self.pacer.as_mut().is_some_and(|pacer| pacer.holds(now)) {
            return None;
        }
        let retransmit = self.retransmit.take();
        let urgent = retransmit.or_else(|| self.tail_probe.pending.take());
        match urgent.filter(|packet| self.is_still_needed(*packet)) {
            Some(packet) => Some(packet),
            None if !self.endpoint.sack => self.next_without_sack(),
            None if self.phase == Phase::Open => self.next_new_data(),
            None => self.next_seg(),
        }
    }

    /// Whether a packet chosen before pacing delayed it must still be sent.
    fn is_still_needed(&self, packet: u64) -> bool {
        if packet == self.snd_nxt {
            return self.has_new_data();
        }
        packet >= self.snd_una && {
            packet < self.snd_nxt && !self.outstanding.entry(packet).sacked
        }
    }

    /// Sends the next new packet.
    #[inline(always)]
    fn transmit_new(&mut self, now: Time) {
        self.restart_if_idle(now);
        let packet = self.snd_nxt;
        let entry = Outstanding {
            sent: now,
            transmissions: 1,
            ..Outstanding::default()
        };
        self.outstanding.push(self.snd_una..packet, entry);
        self.snd_nxt += 1;
        self.pipe += 1;
        if self.endpoint.rtt_sampling == RttSampling::PerWindow {
            self.timed_packet.get_or_insert((packet, now));
        }
        self.note_transmission(now, packet, 1);
        if self.deadline.is_none() || self.endpoint.tail_loss_probe {
            self.arm_timer_after_send(now);
        }
    }

    /// Sends a packet again, and returns the number of this copy.
    #[inline(never)]
    fn retransmit(&mut self, now: Time, packet: u64) -> u32 {
        self.restart_if_idle(now);
        self.list_transmissions();
        // Karn: after a retransmission, the running measurement is ambiguous.
        self.timed_packet = None;
        self.repeated_below = self.repeated_below.max(packet + 1);
        let entry = self.outstanding.entry_mut(packet);
        self.pipe -= entry.in_pipe();
        entry.transmissions += 1;
        entry.sent = now;
        entry.retransmitted = true;
        entry.turn = 0;
        self.pipe += entry.in_pipe();
        let copy = entry.transmissions;
        self.note_transmission(now, packet, copy);
        if self.rack.is_some() && packet == self.snd_una {
            // As in Linux: the timer restarts when the first outstanding packet is retransmitted.
            self.deadline = self.rtt.deadline(now);
        } else if self.deadline.is_none() {
            self.arm_timer_after_send(now);
        }
        copy
    }

    #[inline]
    fn restart_if_idle(&mut self, now: Time) {
        if self.snd_nxt == self.snd_una && self.snd_nxt > 0 {
            self.cc.on_restart(now);
            self.window = floor_u64(self.cc.cwnd());
        }
    }

    /// Notes that copy `copy` of a packet is sent `now`.
    #[inline(always)]
    fn note_transmission(&mut self, now: Time, packet: u64, copy: u32) {
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
            let turn = rack.on_sent(now, packet, copy, self.quiet);
            if turn > 0 {
                self.outstanding.entry_mut(packet).turn = turn;
            }
        }
        if self.rates.is_some() {
            self.note_rate(now, packet);
        }
        if self.pacer.is_some() {
            self.pace(now);
        }
    }
}
