//! Tail loss probes (RFC 8985, Sec. 7): what is lost at the end of a flight is found by a probe two round trips later,
//! where a timeout would have found it with a window of one segment.
//!
//! Named deviations: the receiver's largest delay of an acknowledgement is known, not assumed (`TLP.max_ack_delay`,
//! Sec. 7.2); a probe comes at most a timeout after what was sent last, not after what was sent first.

use tmt_core::types::{Span, Time};

use super::{Phase, Sender};
use crate::congestion::Cause;
use crate::endpoint::receiver::Ack;

/// The timer before anything was measured (Sec. 7.2).
const INITIAL_PTO: Span = Span::from_secs(1);

/// The probe that is due, or under way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TailProbe {
    /// The timer that runs is the probe's.
    pub(super) armed: bool,
    /// The packet that goes out as a probe, whatever the window says.
    pub(super) pending: Option<u64>,
    /// `TLP.end_seq`: what the probe's acknowledgement reaches; none while no probe is under way.
    end_seq: Option<u64>,
    /// `TLP.is_retrans`.
    is_retrans: bool,
}

impl Sender {
    /// When a probe is due of what was sent or acknowledged `now`; none where there may be none (Sec. 7.2).
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

    /// The timer has expired: whether it was the probe's, which then goes out next (Sec. 7.3).
    pub(super) fn on_probe_timer(&mut self) -> bool {
        if !std::mem::take(&mut self.tail_probe.armed) || self.snd_nxt == self.snd_una {
            return false;
        }
        let is_retrans = !self.has_new_data();
        let packet = if is_retrans {
            // Of what is outstanding the first has not arrived, so there is one.
            let last = self.outstanding.iter().rposition(|entry| !entry.sacked);
            self.snd_una + last.unwrap_or(0) as u64
        } else {
            self.snd_nxt
        };
        self.tail_probe.pending = Some(packet);
        self.tail_probe.end_seq = Some(packet + 1);
        self.tail_probe.is_retrans = is_retrans;
        true
    }

    /// An acknowledgement that covers the probe ends it, and tells whether the probe hid a loss (Sec. 7.4).
    pub(super) fn on_probe_acked(&mut self, now: Time, ack: &Ack) {
        let Some(end) = self.tail_probe.end_seq.filter(|end| self.snd_una >= *end) else {
            return;
        };
        if !self.tail_probe.is_retrans || ack.dsack {
            self.tail_probe.end_seq = None;
        } else if self.snd_una > end && self.phase == Phase::Open {
            // Had both the packet and its probe arrived, the second would have been told as a duplicate by now: one is
            // lost. The probe repaired it, and the window must be cut as for any loss.
            self.tail_probe.end_seq = None;
            self.cut(now, self.flight().max(1.0), Cause::FastRetransmit);
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
    fn a_lost_tail_is_probed_two_round_trips_later_and_repaired_without_a_timeout() {
        // RFC 8985, Sec. 7.1: the last three of ten are lost.
        let mut sender = probing(Some(10));
        drain(&mut sender, at(0));
        sender.on_ack(at(300), &ack(7, &[]));
        assert_eq!(sender.deadline(), Some(at(900)));
        assert_eq!(sender.on_timer(at(900)), TimerOutcome::Other);
        assert_eq!(drain(&mut sender, at(900)), [(9, 2)]);
        // The probe's SACK shows the gap; both packets before it are overdue by far.
        sender.on_ack(at(1200), &ack(7, &[(9, 10)]));
        assert_eq!(drain(&mut sender, at(1200)), [(7, 2), (8, 2)]);
        assert_eq!(
            (sender.events().timeouts, sender.events().fast_recoveries),
            (0, 1)
        );
    }

    #[test]
    fn a_probe_that_repairs_the_only_loss_cuts_the_window_and_one_that_repairs_nothing_does_not() {
        // Sec. 7.4: of the packet and its probe the second is told as a duplicate, or one of them was lost.
        for lost in [true, false] {
            let mut sender = probing(Some(20));
            drain(&mut sender, at(0));
            sender.on_ack(at(300), &ack(9, &[]));
            drain(&mut sender, at(300));
            sender.on_ack(at(600), &ack(19, &[]));
            let before = sender.snapshot().cwnd;
            let due = sender.deadline().unwrap();
            // The second measurement is of the packet that waited for its turn: SRTT = 7/8 · 300 + 600/8 ms.
            assert_eq!(due, at(1275));
            sender.on_timer(due);
            assert_eq!(drain(&mut sender, due), [(19, 2)]);
            // Either copy may have caused this one.
            sender.on_ack(at(1310), &ack(20, &[]));
            assert!(sender.snapshot().cwnd >= before);
            sender.total = Some(21);
            assert_eq!(drain(&mut sender, at(1310)), [(20, 1)]);
            if !lost {
                let mut twice = ack(20, &[]);
                twice.dsack = true;
                sender.on_ack(at(1600), &twice);
            }
            let before = sender.snapshot().cwnd;
            sender.on_ack(at(1610), &ack(21, &[]));
            assert_eq!(sender.snapshot().cwnd < before, lost);
            assert_eq!(sender.events().timeouts, 0);
        }
    }

    #[test]
    fn new_data_is_the_probe_where_there_is_some_and_there_is_one_a_flight() {
        let mut sender = probing(None);
        drain(&mut sender, at(0));
        // Nothing was measured: one second.
        assert_eq!(sender.on_timer(at(1000)), TimerOutcome::Other);
        assert_eq!(drain(&mut sender, at(1000)), [(10, 1)]);
        // Behind the probe waits the timeout.
        assert_eq!(sender.deadline(), Some(at(2000)));
        assert_eq!(sender.on_timer(at(2000)), TimerOutcome::Timeout);
    }
}
