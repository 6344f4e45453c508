//! Tail loss probes (RFC 8985, Sec. 7): a probe two RTTs later reveals a loss at the end of a flight, where a timeout
//! would restart from a window of one segment.
//!
//! Named deviations: the receiver's largest ACK delay is known, not assumed (`TLP.max_ack_delay`, Sec. 7.2); a probe is
//! sent at most one RTO after the last transmission, not after the first outstanding one.

use tmt_core::types::{Span, Time};

use super::{Phase, Sender};
use crate::congestion::Cause;
use crate::endpoint::receiver::Ack;

/// Probe timeout before the first RTT sample (Sec. 7.2).
const INITIAL_PTO: Span = Span::from_secs(1);

/// State of the tail loss probe: armed, pending or in flight.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TailProbe {
    /// The running timer is that of the probe.
    pub(super) armed: bool,
    /// The packet to send as a probe, regardless of the window.
    pub(super) pending: Option<u64>,
    /// `TLP.end_seq`: an ACK up to here covers the probe; `None` if no probe is in flight.
    pub(super) end_seq: Option<u64>,
    /// `TLP.is_retrans`: the probe is a retransmission.
    is_retrans: bool,
}

impl Sender {
    /// Arms the probe timer after a packet was sent or acknowledged `now`, and returns when it expires (Sec. 7.2).
    /// `None` if no probe may be sent.
    pub(super) fn arm_probe(&mut self, now: Time) -> Option<Time> {
        self.tail_probe.armed = self.endpoint.tail_loss_probe
            && self.rack.is_some()
            && self.phase == Phase::Open
            && self.sacked_count == 0
            && self.tail_probe.end_seq.is_none()
            && self.snd_nxt > self.snd_una;
        if !self.tail_probe.armed {
            return None;
        }
        let alone = self.snd_nxt - self.snd_una == 1;
        let delay = if alone && self.endpoint.delayed_ack > 1 {
            self.endpoint.delayed_ack_timer
        } else {
            Span::ZERO
        };
        let pto = self.rtt.srtt().map_or(INITIAL_PTO, |srtt| {
            srtt.saturating_add(srtt).saturating_add(delay)
        });
        now.checked_add(pto.min(self.rtt.rto()))
    }

    /// Handles the expired timer. Returns whether it was that of the probe, which is then sent next (Sec. 7.3).
    pub(super) fn on_probe_timer(&mut self) -> bool {
        if !std::mem::take(&mut self.tail_probe.armed) || self.snd_nxt == self.snd_una {
            return false;
        }
        let is_retrans = !self.has_new_data();
        let packet = if is_retrans {
            // The first outstanding packet is not SACKed, so there is one.
            let all = self.outstanding.entries(self.snd_una..self.snd_nxt);
            let last = all.rev().find(|(_, entry)| !entry.sacked);
            last.map_or(self.snd_una, |(packet, _)| packet)
        } else {
            self.snd_nxt
        };
        self.tail_probe.pending = Some(packet);
        self.tail_probe.end_seq = Some(packet + 1);
        self.tail_probe.is_retrans = is_retrans;
        true
    }

    /// Ends the probe on an ACK that covers it, and cuts the window if the probe repaired a loss (Sec. 7.4).
    pub(super) fn on_probe_acked(&mut self, now: Time, ack: &Ack) {
        let Some(end) = self.tail_probe.end_seq.filter(|end| self.snd_una >= *end) else {
            return;
        };
        if !self.tail_probe.is_retrans || ack.dsack {
            self.tail_probe.end_seq = None;
        } else if self.snd_una > end && self.phase == Phase::Open {
            // If both the packet and its probe had arrived, a D-SACK would have reported the second by now. So one was
            // lost, the probe repaired the loss, and the window is cut as for any loss.
            self.tail_probe.end_seq = None;
            self.cut(now, self.cut_basis().max(1.0), Cause::FastRetransmit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TimerOutcome;
    use super::super::tests::{ack, at, drain, endpoint, sender};
    use super::*;
    use crate::endpoint::{Endpoint, LossDetection, Recovery};

    fn probing(total: Option<u64>) -> Sender {
        let endpoint = Endpoint {
            loss_detection: LossDetection::Rack,
            tail_loss_probe: true,
            ..endpoint(true, Recovery::Prr, 10)
        };
        sender(endpoint, total)
    }

    #[test]
    fn a_lost_tail_is_probed_two_rtts_later_and_repaired_without_a_timeout() {
        // RFC 8985, Sec. 7.1: the last three of ten are lost.
        let mut sender = probing(Some(10));
        drain(&mut sender, at(0));
        sender.on_ack(at(300), &ack(7, &[]));
        assert_eq!(sender.deadline(), Some(at(900)));
        assert_eq!(sender.on_timer(at(900)), TimerOutcome::Other);
        assert_eq!(drain(&mut sender, at(900)), [(9, 2)]);
        // The SACK of the probe reveals the gap; both packets below it are long overdue.
        sender.on_ack(at(1200), &ack(7, &[(9, 10)]));
        assert_eq!(drain(&mut sender, at(1200)), [(7, 2), (8, 2)]);
        assert_eq!(
            (sender.events().timeouts, sender.events().fast_recoveries),
            (0, 1)
        );
    }

    #[test]
    fn a_probe_cuts_the_window_only_if_it_repaired_a_loss() {
        // Sec. 7.4: either the second of the packet and its probe causes a D-SACK, or one of them was lost.
        for lost in [true, false] {
            let mut sender = probing(Some(20));
            drain(&mut sender, at(0));
            sender.on_ack(at(300), &ack(9, &[]));
            drain(&mut sender, at(300));
            sender.on_ack(at(600), &ack(19, &[]));
            let before = sender.snapshot().cwnd;
            let due = sender.deadline().unwrap();
            // The second sample is of a packet that was acknowledged late: SRTT = 7/8 · 300 + 600/8 ms.
            assert_eq!(due, at(1275));
            sender.on_timer(due);
            assert_eq!(drain(&mut sender, due), [(19, 2)]);
            // Either transmission may have caused this ACK.
            sender.on_ack(at(1310), &ack(20, &[]));
            assert!(sender.snapshot().cwnd >= before);
            sender.supplied = 21;
            assert_eq!(drain(&mut sender, at(1310)), [(20, 1)]);
            if !lost {
                let mut dsack = ack(20, &[]);
                dsack.dsack = true;
                sender.on_ack(at(1600), &dsack);
            }
            let before = sender.snapshot().cwnd;
            sender.on_ack(at(1610), &ack(21, &[]));
            assert_eq!(sender.snapshot().cwnd < before, lost);
            assert_eq!(sender.events().timeouts, 0);
        }
    }

    #[test]
    fn a_probe_is_new_data_if_there_is_any_and_there_is_one_probe_per_flight() {
        let mut sender = probing(None);
        drain(&mut sender, at(0));
        // No RTT sample yet: one second.
        assert_eq!(sender.on_timer(at(1000)), TimerOutcome::Other);
        assert_eq!(drain(&mut sender, at(1000)), [(10, 1)]);
        // The RTO follows the probe.
        assert_eq!(sender.deadline(), Some(at(2000)));
        assert_eq!(sender.on_timer(at(2000)), TimerOutcome::Timeout);
    }
}
