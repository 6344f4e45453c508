//! Bounds that BBR derives from losses (Sec. 5.5.10).

use tmt_core::types::to_f64;

use super::{Bbr, State};
use crate::congestion::{LostPacket, RateSample};

/// Bounds from losses; infinite if not known.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    /// Segments in flight at which a probe lost too many.
    pub(super) inflight_longterm: f64,
    /// Segments in flight, and segments per second, that were delivered in a round with losses outside a probe.
    pub(super) inflight_shortterm: f64,
    pub(super) bw_shortterm: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            inflight_longterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            bw_shortterm: f64::INFINITY,
        }
    }
}

impl Bounds {
    /// `BBRResetShortTermModel`
    pub(super) fn reset_shortterm(&mut self) {
        self.inflight_shortterm = f64::INFINITY;
        self.bw_shortterm = f64::INFINITY;
    }
}

/// Delivery and loss signals of the current round.
#[derive(Debug, Clone, Default)]
pub(super) struct Signals {
    pub(super) lost_in_round: bool,
    /// Segments delivered at which the loss round ends, and whether a new one begins with this ACK.
    round_end: u64,
    pub(super) loss_round_start: bool,
    /// Largest rate, in segments per second, and largest volume delivered, in segments, of the round.
    pub(super) bw_latest: f64,
    pub(super) inflight_latest: f64,
    /// Ranges lost in the round, and the packet marked lost last.
    pub(super) ranges: u32,
    pub(super) last_lost: Option<u64>,
    /// Segments delivered when the current fast recovery began; `None` outside recovery.
    pub(super) recovery: Option<u64>,
}

impl Bbr {
    /// `BBRUpdateLatestDeliverySignals`
    pub(super) fn update_latest_delivery_signals(&mut self, rate: Option<&RateSample>) {
        let signals = &mut self.signals;
        signals.loss_round_start = false;
        let Some(rate) = rate else {
            return;
        };
        signals.bw_latest = signals.bw_latest.max(rate.rate());
        let delivered = to_f64(rate.delivered);
        signals.inflight_latest = signals.inflight_latest.max(delivered);
        if rate.prior_delivered >= signals.round_end {
            signals.round_end = self.base.rounds.delivered;
            signals.loss_round_start = true;
        }
    }

    /// `BBRAdvanceLatestDeliverySignals`
    pub(super) fn advance_latest_delivery_signals(&mut self, rate: Option<&RateSample>) {
        if let Some(rate) = rate.filter(|_| self.signals.loss_round_start) {
            self.signals.bw_latest = rate.rate();
            self.signals.inflight_latest = to_f64(rate.delivered);
        }
    }

    /// `BBRUpdateCongestionSignals`: after a round with losses outside a probe, lowers the short-term bounds to what
    /// was delivered, at most by the factor `beta`.
    pub(super) fn update_congestion_signals(&mut self) {
        if !self.signals.loss_round_start {
            return;
        }
        if std::mem::take(&mut self.signals.lost_in_round) && !self.is_probing_bw() {
            let (beta, bounds) = (self.beta, &mut self.bounds);
            if bounds.bw_shortterm.is_infinite() {
                bounds.bw_shortterm = self.base.max_bw.get();
            }
            if bounds.inflight_shortterm.is_infinite() {
                bounds.inflight_shortterm = self.base.cwnd;
            }
            bounds.bw_shortterm = self.signals.bw_latest.max(beta * bounds.bw_shortterm);
            let inflight = beta * bounds.inflight_shortterm;
            bounds.inflight_shortterm = self.signals.inflight_latest.max(inflight);
        }
    }

    /// `IsInflightTooHigh`: whether more than `loss_thresh` of the segments in flight were lost.
    pub(super) fn is_inflight_too_high(&self, lost: u64, in_flight: u64) -> bool {
        to_f64(lost) > to_f64(in_flight) * self.loss_thresh
    }

    /// `BBRHandleLostPacket`
    pub(super) fn handle_lost_packet(&mut self, lost: &LostPacket) {
        let signals = &mut self.signals;
        if !signals.lost_in_round {
            signals.round_end = lost.total_delivered;
        }
        signals.lost_in_round = true;
        let follows = lost.packet.checked_sub(1);
        if signals.last_lost.is_none() || signals.last_lost != follows {
            signals.ranges = signals.ranges.saturating_add(1);
        }
        signals.last_lost = Some(lost.packet);
        if self.probe.bw_probe_samples
            && self.is_inflight_too_high(lost.lost, lost.in_flight_at_send)
        {
            self.base.rounds.delivered = lost.total_delivered;
            self.handle_inflight_too_high(lost);
        }
    }

    /// `BBRHandleInflightTooHigh`, with `BBRInflightAtLoss`.
    fn handle_inflight_too_high(&mut self, lost: &LostPacket) {
        // Only once per probe.
        self.probe.bw_probe_samples = false;
        if !lost.app_limited {
            let thresh = self.loss_thresh;
            let before = to_f64(lost.in_flight_at_send.saturating_sub(1));
            let lost_before = to_f64(lost.lost.saturating_sub(1));
            let at_loss = before + (thresh * before - lost_before) / (1.0 - thresh);
            let least = self.beta * self.target_inflight();
            self.bounds.inflight_longterm = at_loss.max(least);
        }
        if self.state == State::Up {
            self.start_probe_bw_down();
        }
    }
}
