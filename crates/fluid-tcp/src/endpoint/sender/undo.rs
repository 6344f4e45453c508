//! Undo of recoveries that late packets caused (Eifel detection, RFC 3522, as in Linux).
//!
//! If the ACK that fills the first gap echoes a time before the first of the retransmissions in the network, the original was
//! late, not lost (`tcp_packet_delayed`). That is reordering, so RACK waits longer from then on. Once no retransmission
//! is in the network, or the recovery is over, cwnd and ssthresh return to their values before the cut
//! (`tcp_try_undo_partial`, `tcp_try_undo_recovery`). Named deviations: the whole state of the congestion control returns
//! to its value (Linux keeps what the control has learnt from the cut and during the recovery); D-SACKs undo nothing, and
//! timestamps undo no timeout (`tcp_try_undo_loss`).

use tmt_core::types::Time;

use super::{Phase, Sender};
use crate::congestion::CongestionControl;

/// State to undo the current recovery.
#[derive(Debug)]
pub(super) struct Undo {
    /// Congestion control before the cut; `None` if it has a window of its own during recovery, which it restores itself.
    state: Option<Box<dyn CongestionControl>>,
    /// Time of the first retransmission since none was in the network (`retrans_stamp`).
    first_retransmission: Option<Time>,
}

impl Sender {
    /// Saves the state before the cut of a recovery.
    pub(super) fn save_undo(&mut self) {
        if !(self.endpoint.undo_recovery && self.endpoint.timestamps && self.endpoint.sack) {
            return;
        }
        // Retransmissions of the previous recovery may still arrive (`tcp_any_retrans_done`).
        let first = self.first_outstanding();
        let goes_on = first.is_some_and(|it| it.transmissions > 1) || self.repeats_in_network();
        let before = self.undo.take().and_then(|undo| undo.first_retransmission);
        self.undo = Some(Undo {
            state: (!self.cc_controls_recovery).then(|| self.cc.save_undo_state()),
            first_retransmission: before.or_else(|| self.first_repeat()).filter(|_| goes_on),
        });
    }

    /// Time of the earliest repeat among the outstanding packets, such as one of a timeout or a tail loss probe.
    fn first_repeat(&self) -> Option<Time> {
        let all = self.outstanding.entries(self.snd_una..self.snd_nxt);
        let repeated = all.filter(|(_, it)| it.transmissions > 1);
        repeated.map(|(_, it)| it.sent).min()
    }

    /// Whether a retransmission may be in the network (`retrans_out`).
    fn repeats_in_network(&self) -> bool {
        let mut all = self.outstanding.entries(self.snd_una..self.snd_nxt);
        all.any(|(_, it)| it.retransmitted && !it.sacked)
    }

    /// Notes a retransmission `now`.
    pub(super) fn note_retransmission(&mut self, now: Time) {
        if let Some(undo) = &mut self.undo {
            undo.first_retransmission.get_or_insert(now);
        }
    }

    /// Whether an ACK of new data that echoes a packet sent at `echo` shows that packets were late, not lost.
    pub(super) fn shows_late_packet(&self, acked: u64, echo: Time) -> bool {
        let undo = self.undo.as_ref().filter(|_| acked > 0);
        matches!(self.phase, Phase::Recovery { .. })
            && undo.is_some_and(|undo| undo.first_retransmission.is_none_or(|first| echo < first))
    }

    /// Undoes the recovery unless a retransmission is in the network. Returns whether it did.
    pub(super) fn undo_recovery(&mut self, now: Time) -> bool {
        let over = matches!(self.phase, Phase::Recovery { recovery_point } if self.snd_una >= recovery_point);
        if !over && self.repeats_in_network() {
            return false;
        }
        if let Some(state) = self.undo.as_mut().and_then(|undo| undo.state.take()) {
            self.cc = state;
        }
        self.events.undone_recoveries += 1;
        self.unmark_losses();
        self.leave_recovery(now);
        true
    }

    /// Takes back that packets are lost.
    pub(super) fn unmark_losses(&mut self) {
        self.pipe = 0;
        for packet in self.snd_una..self.snd_nxt {
            let entry = self.outstanding.entry_mut(packet);
            // A retransmitted packet is in the network twice but counts once.
            entry.lost = false;
            entry.retransmitted = false;
            self.pipe += entry.in_pipe();
        }
        self.lost_below = self.snd_una;
        self.rack_restart();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, at, drain, endpoint, sender};
    use super::*;
    use crate::endpoint::receiver::Ack;
    use crate::endpoint::{Endpoint, LossDetection, Recovery};

    /// A sender in a recovery that began at 400 ms with the retransmission of packet 0, with a window of ten before it.
    fn recovering(undo_recovery: bool) -> Sender {
        let endpoint = Endpoint {
            undo_recovery,
            timestamps: true,
            loss_detection: LossDetection::Rack,
            ..endpoint(true, Recovery::Prr9937, 10)
        };
        let mut sender = sender(endpoint, None);
        drain(&mut sender, at(0));
        sender.on_ack(at(400), &ack(0, &[(1, 4)]));
        assert_eq!(drain(&mut sender, at(400))[0], (0, 2));
        assert!(sender.snapshot().cwnd < 6.0);
        sender
    }

    fn echoing(millis: u32, ack: Ack) -> Ack {
        Ack {
            echo: at(millis),
            ..ack
        }
    }

    #[test]
    fn a_recovery_because_of_a_late_packet_is_undone_when_its_repeat_is_acknowledged() {
        for (undoes, echo, cwnd) in [(true, 0, 11.0), (true, 400, 5.0), (false, 0, 5.0)] {
            let mut sender = recovering(undoes);
            // Either the original of packet 0 arrives, or its repeat.
            sender.on_ack(at(410), &echoing(echo, ack(10, &[])));
            assert_eq!(sender.phase, Phase::Open);
            // The window before the cut, and a segment of slow start; or half of it.
            assert!((sender.snapshot().cwnd - cwnd).abs() < 0.3, "{echo}");
            assert_eq!(sender.events().undone_recoveries, u64::from(cwnd > 9.0));
        }
    }

    #[test]
    fn a_late_packet_is_reordering_so_that_time_decides_from_then_on() {
        let mut sender = recovering(true);
        sender.on_ack(at(410), &echoing(0, ack(10, &[])));
        let sent = drain(&mut sender, at(410));
        let (first, last) = (sent[0].0, sent.last().unwrap().0);
        assert!(last >= first + 4, "{sent:?}");
        // Three SACKed packets above a gap do not suffice any more; a quarter of the RTT does.
        sender.on_ack(
            at(810),
            &echoing(410, ack(first, &[(first + 1, first + 5)])),
        );
        assert_eq!(sender.events().fast_recoveries, 1);
        let due = sender.rack.as_ref().unwrap().deadline.unwrap();
        assert_eq!(due, at(910));
    }

    #[test]
    fn the_repeat_of_a_tail_loss_probe_is_not_taken_for_a_late_packet() {
        let endpoint = Endpoint {
            undo_recovery: true,
            timestamps: true,
            tail_loss_probe: true,
            loss_detection: LossDetection::Rack,
            ..endpoint(true, Recovery::Prr9937, 1)
        };
        let mut sender = sender(endpoint, Some(1));
        drain(&mut sender, at(0));
        let due = sender.deadline().unwrap();
        sender.on_timer(due);
        assert_eq!(drain(&mut sender, due), [(0, 2)]);
        // A recovery that begins now has a retransmission in the network from before.
        sender.save_undo();
        sender.phase = Phase::Recovery { recovery_point: 1 };
        assert!(!sender.shows_late_packet(1, due));
        assert!(sender.shows_late_packet(1, at(0)));
    }

    #[test]
    fn a_partial_ack_undoes_only_what_has_no_repeat_in_the_network() {
        let mut sender = recovering(true);
        // Packet 4 is missing, too, and was retransmitted.
        sender.on_ack(at(401), &ack(0, &[(5, 10), (1, 4)]));
        let again: Vec<_> = drain(&mut sender, at(401));
        let repeated = again.contains(&(4, 2));
        sender.on_ack(at(410), &echoing(0, ack(4, &[(5, 10)])));
        assert_eq!(sender.phase == Phase::Open, !repeated);
    }
}
