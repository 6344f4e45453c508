//! Pacing: packets are sent one by one at a rate, not in bursts.
//!
//! The rate is that of the congestion control if it has one (BBR). Otherwise, as in Linux, it is 2 windows per srtt in
//! slow start, up to half of ssthresh, and 1.2 windows per srtt after. Before the first RTT sample the initial window
//! is sent at once.

use tmt_core::types::{Span, Time};

use super::Sender;
use crate::congestion::Window;
use tmt_core::math::num::floor_u64;

/// Release time of the next packet.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pacer {
    pub(super) next: Time,
    /// Pacing delayed a packet at the last attempt.
    pub(super) held: bool,
}

impl Pacer {
    /// Whether pacing delays any packet `now`.
    pub(super) fn holds(&mut self, now: Time) -> bool {
        self.held = now < self.next;
        self.held
    }
}

/// Windows per srtt, in slow start and after.
const SLOW_START: f64 = 2.0;
const AVOIDANCE: f64 = 1.2;

impl Sender {
    /// Returns the pacing rate in segments per second; `None` before the first RTT sample.
    fn pacing_rate(&self) -> Option<f64> {
        let of_control = self.cc.pacing_rate();
        if of_control.is_some() {
            return of_control;
        }
        let srtt = self.rtt.srtt().filter(|srtt| !srtt.is_zero())?;
        let Window { cwnd, ssthresh } = self.cc.window();
        let slow_start = ssthresh.is_none_or(|threshold| cwnd < threshold / 2.0);
        let factor = if slow_start { SLOW_START } else { AVOIDANCE };
        Some(factor * cwnd / srtt.as_secs_f64())
    }

    /// Sets the release time of the next packet after one was sent `now`.
    pub(super) fn pace(&mut self, now: Time) {
        let Some(mut pacer) = self.pacer else {
            return;
        };
        let rate = self.pacing_rate();
        let gap = rate.filter(|rate| *rate > 0.0).map_or(Span::ZERO, |rate| {
            Span::from_nanos(floor_u64(1e9 / rate)).unwrap_or(Span::MAX)
        });
        pacer.next = pacer.next.max(now).saturating_add(gap);
        self.pacer = Some(pacer);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, at, drain, endpoint, sender};
    use crate::endpoint::{Endpoint, Recovery};

    #[test]
    fn in_slow_start_a_window_is_paced_over_half_a_round_trip() {
        let endpoint = Endpoint {
            pacing: true,
            ..endpoint(true, Recovery::Prr, 10)
        };
        let mut sender = sender(endpoint, None);
        // No RTT sample yet: the initial window is sent at once.
        assert_eq!(drain(&mut sender, at(0)).len(), 10);
        sender.on_ack(at(550), &ack(10, &[]));
        // cwnd 11 and an RTT of 550 ms: 40 packets per second, one every 25 ms.
        let mut sent = Vec::new();
        let mut now = at(550);
        while drain(&mut sender, now).len() == 1 {
            sent.push(now);
            now = sender.pacing_release().unwrap_or(now);
        }
        let expected: Vec<_> = (0..11).map(|packet| at(550 + 25 * packet)).collect();
        assert_eq!(sent, expected);
        assert_eq!(sender.pacing_release(), None);
    }
}
