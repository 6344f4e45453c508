//! Reno's growth, by ACKs or by segments.
//!
//! By segments, as in Linux: an ACK counts for the segments that it newly reports as delivered. Slow start stops at
//! ssthresh, and what an ACK leaves goes on into congestion avoidance (`tcp_slow_start`). There, the window grows by
//! one whole segment per `w` delivered; the rest is kept for the next ACK (`tcp_cong_avoid_ai`).

use tmt_core::math::num::floor_u64;
use tmt_core::types::to_f64;

use super::{AckEvent, Growth, Window};

/// Growth of a window, with what it keeps between ACKs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reno {
    by: Growth,
    /// `snd_cwnd_cnt`: segments delivered in congestion avoidance that have not grown the window yet.
    credit: u64,
}

impl Default for Reno {
    fn default() -> Self {
        Self::new(Growth::Acks)
    }
}

impl Reno {
    pub(super) fn new(by: Growth) -> Self {
        Self { by, credit: 0 }
    }

    /// What an ACK counts for: itself, or the segments that it delivers.
    pub(super) fn count(&self, ack: &AckEvent) -> u64 {
        match self.by {
            Growth::Acks => 1,
            Growth::Segments => ack.delivered,
        }
    }

    /// Segments by which slow start grows the window, at most `count`.
    pub(super) fn in_slow_start(&self, window: &Window, count: u64) -> u64 {
        match (self.by, window.ssthresh) {
            (Growth::Segments, Some(ssthresh)) => {
                count.min(floor_u64((ssthresh - window.cwnd).ceil()))
            }
            _ => count,
        }
    }

    /// Grows the window in slow start by `count`; returns what is left for congestion avoidance.
    pub(super) fn slow_start(&self, window: &mut Window, count: u64) -> u64 {
        let grown = self.in_slow_start(window, count);
        window.cwnd += to_f64(grown);
        count - grown
    }

    /// Grows the window in congestion avoidance by one segment per `w` segments, at least 1.
    pub(super) fn avoid_congestion(&mut self, window: &mut Window, w: f64, count: u64) {
        match self.by {
            Growth::Acks => window.cwnd += to_f64(count) / w,
            Growth::Segments => self.add_whole(window, floor_u64(w).max(1), count),
        }
    }

    /// `tcp_cong_avoid_ai`
    pub(super) fn add_whole(&mut self, window: &mut Window, w: u64, count: u64) {
        // Credit from a larger w counts once only.
        if self.credit >= w {
            self.credit = 0;
            window.cwnd += 1.0;
        }
        self.credit += count;
        window.cwnd += to_f64(self.credit / w);
        self.credit %= w;
    }

    /// Grows a window like Reno's.
    pub(super) fn grow(&mut self, window: &mut Window, ack: &AckEvent) {
        let mut count = self.count(ack);
        if window.in_slow_start() {
            count = self.slow_start(window, count);
            if count == 0 {
                return;
            }
        }
        let w = window.cwnd;
        self.avoid_congestion(window, w, count);
    }

    /// Notes a cut, and returns the threshold: `segments`, or with growth by segments the whole ones.
    pub(super) fn cut(&mut self, segments: f64) -> f64 {
        self.credit = 0;
        match self.by {
            Growth::Acks => segments,
            Growth::Segments => segments.floor(),
        }
    }
}
