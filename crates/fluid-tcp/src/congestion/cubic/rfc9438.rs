//! CUBIC, RFC 9438.
//!
//! Windows are in segments, times in seconds. Named deviations:
//! - an ACK counts for the segments that it acknowledges (Sec. 4.4 counts ACKs);
//! - slow start is RFC 5681's, by segments if the hosts grow so (`growth.rs`), with HyStart as `hystart.rs` has it
//!   (Sec. 4.10 allows any);
//! - the window is cut from what is in flight (Sec. 4.6 as written) and never undone (Sec. 4.9 is optional).

use tmt_core::math::num::cbrt;
use tmt_core::types::{Span, Time, to_f64};

use super::super::growth::Reno;
use super::super::hystart::SlowStart;
use super::super::{
    AckEvent, Cause, CongestionControl, CongestionEvent, Connection, Growth, Values, Window,
};

/// Fields lie in the order in which they are declared, the first two cache lines being what congestion avoidance needs.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct Cubic {
    window: Window,
    /// Current stage of congestion avoidance; `None` until its first ACK.
    epoch: Option<Epoch>,
    /// C, segments/s³ (Sec. 4.1.2).
    c: f64,
    /// α_cubic below the window before the last cut (Sec. 4.3), so that the average window equals Reno's for this β.
    alpha: f64,
    /// Window before the last cut, unchanged (Sec. 4.3).
    cwnd_prior: f64,
    reno: Reno,
    growth: Growth,
    slow_start: SlowStart,
    /// β_cubic, the factor of the window after a loss (Sec. 4.6).
    beta: f64,
    /// Window before the last cut, after fast convergence (Sec. 4.7).
    w_max: f64,
    /// Whether a timeout caused the last cut (Sec. 4.8).
    after_timeout: bool,
}

/// One stage of congestion avoidance.
#[derive(Debug, Clone)]
struct Epoch {
    start: Time,
    /// Origin of the cubic function, segments.
    w_max: f64,
    /// Seconds from the start to the plateau, eq. (2).
    k: f64,
    /// Window that Reno would have (Sec. 4.3), segments.
    w_est: f64,
}

impl Cubic {
    pub(super) fn new(connection: &Connection, parameters: &Values) -> Self {
        let growth = connection.implementation.growth;
        let beta = parameters.number("beta");
        Self {
            beta,
            c: parameters.number("c"),
            alpha: 3.0 * (1.0 - beta) / (1.0 + beta),
            window: connection.window(),
            reno: Reno::new(growth),
            growth,
            slow_start: SlowStart::new(connection, parameters),
            w_max: 0.0,
            cwnd_prior: 0.0,
            after_timeout: false,
            epoch: None,
        }
    }

    fn start_epoch(&self, now: Time) -> Epoch {
        // Sec. 4.2: after a cut, the plateau is the window at the loss. After a timeout (Sec. 4.8), or if slow start
        // ended above that window, the stage begins on the plateau.
        let cwnd = self.window.cwnd;
        let on_plateau = self.after_timeout || self.w_max <= cwnd;
        let w_max = if on_plateau { cwnd } else { self.w_max };
        Epoch {
            start: now,
            w_max,
            k: cbrt((w_max - cwnd) / self.c),
            w_est: cwnd,
        }
    }

    /// Grows the window in congestion avoidance on an ACK that counts for `count` segments.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    fn avoid_congestion(&mut self, ack: &AckEvent, count: u64) {
        let acked = to_f64(match self.growth {
            Growth::Acks => ack.acked,
            Growth::Segments => count,
        });
        if self.epoch.is_none() {
            self.epoch = Some(self.start_epoch(ack.now));
        }
        let Some(epoch) = &mut self.epoch else { return };
        // Sec. 4.3: α is 1 once W_est reaches the window before the cut.
        let alpha = if epoch.w_est >= self.cwnd_prior {
            1.0
        } else {
            self.alpha
        };
        epoch.w_est += alpha * acked / self.window.cwnd;
        let t = ack.now.since(epoch.start).as_secs_f64();
        let rtt = ack.srtt.map_or(0.0, Span::as_secs_f64);
        let w_cubic = |t: f64| {
            let from_plateau = t - epoch.k;
            self.c * from_plateau * from_plateau * from_plateau + epoch.w_max
        };
        if w_cubic(t) < epoch.w_est {
            self.window.cwnd = self.window.cwnd.max(epoch.w_est);
        } else {
            // Sec. 4.2: the window one round trip ahead, at most 1.5 cwnd.
            let target = w_cubic(t + rtt).clamp(self.window.cwnd, 1.5 * self.window.cwnd);
            // One step per acknowledged segment, so that delayed ACKs do not slow growth. An ACK of many segments
            // reaches the target and no more.
            self.window.cwnd += (acked / self.window.cwnd).min(1.0) * (target - self.window.cwnd);
        }
    }
}

impl CongestionControl for Cubic {
    fn observe(&mut self, ack: &AckEvent) {
        if !self.slow_start.has_no_part(&self.window) {
            self.slow_start.observe(ack, &self.window);
        }
    }

    #[inline(never)]
    fn on_ack(&mut self, ack: &AckEvent) {
        let left = self.slow_start.grow(&self.reno, ack, &mut self.window);
        if let Some(left) = left {
            self.avoid_congestion(ack, left);
        }
    }

    fn observe_and_grow(&mut self, ack: &AckEvent, grows: bool) -> f64 {
        if self.slow_start.has_no_part(&self.window) {
            if grows {
                self.avoid_congestion(ack, self.reno.count(ack));
            }
        } else {
            self.slow_start.observe(ack, &self.window);
            if grows {
                self.on_ack(ack);
            }
        }
        self.window.cwnd
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.slow_start.on_congestion(event);
        self.epoch = None;
        if event.cause != Cause::RepeatedTimeout {
            // Sec. 4.7, fast convergence: a flow that lost below its last maximum leaves bandwidth to newer flows.
            self.cwnd_prior = self.window.cwnd;
            self.w_max = if self.cwnd_prior < self.w_max {
                self.cwnd_prior * (1.0 + self.beta) / 2.0
            } else {
                self.cwnd_prior
            };
            self.after_timeout = event.cause == Cause::Timeout;
        }
        self.window
            .cut(event, self.reno.cut(event.in_flight * self.beta));
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
    use super::super::super::Algorithm;
    use super::*;

    fn cubic(initial_window: u32) -> Cubic {
        let connection = Connection {
            initial_window,
            ..Connection::default()
        };
        Cubic::new(&connection, Algorithm::default().values())
    }

    /// Acknowledges one window per `rtt`; returns the window after each round.
    fn rounds(cc: &mut Cubic, rtt: Span, count: u32) -> Vec<f64> {
        let mut now = Time::ZERO;
        (0..count)
            .map(|_| {
                let acks = tmt_core::math::num::floor_u64(cc.cwnd());
                for _ in 0..acks {
                    cc.on_ack(&AckEvent {
                        now,
                        acked: 1,
                        srtt: Some(rtt),
                        ..AckEvent::default()
                    });
                }
                now = now.saturating_add(rtt);
                cc.cwnd()
            })
            .collect()
    }

    fn cut(cwnd: u32) -> Cubic {
        let mut cc = cubic(cwnd);
        cc.on_congestion(&CongestionEvent {
            now: Time::ZERO,
            in_flight: cwnd.into(),
            cause: Cause::FastRetransmit,
        });
        cc
    }

    #[test]
    fn the_window_follows_the_cubic_of_equation_1() {
        // RTT 100 ms, W_max 1000: K = cbrt(1000·0.3/0.4) = 9.0856 s. The window is far above Reno's, so after the
        // round that ends at t it is W_cubic(t), apart from the fraction of a round by which targets lag.
        let mut cc = cut(1000);
        let windows = rounds(&mut cc, Span::from_millis(100), 120);
        let k = cbrt(750.0);
        for (round, window) in windows.iter().enumerate().skip(5) {
            let t = f64::from(u32::try_from(round).unwrap()) * 0.1 + 0.1;
            let expected = 0.4 * (t - k) * (t - k) * (t - k) + 1000.0;
            assert!(
                (window / expected - 1.0).abs() < 0.02,
                "round {round}: {window} for {expected}"
            );
        }
    }

    #[test]
    fn a_cut_sets_the_window_to_beta_times_flight_size() {
        let cc = cut(100);
        assert!((cc.cwnd() - 70.0).abs() < 1e-9);
        assert!((cc.ssthresh().unwrap() - 70.0).abs() < 1e-9);
    }

    #[test]
    fn fast_convergence_lowers_the_plateau_of_a_flow_that_lost_early() {
        let mut cc = cut(100);
        cc.on_congestion(&CongestionEvent {
            now: Time::ZERO,
            in_flight: 70.0,
            cause: Cause::FastRetransmit,
        });
        // Sec. 4.7: W_max = cwnd · (1 + β)/2 = 70 · 0.85.
        assert!((cc.w_max - 59.5).abs() < 1e-9);
    }

    #[test]
    fn a_short_round_trip_grows_like_reno() {
        // RTT 1 ms, window 10: the cubic function is nearly flat, so growth is α_cubic = 3·0.3/1.7 segments per round.
        let mut cc = cut(10);
        let windows = rounds(&mut cc, Span::from_millis(1), 4);
        let expected = 7.0 + 4.0 * 3.0 * 0.3 / 1.7;
        assert!((windows[3] - expected).abs() < 0.2, "{windows:?}");
    }

    #[test]
    fn after_a_timeout_the_plateau_is_where_slow_start_ends() {
        let mut cc = cubic(100);
        cc.on_congestion(&CongestionEvent {
            now: Time::ZERO,
            in_flight: 100.0,
            cause: Cause::Timeout,
        });
        assert!((cc.cwnd() - 1.0).abs() < 1e-12);
        let windows = rounds(&mut cc, Span::from_millis(100), 9);
        // Slow start reaches 70 within eight rounds; then growth starts flat, without a jump towards 100.
        assert!(
            (64.0..75.0).contains(&windows[7]) && windows[8] < 80.0,
            "{windows:?}"
        );
    }

    #[test]
    fn the_window_stays_finite_after_ten_days_without_a_loss() {
        let mut cc = cut(100);
        let now = Time::from_nanos(10 * 86_400 * 1_000_000_000).unwrap();
        cc.on_ack(&AckEvent {
            now: Time::ZERO,
            acked: 1,
            ..AckEvent::default()
        });
        cc.on_ack(&AckEvent {
            now,
            acked: 1,
            ..AckEvent::default()
        });
        assert!(cc.cwnd().is_finite() && cc.cwnd() < 72.0, "{}", cc.cwnd());
    }
}
