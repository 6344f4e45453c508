//! HyStart++, RFC 9406: ends the first slow start when the RTT grows, before the queue overflows.
//!
//! If the smallest RTT of a round exceeds that of the previous round by a threshold, conservative slow start begins
//! (CSS, Sec. 4.2), which grows a quarter as fast. A shorter RTT returns to slow start. After five rounds of CSS the
//! window becomes ssthresh. A loss or a congestion mark ends HyStart++, like any slow start.
//!
//! Growth counts acknowledged segments, at most `L` per ACK (Sec. 4.2), so delayed ACKs do not slow it. The smallest
//! RTT of a round belongs to its first segments, which were sent before the rest of their window queued. A queue is
//! therefore detected one round late, when the window has doubled once more: a queue of one bandwidth-delay product
//! still overflows, but by less.
//!
//! Named deviations: `L` is 8 even if the sender paces (Sec. 4.3 allows infinity then); an RTT sample counts only where
//! the window may grow. As Sec. 4.2 recommends, only the first slow start uses HyStart++.

use tmt_core::types::{Span, to_f64};

use super::super::AckEvent;

/// `MIN_RTT_THRESH`, `MAX_RTT_THRESH` and `MIN_RTT_DIVISOR` (Sec. 4.3).
const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;

/// `N_RTT_SAMPLE`: RTT samples of a round before its smallest counts.
const N_RTT_SAMPLE: u32 = 8;

/// `CSS_GROWTH_DIVISOR` and `CSS_ROUNDS` (Sec. 4.3).
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;

/// `L`: most segments that one ACK counts for.
const L: u64 = 8;

/// RTT samples of the first slow start.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStart {
    round: u64,
    /// `lastRoundMinRTT`, `currentRoundMinRTT`, `rttSampleCount`.
    last: Option<Span>,
    current: Option<Span>,
    samples: u32,
    /// Conservative slow start: `cssBaselineMinRtt`, and rounds that have ended in it, including the one it began in.
    css: Option<(Span, u32)>,
}

/// `RttThresh`: increase over `last` that indicates a queue.
fn threshold(last: Span) -> Span {
    let share = last.as_nanos() / MIN_RTT_DIVISOR;
    Span::from_nanos(share)
        .unwrap_or(MAX_RTT_THRESH)
        .clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

impl HyStart {
    /// Segments by which the window grows; `None` once slow start is over.
    pub(super) fn growth(&mut self, ack: &AckEvent) -> Option<f64> {
        if ack.round != self.round {
            self.round = ack.round;
            self.last = self.current.take();
            self.samples = 0;
            if let Some((_, rounds)) = &mut self.css {
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    return None;
                }
            }
        }
        if let Some(rtt) = ack.rtt {
            self.samples += 1;
            self.current = Some(self.current.map_or(rtt, |current| current.min(rtt)));
        }
        if self.samples >= N_RTT_SAMPLE {
            self.update_css();
        }
        let divisor = self.css.map_or(1.0, |_| CSS_GROWTH_DIVISOR);
        Some(to_f64(ack.acked.min(L)) / divisor)
    }

    /// Enters or leaves conservative slow start.
    fn update_css(&mut self) {
        match (self.current, self.css, self.last) {
            (Some(current), Some((baseline, _)), _) if current < baseline => self.css = None,
            (Some(current), None, Some(last))
                if current >= last.saturating_add(threshold(last)) =>
            {
                self.css = Some((current, 0));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(round: u64, rtt: u32, acked: u64) -> AckEvent {
        AckEvent {
            acked,
            round,
            rtt: Some(Span::from_millis(rtt)),
            ..AckEvent::default()
        }
    }

    /// `count` ACKs of one segment in this round, each with an RTT of `rtt` ms; returns the growth by the last one.
    fn round(hystart: &mut HyStart, round: u64, rtt: u32, count: u32) -> Option<f64> {
        (0..count)
            .map(|_| hystart.growth(&ack(round, rtt, 1)))
            .last()
            .unwrap()
    }

    fn is(growth: Option<f64>, expected: f64) {
        assert!((growth.unwrap() - expected).abs() < 1e-12, "{growth:?}");
    }

    #[test]
    fn the_threshold_is_an_eighth_from_4_to_16_ms() {
        // Sec. 4.2.
        for (last, expected) in [
            (8, 4000),
            (32, 4000),
            (100, 12_500),
            (128, 16_000),
            (500, 16_000),
        ] {
            let micros = threshold(Span::from_millis(last)).as_nanos() / 1000;
            assert_eq!(micros, expected, "{last} ms");
        }
    }

    #[test]
    fn an_ack_counts_for_at_most_eight_segments_and_a_quarter_of_that_in_css() {
        let mut hystart = HyStart::default();
        for (acked, expected) in [(1, 1.0), (2, 2.0), (8, 8.0), (9, 8.0)] {
            is(hystart.growth(&ack(1, 100, acked)), expected);
        }
        round(&mut hystart, 1, 100, 8);
        round(&mut hystart, 2, 120, 8);
        for (acked, expected) in [(1, 0.25), (2, 0.5), (9, 2.0)] {
            is(hystart.growth(&ack(2, 120, acked)), expected);
        }
    }

    #[test]
    fn the_eighth_sample_of_a_longer_round_begins_css() {
        for (rtt, slows) in [(112, false), (113, true)] {
            // 100 ms and an eighth of it, 12.5 ms.
            let mut hystart = HyStart::default();
            round(&mut hystart, 1, 100, 20);
            is(round(&mut hystart, 2, rtt, 7), 1.0);
            is(
                round(&mut hystart, 2, rtt, 1),
                if slows { 0.25 } else { 1.0 },
            );
        }
    }

    #[test]
    fn one_short_sample_among_many_long_ones_indicates_no_queue() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 1, 500, 20);
        round(&mut hystart, 2, 500, 1);
        is(round(&mut hystart, 2, 900, 50), 1.0);
    }

    #[test]
    fn css_ends_with_its_fifth_round_including_the_one_it_began_in() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 1, 100, 10);
        for number in 2..=6 {
            is(round(&mut hystart, number, 150, 10), 0.25);
        }
        assert_eq!(round(&mut hystart, 7, 150, 1), None);
    }

    #[test]
    fn an_rtt_below_the_css_baseline_returns_to_slow_start() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 1, 100, 10);
        is(round(&mut hystart, 2, 150, 10), 0.25);
        // Jitter: not before the eighth sample.
        is(round(&mut hystart, 3, 149, 7), 0.25);
        is(round(&mut hystart, 3, 149, 1), 1.0);
        // The next rise begins CSS again, with its five rounds.
        is(round(&mut hystart, 4, 165, 10), 0.25);
        for number in 5..=8 {
            is(round(&mut hystart, number, 165, 10), 0.25);
        }
        assert_eq!(round(&mut hystart, 9, 165, 1), None);
    }
}
