//! The sending end: what to send when, for any congestion control.
//!
//! Sequence numbers count packets. Specification: RFC 5681 and 6582 without SACK (`sender/newreno_recovery.rs`),
//! RFC 6675 with it (`sender/sack_scoreboard.rs`), 3042, 6298, 6937. Named deviations:
//! - RFC 6675's rescue retransmission (rule 4 of NextSeg, optional) is not made;
//! - the timer is restarted when a recovery begins, as ns-2 and Linux do;
//! - with SACK a recovery sends its first packet anew only if the recovery before it did not;
//! - a window is cut from at most itself, however much is outstanding.
//!
//! What a profile adds has a file of its own, with its deviations: RACK (`sender/rack.rs`) and TLP (`tlp.rs`, RFC
//! 8985), F-RTO (`f_rto.rs`, RFC 5682), pacing (`pacing.rs`), delivery rates (`rate.rs`); ECN is RFC 3168's.
//!
//! The sender is pulled: after each event [`Sender::next_packet`] is called until it has none.

mod ack_accounting;
mod ecn;
mod f_rto;
mod newreno_recovery;
mod pacing;
mod prr;
mod rack;
mod rate;
mod recovery;
mod sack_scoreboard;
mod timer;
mod tlp;

use std::collections::VecDeque;

use serde::Serialize;
use tmt_core::types::{Span, Time, to_f64};

use crate::congestion::{AckEvent, Cause, CongestionControl, CongestionEvent};
use crate::endpoint::ranges::RangeSet;
use crate::endpoint::receiver::Ack;
use crate::endpoint::rtt::RttEstimator;
use crate::endpoint::{CutFrom, Endpoint, LossDetection, RttSampling};
use ack_accounting::AckAccounting;
use f_rto::FrtoState;
use pacing::Pacer;
use prr::Prr;
use rack::Rack;
use rate::Rates;
use tlp::TailProbe;

/// Duplicate acknowledgements, or packets known to have arrived above one, that make it lost.
const DUP_THRESH: u32 = 3;

/// A packet on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// Packet number.
    pub packet: u64,
    /// 1 for the first transmission, 2 for the first retransmission …
    pub copy: u32,
    /// It tells that the window was reduced on an echoed mark (CWR, RFC 3168).
    pub cwr: bool,
    /// Why it is sent.
    pub reason: TransmissionReason,
}

/// What a timer that expired has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerOutcome {
    /// Nothing: none was due.
    Nothing,
    /// A retransmission timeout.
    Timeout,
    /// A tail loss probe is to be sent, or packets were found lost by time.
    Other,
}

/// Why a packet is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TransmissionReason {
    /// For the first time.
    #[default]
    New,
    /// Again in a fast recovery.
    FastRetransmit,
    /// Again after a retransmission timeout.
    Timeout,
    /// Again, to find out whether the end of a flight is lost (RFC 8985, Sec. 7).
    #[serde(rename = "tail_loss_probe")]
    TailProbe,
}

/// A packet that is outstanding.
#[derive(Debug, Clone, Copy, Default)]
struct Outstanding {
    sent: Time,
    transmissions: u32,
    sacked: bool,
    lost: bool,
    /// Sent again since it was found lost.
    retransmitted: bool,
}

impl Outstanding {
    /// RFC 6675's SetPipe: how often the packet counts as being in the network.
    fn in_pipe(self) -> u64 {
        if self.sacked {
            0
        } else {
            u64::from(!self.lost) + u64::from(self.retransmitted)
        }
    }
}

/// What the sender is going through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Fast recovery until everything below `recovery_point` is acknowledged.
    Recovery {
        recovery_point: u64,
    },
    /// After a timeout, until everything below `recovery_point` is acknowledged.
    Loss {
        recovery_point: u64,
    },
}

/// What a sender shows of itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Snapshot {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow-start threshold, segments.
    pub ssthresh: Option<f64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Span>,
    /// Retransmission timeout.
    pub rto: Span,
    /// Packets sent and not yet acknowledged.
    pub in_flight: u64,
}

/// What has happened to a sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Events {
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Timeouts that turned out to have been needless (F-RTO).
    pub spurious_timeouts: u64,
    /// Fast recoveries.
    pub fast_recoveries: u64,
}

/// The sender of one flow.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is what one RFC keeps beside the phase"
)]
pub struct Sender {
    endpoint: Endpoint,
    cc: Box<dyn CongestionControl>,
    /// [`CongestionControl::controls_recovery_window`], which does not change.
    cc_controls_recovery: bool,
    rtt: RttEstimator,
    /// Packets the application has; none for a source that never ends.
    total: Option<u64>,
    /// Lowest packet not acknowledged.
    snd_una: u64,
    /// The receiver has room for packets below this.
    send_limit: u64,
    /// Without SACK, the packet that goes out next: below `snd_nxt` after a timeout.
    send_cursor: u64,
    /// Packets sent at least once: all below this.
    snd_nxt: u64,
    outstanding: VecDeque<Outstanding>,
    phase: Phase,
    dupacks: u32,
    /// The packet that is sent again whatever the window says, unless it arrives before.
    retransmit: Option<u64>,
    /// The window, and nothing else, kept the sender from sending at its last attempt.
    cwnd_limited: bool,
    /// Packets of limited transmit, which do not count as in flight when the window is cut.
    limited_transmits: u64,
    /// Without SACK: duplicates of what was sent before the last cut start no recovery (RFC 6582, Sec. 3.2).
    recover: Option<u64>,
    timed_packet: Option<(u64, Time)>,
    /// When the retransmission timeout, or the tail loss probe in its place, is due.
    deadline: Option<Time>,
    sacked: RangeSet,
    sacked_count: u64,
    /// Everything below this that was not received is lost.
    lost_below: u64,
    /// Lost packets below this have been sent again.
    rtx_cursor: u64,
    /// As `rtx_cursor`, for NextSeg's third rule.
    rule_3_cursor: u64,
    pipe: u64,
    prr: Prr,
    /// Without SACK: segments by which the window is inflated during recovery.
    inflation: f64,
    seen_partial: bool,
    accounting: AckAccounting,
    /// Packets found lost so far, a copy that was lost again counted again.
    lost: u64,
    rack: Option<Box<Rack>>,
    tail_probe: TailProbe,
    f_rto: Option<FrtoState>,
    rates: Option<Box<Rates>>,
    pacer: Option<Pacer>,
    /// An echoed mark cuts the window once everything below this is acknowledged.
    ecn_recovery_point: u64,
    /// The next new packet tells that the window was reduced.
    cwr_pending: bool,
    events: Events,
}

impl Sender {
    /// A sender of `total` packets, or of as many as fit.
    #[must_use]
    pub fn new(endpoint: Endpoint, cc: Box<dyn CongestionControl>, total: Option<u64>) -> Self {
        let rack = (endpoint.sack && endpoint.loss_detection == LossDetection::Rack)
            .then(Box::<Rack>::default);
        let rates = cc.needs_rate_samples().then(Box::<Rates>::default);
        let pacer = (endpoint.pacing || cc.pacing_rate().is_some()).then(Pacer::default);
        Self {
            rtt: RttEstimator::new(endpoint.rto),
            endpoint,
            cc_controls_recovery: cc.controls_recovery_window(),
            cc,
            total,
            snd_una: 0,
            send_limit: u64::MAX,
            send_cursor: 0,
            snd_nxt: 0,
            outstanding: VecDeque::new(),
            phase: Phase::Open,
            dupacks: 0,
            retransmit: None,
            cwnd_limited: false,
            limited_transmits: 0,
            recover: None,
            timed_packet: None,
            deadline: None,
            sacked: RangeSet::default(),
            sacked_count: 0,
            lost_below: 0,
            rtx_cursor: 0,
            rule_3_cursor: 0,
            pipe: 0,
            prr: Prr::default(),
            inflation: 0.0,
            seen_partial: false,
            accounting: AckAccounting::default(),
            lost: 0,
            rack,
            tail_probe: TailProbe::default(),
            f_rto: None,
            rates,
            pacer,
            ecn_recovery_point: 0,
            cwr_pending: false,
            events: Events::default(),
        }
    }

    /// A round trip measured before the first data, by a handshake.
    pub fn on_handshake(&mut self, rtt: Span) {
        self.rtt.sample(rtt);
    }

    /// The receiver has room for so many packets, as a handshake tells; without limit until this is called.
    pub fn set_send_limit(&mut self, packets: u64) {
        self.send_limit = packets;
    }

    /// When a timer expires.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let reordering = self.rack.as_ref().and_then(|rack| rack.deadline);
        reordering.map_or(self.deadline, |at| {
            Some(self.deadline.map_or(at, |timeout| timeout.min(at)))
        })
    }

    /// When pacing lets out the packet that it held back at the last attempt.
    #[must_use]
    pub fn pacing_release(&self) -> Option<Time> {
        self.pacer
            .filter(|pacer| pacer.held)
            .map(|pacer| pacer.next)
    }

    /// Whether new packets may be marked by queues: not those of a controller that would not answer.
    #[must_use]
    pub fn is_ecn_capable(&self) -> bool {
        self.endpoint.ecn && self.cc.supports_ecn()
    }

    /// Lowest packet not acknowledged.
    #[must_use]
    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// Whether everything has been acknowledged.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.total.is_some_and(|total| self.snd_una >= total)
    }

    /// What has happened so far.
    #[must_use]
    pub fn events(&self) -> Events {
        self.events
    }

    /// What the sender shows of itself.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            cwnd: self.cc.cwnd(),
            ssthresh: self.cc.ssthresh(),
            srtt: self.rtt.srtt(),
            rto: self.rtt.rto(),
            in_flight: self.snd_nxt - self.snd_una,
        }
    }

    /// An acknowledgement arrives.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        let next = ack.next.min(self.snd_nxt);
        if let Some(room) = ack.rwnd
            && next >= self.snd_una
        {
            let edge = next.saturating_add(room.into());
            let reopened = ack.window_update && edge > self.send_limit;
            self.send_limit = edge;
            if reopened
                && next == self.snd_una
                && self.snd_una < edge
                && self.snd_una < self.snd_nxt
            {
                // It was told of no room before: all it had on its way has come, or found none. What only answers a
                // packet that found none tells no more room than before.
                self.retransmit = Some(self.snd_una);
            }
        }
        let lost_before = self.lost;
        let newly_sacked = if self.endpoint.sack {
            self.update_scoreboard(now, ack)
        } else {
            0
        };
        let acked = next.saturating_sub(self.snd_una);
        let in_flight = self.snd_nxt - self.snd_una;
        let mut delivered = newly_sacked;
        let mut rtt = None;
        if acked > 0 {
            let what = self.advance(now, next);
            self.measure(now, next, &what);
            delivered += what.delivered;
            rtt = what.last.map(|sent| now.since(sent));
        }
        if self.rack.is_some() {
            self.rack_detect_losses(now, ack.dsack);
        } else if self.endpoint.sack {
            self.sack_detect_losses();
        }
        // RFC 6675, Sec. 2: with SACK an acknowledgement is a duplicate only if it tells something new. An update of the
        // window is none (RFC 5681, Sec. 2); it is known as one, since windows that flows share change with every packet.
        let duplicate = acked == 0
            && self.snd_nxt > self.snd_una
            && !ack.window_update
            && (!self.endpoint.sack || newly_sacked > 0);
        if !self.endpoint.sack {
            delivered = self.accounting.newly_delivered(acked, duplicate, in_flight);
        }
        let event = AckEvent {
            now,
            acked,
            delivered,
            in_flight,
            round: self.accounting.round(self.snd_una, self.snd_nxt),
            rtt,
            srtt: self.rtt.srtt(),
            lost: self.lost - lost_before,
            pipe: self.in_network(),
            ece: ack.ece,
            rate: self.rate_sample(now),
        };
        self.cc.observe(&event);
        self.on_probe_acked(now, ack);
        if ack.ece {
            self.on_ece(now);
        }
        let restart = self.act_in_phase(&event, duplicate) || acked > 0;
        // Impatient variant (RFC 6582, Sec. 4): of the partial acknowledgements only the first restarts the timer.
        let recovers = matches!(self.phase, Phase::Recovery { .. });
        let partial = !self.endpoint.sack && recovers && acked > 0;
        let keeps = partial && std::mem::replace(&mut self.seen_partial, true);
        if restart && !keeps {
            self.restart_timer(now);
        }
    }

    /// What the acknowledgement does in the phase that the sender is in; whether the timer starts anew.
    fn act_in_phase(&mut self, event: &AckEvent, duplicate: bool) -> bool {
        let (now, acked, delivered) = (event.now, event.acked, event.delivered);
        if self.cc_controls_recovery {
            self.cc.on_ack(event);
        }
        // Without SACK the first partial acknowledgement may end a recovery.
        let gives_up = acked > 0 && !self.endpoint.sack && !self.cc.uses_newreno_recovery();
        match self.phase {
            Phase::Open => {
                if acked > 0 {
                    self.dupacks = 0;
                    self.limited_transmits = 0;
                    self.grow(event);
                }
                if duplicate {
                    self.dupacks += 1;
                }
                if self.detected_loss() {
                    self.enter_recovery(now, delivered);
                    return true;
                }
            }
            Phase::Recovery { recovery_point } if self.snd_una >= recovery_point || gives_up => {
                self.leave_recovery(now);
            }
            Phase::Recovery { .. } if self.endpoint.sack => self.update_prr(delivered),
            Phase::Recovery { .. } => {
                if acked > 0 {
                    self.on_partial(acked);
                } else if duplicate {
                    self.inflation += 1.0;
                }
            }
            Phase::Loss { recovery_point } => {
                if self.undo_spurious_timeout(now) {
                    return true;
                }
                if acked > 0 {
                    self.grow(event);
                }
                self.f_rto_on_ack(acked, duplicate, recovery_point);
                if self.snd_una >= recovery_point {
                    self.f_rto = None;
                    self.leave_recovery(now);
                }
            }
        }
        false
    }

    /// The next packet to be sent `now`; none when the window, the pace, or the application has no more.
    pub fn next_packet(&mut self, now: Time) -> Option<Transmission> {
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

    /// Whether a packet that was to be sent, before pacing held it back, is still wanted.
    fn is_still_needed(&self, packet: u64) -> bool {
        if packet == self.snd_nxt {
            return self.has_new_data();
        }
        packet >= self.snd_una && {
            let entry = self.outstanding.get(self.index(packet));
            entry.is_some_and(|entry| !entry.sacked)
        }
    }

    fn transmit(&mut self, now: Time, packet: u64) -> Transmission {
        let mut cwr = false;
        if self.snd_nxt == self.snd_una && self.snd_nxt > 0 {
            self.cc.on_restart(now);
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
            // Karn: once something was sent again, a measurement under way could mean either.
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
        }
        if let Some(rack) = &mut self.rack {
            rack.order.push_back((packet, copy, now));
        }
        self.note_rate(now, packet);
        self.pace(now);
        if self.rack.is_some() && copy > 1 && packet == self.snd_una {
            // As in Linux: a repeat of the first packet has a whole timeout before it.
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
        Transmission {
            packet,
            copy,
            cwr,
            reason,
        }
    }

    /// Packets in the network, as far as the sender knows.
    fn in_network(&self) -> u64 {
        if self.endpoint.sack {
            self.pipe
        } else {
            self.send_cursor - self.snd_una
        }
    }

    /// Where packet `number` stands in `outstanding`.
    fn index(&self, number: u64) -> usize {
        usize::try_from(number - self.snd_una).unwrap_or(usize::MAX)
    }

    /// Whether the application has a packet that was never sent, and the receiver room for it.
    fn has_new_data(&self) -> bool {
        self.total.is_none_or(|total| self.snd_nxt < total)
            && self.snd_nxt - self.snd_una < self.endpoint.rwnd
            && self.snd_nxt < self.send_limit
    }

    /// FlightSize, without limited transmit (RFC 5681, Sec. 3.2 step 2), and never above the window.
    ///
    /// Before a recovery the two are the same. In a long one with SACK new data goes out beyond what is
    /// missing, and cutting from all of it would raise the threshold.
    fn flight(&self) -> f64 {
        to_f64((self.snd_nxt - self.snd_una).saturating_sub(self.limited_transmits))
            .min(self.cc.cwnd())
    }

    /// What a loss cuts the window from.
    fn cut_basis(&self) -> f64 {
        match self.endpoint.cut_from {
            CutFrom::Flight => self.flight(),
            CutFrom::Window => self.cc.cwnd().min(to_f64(self.endpoint.rwnd)),
        }
    }

    fn cut(&mut self, now: Time, in_flight: f64, cause: Cause) {
        self.cc.on_congestion(&CongestionEvent {
            now,
            in_flight,
            cause,
        });
    }

    fn grow(&mut self, ack: &AckEvent) {
        // With an echoed mark an acknowledgement lets no window grow (RFC 3168, Sec. 6.1.2).
        if self.cc_controls_recovery || ack.ece {
            return;
        }
        if self.cwnd_limited || !self.endpoint.window_validation {
            self.cc.on_ack(ack);
        }
    }
}

#[cfg(test)]
mod tests;
