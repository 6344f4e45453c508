//! Vegas: the window of Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", IEEE
//! Journal on Selected Areas in Communications 13 (1995).
//!
//! Once per round, the window changes with the segments in queues (`backlog.rs`): one more segment if fewer than α
//! (`alpha`, 2 segments) are queued, one less if more than β (`beta`, 4 segments). Slow start doubles the window every
//! other round, and ends if more than γ (`gamma`, 1 segment) are queued. 2 and 4 are the paper's Vegas-2,4; 2, 4 and 1
//! are the values of Linux (`tcp_vegas.c`). The paper's other pair, also that of ns-2's Agent/TCP/Vegas, is 1 and 3.
//!
//! Where the paper leaves a choice, this file follows Linux: slow start ends with the window that fits the path plus
//! one segment; a round without a measurement counts as one without a queue.
//!
//! With growth by segments (`--growth`), three more rules are Linux's (`tcp_vegas_cong_avoid`): windows are whole; slow
//! start grows in every round, by the segments delivered; a round with fewer than three RTTs grows like Reno.
//!
//! Named deviations: the segments in queues are the paper's W (1 − BaseRTT/RTT) (Linux: W (RTT/BaseRTT − 1), which is
//! RTT/BaseRTT times that); losses are detected by the sender's duplicate ACKs and timer, not by the paper's finer clock on
//! the first duplicate ACK. A fast retransmit halves what is in flight (the paper cuts by a quarter after losses
//! detected early).

use super::backlog::Backlog;
use super::growth::Reno;
use super::{
    AckEvent, CongestionControl, CongestionEvent, Entry, Growth, MIN_SSTHRESH, Make, Parameter,
    Window,
};

/// TCP Vegas as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "vegas",
    about: "Vegas: keeps alpha to beta segments in the queue",
    parameters: &[
        Parameter::number("alpha", 2.0, 0.0, 1e6),
        Parameter::number("beta", 4.0, 0.0, 1e6),
        Parameter::number("gamma", 1.0, 0.0, 1e6),
    ],
    examples: &["vegas", "vegas:alpha=1,beta=3,gamma=2"],
    make: Make(|connection, parameters| {
        Box::new(Vegas {
            alpha: parameters.number("alpha"),
            beta: parameters.number("beta"),
            gamma: parameters.number("gamma"),
            window: connection.window(),
            growth: connection.implementation.growth,
            reno: Reno::new(connection.implementation.growth),
            backlog: Backlog::default(),
        })
    }),
};

/// Fewest RTTs of a round that count with growth by segments: fewer may all contain a delayed ACK.
const MIN_SAMPLES: u32 = 3;

#[derive(Debug, Clone)]
struct Vegas {
    alpha: f64,
    beta: f64,
    gamma: f64,
    window: Window,
    growth: Growth,
    reno: Reno,
    backlog: Backlog,
}

impl Vegas {
    fn slow_start(&mut self, ack: &AckEvent, backlog: Option<f64>) {
        if let Some(backlog) = backlog
            && backlog > self.gamma
        {
            let fits = self.window.cwnd - backlog;
            let fits = match self.growth {
                Growth::Acks => fits,
                Growth::Segments => fits.floor(),
            };
            self.window.cwnd = self.window.cwnd.min(fits + 1.0).max(MIN_SSTHRESH);
            self.window.ssthresh = Some(self.window.cwnd);
        } else if self.growth == Growth::Segments || ack.round.is_multiple_of(2) {
            self.reno.slow_start(&mut self.window, self.reno.count(ack));
        }
    }

    fn congestion_avoidance(&mut self, backlog: f64) {
        if backlog < self.alpha {
            self.window.cwnd += 1.0;
        } else if backlog > self.beta {
            self.window.cwnd = (self.window.cwnd - 1.0).max(MIN_SSTHRESH);
            // ssthresh follows, so that the decrease does not return to slow start.
            let Window { cwnd, ssthresh } = self.window;
            self.window.ssthresh = ssthresh.map(|ssthresh| ssthresh.min(cwnd));
        }
    }
}

impl CongestionControl for Vegas {
    fn observe(&mut self, ack: &AckEvent) {
        self.backlog.observe(ack);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let ended = self.backlog.take_ended_round();
        let too_few = |samples| self.growth == Growth::Segments && samples < MIN_SAMPLES;
        if ended.is_some_and(|round| too_few(round.samples)) {
            self.reno.grow(&mut self.window, ack);
            return;
        }
        let backlog = ended.and_then(|round| round.backlog(self.window.cwnd));
        if self.window.in_slow_start() {
            self.slow_start(ack, backlog);
        } else if ended.is_some() {
            self.congestion_avoidance(backlog.unwrap_or(0.0));
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.backlog.reset_round();
        let threshold = self.reno.cut(event.in_flight / 2.0);
        self.window.cut(event, threshold);
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
    use super::super::backlog::path::rounds;
    use super::super::{Algorithm, Cause, Connection, Implementation};
    use super::*;

    fn vegas(text: &str, initial_window: u32) -> Box<dyn CongestionControl> {
        crate::congestion::start(
            &text.parse::<Algorithm>().unwrap(),
            &Connection {
                initial_window,
                ..Connection::default()
            },
        )
    }

    #[test]
    fn the_window_settles_with_alpha_to_beta_segments_queued() {
        for (text, alpha, beta) in [("vegas", 2.0, 4.0), ("vegas:alpha=1,beta=3", 1.0, 3.0)] {
            let mut cc = vegas(text, 2);
            let windows = rounds(cc.as_mut(), 40.0, 1..120);
            let waiting = windows[80..].iter().map(|window| window - 40.0);
            // A round may reflect the window before the last step: one segment of slack.
            let settled = waiting.clone().all(|w| (alpha..=beta + 1.0).contains(&w));
            assert!(settled, "{text}: {windows:?}");
            assert!(windows.iter().all(|window| *window <= 80.0), "{windows:?}");
        }
    }

    #[test]
    fn a_full_queue_drains_by_one_segment_per_round() {
        let mut cc = vegas("vegas", 2);
        cc.on_congestion(&CongestionEvent {
            now: tmt_core::types::Time::ZERO,
            in_flight: 120.0,
            cause: Cause::FastRetransmit,
        });
        // BaseRTT was measured on an empty path.
        cc.observe(&AckEvent {
            rtt: Some(tmt_core::types::Span::from_millis(100)),
            ..AckEvent::default()
        });
        let windows = rounds(cc.as_mut(), 40.0, 1..40);
        let steps = windows.windows(2).take_while(|pair| pair[0] > 46.0);
        assert!(steps.clone().count() >= 14, "{windows:?}");
        for pair in steps {
            assert!((pair[0] - pair[1] - 1.0).abs() < 1e-9, "{windows:?}");
        }
        assert!((42.0..=45.0).contains(&windows[38]), "{windows:?}");
    }

    #[test]
    fn slow_start_doubles_the_window_every_other_round() {
        let mut cc = vegas("vegas", 2);
        let windows = rounds(cc.as_mut(), 1e6, 1..7);
        assert_eq!(windows, [2.0, 4.0, 4.0, 8.0, 8.0, 16.0]);
    }

    #[test]
    fn by_segments_slow_start_doubles_in_every_round_and_windows_are_whole() {
        let algorithm: Algorithm = "vegas".parse().unwrap();
        let mut cc = crate::congestion::start(
            &algorithm,
            &Connection {
                initial_window: 2,
                implementation: Implementation::LINUX,
                ..Connection::default()
            },
        );
        assert_eq!(rounds(cc.as_mut(), 40.0, 1..5), [4.0, 8.0, 16.0, 32.0]);
        let windows = rounds(cc.as_mut(), 40.0, 5..100);
        assert!(
            windows.iter().all(|window| window.fract() == 0.0),
            "{windows:?}"
        );
        assert!((40.0..50.0).contains(&windows[94]), "{windows:?}");
    }
}
