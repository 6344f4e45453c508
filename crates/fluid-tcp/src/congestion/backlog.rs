//! What a flow has waiting in queues, told by its round-trip times (Brakmo and Peterson 1995, §4.2).
//!
//! A window of W segments that takes RTT where the path alone takes BaseRTT has W (1 − BaseRTT/RTT) of them in
//! queues: the difference of the expected rate W/BaseRTT and the actual W/RTT, times BaseRTT. BaseRTT is the
//! smallest round trip of the connection, RTT here the smallest of a round (as in Linux), so that delayed
//! acknowledgements, which come late but for the one that completes a pair, are no queue.

use tmt_core::types::{Span, to_f64};

use super::AckEvent;

/// Round-trip times of a connection, round by round.
#[derive(Debug, Clone, Default)]
pub(super) struct Backlog {
    /// BaseRTT.
    base: Option<Span>,
    /// Smallest of the round that is going on.
    smallest: Option<Span>,
    round: u64,
    /// The round that ended last, until it is asked for.
    ended: Option<Round>,
}

/// A round that has ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// BaseRTT/RTT; none where no round trip was measured.
    share: Option<f64>,
    /// Segments outstanding at its end.
    in_flight: f64,
}

impl Round {
    /// Segments in queues, of a window of `window` segments; none where nothing was measured.
    ///
    /// Of a window that was not filled, what was outstanding counts.
    pub(super) fn backlog(&self, window: f64) -> Option<f64> {
        Some(window.min(self.in_flight) * (1.0 - self.share?))
    }
}

impl Backlog {
    pub(super) fn observe(&mut self, ack: &AckEvent) {
        if ack.round != self.round {
            let measured = self.base.zip(self.smallest);
            self.ended = Some(Round {
                share: measured.map(|(base, rtt)| match rtt {
                    Span::ZERO => 1.0,
                    rtt => base.as_secs_f64() / rtt.as_secs_f64(),
                }),
                in_flight: to_f64(ack.in_flight),
            });
            self.round = ack.round;
            self.smallest = None;
        }
        if let Some(rtt) = ack.rtt {
            let least = |other: Option<Span>| Some(other.map_or(rtt, |other| other.min(rtt)));
            self.base = least(self.base);
            self.smallest = least(self.smallest);
        }
    }

    /// The round that ended with this acknowledgement, or since last asked; once.
    pub(super) fn ended(&mut self) -> Option<Round> {
        self.ended.take()
    }

    /// What was measured before a cut tells nothing of the window after it.
    pub(super) fn forget(&mut self) {
        self.smallest = None;
        self.ended = None;
    }
}

#[cfg(test)]
pub(super) mod path {
    //! A path that queues what is more than fits, for tests.

    use tmt_core::types::{Span, Time};

    use super::super::{AckEvent, CongestionControl};
    use tmt_core::math::num::floor_u64;

    /// Sends `rounds` windows, each acknowledged one by one, over a path that holds `fits` segments in 100 ms;
    /// the window after each.
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
