//! A cycle of one CUBIC connection as a fluid (RFC 9438, Sec. 4.1 to 4.7).

use tmt_core::math::num::cbrt;

use super::super::law::Cycle;

/// C, segments/s³ (RFC 9438, Sec. 4.1).
const C: f64 = 0.4;
/// β, factor of the window at a loss (Sec. 4.6).
const LEFT: f64 = 0.7;
/// α of the Reno-friendly window until it reaches the window of the last loss (Sec. 4.3).
const FRIENDLY: f64 = 3.0 * (1.0 - LEFT) / (1.0 + LEFT);
/// Smallest window after a loss (Sec. 4.6).
const LEAST: f64 = 2.0;
/// Number of steps until the plateau.
const STEPS: f64 = 24.0;

/// The link of the connection. Time is in 1/μ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// Rate μ, segments/s.
    pub(super) mu: f64,
    /// Bandwidth-delay product μ T, segments.
    pub(super) bdp: f64,
    /// Segments that fill link and buffer.
    pub(super) most: f64,
}

/// The connection at the start of a cycle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cubic {
    /// Window at the last loss, the plateau of the curve. W_max equals cwnd_prior, because fast convergence should be
    /// off for a single flow (Sec. 4.7).
    prior: f64,
    /// Current window, segments.
    window: f64,
}

/// A point of a cycle.
#[derive(Debug, Clone, Copy)]
struct Point {
    time: f64,
    window: f64,
    /// Reno-friendly window, W_est.
    friendly: f64,
    segments: f64,
}

impl Cubic {
    /// A connection that has just filled link and buffer.
    pub(super) fn new(link: &Link) -> Self {
        let mut cubic = Self {
            prior: link.most,
            window: link.most,
        };
        cubic.cut();
        cubic
    }

    /// Current window, in segments.
    pub(super) fn window(&self) -> f64 {
        self.window
    }

    /// Reduces the window to β at a loss.
    pub(super) fn cut(&mut self) {
        self.prior = self.window;
        self.window = (LEFT * self.prior).max(LEAST).min(self.prior);
    }

    /// Lets the window grow until `free` segments have been sent or link and buffer are full. It is not cut yet.
    pub(super) fn run(&mut self, link: &Link, free: f64) -> Cycle {
        // From seconds to 1/μ.
        let curve = C / link.mu / link.mu / link.mu;
        let turn = cbrt((self.prior - self.window) / curve);
        let cubic = |time: f64| {
            let from = time - turn;
            self.prior + curve * from * from * from
        };
        let step = |at: Point, length: f64| {
            // Until the link is full, w segments arrive per round trip.
            let rate = |window: f64| (window / link.bdp).min(1.0);
            let alpha = if at.friendly < self.prior {
                FRIENDLY
            } else {
                1.0
            };
            let slope = |window: f64| alpha / window.max(link.bdp);
            let half = at.friendly + 0.5 * length * slope(at.window);
            let middle = cubic(at.time + 0.5 * length).max(half);
            let friendly = at.friendly + length * slope(middle);
            let window = cubic(at.time + length).max(friendly);
            let sent = (rate(at.window) + 4.0 * rate(middle) + rate(window)) * length / 6.0;
            Point {
                time: at.time + length,
                window,
                friendly,
                segments: at.segments + sent,
            }
        };
        let over = |point: &Point| point.segments >= free || point.window >= link.most;
        let mut at = Point {
            time: 0.0,
            window: self.window,
            friendly: self.window,
            segments: 0.0,
        };
        let mut work = 8.0;
        let congested = loop {
            work += 0.3;
            if over(&at) {
                break at.window >= link.most;
            }
            // Small steps near the start and the plateau. After it, and if Reno's window is larger, steps are round trips.
            let length = (turn.max(at.time) / STEPS).max(0.25 * at.window.min(link.bdp));
            let next = step(at, length);
            if !over(&next) {
                at = next;
                continue;
            }
            let (mut low, mut high) = (0.0, length);
            for _ in 0..50 {
                let middle = f64::midpoint(low, high);
                if over(&step(at, middle)) {
                    high = middle;
                } else {
                    low = middle;
                }
            }
            at = step(at, high);
            break at.window >= link.most;
        };
        self.window = at.window.min(link.most);
        Cycle {
            segments: at.segments.min(free),
            time: at.time,
            congested,
            work,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tmt_core::math::num::pow;

    /// Mean window of the last cycle if exactly every 1/p-th segment is lost and nothing else limits, beginning with a
    /// loss at `prior`.
    fn mean_window(trip: f64, p: f64, prior: f64, cycles: u32) -> f64 {
        let mu = 1e9;
        let link = Link {
            mu,
            bdp: mu * trip,
            most: 1e30,
        };
        let mut cubic = Cubic {
            prior,
            window: LEFT * prior,
        };
        let mut last = 0.0;
        for _ in 0..cycles {
            let cycle = cubic.run(&link, 1.0 / p);
            cubic.cut();
            last = cycle.segments / cycle.time * link.bdp;
        }
        last
    }

    #[test]
    fn the_mean_window_under_periodic_loss_is_that_of_the_rfc() {
        // RFC 9438, eq. (5) and (6): (C (3 + β) / (4 (1 − β)))^¼ RTT^¾ / p^¾ = 1.054 RTT^¾ / p^¾. The mean of a
        // cycle that ends at its plateau is (3 + β)/4 of it.
        for (trip, p) in [(0.5, 1e-5), (0.1, 1e-7), (1.0, 1e-4)] {
            let law = pow(0.4 * 3.7 / 1.2, 0.25) * pow(trip, 0.75) / pow(p, 0.75);
            let rfc = 1.054 * pow(trip, 0.75) / pow(p, 0.75);
            let plateau = law / 0.925;
            let found = mean_window(trip, p, plateau, 50);
            assert!(
                (found / law - 1.0).abs() < 1e-3,
                "{trip} {p}: {found} {law}"
            );
            assert!((found / rfc - 1.0).abs() < 2e-3);
            // From other windows it is approached slowly: a distance x falls by half of x³ per cycle.
            for start in [0.5, 1.5] {
                let far = (mean_window(trip, p, start * plateau, 20) / law - 1.0).abs();
                let near = (mean_window(trip, p, start * plateau, 3000) / law - 1.0).abs();
                assert!(near < 0.5 * far && near < 0.03, "{start}: {far} {near}");
            }
        }
    }

    #[test]
    fn where_reno_is_faster_it_is_as_fast_as_reno() {
        // RFC 9438, Sec. 4.3: AIMD with α and β has Reno's mean window, √(3/(2p)).
        for (trip, p) in [(1e-3, 1e-3), (1e-4, 1e-4)] {
            let found = mean_window(trip, p, 100.0, 300);
            let reno = (1.5 / p).sqrt();
            assert!(
                (found / reno - 1.0).abs() < 5e-3,
                "{trip} {p}: {found} {reno}"
            );
        }
    }

    #[test]
    fn a_shorter_step_changes_nothing() {
        let link = Link {
            mu: 100.0,
            bdp: 51.0,
            most: 91.8,
        };
        let mut cubic = Cubic::new(&link);
        let cycle = cubic.run(&link, f64::INFINITY);
        assert!(cycle.congested && (cubic.window() - link.most).abs() < 1e-9);
        // The same in steps of 1 ms by Euler's method, with W_est.
        let (mut time, mut sent, mut friendly) = (0.0, 0.0, LEFT * link.most);
        let turn = cbrt(link.most * (1.0 - LEFT) / C);
        loop {
            let from: f64 = time - turn;
            let window = (link.most + C * from * from * from).max(friendly);
            if window >= link.most - 1e-9 {
                break;
            }
            let rate = (window / link.bdp).min(1.0) * link.mu;
            friendly += 1e-5 * FRIENDLY * rate / window;
            sent += rate * 1e-5;
            time += 1e-5;
        }
        // The plateau is flat, so the time at which it is reached is imprecise, but the rate until then is not.
        let ours = cycle.segments / cycle.time;
        assert!(
            (ours / (sent / time / link.mu) - 1.0).abs() < 2e-3,
            "{cycle:?} {sent} {time}"
        );
        assert!(
            (cycle.segments / sent - 1.0).abs() < 5e-3,
            "{cycle:?} {sent}"
        );
    }
}
