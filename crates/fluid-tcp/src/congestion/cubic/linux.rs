//! CUBIC as in Linux 6.18 (`net/ipv4/tcp_cubic.c`; names in code font are from there). Windows are whole segments, and
//! all arithmetic is on integers, rounded down.
//!
//! It differs from RFC 9438 (`rfc9438.rs`) in this:
//! - after `cnt` segments delivered the window grows by one (`tcp_cong_avoid_ai`). `cnt` = cwnd/(target − cwnd), or
//!   100 cwnd if the target is not above the window; at least 2, and at most 20 before the first loss;
//! - the target is the cubic function one smallest RTT ahead, not one smoothed RTT. It is computed anew when the
//!   window has changed, or after 1/32 s, and at most once per jiffy (`bictcp_update`). A jiffy is 4 ms (HZ 250);
//! - the window that Reno would have grows by one per `cwnd · beta_scale / 8` segments delivered
//!   (15/8 at β = 0.7); it never changes to one per window above the old maximum;
//! - a timeout discards what was learned: the old maximum, the smallest RTT, HyStart (`bictcp_reset`). It stays
//!   discarded if the timeout turns out to have been spurious;
//! - RTTs within 1 s of the first growth after a cut do not count (`cubictcp_acked`).
//!
//! `beta` is rounded to 1/1024 (0.7: 717), and so is `c` (0.4: 410, Linux's `bic_scale` times ten).
//!
//! Named deviations:
//! - the cube root is exact; `cubic_root` has one step of Newton's method from a table, and for 1 to 200 000 segments
//!   below the old maximum is 0.10 % smaller to 0.16 % larger;
//! - nothing overflows (Linux: with windows of a million segments, or after hours without a loss);
//! - an idle time, by which the cubic function is shifted (`cubictcp_cwnd_event`), counts from the last ACK, not from
//!   the last transmission.

use tmt_core::math::num::floor_u64;
use tmt_core::types::{Time, to_f64};

use super::super::growth::Reno;
use super::super::hystart::SlowStart;
use super::super::{AckEvent, CongestionControl, CongestionEvent, Connection, Values, Window};

/// Length of a jiffy: HZ is 250.
const JIFFY_NANOS: u64 = 4_000_000;
const HZ: u64 = 250;

/// `BICTCP_BETA_SCALE`, and units of time per second in the cubic function (`BICTCP_HZ` = 10 bits).
const SCALE: u64 = 1024;

/// Largest `cnt` before the first loss: growth by 5 % a round.
const FIRST_CNT: u64 = 20;

/// Smallest `cnt`: growth by a half a round.
const LEAST_CNT: u64 = 2;

/// Largest window, segments (`snd_cwnd_clamp`).
const MAX_CWND: u64 = u32::MAX as u64;

#[derive(Debug, Clone)]
pub(super) struct Cubic {
    /// `beta` and `cube_rtt_scale`, in 1/1024.
    beta: u64,
    c: u64,
    window: Window,
    reno: Reno,
    slow_start: SlowStart,
    /// `last_max_cwnd`: window before the last cut, after fast convergence; 0 before the first.
    last_max: u64,
    /// Segments per growth by one.
    cnt: u64,
    /// Window and jiffy for which the target was computed.
    computed: Option<(u64, u64)>,
    epoch: Option<Epoch>,
    last_ack: Time,
}

/// Congestion avoidance between two cuts.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    /// `epoch_start`, jiffies.
    start: u64,
    /// `bic_origin_point`, segments.
    origin: u64,
    /// `bic_K`: time to the origin, 1/1024 s.
    k: u64,
    /// `tcp_cwnd`: window that Reno would have, and `ack_cnt`: segments delivered that have not grown it yet.
    reno_cwnd: u64,
    delivered: u64,
}

impl Cubic {
    pub(super) fn new(connection: &Connection, parameters: &Values) -> Self {
        let scaled = |name| floor_u64((parameters.number(name) * to_f64(SCALE)).round()).max(1);
        Self {
            beta: scaled("beta"),
            c: scaled("c"),
            window: connection.window(),
            reno: Reno::new(connection.implementation.growth),
            slow_start: SlowStart::new(connection, parameters),
            last_max: 0,
            cnt: 0,
            computed: None,
            epoch: None,
            last_ack: Time::ZERO,
        }
    }

    fn cwnd(&self) -> u64 {
        floor_u64(self.window.cwnd)
    }

    /// `bictcp_reset`; [`SlowStart`] resets itself.
    fn forget(&mut self) {
        self.last_max = 0;
        self.cnt = 0;
        self.computed = None;
        self.epoch = None;
    }

    /// `bictcp_update`: renews `cnt` with `count` segments delivered `now`.
    fn update(&mut self, now: Time, count: u64) {
        let (cwnd, jiffy) = (self.cwnd(), jiffies(now));
        if let Some(epoch) = &mut self.epoch {
            epoch.delivered += count;
        }
        let age = self.computed.map(|(at, since)| (at == cwnd, jiffy - since));
        if age.is_some_and(|(same, age)| same && age <= HZ / 32) {
            return;
        }
        // At most one target per jiffy, unless a cut came between.
        let fresh = self.epoch.filter(|_| age.is_some_and(|(_, age)| age == 0));
        let mut epoch = fresh.unwrap_or_else(|| {
            let epoch = self
                .epoch
                .unwrap_or_else(|| self.start_epoch(jiffy, cwnd, count));
            self.computed = Some((cwnd, jiffy));
            self.cnt = self.cubic_cnt(&epoch, jiffy, cwnd);
            epoch
        });
        let max_cnt = epoch.friendly_cnt(cwnd, self.beta);
        self.cnt = self.cnt.min(max_cnt).max(LEAST_CNT);
        self.epoch = Some(epoch);
    }

    fn start_epoch(&self, start: u64, cwnd: u64, delivered: u64) -> Epoch {
        // cube_factor: 2^40 over c.
        let k = cube_root(
            (1 << 40) / u128::from(self.c) * u128::from(self.last_max.saturating_sub(cwnd)),
        );
        Epoch {
            start,
            origin: self.last_max.max(cwnd),
            k,
            reno_cwnd: cwnd,
            delivered,
        }
    }

    /// `cnt` for the target of the cubic function.
    fn cubic_cnt(&self, epoch: &Epoch, jiffy: u64, cwnd: u64) -> u64 {
        let ahead = self
            .slow_start
            .delay_min()
            .map_or(0, |rtt| rtt.as_nanos().div_ceil(JIFFY_NANOS));
        let t = (jiffy - epoch.start + ahead) * SCALE / HZ;
        let offset = u128::from(t.abs_diff(epoch.k));
        // Saturates at the largest window.
        let delta = offset
            .checked_pow(3)
            .and_then(|cube| cube.checked_mul(self.c.into()))
            .map_or(MAX_CWND, |delta| {
                u64::try_from(delta >> 40).unwrap_or(MAX_CWND)
            });
        let target = if t < epoch.k {
            epoch.origin.saturating_sub(delta)
        } else {
            epoch.origin.saturating_add(delta).min(MAX_CWND)
        };
        let cnt = match target.checked_sub(cwnd) {
            None | Some(0) => 100 * cwnd,
            Some(more) => cwnd / more,
        };
        if self.last_max == 0 {
            cnt.min(FIRST_CNT)
        } else {
            cnt
        }
    }
}

impl Epoch {
    /// Grows Reno's window; returns the `cnt` with which the window follows it.
    fn friendly_cnt(&mut self, cwnd: u64, beta: u64) -> u64 {
        let beta_scale = 8 * (SCALE + beta) / 3 / (SCALE - beta);
        let delta = (cwnd * beta_scale / 8).max(1);
        let grown = self.delivered.saturating_sub(1) / delta;
        self.delivered -= grown * delta;
        self.reno_cwnd += grown;
        match self.reno_cwnd.checked_sub(cwnd) {
            None | Some(0) => u64::MAX,
            Some(behind) => cwnd / behind,
        }
    }
}

/// `tcp_jiffies32`
fn jiffies(now: Time) -> u64 {
    now.as_nanos() / JIFFY_NANOS
}

/// The cube root, rounded down, of a number below 2^75.
fn cube_root(x: u128) -> u64 {
    let root = (0..25).rev().fold(0u128, |root, bit| {
        let next = root | 1 << bit;
        if next * next * next <= x { next } else { root }
    });
    u64::try_from(root).unwrap_or(u64::MAX)
}

impl CongestionControl for Cubic {
    fn observe(&mut self, ack: &AckEvent) {
        self.last_ack = ack.now;
        let jiffy = jiffies(ack.now);
        if self
            .epoch
            .is_none_or(|epoch| jiffy.saturating_sub(epoch.start) >= HZ)
        {
            self.slow_start.observe(ack, &self.window);
        }
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let left = self.slow_start.grow(&self.reno, ack, &mut self.window);
        if let Some(count) = left {
            self.update(ack.now, count);
            self.reno.add_whole(&mut self.window, self.cnt, count);
            self.window.cwnd = self.window.cwnd.min(to_f64(MAX_CWND));
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.slow_start.on_congestion(event);
        self.epoch = None;
        // Fast convergence (RFC 9438, Sec. 4.7).
        let cwnd = self.cwnd();
        self.last_max = if cwnd < self.last_max {
            cwnd * (SCALE + self.beta) / (2 * SCALE)
        } else {
            cwnd
        };
        if event.cause.is_timeout() {
            self.forget();
        }
        self.reno.cut(0.0);
        let threshold = floor_u64(event.in_flight) * self.beta / SCALE;
        self.window.cut(event, to_f64(threshold));
    }

    fn window(&self) -> Window {
        self.window
    }

    fn on_idle(&mut self, window: Window) {
        self.window = window;
    }

    fn on_undo(&mut self) {
        self.forget();
        self.slow_start.forget();
    }

    fn on_restart(&mut self, now: Time) {
        let idle = jiffies(now) - jiffies(self.last_ack);
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(jiffies(now));
        }
    }
}

#[cfg(test)]
mod tests;
