//! One cycle of TGEP (Celandroni 2006, eq. (1)–(12); docs/models.md, Sec. 6.3).

use tmt_core::math::num::log1p;

use super::super::congestion::Bottleneck;
use super::windows::Windows;

/// Parameters of a cycle. Time is in 1/μ, so that goodput is normalised.
#[derive(Debug, Clone, Copy)]
pub(super) struct Law {
    /// Number of connections, N.
    pub(super) connections: f64,
    /// Segments per ACK, b.
    pub(super) per_ack: f64,
    /// Bandwidth-delay product μ T, segments.
    pub(super) bdp: f64,
    /// Segments that fill link and buffer, w_max.
    pub(super) most: f64,
    /// Segment loss rate, q.
    pub(super) loss: f64,
    /// Time that a random loss costs, in 1/μ.
    pub(super) resend: f64,
}

/// Results of a cycle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cycle {
    /// Segments sent in the cycle, without lost ones.
    pub(super) segments: f64,
    /// Length, in 1/μ.
    pub(super) time: f64,
    /// Whether it ended by congestion.
    pub(super) congested: bool,
}

impl Law {
    /// The law of a bottleneck under random loss. A random loss costs T/N if `resend_round_trip`, else 1/μ.
    pub(super) fn new(link: &Bottleneck, loss: f64, resend_round_trip: bool) -> Self {
        let resend = if resend_round_trip {
            link.bdp() / link.connections
        } else {
            1.0
        };
        Self {
            connections: link.connections,
            per_ack: link.per_ack,
            bdp: link.bdp(),
            most: link.most(),
            loss,
            resend,
        }
    }

    /// Number of connections as an integer.
    pub(super) fn count(&self) -> usize {
        usize::try_from(tmt_core::math::num::floor_u64(self.connections)).unwrap_or(1)
    }

    /// Segments sent while the sum of the windows grows from `low` to `high`: w_end² = w² + 2 N n / b in both phases.
    pub(super) fn between(&self, low: f64, high: f64) -> f64 {
        self.per_ack * (high - low) * (high + low) / (2.0 * self.connections)
    }

    /// Growth of the sum of the windows from `low` by `segments`, at most to `high`; exact for few segments too.
    fn growth(&self, segments: f64, low: f64, high: f64) -> f64 {
        if segments > 0.0 {
            2.0 * self.connections * segments / (self.per_ack * (low + high))
        } else {
            0.0
        }
    }

    /// Lets the windows grow until `free` segments have been sent or the buffer is full.
    ///
    /// The windows are not cut yet, and the time of the loss is not included.
    pub(super) fn run(&self, windows: &mut Windows, free: f64) -> Cycle {
        let start = windows.total();
        let until_full = self.between(start, self.most).max(0.0);
        let congested = free >= until_full;
        let segments = free.min(until_full);
        let end = if congested {
            self.most
        } else {
            (start * start + 2.0 * self.connections * segments / self.per_ack).sqrt()
        };
        // Phase 1: no queue, w segments per round trip.
        let first = if start < self.bdp {
            segments.min(self.between(start, self.bdp))
        } else {
            0.0
        };
        let second = segments - first;
        let turn = if start < self.bdp {
            end.min(self.bdp)
        } else {
            start
        };
        let rise = self.growth(first, start, turn);
        let late = self.growth(second, turn, end);
        // (6), and (12) with the coefficient b Δw / N (C5), as slope and level over the window at the start.
        let n = self.connections;
        let (early_slope, late_slope) = (self.per_ack * rise / n, self.per_ack * late / n);
        let level = self.per_ack * rise * rise / (2.0 * n * n)
            + late_slope * rise / n
            + (second - late_slope * turn) / n;
        let each = (rise + late) / n;
        windows.grow(early_slope + late_slope, level, each, start + rise + late);
        Cycle {
            segments,
            time: self.per_ack * self.bdp * rise / n + second,
            congested,
        }
    }

    /// Segments before the next loss, for `u` uniform on [0, 1): P(n) = q (1 − q)^n.
    pub(super) fn free(&self, u: f64) -> f64 {
        if self.loss > 0.0 {
            (log1p(-u) / log1p(-self.loss)).floor()
        } else {
            f64::INFINITY
        }
    }
}
