//! Segments that a flow has in queues, estimated from its RTTs (Brakmo and Peterson 1995, Sec. 4.2).
//!
//! If a window of W segments takes RTT and the path alone takes BaseRTT, W (1 − BaseRTT/RTT) segments are in queues:
//! the difference of the expected rate W/BaseRTT and the actual rate W/RTT, times BaseRTT. BaseRTT is the smallest RTT
//! of the connection. RTT is the smallest of a round, as in Linux, so that delayed ACKs do not look like a queue.

use tmt_core::types::{Span, to_f64};

use super::AckEvent;

/// RTTs of a connection, round by round.
#[derive(Debug, Clone, Default)]
pub(super) struct Backlog {
    /// BaseRTT.
    base_rtt: Option<Span>,
    /// Smallest RTT of the current round.
    round_min_rtt: Option<Span>,
    /// RTTs measured in the current round.
    samples: u32,
    round: u64,
    /// The round that ended last, until [`Backlog::take_ended_round`] takes it.
    ended: Option<Round>,
}

/// A round that has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// BaseRTT/RTT; `None` if no RTT was measured.
    share: Option<f64>,
    /// Segments outstanding at its end.
    in_flight: f64,
    /// Number of RTTs measured.
    pub(super) samples: u32,
}

impl Round {
    /// Segments in queues, for a window of `window` segments; `None` if no RTT was measured.
    ///
    /// If the window was not filled, the segments outstanding count instead.
    pub(super) fn backlog(&self, window: f64) -> Option<f64> {
        Some(window.min(self.in_flight) * (1.0 - self.share?))
    }
}

impl Backlog {
    pub(super) fn observe(&mut self, ack: &AckEvent) {
        if ack.round != self.round {
            let measured = self.base_rtt.zip(self.round_min_rtt);
            self.ended = Some(Round {
                share: measured.map(|(base, rtt)| match rtt {
                    Span::ZERO => 1.0,
                    rtt => base.as_secs_f64() / rtt.as_secs_f64(),
                }),
                in_flight: to_f64(ack.in_flight),
                samples: std::mem::take(&mut self.samples),
            });
            self.round = ack.round;
            self.round_min_rtt = None;
        }
        if let Some(rtt) = ack.rtt {
            let least = |other: Option<Span>| Some(other.map_or(rtt, |other| other.min(rtt)));
            self.base_rtt = least(self.base_rtt);
            self.round_min_rtt = least(self.round_min_rtt);
            self.samples += 1;
        }
    }

    /// Returns the round that has ended since the last call, if any.
    pub(super) fn take_ended_round(&mut self) -> Option<Round> {
        self.ended.take()
    }

    /// Discards measurements from before a cut, which do not apply to the window after it.
    pub(super) fn reset_round(&mut self) {
        self.round_min_rtt = None;
        self.samples = 0;
        self.ended = None;
    }
}

#[cfg(test)]
pub(super) mod path {
    //! A path that queues what exceeds its capacity, for tests.

    use tmt_core::types::{Span, Time};

    use super::super::{AckEvent, CongestionControl};
    use tmt_core::math::num::floor_u64;

    /// Sends `rounds` windows, acknowledged segment by segment, over a path that holds `fits` segments at 100 ms.
    /// Returns the window after each round.
    pub(in super::super) fn rounds(
        cc: &mut dyn CongestionControl,
        fits: f64,
        rounds: std::ops::Range<u64>,
    ) -> Vec<f64> {
        rounds
            .map(|round| {
                let window = floor_u64(cc.cwnd());
                let nanos = 1e8 * (cc.cwnd() / fits).max(1.0);
                let rtt = Span::from_nanos(floor_u64(nanos));
                for _ in 0..window {
                    let ack = AckEvent {
                        now: Time::ZERO,
                        acked: 1,
                        delivered: 1,
                        in_flight: window,
                        round,
                        rtt,
                        srtt: rtt,
                        ..AckEvent::default()
                    };
                    cc.observe(&ack);
                    cc.on_ack(&ack);
                }
                cc.cwnd()
            })
            .collect()
    }
}
