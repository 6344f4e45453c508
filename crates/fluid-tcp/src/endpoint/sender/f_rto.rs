//! F-RTO with SACK (RFC 5682, Sec. 3): detects spurious timeouts from the packets that arrive after them.
//!
//! A timeout is spurious if a packet arrives that was outstanding at the timeout and has not been retransmitted. As in
//! Linux, the check begins with the first ACK (step 3b of the RFC asks for the second). Until it decides, the sender
//! sends new data instead of retransmissions (step 2b). The response is Linux's: cwnd and ssthresh return to their
//! values before the timeout. Named deviation: there is no F-RTO without SACK.

use tmt_core::types::Time;

use super::{Outstanding, Phase, Sender};
use crate::congestion::CongestionControl;

/// State after a timeout that may have been spurious.
#[derive(Debug)]
pub(super) struct FrtoState {
    /// Congestion control before the timeout.
    undo_state: Box<dyn CongestionControl>,
    /// Packets outstanding at the timeout lie below this.
    recovery_point: u64,
    /// A packet outstanding at the timeout has arrived without a retransmission.
    arrived: bool,
    /// New data has been sent to test the timeout.
    sent_new_data: bool,
}

impl FrtoState {
    pub(super) fn on_arrival(&mut self, packet: u64, entry: &Outstanding) {
        self.arrived |= packet < self.recovery_point && entry.transmissions == 1;
    }
}

impl Sender {
    /// Saves the state before a timeout (step 1).
    pub(super) fn start_f_rto(&mut self) {
        // A repeated timeout is unlikely to be spurious, and in a recovery there is a loss in any case.
        let first = self.phase == Phase::Open;
        self.f_rto = (self.endpoint.f_rto && self.endpoint.sack && first).then(|| FrtoState {
            undo_state: self.cc.save_undo_state(),
            recovery_point: self.snd_nxt,
            arrived: false,
            sent_new_data: false,
        });
    }

    /// Undoes the timeout if it was spurious. Returns whether it was.
    pub(super) fn undo_spurious_timeout(&mut self, now: Time) -> bool {
        let Some(frto) = self.f_rto.take_if(|frto| frto.arrived) else {
            return false;
        };
        self.cc = frto.undo_state;
        self.cc.on_undo();
        self.events.spurious_timeouts += 1;
        self.unmark_losses();
        self.leave_recovery(now);
        true
    }

    /// Processes an ACK before the decision: sends new data next, or concludes that the loss was real (steps 2 and 3).
    pub(super) fn f_rto_on_ack(&mut self, acked: u64, duplicate: bool, recovery_point: u64) {
        let has_new_data = self.has_new_data();
        let snd_una = self.snd_una;
        self.f_rto.take_if(|frto| {
            if acked > 0 && snd_una < recovery_point && !frto.sent_new_data {
                frto.sent_new_data = has_new_data;
                return !has_new_data;
            }
            // Only new data or retransmissions arrive: the loss was real.
            duplicate || acked > 0
        });
    }

    /// Whether F-RTO sends new data before retransmissions.
    pub(super) fn f_rto_sends_new_data(&self) -> bool {
        self.f_rto.as_ref().is_some_and(|frto| frto.sent_new_data) && self.has_new_data()
    }
}

#[cfg(test)]
mod tests {
    use super::super::TimerOutcome;
    use super::super::tests::{ack, at, drain, endpoint, sender};
    use super::*;
    use crate::endpoint::{Endpoint, Recovery};

    fn after_timeout() -> Sender {
        let endpoint = Endpoint {
            f_rto: true,
            ..endpoint(true, Recovery::Prr, 10)
        };
        let mut sender = sender(endpoint, None);
        drain(&mut sender, at(0));
        assert_eq!(sender.on_timer(at(1000)), TimerOutcome::Timeout);
        assert_eq!(drain(&mut sender, at(1000)), [(0, 2)]);
        sender
    }

    #[test]
    fn a_timeout_caused_by_delay_alone_is_undone() {
        // All ten packets are delayed by 1.2 s: the first ACK covers a packet that was never retransmitted.
        let mut sender = after_timeout();
        sender.on_ack(at(1200), &ack(2, &[]));
        assert_eq!(
            (sender.events().spurious_timeouts, sender.events().timeouts),
            (1, 1)
        );
        assert!((sender.snapshot().cwnd - 10.0).abs() < 1e-12);
        assert_eq!(sender.snapshot().ssthresh, None);
        // Two packets have left the network, and nothing is retransmitted.
        assert_eq!(drain(&mut sender, at(1200)), [(10, 1), (11, 1)]);
    }

    #[test]
    fn after_a_real_loss_new_data_is_sent_and_then_the_rest_retransmitted() {
        let mut sender = after_timeout();
        // Only the retransmission has arrived: two new packets are sent (RFC 5682, step 2b).
        sender.on_ack(at(1500), &ack(1, &[]));
        assert_eq!(drain(&mut sender, at(1500)), [(10, 1), (11, 1)]);
        // Only they arrive: the loss was real (step 3a).
        sender.on_ack(at(2000), &ack(1, &[(10, 11)]));
        assert_eq!(drain(&mut sender, at(2000))[0], (1, 2));
        assert_eq!(sender.events().spurious_timeouts, 0);
        assert!(sender.snapshot().cwnd < 5.0);
    }

    #[test]
    fn without_f_rto_a_spurious_timeout_cuts_the_window() {
        let mut sender = sender(endpoint(true, Recovery::Prr, 10), None);
        drain(&mut sender, at(0));
        sender.on_timer(at(1000));
        drain(&mut sender, at(1000));
        sender.on_ack(at(1200), &ack(2, &[]));
        assert!(sender.snapshot().cwnd < 3.0);
        assert!(
            drain(&mut sender, at(1200))
                .iter()
                .all(|(_, copy)| *copy == 2)
        );
    }
}
