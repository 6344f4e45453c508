//! RACK: a packet is lost if a packet sent later has arrived and the reordering window has passed (RFC 8985, Sec. 6).
//!
//! Transmissions are kept in order of time, so that loss detection costs one step per packet. Named deviations:
//! - `RACK.min_RTT` is the smallest RTT of the connection, without a window (Sec. 6.2, step 1, leaves this open);
//! - a retransmission timeout marks everything outstanding lost, like RFC 6675, Sec. 5.1; Sec. 6.3 spares packets sent
//!   within the last RTT;
//! - the timer restarts when the first outstanding packet is retransmitted, as in Linux;
//! - of packets that were sent at one instant, the one sent first is the older (`RACK_sent_after()` takes that with the smaller number):
//!   events of a simulation that take no time would else overtake a packet by one sent before it;
//! - a D-SACK is a flag of the ACK, so it does not say which packet was a duplicate.

use std::collections::VecDeque;

use tmt_core::types::{Span, Time};

use super::rate::report_lost;
use super::{DUP_THRESH, Outstanding, Phase, Sender};

/// Number of recoveries without a D-SACK after which the reordering window is reset (Sec. 6.2, step 4).
const REO_WND_PERSIST: u32 = 16;

/// Place among all transmissions: time, turn at that time ([`Outstanding::turn`]), and number.
type Order = (Time, u8, u64);

fn order(packet: u64, entry: &Outstanding) -> Order {
    (entry.sent, entry.turn, packet)
}

/// State of RACK; Sec. 6.1 defines the names in code font.
#[derive(Debug, Default)]
pub(super) struct Rack {
    /// `RACK.xmit_ts` and `RACK.end_seq`: the packet sent last among those that have arrived.
    latest: Option<Order>,
    /// `RACK.rtt`.
    rtt: Span,
    /// `RACK.min_RTT`.
    min_rtt: Option<Span>,
    /// `RACK.fack`: all packets that have arrived lie below. Its value before the current ACK, too: packets that one ACK
    /// reports give no order among themselves.
    fack: u64,
    prior_fack: u64,
    /// `RACK.reordering_seen`.
    reordering_seen: bool,
    /// `RACK.reo_wnd_mult` minus 1, recoveries since it last grew (16 minus `RACK.reo_wnd_persist`),
    /// `RACK.dsack_round`.
    reo_wnd_extra: u64,
    recoveries_since_dsack: u32,
    dsack_round: Option<u64>,
    /// Time at which the reordering timer expires: the first packet that may be lost becomes overdue.
    pub(super) deadline: Option<Time>,
    /// Transmissions in order of time: packet, copy, time. After them come the packets from `unlisted` on, each of them sent
    /// once, which a quiet sender need not list.
    order: VecDeque<(u64, u32, Time)>,
    unlisted: Option<u64>,
    /// The last transmission listed, which may have left the list: packet, time.
    last: (u64, Time),
    /// Its turn ([`Outstanding::turn`]).
    turn: u8,
}

impl Rack {
    /// Notes that an ACK follows.
    pub(super) fn begin_ack(&mut self) {
        self.prior_fack = self.fack;
    }

    /// Processes the delivery of a packet (Sec. 6.2, steps 1 to 3).
    pub(super) fn on_arrival(&mut self, now: Time, packet: u64, entry: &Outstanding) {
        let rtt = now.since(entry.sent);
        if entry.transmissions == 1 {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min_rtt| min_rtt.min(rtt)));
            self.reordering_seen |= packet < self.prior_fack;
        } else if self.min_rtt.is_some_and(|min_rtt| rtt < min_rtt) {
            // Too early for the last transmission: an earlier one has arrived.
            return;
        }
        self.fack = self.fack.max(packet + 1);
        if self
            .latest
            .is_none_or(|latest| order(packet, entry) > latest)
        {
            self.latest = Some(order(packet, entry));
            self.rtt = rtt;
        }
    }

    /// Processes the delivery of the packets from `first` to `last`, each of them sent once and in this order: the same as
    /// [`Self::on_arrival`] with each.
    #[inline]
    pub(super) fn on_arrivals(&mut self, now: Time, first: u64, last: u64, entry: &Outstanding) {
        self.reordering_seen |= first < self.prior_fack;
        self.on_arrival(now, last, entry);
    }

    /// Notes a transmission of `packet`, and returns its turn. Before any but the first of a packet, all must be listed.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, packet: u64, copy: u32, is_quiet: bool) -> u8 {
        // Packets that are not listed have no turn but the first.
        if is_quiet && self.turn == 0 || self.unlisted.is_some() {
            self.unlisted.get_or_insert(packet);
            return 0;
        }
        let (before, sent) = std::mem::replace(&mut self.last, (packet, now));
        self.turn = if sent == now {
            self.turn.saturating_add(u8::from(packet < before))
        } else {
            0
        };
        self.order.push_back((packet, copy, now));
        self.turn
    }

    /// Whether a packet may be lost because one sent later has arrived.
    #[inline]
    fn is_overtaken(&self, packet: u64, entry: &Outstanding) -> bool {
        self.latest
            .is_some_and(|latest| order(packet, entry) <= latest)
    }

    /// Notes that a packet was late, not lost.
    pub(super) fn on_late_packet(&mut self) {
        self.reordering_seen = true;
    }

    pub(super) fn on_recovered(&mut self) {
        self.recoveries_since_dsack = self.recoveries_since_dsack.saturating_add(1);
        if self.recoveries_since_dsack >= REO_WND_PERSIST {
            self.reo_wnd_extra = 0;
        }
    }

    /// Widens the reordering window on a D-SACK, at most once per round trip (Sec. 6.2, step 4).
    fn on_dsack(&mut self, snd_una: u64, snd_nxt: u64) {
        if self.dsack_round.is_none_or(|round| snd_una >= round) {
            self.dsack_round = Some(snd_nxt);
            self.reo_wnd_extra += 1;
            self.recoveries_since_dsack = 0;
        }
    }

    /// `RACK.reo_wnd`: time by which a packet may be late before it counts as lost.
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
    /// Whether a packet is marked lost and not SACKed.
    pub(super) fn has_lost_packet(&self) -> bool {
        let below = self.lost_below.min(self.snd_nxt);
        let mut first = self.outstanding.entries(self.snd_una..below);
        first.any(|(_, entry)| entry.lost && !entry.sacked)
    }

    /// Rebuilds the order of transmissions from everything outstanding, after a spurious timeout or an undone recovery.
    pub(super) fn rack_restart(&mut self) {
        let Some(rack) = &mut self.rack else {
            return;
        };
        rack.order.clear();
        rack.unlisted = None;
        let all = self.outstanding.entries(self.snd_una..self.snd_nxt);
        let open = all.filter(|(_, entry)| !entry.sacked);
        let mut open: Vec<_> = open
            .map(|(packet, entry)| (order(packet, entry), entry.transmissions))
            .collect();
        open.sort_unstable();
        // The last of all transmissions may have arrived.
        let last = (rack.last.1, rack.turn, rack.last.0);
        let (sent, turn, packet) = open.last().map_or(last, |(open, _)| last.max(*open));
        (rack.last, rack.turn) = ((packet, sent), turn);
        rack.order.extend(
            open.into_iter()
                .map(|((sent, _, packet), copy)| (packet, copy, sent)),
        );
    }

    /// Lists the transmissions that a quiet sender did not list, before a packet is sent again or the sender is not quiet.
    #[inline]
    pub(super) fn list_transmissions(&mut self) {
        if self
            .rack
            .as_ref()
            .is_some_and(|rack| rack.unlisted.is_some())
        {
            self.list_unlisted();
        }
    }

    /// Transmissions in order of time that may still be found lost, listed or not: packet, copy, time.
    #[cfg(test)]
    pub(super) fn transmissions(&self) -> Vec<(u64, u32, Time)> {
        let Some(rack) = &self.rack else {
            return Vec::new();
        };
        let from = rack.unlisted.unwrap_or(u64::MAX).max(self.snd_una);
        let unlisted = self.outstanding.entries(from..self.snd_nxt.max(from));
        let unlisted = unlisted.map(|(packet, entry)| (packet, entry.transmissions, entry.sent));
        let all = rack.order.iter().copied().chain(unlisted);
        let may_be_lost = |(packet, copy, _): &(u64, u32, Time)| {
            *packet >= self.snd_una && {
                let entry = self.outstanding.entry(*packet);
                !entry.sacked
                    && entry.transmissions == *copy
                    && (!entry.lost || entry.retransmitted)
            }
        };
        all.filter(may_be_lost).collect()
    }

    #[inline(never)]
    fn list_unlisted(&mut self) {
        let Some(rack) = &mut self.rack else { return };
        if let Some(first) = rack.unlisted.take() {
            let sent = self
                .outstanding
                .entries(first.max(self.snd_una)..self.snd_nxt);
            let sent = sent.map(|(packet, entry)| (packet, entry.transmissions, entry.sent));
            let listed = rack.order.len();
            rack.order.extend(sent);
            if let Some((packet, _, sent)) = rack.order.range(listed..).last() {
                (rack.last, rack.turn) = ((*packet, *sent), 0);
            }
        }
    }

    /// `RACK_detect_loss()` of a quiet sender. As long as nothing overtakes the first outstanding packet, which was sent before
    /// the others, there is nothing to detect.
    #[inline]
    pub(super) fn rack_detect_losses_if_overtaken(&mut self, now: Time) {
        let first = self.first_outstanding();
        let Some(rack) = &self.rack else { return };
        if first.is_some_and(|entry| rack.is_overtaken(self.snd_una, entry)) {
            self.rack_detect_losses(now, false);
        } else if let Some(rack) = &mut self.rack {
            rack.deadline = None;
        }
    }

    /// `RACK_detect_loss()`: marks overdue packets lost (Sec. 6.2, steps 4 and 5) and sets the reordering timer.
    pub(super) fn rack_detect_losses(&mut self, now: Time, dsack: bool) {
        self.list_transmissions();
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
            let is_outstanding = packet >= self.snd_una;
            let entry = is_outstanding.then(|| self.outstanding.entry_mut(packet));
            // Skip transmissions that have arrived, were superseded by a retransmission, or are marked lost.
            let Some(entry) = entry.filter(|entry| {
                !entry.sacked && entry.transmissions == copy && (!entry.lost || entry.retransmitted)
            }) else {
                rack.order.pop_front();
                continue;
            };
            if order(packet, entry) > latest {
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
    fn a_gap_below_two_sacked_packets_is_lost_a_quarter_of_the_rtt_later() {
        // RFC 8985, Sec. 3.3, first example: two SACKed packets are below DupThresh, but the time suffices.
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
    fn a_lost_retransmission_is_retransmitted_without_a_timeout() {
        // Sec. 3.3, second example: packets sent after the retransmission arrive, the retransmission does not.
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
        // One RTT later new data arrives. The retransmission is overdue at once, as no reordering was seen.
        sender.on_ack(at(810), &ack(0, &[(1, 11)]));
        assert_eq!(drain(&mut sender, at(810))[0], (0, 3));
        assert_eq!(
            (sender.events().timeouts, sender.events().fast_recoveries),
            (0, 1)
        );
    }

    #[test]
    fn of_packets_sent_at_one_instant_only_those_sent_later_overtake() {
        let endpoint = Endpoint {
            loss_detection: LossDetection::Rack,
            ..endpoint(true, Recovery::Prr, 10)
        };
        // The first packet sent at 400 ms comes before the retransmission, the last one after it.
        let repeats = [false, true].map(|last| {
            let mut sender = sender(endpoint, None);
            drain(&mut sender, at(0));
            let mut sent = Vec::new();
            for end in 2..=10 {
                sender.on_ack(at(400), &ack(0, &[(1, end)]));
                sent.extend(drain(&mut sender, at(400)));
            }
            assert_eq!(sent[..3], [(10, 1), (11, 1), (0, 2)]);
            let arrived = if last { sent[sent.len() - 1].0 } else { 10 };
            assert!(arrived == 10 || sent[3..].contains(&(arrived, 1)));
            sender.on_ack(at(800), &ack(0, &[(arrived, arrived + 1), (1, 10)]));
            drain(&mut sender, at(800)).contains(&(0, 3))
        });
        assert_eq!(repeats, [false, true]);
    }

    #[test]
    fn reordering_within_a_quarter_of_the_rtt_is_not_a_loss() {
        let mut sender = rack(10);
        drain(&mut sender, at(0));
        sender.on_ack(at(400), &ack(1, &[]));
        // Packet 1 arrives after two later packets: reordering has been seen from here on.
        sender.on_ack(at(401), &ack(1, &[(2, 4)]));
        sender.on_ack(at(430), &ack(4, &[]));
        // Now DupThresh SACKed packets above a gap do not suffice; the time 431 + 100 ms does.
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
    fn a_packet_marked_lost_by_the_timer_in_recovery_is_retransmitted_without_an_ack() {
        let mut sender = rack(10);
        sender.supplied = 13;
        drain(&mut sender, at(0));
        // Packet 0 is late, so reordering has been seen. Packet 2 is missing, and lost a quarter of the RTT later.
        sender.on_ack(at(400), &ack(0, &[(1, 2)]));
        sender.on_ack(at(401), &ack(2, &[]));
        assert_eq!(drain(&mut sender, at(401)).len(), 3);
        sender.on_ack(at(402), &ack(2, &[(3, 10)]));
        let due = sender.deadline().unwrap();
        sender.on_timer(due);
        assert_eq!(drain(&mut sender, due), [(2, 2)]);
        // The last of the three arrives; the other two become overdue when nothing else is in flight.
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
    fn dsacks_widen_the_reordering_window_once_per_round_and_sixteen_recoveries_reset_it() {
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
