//! The sender of a flow: decides which packet to send and when, for any congestion control.
//!
//! Sequence numbers count packets. Specification: RFC 5681 and 6582 without SACK (`sender/newreno_recovery.rs`),
//! RFC 6675 with SACK (`sender/sack_scoreboard.rs`), RFC 3042, 6298 and 6937. Named deviations:
//! - there is no rescue retransmission (RFC 6675, NextSeg rule 4, optional);
//! - the timer restarts when a recovery begins, as in ns-2 and Linux;
//! - with SACK, a recovery retransmits its first packet only if the previous recovery did not;
//! - the window is cut from at most itself, however much is outstanding.
//!
//! Each optional mechanism has its own file, which names its deviations: RACK (`sender/rack.rs`) and TLP (`tlp.rs`,
//! RFC 8985), F-RTO (`f_rto.rs`, RFC 5682), ECN (`ecn.rs`, RFC 3168), pacing (`pacing.rs`), delivery rates (`rate.rs`).
//!
//! The sender is pulled: after each event, call [`Sender::next_packet`] until it returns `None`.

mod ack_accounting;
mod ecn;
mod f_rto;
mod flight;
mod idle;
mod newreno_recovery;
mod pacing;
mod plain_ack;
mod plain_sack;
mod prr;
mod rack;
mod rate;
mod recovery;
mod sack_scoreboard;
mod timer;
mod tlp;
mod transmission;
mod undo;

use std::sync::Arc;

use serde::Serialize;
use tmt_core::math::num::floor_u64;
use tmt_core::types::{Span, Time, to_f64};

use crate::congestion::{AckEvent, Cause, CongestionControl, CongestionEvent, Growth};
use crate::endpoint::ranges::RangeSet;
use crate::endpoint::receiver::{Ack, Rwnd};
use crate::endpoint::rtt::{Round, RttEstimator};
use crate::endpoint::{CutFrom, Endpoint, LossDetection};
use ack_accounting::{AckAccounting, Acknowledged};
use f_rto::FrtoState;
use flight::Flight;
use pacing::Pacer;
use prr::{Progress, Prr};
use rack::Rack;
use rate::Rates;
use sack_scoreboard::NewlySacked;
use tlp::TailProbe;
use undo::Undo;

/// `DupThresh`: duplicate ACKs, or SACKed packets above a packet, after which it counts as lost.
const DUP_THRESH: u32 = 3;

/// One transmission of a packet, as the sender requests it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutgoingPacket {
    /// Packet number, from 0.
    pub packet: u64,
    /// Number of this transmission of the packet: 1 is the first, 2 the first retransmission.
    pub copy: u32,
    /// Whether the packet reports that the window was reduced after an ECE (CWR, RFC 3168).
    pub cwr: bool,
    /// Reason for the transmission.
    pub reason: TransmissionReason,
}

/// Outcome of [`Sender::on_timer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerOutcome {
    /// No timer had expired.
    Nothing,
    /// The retransmission timer expired.
    Timeout,
    /// The timer of TLP or RACK expired: a tail loss probe is due, or packets were marked lost.
    Other,
}

/// Reason for a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TransmissionReason {
    /// First transmission of the packet.
    #[default]
    New,
    /// Retransmission in fast recovery.
    FastRetransmit,
    /// Retransmission after a retransmission timeout.
    Timeout,
    /// Retransmission as a tail loss probe (RFC 8985, Sec. 7).
    #[serde(rename = "tail_loss_probe")]
    TailProbe,
}

impl TransmissionReason {
    /// All reasons, in the order of their discriminants.
    pub(crate) const ALL: [Self; 4] = [
        Self::New,
        Self::FastRetransmit,
        Self::Timeout,
        Self::TailProbe,
    ];
}

/// Scoreboard entry of an outstanding packet.
#[derive(Debug, Clone, Copy, Default)]
struct Outstanding {
    sent: Time,
    transmissions: u32,
    sacked: bool,
    lost: bool,
    /// Retransmitted since it was marked lost.
    retransmitted: bool,
    /// How often, at the instant at which it was sent, a packet had been sent after one with a higher number: the order of transmissions at
    /// one instant is that of turns, and of numbers in a turn. Up to 255.
    turn: u8,
}

impl Outstanding {
    /// `SetPipe` (RFC 6675, Sec. 4): how many times the packet counts as in the network, from 0 to 2.
    fn in_pipe(self) -> u64 {
        if self.sacked {
            0
        } else {
            u64::from(!self.lost) + u64::from(self.retransmitted)
        }
    }
}

/// State of loss recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Fast recovery, until everything below `RecoveryPoint` is acknowledged.
    Recovery {
        recovery_point: u64,
    },
    /// Recovery after a timeout, until everything below `RecoveryPoint` is acknowledged.
    Loss {
        recovery_point: u64,
    },
}

/// Current state of a sender, for metrics and logs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Snapshot {
    /// Congestion window in segments, at least 1.
    pub cwnd: f64,
    /// Slow-start threshold in segments; `None` if it is not set.
    pub ssthresh: Option<f64>,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Span>,
    /// Retransmission timeout, back-off included.
    pub rto: Span,
    /// Packets sent and not cumulatively acknowledged.
    pub in_flight: u64,
}

/// Counts of events at a sender since the start of the flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Events {
    /// Number of retransmission timeouts, spurious ones included.
    pub timeouts: u64,
    /// Number of timeouts that F-RTO detected as spurious.
    pub spurious_timeouts: u64,
    /// Number of fast recoveries begun.
    pub fast_recoveries: u64,
    /// Number of fast recoveries undone, because packets were late, not lost.
    pub undone_recoveries: u64,
}

/// The sender of one flow, driven by ACKs and timers.
///
/// Fields lie in the order in which they are declared: among many flows, the first six cache lines are what a usual ACK
/// costs.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Sender {
    /// Lowest packet not acknowledged.
    snd_una: u64,
    /// Next new packet (`HighData` + 1): all packets below it have been sent at least once.
    snd_nxt: u64,
    /// The congestion window in whole segments, since the last ACK or timer.
    window: u64,
    /// `pipe` of RFC 6675: packets in the network.
    pipe: u64,
    /// Right edge of the advertised window: packets below it may be sent.
    send_limit: u64,
    /// Without SACK, the packet to send next. After a timeout it goes back to `snd_una` (go-back-N).
    send_cursor: u64,
    /// Shared, because it is large and the same for many flows.
    endpoint: Arc<Endpoint>,
    /// Packets marked lost so far; a retransmission that is lost, too, counts again.
    lost: u64,
    outstanding: Flight,
    cc: Box<dyn CongestionControl>,
    /// Number of packets that the application has supplied so far; the largest number for an endless source.
    supplied: u64,
    /// Whether usual ACKs may be processed as such: with SACK, and without rate samples and pacing.
    takes_plain_acks: bool,
    /// Whether nothing is under way but new packets and their ACKs (`Sender::is_quiet`).
    quiet: bool,
    /// Whether cwnd, and nothing else, stopped the sender at its last attempt.
    cwnd_limited: bool,
    /// The next new packet when cwnd last stopped the sender, and when it was last looked at.
    filled_below: u64,
    looked_below: u64,
    /// The next new packet carries CWR.
    cwr_pending: bool,
    /// [`CongestionControl::controls_recovery_window`], which is constant.
    cc_controls_recovery: bool,
    seen_partial: bool,
    /// Time at which the retransmission timer expires, or the tail loss probe armed in its place.
    deadline: Option<Time>,
    /// Time at which an ACK last restarted the timer.
    timer_restarted: Time,
    accounting: AckAccounting,
    rack: Option<Box<Rack>>,
    rates: Option<Box<Rates>>,
    rtt: RttEstimator,
    dupacks: u32,
    /// Retransmission timeouts since new data was last acknowledged.
    timeouts_in_row: u32,
    /// Packets sent by limited transmit, which FlightSize excludes.
    limited_transmits: u64,
    phase: Phase,
    tail_probe: TailProbe,
    pacer: Option<Pacer>,
    /// With [`RttSampling::PerWindow`], the packet being timed and when it was sent.
    timed_packet: Option<(u64, Time)>,
    /// No packet from this one on has been retransmitted.
    repeated_below: u64,
    /// A packet to retransmit regardless of the window, unless it is acknowledged first.
    retransmit: Option<u64>,
    /// Without SACK: `recover` of RFC 6582, Sec. 3.2. Duplicate ACKs of packets sent before the last cut do not start a
    /// recovery.
    recover: Option<u64>,
    sacked: RangeSet,
    sacked_count: u64,
    /// SACK blocks of the last ACK that had any: most are repeated.
    reported: [(u64, u64); 3],
    /// Packets below this that are not SACKed are lost; with RACK, lost packets lie below it.
    lost_below: u64,
    /// Lost packets below this have been retransmitted.
    rtx_cursor: u64,
    /// Like `rtx_cursor`, for `NextSeg` rule 3.
    rule_3_cursor: u64,
    prr: Prr,
    /// Without SACK: segments by which cwnd is inflated during recovery.
    inflation: f64,
    f_rto: Option<FrtoState>,
    undo: Option<Undo>,
    /// An ECE cuts the window only after everything below this is acknowledged.
    ecn_recovery_point: u64,
    events: Events,
}

impl Sender {
    /// Creates a sender of `supplied` packets, or an endless one. [`Self::supply`] changes that.
    #[must_use]
    pub fn new(
        endpoint: impl Into<Arc<Endpoint>>,
        cc: Box<dyn CongestionControl>,
        supplied: Option<u64>,
    ) -> Self {
        let endpoint = endpoint.into();
        let rack = (endpoint.sack && endpoint.loss_detection == LossDetection::Rack)
            .then(Box::<Rack>::default);
        let rates = cc.needs_rate_samples().then(Box::<Rates>::default);
        let pacer = (endpoint.pacing || cc.pacing_rate().is_some()).then(Pacer::default);
        Self {
            rtt: RttEstimator::new(endpoint.rto),
            takes_plain_acks: endpoint.sack && rates.is_none() && pacer.is_none(),
            quiet: endpoint.sack && rates.is_none() && pacer.is_none(),
            endpoint,
            cc_controls_recovery: cc.controls_recovery_window(),
            window: floor_u64(cc.cwnd()),
            cc,
            supplied: supplied.unwrap_or(u64::MAX),
            snd_una: 0,
            send_limit: u64::MAX,
            send_cursor: 0,
            snd_nxt: 0,
            outstanding: Flight::default(),
            phase: Phase::Open,
            dupacks: 0,
            repeated_below: 0,
            timeouts_in_row: 0,
            retransmit: None,
            cwnd_limited: false,
            filled_below: 0,
            looked_below: 0,
            limited_transmits: 0,
            recover: None,
            timed_packet: None,
            timer_restarted: Time::ZERO,
            deadline: None,
            sacked: RangeSet::default(),
            sacked_count: 0,
            reported: Default::default(),
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
            undo: None,
            rates,
            pacer,
            ecn_recovery_point: 0,
            cwr_pending: false,
            events: Events::default(),
        }
    }

    /// The application has supplied `packets` packets so far, at least those that were sent.
    pub fn supply(&mut self, packets: u64) {
        self.supplied = packets.max(self.snd_nxt);
    }

    /// Returns the number of packets that are supplied and were never sent.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        self.supplied - self.snd_nxt
    }

    /// Takes the RTT that a handshake measured before the first data.
    pub fn on_handshake(&mut self, rtt: Span) {
        self.rtt.sample(rtt, self.round());
    }

    /// Sets the window, in packets, that a handshake advertised. Without it, only [`Endpoint::rwnd`] limits the sender.
    pub fn set_send_limit(&mut self, packets: u64) {
        self.send_limit = packets;
    }

    /// Returns the time at which the next timer expires: RTO, TLP or RACK.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let reordering = self.rack.as_ref().and_then(|rack| rack.deadline);
        reordering.map_or(self.deadline, |at| {
            Some(self.deadline.map_or(at, |timeout| timeout.min(at)))
        })
    }

    /// Returns the time at which pacing releases the next packet; `None` if pacing delayed nothing at the last attempt.
    #[inline]
    #[must_use]
    pub fn pacing_release(&self) -> Option<Time> {
        let pacer = self.pacer.as_ref()?;
        pacer.held.then_some(pacer.next)
    }

    /// Whether queues may mark new packets: ECN is on, and the congestion control responds to marks.
    #[inline]
    #[must_use]
    pub fn is_ecn_capable(&self) -> bool {
        self.endpoint.ecn && self.cc.supports_ecn()
    }

    /// Returns the lowest packet not acknowledged.
    #[inline]
    #[must_use]
    pub fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// Returns the lowest packet that was never sent.
    #[must_use]
    pub fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// Whether all packets supplied so far have been acknowledged; never for an endless source.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.snd_una >= self.supplied
    }

    /// Returns the smoothed RTT; `None` before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.srtt()
    }

    /// The last RTT sample; `None` if there was no other since it was last taken.
    #[inline]
    pub(crate) fn take_rtt_sample(&mut self) -> Option<Span> {
        self.rtt.take_latest()
    }

    /// Returns the event counts so far.
    #[must_use]
    pub fn events(&self) -> Events {
        self.events
    }

    /// Returns the current window, timeout and packets in flight.
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

    /// Processes an ACK that arrives `now`.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        let next = ack.next.min(self.snd_nxt);
        if let Some(rwnd) = ack.rwnd
            && next >= self.snd_una
        {
            self.take_window(ack, next, rwnd);
        }
        if self.is_plain(ack, next) {
            self.on_plain_ack(now, ack, next);
        } else if self.only_extends_sacked(ack, next) {
            self.on_plain_sack(now, ack);
        } else {
            self.on_any_ack(now, ack, next);
        }
    }

    /// Takes the window that an ACK advertises.
    #[inline]
    fn take_window(&mut self, ack: &Ack, next: u64, rwnd: Rwnd) {
        let limit = next.saturating_add(rwnd.packets());
        let reopened = ack.reopens && limit > self.send_limit;
        self.send_limit = limit;
        if reopened && next == self.snd_una && self.snd_una < limit && self.snd_una < self.snd_nxt {
            // The window was closed before: everything in flight has arrived or was refused. An ACK that answers
            // a refused packet does not move the limit, so it does not get here.
            self.retransmit = Some(self.snd_una);
            self.quiet = false;
        }
    }

    /// Processes any ACK, which acknowledges everything below `next`.
    #[inline(never)]
    fn on_any_ack(&mut self, now: Time, ack: &Ack, next: u64) {
        let lost_before = self.lost;
        let sacked = if self.endpoint.sack {
            self.update_scoreboard(now, ack)
        } else {
            NewlySacked::default()
        };
        let acked = next.saturating_sub(self.snd_una);
        let in_flight = self.snd_nxt - self.snd_una;
        let covered = if acked > 0 {
            self.timeouts_in_row = 0;
            self.advance(now, next)
        } else {
            Acknowledged::default()
        };
        let rtt = self.measure(now, ack, &covered, &sacked);
        let mut delivered = sacked.packets + covered.delivered;
        let is_late = self.shows_late_packet(acked, ack.echo);
        if let Some(rack) = self.rack.as_mut().filter(|_| is_late) {
            rack.on_late_packet();
        }
        if self.rack.is_some() {
            self.rack_detect_losses(now, ack.dsack);
        } else if self.endpoint.sack {
            self.sack_detect_losses();
        }
        // RFC 6675, Sec. 2: with SACK, an ACK is a duplicate only if it reports something new. A window update is not a
        // duplicate (RFC 5681, Sec. 2). It has a flag, because a window shared by flows changes with every packet.
        let duplicate = acked == 0
            && self.snd_nxt > self.snd_una
            && !ack.window_update
            && (!self.endpoint.sack || sacked.packets > 0);
        if !self.endpoint.sack {
            delivered = self.accounting.newly_delivered(acked, duplicate, in_flight);
        }
        let mut event = AckEvent {
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
            rate: None,
        };
        if self.rates.is_some() {
            event.rate = self.rate_sample(now);
        }
        self.cc.observe(&event);
        self.on_probe_acked(now, ack);
        if ack.ece {
            self.on_ece(now);
        }
        let restarts_timer = self.sack_restarts_timer(&sacked);
        self.act_on(&event, duplicate, is_late, restarts_timer);
    }

    fn round(&self) -> Round {
        Round {
            acked: self.snd_una,
            sent: self.snd_nxt,
        }
    }

    /// The lowest packet not acknowledged; `None` if all are.
    fn first_outstanding(&self) -> Option<&Outstanding> {
        (self.snd_una < self.snd_nxt).then(|| self.outstanding.entry(self.snd_una))
    }

    /// Acts on an ACK, which restarts the timer in any case or if it has an effect that does.
    fn act_on(&mut self, event: &AckEvent, duplicate: bool, is_late: bool, restarts_timer: bool) {
        let AckEvent { now, acked, .. } = *event;
        let restarts_timer =
            self.act_in_phase(event, duplicate, is_late) || acked > 0 || restarts_timer;
        // Impatient variant (RFC 6582, Sec. 4): only the first partial ACK restarts the timer.
        let in_recovery = matches!(self.phase, Phase::Recovery { .. });
        let partial = !self.endpoint.sack && in_recovery && acked > 0;
        let keeps_timer = partial && std::mem::replace(&mut self.seen_partial, true);
        if restarts_timer && !keeps_timer {
            self.restart_timer(now);
        }
        self.window = floor_u64(self.cc.cwnd());
        self.quiet = self.is_quiet();
    }

    /// Handles the timers that have expired at `now`.
    pub fn on_timer(&mut self, now: Time) -> TimerOutcome {
        let outcome = self.on_expired(now);
        self.window = floor_u64(self.cc.cwnd());
        self.quiet = self.is_quiet();
        outcome
    }

    /// Applies an ACK in the current phase. Returns whether the timer restarts.
    fn act_in_phase(&mut self, event: &AckEvent, duplicate: bool, is_late: bool) -> bool {
        let (now, acked) = (event.now, event.acked);
        let progress = Progress {
            delivered: event.delivered,
            is_safe: acked > 0 && event.lost == 0,
        };
        if self.cc_controls_recovery {
            self.cc.on_ack(event);
        }
        // Reno without SACK: the first partial ACK ends a recovery.
        let ends_on_partial_ack =
            acked > 0 && !self.endpoint.sack && !self.cc.uses_newreno_recovery();
        if is_late && self.undo_recovery(now) {
            return self.resume(event, progress);
        }
        match self.phase {
            Phase::Open => {
                if acked > 0 {
                    self.dupacks = 0;
                    self.limited_transmits = 0;
                    if !self.counts_segments() {
                        self.grow(event);
                    }
                }
                if duplicate {
                    self.dupacks += 1;
                }
                if self.detected_loss() {
                    return self.begin_recovery(now, progress);
                }
                if acked > 0 && self.counts_segments() {
                    self.grow(event);
                }
            }
            Phase::Recovery { recovery_point }
                if self.snd_una >= recovery_point || ends_on_partial_ack =>
            {
                if self.counts_segments() && self.cc_controls_recovery && self.detected_loss() {
                    return self.prolong_recovery();
                }
                self.leave_recovery(now);
                return self.counts_segments() && self.resume(event, progress);
            }
            Phase::Recovery { .. } if self.endpoint.sack => self.update_prr(progress),
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
                    if self.counts_segments() && self.detected_loss() {
                        return self.begin_recovery(now, progress);
                    }
                }
            }
        }
        false
    }

    /// Acts on an ACK that has ended a recovery: it may begin the next one, and otherwise grows the window
    /// (`tcp_fastretrans_alert`, `tcp_cong_control`). Returns whether the timer restarts.
    fn resume(&mut self, event: &AckEvent, progress: Progress) -> bool {
        if self.detected_loss() {
            return self.begin_recovery(event.now, progress);
        }
        self.grow(event);
        false
    }

    /// Whether growth counts segments, as in Linux: then an ACK that begins a recovery does not grow the window, and one
    /// that ends a recovery does.
    fn counts_segments(&self) -> bool {
        self.endpoint.congestion.growth == Growth::Segments
    }

    /// Packets in the network: pipe with SACK, otherwise those sent and not acknowledged.
    fn in_network(&self) -> u64 {
        if self.endpoint.sack {
            self.pipe
        } else {
            self.send_cursor - self.snd_una
        }
    }

    /// Whether the application has a new packet and the advertised window allows it.
    fn has_new_data(&self) -> bool {
        self.snd_nxt < self.supplied
            && self.snd_nxt - self.snd_una < self.endpoint.rwnd
            && self.snd_nxt < self.send_limit
    }

    /// FlightSize without limited transmit (RFC 5681, Sec. 3.2, step 2), at most cwnd.
    ///
    /// Before a recovery the limit has no effect. In a long recovery with SACK, new data beyond the holes is
    /// outstanding, too; a cut from all of it would raise ssthresh.
    fn flight_size(&self) -> f64 {
        to_f64((self.snd_nxt - self.snd_una).saturating_sub(self.limited_transmits))
            .min(self.cc.cwnd())
    }

    /// Quantity that a loss reduces, in segments (`--cut-from`).
    fn cut_basis(&self) -> f64 {
        match self.endpoint.cut_from {
            CutFrom::Flight => self.flight_size(),
            CutFrom::Window => self.cc.cwnd().min(to_f64(self.endpoint.rwnd)),
            CutFrom::Cwnd => self.cc.cwnd(),
        }
    }

    fn cut(&mut self, now: Time, in_flight: f64, cause: Cause) {
        self.cc.on_congestion(&CongestionEvent {
            now,
            in_flight,
            cause,
        });
    }

    /// cwnd, and nothing else, stops the sender.
    #[inline]
    fn on_window_filled(&mut self) {
        self.cwnd_limited = true;
        self.filled_below = self.snd_nxt;
        self.looked_below = self.snd_nxt;
    }

    /// The sender stops for another reason. If the packets in flight fill the window all the same, it counts as filled (`tcp_write_xmit`).
    /// Otherwise the window counts as open only after the flight that filled it has been acknowledged and something has been sent since
    /// (`tcp_cwnd_validate`): the ACKs of that flight still grow the window.
    #[inline]
    fn on_window_open(&mut self) {
        let in_flight = if self.phase == Phase::Open {
            self.packets_in_window()
        } else {
            self.pipe
        };
        if in_flight >= self.window {
            return self.on_window_filled();
        }
        let has_sent = std::mem::replace(&mut self.looked_below, self.snd_nxt) < self.snd_nxt;
        if has_sent && self.snd_una >= self.filled_below {
            self.cwnd_limited = false;
            self.filled_below = self.snd_nxt;
        }
    }

    /// Whether growth counts segments and slow start has not yet doubled what was in flight: as in Linux
    /// (`tcp_is_cwnd_limited`), the window may then grow beyond what the receiver allows.
    fn doubles_flight(&self, ack: &AckEvent) -> bool {
        let window = self.cc.window();
        self.counts_segments()
            && window.in_slow_start()
            && window.cwnd < 2.0 * to_f64(ack.in_flight)
    }

    /// Whether the window limited the sender, as far as that matters.
    fn may_grow(&self, ack: &AckEvent) -> bool {
        self.cwnd_limited || !self.endpoint.window_validation || self.doubles_flight(ack)
    }

    fn grow(&mut self, ack: &AckEvent) {
        // An ACK with ECE does not grow the window (RFC 3168, Sec. 6.1.2).
        if !self.cc_controls_recovery && !ack.ece && self.may_grow(ack) {
            self.cc.on_ack(ack);
        }
    }
}

#[cfg(test)]
mod tests;
