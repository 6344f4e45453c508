//! F-RTO with SACK (RFC 5682, Sec. 3): whether a timeout was spurious, told by what arrives after it.
//!
//! A timeout is spurious if a packet arrives that was outstanding then and was never sent again; as in Linux this is
//! looked for from the first acknowledgement on (step 3b of the RFC asks for the second). Until it is known, new
//! data goes out instead of repeats (step 2b). The response is Linux's: window and threshold are what they were
//! before the timeout. Named deviation: without SACK it is not done.

use tmt_core::types::Time;

use super::{Outstanding, Phase, Sender};
use crate::congestion::CongestionControl;

/// A timeout that may have been spurious.
#[derive(Debug)]
pub(super) struct FrtoState {
    /// The controller before it.
    undo_state: Box<dyn CongestionControl>,
    /// What was outstanding lies below.
    recovery_point: u64,
    /// Something arrived that was not sent again since.
    arrived: bool,
    /// New data has been sent to find out.
    sent_new_data: bool,
}

impl FrtoState {
    pub(super) fn on_arrival(&mut self, packet: u64, entry: &Outstanding) {
        self.arrived |= packet < self.recovery_point && entry.transmissions == 1;
    }
}

impl Sender {
    /// The retransmission timer has expired: remembers what to go back to (step 1).
    pub(super) fn start_f_rto(&mut self) {
        // A second timeout of the same packets is no accident; in a recovery there is a loss in any case.
        let first = self.phase == Phase::Open;
        self.f_rto = (self.endpoint.f_rto && self.endpoint.sack && first).then(|| FrtoState {
            undo_state: self.cc.save_undo_state(),
            recovery_point: self.snd_nxt,
            arrived: false,
            sent_new_data: false,
        });
    }

    /// Whether the timeout has turned out to have been spurious; then all is as it was before.
    pub(super) fn undo_spurious_timeout(&mut self, now: Time) -> bool {
        let Some(frto) = self.f_rto.take_if(|frto| frto.arrived) else {
            return false;
        };
        self.cc = frto.undo_state;
        self.events.spurious_timeouts += 1;
        self.pipe = 0;
        for entry in &mut self.outstanding {
            // What was sent again is on its way twice now, and counts once.
            entry.lost = false;
            entry.retransmitted = false;
            self.pipe += entry.in_pipe();
        }
        self.lost_below = self.snd_una;
        self.rack_restart();
        self.leave_recovery(now);
        true
    }

    /// An acknowledgement in doubt: new data next, or the certainty that the loss was real (steps 2 and 3).
    pub(super) fn f_rto_on_ack(&mut self, acked: u64, duplicate: bool, recovery_point: u64) {
        let has_new_data = self.has_new_data();
        let snd_una = self.snd_una;
        self.f_rto.take_if(|frto| {
            if acked > 0 && snd_una < recovery_point && !frto.sent_new_data {
                frto.sent_new_data = has_new_data;
                return !has_new_data;
            }
            // What arrives is new data alone, or what was sent again: the loss was real.
            duplicate || acked > 0
        });
    }

    /// Whether new data goes out before repeats, to find out.
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
    fn a_timeout_that_only_a_delay_caused_is_taken_back() {
        // All ten were held up for 1.2 s: the first acknowledgements tell of packets never sent again.
        let mut sender = after_timeout();
        sender.on_ack(at(1200), &ack(2, &[]));
        assert_eq!(
            (sender.events().spurious_timeouts, sender.events().timeouts),
            (1, 1)
        );
        assert!((sender.snapshot().cwnd - 10.0).abs() < 1e-12);
        assert_eq!(sender.snapshot().ssthresh, None);
        // Two have left the network, and nothing is sent again.
        assert_eq!(drain(&mut sender, at(1200)), [(10, 1), (11, 1)]);
    }

    #[test]
    fn after_a_real_loss_new_data_is_tried_and_then_the_rest_repeated() {
        let mut sender = after_timeout();
        // Only the repeat has arrived: two new packets find out (RFC 5682 step 2b).
        sender.on_ack(at(1500), &ack(1, &[]));
        assert_eq!(drain(&mut sender, at(1500)), [(10, 1), (11, 1)]);
        // They arrive and nothing else does: the loss was real (step 3a).
        sender.on_ack(at(2000), &ack(1, &[(10, 11)]));
        assert_eq!(drain(&mut sender, at(2000))[0], (1, 2));
        assert_eq!(sender.events().spurious_timeouts, 0);
        assert!(sender.snapshot().cwnd < 5.0);
    }

    #[test]
    fn without_it_a_spurious_timeout_costs_the_window() {
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
