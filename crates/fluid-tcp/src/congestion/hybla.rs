//! Hybla: Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International
//! Journal of Satellite Communications and Networking 22 (2004).
//!
//! A connection grows over time like one with an RTT of RTT0 (`rtt0`, 25 ms, as in Linux's `tcp_hybla.c`; ns-3's
//! `tcp-hybla.cc` has 50 ms). With ρ = max(RTT/RTT0, 1), an ACK adds 2^ρ − 1 in slow start and ρ²/cwnd in congestion
//! avoidance. The window is cut like NewReno's.
//!
//! Where the paper leaves a choice:
//! - growth is counted per ACK, as in `tcp_hybla.c`, also if other controls count segments (`--growth`). Where they
//!   count ACKs, too, Hybla and NewReno are equal at RTT0, also with delayed ACKs;
//! - ρ follows from the smallest RTT measured (`tcp_hybla.c` takes the smallest smoothed RTT). The smoothed RTT
//!   contains the queue, and growth that increases with the queue would run away.
//!
//! Named deviations:
//! - the initial window is the profile's, not ρ times a window: ρ is unknown before the first RTT (Linux measures it in
//!   the handshake);
//! - as in `tcp_hybla.c`, 2^ρ uses ρ of at most 16 (the older version in ns-2 has no limit), slow start does not pass
//!   ssthresh, and the window is at most 65 535 segments. Before the first loss ssthresh is not set: `estimate=on` or a
//!   receiver's window keeps the first slow start from flooding the queue. Later, ρ² segments per round may still flood
//!   it;
//! - in Linux the window grows like NewReno's after a timeout, until what was outstanding is acknowledged. Here it does
//!   not: the goodput then stays nearer to that of ns-2 with the Linux module;
//! - `estimate=on` sets the first ssthresh to the bandwidth-delay product, from the spacing of the first two ACKs that
//!   arrive apart within a round (Hoe 1996 takes three); until then slow start is NewReno's;
//! - no pacing.

use tmt_core::types::{Span, Time, to_f64};

use super::{
    AckEvent, CongestionControl, CongestionEvent, Entry, MIN_SSTHRESH, Make, Parameter, Window,
};
use tmt_core::math::num::pow;

/// TCP Hybla as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "hybla",
    about: "Hybla: grows like a connection with an RTT of rtt0 milliseconds",
    parameters: &[
        Parameter::number("rtt0", 25.0, 0.1, 10_000.0),
        Parameter::switch("estimate", false),
    ],
    examples: &["hybla", "hybla:rtt0=50,estimate=on"],
    make: Make(|connection, parameters| {
        let pair = parameters.is_on("estimate").then(PacketPair::default);
        let rtt0 = parameters.number("rtt0") / 1e3;
        Box::new(Hybla::new(connection.window(), rtt0, pair))
    }),
};

/// Largest ρ in the increment of slow start.
const MAX_RHO: f64 = 16.0;

/// Largest window, segments.
const MAX_WINDOW: f64 = 65_535.0;

#[derive(Debug, Clone)]
struct Hybla {
    /// RTT0, s.
    rtt0: f64,
    window: Window,
    min_rtt: Option<Span>,
    rho: f64,
    /// 2^ρ − 1, segments per ACK.
    slow_start_increment: f64,
    pair: Option<PacketPair>,
}

/// The packet pair that estimates the first ssthresh.
#[derive(Debug, Clone, Default)]
struct PacketPair {
    /// Time and round of the latest ACK.
    last: Option<(Time, u64)>,
    /// Bandwidth estimate, segments per second.
    rate: Option<f64>,
}

impl PacketPair {
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
    fn new(window: Window, rtt0: f64, pair: Option<PacketPair>) -> Self {
        Self {
            rtt0,
            window,
            min_rtt: None,
            rho: 1.0,
            slow_start_increment: 1.0,
            pair,
        }
    }

    /// First ssthresh, once the packet pair has measured the bandwidth.
    fn estimate(&self) -> Option<f64> {
        let rate = self.pair.as_ref()?.rate?;
        Some((rate * self.min_rtt?.as_secs_f64()).max(MIN_SSTHRESH))
    }

    fn slow_start(&mut self) {
        if self.window.ssthresh.is_none() {
            self.window.ssthresh = self.estimate();
        }
        let next = self.window.cwnd + 1.0;
        self.window.cwnd = match self.window.ssthresh {
            None if self.pair.is_some() => next,
            // At most to ssthresh, or by one segment like NewReno.
            Some(ssthresh) => {
                (self.window.cwnd + self.slow_start_increment).min(ssthresh.max(next))
            }
            None => self.window.cwnd + self.slow_start_increment,
        };
    }
}

impl CongestionControl for Hybla {
    fn observe(&mut self, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt
            && self.min_rtt.is_none_or(|min_rtt| rtt < min_rtt)
        {
            self.min_rtt = Some(rtt);
            self.rho = (rtt.as_secs_f64() / self.rtt0).max(1.0);
            self.slow_start_increment = pow(2.0, self.rho.min(MAX_RHO)) - 1.0;
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
        self.window.cwnd = self.window.cwnd.min(MAX_WINDOW);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.window.cut(event, event.in_flight / 2.0);
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

    fn receive(cc: &mut Hybla, ack: &AckEvent) {
        cc.observe(ack);
        cc.on_ack(ack);
    }

    #[test]
    fn an_ack_adds_two_to_the_rho_minus_one_in_slow_start_and_then_rho_squared_over_cwnd() {
        // RTT 100 ms, ρ = 4: 15 in slow start, 16/cwnd in congestion avoidance.
        let mut cc = Hybla::new(Window::new(2.0), 0.025, None);
        receive(&mut cc, &ack(100, 100));
        assert!((cc.cwnd() - 17.0).abs() < 1e-9);
        cc.on_congestion(&CongestionEvent {
            now: Time::ZERO,
            in_flight: 64.0,
            cause: Cause::FastRetransmit,
        });
        // A queue lengthens the RTT but does not speed up growth.
        receive(&mut cc, &ack(300, 200));
        assert!((cc.cwnd() - 32.5).abs() < 1e-9);
    }

    #[test]
    fn slow_start_stops_at_ssthresh() {
        let mut cc = Hybla::new(Window::new(2.0), 0.025, None);
        cc.on_congestion(&CongestionEvent {
            now: Time::ZERO,
            in_flight: 40.0,
            cause: Cause::Timeout,
        });
        receive(&mut cc, &ack(500, 500));
        assert!((cc.cwnd() - 20.0).abs() < 1e-9, "{}", cc.cwnd());
    }

    #[test]
    fn the_window_is_at_most_that_of_linux() {
        let mut cc = Hybla::new(Window::new(2.0), 0.025, None);
        for _ in 0..3 {
            receive(&mut cc, &ack(500, 500));
        }
        assert!((cc.cwnd() - 65_535.0).abs() < 1e-9, "{}", cc.cwnd());
    }

    #[test]
    fn a_packet_pair_estimates_the_bandwidth_delay_product() {
        // ACKs 5 ms apart and an RTT of 500 ms: 100 segments.
        let mut cc = Hybla::new(Window::new(2.0), 0.025, Some(PacketPair::default()));
        receive(&mut cc, &ack(500, 500));
        assert!((cc.cwnd() - 3.0).abs() < 1e-9);
        receive(&mut cc, &ack(505, 505));
        assert!((cc.ssthresh().unwrap() - 100.0).abs() < 1e-9);
        assert!((cc.cwnd() - 100.0).abs() < 1e-9);
    }
}
