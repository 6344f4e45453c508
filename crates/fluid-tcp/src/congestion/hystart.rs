//! HyStart++, RFC 9406: the first slow start ends when round-trip times grow, not when the queue overflows.
//!
//! A round trip whose smallest time is more than a threshold above that of the round trip before it begins
//! conservative slow start (CSS, §4.2), which grows a quarter as fast; a round trip that is shorter again leads back.
//! After five round trips of CSS the window is the threshold. A loss or a mark ends it, as any slow start.
//!
//! Growth is by segments acknowledged, at most `L` an acknowledgement (§4.2): delayed acknowledgements do not slow it
//! down as they do the slow start without. The smallest time of a round trip is that of its first segments, which
//! left before the rest of their window queued, so a queue is told a round trip after it stands, when the window has
//! doubled once more: a queue of one bandwidth-delay product overflows all the same, but by less.
//!
//! Named deviations: `L` is 8 where the sender is paced, too (§4.3 lets it be infinite there); a round-trip time
//! counts where the window may grow. As §4.2 recommends, only the first slow start is concerned.

use tmt_core::types::{Span, to_f64};

use super::{AckEvent, MIN_SSTHRESH, Window};

/// `MIN_RTT_THRESH`, `MAX_RTT_THRESH` and `MIN_RTT_DIVISOR` (§4.3).
const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;

/// `N_RTT_SAMPLE`: times of a round trip before its smallest tells something.
const N_RTT_SAMPLE: u32 = 8;

/// `CSS_GROWTH_DIVISOR`, `CSS_ROUNDS`
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;

/// `L`: segments that an acknowledgement counts for at most.
const L: u64 = 8;

/// Round-trip times of the first slow start.
#[derive(Debug, Clone, Default)]
pub(super) struct HyStart {
    round: u64,
    /// `lastRoundMinRTT`, `currentRoundMinRTT`, `rttSampleCount`.
    last: Option<Span>,
    current: Option<Span>,
    samples: u32,
    /// Conservative slow start: `cssBaselineMinRtt`, and round trips that have ended in it, the one it began in included.
    css: Option<(Span, u32)>,
}

/// How far above `last` a round trip shows a queue.
fn threshold(last: Span) -> Span {
    let share = last.as_nanos() / MIN_RTT_DIVISOR;
    Span::from_nanos(share)
        .unwrap_or(MAX_RTT_THRESH)
        .clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

impl HyStart {
    /// Segments that the window grows by; none once slow start is over.
    fn growth(&mut self, ack: &AckEvent) -> Option<f64> {
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
            self.judge();
        }
        let divisor = self.css.map_or(1.0, |_| CSS_GROWTH_DIVISOR);
        Some(to_f64(ack.acked.min(L)) / divisor)
    }

    /// Into conservative slow start, or out of it.
    fn judge(&mut self) {
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

/// What an acknowledgement in slow start makes of the window and the threshold; by one segment without `hystart`,
/// and after the first slow start.
pub(super) fn slow_start(hystart: &mut Option<HyStart>, ack: &AckEvent, window: &mut Window) {
    match hystart.as_mut().filter(|_| window.ssthresh.is_none()) {
        None => window.cwnd += 1.0,
        Some(hystart) => match hystart.growth(ack) {
            Some(growth) => window.cwnd += growth,
            None => window.ssthresh = Some(window.cwnd.max(MIN_SSTHRESH)),
        },
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

    /// `count` acknowledgements of one segment in this round trip, each after `rtt` ms; what the last one adds.
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
        // §4.2.
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
    fn an_acknowledgement_counts_for_eight_segments_at_most_and_a_quarter_of_it_in_css() {
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
    fn the_eighth_time_of_a_longer_round_trip_begins_css() {
        for (rtt, slows) in [(112, false), (113, true)] {
            // 100 ms and its eighth, 12.5 ms.
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
    fn one_short_time_among_many_long_ones_is_no_queue() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 1, 500, 20);
        round(&mut hystart, 2, 500, 1);
        is(round(&mut hystart, 2, 900, 50), 1.0);
    }

    #[test]
    fn css_ends_with_the_fifth_round_trip_the_one_it_began_in_included() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 1, 100, 10);
        for number in 2..=6 {
            is(round(&mut hystart, number, 150, 10), 0.25);
        }
        assert_eq!(round(&mut hystart, 7, 150, 1), None);
    }

    #[test]
    fn a_round_trip_below_that_which_began_css_leads_back() {
        let mut hystart = HyStart::default();
        round(&mut hystart, 1, 100, 10);
        is(round(&mut hystart, 2, 150, 10), 0.25);
        // Jitter: not before the eighth time.
        is(round(&mut hystart, 3, 149, 7), 0.25);
        is(round(&mut hystart, 3, 149, 1), 1.0);
        // And from there the next rise begins it anew, with its five round trips.
        is(round(&mut hystart, 4, 165, 10), 0.25);
        for number in 5..=8 {
            is(round(&mut hystart, number, 165, 10), 0.25);
        }
        assert_eq!(round(&mut hystart, 9, 165, 1), None);
    }

    #[test]
    fn only_the_first_slow_start_is_concerned() {
        let mut hystart = Some(HyStart::default());
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: Some(20.0),
        };
        slow_start(&mut hystart, &ack(1, 100, 2), &mut window);
        assert!((window.cwnd - 11.0).abs() < 1e-12);
        window.ssthresh = None;
        slow_start(&mut hystart, &ack(1, 100, 2), &mut window);
        assert!((window.cwnd - 13.0).abs() < 1e-12 && window.ssthresh.is_none());
    }
}
