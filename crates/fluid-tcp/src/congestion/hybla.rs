//! Hybla: Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International
//! Journal of Satellite Communications and Networking 22 (2004).
//!
//! A connection grows in time as one with a round trip of RTT0 (25 ms, `rtt0` in ms; 25 in Linux's `tcp_hybla.c`,
//! too, 50 in ns-3's `tcp-hybla.cc`) would: with
//! ρ = max(RTT/RTT0, 1) an acknowledgement adds 2^ρ − 1 in slow start and ρ²/cwnd in congestion avoidance.
//! A window is cut as NewReno's.
//!
//! Where the paper leaves a choice:
//! - growth is counted by acknowledgements, as NewReno's here is, so that at RTT0 the two are the same,
//!   with delayed acknowledgements, too;
//! - ρ is that of the smallest round trip measured (as in `tcp_hybla.c`, whose smallest is of smoothed ones): the
//!   smoothed one contains the queue, and a connection that grows the faster the fuller the queue is would
//!   run away.
//!
//! Named deviations:
//! - the initial window is the profile's, not ρ times a window: ρ is not known before the first round trip
//!   (Linux knows it from the handshake);
//! - 2^ρ counts ρ to 16 at most (as in Linux today; the older one in ns-2 has no limit), and slow start goes no
//!   further than the threshold. Before the first loss there is none: `estimate=on` or a receiver's window keeps
//!   the first slow start from flooding the queue; ρ² segments a round trip may do that later all the same;
//! - `estimate=on` sets the first threshold to the bandwidth-delay product, from the spacing of the first two
//!   acknowledgements that come apart within a round trip (Hoe 1996 takes three); slow start is NewReno's
//!   until then;
//! - no pacing.

use tmt_core::types::{Span, Time, to_f64};

use super::{
    AckEvent, CongestionControl, CongestionEvent, Entry, LEAST_SSTHRESH, Parameter, Window,
};
use tmt_core::math::num::pow;

/// TCP Hybla as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "hybla",
    about: "Hybla: growth as with a round trip of rtt0 milliseconds",
    parameters: &[
        Parameter::number("rtt0", 25.0, 0.1, 10_000.0),
        Parameter::switch("estimate", false),
    ],
    examples: &["hybla", "hybla:rtt0=50,estimate=on"],
    make: |initial_window, parameters| {
        let pair = parameters.is_on("estimate").then(Pair::default);
        let rtt0 = parameters.number("rtt0") / 1e3;
        Box::new(Hybla::new(initial_window, rtt0, pair))
    },
};

/// The largest ρ that slow start counts with.
const MOST_RHO: f64 = 16.0;

#[derive(Debug, Clone)]
struct Hybla {
    /// RTT0, s.
    rtt0: f64,
    window: Window,
    shortest: Option<Span>,
    rho: f64,
    /// 2^ρ − 1.
    step: f64,
    pair: Option<Pair>,
}

/// The packet pair that tells the first threshold.
#[derive(Debug, Clone, Default)]
struct Pair {
    /// The latest acknowledgement: when, and in which round.
    last: Option<(Time, u64)>,
    /// Segments a second.
    rate: Option<f64>,
}

impl Pair {
    fn observe(&mut self, ack: &AckEvent) {
        if let Some((at, round)) = self.last
            && round == ack.round
            && ack.now > at
            && self.rate.is_none()
        {
            self.rate = Some(to_f64(ack.delivered) / ack.now.since(at).as_secs_f64());
        }
        self.last = Some((ack.now, ack.round));
    }
}

impl Hybla {
    fn new(initial_window: f64, rtt0: f64, pair: Option<Pair>) -> Self {
        Self {
            rtt0,
            window: Window::new(initial_window),
            shortest: None,
            rho: 1.0,
            step: 1.0,
            pair,
        }
    }

    /// The first threshold, once the packet pair tells it.
    fn estimate(&self) -> Option<f64> {
        let rate = self.pair.as_ref()?.rate?;
        Some((rate * self.shortest?.as_secs_f64()).max(LEAST_SSTHRESH))
    }

    fn slow_start(&mut self) {
        if self.window.ssthresh.is_none() {
            self.window.ssthresh = self.estimate();
        }
        let next = self.window.cwnd + 1.0;
        self.window.cwnd = match self.window.ssthresh {
            None if self.pair.is_some() => next,
            // At most to the threshold, or by one as NewReno.
            Some(ssthresh) => (self.window.cwnd + self.step).min(ssthresh.max(next)),
            None => self.window.cwnd + self.step,
        };
    }
}

impl CongestionControl for Hybla {
    fn observe(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt
            && self.shortest.is_none_or(|shortest| rtt < shortest)
        {
            self.shortest = Some(rtt);
            self.rho = (rtt.as_secs_f64() / self.rtt0).max(1.0);
            self.step = pow(2.0, self.rho.min(MOST_RHO)) - 1.0;
        }
        if let Some(pair) = &mut self.pair
            && ack.delivered > 0
        {
            pair.observe(ack);
        }
    }

    fn on_ack(&mut self, _ack: &AckEvent) {
        if self.window.in_slow_start() {
            self.slow_start();
        } else {
            self.window.cwnd += self.rho * self.rho / self.window.cwnd;
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.window.cut(event, event.in_flight / 2.0);
    }

    fn window(&self) -> Window {
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cause;
    use super::*;

    fn ack(millis: u32, rtt_millis: u32) -> AckEvent {
        AckEvent {
            now: Time::ZERO.saturating_add(Span::from_millis(millis)),
            acked: 1,
            delivered: 1,
            round: 1,
            rtt: Some(Span::from_millis(rtt_millis)),
            ..AckEvent::default()
        }
    }

    fn take(cc: &mut Hybla, ack: &AckEvent) {
        cc.observe(ack);
        cc.on_ack(ack);
    }

    #[test]
    fn an_acknowledgement_adds_two_to_the_rho_less_one_then_rho_squared_over_the_window() {
        // RTT 100 ms, ρ = 4: 15 in slow start, 16/cwnd in congestion avoidance.
        let mut cc = Hybla::new(2.0, 0.025, None);
        take(&mut cc, &ack(100, 100));
        assert!((cc.cwnd() - 17.0).abs() < 1e-9);
        cc.on_congestion(&CongestionEvent {
            now: Time::ZERO,
            in_flight: 64.0,
            cause: Cause::FastRetransmit,
        });
        // A queue makes round trips longer, not the connection faster.
        take(&mut cc, &ack(300, 200));
        assert!((cc.cwnd() - 32.5).abs() < 1e-9);
    }

    #[test]
    fn slow_start_stops_at_the_threshold() {
        let mut cc = Hybla::new(2.0, 0.025, None);
        cc.on_congestion(&CongestionEvent {
            now: Time::ZERO,
            in_flight: 40.0,
            cause: Cause::Timeout,
        });
        take(&mut cc, &ack(500, 500));
        assert!((cc.cwnd() - 20.0).abs() < 1e-9, "{}", cc.cwnd());
    }

    #[test]
    fn a_packet_pair_tells_the_bandwidth_delay_product() {
        // 5 ms apart and 500 ms: 100 segments.
        let mut cc = Hybla::new(2.0, 0.025, Some(Pair::default()));
        take(&mut cc, &ack(500, 500));
        assert!((cc.cwnd() - 3.0).abs() < 1e-9);
        take(&mut cc, &ack(505, 505));
        assert!((cc.ssthresh().unwrap() - 100.0).abs() < 1e-9);
        assert!((cc.cwnd() - 100.0).abs() < 1e-9);
    }
}
