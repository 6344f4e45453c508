//! Westwood+: Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
//! congestion control", ACM SIGCOMM CCR 34 (2004).
//!
//! Once a round trip the segments that acknowledgements told to have arrived, over the time that took, are a
//! sample of the bandwidth; BWE is the samples' low-pass filter (`filter` is the old estimate's weight). After a
//! loss ssthresh = max(2, BWE · RTTmin), in segments, and cwnd is at most that; after a timeout cwnd = 1.
//! Growth is NewReno's.
//!
//! Where the paper leaves a choice: a sample ends with the first acknowledgement that comes at least the latest
//! round trip after the sample before it; the first sample is the first estimate. `filter` is 7/8, the weight in
//! Linux (`net/ipv4/tcp_westwood.c`), which has two such filters one behind the other and counts whole bytes a
//! jiffy: each filter rounds down, and a rising one stops 7 short of its input, so that the estimate may be 14 bytes
//! a jiffy too low. ns-3 (`tcp-westwood.cc`) has Tustin's form with 0.9, or none. Acknowledgements in recovery count,
//! too.
//!
//! Named deviations: before there is an estimate, a cut is NewReno's; a repeated timeout leaves the threshold
//! as it is (RFC 5681 §3.1).

use tmt_core::types::{Span, Time, to_f64};

use super::{AckEvent, CongestionControl, CongestionEvent, Entry, Parameter, Window};

/// TCP Westwood+ as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "westwood",
    about: "Westwood+: cuts to the estimated bandwidth-delay product",
    parameters: &[Parameter::number("filter", 0.875, 0.0, 0.999)],
    examples: &["westwood", "westwood:filter=0.5"],
    make: |initial_window, parameters| {
        Box::new(Westwood::new(initial_window, parameters.number("filter")))
    },
};

#[derive(Debug, Clone, Default)]
struct Westwood {
    /// Weight of the old estimate.
    filter: f64,
    window: Window,
    /// RTTmin.
    shortest: Option<Span>,
    latest: Option<Span>,
    /// When the current sample began; none before the first arrival.
    since: Option<Time>,
    /// Segments that arrived since.
    arrived: u64,
    /// BWE, segments a second.
    rate: Option<f64>,
}

impl Westwood {
    fn new(initial_window: f64, filter: f64) -> Self {
        Self {
            filter,
            window: Window::new(initial_window),
            ..Self::default()
        }
    }

    fn end_sample(&mut self, now: Time, length: Span) {
        let sample = to_f64(self.arrived) / length.as_secs_f64();
        self.rate = Some(self.rate.map_or(sample, |rate| {
            self.filter * rate + (1.0 - self.filter) * sample
        }));
        self.since = Some(now);
        self.arrived = 0;
    }

    /// BWE · RTTmin, segments.
    fn pipe(&self) -> Option<f64> {
        Some(self.rate? * self.shortest?.as_secs_f64())
    }
}

impl CongestionControl for Westwood {
    fn observe(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            self.latest = Some(rtt);
            self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
        }
        let Some(since) = self.since else {
            // What arrives first has been on its way for an unknown time: it only starts the clock.
            self.since = (ack.delivered > 0).then_some(ack.now);
            return;
        };
        self.arrived += ack.delivered;
        let length = ack.now.since(since);
        if !length.is_zero() && self.latest.is_some_and(|rtt| length >= rtt) {
            self.end_sample(ack.now, length);
        }
    }

    fn on_ack(&mut self, _ack: &AckEvent) {
        let starts = self.window.in_slow_start();
        self.window.cwnd += if starts { 1.0 } else { 1.0 / self.window.cwnd };
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        let before = self.window.cwnd;
        let pipe = self.pipe().unwrap_or(event.in_flight / 2.0);
        self.window.cut(event, pipe);
        // The estimate may be above the window, which a loss lets not grow.
        self.window.cwnd = self.window.cwnd.min(before);
    }

    fn window(&self) -> Window {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cause;
    use super::*;

    /// `count` segments arrive, one every `apart`, each on its way for `rtt`.
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
    fn a_loss_leaves_the_estimated_bandwidth_times_the_smallest_round_trip() {
        // 100 segments/s; 500 ms at first, then 900 ms with a queue: 50 segments, not 90 or half of 200.
        let mut cc = Westwood::new(200.0, 0.875);
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
    fn the_estimate_moves_by_an_eighth_a_round_trip() {
        let mut cc = Westwood::new(200.0, 0.875);
        let mut now = Time::ZERO;
        arrivals(&mut cc, &mut now, 51, 10, 500);
        assert!((cc.rate.unwrap() - 100.0).abs() < 1e-9);
        // Half the rate for a round trip of 500 ms.
        arrivals(&mut cc, &mut now, 25, 20, 500);
        assert!((cc.rate.unwrap() - (0.875 * 100.0 + 0.125 * 50.0)).abs() < 1e-9);
    }

    #[test]
    fn a_window_below_the_estimate_is_not_raised_by_a_loss() {
        let mut cc = Westwood::new(10.0, 0.875);
        let mut now = Time::ZERO;
        arrivals(&mut cc, &mut now, 200, 10, 500);
        lose(&mut cc, Cause::FastRetransmit);
        assert!((cc.cwnd() - 10.0).abs() < 1e-12);
    }

    #[test]
    fn a_loss_before_the_first_estimate_halves_what_is_in_flight() {
        let mut cc = Westwood::new(300.0, 0.875);
        lose(&mut cc, Cause::FastRetransmit);
        assert!((cc.cwnd() - 100.0).abs() < 1e-12);
    }
}
