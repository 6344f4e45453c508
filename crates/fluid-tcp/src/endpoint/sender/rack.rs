//! RACK: a packet is lost when one sent later has arrived and it is overdue itself (RFC 8985, Sec. 6).
//!
//! Transmissions are kept in the order of their times, so that finding what is overdue costs a step a packet.
//! Named deviations:
//! - RACK.min_RTT is the smallest of the connection, without a window (Sec. 6.2 step 1 leaves it open);
//! - a retransmission timeout takes all that is outstanding for lost, as RFC 6675, Sec. 5.1 does; Sec. 6.3 spares what was
//!   sent within the last round trip;
//! - the timeout is restarted when the first packet outstanding is sent again, as in Linux;
//! - a D-SACK is a bit of the acknowledgement, and tells nothing of which packet it was.

use std::collections::VecDeque;

use tmt_core::types::{Span, Time};

use super::rate::report_lost;
use super::{DUP_THRESH, Outstanding, Phase, Sender};

/// Recoveries without a D-SACK after which the reordering window is the smallest again (Sec. 6.2 step 4).
const REO_WND_PERSIST: u32 = 16;

/// What RACK keeps, under the names of Sec. 6.1 where it has them.
#[derive(Debug, Default)]
pub(super) struct Rack {
    /// `RACK.xmit_ts` and `RACK.end_seq`: of what was sent last among all that has arrived.
    latest: Option<(Time, u64)>,
    /// `RACK.rtt`.
    rtt: Span,
    /// `RACK.min_RTT`.
    min_rtt: Option<Span>,
    /// `RACK.fack`: all that has arrived lies below.
    fack: u64,
    /// `RACK.reordering_seen`.
    reordering_seen: bool,
    /// `RACK.reo_wnd_mult` less 1, the recoveries since it last grew (`RACK.reo_wnd_persist`), `RACK.dsack_round`.
    reo_wnd_extra: u64,
    calm_recoveries: u32,
    dsack_round: Option<u64>,
    /// When the first packet that waits becomes overdue.
    pub(super) deadline: Option<Time>,
    /// Transmissions in their order: packet, copy, when.
    pub(super) order: VecDeque<(u64, u32, Time)>,
}

impl Rack {
    /// A packet is known to have arrived (Sec. 6.2 steps 1 to 3).
    pub(super) fn on_arrival(&mut self, now: Time, packet: u64, entry: &Outstanding) {
        let rtt = now.since(entry.sent);
        if entry.transmissions == 1 {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min_rtt| min_rtt.min(rtt)));
            self.reordering_seen |= packet < self.fack;
        } else if self.min_rtt.is_some_and(|min_rtt| rtt < min_rtt) {
            // Too soon for the copy sent last: it was an earlier one.
            return;
        }
        self.fack = self.fack.max(packet + 1);
        if self
            .latest
            .is_none_or(|latest| (entry.sent, packet) > latest)
        {
            self.latest = Some((entry.sent, packet));
            self.rtt = rtt;
        }
    }

    pub(super) fn on_recovered(&mut self) {
        self.calm_recoveries = self.calm_recoveries.saturating_add(1);
        if self.calm_recoveries >= REO_WND_PERSIST {
            self.reo_wnd_extra = 0;
        }
    }

    /// A D-SACK widens the window, once a round trip (Sec. 6.2 step 4).
    fn on_dsack(&mut self, snd_una: u64, snd_nxt: u64) {
        if self.dsack_round.is_none_or(|round| snd_una >= round) {
            self.dsack_round = Some(snd_nxt);
            self.reo_wnd_extra += 1;
            self.calm_recoveries = 0;
        }
    }

    /// `RACK.reo_wnd`: how long a packet may be overtaken before it is lost.
    fn reo_wnd(&self, in_recovery: bool, sacked: u64, srtt: Option<Span>) -> Span {
        if !self.reordering_seen && (in_recovery || sacked >= u64::from(DUP_THRESH)) {
            return Span::ZERO;
        }
        let min_rtt = self.min_rtt.unwrap_or(Span::ZERO).as_nanos();
        let window = Span::from_nanos((min_rtt / 4).saturating_mul(self.reo_wnd_extra + 1));
        let window = window.unwrap_or(Span::MAX);
        srtt.map_or(window, |srtt| window.min(srtt))
    }
}

impl Sender {
    /// Whether a packet is known to be lost that has not arrived since.
    pub(super) fn has_lost_packet(&self) -> bool {
        let below = self.index(self.lost_below.max(self.snd_una));
        let mut first = self.outstanding.iter().take(below);
        first.any(|entry| entry.lost && !entry.sacked)
    }

    /// Watches all that is outstanding again: what was taken for lost by a spurious timeout.
    pub(super) fn rack_restart(&mut self) {
        let Some(rack) = &mut self.rack else {
            return;
        };
        rack.order.clear();
        let all = (self.snd_una..).zip(&self.outstanding);
        let open = all.filter(|(_, entry)| !entry.sacked);
        rack.order
            .extend(open.map(|(packet, entry)| (packet, entry.transmissions, entry.sent)));
        rack.order
            .make_contiguous()
            .sort_unstable_by_key(|(packet, _, sent)| (*sent, *packet));
    }

    /// Finds packets lost that are overdue (Sec. 6.2 steps 4 and 5), and when the next will be.
    pub(super) fn rack_detect_losses(&mut self, now: Time, dsack: bool) {
        let Some(rack) = &mut self.rack else {
            return;
        };
        rack.deadline = None;
        if dsack {
            rack.on_dsack(self.snd_una, self.snd_nxt);
        }
        let Some(latest) = rack.latest else {
            return;
        };
        let in_recovery = self.phase != Phase::Open;
        let window = rack.reo_wnd(in_recovery, self.sacked_count, self.rtt.srtt());
        let timeout = rack.rtt.saturating_add(window);
        while let Some(&(packet, copy, sent)) = rack.order.front() {
            let index = packet
                .checked_sub(self.snd_una)
                .and_then(|index| usize::try_from(index).ok());
            let entry = index.and_then(|index| self.outstanding.get_mut(index));
            // Of what has arrived, was sent anew or is known to be lost nothing more can be learnt.
            let Some(entry) = entry.filter(|entry| {
                !entry.sacked && entry.transmissions == copy && (!entry.lost || entry.retransmitted)
            }) else {
                rack.order.pop_front();
                continue;
            };
            if (sent, packet) > latest {
                return;
            }
            let overdue = sent.saturating_add(timeout);
            if overdue > now {
                rack.deadline = Some(overdue);
                return;
            }
            let before = entry.in_pipe();
            entry.lost = true;
            entry.retransmitted = false;
            self.pipe -= before;
            let rates = self.rates.as_deref();
            report_lost(rates, self.cc.as_mut(), &mut self.lost, packet);
            self.lost_below = self.lost_below.max(packet + 1);
            self.rtx_cursor = self.rtx_cursor.min(packet);
            rack.order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TimerOutcome;
    use super::super::tests::{ack, at, drain, endpoint, sender};
    use super::*;
    use crate::endpoint::{Endpoint, LossDetection, Recovery};

    fn rack(initial_window: u32) -> Sender {
        let endpoint = Endpoint {
            loss_detection: LossDetection::Rack,
            ..endpoint(true, Recovery::Prr, initial_window)
        };
        sender(endpoint, Some(u64::from(initial_window)))
    }

    #[test]
    fn a_gap_that_two_packets_show_is_lost_a_quarter_round_trip_later() {
        // RFC 8985, Sec. 3.3's first example: two SACKs are too few for three duplicates, time is not.
        let mut sender = rack(10);
        drain(&mut sender, at(0));
        sender.on_ack(at(400), &ack(7, &[]));
        sender.on_ack(at(400), &ack(7, &[(8, 10)]));
        assert_eq!(
            (drain(&mut sender, at(400)), sender.events().fast_recoveries),
            (vec![], 0)
        );
        assert_eq!(sender.deadline(), Some(at(500)));
        assert_eq!(sender.on_timer(at(500)), TimerOutcome::Other);
        assert_eq!(drain(&mut sender, at(500)), [(7, 2)]);
        assert_eq!(sender.events().fast_recoveries, 1);
    }

    #[test]
    fn a_repeat_that_is_lost_is_repeated_without_a_timeout() {
        // Sec. 3.3's second example: what was sent after the repeat arrives, the repeat does not.
        let endpoint = Endpoint {
            loss_detection: LossDetection::Rack,
            ..endpoint(true, Recovery::Prr, 10)
        };
        let mut sender = sender(endpoint, None);
        drain(&mut sender, at(0));
        sender.on_ack(at(400), &ack(0, &[(1, 5)]));
        assert_eq!(drain(&mut sender, at(400)), [(0, 2)]);
        sender.on_ack(at(410), &ack(0, &[(1, 10)]));
        let new = drain(&mut sender, at(410));
        assert!(new.iter().all(|(packet, copy)| *packet >= 10 && *copy == 1) && !new.is_empty());
        // One round trip later new data is there, the repeat is overdue at once: nothing was ever reordered.
        sender.on_ack(at(810), &ack(0, &[(1, 11)]));
        assert_eq!(drain(&mut sender, at(810))[0], (0, 3));
        assert_eq!(
            (sender.events().timeouts, sender.events().fast_recoveries),
            (0, 1)
        );
    }

    #[test]
    fn reordering_within_a_quarter_of_the_round_trip_is_no_loss() {
        let mut sender = rack(10);
        drain(&mut sender, at(0));
        sender.on_ack(at(400), &ack(1, &[]));
        // Packet 1 is overtaken by two, and comes: reordering is known from here on.
        sender.on_ack(at(401), &ack(1, &[(2, 4)]));
        sender.on_ack(at(430), &ack(4, &[]));
        // Now three that arrive above a gap are not enough; 430 + 100 ms are.
        sender.on_ack(at(431), &ack(4, &[(5, 8)]));
        assert_eq!(
            (drain(&mut sender, at(431)), sender.events().fast_recoveries),
            (vec![], 0)
        );
        let due = sender.deadline().unwrap();
        assert_eq!(due, at(531));
        sender.on_ack(at(440), &ack(8, &[]));
        assert_eq!(sender.on_timer(due), TimerOutcome::Nothing);
        assert_eq!(sender.events().fast_recoveries, 0);
    }

    #[test]
    fn what_is_found_lost_in_a_recovery_goes_out_though_no_acknowledgement_comes() {
        let mut sender = rack(10);
        sender.total = Some(13);
        drain(&mut sender, at(0));
        // Packet 0 comes late, so reordering is known; 2 is missing, and lost a quarter of the round trip later.
        sender.on_ack(at(400), &ack(0, &[(1, 2)]));
        sender.on_ack(at(401), &ack(2, &[]));
        assert_eq!(drain(&mut sender, at(401)).len(), 3);
        sender.on_ack(at(402), &ack(2, &[(3, 10)]));
        let due = sender.deadline().unwrap();
        sender.on_timer(due);
        assert_eq!(drain(&mut sender, due), [(2, 2)]);
        // The last of the three arrives; the other two become overdue when nothing is on its way any more.
        sender.on_ack(at(801), &ack(2, &[(12, 13), (3, 10)]));
        sender.prr = super::super::Prr::begin(10);
        assert_eq!(drain(&mut sender, at(801)), []);
        let due = sender.deadline().unwrap();
        assert_eq!(
            (sender.on_timer(due), sender.events().timeouts),
            (TimerOutcome::Other, 0)
        );
        assert_eq!(drain(&mut sender, due), [(10, 2)]);
    }

    #[test]
    fn duplicates_at_the_receiver_widen_the_window_once_a_round_and_sixteen_recoveries_forget_it() {
        let mut rack = Rack {
            min_rtt: Some(Span::from_millis(100)),
            reordering_seen: true,
            ..Rack::default()
        };
        let window = |rack: &Rack| rack.reo_wnd(true, 0, Some(Span::from_secs(1)));
        assert_eq!(window(&rack), Span::from_millis(25));
        rack.on_dsack(0, 10);
        rack.on_dsack(5, 12);
        assert_eq!(window(&rack), Span::from_millis(50));
        rack.on_dsack(10, 20);
        assert_eq!(window(&rack), Span::from_millis(75));
        assert_eq!(
            rack.reo_wnd(true, 0, Some(Span::from_millis(60))),
            Span::from_millis(60)
        );
        (0..15).for_each(|_| rack.on_recovered());
        assert_eq!(window(&rack), Span::from_millis(75));
        rack.on_recovered();
        assert_eq!(window(&rack), Span::from_millis(25));
    }
}
