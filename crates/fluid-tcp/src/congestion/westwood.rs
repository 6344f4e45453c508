//! Westwood+: Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
//! congestion control", ACM SIGCOMM CCR 34 (2004).
//!
//! Once per RTT, the segments newly delivered divided by the time since the last sample are a bandwidth sample. BWE is
//! the low-pass filtered bandwidth (`filter` is the weight of the old estimate). After a loss, ssthresh =
//! max(2, BWE · RTTmin) segments, and cwnd is at most that. After a timeout, cwnd = 1. Growth is NewReno's
//! (`growth.rs`); by segments, the threshold is rounded down, as in Linux.
//!
//! Where the paper leaves a choice: a sample ends with the first ACK that arrives at least the latest RTT after the
//! previous sample; the first sample is the first estimate; ACKs in recovery count, too. `filter` is 7/8, the weight
//! in Linux (`net/ipv4/tcp_westwood.c`). Linux chains two such filters and counts whole bytes per jiffy. Each filter
//! rounds down, and a rising one stops 7 short of its input, so its estimate may be 14 bytes per jiffy too low. ns-3
//! (`tcp-westwood.cc`) has Tustin's form with 0.9, or no filter.
//!
//! `floor` is ours: the share of the window that a cut leaves at least. The paper has none, nor has Linux. In ns-2 2.35
//! (`tcp/tcp-linux.cc` with `tcp/linux/src/tcp_westwood.c`) it is 0.5: ssthresh is Reno's, a recovery that ends below it
//! continues there, and a timeout does not use the estimate.
//!
//! Named deviations: before the first estimate, a cut is NewReno's; a repeated timeout leaves ssthresh unchanged
//! (RFC 5681, Sec. 3.1).

use tmt_core::types::{Span, Time, to_f64};

use super::growth::Reno;
use super::{AckEvent, CongestionControl, CongestionEvent, Entry, Make, Parameter, Window};

/// TCP Westwood+ as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "westwood",
    about: "Westwood+: cuts to the estimated bandwidth-delay product",
    parameters: &[
        Parameter::number("filter", 0.875, 0.0, 0.999),
        Parameter::number("floor", 0.0, 0.0, 1.0),
    ],
    examples: &["westwood", "westwood:filter=0.5", "westwood:floor=0.5"],
    make: Make(|connection, parameters| {
        Box::new(Westwood {
            filter: parameters.number("filter"),
            floor: parameters.number("floor"),
            window: connection.window(),
            reno: Reno::new(connection.implementation.growth),
            ..Westwood::default()
        })
    }),
};

#[derive(Debug, Clone, Default)]
struct Westwood {
    /// Weight of the old estimate.
    filter: f64,
    /// Share of the window that a cut leaves at least.
    floor: f64,
    window: Window,
    reno: Reno,
    /// RTTmin.
    rtt_min: Option<Span>,
    latest_rtt: Option<Span>,
    /// Time at which the current sample began; `None` before the first delivery.
    sample_start: Option<Time>,
    /// Segments delivered since then.
    delivered: u64,
    /// BWE, segments per second.
    bwe: Option<f64>,
}

impl Westwood {
    fn end_sample(&mut self, now: Time, length: Span) {
        let sample = to_f64(self.delivered) / length.as_secs_f64();
        self.bwe = Some(self.bwe.map_or(sample, |rate| {
            self.filter * rate + (1.0 - self.filter) * sample
        }));
        self.sample_start = Some(now);
        self.delivered = 0;
    }

    /// BWE · RTTmin, segments.
    fn bdp(&self) -> Option<f64> {
        Some(self.bwe? * self.rtt_min?.as_secs_f64())
    }
}

impl CongestionControl for Westwood {
    fn observe(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            self.latest_rtt = Some(rtt);
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |min_rtt| min_rtt.min(rtt)));
        }
        let Some(since) = self.sample_start else {
            // The first delivery only starts the clock: how long it took is unknown.
            self.sample_start = (ack.delivered > 0).then_some(ack.now);
            return;
        };
        self.delivered += ack.delivered;
        let length = ack.now.since(since);
        if !length.is_zero() && self.latest_rtt.is_some_and(|rtt| length >= rtt) {
            self.end_sample(ack.now, length);
        }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        self.reno.grow(&mut self.window, ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let before = self.window.cwnd;
        let bdp = self.bdp().unwrap_or(event.in_flight / 2.0);
        let threshold = self.reno.cut(bdp.max(self.floor * event.in_flight));
        self.window.cut(event, threshold);
        // The estimate may exceed the window, but a loss must not grow it.
        self.window.cwnd = self.window.cwnd.min(before);
    }

    fn window(&self) -> Window {
        self.window
    }

    fn on_idle(&mut self, window: Window) {
        self.window = window;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cause;
    use super::*;

    fn westwood(initial_window: f64) -> Westwood {
        Westwood {
            filter: 0.875,
            window: Window::new(initial_window),
            ..Westwood::default()
        }
    }

    /// Delivers `count` segments, one every `apart` ms, each with an RTT of `rtt` ms.
    fn arrivals(cc: &mut Westwood, now: &mut Time, count: u32, apart: u32, rtt: u32) {
        for _ in 0..count {
            *now = now.saturating_add(Span::from_millis(apart));
            cc.observe(&AckEvent {
                now: *now,
                acked: 1,
                delivered: 1,
                rtt: Some(Span::from_millis(rtt)),
                ..AckEvent::default()
            });
        }
    }

    fn lose(cc: &mut Westwood, cause: Cause) {
        cc.on_congestion(&CongestionEvent {
            now: Time::ZERO,
            in_flight: 200.0,
            cause,
        });
    }

    #[test]
    fn a_loss_sets_the_window_to_bwe_times_the_smallest_rtt() {
        // 100 segments/s; 500 ms at first, then 900 ms with a queue: 50 segments, not 90 or half of 200.
        let mut cc = westwood(200.0);
        let mut now = Time::ZERO;
        arrivals(&mut cc, &mut now, 60, 10, 500);
        arrivals(&mut cc, &mut now, 1000, 10, 900);
        lose(&mut cc, Cause::FastRetransmit);
        assert!((cc.cwnd() - 50.0).abs() < 1e-6, "{cc:?}");
        lose(&mut cc, Cause::Timeout);
        assert!((cc.cwnd() - 1.0).abs() < 1e-12);
        assert!((cc.ssthresh().unwrap() - 50.0).abs() < 1e-6);
    }

    #[test]
    fn the_estimate_moves_by_an_eighth_per_round() {
        let mut cc = westwood(200.0);
        let mut now = Time::ZERO;
        arrivals(&mut cc, &mut now, 51, 10, 500);
        assert!((cc.bwe.unwrap() - 100.0).abs() < 1e-9);
        // Half the rate for one RTT of 500 ms.
        arrivals(&mut cc, &mut now, 25, 20, 500);
        assert!((cc.bwe.unwrap() - (0.875 * 100.0 + 0.125 * 50.0)).abs() < 1e-9);
    }

    #[test]
    fn a_loss_does_not_raise_a_window_below_the_estimate() {
        let mut cc = westwood(10.0);
        let mut now = Time::ZERO;
        arrivals(&mut cc, &mut now, 200, 10, 500);
        lose(&mut cc, Cause::FastRetransmit);
        assert!((cc.cwnd() - 10.0).abs() < 1e-12);
    }

    #[test]
    fn in_slow_start_the_estimate_lags_behind_and_a_floor_of_half_keeps_newrenos_window() {
        // Each round delivers twice the segments of the one before: 4, 8, 16, 32 in 480 ms each.
        let mut cc = westwood(64.0);
        let mut now = Time::ZERO;
        arrivals(&mut cc, &mut now, 1, 480, 480);
        for segments in [4, 8, 16, 32] {
            arrivals(&mut cc, &mut now, segments, 480 / segments, 480);
        }
        let mut floored = Westwood {
            floor: 0.5,
            ..cc.clone()
        };
        lose(&mut cc, Cause::FastRetransmit);
        // ((4 · 7/8 + 8/8) · 7/8 + 16/8) · 7/8 + 32/8, a seventh of the window.
        assert!((cc.cwnd() - 9.195_312_5).abs() < 1e-9, "{cc:?}");
        for cause in [Cause::FastRetransmit, Cause::Timeout] {
            floored.on_congestion(&CongestionEvent {
                now,
                in_flight: 64.0,
                cause,
            });
            assert_eq!(floored.ssthresh(), Some(32.0));
        }
    }

    #[test]
    fn a_loss_before_the_first_estimate_halves_what_is_in_flight() {
        let mut cc = westwood(300.0);
        lose(&mut cc, Cause::FastRetransmit);
        assert!((cc.cwnd() - 100.0).abs() < 1e-12);
    }
}
