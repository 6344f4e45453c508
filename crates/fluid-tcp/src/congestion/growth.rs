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

    /// Count of an ACK: one for itself, or the segments that it delivers.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ack(segments: u64) -> AckEvent {
        AckEvent {
            acked: 1,
            delivered: segments,
            ..AckEvent::default()
        }
    }

    fn window(cwnd: f64, ssthresh: f64) -> Window {
        Window {
            cwnd,
            ssthresh: Some(ssthresh),
        }
    }

    #[test]
    fn what_slow_start_leaves_goes_on_into_congestion_avoidance() {
        // From 9 to 10 in slow start; 4 of 5 segments are left: 14 in all make the window 11, and 4 remain.
        let mut reno = Reno::new(Growth::Segments);
        let mut window = window(9.0, 10.0);
        for (segments, cwnd) in [(5, 10.0), (5, 10.0), (5, 11.0)] {
            reno.grow(&mut window, &ack(segments));
            assert!((window.cwnd - cwnd).abs() < 1e-12, "{window:?} {reno:?}");
        }
        assert_eq!(reno.credit, 4);
        assert!((reno.cut(5.5) - 5.0).abs() < 1e-12 && reno.credit == 0);
    }

    #[test]
    fn credit_from_a_larger_window_counts_once() {
        // `tcp_cong_avoid_ai`: 99 segments kept at w = 100 add one segment at w = 10, not nine.
        let mut reno = Reno::new(Growth::Segments);
        let mut window = window(100.0, 50.0);
        reno.add_whole(&mut window, 100, 99);
        reno.add_whole(&mut window, 10, 1);
        assert!((window.cwnd - 101.0).abs() < 1e-12 && reno.credit == 1);
    }

    #[test]
    fn growth_by_acks_ignores_what_an_ack_covers() {
        let mut reno = Reno::new(Growth::Acks);
        let mut window = window(9.0, 10.0);
        reno.grow(&mut window, &ack(5));
        assert!((window.cwnd - 10.0).abs() < 1e-12);
        reno.grow(&mut window, &ack(5));
        assert!((window.cwnd - 10.1).abs() < 1e-12);
        assert!((reno.cut(5.5) - 5.5).abs() < 1e-12);
    }

    proptest! {
        /// By segments, the window depends on how many segments were delivered, not on how many ACKs reported them; it
        /// is whole, and a window of w becomes w + 1 after w segments.
        #[test]
        fn stretched_acks_grow_the_window_alike(
            initial in 1u32..50, threshold in 2u32..60, counts in proptest::collection::vec(1u64..6, 1..300),
        ) {
            let (mut stretched, mut single) = (Reno::new(Growth::Segments), Reno::new(Growth::Segments));
            let start = window(initial.into(), threshold.into());
            let (mut by_ack, mut by_segment) = (start, start);
            let (mut delivered, mut cwnd) = (0, u64::from(initial));
            for count in counts {
                stretched.grow(&mut by_ack, &ack(count));
                for _ in 0..count {
                    single.grow(&mut by_segment, &ack(1));
                }
                delivered += count;
                prop_assert!((by_ack.cwnd - by_segment.cwnd).abs() <= 2.0);
                prop_assert!(by_ack.cwnd.fract() == 0.0);
            }
            while delivered > 0 {
                let needed = if cwnd < threshold.into() { 1 } else { cwnd };
                if delivered < needed { break }
                delivered -= needed;
                cwnd += 1;
            }
            prop_assert_eq!(floor_u64(by_segment.cwnd), cwnd);
        }
    }
}
