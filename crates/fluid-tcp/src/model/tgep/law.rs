//! One flow control cycle of TGEP (papers/003, eq (1)-(12); models.md §3.3).

use tmt_core::math::num::log1p;

use super::super::congestion::Bottleneck;
use super::windows::Windows;

/// What sets the course of a cycle. Time is in 1/μ, so that goodput is normalised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Law {
    /// Connections, N.
    pub(super) connections: f64,
    /// Segments an ACK stands for, b.
    pub(super) per_ack: f64,
    /// What the link holds, μ T.
    pub(super) pipe: f64,
    /// What link and buffer hold, w_max.
    pub(super) most: f64,
    /// Segment loss rate, q.
    pub(super) loss: f64,
    /// Time that a random loss costs.
    pub(super) resend: f64,
    /// Whether that is a share of a round trip, and not a segment's time.
    pub(super) resend_round_trip: bool,
}

/// What came of a cycle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cycle {
    /// Segments sent.
    pub(super) segments: f64,
    /// Length, in 1/μ.
    pub(super) time: f64,
    /// Whether the full buffer ended it.
    pub(super) congested: bool,
    /// What it cost to draw, in plain cycles.
    pub(super) work: f64,
}

impl Law {
    /// The law of a bottleneck under random loss; a random loss costs a round trip or a segment's time.
    pub(super) fn new(link: &Bottleneck, loss: f64, resend_round_trip: bool) -> Self {
        let resend = if resend_round_trip {
            link.pipe() / link.connections
        } else {
            1.0
        };
        Self {
            connections: link.connections,
            per_ack: link.per_ack,
            pipe: link.pipe(),
            most: link.most(),
            loss,
            resend,
            resend_round_trip,
        }
    }

    /// Connections, as a length.
    pub(super) fn count(&self) -> usize {
        usize::try_from(tmt_core::math::num::floor_u64(self.connections)).unwrap_or(1)
    }

    /// Segments that take the sum of the windows from `low` to `high`: w_end² = w² + 2 N n / b in both phases.
    pub(super) fn between(&self, low: f64, high: f64) -> f64 {
        self.per_ack * (high - low) * (high + low) / (2.0 * self.connections)
    }

    /// How far `segments` take the sum of the windows from `low` to `high`; exact also where they are few.
    fn growth(&self, segments: f64, low: f64, high: f64) -> f64 {
        if segments > 0.0 {
            2.0 * self.connections * segments / (self.per_ack * (low + high))
        } else {
            0.0
        }
    }

    /// The windows grow until `free` segments have come through (they go on to the full buffer where `free`
    /// is larger), with what comes of it; windows are not cut yet, nor is the loss in the time.
    pub(super) fn run(&self, windows: &mut Windows, free: f64) -> Cycle {
        let start = windows.total();
        let room = self.between(start, self.most).max(0.0);
        let congested = free >= room;
        let segments = free.min(room);
        let end = if congested {
            self.most
        } else {
            (start * start + 2.0 * self.connections * segments / self.per_ack).sqrt()
        };
        // Phase 1: no queue, the link sends w a round trip.
        let first = if start < self.pipe {
            segments.min(self.between(start, self.pipe))
        } else {
            0.0
        };
        let second = segments - first;
        let turn = if start < self.pipe {
            end.min(self.pipe)
        } else {
            start
        };
        let rise = self.growth(first, start, turn);
        let late = self.growth(second, turn, end);
        // (6), and (12) with the coefficient b Δw / N (C5), as slope and level of a window at the start.
        let n = self.connections;
        let (early_slope, late_slope) = (self.per_ack * rise / n, self.per_ack * late / n);
        let level = self.per_ack * rise * rise / (2.0 * n * n)
            + late_slope * rise / n
            + (second - late_slope * turn) / n;
        let each = (rise + late) / n;
        windows.grow(early_slope + late_slope, level, each, start + rise + late);
        Cycle {
            segments,
            time: self.per_ack * self.pipe * rise / n + second,
            congested,
            work: 1.0,
        }
    }

    /// Segments that come through in `time`, in 1/μ, from windows of `start` on: (4) and (9).
    pub(super) fn within(&self, start: f64, time: f64) -> f64 {
        if start >= self.pipe {
            return time;
        }
        let turn = self.per_ack * self.pipe * (self.pipe - start) / self.connections;
        if time < turn {
            let trips = time / self.pipe;
            trips * (start + self.connections * trips / (2.0 * self.per_ack))
        } else {
            self.between(start, self.pipe) + (time - turn)
        }
    }

    /// Time that `segments` cost which are lost together, in so many round trips: nothing comes through in those
    /// behind the first.
    pub(super) fn burst(&self, segments: f64, round_trips: f64) -> f64 {
        let resend = if self.resend_round_trip {
            self.resend * round_trips
        } else {
            segments
        };
        (round_trips - 1.0) * self.pipe + resend
    }

    /// Segments that come through before the next loss, for `u` uniform on [0, 1): P(n) = q (1 − q)^n.
    pub(super) fn free(&self, u: f64) -> f64 {
        if self.loss > 0.0 {
            (log1p(-u) / log1p(-self.loss)).floor()
        } else {
            f64::INFINITY
        }
    }
}
